//! What is not plain JSON is taken byte for byte.

use super::{bytes, canonical, json, spelling};

#[track_caller]
fn assert_not_plain(text: impl AsRef<[u8]>) {
    let text = text.as_ref();
    assert_eq!(canonical(text), None, "{}", text.escape_ascii());
    assert_eq!(json(text), bytes(text), "{}", text.escape_ascii());
}

#[test]
fn nothing() {
    ["", " ", "\n\t\r "].into_iter().for_each(assert_not_plain);
}

#[test]
fn more_than_one_value() {
    [
        "{}{}",
        "1 2",
        "[]1",
        "null,",
        "[1]]",
        "{}}",
        "1\u{0}",
        "true false",
        "\"\"\"",
    ]
    .into_iter()
    .for_each(assert_not_plain);
}

#[test]
fn unfinished_values() {
    [
        "[",
        "[1",
        "[1,",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "\"",
        "\"a",
        "\"\\",
        "\"\\u",
        "\"\\u00",
        "\"\\u004",
        "-",
        "1.",
        "1e",
        "1e+",
        "t",
        "tru",
        "nul",
        "fals",
    ]
    .into_iter()
    .for_each(assert_not_plain);
}

#[test]
fn misplaced_punctuation() {
    [
        "[,]",
        "[1,]",
        "[,1]",
        "[1,,2]",
        "[1 2]",
        "[1:2]",
        "[}",
        "{]",
        "{,}",
        "{\"a\":1,}",
        "{,\"a\":1}",
        "{\"a\" 1}",
        "{\"a\":}",
        "{\"a\",1}",
        "{\"a\"}",
        "{\"a\":1 \"b\":2}",
        "{\"a\"::1}",
        "{:1}",
        "]",
        "}",
        ":",
        ",",
        "()",
    ]
    .into_iter()
    .for_each(assert_not_plain);
}

#[test]
fn names_that_are_no_strings() {
    ["{a:1}", "{1:1}", "{null:1}", "{[]:1}", "{'a':1}", "{{}:1}"]
        .into_iter()
        .for_each(assert_not_plain);
}

#[test]
fn other_literals() {
    [
        "True",
        "NULL",
        "nan",
        "NaN",
        "Infinity",
        "-Infinity",
        "undefined",
        "truefalse",
        "nulll",
        "true1",
        "'a'",
        "abc",
        "amount=150",
    ]
    .into_iter()
    .for_each(assert_not_plain);
}

#[test]
fn comments() {
    ["// c\n1", "1 // c", "/* c */1", "[1,/*c*/2]", "#c\n1"]
        .into_iter()
        .for_each(assert_not_plain);
}

#[test]
fn numbers_of_other_grammars() {
    [
        "01", "-01", "00", "+1", ".5", "-.5", "1.", "1.e5", "1e", "1e-", "1e+-1", "1e1.5", "1ee1",
        "--1", "- 1", "1 .5", "1. 5", "1_000", "0x10", "1f", "1.2.3", "٣", "１", "1e٣", "-", "-a",
        "0e", "1-2",
    ]
    .into_iter()
    .for_each(assert_not_plain);
}

#[test]
fn a_byte_order_mark_and_other_white_space() {
    [
        "\u{feff}{}",
        "{}\u{feff}",
        "\u{b}1",
        "\u{c}1",
        "1\u{c}",
        "\u{a0}1",
        "1\u{2028}",
        "[\u{85}]",
        "{\u{a0}\"a\":1}",
        "[1\u{3000},2]",
        "\u{0}1",
    ]
    .into_iter()
    .for_each(assert_not_plain);
}

#[test]
fn bad_utf8() {
    let texts: [&[u8]; 9] = [
        b"\"\xff\"",
        b"\"\x80\"",
        b"\"\xc3\"",
        b"\"\xc0\xaf\"",
        b"\"\xed\xa0\x80\"",
        b"\"\xf4\x90\x80\x80\"",
        b"\"\xe2\x82\"",
        b"{\"a\":1}\xff",
        b"{\"\xe9\":1}",
    ];
    texts.into_iter().for_each(assert_not_plain);
}

