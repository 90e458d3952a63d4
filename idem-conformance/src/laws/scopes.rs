//! What names a record: R7, R9.

use idem_core::{Fingerprint, Operation, Outcome, RecordId};

use crate::check::{assert_completed, assert_conflict, assert_replay, assert_reserved};
use crate::fixture::{
    abandon, answer, ask, complete, holder, lease, record, release, reserve, try_at,
};
use crate::{Harness, Store};

fn asking(record: RecordId) -> Operation {
    Operation {
        record,
        fingerprint: Fingerprint::raw("a"),
    }
}

/// Every one of these records is vacant until it is reserved itself, and has an answer of its own.
async fn assert_distinct(store: &dyn Store, records: &[RecordId]) {
    let mut holders = Vec::new();
    for (n, record) in records.iter().enumerate() {
        let request = try_at(asking(record.clone()));
        let outcome = ask(store, &request).await;
        let vacant = matches!(outcome, Outcome::Reserved { attempt: 1, .. });
        assert!(vacant, "record {n} met another: {outcome:?}");
        holders.push(holder(&request, 1));
    }
    for (n, holder) in holders.iter().enumerate() {
        assert_completed(&complete(store, holder, &n.to_string()).await);
    }
    for (n, record) in records.iter().enumerate() {
        let replay = ask(store, &try_at(asking(record.clone()))).await;
        assert_replay(&replay, &answer(&n.to_string()));
    }
}

/// R7
pub async fn r7_one_key_in_two_scopes_is_two_records(harness: &dyn Harness) {
    let store = &*harness.store();
    let (ana, bob) = (record("ana", "order-17"), record("bob", "order-17"));
    assert_distinct(store, &[ana, bob]).await;
    // Nor does what happens to one touch the other.
    let of = |scope, key| try_at(asking(record(scope, key)));
    let (released, abandoned) = (of("ana", "released"), of("ana", "abandoned"));
    let (released, abandoned) = (
        reserve(store, &released).await,
        reserve(store, &abandoned).await,
    );
    let neighbours = [of("bob", "released"), of("bob", "abandoned")];
    for neighbour in &neighbours {
        reserve(store, neighbour).await;
    }
    release(store, &released).await;
    abandon(store, &abandoned).await;
    for neighbour in neighbours {
        assert_conflict(
            &ask(store, &try_at(neighbour.operation.clone())).await,
            lease(1),
        );
        assert_reserved(&ask(store, &neighbour.resent()).await, 1);
    }
}

/// R7
pub async fn r7_no_separator_joins_two_records(harness: &dyn Harness) {
    let separators = [
        "", ":", "::", "/", "|", "-", "_", ".", ",", ";", "#", "%", "\\", "\"", "'", "{", "}", " ",
        "+", "=", "&", "$", "\u{1f}", "\u{fffd}", "\u{a0}", "%3A", "\\:",
    ];
    let mut records = Vec::new();
    for separator in separators {
        let in_scope = format!("a{separator}b");
        // A key has no control characters.
        if !separator.chars().any(char::is_control) {
            records.push(record("a", format!("b{separator}c")));
        }
        records.push(record(&in_scope, "c"));
        records.push(record(format!("{in_scope}{separator}c"), "d"));
        records.push(record(format!("a{separator}"), "b"));
    }
    records.sort();
    records.dedup();
    assert_distinct(&*harness.store(), &records).await;
}

/// R7
pub async fn r7_scopes_are_bytes(harness: &dyn Harness) {
    let mut scopes: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    for text in [
        "t1",
        "t10",
        "T1",
        " t1",
        "t1 ",
        "t1\0",
        "\0t1",
        "tenant\n",
        "tenant",
        "\u{e9}",
        "e\u{301}",
        "\u{0}\u{0}",
        "\\x00",
        "\\000",
        "null",
        "None",
        "%00",
    ] {
        scopes.push(text.into());
    }
    scopes.push(vec![0xff, 0xfe]);
    scopes.push(vec![0xc3, 0x28]);
    scopes.push("\u{fffd}".into());
    scopes.push("\u{fffd}\u{fffd}".into());
    let records: Vec<_> = scopes.iter().map(|scope| record(scope, "k")).collect();
    assert_distinct(&*harness.store(), &records).await;
}

/// R9
pub async fn r9_spaces_count(harness: &dyn Harness) {
    let keys = [
        "key",
        " key",
        "key ",
        " key ",
        "  key",
        "k ey",
        "k  ey",
        " ",
        "  ",
        "key\u{a0}",
        "key\u{3000}",
        "key\u{200b}",
        "key\u{2028}",
        "\u{feff}key",
    ];
    assert_distinct(&*harness.store(), &keys.map(|key| record("scope", key))).await;
}

/// R9
pub async fn r9_case_counts(harness: &dyn Harness) {
    let keys = [
        "key", "KEY", "Key", "keY", "straße", "STRASSE", "strasse", "STRAẞE", "ı", "i", "I", "İ",
        "σ", "ς", "Σ", "ǆ", "ǅ", "Ǆ", "ﬀ", "ff",
    ];
    assert_distinct(&*harness.store(), &keys.map(|key| record("scope", key))).await;
}

/// R9
pub async fn r9_every_normal_form_is_a_key_of_its_own(harness: &dyn Harness) {
    let keys = [
        "\u{e9}",
        "e\u{301}",
        "e",
        "\u{212b}",
        "\u{c5}",
        "A\u{30a}",
        "\u{1100}\u{1161}",
        "\u{ac00}",
        "\u{ff11}",
        "1",
        "01",
        "1.0",
        "+1",
        "\u{2460}",
        "a\u{308}\u{323}",
        "a\u{323}\u{308}",
        "\u{430}",
        "a",
        "\u{ad}a",
        "a\u{ad}",
    ];
    assert_distinct(&*harness.store(), &keys.map(|key| record("scope", key))).await;
}

/// R9
pub async fn r9_no_key_is_decoded_or_cut(harness: &dyn Harness) {
    let long = "k".repeat(254);
    let mut keys: Vec<String> = [
        "a%20b",
        "a b",
        "a+b",
        "%61",
        "a",
        "\"a\"",
        "'a'",
        "a'--",
        "a\\",
        "a\\\\",
        "{a}",
        "{}",
        "{k}a",
        "${a}",
        "a*",
        "a?",
        "[a]",
        "%",
        "%%",
        "a%",
        "_",
        "a_",
        ":",
        "::",
        "null",
        "NULL",
        "None",
        "true",
        "0",
        "-0",
        "\u{fffd}",
        "\u{10ffff}",
        "\u{1f511}",
    ]
    .map(str::to_owned)
    .into();
    keys.extend(["a", "b"].map(|end| format!("{long}{end}")));
    keys.push(long);
    let records: Vec<_> = keys.iter().map(|key| record("scope", key)).collect();
    assert_distinct(&*harness.store(), &records).await;
}
