//! What calls cost, counted at the server.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and prints its figures"
)]

mod support;

use idem_core::{Answer, IdempotencyStore, OnLapse, Outcome, Response, Terms};
use idem_redis::{Connection, RedisStore};
use support::{commands, request, reserve, sent};
use testkit::Redis;
use testkit::resp::Reply;

fn answer() -> Answer {
    Response::new(201).body(vec![b'x'; 300]).into()
}

#[tokio::test]
async fn every_call_costs_one_round_trip_and_these_commands() {
    for native in [true, false] {
        let server = Redis::start();
        let mut store = RedisStore::new(Connection::open(&server.url()).await.unwrap());
        if !native {
            store = store.without_native();
        }
        // The scripts are loaded.
        let warm = reserve(&store, &request("warm")).await;
        assert!(matches!(
            store.reserve(&request("warm")).await,
            Ok(Outcome::Conflict { .. })
        ));
        store.renew(&warm, Terms::default(), None).await.unwrap();
        store.complete(&warm, &answer()).await.unwrap();
        commands(&server);

        let holder = reserve(&store, &request("k")).await;
        let reserving = sent(&commands(&server));
        let conflict = store.reserve(&request("k")).await.unwrap();
        assert!(matches!(conflict, Outcome::Conflict { .. }));
        let conflicting = sent(&commands(&server));
        store.renew(&holder, Terms::default(), None).await.unwrap();
        let renewing = sent(&commands(&server));
        store.complete(&holder, &answer()).await.unwrap();
        let completing = sent(&commands(&server));
        let replay = store.reserve(&request("k")).await.unwrap();
        assert!(matches!(replay, Outcome::Replay(_)));
        let replaying = sent(&commands(&server));

        println!("native: {native}\n reserve  {reserving}\n conflict {conflicting}");
        println!(" renew    {renewing}\n complete {completing}\n replay   {replaying}");
        // What a script runs inside is counted, too, and costs no round trip.
        let natively = "1 set, 1 time";
        let script = "1 evalsha, 1 get, 1 set, 1 time";
        // A holder's call reads by GETEX, which replicas refuse.
        let holding = "1 evalsha, 1 getex, 1 set, 1 time";
        let reading = "1 evalsha, 1 get, 1 time";
        if native {
            assert_eq!(
                (reserving.as_str(), replaying.as_str()),
                (natively, natively)
            );
            // Another round trip: the lease is computed in the server.
            assert_eq!(
                conflicting,
                "1 evalsha, 1 get, 1 pexpiretime, 1 set, 2 time"
            );
            assert_eq!(renewing, "1 evalsha, 1 getex, 1 pexpiretime, 1 set, 1 time");
        } else {
            assert_eq!((reserving.as_str(), replaying.as_str()), (script, reading));
            assert_eq!(
                (conflicting.as_str(), renewing.as_str()),
                (reading, holding)
            );
        }
        assert_eq!(completing, holding);
    }
}

/// Every way a record can be left, and whether the server forgets it by itself.
#[tokio::test]
async fn every_key_has_a_time_to_live_but_what_is_held_and_started() {
    let server = Redis::start();
    let store = RedisStore::new(Connection::open(&server.url()).await.unwrap());
    for store in [store.clone(), store.without_native()] {
        server.ask(&["FLUSHALL"]);
        let left = || match server.ask(&["PTTL", "idem:acct_812:k"]) {
            Reply::Integer(millis) => millis,
            other => panic!("{other:?}"),
        };
        let day = 24 * 3_600_000;
        let about_a_day = || (day - 60_000..=day).contains(&left());
        for on_lapse in [OnLapse::RunAgain, OnLapse::Hold] {
            let first = reserve(&store, &request("k").on_lapse(on_lapse)).await;
            assert!(about_a_day(), "reserved");
            store.renew(&first, Terms::default(), None).await.unwrap();
            assert_eq!(left() == -1, on_lapse == OnLapse::Hold, "renewed");
            store.abandon(&first).await.unwrap();
            assert!(about_a_day(), "abandoned");
            let second = reserve(&store, &request("k").on_lapse(on_lapse)).await;
            assert!(about_a_day(), "taken over");
            store.renew(&second, Terms::default(), None).await.unwrap();
            store.complete(&second, &answer()).await.unwrap();
            assert!(about_a_day(), "completed");
            server.ask(&["DEL", "idem:acct_812:k"]);
        }
        let released = reserve(&store, &request("k")).await;
        store.release(&released).await.unwrap();
        assert_eq!(left(), -2, "released");
    }
}
