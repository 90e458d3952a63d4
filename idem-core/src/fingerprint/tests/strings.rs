//! Strings have the fewest escapes, and the code points that they were sent with.

use super::{json, spelling};

#[test]
fn spellings_of_one_string_are_one() {
    let strings: &[(&str, &[&str])] = &[
        (r#""A""#, &[r#""A""#, r#""\u0041""#]),
        (
            r#""/""#,
            &[r#""/""#, r#""\/""#, r#""\u002f""#, r#""\u002F""#],
        ),
        (r#""\"""#, &[r#""\"""#, r#""\u0022""#]),
        (r#""\\""#, &[r#""\\""#, r#""\u005c""#, r#""\u005C""#]),
        (r#""\b""#, &[r#""\b""#, r#""\u0008""#]),
        (r#""\t""#, &[r#""\t""#, r#""\u0009""#]),
        (r#""\n""#, &[r#""\n""#, r#""\u000a""#, r#""\u000A""#]),
        (r#""\f""#, &[r#""\f""#, r#""\u000c""#]),
        (r#""\r""#, &[r#""\r""#, r#""\u000D""#]),
        (r#""\u0000""#, &[r#""\u0000""#]),
        (r#""\u000b""#, &[r#""\u000b""#, r#""\u000B""#]),
        (r#""\u001f""#, &[r#""\u001f""#, r#""\u001F""#]),
        ("\"\u{7f}\"", &["\"\u{7f}\"", r#""\u007f""#]),
        ("\"\u{80}\"", &["\"\u{80}\"", r#""\u0080""#]),
        (
            "\"\u{2028}\u{2029}\"",
            &["\"\u{2028}\u{2029}\"", r#""\u2028\u2029""#],
        ),
        (r#""<>&'""#, &[r#""<>&'""#, r#""\u003c\u003e\u0026\u0027""#]),
        (r#""€""#, &[r#""€""#, r#""\u20ac""#, r#""\u20AC""#]),
        ("\"\u{feff}\"", &["\"\u{feff}\"", r#""\ufeff""#]),
        ("\"\u{ffff}\"", &["\"\u{ffff}\"", r#""\uffff""#]),
        (
            "\"\u{d7ff}\u{e000}\"",
            &["\"\u{d7ff}\u{e000}\"", r#""\ud7ff\ue000""#],
        ),
        ("\"\u{10000}\"", &["\"\u{10000}\"", r#""\ud800\udc00""#]),
        ("\"\u{10ffff}\"", &["\"\u{10ffff}\"", r#""\uDBFF\uDFFF""#]),
        (
            r#""😀""#,
            &[r#""😀""#, r#""\ud83d\ude00""#, r#""\uD83D\uDE00""#],
        ),
        (
            r#""a\"é\\😀\n!""#,
            &[
                r#""a\"é\\😀\n!""#,
                r#""\u0061\u0022\u00e9\u005c\ud83d\ude00\u000a\u0021""#,
            ],
        ),
    ];
    for (expected, spellings) in strings {
        for text in *spellings {
            assert_eq!(spelling(text), *expected, "{text}");
        }
        let name = format!("{{{expected}:0}}");
        for text in *spellings {
            assert_eq!(spelling(format!("{{{text}:0}}")), name, "{text} as a name");
        }
    }
}

#[test]
fn composed_and_decomposed_characters_differ() {
    assert_ne!(json("\"\u{e9}\""), json("\"e\u{301}\""));
    assert_eq!(spelling("\"e\u{301}\""), "\"e\u{301}\"");
    assert_eq!(spelling(r#""\u00e9""#), "\"\u{e9}\"");
    // Not one name twice either.
    let both = spelling("{\"\u{e9}\":1,\"e\u{301}\":2}");
    assert_eq!(both, "{\"e\u{301}\":2,\"\u{e9}\":1}");
}

#[test]
fn case_and_escapes_of_escapes_count() {
    for (a, b) in [
        (r#""a""#, r#""A""#),
        (r#""\\u0041""#, r#""A""#),
        (r#""\\n""#, r#""\n""#),
        (r#""\u0000""#, r#""""#),
        (r#""😀""#, r#""😁""#),
    ] {
        assert_ne!(json(a), json(b), "{a} and {b}");
    }
}
