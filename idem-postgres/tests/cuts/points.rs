//! Every call of the store, cut at each of its requests: before the server has applied it, or after.
//! What the error says of the record is true, and the same token, sent again, settles it.

use idem_core::{
    Answer, Applied, Completion, Error, Holder, IdempotencyStore as _, Inspect as _, Outcome,
    ReserveRequest, Response, Terms, Token, Update,
};
use idem_postgres::PostgresStore;
use std::time::Duration;

use crate::line::{FAULTS, Line, is_before};
use crate::operation;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Reserve,
    TakeOver,
    ReserveAgain,
    Renew,
    Complete,
    Abandon,
    Release,
    Purge,
}

const CALLS: [Call; 8] = [
    Call::Reserve,
    Call::TakeOver,
    Call::ReserveAgain,
    Call::Renew,
    Call::Complete,
    Call::Abandon,
    Call::Release,
    Call::Purge,
];

/// A call's answer, as far as it does not depend on the clock.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Reserved(u32),
    Completed,
    /// And what stands is the answer that was sent.
    AlreadyCompleted,
    Done,
    Superseded,
    Purged(usize),
}

fn answer() -> Answer {
    Response::new(201).body("paid").into()
}

/// One call, and what it is about.
struct Trial {
    call: Call,
    request: ReserveRequest,
    holder: Holder,
}

impl Trial {
    /// Brings the record into the state in which the call is made.
    async fn prepare(call: Call, key: &str, line: &Line) -> Self {
        let request = ReserveRequest::new(operation(key), Token::random(), Terms::default());
        let holder = Holder::new(request.operation.record.clone(), request.token, 1);
        let store = &line.direct.store;
        match call {
            Call::Reserve => {}
            Call::TakeOver => {
                let before = ReserveRequest::new(operation(key), Token::random(), Terms::default());
                store.reserve(&before).await.unwrap();
                let before = Holder::new(holder.record.clone(), before.token, 1);
                assert_eq!(store.abandon(&before).await.unwrap(), Update::Done);
            }
            Call::Purge => {
                let short = Duration::from_millis(1);
                let short = Terms::new(short, 2 * short).unwrap();
                let expires = ReserveRequest::new(operation(key), Token::random(), short);
                store.reserve(&expires).await.unwrap();
                line.direct.advance(Duration::from_secs(1)).await;
            }
            _ => {
                let reserved = store.reserve(&request).await.unwrap();
                assert!(matches!(reserved, Outcome::Reserved { attempt: 1, .. }));
            }
        }
        Self {
            call,
            request,
            holder,
        }
    }

    async fn make(&self, store: &PostgresStore, resend: bool) -> Result<Said, Error> {
        let said = |update| match update {
            Update::Done => Said::Done,
            Update::Superseded => Said::Superseded,
            Update::AlreadyCompleted(_) => Said::AlreadyCompleted,
        };
        Ok(match self.call {
            Call::Reserve | Call::TakeOver | Call::ReserveAgain => {
                let request = self.request.clone();
                let request = if resend { request.resent() } else { request };
                match store.reserve(&request).await? {
                    Outcome::Reserved { attempt, .. } => Said::Reserved(attempt),
                    other => panic!("{other:?}"),
                }
            }
            Call::Renew => said(store.renew(&self.holder, Terms::default(), None).await?),
            Call::Complete => match store.complete(&self.holder, &answer()).await? {
                Completion::Completed { .. } => Said::Completed,
                Completion::AlreadyCompleted(replay) => {
                    assert_eq!(replay.answer, answer());
                    Said::AlreadyCompleted
                }
                Completion::Superseded => Said::Superseded,
            },
            Call::Abandon => said(store.abandon(&self.holder).await?),
            Call::Release => said(store.release(&self.holder).await?),
            Call::Purge => Said::Purged(store.purge_expired(10).await?.removed),
        })
    }

    /// What the first send says, and what a resend says after the first was applied.
    fn expected(&self) -> (Said, Said) {
        match self.call {
            Call::Reserve | Call::ReserveAgain => (Said::Reserved(1), Said::Reserved(1)),
            Call::TakeOver => (Said::Reserved(2), Said::Reserved(2)),
            Call::Complete => (Said::Completed, Said::AlreadyCompleted),
            Call::Renew | Call::Abandon => (Said::Done, Said::Done),
            Call::Release => (Said::Done, Said::Superseded),
            Call::Purge => (Said::Purged(1), Said::Purged(0)),
        }
    }

    /// The row, whatever is in it, or nothing.
    async fn row(&self, line: &Line) -> i64 {
        let row = format!(
            "SELECT COALESCE((SELECT revision FROM {} WHERE key = '{}'), 0)",
            line.direct.name,
            self.holder.record.key.as_str()
        );
        line.direct.number(&row).await
    }
}

/// What was cut, and whether the server had applied the call.
async fn cut(line: &Line, call: Call, nth: u64, fault: testkit::Fault) -> Option<(String, bool)> {
    let key = format!("{call:?}, request {nth}, {fault:?}");
    let trial = Trial::prepare(call, &key, line).await;
    let before = trial.row(line).await;
    let store = line.through(1).await;
    let seen = line.cut(nth, fault);

    let first = trial.make(&store, false).await;
    let met = seen.met();
    let applied = trial.row(line).await != before;
    let (now, again) = trial.expected();
    match (&first, &met) {
        (Ok(said), _) => {
            assert_eq!(*said, now, "{key}");
            assert!(applied, "{key}");
        }
        (Err(error), Some(met)) => {
            assert!(error.is_transient(), "{key}: {error:?}");
            assert!(
                !applied || error.applied() == Applied::Unknown,
                "{key}: {met}: {error:?}"
            );
            assert!(!applied || !is_before(fault), "{key}: {met}");
            let said = trial.make(&store, true).await.unwrap();
            assert_eq!(said, if applied { again } else { now }, "{key}: {met}");
            assert_ne!(trial.row(line).await, before, "{key}: settled");
        }
        (Err(error), None) => panic!("{key}: without a fault: {error:?}"),
    }
    store.pool().close().await;
    met.map(|met| (met, applied))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_at_any_request_of_any_call_is_settled_by_the_same_token() {
    let line = Line::open().await;
    for call in CALLS {
        let mut points = Vec::new();
        'requests: for nth in 1.. {
            for fault in FAULTS {
                match cut(&line, call, nth, fault).await {
                    Some((met, applied)) => points.push((nth, met, fault, applied)),
                    None => break 'requests,
                }
            }
        }
        // Exactly one request writes, the last: cut before it is applied, and after.
        let last = points.last().map(|point| point.0).unwrap();
        for (nth, met, fault, applied) in &points {
            assert_eq!(
                *applied,
                *nth == last && !is_before(*fault),
                "{call:?}: {met}, {fault:?}"
            );
        }
        println!("{call:?}: {last} requests, {} cuts", points.len());
        assert!(last >= 3, "connect, prepare, run");
    }
}
