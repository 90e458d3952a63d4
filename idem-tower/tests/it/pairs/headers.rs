//! Which headers and trailers of an answer are replayed.

use http::header::{
    CONNECTION, CONTENT_TYPE, DATE, HeaderName, SET_COOKIE, TRANSFER_ENCODING, WWW_AUTHENTICATE,
};
use idem_tower::Disposition;

use super::problems::outcome_unknown;
use super::row::{Ask, Date, Reply, Row, Want, answer, keyless, post, ran, replay, reply, row};

const LONG_AGO: &str = "Tue, 15 Nov 1994 08:12:31 GMT";

pub(super) fn rows() -> Vec<Row> {
    let mut rows = kept();
    rows.extend(not_kept());
    rows.extend(lengths());
    rows.extend(marks());
    rows.extend(trailers());
    rows
}

fn ok() -> Reply {
    reply(200).body("ok")
}

fn is_ok() -> Want {
    answer(200).body("ok")
}

fn kept() -> Vec<Row> {
    vec![
        row("headers about the resource are kept")
            .handler(
                ok().header("etag", "W/\"1\"")
                    .header("last-modified", LONG_AGO)
                    .header("link", "</next>; rel=\"next\"")
                    .header("content-location", "/payments/1")
                    .header("cache-control", "no-store")
                    .header("vary", "accept"),
            )
            .twice(
                post("k"),
                about_the_resource(),
                about_the_resource().replayed(),
            )
            .runs(1),
        row("headers of the application's own are kept")
            .handler(
                ok().header("x-resource-version", "7")
                    .header("x-request-id", "r-1")
                    .header("ratelimit-remaining", "3")
                    .header("x-empty", ""),
            )
            .twice(post("k"), of_its_own(), of_its_own().replayed())
            .runs(1),
        row("lines with one name are kept, all of them and in their order")
            .handler(
                ok().header("link", "</b>")
                    .header("x-other", "1")
                    .header("link", "</a>")
                    .header("link", "</b>"),
            )
            .twice(post("k"), repeated(), repeated().replayed())
            .runs(1),
        row("a value that is not UTF-8 is kept")
            .handler(ok().header("x-name", b"\xff\xfe caf\xe9"))
            .twice(
                post("k"),
                is_ok().header("x-name", b"\xff\xfe caf\xe9"),
                is_ok().header("x-name", b"\xff\xfe caf\xe9").replayed(),
            )
            .runs(1),
        row("a body that is not UTF-8 is kept, and its type with it")
            .handler(
                reply(200)
                    .header("content-type", "text/csv")
                    .body(&b"\xff\xfe\x00\x80\xed\xa0\x80"[..]),
            )
            .twice(
                post("k"),
                answer(200)
                    .header("content-type", "text/csv")
                    .body(&b"\xff\xfe\x00\x80\xed\xa0\x80"[..]),
                answer(200)
                    .header("content-type", "text/csv")
                    .body(&b"\xff\xfe\x00\x80\xed\xa0\x80"[..])
                    .replayed(),
            )
            .runs(1),
        row("a compressed answer is kept as it is")
            .handler(
                ok().header("content-encoding", "gzip")
                    .body(&b"\x1f\x8b\x08\x00"[..]),
            )
            .twice(
                post("k"),
                answer(200)
                    .header("content-encoding", "gzip")
                    .body(&b"\x1f\x8b\x08\x00"[..]),
                answer(200)
                    .header("content-encoding", "gzip")
                    .body(&b"\x1f\x8b\x08\x00"[..])
                    .replayed(),
            )
            .runs(1),
        row("an answer without a type is replayed without one")
            .handler(reply(200).body("{}"))
            .twice(
                post("k"),
                answer(200).body("{}"),
                answer(200).body("{}").replayed(),
            )
            .runs(1),
    ]
}

fn about_the_resource() -> Want {
    is_ok()
        .header("etag", "W/\"1\"")
        .header("last-modified", LONG_AGO)
        .header("link", "</next>; rel=\"next\"")
        .header("content-location", "/payments/1")
        .header("cache-control", "no-store")
        .header("vary", "accept")
}

