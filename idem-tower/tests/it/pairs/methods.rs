//! Methods, paths, and what else of a request decides what it does.

use http::{HeaderName, Method};

use super::problems::{key_missing, key_reused};
use super::row::{Row, answer, keyless, post, ran, replay, reply, row};

pub(super) fn rows() -> Vec<Row> {
    let mut rows = methods();
    rows.extend(paths());
    rows.extend(headers());
    rows
}

fn methods() -> Vec<Row> {
    vec![
        row("PATCH is guarded")
            .twice(post("k").method("PATCH"), ran(1), replay(1))
            .runs(1),
        row("PATCH needs a key")
            .twice(keyless().method("PATCH"), key_missing(), key_missing())
            .runs(0),
        row("GET passes, key or not")
            .first(post("k").method("GET").body(""), ran(1))
            .second(keyless().method("GET").body(""), ran(2))
            .runs(2)
            .reserves(0),
        row("PUT passes, even with the same key and its body")
            .handler(reply(200).body("{run} {method} {body} {attempt}"))
            .first(post("k").method("PUT"), answer(200).body("1 PUT pay none"))
            .second(post("k").method("PUT"), answer(200).body("2 PUT pay none"))
            .runs(2)
            .reserves(0),
        row("DELETE passes, even with the same key")
            .handler(reply(204))
            .twice(
                post("k").method("DELETE").body(""),
                answer(204),
                answer(204),
            )
            .runs(2)
            .reserves(0),
        row("HEAD passes, and its answer is as the handler gave it")
            .handler(reply(200).header("content-length", "5"))
            .twice(
                post("k").method("HEAD").body(""),
                answer(200).header("content-length", "5"),
                answer(200).header("content-length", "5"),
            )
            .runs(2)
            .reserves(0),
        row("a preflight of CORS passes, though keys are required")
            .handler(
                reply(204)
                    .header("access-control-allow-headers", "idempotency-key")
                    .header("access-control-expose-headers", "idempotent-replayed"),
            )
            .twice(
                preflight(),
                answer(204)
                    .header("access-control-allow-headers", "idempotency-key")
                    .header("access-control-expose-headers", "idempotent-replayed"),
                answer(204)
                    .header("access-control-allow-headers", "idempotency-key")
                    .header("access-control-expose-headers", "idempotent-replayed"),
            )
            .runs(2)
            .reserves(0),
        row("a malformed key says nothing where keys say nothing")
            .first(post("\"k").method("GET").body(""), ran(1))
            .second(post("").method("PUT"), ran(2))
            .runs(2),
        row("a method of somebody's own passes")
            .twice(post("k").method("PURGE"), ran(1), ran(2))
            .runs(2),
        row("what is guarded can be set: PUT then is")
            .layer(|layer| layer.methods([Method::PUT]))
            .twice(post("k").method("PUT"), ran(1), replay(1))
            .runs(1),
        row("what is guarded can be set: POST then is not")
            .layer(|layer| layer.methods([Method::PUT]))
            .first(post("k"), ran(1))
            .second(keyless(), ran(2))
            .runs(2)
            .reserves(0),
        row("the same key for POST and for PATCH is reuse")
            .first(post("k"), ran(1))
            .second(post("k").method("PATCH"), key_reused())
            .runs(1),
        row("a key that only GET has used is unused")
            .first(post("k").method("GET").body(""), ran(1))
            .second(post("k"), ran(2))
            .runs(2)
            .reserves(1),
        row("a guarded HEAD keeps the length of the body that it does not have")
            .layer(|layer| layer.methods([Method::HEAD]))
            .handler(reply(200).header("content-length", "5"))
            .twice(
                post("k").method("HEAD").body(""),
                answer(200).header("content-length", "5"),
                answer(200).header("content-length", "5").replayed(),
            )
            .runs(1),
    ]
}

fn preflight() -> super::row::Ask {
    super::row::nobody()
        .method("OPTIONS")
        .body("")
        .header("origin", "https://shop.example")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "idempotency-key")
}

