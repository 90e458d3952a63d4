//! One store twice: by a line that can be cut, and by one that cannot.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_postgres::PostgresStore;
use idem_postgres::sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgSslMode};
use testkit::{Fault, Plan, Proxy};

use crate::support::{Isolated, SERVER, Way};

/// What can happen to a request: the first two before the server has applied it, the others after.
pub(crate) const FAULTS: [Fault; 4] = [
    Fault::DropRequest,
    Fault::CutRequest { after: 7 },
    Fault::DropAnswer,
    Fault::CutAnswer { after: 3 },
];

pub(crate) fn is_before(fault: Fault) -> bool {
    matches!(fault, Fault::DropRequest | Fault::CutRequest { .. })
}

pub(crate) struct Line {
    pub(crate) direct: Isolated,
    pub(crate) proxy: Proxy,
}

/// What was sent in a trial, and which request met the fault.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    requests: Arc<AtomicU64>,
    met: Arc<Mutex<Option<String>>>,
}

impl Seen {
    /// Words of the request that met the fault; none if none did.
    pub(crate) fn met(&self) -> Option<String> {
        self.met.lock().unwrap().clone()
    }
}

impl Line {
    pub(crate) async fn open() -> Self {
        Self {
            direct: Isolated::open(Way::pool(4)).await,
            proxy: Proxy::start(SERVER.socket(), Plan::none()),
        }
    }

    /// The store over a new pool by the line that can be cut: nothing is connected or prepared.
    pub(crate) async fn through(&self, connections: u32) -> PostgresStore {
        self.proxy.follow(Plan::none());
        let options = PgConnectOptions::new()
            .host(&self.proxy.address().ip().to_string())
            .port(self.proxy.address().port())
            .username("postgres")
            .database("postgres")
            .ssl_mode(PgSslMode::Disable);
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(Duration::from_secs(5))
            .test_before_acquire(false)
            .connect_lazy_with(options);
        let store = PostgresStore::open(pool, self.direct.table.clone()).await;
        let store = store.unwrap();
        let used = store.pool().acquire().await.unwrap();
        used.close().await.unwrap();
        store
    }

    /// From now on the `nth` request meets the fault, from 1.
    pub(crate) fn cut(&self, nth: u64, fault: Fault) -> Seen {
        let seen = Seen::default();
        let of_plan = seen.clone();
        self.proxy.follow(Plan::from_fn(move |request| {
            // The pool asks whether a connection that comes back still lives, and takes leave of one
            // that is closed, whenever it likes.
            if matches!(request.bytes, b"S\0\0\0\x04" | b"X\0\0\0\x04") {
                return Fault::None;
            }
            if of_plan.requests.fetch_add(1, Ordering::SeqCst) + 1 != nth {
                return Fault::None;
            }
            *of_plan.met.lock().unwrap() = Some(words(request.bytes));
            fault
        }));
        seen
    }
}

/// The beginning of what can be read in a message.
fn words(bytes: &[u8]) -> String {
    let text: String = bytes
        .iter()
        .map(|&byte| match byte {
            b' '..=b'~' => char::from(byte),
            _ => ' ',
        })
        .collect();
    let words: Vec<_> = text.split_whitespace().take(6).collect();
    words.join(" ").chars().take(60).collect()
}
