//! Answers that wait for replicas: which do, what a replica that hangs makes of them, and that no call stands in the
//! way of another.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and prints its figures"
)]

mod support;

use std::time::Duration;

use idem_core::{
    Answer, Applied, Completion, Error, IdempotencyStore, Inspect, Outcome, ReserveRequest,
    Response, Terms, Update,
};
use idem_redis::redis::Client;
use idem_redis::{Connection, Limits, RedisStore};
use support::{commands, request, reserve, sent};
use testkit::resp::Reply;
use testkit::{Redis, until};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// For what has to come about on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// For what must not come about.
const SHORT: Duration = Duration::from_millis(100);

/// A server and its replica.
struct Pair {
    primary: Redis,
    replica: Redis,
    /// Under no limit that is met here.
    plain: RedisStore,
}

impl Pair {
    async fn start() -> Self {
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
    async fn waits<T, F>(&self, store: &RedisStore, call: impl Fn(RedisStore) -> F) -> T
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

fn says(server: &Redis, section: &str, text: &str) -> bool {
    match server.ask(&["INFO", section]) {
        Reply::Text(info) => info.contains(text),
        _ => false,
    }
}

fn is_unconfirmed<T: std::fmt::Debug>(called: Result<T, Error>) {
    let error = called.unwrap_err();
    assert_eq!(error.applied(), Applied::Unknown, "{error:?}");
    assert!(error.is_transient(), "{error:?}");
    assert!(error.to_string().contains("replicas"), "{error:?}");
}

fn answer(text: &str) -> Answer {
    Response::new(201).body(text.to_owned()).into()
}

fn other_payload(key: &str) -> ReserveRequest {
    let mut request = request(key);
    request.operation.fingerprint = idem_core::Fingerprint::raw("another payload");
    request
}

#[tokio::test]
async fn what_a_replica_has_not_confirmed_is_unknown_and_the_same_call_again_is_answered() {
    let pair = Pair::start().await;
    for store in [pair.plain.clone(), pair.plain.clone().without_native()] {
        let first = request("k");
        let reserved = pair.waits(&store, async |store: RedisStore| {
            store.reserve(&first.clone().resent()).await
        });
        assert!(
            matches!(reserved.await, Outcome::Reserved { attempt: 1, .. }),
            "the try that was not confirmed holds it"
        );
        let holder = idem_core::Holder::new(first.operation.record.clone(), first.token, 1);
        let renewed = pair.waits(&store, async |store: RedisStore| {
            store.renew(&holder, Terms::default(), None).await
        });
        assert_eq!(renewed.await, Update::Done);

        // Nothing rests on these.
        pair.replica.pause();
        let waiting = store.clone().wait_replicas(1, PATIENCE).unwrap();
        let at_once = timeout(PATIENCE / 2, async {
            let conflict = waiting.reserve(&request("k")).await.unwrap();
            assert!(matches!(conflict, Outcome::Conflict { .. }), "{conflict:?}");
            let mismatch = waiting.reserve(&other_payload("k")).await.unwrap();
            assert_eq!(mismatch, Outcome::Mismatch);
            let mut dead = holder.clone();
            dead.attempt = 7;
            let renewed = waiting.renew(&dead, Terms::default(), None).await.unwrap();
            assert_eq!(renewed, Update::Superseded);
            let completed = waiting.complete(&dead, &answer("dead")).await.unwrap();
            assert_eq!(completed, Completion::Superseded);
            assert!(waiting.get(&holder.record).await.unwrap().is_some());
        });
        at_once.await.expect("a refusal waits for nobody");

        let completed = pair.waits(&store, async |store: RedisStore| {
            store.complete(&holder, &answer("paid")).await
        });
        match completed.await {
            Completion::AlreadyCompleted(stands) => assert_eq!(stands.answer, answer("paid")),
            other => panic!("it was applied the first time: {other:?}"),
        }
        let again = pair.waits(&store, async |store: RedisStore| {
            store.complete(&holder, &answer("another")).await
        });
        assert!(matches!(again.await, Completion::AlreadyCompleted(_)));
        let replayed = pair.waits(&store, async |store: RedisStore| {
            store.reserve(&request("k")).await
        });
        match replayed.await {
            Outcome::Replay(replay) => assert_eq!(replay.answer, answer("paid")),
            other => panic!("{other:?}"),
        }

        let given_back = reserve(&store, &request("given back")).await;
        let abandoned = pair.waits(&store, async |store: RedisStore| {
            store.abandon(&given_back).await
        });
        assert_eq!(abandoned.await, Update::Done);
        let released = pair.waits(&store, async |store: RedisStore| {
            store.release(&given_back).await
        });
        assert_eq!(released.await, Update::Superseded, "it is forgotten");
        pair.primary.ask(&["FLUSHALL"]);
    }
}

/// What only reads writes a mark, so that there is something to wait for; what writes does not.
#[tokio::test]
async fn the_wait_costs_one_command_and_a_mark_where_nothing_was_written() {
    let pair = Pair::start().await;
    let store = pair.plain.clone().wait_replicas(1, PATIENCE).unwrap();
    // Connected, and the scripts are loaded.
    let warm = reserve(&store, &request("warm")).await;
    store.reserve(&request("warm")).await.unwrap();
    store.renew(&warm, Terms::default(), None).await.unwrap();
    store.complete(&warm, &answer("warm")).await.unwrap();
    let cost = || {
        let mut commands = commands(&pair.primary);
        // What the replica says by itself.
        commands.retain(|name, _| !matches!(name.as_str(), "replconf" | "psync" | "ping"));
        sent(&commands)
    };
    cost();

    let holder = reserve(&store, &request("k")).await;
    assert_eq!(cost(), "1 set, 1 time, 1 wait");
    store.complete(&holder, &answer("paid")).await.unwrap();
    let read_and_write = "1 evalsha, 1 getex, 1 pexpiretime, 1 set, 1 time, 1 wait";
    assert_eq!(cost(), read_and_write);
    store.complete(&holder, &answer("paid")).await.unwrap();
    assert_eq!(
        cost(),
        "1 evalsha, 1 getex, 1 set, 1 time, 1 wait",
        "a mark"
    );
    store.reserve(&request("k")).await.unwrap();
    assert_eq!(cost(), "2 set, 1 time, 1 wait", "a mark");
    store.reserve(&other_payload("k")).await.unwrap();
    assert_eq!(
        cost(),
        "1 evalsha, 1 get, 1 set, 2 time",
        "nothing rests on it"
    );

    // The mark is no record, and soon forgotten.
    let left = pair.primary.ask(&["PTTL", "idem::wait:{idem:acct_812:k}"]);
    assert!(matches!(left, Reply::Integer(..=1000)), "{left:?}");
    assert_eq!(store.lapsed(None, 10).await.unwrap().records, []);
}

/// Each has a connection of its own, up to a number; others wait for their turn.
#[tokio::test]
async fn calls_wait_side_by_side_and_hold_up_nobody_else() {
    let pair = Pair::start().await;
    let store = pair.plain.clone().wait_replicas(1, PATIENCE).unwrap();
    pair.replica.pause();
    let mut calls = JoinSet::new();
    for number in 0..40 {
        let store = store.clone();
        calls.spawn(async move { store.reserve(&request(&format!("k{number}"))).await });
    }
    until_async("all that may wait do", || {
        says(&pair.primary, "clients", "blocked_clients:32\r")
    })
    .await;
    // Over the connection of all.
    let other = timeout(PATIENCE, pair.plain.reserve(&request("another"))).await;
    assert!(
        matches!(other, Ok(Ok(Outcome::Reserved { .. }))),
        "{other:?}"
    );
    pair.replica.go_on();
    let answered = timeout(PATIENCE, calls.join_all())
        .await
        .expect("all are answered");
    assert_eq!(answered.len(), 40);
    for answered in answered {
        assert!(
            matches!(answered, Ok(Outcome::Reserved { attempt: 1, .. })),
            "{answered:?}"
        );
    }
    // Those of the store, that of all, and the one that asks.
    assert!(says(&pair.primary, "clients", "connected_clients:34\r"));
}

#[tokio::test]
async fn the_connection_of_a_dropped_call_is_closed() {
    let pair = Pair::start().await;
    let store = pair.plain.clone().wait_replicas(1, PATIENCE).unwrap();
    pair.replica.pause();
    let first = request("k");
    let call = tokio::spawn({
        let (store, first) = (store.clone(), first.clone());
        async move { store.reserve(&first).await }
    });
    until_async("it waits", || {
        says(&pair.primary, "clients", "blocked_clients:1\r")
    })
    .await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    until_async("its connection is closed", || {
        says(&pair.primary, "clients", "blocked_clients:0\r")
            && says(&pair.primary, "clients", "connected_clients:2\r")
    })
    .await;
    pair.replica.go_on();
    let resent = store.reserve(&first.resent()).await.unwrap();
    assert!(
        matches!(resent, Outcome::Reserved { attempt: 1, .. }),
        "{resent:?}"
    );
}

async fn until_async(what: &str, done: impl Fn() -> bool) {
    let coming = timeout(PATIENCE, async {
        while !done() {
            tokio::task::yield_now().await;
        }
    });
    coming
        .await
        .unwrap_or_else(|_| panic!("not within {PATIENCE:?}: {what}"));
}

#[tokio::test]
async fn a_lost_connection_is_unknown_and_the_next_call_makes_another() {
    let pair = Pair::start().await;
    let store = pair.plain.clone().wait_replicas(1, PATIENCE).unwrap();
    let first = request("k");
    // Two connections: the other one is lost as well.
    let second = request("another");
    tokio::join!(reserve(&store, &first), reserve(&store, &second));
    pair.primary.ask(&["CLIENT", "KILL", "TYPE", "normal"]);
    let error = store.reserve(&first.clone().resent()).await.unwrap_err();
    assert_eq!(error.applied(), Applied::Unknown, "{error:?}");
    assert!(error.is_transient(), "{error:?}");
    let resent = store.reserve(&first.resent()).await.unwrap();
    assert!(
        matches!(resent, Outcome::Reserved { attempt: 1, .. }),
        "{resent:?}"
    );
}

#[tokio::test]
async fn what_cannot_be_waited_for_is_refused_or_unknown() {
    let server = Redis::start();
    let store = RedisStore::new(Connection::open(&server.url()).await.unwrap());
    let no_replica = store.clone().wait_replicas(1, SHORT).unwrap();
    is_unconfirmed(no_replica.reserve(&request("k")).await);

    for (replicas, within) in [(0, SHORT), (1, Duration::ZERO)] {
        let refused = store.clone().wait_replicas(replicas, within).unwrap_err();
        assert!(refused.is_invalid(), "{refused:?}");
    }
    let client = Client::open(server.url()).unwrap();
    let of_the_driver = client.get_multiplexed_async_connection().await.unwrap();
    let refused = RedisStore::new(of_the_driver).wait_replicas(1, SHORT);
    assert!(refused.unwrap_err().is_invalid());

    // Applied, and not allowed to wait: nobody may be told that nothing was applied.
    server.ask(&[
        "ACL", "SETUSER", "app", "on", ">secret", "~idem:*", "+@all", "-wait",
    ]);
    let url = format!("redis://app:secret@{}", server.address());
    let store = RedisStore::new(Connection::open(&url).await.unwrap());
    let store = store.wait_replicas(1, SHORT).unwrap();
    let error = store.reserve(&request("not allowed")).await.unwrap_err();
    assert_eq!(error.applied(), Applied::Unknown, "{error:?}");
    let there = server.ask(&["EXISTS", "idem:acct_812:not%20allowed"]);
    assert_eq!(there, Reply::Integer(1));
}

/// Each key over a connection to the node that has it.
#[cfg(feature = "cluster")]
#[tokio::test]
async fn on_a_cluster_only_the_keys_of_a_hanging_replica_are_unconfirmed() {
    use support::CLUSTER;

    let urls = CLUSTER.nodes().iter().map(Redis::url);
    let limits = Limits::default().answer(2 * PATIENCE).connect(PATIENCE);
    let connection = Connection::open_cluster_within(urls, limits).await.unwrap();
    let prefix = support::a_prefix();
    let plain = RedisStore::new(connection).with_prefix(prefix.clone());
    // Long enough for a replica that lives, on a busy machine.
    let store = plain.wait_replicas(1, Duration::from_millis(700)).unwrap();
    let paused = 1;
    let (mut here, mut elsewhere) = (0, 0);
    let mut unknown = Vec::new();
    for number in 0..24 {
        let request = request(&format!("k{number}"));
        let record = &request.operation.record;
        let name = format!("{}:acct_812:{}", prefix.as_str(), record.key.as_str());
        // Nodes 0 to 2 are the primaries; the replica of node n is node n + 3.
        if CLUSTER.primary_of(&name) != paused {
            elsewhere += 1;
            reserve(&store, &request).await;
        } else if here < 2 {
            here += 1;
            CLUSTER.nodes()[paused + 3].pause();
            is_unconfirmed(store.reserve(&request).await);
            CLUSTER.nodes()[paused + 3].go_on();
            unknown.push(request);
        }
    }
    println!("{elsewhere} keys elsewhere, {here} with the replica that hung");
    assert!(here > 0 && elsewhere > 3);
    for request in unknown {
        let resent = store.reserve(&request.resent()).await.unwrap();
        assert!(
            matches!(resent, Outcome::Reserved { attempt: 1, .. }),
            "{resent:?}"
        );
    }
}
