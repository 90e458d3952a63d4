//! Rows of what real clients and attackers send, and what each is.

use super::{assert_key, assert_malformed};
use crate::key_header::{Malformed, Reason};

#[test]
fn a_quoted_key_is_its_decoded_string() {
    for (value, key) in [
        (r#""abc""#, "abc"),
        (r#""   ""#, "   "),
        (r#"  "a"  "#, "a"),
        (r#""foo \"bar\" \\ baz""#, r#"foo "bar" \ baz"#),
        (r#""100%25""#, "100%25"),
        (r#""a,b;c=1""#, "a,b;c=1"),
        (
            r#""8e03978e-40d5-43e8-bc93-6894a57f9324""#,
            "8e03978e-40d5-43e8-bc93-6894a57f9324",
        ),
        // Two lines, joined by a proxy: RFC 9651 reads one String.
        (r#""foo, bar""#, "foo, bar"),
    ] {
        assert_key(value, key);
    }
}

#[test]
fn parameters_of_every_type_are_read_and_ignored() {
    for parameters in [
        ";v=1;x",
        "; v=1",
        ";v=1;v=2",
        ";   v",
        ";*",
        ";*a.b-c_d*9=1",
        ";v=-999999999999999",
        ";v=0001",
        ";v=123456789012.123",
        ";v=-0.0",
        r#";v="a\"b\\c""#,
        ";v=Token:/!#$%&'*+-.^_`|~9",
        ";v=*",
        ";v=::",
        ";v=:YWJj:",
        ";v=:YQ==:",
        ";v=:YQ=:",
        ";v=:YQ:",
        ";v=:YR==:",
        ";v=:+/:",
        ";v=?0;w=?1",
        ";v=@1659578233",
        ";v=@-1",
        r#";v=%"f%c3%bc""#,
        r#";v=%"""#,
        "  ",
        ";v=1  ",
    ] {
        assert_key(format!("\"a\"{parameters}"), "a");
    }
}

#[test]
fn only_parameters_follow_the_closing_quote() {
    for rest in [
        ";",
        "; ",
        ";;v",
        " ;v=1",
        ";\tv",
        ";v =1",
        ";v= 1",
        ";v=",
        ";V=1",
        ";1",
        ";-",
        ";_",
        ";.",
        ";vV",
        ";v=1.",
        ";v=.1",
        ";v=-",
        ";v=--1",
        ";v=+1",
        ";v=1.1234",
        ";v=1.1.1",
        ";v=1234567890123456",
        ";v=1234567890123.1",
        ";v=1e5",
        ";v='a'",
        ";v=_",
        r#";v="a"#,
        r#";v="a\n""#,
        ";v=\"\t\"",
        ";v=:",
        ";v=:YQ",
        ";v=:Y:",
        ";v=:YQ===:",
        ";v=:YWI==:",
        ";v=:YWJj=:",
        ";v=:=:",
        ";v=:Y=Q:",
        ";v=:Y-_=:",
        ";v=: :",
        ";v=?",
        ";v=?2",
        ";v=?T",
        ";v=?00",
        ";v=@",
        ";v=@1.0",
        ";v=@x",
        ";v=%",
        ";v=%a",
        r#";v=%"a"#,
        r#";v=%"%"#,
        r#";v=%"%c""#,
        r#";v=%"%C3%BC""#,
        r#";v=%"%ff""#,
        r#";v=%"ü""#,
        ";v=(a)",
        "\t",
        ",",
        "x",
        "\"",
        r#", "b""#,
        ";v=1,",
        "\0",
        "ü",
    ] {
        assert_malformed(format!("\"a\"{rest}"), Reason::AfterClosingQuote);
    }
}

#[test]
fn a_broken_quoted_key_is_refused_with_what_is_wrong_with_it() {
    for (value, reason) in [
        (r#"""#, Reason::NoClosingQuote),
        (r#""abc"#, Reason::NoClosingQuote),
        // Of two lines `"foo` and `bar"`, the first.
        (r#""foo"#, Reason::NoClosingQuote),
        (r#""a\""#, Reason::NoClosingQuote),
        (r#""a\"#, Reason::Escape),
        (r#""a\n""#, Reason::Escape),
        (r#""foo \,""#, Reason::Escape),
        (r#""\u0061""#, Reason::Escape),
        ("\"a\tb\"", Reason::NotPrintable),
        ("\"a\nb\"", Reason::NotPrintable),
        ("\"a\0b\"", Reason::NotPrintable),
        ("\"a\u{7f}b\"", Reason::NotPrintable),
        ("\"füü\"", Reason::NotPrintable),
        (r#""a", "b""#, Reason::AfterClosingQuote),
    ] {
        assert_malformed(value, reason);
    }
}

#[test]
fn a_bare_key_is_itself() {
    for key in [
        "abc",
        "123",
        "1.5",
        "8e03978e-40d5-43e8-bc93-6894a57f9324",
        "e03978e8-40d5-43e8-bc93-6894a57f9324",
        "'foo'",
        ":aGk=:",
        "?1",
        "@1659578233",
        "%25",
        "a=b&c=d",
        "Az09!#$%&'()*+-./:<=>?@[]^_`{|}~",
    ] {
        assert_key(key, key);
        assert_key(format!("  {key} "), key);
        assert_key(format!("\"{key}\""), key);
    }
}

#[test]
fn what_is_neither_quoted_nor_a_bare_key_is_refused() {
    for value in [
        "a b",
        "a,b",
        "a, b",
        "a;b",
        "a;v=1",
        "a\\b",
        "a\"b",
        "a\"",
        "%\"x\"",
        "'a\"",
        "\tabc",
        "abc\t",
        "\t",
        "\t\"abc\"",
        " \t ",
        "a\tb",
        "a\0",
        "ключ",
        "\u{a0}",
        "\\",
        ",",
        ";",
        ";v=1",
    ] {
        assert_malformed(value, Reason::Bare);
    }
}

#[test]
fn blank_is_malformed_and_never_no_key() {
    for value in ["", " ", "     ", r#""""#, r#" "" "#, r#""";v=1"#] {
        assert_malformed(value, Reason::Length(0));
    }
}

#[test]
fn the_decoded_key_has_1_to_255_bytes() {
    for length in [1, 2, 255] {
        let key = "k".repeat(length);
        assert_key(&key, &key);
        assert_key(format!("\"{key}\""), &key);
        assert_key(
            format!("\"{}\"", r"\\".repeat(length)),
            &r"\".repeat(length),
        );
        let parameter = "p".repeat(1000);
        assert_key(format!("    \"{key}\";{parameter}={parameter}    "), &key);
    }
    for length in [256, 300, 4096, 8192] {
        let key = "k".repeat(length);
        assert_malformed(&key, Reason::Length(length));
        assert_malformed(format!("\"{key}\""), Reason::Length(length));
        assert_malformed(
            format!("\"{}\"", r"\\".repeat(length)),
            Reason::Length(length),
        );
    }
}

#[test]
fn each_reason_says_what_is_allowed() {
    for (reason, said) in [
        (Reason::SeveralLines, "one is allowed"),
        (Reason::Length(0), "is empty: 1 to 255 bytes are allowed"),
        (
            Reason::Length(256),
            "has 256 bytes: 1 to 255 bytes are allowed",
        ),
        (Reason::NoClosingQuote, "the closing quote is missing"),
        (
            Reason::Escape,
            "a backslash escapes only a quote or a backslash",
        ),
        (Reason::NotPrintable, "only printable ASCII"),
        (
            Reason::AfterClosingQuote,
            "only parameters of RFC 9651, such as `;name=1`",
        ),
        (
            Reason::Bare,
            "without quote, backslash, comma and semicolon",
        ),
    ] {
        let message = Malformed(reason).to_string();
        assert!(message.contains(said), "{message}");
    }
}