fn paths() -> Vec<Row> {
    vec![
        row("the same key on another path is reuse")
            .first(post("k"), ran(1))
            .second(post("k").path("/refunds"), key_reused())
            .runs(1),
        row("a slash at the end is another path")
            .first(post("k"), ran(1))
            .second(post("k").path("/payments/"), key_reused())
            .runs(1),
        row("the case of a path counts, also that of its escapes")
            .first(post("k").path("/a%2fb"), ran(1))
            .second(post("k").path("/a%2Fb"), key_reused())
            .runs(1),
        row("another query is another request")
            .first(post("k").path("/payments?dry=1"), ran(1))
            .second(post("k").path("/payments"), key_reused())
            .runs(1),
        row("a query in another order is another request")
            .first(post("k").path("/payments?a=1&b=2"), ran(1))
            .second(post("k").path("/payments?b=2&a=1"), key_reused())
            .runs(1),
        row("a query is replayed with its path")
            .twice(post("k").path("/payments?a=1&b=2"), ran(1), replay(1))
            .runs(1),
        row("path and query cannot run into each other")
            .first(post("k").path("/payments?"), ran(1))
            .second(post("k").path("/payments"), key_reused())
            .runs(1),
        row("what stands for the path can be set: here the query does not count")
            .layer(|layer| layer.fingerprint_path(|parts| parts.uri.path().to_owned()))
            .first(post("k").path("/payments?trace=1"), ran(1))
            .second(post("k").path("/payments?trace=2"), replay(1))
            .runs(1),
        row("what stands for the path can be set: another one is reuse")
            .layer(|layer| layer.fingerprint_path(|parts| parts.uri.path().to_owned()))
            .first(post("k").path("/payments"), ran(1))
            .second(post("k").path("/refunds"), key_reused())
            .runs(1),
        row("a retry may come over another version of HTTP")
            .across()
            .twice(post("k").path("/payments?a=1"), ran(1), replay(1))
            .runs(1),
        row("reuse is seen over another version of HTTP")
            .across()
            .first(post("k"), ran(1))
            .second(post("k").path("/refunds"), key_reused())
            .runs(1),
    ]
}

/// Of a request's headers, those of its body count, and what is asked for.
fn headers() -> Vec<Row> {
    vec![
        row("what differs between the retries of one request does not count")
            .first(
                post("k")
                    .header("traceparent", "00-1-1-00")
                    .header("user-agent", "sdk/1")
                    .header("accept", "*/*"),
                ran(1),
            )
            .second(
                post("k")
                    .header("traceparent", "00-2-2-00")
                    .header("user-agent", "sdk/2")
                    .header("x-signature", "t=2"),
                replay(1),
            )
            .runs(1),
        row("a header of the fingerprint counts")
            .layer(|layer| layer.fingerprint_header(HeaderName::from_static("accept-version")))
            .first(post("k").header("accept-version", "1"), ran(1))
            .second(post("k").header("accept-version", "2"), key_reused())
            .runs(1),
        row("a header of the fingerprint counts by its absence")
            .layer(|layer| layer.fingerprint_header(HeaderName::from_static("accept-version")))
            .first(post("k"), ran(1))
            .second(post("k").header("accept-version", ""), key_reused())
            .runs(1),
        row("a header of the fingerprint counts by its lines and their order")
            .layer(|layer| layer.fingerprint_header(HeaderName::from_static("x-tenant")))
            .first(
                post("k").header("x-tenant", "a").header("x-tenant", "b"),
                ran(1),
            )
            .second(
                post("k").header("x-tenant", "b").header("x-tenant", "a"),
                key_reused(),
            )
            .runs(1),
        row("the same value in another header of the fingerprint is another request")
            .layer(|layer| {
                layer
                    .fingerprint_header(HeaderName::from_static("x-tenant"))
                    .fingerprint_header(HeaderName::from_static("x-region"))
            })
            .first(post("k").header("x-tenant", "a"), ran(1))
            .second(post("k").header("x-region", "a"), key_reused())
            .runs(1),
        row("the same header of the fingerprint is replayed, whatever the others")
            .layer(|layer| layer.fingerprint_header(HeaderName::from_static("accept-version")))
            .first(
                post("k")
                    .header("accept-version", "1")
                    .header("accept", "*/*"),
                ran(1),
            )
            .second(post("k").header("accept-version", "1"), replay(1))
            .runs(1),
    ]
}
