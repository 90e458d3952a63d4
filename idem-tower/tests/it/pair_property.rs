//! Of two requests: whether the second is the first once more, a mismatch, or one of its own, is what a
//! small reference says that knows nothing of fingerprints.

mod requests;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{HeaderName, Method, Response};
use http_body_util::{BodyExt as _, Full};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use tower::{Layer as _, ServiceExt as _};

use self::requests::{Ask, KeyHeader, Meaning, pair};
use crate::support::effort::proptest_config;
use crate::support::layer;

#[derive(Clone, Copy, Debug)]
struct Asked {
    key_optional: bool,
    version_counts: bool,
}

/// What becomes of a request that is alone.
#[derive(Debug, PartialEq, Eq)]
enum Alone {
    Passes,
    /// With one of these problems.
    Refused(Vec<&'static str>),
    /// It has a record, of this scope and key.
    Guarded(&'static str, &'static str),
}

fn alone(asked: Asked, ask: &Ask) -> Alone {
    if ![Method::POST, Method::PATCH].contains(&ask.method) {
        return Alone::Passes;
    }
    let mut problems = Vec::new();
    if ask.client.is_none() {
        problems.push("no-scope");
    }
    match ask.key {
        KeyHeader::Missing if asked.key_optional => return Alone::Passes,
        KeyHeader::Missing => problems.push("key-missing"),
        KeyHeader::Malformed(_) => problems.push("key-malformed"),
        KeyHeader::Key { text, .. } => {
            if let Some(client) = ask.client {
                return Alone::Guarded(client, text);
            }
        }
    }
    Alone::Refused(problems)
}

/// Whether both ask for the same thing.
fn same(asked: Asked, one: &Ask, other: &Ask) -> bool {
    let version = |ask: &Ask| ask.version.filter(|_| asked.version_counts);
    one.method == other.method
        && (one.path, one.query) == (other.path, other.query)
        && version(one) == version(other)
        && body(one) == body(other)
}

/// The kind of body, and what is compared of it.
#[derive(Debug, PartialEq, Eq)]
enum Body<'a> {
    Payment(String, &'a Meaning),
    Parts(&'a Meaning),
    Bytes {
        encoding: Option<&'static str>,
        content_type: Option<&'static str>,
        bytes: &'a [u8],
    },
    /// Of a JSON type, but no plain JSON.
    NoJson(String, &'a [u8]),
}

fn body(ask: &Ask) -> Body<'_> {
    let content = &ask.content;
    let encoding = ask
        .encoding
        .filter(|encoding| !encoding.eq_ignore_ascii_case("identity"));
    let lower = ask.content_type.unwrap_or_default().to_lowercase();
    let essence = lower
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned();
    let is_json = matches!(&*essence, "application/json" | "application/pay+json");
    match &content.means {
        means @ Meaning::Payment { .. } if is_json && encoding.is_none() => {
            Body::Payment(essence, means)
        }
        _ if is_json && encoding.is_none() => Body::NoJson(essence, &content.bytes),
        means @ Meaning::Parts(parts) if encoding.is_none() && is_framed(ask, parts.len()) => {
            Body::Parts(means)
        }
        _ => Body::Bytes {
            encoding,
            content_type: ask.content_type,
            bytes: &content.bytes,
        },
    }
}

/// Whether the content type's boundary is the one in the body.
fn is_framed(ask: &Ask, parts: usize) -> bool {
    let content_type = ask.content_type.unwrap_or_default().replace('"', "");
    let Some((_, boundary)) = content_type.rsplit_once(['=']) else {
        return false;
    };
    let text = String::from_utf8_lossy(&ask.content.bytes);
    content_type.to_lowercase().starts_with("multipart/")
        && text.matches(&format!("--{boundary}\r\n")).count() == parts
}

async fn check(asked: Asked, first: &Ask, second: &Ask) -> Result<(), TestCaseError> {
    let runs = Arc::new(AtomicUsize::new(0));
    let (mut layer, _, _) = layer();
    if asked.key_optional {
        layer = layer.key_optional();
    }
    if asked.version_counts {
        layer = layer.fingerprint_header(HeaderName::from_static("accept-version"));
    }
    let service = layer.layer(tower::service_fn({
        let runs = Arc::clone(&runs);
        move |_| {
            let run = runs.fetch_add(1, Ordering::Relaxed) + 1;
            let answer = Response::new(Full::new(Bytes::from(run.to_string())));
            std::future::ready(Ok::<_, Infallible>(answer))
        }
    }));
    let answers = async |ask: &Ask| {
        let answer = service.clone().oneshot(ask.request()).await.unwrap();
        let (parts, body) = answer.into_parts();
        let replayed = parts.headers.contains_key("idempotent-replayed");
        let body = body.collect().await.unwrap().to_bytes();
        let body = String::from_utf8(body.into()).unwrap();
        (parts.status.as_u16(), replayed, body)
    };
    let mut expected_runs = 0;
    let mut record = None;
    for ask in [first, second] {
        let (status, replayed, body) = answers(ask).await;
        let alone = alone(asked, ask);
        let is_again = record.as_ref() == Some(&alone);
        match &alone {
            Alone::Refused(problems) => {
                let expected = problems.iter().any(|slug| is_problem(&body, slug));
                prop_assert!(expected, "{status} {body}, expected one of {problems:?}");
            }
            Alone::Guarded(..) if is_again && same(asked, first, second) => {
                prop_assert_eq!((status, replayed, &*body), (200, true, "1"));
            }
            Alone::Guarded(..) if is_again => {
                prop_assert!(
                    is_problem(&body, "key-reused"),
                    "{status} {replayed} {body}"
                );
                prop_assert_eq!((status, replayed), (422, false));
            }
            Alone::Guarded(..) | Alone::Passes => {
                expected_runs += 1;
                let own = expected_runs.to_string();
                prop_assert_eq!((status, replayed, body), (200, false, own));
            }
        }
        prop_assert_eq!(runs.load(Ordering::Relaxed), expected_runs);
        if let Alone::Guarded(..) = alone {
            record = Some(alone);
        }
    }
    Ok(())
}

fn is_problem(body: &str, slug: &str) -> bool {
    body.contains(&format!("\"urn:idempotency-key:{slug}\""))
}

#[test]
fn a_second_request_is_a_replay_a_mismatch_or_a_run_of_its_own_as_the_reference_says() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let settings = (any::<bool>(), any::<bool>());
    let asked = settings.prop_map(|(key_optional, version_counts)| Asked {
        key_optional,
        version_counts,
    });
    proptest!(proptest_config(2000), |(asked in asked, (first, second) in pair())| {
        runtime.block_on(check(asked, &first, &second))?;
    });
}
