//! Whose keys they are.

use super::problems::{key_malformed, key_missing, no_closing_quote, no_scope};
use super::row::{Row, nobody, post, ran, replay, row};

pub(super) fn rows() -> Vec<Row> {
    vec![
        row("two clients may choose one key, and never meet")
            .first(post("k").client("ana"), ran(1))
            .second(post("k").client("ben"), ran(2))
            .runs(2),
        row("two clients with one key are no reuse")
            .first(post("k").client("ana"), ran(1))
            .second(post("k").client("ben").body("something else"), ran(2))
            .runs(2),
        row("client and key cannot run into each other")
            .first(post("b:c").client("a"), ran(1))
            .second(post("c").client("a:b"), ran(2))
            .runs(2),
        row("the client counts, not the credential")
            .first(post("k").header("authorization", "Bearer old"), ran(1))
            .second(post("k").header("authorization", "Bearer new"), replay(1))
            .runs(1),
        row("a request of nobody is refused, and no store is asked")
            .twice(
                nobody().header("idempotency-key", "k"),
                no_scope(),
                no_scope(),
            )
            .runs(0)
            .reserves(0),
        row("a scope that is none is nobody's")
            .twice(
                nobody().client("").header("idempotency-key", "k"),
                no_scope(),
                no_scope(),
            )
            .runs(0),
        row("a request of nobody that has no key is told of the key")
            .first(nobody(), key_missing())
            .second(
                nobody().header("idempotency-key", "\"k"),
                no_closing_quote(),
            )
            .runs(0),
        row("where keys are optional, nobody may come without one, and not with one")
            .layer(|layer| layer.key_optional())
            .first(nobody(), ran(1))
            .second(nobody().header("idempotency-key", "k"), no_scope())
            .runs(1),
        row("what is not guarded may come from nobody")
            .twice(nobody().method("GET").body(""), ran(1), ran(2))
            .runs(2),
        row("the scope changes nothing about the form of a key")
            .layer(|layer| layer.key_form("three letters", |key| key.len() == 3))
            .first(post("abc").client("a client with a long name"), ran(1))
            .second(
                post("abcd").client("a client with a long name"),
                key_malformed("the key is to be three letters"),
            )
            .runs(1),
    ]
}