fn of_its_own() -> Want {
    is_ok()
        .header("x-resource-version", "7")
        .header("x-request-id", "r-1")
        .header("ratelimit-remaining", "3")
        .header("x-empty", "")
}

fn repeated() -> Want {
    is_ok()
        .header("link", "</b>")
        .header("link", "</a>")
        .header("link", "</b>")
        .header("x-other", "1")
}

fn not_kept() -> Vec<Row> {
    const HTTP1: &str = "HTTP/2 has no headers about a connection (RFC 9113 section 8.2.2)";
    vec![
        row("cookies are for the one who got them")
            .handler(
                ok().header("set-cookie", "session=1")
                    .header("set-cookie", "csrf=2"),
            )
            .twice(
                post("k"),
                is_ok()
                    .header("set-cookie", "session=1")
                    .header("set-cookie", "csrf=2"),
                is_ok().replayed(),
            )
            .runs(1),
        row("cookies are kept where that is asked for, all of them and in their order")
            .layer(|layer| layer.keep_header(SET_COOKIE))
            .handler(
                ok().header("set-cookie", "session=1")
                    .header("set-cookie", "csrf=2"),
            )
            .twice(
                post("k"),
                is_ok()
                    .header("set-cookie", "session=1")
                    .header("set-cookie", "csrf=2"),
                is_ok()
                    .header("set-cookie", "session=1")
                    .header("set-cookie", "csrf=2")
                    .replayed(),
            )
            .runs(1),
        row("challenges are for the one who got them")
            .handler(
                reply(403)
                    .header("www-authenticate", "Bearer scope=\"pay\"")
                    .header("proxy-authenticate", "Basic")
                    .header("authentication-info", "nextnonce=\"1\"")
                    .header("proxy-authentication-info", "nextnonce=\"2\""),
            )
            .twice(
                post("k"),
                answer(403)
                    .header("www-authenticate", "Bearer scope=\"pay\"")
                    .header("proxy-authenticate", "Basic")
                    .header("authentication-info", "nextnonce=\"1\"")
                    .header("proxy-authentication-info", "nextnonce=\"2\""),
                answer(403).replayed(),
            )
            .runs(1),
        row("a challenge is kept where that is asked for, and no other")
            .layer(|layer| layer.keep_header(WWW_AUTHENTICATE))
            .handler(
                reply(403)
                    .header("www-authenticate", "Bearer")
                    .header("proxy-authenticate", "Basic"),
            )
            .twice(
                post("k"),
                answer(403)
                    .header("www-authenticate", "Bearer")
                    .header("proxy-authenticate", "Basic"),
                answer(403).header("www-authenticate", "Bearer").replayed(),
            )
            .runs(1),
        row("a header is not kept where that is asked for")
            .layer(|layer| layer.drop_header(HeaderName::from_static("x-request-id")))
            .handler(
                ok().header("x-request-id", "r-1")
                    .header("x-request-id", "r-2"),
            )
            .twice(
                post("k"),
                is_ok()
                    .header("x-request-id", "r-1")
                    .header("x-request-id", "r-2"),
                is_ok().replayed(),
            )
            .runs(1),
        row("the last word about a header counts")
            .layer(|layer| {
                layer
                    .drop_header(CONTENT_TYPE)
                    .keep_header(SET_COOKIE)
                    .keep_header(CONTENT_TYPE)
                    .drop_header(SET_COOKIE)
            })
            .handler(Reply::default().header("set-cookie", "a=1"))
            .twice(post("k"), ran(1).header("set-cookie", "a=1"), replay(1))
            .runs(1),
        row("the handler's date is that of the first answer")
            .handler(ok().header("date", LONG_AGO))
            .twice(
                post("k"),
                is_ok().date(Date::Is(LONG_AGO)),
                is_ok().replayed().date(Date::IsNot(LONG_AGO)),
            )
            .runs(1),
        row("the date is not kept, even if that is asked for")
            .layer(|layer| layer.keep_header(DATE))
            .handler(ok().header("date", LONG_AGO))
            .twice(
                post("k"),
                is_ok().date(Date::Is(LONG_AGO)),
                is_ok().replayed().date(Date::IsNot(LONG_AGO)),
            )
            .runs(1),
        row("what Connection lists, and Connection itself, are not kept")
            .handler(
                ok().header("connection", "x-hop, X-Other")
                    .header("x-hop", "1")
                    .header("x-other", "2")
                    .header("x-end", "3"),
            )
            .twice(
                post("k"),
                is_ok()
                    .header("connection", "x-hop, X-Other")
                    .header("x-hop", "1")
                    .header("x-other", "2")
                    .header("x-end", "3"),
                is_ok().header("x-end", "3").replayed(),
            )
            .only_http1(HTTP1)
            .runs(1),
        row("headers about a connection are not kept, even if that is asked for")
            .layer(|layer| {
                layer
                    .keep_header(CONNECTION)
                    .keep_header(HeaderName::from_static("x-hop"))
                    .keep_header(HeaderName::from_static("keep-alive"))
            })
            .handler(
                ok().header("connection", "x-hop")
                    .header("x-hop", "1")
                    .header("keep-alive", "timeout=5")
                    .header("proxy-connection", "keep-alive")
                    .header("upgrade", "h2c")
                    .header("te", "trailers"),
            )
            .twice(
                post("k"),
                is_ok()
                    .header("connection", "x-hop")
                    .header("x-hop", "1")
                    .header("keep-alive", "timeout=5")
                    .header("proxy-connection", "keep-alive")
                    .header("upgrade", "h2c")
                    .header("te", "trailers"),
                is_ok().replayed(),
            )
            .only_http1(HTTP1)
            .runs(1),
        row("a transfer coding is about one sending")
            .layer(|layer| layer.keep_header(TRANSFER_ENCODING))
            .handler(ok().header("transfer-encoding", "chunked"))
            .twice(post("k"), is_ok().streams(), is_ok().replayed())
            .only_http1(HTTP1)
            .runs(1),
    ]
}

