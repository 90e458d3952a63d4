//! Whatever a handler answers: the first caller gets it, and every repeat gets what the rules say.

mod answers;
mod rules;

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::Full;
use idem_core::{ManualClock, Reservation};
use idem_tower::{RequestBody, ResponseBody};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use tower::{Layer as _, Service, ServiceExt as _};

use self::answers::{Case, case};
use self::rules::{Fate, first_headers, given, kept, ruled};
use crate::support::effort::proptest_config;
use crate::support::frames::{Arrived, Frames, read};

type Asked = Request<RequestBody<Full<Bytes>>>;

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Arrived,
}

async fn ask<S>(service: &S, case: &Case) -> Answer
where
    S: Service<Request<Full<Bytes>>, Response = Response<ResponseBody<Frames>>> + Clone,
    S::Error: std::fmt::Debug,
{
    let request = Request::builder()
        .method(case.method.clone())
        .uri("/payments")
        .header("x-client", "ana")
        .header("idempotency-key", "k")
        .body(Full::default())
        .unwrap();
    let (parts, body) = service.clone().oneshot(request).await.unwrap().into_parts();
    Answer {
        status: parts.status,
        headers: parts.headers,
        body: read(body).await,
    }
}

async fn check(case: &Case) -> Result<(), TestCaseError> {
    let attempts = Arc::new(Mutex::new(Vec::new()));
    let clock = ManualClock::new();
    let service = case.layer(clock.clone()).layer(tower::service_fn({
        let (case, attempts) = (case.clone(), Arc::clone(&attempts));
        move |request: Asked| {
            let attempt = request.extensions().get::<Reservation>().unwrap().attempt();
            attempts.lock().unwrap().push(attempt);
            std::future::ready(Ok::<_, Infallible>(case.answer()))
        }
    }));
    let ruled = ruled(case);
    let first = ask(&service, case).await;
    if ruled.first_is_own {
        is_given(case, &first, ruled.read_before)?;
    } else {
        is_problem(&first, 500, "outcome-unknown")?;
    }
    let second = ask(&service, case).await;
    let ran: &[u32] = match ruled.fate {
        Fate::Kept => {
            is_replay(case, &first, &second)?;
            &[1]
        }
        Fate::BodyNotKept => {
            let problem = is_problem(&second, 410, "answer-not-retained")?;
            prop_assert_eq!(&problem["original_status"], case.status.as_u16());
            &[1]
        }
        Fate::RunsAgain { attempt } => {
            prop_assert_eq!(second.status, first.status);
            prop_assert_eq!(&second.headers, &first.headers);
            prop_assert_eq!(&second.body, &first.body);
            &[1, attempt]
        }
        Fate::Unresolved => {
            is_problem(&second, 409, "in-flight")?;
            prop_assert!(second.headers.contains_key("retry-after"));
            clock.advance(Duration::from_secs(61));
            let third = ask(&service, case).await;
            is_problem(&third, 409, "unresolved")?;
            prop_assert!(!third.headers.contains_key("retry-after"));
            &[1]
        }
    };
    prop_assert_eq!(&attempts.lock().unwrap()[..], ran);
    if ruled.fate == Fate::Kept {
        let third = ask(&service, case).await;
        prop_assert!(third.headers.iter().eq(second.headers.iter()));
        is_replay(case, &first, &third)?;
        prop_assert_eq!(attempts.lock().unwrap().len(), 1);
    }
    Ok(())
}

/// The first answer is the handler's, but for the mark and a wrong length.
fn is_given(case: &Case, first: &Answer, read_before: bool) -> Result<(), TestCaseError> {
    prop_assert_eq!(first.status, case.status);
    prop_assert_eq!(&first.headers, &first_headers(case, read_before));
    prop_assert_eq!(&first.body, &given(case));
    Ok(())
}

/// Status, kept lines in their order, body and trailers of the first answer, and the mark.
fn is_replay(case: &Case, first: &Answer, replay: &Answer) -> Result<(), TestCaseError> {
    prop_assert_eq!(replay.status, first.status);
    let marks: Vec<_> = replay
        .headers
        .get_all("idempotent-replayed")
        .iter()
        .collect();
    prop_assert_eq!(marks, ["true"]);
    let mut unmarked = replay.headers.clone();
    unmarked.remove("idempotent-replayed");
    let expected = kept(case, &first.headers);
    prop_assert_eq!(&unmarked, &expected);
    prop_assert!(
        unmarked.iter().eq(expected.iter()),
        "the order of the lines"
    );
    prop_assert!(replay.body.whole);
    prop_assert_eq!(&replay.body.data, &first.body.data);
    let trailers = kept(case, &first.body.trailers);
    prop_assert!(replay.body.trailers.iter().eq(trailers.iter()), "trailers");
    Ok(())
}

fn is_problem(
    answer: &Answer,
    status: u16,
    slug: &str,
) -> Result<serde_json::Value, TestCaseError> {
    prop_assert_eq!(answer.status, status);
    prop_assert_eq!(&answer.headers["content-type"], "application/problem+json");
    prop_assert!(answer.body.whole);
    let problem: serde_json::Value = serde_json::from_slice(&answer.body.data).unwrap();
    prop_assert_eq!(&problem["type"], &format!("urn:idempotency-key:{slug}"));
    prop_assert_eq!(&problem["status"], status);
    Ok(problem)
}

#[test]
fn the_first_answer_is_the_handlers_and_repeats_get_what_the_rules_say() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    proptest!(proptest_config(2000), |(case in case())| {
        runtime.block_on(check(&case))?;
    });
}
