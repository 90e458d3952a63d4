//! Answers that are too large to keep, and those that do not end.

use http::StatusCode;
use idem_tower::{Answers, Disposition};

use super::problems::not_retained;
use super::row::{Row, answer, post, reply, row};

pub(super) fn rows() -> Vec<Row> {
    vec![
        row("an answer of as many bytes as are kept is kept")
            .layer(|layer| layer.answer_limit(8))
            .handler(reply(200).body("12345678"))
            .twice(
                post("k"),
                answer(200).body("12345678"),
                answer(200).body("12345678").replayed(),
            )
            .runs(1),
        row("an answer of one byte more reaches its client whole, and is not kept")
            .layer(|layer| layer.answer_limit(8))
            .handler(reply(201).header("location", "/1").body("123456789"))
            .twice(
                post("k"),
                answer(201).header("location", "/1").body("123456789"),
                not_retained(201),
            )
            .runs(1),
        row("an answer in pieces of as many bytes as are kept is kept")
            .layer(|layer| layer.answer_limit(8))
            .handler(reply(200).body("12345678").streams())
            .twice(
                post("k"),
                answer(200).body("12345678"),
                answer(200).body("12345678").replayed(),
            )
            .runs(1),
        row("an answer in pieces with one byte more reaches its client whole, and is not kept")
            .layer(|layer| layer.answer_limit(8))
            .handler(reply(200).body("123456789").streams())
            .twice(
                post("k"),
                answer(200).body("123456789").streams(),
                not_retained(200),
            )
            .runs(1),
        row("an answer that says how large it is, is sent with that")
            .layer(|layer| layer.answer_limit(8))
            .handler(
                reply(200)
                    .header("content-length", "9")
                    .body("123456789")
                    .streams(),
            )
            .twice(
                post("k"),
                answer(200).header("content-length", "9").body("123456789"),
                not_retained(200),
            )
            .runs(1),
        row("an empty answer is kept where nothing larger is")
            .layer(|layer| layer.answer_limit(0))
            .handler(reply(204))
            .twice(post("k"), answer(204), answer(204).replayed())
            .runs(1),
        row("an answer of a MiB and a byte is sent whole, and is not kept")
            .handler(reply(200).body("x".repeat((1 << 20) + 1)))
            .twice(
                post("k"),
                answer(200).body("x".repeat((1 << 20) + 1)),
                not_retained(200),
            )
            .runs(1),
        row("the executor's limit counts in any case")
            .executor(|builder| builder.response_limit(8))
            .layer(|layer| layer.answer_limit(1000))
            .handler(reply(200).body("123456789"))
            .twice(post("k"), answer(200).body("123456789"), not_retained(200))
            .runs(1),
        row("a large refusal is not kept either")
            .layer(|layer| layer.answer_limit(8))
            .handler(reply(402).body("123456789"))
            .twice(post("k"), answer(402).body("123456789"), not_retained(402))
            .runs(1),
        row("a large failure lets the next run again")
            .layer(|layer| layer.answer_limit(8))
            .handler(reply(503).body("{run}: 123456789"))
            .twice(
                post("k"),
                answer(503).body("1: 123456789"),
                answer(503).body("2: 123456789"),
            )
            .runs(2),
        row("what was too large is told with another status, if one is set")
            .layer(|layer| {
                let kind = idem_tower::ProblemKind::AnswerNotRetained;
                layer
                    .answer_limit(8)
                    .problem_status(kind, StatusCode::OK)
                    .unwrap()
            })
            .handler(reply(201).body("123456789"))
            .twice(
                post("k"),
                answer(201).body("123456789"),
                not_retained(201).status(200),
            )
            .runs(1),
        row("server-sent events are sent as they come, and not kept")
            .handler(
                reply(200)
                    .header("content-type", "text/event-stream")
                    .body("data: 1\n\n")
                    .streams(),
            )
            .twice(
                post("k"),
                answer(200)
                    .header("content-type", "text/event-stream")
                    .body("data: 1\n\n")
                    .streams(),
                not_retained(200),
            )
            .runs(1),
        row("server-sent events are known by their type, whatever its case and parameters")
            .handler(
                reply(200)
                    .header("content-type", "Text/Event-Stream ; charset=utf-8")
                    .body("data: 1\n\n")
                    .streams(),
            )
            .twice(
                post("k"),
                answer(200)
                    .header("content-type", "Text/Event-Stream ; charset=utf-8")
                    .body("data: 1\n\n")
                    .streams(),
                not_retained(200),
            )
            .runs(1),
        row("parts that replace each other are sent as they come, and not kept")
            .handler(
                reply(200)
                    .header("content-type", "multipart/x-mixed-replace; boundary=b")
                    .body("--b\r\n")
                    .streams(),
            )
            .twice(
                post("k"),
                answer(200)
                    .header("content-type", "multipart/x-mixed-replace; boundary=b")
                    .body("--b\r\n")
                    .streams(),
                not_retained(200),
            )
            .runs(1),
        row("events of a failure let the next run again")
            .handler(
                reply(500)
                    .header("content-type", "text/event-stream")
                    .body("{run}")
                    .streams(),
            )
            .twice(
                post("k"),
                answer(500)
                    .header("content-type", "text/event-stream")
                    .body("1")
                    .streams(),
                answer(500)
                    .header("content-type", "text/event-stream")
                    .body("2")
                    .streams(),
            )
            .runs(2),
        row("events of a failure are not kept where failures are")
            .layer(|layer| layer.answers(Answers::everything()))
            .handler(
                reply(500)
                    .header("content-type", "text/event-stream")
                    .body("1")
                    .streams(),
            )
            .twice(
                post("k"),
                answer(500)
                    .header("content-type", "text/event-stream")
                    .body("1")
                    .streams(),
                not_retained(500),
            )
            .runs(1),
        row("events that the handler wants kept are kept")
            .handler(
                reply(200)
                    .header("content-type", "text/event-stream")
                    .body("data: 1\n\n")
                    .streams()
                    .says(Disposition::Complete),
            )
            .twice(
                post("k"),
                answer(200)
                    .header("content-type", "text/event-stream")
                    .body("data: 1\n\n"),
                answer(200)
                    .header("content-type", "text/event-stream")
                    .body("data: 1\n\n")
                    .replayed(),
            )
            .runs(1),
    ]
}