fn lengths() -> Vec<Row> {
    vec![
        row("a length that is right is kept")
            .handler(ok().header("content-length", "2"))
            .twice(
                post("k"),
                is_ok().header("content-length", "2"),
                is_ok().header("content-length", "2").replayed(),
            )
            .runs(1),
        row("a length that is too small is mended")
            .handler(ok().header("content-length", "1"))
            .twice(
                post("k"),
                is_ok().header("content-length", "2"),
                is_ok().header("content-length", "2").replayed(),
            )
            .runs(1),
        row("an answer shorter than it says has broken off, and is not kept")
            .handler(ok().header("content-length", "3"))
            .twice(post("k"), outcome_unknown(), outcome_unknown())
            .runs(2),
        row("two lengths are one")
            .handler(
                ok().header("content-length", "2")
                    .header("content-length", "2"),
            )
            .twice(
                post("k"),
                is_ok().header("content-length", "2"),
                is_ok().header("content-length", "2").replayed(),
            )
            .runs(1),
        row("an answer in pieces is replayed in one")
            .handler(ok().streams())
            .twice(post("k"), is_ok(), is_ok().replayed())
            .runs(1),
    ]
}

/// `Idempotent-Replayed`.
fn marks() -> Vec<Row> {
    let echo = || reply(200).body("the handler saw {idempotent-replayed}");
    let saw = |what: &str| answer(200).body(format!("the handler saw {what}"));
    let claims = |ask: Ask| ask.header("idempotent-replayed", "true");
    vec![
        row("a client that claims a replay is not believed")
            .handler(echo())
            .twice(claims(post("k")), saw("nothing"), saw("nothing").replayed())
            .runs(1),
        row("a client that claims a replay is not believed where keys are optional")
            .layer(|layer| layer.key_optional())
            .handler(echo())
            .twice(claims(keyless()), saw("nothing"), saw("nothing"))
            .runs(2),
        row("what passes untouched passes with its claims")
            .handler(echo())
            .twice(claims(post("k").method("PUT")), saw("true"), saw("true"))
            .runs(2),
        row("a handler that claims a replay is not believed, and the mark is there once")
            .handler(Reply::default().header("idempotent-replayed", "true"))
            .twice(post("k"), ran(1), replay(1))
            .runs(1),
        row("a handler that claims that nothing is a replay is not believed either")
            .handler(
                Reply::default()
                    .header("idempotent-replayed", "false")
                    .header("idempotent-replayed", "no"),
            )
            .twice(post("k"), ran(1), replay(1))
            .runs(1),
        row("a handler that claims a replay of what is not kept is not believed")
            .handler(
                Reply::default()
                    .header("idempotent-replayed", "true")
                    .says(Disposition::Abandon),
            )
            .twice(post("k"), ran(1), ran(2))
            .runs(2),
    ]
}

