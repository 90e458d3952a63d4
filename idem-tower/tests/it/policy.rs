//! What a server publishes about its keys is what it does.

use std::collections::BTreeMap;
use std::time::Duration;

use http::header::HeaderName;
use http::{Method, StatusCode};
use idem_core::{Idempotency, MemoryStore, OnConflict, OnLapse};
use idem_tower::{Answers, Disposition, IdempotencyLayer, Policy, ProblemKind, StoreDown};
use serde_json::{Value, json};

use crate::support::provoke::provoke;
use crate::support::{by_client, layer};

fn as_json(policy: &Policy) -> Value {
    serde_json::from_str(&policy.to_json()).unwrap()
}

/// Type and status of each problem, as published.
fn published(policy: &Policy) -> BTreeMap<String, u64> {
    let json = as_json(policy);
    let problems = json["problems"].as_array().unwrap().iter();
    let problems = problems.map(|problem| {
        let uri = problem["type"].as_str().unwrap().to_owned();
        (uri, problem["status"].as_u64().unwrap())
    });
    problems.collect()
}

/// Another status for each kind, and no two the same.
fn status_of_ones_own(kind: ProblemKind) -> StatusCode {
    let at = ProblemKind::ALL
        .iter()
        .position(|one| *one == kind)
        .unwrap();
    StatusCode::from_u16(460 + u16::try_from(at).unwrap()).unwrap()
}

fn of_ones_own(layer: IdempotencyLayer) -> IdempotencyLayer {
    let layer = layer.problem_type_base("https://pay.example/problems#");
    ProblemKind::ALL.iter().fold(layer, |layer, kind| {
        layer
            .problem_status(*kind, status_of_ones_own(*kind))
            .unwrap()
    })
}

#[tokio::test(start_paused = true)]
async fn every_problem_is_answered_with_the_status_and_the_type_that_are_published() {
    for kind in ProblemKind::ALL {
        for (own, base) in [
            (false, "urn:idempotency-key:"),
            (true, "https://pay.example/problems#"),
        ] {
            let provoked =
                provoke(*kind, |layer| if own { of_ones_own(layer) } else { layer }).await;
            let status = if own {
                status_of_ones_own(*kind)
            } else {
                kind.status()
            };
            let uri = format!("{base}{}", kind.slug());
            assert_eq!(provoked.body["type"], uri, "{kind:?}");
            assert_eq!(provoked.body["title"], kind.title());
            assert_eq!(provoked.body["status"], status.as_u16());
            assert_eq!(provoked.status, status, "{kind:?}");
            assert_eq!(provoked.headers["content-type"], "application/problem+json");
            let policy = provoked.layer.policy();
            assert_eq!(published(&policy)[&uri], u64::from(status.as_u16()));
            assert_eq!(published(&policy).len(), ProblemKind::ALL.len());
            let row = format!("\n| {} | `{uri}` | {} |\n", status.as_u16(), kind.title());
            assert!(policy.to_markdown().contains(&row), "{policy}");
        }
    }
}

#[test]
fn statuses_of_ones_own_are_in_the_prose_too() {
    let hold = Idempotency::builder(MemoryStore::new()).on_lapse(OnLapse::Hold);
    let layer = of_ones_own(IdempotencyLayer::new(hold.build().unwrap(), by_client));
    let policy = layer.policy();
    let json = as_json(&policy);
    for (member, kind) in [
        ("in_flight", ProblemKind::InFlight),
        ("after_interruption", ProblemKind::Unresolved),
        ("store_down", ProblemKind::StoreUnavailable),
    ] {
        let text = json[member].as_str().unwrap();
        let status = status_of_ones_own(kind);
        assert!(text.contains(status.as_str()), "{member}: {text}");
        assert!(policy.to_markdown().contains(text));
    }
    for usual in ["409", "503"] {
        assert!(!policy.to_json().contains(usual) && !policy.to_markdown().contains(usual));
    }
}

