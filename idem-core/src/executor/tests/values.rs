//! Values instead of responses.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::support::{LEASE, World, asking, operation};
use crate::{Error, ExecuteValueError, ExecutedValue, OnLapse, Recorded, Reservation};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Receipt {
    id: String,
    cents: u64,
}

fn receipt() -> Receipt {
    Receipt {
        id: "pay_1".into(),
        cents: 9_007_199_254_740_993,
    }
}

type Executed<T> = Result<ExecutedValue<T>, ExecuteValueError<Error>>;

/// Runs an operation whose handler has its effect and gives `value`.
async fn run<T: Serialize + serde::de::DeserializeOwned>(world: &World, value: T) -> Executed<T> {
    let handler = async |_: Reservation| {
        world.effects.happen();
        Ok(value)
    };
    world
        .idempotency
        .execute_value(&operation("k"), handler)
        .await
}

#[tokio::test(start_paused = true)]
async fn a_repeat_gets_the_same_value_of_the_same_type() {
    let world = World::new();
    let first = run(&world, receipt()).await.unwrap();
    assert!(matches!(
        first,
        ExecutedValue::Ran { value, recorded: Recorded::Completed { .. } } if value == receipt()
    ));
    let repeat = run(
        &world,
        Receipt {
            id: "pay_2".into(),
            cents: 0,
        },
    )
    .await
    .unwrap();
    assert!(matches!(
        repeat,
        ExecutedValue::Replayed { value, remembered_for }
            if value == receipt() && remembered_for.as_secs() == 24 * 3600
    ));
    assert_eq!(world.effects.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stored_value_that_no_longer_fits_is_an_error_and_never_a_second_run() {
    let world = World::new();
    run(&world, receipt()).await.unwrap();
    let error = run::<Vec<u32>>(&world, vec![1]).await.unwrap_err();
    assert!(matches!(&error, ExecuteValueError::DoesNotFit(_)));
    assert!(
        error.to_string().contains("does not fit the type"),
        "{error}"
    );
    assert_eq!(world.effects.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_value_over_the_limit_is_not_kept_and_never_run_again() {
    let world = World::with(|builder| builder.response_limit(100));
    let first = run(&world, "x".repeat(200)).await.unwrap();
    assert_eq!(first.into_value().unwrap().len(), 200);
    let error = run(&world, String::new()).await.unwrap_err();
    assert!(matches!(error, ExecuteValueError::NotRetained));
    assert_eq!(world.effects.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_json_cannot_write_reaches_its_caller_and_is_never_run_again() {
    // JSON has no maps with keys of this kind.
    let unwritable = BTreeMap::from([((1, 2), 3)]);
    let world = World::new();
    let first = run(&world, unwritable.clone()).await.unwrap();
    assert_eq!(first.into_value(), Some(unwritable.clone()));
    let error = run(&world, unwritable).await.unwrap_err();
    assert!(matches!(error, ExecuteValueError::DoesNotFit(_)));
    assert_eq!(world.effects.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_other_outcomes_are_those_of_execute() {
    let world = World::with(|builder| builder.on_lapse(OnLapse::Hold));
    let failing = async |_: Reservation| Err::<Receipt, _>("no");
    let error = world
        .idempotency
        .execute_value(&operation("k"), failing)
        .await
        .unwrap_err();
    assert!(matches!(error, ExecuteValueError::Handler("no")));
    let conflict = run(&world, receipt()).await.unwrap();
    assert!(matches!(
        conflict,
        ExecutedValue::Conflict {
            retry_after: Some(_)
        }
    ));
    sleep(LEASE).await;
    let unresolved = run(&world, receipt()).await.unwrap();
    assert_eq!(unresolved, ExecutedValue::Conflict { retry_after: None });
    let other = async |_: Reservation| Ok::<_, Error>(receipt());
    let mismatch = world
        .idempotency
        .execute_value(&asking("k", "1.00"), other)
        .await
        .unwrap();
    assert_eq!(mismatch, ExecutedValue::Mismatch);
}
