//! Scopes and keys of every kind, and how large a response may be: S1.

use idem_core::{Answer, Applied, Condition, Fingerprint, Operation, RecordId, Response};

use crate::check::{
    assert_already_completed, assert_answer, assert_completed, assert_conflict, assert_replay,
    assert_reserved, assert_unchanged,
};
use crate::fixture::{
    HOUR, JUST_NOW, a_try, answer, ask, complete, complete_with, lease, record, renew, reserve,
    shown, try_at,
};
use crate::{Harness, Limited, Store};

/// Scopes and keys that some store somewhere takes for something else.
fn awkward() -> Vec<RecordId> {
    let all_bytes: Vec<u8> = (0..255).collect();
    let scopes: [&[u8]; 12] = [
        b"s",
        &[0],
        &[0xff; 255],
        &all_bytes,
        b" ",
        b"a b:c/d{e}%f'g\"h\\i",
        b"\r\n\t\x7f\x1b[31m",
        b"'; DROP TABLE records; --",
        "\u{202e}\u{645}\u{631}\u{62d}\u{628}\u{627}".as_bytes(),
        "\u{4f60}\u{597d}\u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467}".as_bytes(),
        b"\xc0\xaf\xed\xa0\x80",
        b"*?[a-z]^$(|)",
    ];
    let long_ascii = "k".repeat(255);
    let long_wide = "\u{1f511}".repeat(63) + "abc";
    let keys: [&str; 12] = [
        "k",
        &long_ascii,
        &long_wide,
        " ",
        " a  b ",
        "a:b::c/d\\e|f",
        "'\"`",
        "{a}{}",
        "%00%s%d%",
        "\u{5d0}\u{5d1}\u{202e}\u{627}",
        "\u{e9}e\u{301}\u{1f469}\u{200d}\u{1f467}",
        "$1 ?1 :1 @p ;--",
    ];
    let pairs = scopes
        .iter()
        .flat_map(|scope| keys.iter().map(move |key| (scope, key)));
    pairs.map(|(scope, key)| record(scope, key)).collect()
}

fn asking(record: &RecordId) -> Operation {
    Operation {
        record: record.clone(),
        fingerprint: Fingerprint::raw("a"),
    }
}

/// S1
pub async fn s1_every_legal_scope_and_key_is_kept(harness: &dyn Harness) {
    let store = &*harness.store();
    for (n, record) in awkward().iter().enumerate() {
        let body = n.to_string();
        let holder = reserve(store, &try_at(asking(record))).await;
        assert_conflict(&ask(store, &try_at(asking(record))).await, lease(1));
        renew(store, &holder).await;
        assert_eq!(
            shown(store, record).await.operation,
            asking(record),
            "pair {n}"
        );
        assert_completed(&complete(store, &holder, &body).await);
    }
    for (n, record) in awkward().iter().enumerate() {
        let replay = ask(store, &try_at(asking(record))).await;
        assert_replay(&replay, &answer(&n.to_string()));
        let seen = shown(store, record).await;
        assert_eq!(seen.operation, asking(record), "pair {n}");
    }
}

/// S1
pub async fn s1_every_legal_scope_and_key_is_listed(harness: &dyn Harness) {
    let store = &*harness.store();
    let mut expected = awkward();
    for record in &expected {
        reserve(store, &try_at(asking(record))).await;
    }
    harness.advance(2 * HOUR).await;
    let mut listed = Vec::new();
    let mut after = None;
    while listed.len() <= expected.len() {
        let page = store.lapsed(after.as_ref(), 5).await.expect("lapsed");
        listed.extend(page.records.into_iter().map(|info| info.operation.record));
        match page.next {
            None => break,
            next => after = next,
        }
    }
    expected.sort();
    listed.sort();
    assert_eq!(listed, expected);
}

/// It comes back unchanged from a replay, from a repeated completion and to operators.
pub(super) async fn assert_comes_back(store: &dyn Store, key: &str, answer: &Answer) {
    let holder = reserve(store, &a_try(key)).await;
    assert_completed(&complete_with(store, &holder, answer).await);
    let again = complete(store, &holder, "another").await;
    assert_already_completed(&again, answer);
    assert_replay(&ask(store, &a_try(key)).await, answer);
    match shown(store, &holder.record).await.condition {
        Condition::Completed(seen) => assert_answer(&seen, answer),
        other => panic!("it is shown as {other:?}"),
    }
}

/// A response that is encoded in so many bytes.
fn response_of(bytes: usize) -> Response {
    let empty = Response::new(200).header("content-type", "application/octet-stream");
    let body = bytes.saturating_sub(empty.encoded_len());
    let all_bytes: Vec<u8> = (0..=255).collect();
    let mut body_bytes = all_bytes.repeat(body / 256 + 1);
    body_bytes.truncate(body);
    empty.body(body_bytes)
}

async fn assert_sizes_come_back(store: &dyn Store, largest: usize) {
    let around = [1 << 7, 1 << 8, 1 << 10, 1 << 12, 1 << 13, 1 << 15, 1 << 16];
    let around = around
        .into_iter()
        .flat_map(|size| [size - 1, size, size + 1]);
    let sizes = around.chain([(1 << 20) - 1, (1 << 20) + 1]);
    for size in sizes.filter(|size| *size < largest).chain([largest]) {
        let answer = Answer::from(response_of(size));
        assert_comes_back(store, &format!("{size} bytes"), &answer).await;
    }
}

/// How large a response may be if the store states no limit, as far as the suite looks.
const WITHOUT_LIMIT: usize = 8 << 20;

/// S1
pub async fn s1_without_a_stated_limit_large_responses_come_back(harness: &dyn Harness) {
    let store = &*harness.store();
    let largest = Answer::from(response_of(WITHOUT_LIMIT));
    let holder = reserve(store, &a_try("the largest")).await;
    if let Err(error) = store.complete(&holder, &largest).await {
        panic!("a store with a limit says so by the word `limit`; {error:?}");
    }
    assert_sizes_come_back(store, WITHOUT_LIMIT).await;
}

/// S1
pub async fn s1_responses_up_to_the_limit_come_back<H: Limited>(harness: &H) {
    assert_sizes_come_back(&*harness.store(), H::LARGEST_RESPONSE).await;
}

/// S1
pub async fn s1_a_response_over_the_limit_is_refused<H: Limited>(harness: &H) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    let before = shown(store, &holder.record).await;
    for size in [H::LARGEST_RESPONSE + 1, 2 * H::LARGEST_RESPONSE] {
        let too_large = Answer::from(response_of(size));
        let refused = store.complete(&holder, &too_large).await;
        let error = refused.expect_err("a response over the limit was accepted");
        assert!(error.is_too_large(), "{error:?}");
        assert_eq!(error.applied(), Applied::No, "{error:?}");
    }
    // Before anything was written.
    let after = shown(store, &holder.record).await;
    assert_unchanged(&before, &after, JUST_NOW);
    let marker = Answer::NotRetained {
        status: 200,
        body_length: 2 * H::LARGEST_RESPONSE as u64,
    };
    assert_completed(&complete_with(store, &holder, &marker).await);
    assert_replay(&ask(store, &a_try("k")).await, &marker);
    assert_reserved(&ask(store, &a_try("another")).await, 1);
}