#[test]
fn the_defaults_are_published_as_they_are_documented() {
    let (layer, _, _) = layer();
    let mut json = as_json(&layer.policy());
    json.as_object_mut().unwrap().remove("problems");
    let expected = json!({
        "header": "idempotency-key",
        "key_form": "1 to 255 bytes, bare or as a quoted string of RFC 9651",
        "required": true,
        "methods": ["POST", "PATCH"],
        "compared_headers": [],
        "remembered_seconds": { "after_first_request": 86_400, "after_answer": 43_200 },
        "in_flight": "refused with 409 at once",
        "waits_up_to_seconds": null,
        "retry_after_seconds": 1,
        "after_interruption": "the next request runs again",
        "answers_kept": "below 500, except 401, 407, 408, 425 and 429",
        "store_down": "503, and nothing runs",
        "largest_request_body": 1 << 20,
        "largest_answer_kept": 1 << 20,
        "longest_answer_kept_seconds": 10,
        "headers_not_replayed": [
            "authentication-info",
            "proxy-authenticate",
            "proxy-authentication-info",
            "set-cookie",
            "www-authenticate",
        ],
        "replay_header": "Idempotent-Replayed: true",
        "documentation": null,
    });
    assert_eq!(json, expected);
}

/// Sets one thing, and says where in JSON it shows, as what, and in which row of Markdown.
type Setting = (
    fn(IdempotencyLayer) -> IdempotencyLayer,
    &'static str,
    Value,
    &'static str,
);

fn settings() -> Vec<Setting> {
    vec![
        (
            |layer| layer.methods([Method::PUT, Method::DELETE]),
            "/methods",
            json!(["PUT", "DELETE"]),
            "| methods | PUT, DELETE |",
        ),
        (
            |layer| layer.key_optional(),
            "/required",
            json!(false),
            "| required | no |",
        ),
        (
            |layer| layer.key_header(HeaderName::from_static("x-key")),
            "/header",
            json!("x-key"),
            "| header | `x-key` |",
        ),
        (
            |layer| layer.key_from(|_| Ok(None)),
            "/header",
            json!(null),
            "| key | taken from the request |",
        ),
        (
            |layer| layer.key_from(|_| Ok(None)),
            "/key_form",
            json!("1 to 255 bytes of UTF-8"),
            "| form of a key | 1 to 255 bytes of UTF-8 |",
        ),
        (
            |layer| layer.key_form("a UUID", |_| true),
            "/key_form",
            json!("a UUID"),
            "| form of a key | a UUID |",
        ),
        (
            |layer| layer.key_form("a|b\nc", |_| true),
            "/key_form",
            json!("a|b\nc"),
            "| form of a key | a\\|b c |",
        ),
        (
            |layer| layer.fingerprint_header(HeaderName::from_static("accept-version")),
            "/compared_headers",
            json!(["accept-version"]),
            "| headers that make another request | `accept-version` |",
        ),
        (
            |layer| layer.request_limit(17),
            "/largest_request_body",
            json!(17),
            "| largest request body | 17 bytes |",
        ),
        (
            |layer| layer.answer_limit(18),
            "/largest_answer_kept",
            json!(18),
            "| largest answer kept | about 18 bytes, headers included, whole within 10s |",
        ),
        // The executor's own limit counts in any case.
        (
            |layer| layer.answer_limit(2 << 20),
            "/largest_answer_kept",
            json!(1 << 20),
            "| largest answer kept | about 1048576 bytes, headers included, whole within 10s |",
        ),
        (
            |layer| layer.capture_for(Duration::from_secs(3)),
            "/longest_answer_kept_seconds",
            json!(3),
            "| largest answer kept | about 1048576 bytes, headers included, whole within 3s |",
        ),
        (
            |layer| layer.answers(Answers::everything()),
            "/answers_kept",
            json!("all, errors included"),
            "| answers that are kept | all, errors included |",
        ),
        (
            |layer| layer.answers(Answers::successes_only()),
            "/answers_kept",
            json!("below 400"),
            "| answers that are kept | below 400 |",
        ),
        (
            |layer| layer.answers(Answers::by(|_| Disposition::Complete)),
            "/answers_kept",
            json!("decided for each answer"),
            "| answers that are kept | decided for each answer |",
        ),
        (
            |layer| {
                layer
                    .keep_header(HeaderName::from_static("set-cookie"))
                    .drop_header(HeaderName::from_static("x-request-id"))
            },
            "/headers_not_replayed",
            json!([
                "authentication-info",
                "proxy-authenticate",
                "proxy-authentication-info",
                "www-authenticate",
                "x-request-id"
            ]),
            "| headers that are not replayed | `authentication-info`, `proxy-authenticate`, `proxy-authentication-info`, `www-authenticate`, `x-request-id` |",
        ),
        (
            |layer| layer.retry_after(Duration::from_millis(4_001)),
            "/retry_after_seconds",
            json!(5),
            "(try again after 5 s)",
        ),
        (
            |layer| layer.store_down(StoreDown::Open),
            "/store_down",
            json!("requests run unprotected, and so does every retry of them"),
            "| while the store is down | requests run unprotected, and so does every retry of them |",
        ),
        (
            |layer| layer.documentation("https://pay.example/docs").unwrap(),
            "/documentation",
            json!("https://pay.example/docs"),
            "| documentation | <https://pay.example/docs> |",
        ),
    ]
}

