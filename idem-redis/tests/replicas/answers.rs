//! Which answers wait, and what that costs.

use idem_core::{
    Answer, Completion, Holder, IdempotencyStore, Inspect, Outcome, ReserveRequest, Response,
    Terms, Update,
};
use idem_redis::RedisStore;
use testkit::resp::Reply;
use tokio::time::timeout;

use crate::PATIENCE;
use crate::pair::Pair;
use crate::support::{commands, request, reserve, sent};

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
        let holder = Holder::new(first.operation.record.clone(), first.token, 1);
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
        "1 eval, 1 evalsha, 2 getex, 1 set, 1 time, 1 wait",
        "a mark"
    );
    store.reserve(&request("k")).await.unwrap();
    assert_eq!(cost(), "1 eval, 1 getex, 2 set, 1 time, 1 wait", "a mark");
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

#[tokio::test]
async fn a_full_server_still_replays_completes_and_releases() {
    let pair = Pair::start().await;
    let store = pair.plain.clone().wait_replicas(1, PATIENCE).unwrap();
    let [done, runs, given_back] = ["done", "runs", "given back"].map(request);
    let holder = reserve(&store, &done).await;
    store.complete(&holder, &answer("paid")).await.unwrap();
    let [runs, given_back] = [
        reserve(&store, &runs).await,
        reserve(&store, &given_back).await,
    ];
    pair.primary.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    let refused = store.reserve(&request("new")).await.unwrap_err();
    assert!(refused.to_string().contains("memory"), "{refused}");
    let replay = store.reserve(&request("done")).await.unwrap();
    assert!(matches!(replay, Outcome::Replay(_)), "{replay:?}");
    for _ in 0..2 {
        store.complete(&runs, &answer("paid")).await.unwrap();
    }
    assert_eq!(store.release(&given_back).await.unwrap(), Update::Done);
}
