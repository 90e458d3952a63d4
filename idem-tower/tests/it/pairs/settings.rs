//! What else can be set, and what happens while the store fails.

use std::time::Duration;

use http::StatusCode;
use idem_core::OnLapse;
use idem_tower::{ProblemKind, StoreDown};

use super::problems::{
    in_flight, key_malformed, key_missing, key_reused, outcome_unknown, record_unreadable,
    store_unavailable,
};
use super::row::{Does, Reply, Row, answer, json, keyless, post, ran, replay, reply, row};
use super::store::Fault;

pub(super) fn rows() -> Vec<Row> {
    let mut rows = problems();
    rows.extend(store_down());
    rows.extend(by_hand());
    rows
}

fn problems() -> Vec<Row> {
    const LINK: &str = r#"<https://docs.example/keys>; rel="describedby"; type="text/html""#;
    vec![
        row("problems may have types of the server's own")
            .layer(|layer| layer.problem_type_base("https://docs.example/problems#"))
            .first(
                keyless(),
                key_missing().member("type", "https://docs.example/problems#key-missing"),
            )
            .second(
                post("\"\""),
                key_malformed("the key is empty: 1 to 255 bytes are allowed")
                    .member("type", "https://docs.example/problems#key-malformed"),
            )
            .runs(0),
        row("problems link to the documentation")
            .layer(|layer| layer.documentation("https://docs.example/keys").unwrap())
            .first(keyless(), key_missing().header("link", LINK))
            .second(
                post("\"\""),
                key_malformed("the key is empty: 1 to 255 bytes are allowed").header("link", LINK),
            )
            .runs(0),
        row("answers do not link to the documentation, first or replayed")
            .layer(|layer| layer.documentation("https://docs.example/keys").unwrap())
            .twice(post("k"), ran(1), replay(1))
            .runs(1),
        row("reuse links to the documentation")
            .layer(|layer| layer.documentation("https://docs.example/keys").unwrap())
            .first(post("k"), ran(1))
            .second(
                post("k").body("pay more"),
                key_reused().header("link", LINK),
            )
            .runs(1),
        row("reuse may be told as Stripe does, with 400")
            .layer(|layer| {
                layer
                    .problem_status(ProblemKind::KeyReused, StatusCode::BAD_REQUEST)
                    .unwrap()
            })
            .first(json("1"), ran(1))
            .second(json("2"), key_reused().status(400))
            .runs(1),
        row("the status of one kind of problem is not that of another, and the last word counts")
            .layer(|layer| {
                layer
                    .problem_status(ProblemKind::KeyMissing, StatusCode::IM_A_TEAPOT)
                    .unwrap()
                    .problem_status(ProblemKind::KeyMissing, StatusCode::PRECONDITION_REQUIRED)
                    .unwrap()
            })
            .first(keyless(), key_missing().status(428))
            .second(
                post("\"\""),
                key_malformed("the key is empty: 1 to 255 bytes are allowed"),
            )
            .runs(0),
        row("a request in flight may be told with another status")
            .layer(|layer| {
                layer
                    .problem_status(ProblemKind::InFlight, StatusCode::LOCKED)
                    .unwrap()
            })
            .first_still_runs()
            .twice(post("k"), ran(1), in_flight("1").status(423))
            .runs(1),
    ]
}

