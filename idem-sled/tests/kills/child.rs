//! The server that is killed.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_core::{
    Answer, Error, ExecuteError, Executed, Fingerprint, Idempotency, Key, Operation, Reservation,
    Response, Scope, Verdict,
};
use idem_sled::{Commit, EffectTree, SledStore};
use testkit::{Call, LedgerClient, Marker};

pub(crate) const ARGUMENT: &str = "serve-to-be-killed";
pub(crate) const FLUSHING: &str = "flushing";
pub(crate) const INSIDE: &str = "inside";
pub(crate) const TREE: &str = "payments";

/// What becomes of an operation, by its number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Way {
    /// Reserve, call the provider, complete.
    Plain,
    /// Reserve, call the provider, complete together with a row.
    ThreeSteps,
    /// Reserve, a row, complete, in one transaction; no provider.
    OneTransaction,
}

pub(crate) fn way(operation: &str) -> Way {
    match number(operation) % 3 {
        0 => Way::OneTransaction,
        1 => Way::ThreeSteps,
        _ => Way::Plain,
    }
}

fn number(operation: &str) -> u64 {
    operation.strip_prefix("op-").unwrap().parse().unwrap()
}

struct Server {
    marker: Arc<Marker>,
    /// An operation that somebody waits for.
    current: Arc<Mutex<Option<String>>>,
    ledger: String,
    store: SledStore,
    payments: EffectTree,
    idempotency: Idempotency,
    runtime: tokio::runtime::Handle,
}

/// `LISTEN LEDGER FOLDER`
pub(crate) fn serve(args: &[String]) {
    let [listen, ledger, folder] = args else {
        panic!("LISTEN LEDGER FOLDER");
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let marker = Arc::new(Marker::from_env());
    let current = Arc::new(Mutex::new(None::<String>));
    let options = {
        let (marker, current) = (Arc::clone(&marker), Arc::clone(&current));
        SledStore::options(format!("{folder}/store")).on_commit(move |commit| {
            let operation = current.lock().unwrap().clone();
            if let (Commit::Flushed, Some(operation)) = (commit, operation) {
                marker.reach(FLUSHING, &operation);
            }
        })
    };
    let server = runtime.block_on(async {
        let store = options.open().await.unwrap();
        let payments = store.effect_tree(TREE).await.unwrap();
        Server {
            marker,
            current,
            ledger: ledger.clone(),
            payments,
            idempotency: Idempotency::builder(store.clone())
                .lease(Duration::from_millis(100))
                .retention(Duration::from_secs(3600))
                .build()
                .unwrap(),
            store,
            runtime: runtime.handle().clone(),
        }
    });
    let listener = TcpListener::bind(listen).unwrap();
    testkit::serve(&listener, |call| server.serve(call));
}

impl Server {
    fn serve(&self, call: Call) -> std::io::Result<()> {
        let name = call.operation.clone();
        self.marker.reach("received", &name);
        *self.current.lock().unwrap() = Some(name.clone());
        let operation = Operation::new(
            Scope::new("client").unwrap(),
            Key::new(&name).unwrap(),
            Fingerprint::raw(&call.body),
        );
        let executed = match way(&name) {
            Way::OneTransaction => self.in_one_transaction(operation, &name),
            Way::ThreeSteps | Way::Plain => self.with_a_provider(operation, &name),
        };
        self.current
            .lock()
            .unwrap()
            .take_if(|current| *current == name);
        self.marker.reach("completed", &name);
        let (status, body) = match executed {
            Ok(executed) => match executed.response() {
                Some(response) => (201, response.body_bytes().to_vec()),
                None => (409, Vec::new()),
            },
            Err(error) => (503, error.into_bytes()),
        };
        call.answer(status, body)
    }

    fn in_one_transaction(&self, operation: Operation, name: &str) -> Result<Executed, String> {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let (marker, name) = (Arc::clone(&self.marker), name.to_owned());
        let run = self
            .store
            .run_in([&self.payments], operation, move |[payments], _| {
                // Another one each time it runs.
                let run = RUNS.fetch_add(1, Ordering::Relaxed);
                let id = format!("row-{}-{run}", std::process::id());
                payments.insert(format!("{name}/{id}"), "150.00");
                marker.reach(INSIDE, &name);
                Ok::<_, Error>(answer(&id, &name))
            });
        self.runtime
            .block_on(run)
            .map_err(|error| error.to_string())
    }

    fn with_a_provider(&self, operation: Operation, name: &str) -> Result<Executed, String> {
        let run = self
            .idempotency
            .execute(&operation, async |reservation: Reservation| {
                self.marker.reach("reserved", name);
                let key = reservation.derived_key("charge");
                let mut provider =
                    LedgerClient::connect(&self.ledger).map_err(|e| e.to_string())?;
                let id = provider.charge(name, Some(key.as_str()));
                let id = id.map_err(|e| e.to_string())?;
                let answer = answer(&id, name);
                if way(name) == Way::Plain {
                    return Ok(Verdict::Complete(answer));
                }
                let row = format!("{name}/{id}");
                let full = Answer::Full(answer.clone());
                let completed = self
                    .store
                    .complete_in([&self.payments], &reservation, full, {
                        move |[payments]| {
                            payments.insert(row.clone(), "150.00");
                            Ok::<_, Error>(())
                        }
                    });
                completed.await.map_err(|e| e.to_string())?;
                Ok(Verdict::AlreadyRecorded(answer))
            });
        let ran = self.runtime.block_on(run);
        ran.map_err(|error: ExecuteError<String>| error.to_string())
    }
}

/// Some are so large that they are kept in chunks.
fn answer(id: &str, name: &str) -> Response {
    let filler = if number(name).is_multiple_of(7) {
        150_000
    } else {
        100
    };
    Response::new(201).body(format!("{id} {}", "x".repeat(filler)))
}
