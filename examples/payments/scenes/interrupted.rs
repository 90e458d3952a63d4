//! What does not run to its end in one piece: late handlers, lost clients, crashes, old keys.

use std::time::Duration;

use idempotency::{Condition, Inspect as _, Resolution, Response, resolve};

use super::{ANA, PAYMENT};
use crate::client::Failure;
use crate::payment;
use crate::stage::{LEASE, RETENTION, Stage};

pub(crate) const LEASE_EXPECTED: &str =
    "late: 409 in-flight retry 1s; next: 201; again: same bytes; charges: 1";

pub(crate) async fn outlives_its_lease(stage: Stage) -> Result<String, Failure> {
    let mut held = stage.hold_answers();
    let first = stage.begin_pay(ANA, "order-1", PAYMENT);
    let first_call = held.next().await;
    stage.clock.advance(LEASE);
    let second = stage.begin_pay(ANA, "order-1", PAYMENT);
    let second_call = held.next().await;
    drop(held);
    // The late one ends while its successor runs: it must not pass for it.
    first_call.answer();
    let late = first.await??;
    second_call.answer();
    let takeover = second.await??;
    let again = stage.pay(ANA, "order-1", PAYMENT).await?;
    let same = again.compared_to(&takeover);
    let charges = stage.charges().await?;
    Ok(format!(
        "late: {late}; next: {takeover}; again: {same}; charges: {charges}"
    ))
}

pub(crate) const HANG_UP_EXPECTED: &str =
    "409 in-flight retry 1s; later: 201 replayed; calls: 1; charges: 1";

pub(crate) async fn hangs_up(stage: Stage) -> Result<String, Failure> {
    let mut held = stage.hold_answers();
    let lost = stage.begin_pay(ANA, "order-1", PAYMENT);
    let call = held.next().await;
    drop(held);
    lost.abort();
    stage.until(|traffic| traffic.hung_up == 1).await;
    let meanwhile = stage.pay(ANA, "order-1", PAYMENT).await?;
    call.answer();
    stage.payments_end().await;
    let later = stage.pay(ANA, "order-1", PAYMENT).await?;
    let calls = stage.calls().await?;
    let charges = stage.charges().await?;
    Ok(format!(
        "{meanwhile}; later: {later}; calls: {calls}; charges: {charges}"
    ))
}

pub(crate) const CRASH_EXPECTED: &str =
    "409 unresolved; calls: 1; settled: 201 replayed; calls: 1; charges: 1";

pub(crate) async fn crashes(stage: Stage) -> Result<String, Failure> {
    let mut held = stage.hold_answers();
    let crashed = stage.begin_pay(ANA, "order-1", PAYMENT);
    held.next().await.crash();
    crashed.await??;
    drop(held);
    stage.clock.advance(LEASE);
    let retry = stage.pay(ANA, "order-1", PAYMENT).await?;
    let calls = stage.calls().await?;
    settle_by_hand(&stage).await?;
    let settled = stage.pay(ANA, "order-1", PAYMENT).await?;
    let (calls_after, charges) = (stage.calls().await?, stage.charges().await?);
    Ok(format!(
        "{retry}; calls: {calls}; settled: {settled}; calls: {calls_after}; charges: {charges}"
    ))
}

/// What an operator does: finds what is unresolved, asks the provider about it, and records the answer.
async fn settle_by_hand(stage: &Stage) -> Result<(), Failure> {
    let page = stage.records.lapsed(None, 10).await?;
    for record in page.records {
        if !matches!(record.condition, Condition::Unresolved { .. }) {
            continue;
        }
        let provider_key = record.operation.derived_key(payment::CHARGE);
        let resolution = match stage.provider.charge_of(&provider_key) {
            Some(charge) => {
                // What the handler would have answered.
                let answer = Response::new(201)
                    .header("content-type", "application/json")
                    .header("location", payment::location(&charge))
                    .body(payment::paid(&charge, record.holder.attempt));
                Resolution::Complete(answer.into())
            }
            None => Resolution::RunAgain,
        };
        resolve(
            &stage.store,
            &record.holder,
            resolution,
            "the provider was asked",
        )
        .await?;
    }
    Ok(())
}

pub(crate) async fn after_retention(stage: Stage) -> Result<String, Failure> {
    const MOMENT: Duration = Duration::from_millis(1);
    let first = stage.pay(ANA, "order-1", PAYMENT).await?;
    stage.clock.advance(RETENTION - MOMENT);
    let remembered = stage.pay(ANA, "order-1", PAYMENT).await?;
    stage.clock.advance(MOMENT);
    let later = stage.pay(ANA, "order-1", PAYMENT).await?;
    let new = first.json()?["id"] != later.json()?["id"];
    let which = if new { "new payment" } else { "OLD PAYMENT" };
    let charges = stage.charges().await?;
    Ok(format!(
        "{remembered}, then {later}, {which}; charges: {charges}"
    ))
}
