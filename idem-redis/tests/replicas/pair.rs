//! A server and its replica, which hangs on request.

use idem_core::Error;
use idem_redis::{Connection, Limits, RedisStore};
use testkit::resp::Reply;
use testkit::{Redis, until};

use crate::{PATIENCE, SHORT, is_unconfirmed};

/// A server and its replica.
pub(crate) struct Pair {
    pub(crate) primary: Redis,
    pub(crate) replica: Redis,
    /// Under no limit that is met here.
    pub(crate) plain: RedisStore,
}

impl Pair {
    pub(crate) async fn start() -> Self {
        let primary = Redis::builder().setting("repl-diskless-sync-delay", "0");
        let primary = primary.start();
        let replica = Redis::builder().setting("replicaof", &of(&primary)).start();
        until("a replica in step", PATIENCE, || {
            says(&primary, "replication", "state=online").then_some(())
        });
        let limits = Limits::default().answer(2 * PATIENCE).connect(PATIENCE);
        let connection = Connection::open_within(&primary.url(), limits).await;
        let plain = RedisStore::new(connection.unwrap());
        Self {
            primary,
            replica,
            plain,
        }
    }

    /// What is asked of the store while the replica hangs is of unknown outcome; asked again afterwards, it is
    /// answered.
    pub(crate) async fn waits<T, F>(&self, store: &RedisStore, call: impl Fn(RedisStore) -> F) -> T
    where
        T: std::fmt::Debug,
        F: Future<Output = Result<T, Error>>,
    {
        self.replica.pause();
        is_unconfirmed(call(store.clone().wait_replicas(1, SHORT).unwrap()).await);
        self.replica.go_on();
        let patient = store.clone().wait_replicas(1, PATIENCE).unwrap();
        call(patient).await.unwrap()
    }
}

fn of(primary: &Redis) -> String {
    format!("127.0.0.1 {}", primary.address().port())
}

pub(crate) fn says(server: &Redis, section: &str, text: &str) -> bool {
    match server.ask(&["INFO", section]) {
        Reply::Text(info) => info.contains(text),
        _ => false,
    }
}
