//! It goes before its handler began: nothing runs, and nothing of it stays.

use idem_core::OnConflict;

use super::{World, assert_in_flight, assert_is_paid, assert_replays_paid, attempt, paid, payment};
use crate::support::PATIENCE;
use crate::support::gate::soon;
use crate::support::leaving::{Upload, WAYS};

#[tokio::test]
async fn in_the_middle_of_its_upload_nothing_runs_and_the_key_is_unused() {
    for upload in [Upload::HalfDeclared, Upload::HalfChunked] {
        for way in WAYS {
            let world = World::start().await;
            let client = world.client(way, upload).await;
            world.requests.begun.reached(1).await;
            let mut left = world.goes(client).await;
            world.comes_to_rest().await;

            assert_eq!(world.effects.arrivals(), 0, "{way:?} {upload:?}");
            assert_eq!(world.store.on_reserve.calls(), 0, "{way:?} {upload:?}");
            assert_eq!(world.store.record("k").await, None);

            let retry = left.send(&payment("k")).await;
            assert_is_paid(&retry, 1);
            assert!(!retry.is_replayed());
            assert_replays_paid(&left.send(&payment("k")).await);
            assert_eq!(world.effects.arrivals(), 1);
        }
    }
}

#[tokio::test]
async fn while_it_waits_for_anothers_answer_only_its_waiting_ends() {
    for way in WAYS {
        let world = World::with(
            |builder| builder.on_conflict(OnConflict::Wait { up_to: PATIENCE }),
            |request| async move { paid(attempt(&request)) },
        )
        .await;
        world.effects.close();
        let mut first = world.client(way, Upload::Whole).await;
        world.effects.reached(1).await;
        let waiting = world.client(way, Upload::Whole).await;
        // It has been refused once, and watches the record.
        world.store.on_changed.before.reached(1).await;
        let mut left = world.goes(waiting).await;

        let asked = world.store.on_reserve.calls();
        world.effects.open();
        soon(first.sees_the_beginning()).await;
        world.comes_to_rest().await;
        // Nobody asked for it once more.
        assert_eq!(world.store.on_reserve.calls(), asked, "{way:?}");
        assert_replays_paid(&left.send(&payment("k")).await);
        assert_eq!(world.effects.arrivals(), 1, "{way:?}");
    }
}

#[tokio::test]
async fn before_a_slow_store_reserves_or_answers_the_reservation_is_given_back() {
    for way in WAYS {
        for reserved_already in [false, true] {
            let world = World::start().await;
            let reserve = &world.store.on_reserve;
            let gate = if reserved_already {
                &reserve.after
            } else {
                &reserve.before
            };
            gate.close();
            let client = world.client(way, Upload::Whole).await;
            gate.reached(1).await;
            let has_record = world.store.record("k").await.is_some();
            assert_eq!(has_record, reserved_already);
            let mut left = world.goes(client).await;

            // Nobody knows what became of the call: it is asked again, in the background.
            gate.reached(2).await;
            gate.open();
            world.comes_to_rest().await;
            assert_eq!(world.store.record("k").await, None, "{way:?}");
            assert_eq!(world.effects.arrivals(), 0, "{way:?}");

            let retry = left.send(&payment("k")).await;
            assert_is_paid(&retry, 1);
            assert!(!retry.is_replayed());
            assert_eq!(world.effects.arrivals(), 1, "{way:?}");
        }
    }
}

#[tokio::test]
async fn a_retry_that_comes_before_the_reservation_is_given_back_is_in_conflict_for_no_longer() {
    for way in WAYS {
        let world = World::start().await;
        let answers = &world.store.on_reserve.after;
        answers.close();
        let client = world.client(way, Upload::Whole).await;
        answers.reached(1).await;
        let mut left = world.goes(client).await;
        answers.reached(2).await;
        // What was to come back to the one who left, and what is asked in the background, hangs still.
        let retry = payment("k");
        let opens = async {
            answers.reached(3).await;
            answers.open();
        };
        let (early, ()) = tokio::join!(left.send(&retry), opens);
        assert_in_flight(&early);
        world.comes_to_rest().await;
        assert_is_paid(&left.send(&payment("k")).await, 1);
        assert_eq!(world.effects.arrivals(), 1, "{way:?}");
    }
}
