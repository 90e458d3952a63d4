//! A handler that is so late that another attempt has taken over: its own answer is never sent.

use idem_core::Builder;

use super::{First, LEASE, World, assert_in_flight, assert_paid};

const ENDS: [First; 5] = [
    First::Pays,
    First::PanicsAfterAnAwait,
    First::PanicsInItsBody,
    First::Fails,
    First::BreaksOff,
];

/// Its first run stands still after its effect, and nothing renews its lease.
fn world(first: First) -> World {
    let world = World::with(first, Builder::no_heartbeat, |layer| layer);
    world.first_passes.close();
    world
}

#[tokio::test]
async fn however_it_ends_it_is_answered_what_stands_marked_as_a_replay() {
    for first in ENDS {
        let world = world(first);
        let meanwhile = async {
            world.first_passes.reached(1).await;
            assert_in_flight(&world.pay().await);
            world.clock.advance(LEASE);
            assert_paid(&world.pay().await, 2, false);
            world.first_passes.open();
        };
        let (late, ()) = tokio::join!(world.pay(), meanwhile);
        assert_paid(&late, 2, true);
        assert_paid(&world.pay().await, 2, true);
        assert_eq!(world.attempts(), [1, 2], "{first:?}");
    }
}

#[tokio::test]
async fn while_the_other_still_runs_the_late_one_is_in_conflict() {
    for first in ENDS {
        let world = world(first);
        world.others_pass.close();
        let late = async {
            let late = world.pay().await;
            world.others_pass.open();
            late
        };
        let second = async {
            world.first_passes.reached(1).await;
            world.clock.advance(LEASE);
            world.pay().await
        };
        let both_run = async {
            world.others_pass.reached(1).await;
            world.first_passes.open();
        };
        let (late, second, ()) = tokio::join!(late, second, both_run);
        assert_in_flight(&late);
        assert_paid(&second, 2, false);
        assert_paid(&world.pay().await, 2, true);
        assert_eq!(world.attempts(), [1, 2], "{first:?}");
    }
}
