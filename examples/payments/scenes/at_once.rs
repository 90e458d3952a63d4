//! Twenty requests with one key at the same instant.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::{ANA, PAYMENT};
use crate::client::{Answer, Failure};
use crate::gate::HeldCalls;
use crate::stage::Stage;

pub(super) const REQUESTS: usize = 20;

pub(crate) async fn rejected(stage: Stage) -> Result<String, Failure> {
    let mut held = stage.hold_answers();
    let requests = send_at_once(payments(&stage).await?);
    let answers = answered_meanwhile(requests, &mut held).await?;
    let charges = stage.charges().await?;
    Ok(format!("{}; charges: {charges}", counted(&answers)))
}

pub(crate) async fn waiting(stage: Stage) -> Result<String, Failure> {
    let mut held = stage.hold_answers();
    let mut requests = send_at_once(payments(&stage).await?);
    let winner = held.next().await;
    // One may still be on its way to the store: then it finds the answer instead of waiting for it.
    stage.until(|traffic| traffic.begun == REQUESTS).await;
    drop(held);
    winner.answer();
    let mut answers = Vec::new();
    for _ in 0..REQUESTS {
        answers.push(next(&mut requests).await?);
    }
    let differs = |answer: &&Answer| answer.compared_to(&answers[0]) != "same bytes";
    let same = answers
        .iter()
        .find(differs)
        .map_or("same bytes", |_| "OTHER BYTES");
    let charges = stage.charges().await?;
    Ok(format!("{}, {same}; charges: {charges}", counted(&answers)))
}

type Requests = JoinSet<Result<Answer, Failure>>;

/// The same payment on as many connections.
async fn payments(
    stage: &Stage,
) -> Result<Vec<impl Future<Output = Result<Answer, Failure>> + use<>>, Failure> {
    let mut payments = Vec::new();
    for _ in 0..REQUESTS {
        let connection = stage.connect().await?;
        payments.push(async move { connection.pay(ANA, Some("order-1"), PAYMENT).await });
    }
    Ok(payments)
}

/// All of them, at the same instant.
pub(super) fn send_at_once<R>(all: impl IntoIterator<Item = R>) -> Requests
where
    R: Future<Output = Result<Answer, Failure>> + Send + 'static,
{
    let start = Arc::new(Barrier::new(REQUESTS));
    let mut requests = JoinSet::new();
    for request in all {
        let start = Arc::clone(&start);
        requests.spawn(async move {
            start.wait().await;
            request.await
        });
    }
    requests
}

/// Their answers: while the one that won is held, the others have theirs.
pub(super) async fn answered_meanwhile(
    mut requests: Requests,
    held: &mut HeldCalls,
) -> Result<Vec<Answer>, Failure> {
    let winner = held.next().await;
    let mut answers = Vec::new();
    while requests.len() > 1 {
        answers.push(next(&mut requests).await?);
    }
    winner.answer();
    answers.push(next(&mut requests).await?);
    Ok(answers)
}

async fn next(requests: &mut Requests) -> Result<Answer, Failure> {
    requests.join_next().await.ok_or("no request is left")??
}

/// `1 x 201, 19 x 409 in-flight retry 1s`
pub(super) fn counted(answers: &[Answer]) -> String {
    let mut counts = BTreeMap::new();
    for answer in answers {
        *counts.entry(answer.to_string()).or_insert(0) += 1;
    }
    let counts: Vec<_> = counts
        .iter()
        .map(|(what, n)| format!("{n} x {what}"))
        .collect();
    counts.join(", ")
}
