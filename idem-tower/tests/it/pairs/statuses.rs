//! Which answers are kept: by their status, by the settings, and by the handler's own word.

use std::time::Duration;

use idem_core::{Builder, OnLapse};
use idem_tower::{Answers, Disposition, IdempotencyLayer};

use super::problems::{in_flight, key_reused, not_retained, outcome_unknown, unresolved};
use super::row::{Does, Reply, Row, Want, answer, json, post, ran, replay, reply, row};

pub(super) fn rows() -> Vec<Row> {
    let mut rows = settled();
    rows.extend(grid());
    rows.extend(dispositions());
    rows.extend(recorded());
    rows
}

/// Answers with what belongs to them.
fn settled() -> Vec<Row> {
    vec![
        row("a created resource is replayed with its place")
            .handler(
                reply(201)
                    .header("location", "/payments/1")
                    .header("etag", "\"v1\"")
                    .header("content-type", "application/json")
                    .body("{\"id\":1}"),
            )
            .twice(json("{}"), created(), created().replayed())
            .runs(1),
        row("an accepted job is replayed, whatever became of it")
            .handler(reply(202).header("location", "/jobs/1").body("queued"))
            .twice(
                post("k"),
                answer(202).header("location", "/jobs/1").body("queued"),
                answer(202)
                    .header("location", "/jobs/1")
                    .body("queued")
                    .replayed(),
            )
            .runs(1),
        row("an answer without content is replayed without content")
            .handler(reply(204).header("etag", "\"v2\""))
            .twice(
                post("k"),
                answer(204).header("etag", "\"v2\""),
                answer(204).header("etag", "\"v2\"").replayed(),
            )
            .runs(1),
        row("an empty answer is replayed empty")
            .handler(reply(200))
            .twice(post("k"), answer(200), answer(200).replayed())
            .runs(1),
        row("a form's redirect is replayed")
            .handler(reply(303).header("location", "/thanks"))
            .twice(
                post("k"),
                answer(303).header("location", "/thanks"),
                answer(303).header("location", "/thanks").replayed(),
            )
            .runs(1),
        row("a 304 is replayed with what it tells of the body")
            .handler(
                reply(304)
                    .header("etag", "\"v1\"")
                    .header("content-length", "17"),
            )
            .twice(
                post("k"),
                answer(304)
                    .header("etag", "\"v1\"")
                    .header("content-length", "17"),
                answer(304)
                    .header("etag", "\"v1\"")
                    .header("content-length", "17")
                    .replayed(),
            )
            .only_http2("hyper sends no length of a body that is not there over HTTP/1.1")
            .runs(1),
        row("the application's own 409 is no conflict of ours, and is replayed")
            .handler(
                reply(409)
                    .header("content-type", "text/plain")
                    .body("already paid"),
            )
            .twice(
                post("k"),
                answer(409)
                    .header("content-type", "text/plain")
                    .body("already paid"),
                answer(409)
                    .header("content-type", "text/plain")
                    .body("already paid")
                    .replayed(),
            )
            .runs(1),
        row("the application's own 422 is no reuse, and is replayed")
            .handler(
                reply(422)
                    .header("content-type", "application/problem+json")
                    .body("{}"),
            )
            .twice(
                post("k"),
                answer(422)
                    .header("content-type", "application/problem+json")
                    .body("{}"),
                answer(422)
                    .header("content-type", "application/problem+json")
                    .body("{}")
                    .replayed(),
            )
            .runs(1),
        row("after a refusal that is kept, the corrected request needs a new key")
            .handler(reply(400).body("amount is missing"))
            .first(json("{}"), answer(400).body("amount is missing"))
            .second(json(r#"{"amount":5}"#), key_reused())
            .runs(1),
        row("after a failure, the same request runs again as the second attempt")
            .handlers([reply(503).body("{attempt}"), reply(201).body("{attempt}")])
            .twice(post("k"), answer(503).body("1"), answer(201).body("2"))
            .runs(2),
        row("after a failure, the key is still no other request's")
            .handler(reply(503).body("{run}"))
            .first(post("k"), answer(503).body("1"))
            .second(post("k").body("pay more"), key_reused())
            .runs(1),
        row("a failure is sent with all that the handler gave it")
            .handlers([
                reply(429)
                    .header("retry-after", "7")
                    .header("set-cookie", "a=1")
                    .body("slow down"),
                Reply::default(),
            ])
            .twice(
                post("k"),
                answer(429)
                    .header("retry-after", "7")
                    .header("set-cookie", "a=1")
                    .body("slow down"),
                ran(2),
            )
            .runs(2),
    ]
}

fn created() -> Want {
    answer(201)
        .header("location", "/payments/1")
        .header("etag", "\"v1\"")
        .header("content-type", "application/json")
        .body("{\"id\":1}")
}

/// What the table of [`Answers`] says, line by line: *kept* is replayed, *again* runs again; *in doubt*
/// is in flight until its lease is over.
#[rustfmt::skip]
fn grid() -> Vec<Row> {
    use Fate::{Again, InDoubt, Kept};
    vec![
        status("by default a 200 is kept",         standard, by_default, 200, Kept),
        status("by default a 202 is kept",         standard, by_default, 202, Kept),
        status("by default a 303 is kept",         standard, by_default, 303, Kept),
        status("by default a 400 is kept",         standard, by_default, 400, Kept),
        status("by default a 401 is not kept",     standard, by_default, 401, Again),
        status("by default a 402 is kept",         standard, by_default, 402, Kept),
        status("by default a 403 is kept",         standard, by_default, 403, Kept),
        status("by default a 404 is kept",         standard, by_default, 404, Kept),
        status("by default a 407 is not kept",     standard, by_default, 407, Again),
        status("by default a 408 is not kept",     standard, by_default, 408, Again),
        status("by default a 410 is kept",         standard, by_default, 410, Kept),
        status("by default a 425 is not kept",     standard, by_default, 425, Again),
        status("by default a 429 is not kept",     standard, by_default, 429, Again),
        status("by default a 500 is not kept",     standard, by_default, 500, Again),
        status("by default a 501 is not kept",     standard, by_default, 501, Again),
        status("by default a 502 is not kept",     standard, by_default, 502, Again),
        status("by default a 503 is not kept",     standard, by_default, 503, Again),
        status("by default a 504 is not kept",     standard, by_default, 504, Again),
        status("by default a 599 is not kept",     standard, by_default, 599, Again),

        status("of everything, a 201 is kept",     everything, by_default, 201, Kept),
        status("of everything, a 303 is kept",     everything, by_default, 303, Kept),
        status("of everything, a 401 is kept",     everything, by_default, 401, Kept),
        status("of everything, a 404 is kept",     everything, by_default, 404, Kept),
        status("of everything, a 407 is kept",     everything, by_default, 407, Kept),
        status("of everything, a 408 is kept",     everything, by_default, 408, Kept),
        status("of everything, a 425 is kept",     everything, by_default, 425, Kept),
        status("of everything, a 429 is kept",     everything, by_default, 429, Kept),
        status("of everything, a 500 is kept",     everything, by_default, 500, Kept),
        status("of everything, a 503 is kept",     everything, by_default, 503, Kept),

        status("of successes, a 200 is kept",      successes, by_default, 200, Kept),
        status("of successes, a 303 is kept",      successes, by_default, 303, Kept),
        status("of successes, a 400 is not kept",  successes, by_default, 400, Again),
        status("of successes, a 401 is not kept",  successes, by_default, 401, Again),
        status("of successes, a 402 is not kept",  successes, by_default, 402, Again),
        status("of successes, a 404 is not kept",  successes, by_default, 404, Again),
        status("of successes, a 409 is not kept",  successes, by_default, 409, Again),
        status("of successes, a 422 is not kept",  successes, by_default, 422, Again),
        status("of successes, a 429 is not kept",  successes, by_default, 429, Again),
        status("of successes, a 500 is not kept",  successes, by_default, 500, Again),

        status("under Hold, a 200 is kept",        standard, hold, 200, Kept),
        status("under Hold, a 303 is kept",        standard, hold, 303, Kept),
        status("under Hold, a 402 is kept",        standard, hold, 402, Kept),
        status("under Hold, a 401 is in doubt",    standard, hold, 401, InDoubt),
        status("under Hold, a 407 is in doubt",    standard, hold, 407, InDoubt),
        status("under Hold, a 408 is in doubt",    standard, hold, 408, InDoubt),
        status("under Hold, a 425 is in doubt",    standard, hold, 425, InDoubt),
        status("under Hold, a 429 is in doubt",    standard, hold, 429, InDoubt),
        status("under Hold, a 500 is in doubt",    standard, hold, 500, InDoubt),
        status("under Hold, a 502 is in doubt",    standard, hold, 502, InDoubt),
        status("under Hold, a 503 is in doubt",    standard, hold, 503, InDoubt),
        status("under Hold, of everything, a 500 is kept",    everything, hold, 500, Kept),
        status("under Hold, of successes, a 402 is in doubt", successes, hold, 402, InDoubt),
    ]
}

enum Fate {
    Kept,
    Again,
    InDoubt,
}

fn status(
    name: &'static str,
    layer: fn(IdempotencyLayer) -> IdempotencyLayer,
    executor: fn(Builder) -> Builder,
    status: u16,
    fate: Fate,
) -> Row {
    let (second, runs) = match fate {
        Fate::Kept => (answer(status).body("run 1").replayed(), 1),
        Fate::Again => (answer(status).body("run 2"), 2),
        Fate::InDoubt => (in_flight("1"), 1),
    };
    row(name)
        .layer(layer)
        .executor(executor)
        .handler(reply(status).body("run {run}"))
        .twice(post("k"), answer(status).body("run 1"), second)
        .runs(runs)
}

fn standard(layer: IdempotencyLayer) -> IdempotencyLayer {
    layer
}

fn everything(layer: IdempotencyLayer) -> IdempotencyLayer {
    layer.answers(Answers::everything())
}

fn successes(layer: IdempotencyLayer) -> IdempotencyLayer {
    layer.answers(Answers::successes_only())
}

fn by_default(builder: Builder) -> Builder {
    builder
}

fn hold(builder: Builder) -> Builder {
    builder.on_lapse(OnLapse::Hold)
}

/// The handler's own word goes before everything else.
fn dispositions() -> Vec<Row> {
    const LEASE: Duration = Duration::from_secs(60);
    let failing = |disposition| {
        reply(503)
            .body("run {run}, attempt {attempt}")
            .says(disposition)
    };
    vec![
        row("a handler keeps a failure that is final")
            .handler(failing(Disposition::Complete))
            .twice(
                post("k"),
                answer(503).body("run 1, attempt 1"),
                answer(503).body("run 1, attempt 1").replayed(),
            )
            .runs(1),
        row("a handler sends a success without keeping its body")
            .handler(Reply::default().says(Disposition::CompleteWithoutBody))
            .twice(post("k"), ran(1), not_retained(201))
            .runs(1),
        row("a handler lets a success run again")
            .handler(Reply::default().says(Disposition::Abandon))
            .twice(post("k"), ran(1), ran(2))
            .runs(2),
        row("what a handler abandons stays the operation that it was")
            .handler(failing(Disposition::Abandon))
            .first(post("k"), answer(503).body("run 1, attempt 1"))
            .second(post("k").body("pay more"), key_reused())
            .runs(1),
        row("what a handler abandons runs as the next attempt")
            .handler(failing(Disposition::Abandon))
            .twice(
                post("k"),
                answer(503).body("run 1, attempt 1"),
                answer(503).body("run 2, attempt 2"),
            )
            .runs(2),
        row("under Hold, a handler that abandons says that nothing happened")
            .executor(hold)
            .handler(failing(Disposition::Abandon))
            .twice(
                post("k"),
                answer(503).body("run 1, attempt 1"),
                answer(503).body("run 2, attempt 2"),
            )
            .runs(2),
        row("what a handler releases never was")
            .handler(failing(Disposition::Release))
            .twice(
                post("k"),
                answer(503).body("run 1, attempt 1"),
                answer(503).body("run 2, attempt 1"),
            )
            .runs(2),
        row("a key that a handler releases is free for anything")
            .handler(failing(Disposition::Release))
            .first(post("k"), answer(503).body("run 1, attempt 1"))
            .second(
                post("k").body("pay more"),
                answer(503).body("run 2, attempt 1"),
            )
            .runs(2),
        row("under Hold, a key that a handler releases is free")
            .executor(hold)
            .handlers([failing(Disposition::Release), Reply::default()])
            .twice(post("k"), answer(503).body("run 1, attempt 1"), ran(2))
            .runs(2),
        row("a handler that does not know lets the next run again")
            .handler(Reply::default().says(Disposition::Unknown))
            .twice(post("k"), ran(1), ran(2))
            .runs(2),
        row("under Hold, a handler that does not know leaves it in flight for its lease")
            .executor(hold)
            .handler(Reply::default().says(Disposition::Unknown))
            .twice(post("k"), ran(1), in_flight("1"))
            .runs(1),
        row("under Hold, a handler that does not know leaves it unresolved")
            .executor(hold)
            .handler(Reply::default().says(Disposition::Unknown))
            .after(LEASE)
            .twice(post("k"), ran(1), unresolved())
            .runs(1),
        row("under Hold, a failure leaves it unresolved")
            .executor(hold)
            .handler(reply(500).body("oh"))
            .after(LEASE)
            .twice(post("k"), answer(500).body("oh"), unresolved())
            .runs(1),
        row("what is kept may be decided by the answer's headers")
            .layer(|layer| {
                layer.answers(Answers::by(|parts| match parts.headers.get("x-final") {
                    Some(_) => Disposition::Complete,
                    None => Disposition::Release,
                }))
            })
            .handlers([
                reply(200).body("not yet"),
                reply(500).header("x-final", "1").body("no"),
            ])
            .twice(
                post("k"),
                answer(200).body("not yet"),
                answer(500).header("x-final", "1").body("no"),
            )
            .runs(2),
        row("the handler's word goes before a decision by its answer")
            .layer(|layer| layer.answers(Answers::by(|_| Disposition::Release)))
            .handler(Reply::default().says(Disposition::Complete))
            .twice(post("k"), ran(1), replay(1))
            .runs(1),
        row("everything is kept but what the handler abandons")
            .layer(everything)
            .handler(failing(Disposition::Abandon))
            .twice(
                post("k"),
                answer(503).body("run 1, attempt 1"),
                answer(503).body("run 2, attempt 2"),
            )
            .runs(2),
        row("everything is kept but a panic")
            .layer(everything)
            .handlers([Reply::default().does(Does::Panic), Reply::default()])
            .twice(post("k"), outcome_unknown(), ran(2))
            .runs(2),
    ]
}

/// Handlers that complete their own record.
fn recorded() -> Vec<Row> {
    vec![
        row("what a handler has recorded itself is sent, and replayed")
            .handler(Reply::default().does(Does::Record))
            .twice(post("k"), ran(1), replay(1))
            .runs(1),
        row("what a handler has recorded itself is kept, whatever its status")
            .handler(reply(503).body("run {run}").does(Does::Record))
            .twice(
                post("k"),
                answer(503).body("run 1"),
                answer(503).body("run 1").replayed(),
            )
            .runs(1),
        row("what a handler has recorded itself is marked once, as the layer knows")
            .handler(
                Reply::default()
                    .header("idempotent-replayed", "true")
                    .does(Does::Record),
            )
            .twice(post("k"), ran(1), replay(1))
            .runs(1),
        row("what a handler has recorded itself is replayed by the same rules")
            .handler(
                Reply::default()
                    .header("set-cookie", "a=1")
                    .header("set-cookie", "b=2")
                    .header("location", "/payments/1")
                    .does(Does::Record),
            )
            .twice(
                post("k"),
                ran(1)
                    .header("set-cookie", "a=1")
                    .header("set-cookie", "b=2")
                    .header("location", "/payments/1"),
                replay(1).header("location", "/payments/1"),
            )
            .runs(1),
        row("what a handler has recorded itself is replayed with its cookies, if that is asked")
            .layer(|layer| layer.keep_header(http::header::SET_COOKIE))
            .handler(
                Reply::default()
                    .header("set-cookie", "a=1")
                    .does(Does::Record),
            )
            .twice(
                post("k"),
                ran(1).header("set-cookie", "a=1"),
                replay(1).header("set-cookie", "a=1"),
            )
            .runs(1),
    ]
}