#[test]
fn utf16_text() {
    assert_not_plain(b"\xff\xfe{\0}\0");
    assert_not_plain(b"{\0}\0");
}

#[test]
fn control_characters_in_strings() {
    for control in '\0'..=' ' {
        let text = format!("\"a{control}b\"");
        if control == ' ' {
            assert_eq!(spelling(&text), text);
        } else {
            assert_not_plain(&text);
            assert_not_plain(format!("{{{text}:1}}"));
        }
    }
}

#[test]
fn unknown_escapes() {
    [
        r#""\a""#,
        r#""\v""#,
        r#""\0""#,
        r#""\'""#,
        r#""\x41""#,
        r#""\U0041""#,
        r#""\é""#,
        r#""\ ""#,
        r#""\u{41}""#,
        r#""\u004g""#,
        r#""\u+041""#,
        r#""\u-041""#,
        r#""\u 041""#,
        r#""\u00é""#,
        r#""\u٠٠٤١""#,
        "\"\\\n\"",
    ]
    .into_iter()
    .for_each(assert_not_plain);
}

#[test]
fn lone_surrogates() {
    [
        r#""\ud800""#,
        r#""\udbff""#,
        r#""\udc00""#,
        r#""\udfff""#,
        r#""\ud83d""#,
        r#""\ud83dx""#,
        r#""\ud83d\n""#,
        r#""\ud83d\u0041""#,
        r#""\ud83d\ud83d""#,
        r#""\ud83d\ud83d\ude00""#,
        r#""\ude00\ud83d""#,
        r#""\ud83d\u""#,
        r#""\ud83d\ude0""#,
        r#""\ud83d\\ude00""#,
        r#""\ude00""#,
    ]
    .into_iter()
    .for_each(|text| {
        assert_not_plain(text);
        assert_not_plain(format!("{{{text}:1}}"));
    });
}

#[test]
fn a_member_named_twice() {
    [
        r#"{"a":1,"a":2}"#,
        r#"{"a":1,"a":1}"#,
        r#"{"a":1,"b":2,"a":3}"#,
        r#"{"b":1,"a":2,"b":3}"#,
        r#"{"":1,"":2}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"{"\/":1,"/":2}"#,
        r#"{"😀":1,"\ud83d\ude00":2}"#,
        r#"{"\n":1,"\u000A":2}"#,
        r#"[{"a":1,"a":2}]"#,
        r#"{"x":{"a":1,"a":2}}"#,
        r#"{"z":{"y":[0,{"b":1,"a":1,"\u0062":1}]},"a":1}"#,
    ]
    .into_iter()
    .for_each(assert_not_plain);
}

/// However the texts differ: what is not plain has no other spelling.
#[test]
fn white_space_counts_where_the_text_is_not_plain() {
    assert_ne!(json(r#"{"a":1,"a":2}"#), json(r#"{"a":1, "a":2}"#));
    assert_ne!(json("amount=150"), json("amount=150 "));
    assert_ne!(json(""), json(" "));
}

#[test]
fn more_than_128_levels() {
    let nested = |open: &str, inner: &str, close: &str, levels: usize| {
        open.repeat(levels) + inner + &close.repeat(levels)
    };
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let deepest = nested(open, "1", close, 128);
        assert_eq!(spelling(&deepest), deepest);
        assert_not_plain(nested(open, "1", close, 129));
    }
    let deepest = nested(r#"[{"a":"#, "{}", "}]", 63);
    assert_eq!(spelling(&deepest), deepest);
    assert_not_plain(nested(r#"[{"a":"#, "{}", "}]", 64));
    assert_not_plain(nested("[", "[]", "]", 128));
}

/// Levels are counted along one path, not over the whole text.
#[test]
fn siblings_are_not_levels() {
    let text = format!("[{}[]]", "[],{},[[]],".repeat(200));
    assert_eq!(spelling(&text), text);
}