#[test]
fn every_setting_of_the_layer_shows() {
    for (set, pointer, value, row) in settings() {
        let (layer, _, _) = layer();
        let policy = set(layer).policy();
        assert_eq!(as_json(&policy).pointer(pointer), Some(&value), "{pointer}");
        let markdown = policy.to_markdown();
        assert!(markdown.contains(row), "{row} is not in\n{markdown}");
        assert_eq!(markdown, policy.to_string());
    }
}

#[test]
fn the_settings_of_the_executor_show() {
    let up_to = Duration::from_secs(7);
    let idempotency = Idempotency::builder(MemoryStore::new())
        .retention(Duration::from_secs(3_601))
        .on_conflict(OnConflict::Wait { up_to })
        .on_lapse(OnLapse::Hold)
        .response_limit(99)
        .build()
        .unwrap();
    let policy = IdempotencyLayer::new(idempotency, by_client).policy();
    let json = as_json(&policy);
    let remembered = json!({ "after_first_request": 3_601, "after_answer": 1_800 });
    assert_eq!(json["remembered_seconds"], remembered);
    assert_eq!(json["in_flight"], "waits for the answer, then 409");
    assert_eq!(json["waits_up_to_seconds"], 7);
    assert_eq!(
        json["after_interruption"],
        "409 unresolved, until it was looked into"
    );
    assert_eq!(json["largest_answer_kept"], 99);
    for row in [
        "| remembered | at least 3601s after the first request, and 1800.5s after the answer |",
        "| while the first request runs | waits for the answer, then 409 (waits up to 7s) (try again after 1 s) |",
        "| after an interruption | 409 unresolved, until it was looked into |",
    ] {
        assert!(
            policy.to_markdown().contains(row),
            "{row} is not in\n{policy}"
        );
    }
}

#[test]
fn by_hand_it_promises_nothing_that_only_the_handler_can_keep() {
    let (layer, _, _) = layer();
    let policy = layer.by_hand().policy();
    let json = as_json(&policy);
    for what in [
        "in_flight",
        "after_interruption",
        "answers_kept",
        "store_down",
    ] {
        assert_eq!(json[what], "as the handler decides", "{what}");
    }
    for what in ["largest_answer_kept", "longest_answer_kept_seconds"] {
        assert_eq!(json[what], Value::Null, "{what}");
    }
    assert!(!policy.to_markdown().contains("largest answer kept"));
}
