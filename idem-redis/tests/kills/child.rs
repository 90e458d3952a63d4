//! The child process: this test binary once more, as a server that is made to be killed.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use idem_core::{
    ExecuteError, Executed, Fingerprint, Idempotency, Key, Operation, Recorded, Reservation,
    Response, Scope,
};
use idem_redis::{Connection, RedisStore};
use testkit::{LedgerClient, Marker};
use tokio::runtime::Builder;
use tokio::task::block_in_place;

/// Who finds a job in it is the child: `LISTEN LEDGER REDIS`, and `without-key` for a child that is wrong.
pub(crate) const VARIABLE: &str = "IDEM_KILLS_JOB";

/// Planted: the provider is not given the derived key.
pub(crate) const WITHOUT_KEY: &str = "without-key";

/// Who is killed leaves its operations alone for so long.
const LEASE: Duration = Duration::from_millis(250);

/// The operation that a client calls by this name.
pub(crate) fn operation(name: &str) -> Operation {
    Operation::new(
        Scope::new("acct_812").unwrap(),
        Key::new(name).unwrap(),
        Fingerprint::raw("150.00 BRL"),
    )
}

/// False in the test itself. In the child it serves, and never returns: the child is killed.
pub(crate) fn is_this_process() -> bool {
    let Ok(job) = std::env::var(VARIABLE) else {
        return false;
    };
    let words: Vec<_> = job.split(' ').collect();
    let [listen, ledger, redis, ref wrong @ ..] = words[..] else {
        panic!("not a job: {job}");
    };
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let listener = TcpListener::bind(listen.parse::<SocketAddr>().unwrap()).unwrap();
    let service = Service {
        natively: runtime.block_on(executor(redis, true)),
        by_scripts: runtime.block_on(executor(redis, false)),
        ledger: ledger.to_owned(),
        gives_the_key: !wrong.contains(&WITHOUT_KEY),
        marker: Marker::from_env(),
    };
    testkit::serve(&listener, |call| {
        let (status, body) = runtime.block_on(service.pay(&call.operation));
        call.answer(status, body)
    });
    true
}

async fn executor(redis: &str, native: bool) -> Idempotency {
    let store = RedisStore::new(Connection::open(redis).await.unwrap());
    let store = if native {
        store
    } else {
        store.without_native()
    };
    Idempotency::builder(store)
        .lease(LEASE)
        .retention(Duration::from_secs(3600))
        .build()
        .unwrap()
}

struct Service {
    natively: Idempotency,
    by_scripts: Idempotency,
    ledger: String,
    gives_the_key: bool,
    marker: Marker,
}

impl Service {
    /// What the client is told. Every life and both executors share the records.
    async fn pay(&self, name: &str) -> (u16, String) {
        self.reach("received", name);
        let idempotency = match name.as_bytes().last() {
            Some(digit) if digit % 2 == 0 => &self.natively,
            _ => &self.by_scripts,
        };
        let handler = async |reservation: Reservation| {
            let charge = self.charge(&reservation, name)?;
            // No two runs have the same answer: one that was written twice, or lost, is seen by it.
            let (attempt, process) = (reservation.attempt(), std::process::id());
            let answer = format!("{charge}, attempt {attempt}, process {process}");
            Ok::<_, std::io::Error>(Response::new(201).body(answer))
        };
        match idempotency.execute(&operation(name), handler).await {
            // An answer that nobody has acknowledged may be another one later.
            Ok(Executed::Ran {
                recorded: Recorded::Unrecorded,
                ..
            }) => (503, "not recorded".to_owned()),
            Ok(Executed::Conflict { .. }) => (409, "in flight".to_owned()),
            Ok(Executed::Mismatch) => (422, "mismatch".to_owned()),
            Ok(executed) => {
                if !executed.is_replayed() {
                    self.reach("completed", name);
                }
                let response = executed.response().unwrap();
                let body = String::from_utf8(response.body_bytes().to_vec());
                (response.status(), body.unwrap())
            }
            Err(ExecuteError::Store(error)) => (503, error.to_string()),
            Err(error) => (503, error.to_string()),
        }
    }

    /// At the provider, which reports the marks before and after its effect itself.
    fn charge(&self, reservation: &Reservation, name: &str) -> std::io::Result<String> {
        self.reach("reserved", name);
        let key = reservation.derived_key("charge").to_string();
        let key = self.gives_the_key.then_some(&*key);
        block_in_place(|| LedgerClient::connect(&self.ledger)?.charge(name, key))
    }

    fn reach(&self, mark: &str, name: &str) {
        block_in_place(|| self.marker.reach(mark, name));
    }
}