fn store_down() -> Vec<Row> {
    vec![
        row("while the store is away, nothing runs")
            .store(Fault::Away)
            .twice(post("k"), store_unavailable("1"), store_unavailable("1"))
            .runs(0),
        row("while the store is away, when to come back is as it is set, rounded up")
            .store(Fault::Away)
            .layer(|layer| layer.retry_after(Duration::from_millis(90_500)))
            .twice(post("k"), store_unavailable("91"), store_unavailable("91"))
            .runs(0),
        row("a store that does not answer is away, too")
            .store(Fault::Silent)
            .twice(post("k"), store_unavailable("1"), store_unavailable("1"))
            .runs(0),
        row("a store that refuses is away, too")
            .store(Fault::Refuses)
            .twice(post("k"), store_unavailable("1"), store_unavailable("1"))
            .runs(0),
        row("a store that goes away after an answer does not let it run again")
            .store(Fault::AwayAfterTheFirst)
            .twice(post("k"), ran(1), store_unavailable("1"))
            .runs(1),
        row("while the store is away, what is malformed is still malformed")
            .store(Fault::Away)
            .first(keyless(), key_missing())
            .second(
                post(""),
                key_malformed("the key is empty: 1 to 255 bytes are allowed"),
            )
            .runs(0)
            .reserves(0),
        row("while the store is away, what is not guarded runs")
            .store(Fault::Away)
            .twice(post("k").method("PUT"), ran(1), ran(2))
            .runs(2),
        row("while the store is away, requests without an optional key run")
            .store(Fault::Away)
            .layer(|layer| layer.key_optional())
            .twice(keyless(), ran(1), ran(2))
            .runs(2),
        row("open, requests run unprotected while the store is away")
            .store(Fault::Away)
            .layer(|layer| layer.store_down(StoreDown::Open))
            .handler(reply(200).body("{run} {attempt} {body}"))
            .twice(
                post("k"),
                answer(200).body("1 none pay"),
                answer(200).body("2 none pay"),
            )
            .runs(2),
        row("open, requests run unprotected while the store does not answer")
            .store(Fault::Silent)
            .layer(|layer| layer.store_down(StoreDown::Open))
            .twice(post("k"), ran(1), ran(2))
            .runs(2),
        row("open, an answer is replayed as long as the store is there")
            .store(Fault::NeverGivesBack)
            .layer(|layer| layer.store_down(StoreDown::Open))
            .twice(post("k"), ran(1), replay(1))
            .runs(1),
        row("open, a malformed key is still refused")
            .store(Fault::Away)
            .layer(|layer| layer.store_down(StoreDown::Open))
            .first(keyless(), key_missing())
            .second(
                post(""),
                key_malformed("the key is empty: 1 to 255 bytes are allowed"),
            )
            .runs(0),
        row("a record that cannot be read runs nothing")
            .store(Fault::Corrupt)
            .twice(post("k"), record_unreadable(), record_unreadable())
            .runs(0),
        row("open, a record that cannot be read is no store that is away")
            .store(Fault::Corrupt)
            .layer(|layer| layer.store_down(StoreDown::Open))
            .twice(post("k"), record_unreadable(), record_unreadable())
            .runs(0),
        row("an answer that the store did not take reaches its client, and does not run again")
            .store(Fault::NeverCompletes)
            .twice(post("k"), ran(1), in_flight("1"))
            .runs(1),
        row("a failure that the store did not hear of reaches its client, and its lease goes on")
            .store(Fault::NeverGivesBack)
            .handler(reply(503).body("oh"))
            .twice(post("k"), answer(503).body("oh"), in_flight("1"))
            .runs(1),
        row("a panic that the store did not hear of runs again after its lease")
            .store(Fault::NeverGivesBack)
            .handlers([Reply::default().does(Does::Panic), Reply::default()])
            .after(Duration::from_secs(60))
            .twice(post("k"), outcome_unknown(), ran(2))
            .runs(2),
    ]
}

/// Handlers that reserve and complete by themselves.
fn by_hand() -> Vec<Row> {
    vec![
        row("by hand, a retry is replayed")
            .layer(|layer| layer.by_hand())
            .twice(post("k"), ran(1), replay(1))
            .runs(1)
            .reserves(2),
        row("by hand, another body is reuse")
            .layer(|layer| layer.by_hand())
            .first(post("k"), ran(1))
            .second(post("k").body("pay more"), key_reused())
            .runs(1),
        row("by hand, what is malformed never reaches the handler")
            .layer(|layer| layer.by_hand())
            .first(keyless(), key_missing())
            .second(
                post(""),
                key_malformed("the key is empty: 1 to 255 bytes are allowed"),
            )
            .runs(0)
            .reserves(0),
        row("by hand, a request in flight is told when to come back")
            .layer(|layer| layer.by_hand().retry_after(Duration::from_secs(5)))
            .first_still_runs()
            .twice(post("k"), ran(1), in_flight("5"))
            .runs(1),
        row("by hand, a store that is away is told")
            .store(Fault::Away)
            .layer(|layer| layer.by_hand())
            .twice(post("k"), store_unavailable("1"), store_unavailable("1"))
            .runs(0),
        row("by hand, cookies are not recorded by the layer's rules")
            .layer(|layer| layer.by_hand())
            .handler(
                Reply::default()
                    .header("set-cookie", "a=1")
                    .header("idempotent-replayed", "true"),
            )
            .twice(post("k"), ran(1), replay(1))
            .runs(1),
        row("by hand under Hold, one whose handler was overtaken by its lease is unresolved")
            .executor(|builder| builder.on_lapse(OnLapse::Hold))
            .layer(|layer| layer.by_hand())
            .first_still_runs()
            .after(Duration::from_secs(60))
            .twice(post("k"), ran(1), super::problems::unresolved())
            .runs(1),
    ]
}
