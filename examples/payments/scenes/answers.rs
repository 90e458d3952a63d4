//! One request after the other: what is an answer, and whose.

use super::{ANA, BOB, PAYMENT};
use crate::client::Failure;
use crate::stage::Stage;

const OTHER_AMOUNT: &str = r#"{"amount":"151.00","currency":"BRL","customer_id":"cus_812"}"#;
const NO_AMOUNT: &str = r#"{"amount":"abc","currency":"BRL","customer_id":"cus_812"}"#;
/// The simulated provider declines by the amount, so another card is another amount.
const DECLINED_CARD: &str = r#"{"amount":"13.13","currency":"BRL","customer_id":"cus_812"}"#;
const OTHER_CARD: &str = r#"{"amount":"13.14","currency":"BRL","customer_id":"cus_812"}"#;

pub(crate) async fn first_request(stage: Stage) -> Result<String, Failure> {
    let first = stage.pay(ANA, "order-1", PAYMENT).await?;
    let charges = stage.charges().await?;
    Ok(format!("{first}; charges: {charges}"))
}

pub(crate) async fn repeat(stage: Stage) -> Result<String, Failure> {
    let first = stage.pay(ANA, "order-1", PAYMENT).await?;
    let repeat = stage.pay(ANA, "order-1", PAYMENT).await?;
    let same = repeat.compared_to(&first);
    let charges = stage.charges().await?;
    Ok(format!("{repeat}, {same}; charges: {charges}"))
}

pub(crate) async fn other_payload(stage: Stage) -> Result<String, Failure> {
    stage.pay(ANA, "order-1", PAYMENT).await?;
    let other = stage.pay(ANA, "order-1", OTHER_AMOUNT).await?;
    let charges = stage.charges().await?;
    Ok(format!("{other}; charges: {charges}"))
}

pub(crate) async fn no_key(stage: Stage) -> Result<String, Failure> {
    let refused = stage.connect().await?.pay(ANA, None, PAYMENT).await?;
    let charges = stage.charges().await?;
    Ok(format!("{refused}; charges: {charges}"))
}

pub(crate) const INVALID_EXPECTED: &str =
    "400 invalid-payment replayed, same bytes; corrected: 422; new key: 201";

pub(crate) async fn invalid_amount(stage: Stage) -> Result<String, Failure> {
    let refused = stage.pay(ANA, "order-1", NO_AMOUNT).await?;
    let repeat = stage.pay(ANA, "order-1", NO_AMOUNT).await?;
    let same = repeat.compared_to(&refused);
    let corrected = stage.pay(ANA, "order-1", PAYMENT).await?;
    let new_key = stage.pay(ANA, "order-2", PAYMENT).await?;
    Ok(format!(
        "{repeat}, {same}; corrected: {}; new key: {new_key}",
        corrected.status(),
    ))
}

pub(crate) const DECLINED_EXPECTED: &str =
    "402 card-declined replayed, same bytes; calls: 1; other card: 422; new key: 201";

pub(crate) async fn declined(stage: Stage) -> Result<String, Failure> {
    let declined = stage.pay(ANA, "order-1", DECLINED_CARD).await?;
    let repeat = stage.pay(ANA, "order-1", DECLINED_CARD).await?;
    let same = repeat.compared_to(&declined);
    let calls = stage.calls().await?;
    let other_card = stage.pay(ANA, "order-1", OTHER_CARD).await?;
    let new_key = stage.pay(ANA, "order-2", OTHER_CARD).await?;
    Ok(format!(
        "{repeat}, {same}; calls: {calls}; other card: {}; new key: {new_key}",
        other_card.status(),
    ))
}

pub(crate) async fn two_clients(stage: Stage) -> Result<String, Failure> {
    let ana = stage.pay(ANA, "order-1", PAYMENT).await?;
    let bob = stage.pay(BOB, "order-1", PAYMENT).await?;
    let ana_again = stage.pay(ANA, "order-1", PAYMENT).await?;
    let bob_again = stage.pay(BOB, "order-1", PAYMENT).await?;
    let own = ana.json()?["id"] != bob.json()?["id"]
        && ana_again.compared_to(&ana) == "same bytes"
        && bob_again.compared_to(&bob) == "same bytes";
    let whose = if own {
        "own answers"
    } else {
        "ANOTHER'S ANSWER"
    };
    let charges = stage.charges().await?;
    Ok(format!("{ana}, {bob}, {whose}; charges: {charges}"))
}
