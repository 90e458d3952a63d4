//! Stores that are right for one caller at a time, and read and write apart.

use crate::call::Call;
use crate::laws::histories::l1_concurrent_histories_are_linearizable;
use crate::laws::model::l1_random_scripts_agree_with_the_machine;
use crate::toy::{ToyHarness, Twist};
use crate::{Runtime, judge, run};

struct Right;

impl Twist for Right {}

struct LooksThenReserves;

impl Twist for LooksThenReserves {
    fn reads_and_writes_apart(call: &Call) -> bool {
        matches!(call, Call::Reserve(_))
    }
}

struct LooksThenCompletes;

impl Twist for LooksThenCompletes {
    fn reads_and_writes_apart(call: &Call) -> bool {
        matches!(call, Call::Complete(..))
    }
}

struct LooksThenRenews;

impl Twist for LooksThenRenews {
    fn reads_and_writes_apart(call: &Call) -> bool {
        matches!(call, Call::Renew(..))
    }
}

struct LooksThenReleases;

impl Twist for LooksThenReleases {
    fn reads_and_writes_apart(call: &Call) -> bool {
        matches!(call, Call::Release(..))
    }
}

fn in_histories<T: Twist>() -> Option<String> {
    let law =
        async |harness: ToyHarness<T>| l1_concurrent_histories_are_linearizable(&harness).await;
    judge("histories", || run(Runtime::Multi, law)).broken
}

fn in_scripts<T: Twist>() -> Option<String> {
    let law =
        async |harness: ToyHarness<T>| l1_random_scripts_agree_with_the_machine(&harness).await;
    judge("scripts", || run(Runtime::Single, law)).broken
}

#[test]
fn the_machine_itself_passes() {
    assert_eq!(in_histories::<Right>(), None);
}

#[test]
fn stores_that_race_are_found_although_each_call_alone_is_right() {
    for (name, found, alone) in [
        (
            "reserve",
            in_histories::<LooksThenReserves>(),
            in_scripts::<LooksThenReserves>(),
        ),
        (
            "complete",
            in_histories::<LooksThenCompletes>(),
            in_scripts::<LooksThenCompletes>(),
        ),
        (
            "renew",
            in_histories::<LooksThenRenews>(),
            in_scripts::<LooksThenRenews>(),
        ),
        (
            "release",
            in_histories::<LooksThenReleases>(),
            in_scripts::<LooksThenReleases>(),
        ),
    ] {
        println!(
            "{name}: {}",
            found.unwrap_or_else(|| panic!("{name}: not found"))
        );
        assert_eq!(alone, None, "{name}");
    }
}
