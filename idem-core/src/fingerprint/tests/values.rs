//! Which JSON texts are one value.

use super::{json, spelling};

/// All of these differ from each other.
fn assert_all_differ(texts: &[&str]) {
    for (i, text) in texts.iter().enumerate() {
        for other in texts.iter().skip(i + 1) {
            assert_ne!(spelling(text), spelling(other), "{text} and {other}");
            assert_ne!(json(text), json(other), "{text} and {other}");
        }
    }
}

#[test]
fn the_order_of_members_does_not_count() {
    let sorted = r#"{"a":1,"b":[{"c":2,"d":3}]}"#;
    for text in [sorted, r#"{"b":[{"d":3,"c":2}],"a":1}"#] {
        assert_eq!(spelling(text), sorted);
        assert_eq!(json(text), json(sorted));
    }
}

#[test]
fn the_order_of_an_array_counts() {
    assert_all_differ(&["[1,2]", "[2,1]"]);
    assert_all_differ(&[r#"[{"a":1},{"a":2}]"#, r#"[{"a":2},{"a":1}]"#]);
}

#[test]
fn white_space_does_not_count() {
    let text = " \t\r\n{ \t\r\n\"a\" \t\r\n: \t\r\n[ \t\r\n1 \t\r\n, \t\r\n[ ] , { } ] , \"b\" : null } \t\r\n";
    assert_eq!(spelling(text), r#"{"a":[1,[],{}],"b":null}"#);
}

#[test]
fn white_space_within_strings_counts() {
    assert_all_differ(&[r#"" a""#, r#""a""#, r#""a ""#, r#""a  ""#]);
    assert_all_differ(&[r#"{" a":1}"#, r#"{"a":1}"#, r#"{"a ":1}"#]);
}

#[test]
fn kinds_of_value_differ() {
    assert_all_differ(&[
        "{}",
        "[]",
        "null",
        "false",
        "true",
        "0",
        "1",
        r#""""#,
        r#""0""#,
        r#""1""#,
        r#""null""#,
        r#""{}""#,
        "[null]",
        r#"{"":null}"#,
        "[[]]",
        "[{}]",
        r#"{"":{}}"#,
    ]);
}

#[test]
fn an_absent_body_is_none_of_the_empty_values() {
    for text in ["{}", "[]", "null", r#""""#, "0"] {
        assert_ne!(json(""), json(text), "{text}");
    }
}

#[test]
fn an_absent_member_is_not_null() {
    assert_all_differ(&["{}", r#"{"a":null}"#, r#"{"a":""}"#, r#"{"a":[]}"#]);
}

#[test]
fn structure_counts() {
    assert_all_differ(&["[[1],2]", "[1,[2]]", "[[1,2]]", "[1,2]"]);
    assert_all_differ(&[r#"{"a":{"b":1}}"#, r#"{"b":{"a":1}}"#, r#"{"a":["b",1]}"#]);
}

#[test]
fn one_name_may_stand_in_several_objects() {
    let text = r#"{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}"#;
    assert_eq!(spelling(text), text);
}