fn trailers() -> Vec<Row> {
    let summed = || {
        Reply::default()
            .header("trailer", "x-sum")
            .trailer("x-sum", "5d41")
            .trailer("x-sum", "402a")
    };
    let with_te = || post("k").header("te", "trailers");
    vec![
        row("trailers are replayed over HTTP/2")
            .handler(summed())
            .twice(
                with_te(),
                ran(1)
                    .header("trailer", "x-sum")
                    .trailer("x-sum", "5d41")
                    .trailer("x-sum", "402a")
                    .streams(),
                replay(1)
                    .header("trailer", "x-sum")
                    .trailer("x-sum", "5d41")
                    .trailer("x-sum", "402a")
                    .streams(),
            )
            .only_http2("HTTP/1.1 has a row of its own")
            .runs(1),
        row("trailers of an empty answer are replayed over HTTP/2")
            .handler(reply(200).trailer("grpc-status", "0"))
            .twice(
                post("k"),
                answer(200).trailer("grpc-status", "0").streams(),
                answer(200).trailer("grpc-status", "0").streams().replayed(),
            )
            .only_http2("HTTP/1.1 has none that were not announced")
            .runs(1),
        row("trailers are replayed over HTTP/1.1 to a client that wants them")
            .handler(
                Reply::default()
                    .header("trailer", "x-sum")
                    .trailer("x-sum", "5d41"),
            )
            .twice(
                with_te(),
                ran(1)
                    .header("trailer", "x-sum")
                    .trailer("x-sum", "5d41")
                    .streams(),
                replay(1)
                    .header("trailer", "x-sum")
                    .trailer("x-sum", "5d41")
                    .streams(),
            )
            .only_http1("HTTP/2 has a row of its own")
            .runs(1),
        row("trailers are left out over HTTP/1.1 for a client that did not ask for them")
            .handler(
                Reply::default()
                    .header("trailer", "x-sum")
                    .trailer("x-sum", "5d41"),
            )
            .twice(
                post("k"),
                ran(1).header("trailer", "x-sum").streams(),
                replay(1).header("trailer", "x-sum").streams(),
            )
            .only_http1("over HTTP/2 nobody has to ask")
            .runs(1),
        row("trailers follow the rules of headers")
            .layer(|layer| layer.drop_header(HeaderName::from_static("server-timing")))
            .handler(
                reply(200)
                    .body("ok")
                    .trailer("server-timing", "db;dur=5")
                    .trailer("set-cookie", "a=1")
                    .trailer("x-sum", "5d41"),
            )
            .twice(
                post("k"),
                is_ok()
                    .trailer("server-timing", "db;dur=5")
                    .trailer("set-cookie", "a=1")
                    .trailer("x-sum", "5d41")
                    .streams(),
                is_ok().trailer("x-sum", "5d41").streams().replayed(),
            )
            .only_http2("over HTTP/1.1 only announced trailers are sent")
            .runs(1),
        row("trailers of what is not kept are sent as they come")
            .handler(reply(503).body("{run}").trailer("x-sum", "5d41"))
            .twice(
                post("k"),
                answer(503).body("1").trailer("x-sum", "5d41").streams(),
                answer(503).body("2").trailer("x-sum", "5d41").streams(),
            )
            .only_http2("over HTTP/1.1 only announced trailers are sent")
            .runs(2),
    ]
}
