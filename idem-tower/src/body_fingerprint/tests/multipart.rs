//! Bodies that are taken by their parts, and bodies that are not.

use super::{assert_all_differ, fingerprint, form, of_form, of_type};

/// The body is taken by its parts, if so it is under one boundary as it is under another.
#[track_caller]
fn assert_by_parts(by_parts: bool, frame: impl Fn(&str) -> String) {
    let (one, two) = (frame("b0undary"), frame("an0ther"));
    let equal = of_form("b0undary", &one) == of_form("an0ther", &two);
    assert_eq!(equal, by_parts, "{one}");
    assert!(of_form("b0undary", &one) == of_form("b0undary", &one));
}

#[test]
fn the_boundary_does_not_count() {
    let longest = "b".repeat(70);
    let boundaries = [
        "----WebKitFormBoundary7MA4YWxkTrZu0gW",
        "--------------------------974767299852498929531610575",
        "b",
        "-",
        "----",
        &longest,
    ];
    let expected = of_form("x", form("x", "a.txt", "17"));
    for boundary in boundaries {
        assert_eq!(
            of_form(boundary, form(boundary, "a.txt", "17")),
            expected,
            "{boundary}"
        );
        let quoted = format!("\"{boundary}\"");
        assert_eq!(
            of_form(&quoted, form(boundary, "a.txt", "17")),
            expected,
            "{boundary}"
        );
    }
    let marks = "(0)+_,-./:=?'z";
    let quoted = format!("\"{marks}\"");
    assert_eq!(of_form(&quoted, form(marks, "a.txt", "17")), expected);
    let spelt = of_type("Multipart/Form-Data;BOUNDARY=y", form("y", "a.txt", "17"));
    assert_eq!(spelt, expected);
}

#[test]
fn everything_else_counts() {
    let b = |body: &str| of_form("b", body);
    let plain = form("b", "a.txt", "17");
    let [to, doc] = ["\r\nx: 1\r\n\r\nto\r\n", "\r\nx: 2\r\n\r\ndoc\r\n"];
    assert_all_differ(&[
        ("as it is", b(&plain)),
        ("other file name", b(&form("b", "b.txt", "17"))),
        ("other content", b(&form("b", "a.txt", "18"))),
        ("longer content", b(&form("b", "a.txt", "17\r\n"))),
        ("other field name", b(&plain.replace("\"to\"", "\"of\""))),
        (
            "other case",
            b(&plain.replace("content-type", "Content-Type")),
        ),
        ("no final line end", b(plain.trim_end())),
        (
            "no final delimiter",
            b(plain.trim_end().strip_suffix("--b--").unwrap()),
        ),
        (
            "not closed",
            b(plain.trim_end().strip_suffix("--").unwrap()),
        ),
        ("padding", b(&plain.replacen("--b\r", "--b \r", 1))),
        ("bare line ends", b(&plain.replace("\r\n", "\n"))),
        ("preamble", b(&format!("\r\n{plain}"))),
        ("epilogue", b(&format!("{plain}\r\n"))),
        ("two parts", b(&format!("--b{to}--b{doc}--b--"))),
        ("swapped", b(&format!("--b{doc}--b{to}--b--"))),
        ("one twice", b(&format!("--b{to}--b{to}--b--"))),
        ("a third", b(&format!("--b{to}--b{doc}--b{doc}--b--"))),
        (
            "an empty third",
            b(&format!("--b{to}--b{doc}--b\r\n\r\n--b--")),
        ),
        ("one", b(&format!("--b{to}--b--"))),
        ("one of both", b(&format!("--b{to}--B{doc}--b--"))),
        ("none", b("--b--")),
        ("none, with a line end", b("--b--\r\n")),
        ("nothing", b("")),
    ]);
}

#[test]
fn the_content_type_counts_but_for_its_boundary() {
    let of = |content_type: &str| of_type(content_type, form("b", "a.txt", "17"));
    assert_all_differ(&[
        ("form", of("multipart/form-data; boundary=b")),
        ("mixed", of("multipart/mixed; boundary=b")),
        ("related", of("multipart/related; boundary=b")),
        ("start", of("multipart/related; boundary=b; start=\"<1>\"")),
        (
            "other start",
            of("multipart/related; boundary=b; start=\"<2>\""),
        ),
        ("two", of("multipart/related; boundary=b; start=a; type=b")),
        (
            "the other way",
            of("multipart/related; boundary=b; type=b; start=a"),
        ),
        ("text", of("text/plain; boundary=b")),
    ]);
    assert_eq!(
        of("multipart/related; boundary=b; Start=a"),
        of_type(
            "multipart/related; start=a; boundary=c",
            form("c", "a.txt", "17")
        ),
    );
}

#[test]
fn plainly_framed_bodies_are_taken_by_their_parts() {
    assert_by_parts(true, |b| form(b, "a.txt", "17"));
    assert_by_parts(true, |b| form(b, "a.txt", "17").trim_end().to_owned());
    assert_by_parts(true, |b| {
        format!("--{b} \t \r\nx: 1\r\n\r\na\r\n--{b}\t\r\n\r\n\r\n--{b}--")
    });
    assert_by_parts(true, |b| format!("--{b}\r\n\r\n--{b}--"));
    assert_by_parts(true, |b| format!("--{b}--"));
    // Nothing but the delimiter itself can be mistaken for it.
    for content in [
        "b0undary",
        "-an0ther",
        "--b0undar",
        "--B0UNDARY",
        "--",
        "\r\n--",
        "\r\n----\r\n",
        "\0",
    ] {
        assert_by_parts(true, |b| form(b, "a.txt", content));
    }
}

#[test]
fn a_body_that_could_be_read_in_two_ways_is_taken_byte_for_byte() {
    type Frame = fn(&str, String) -> String;
    let frames: [Frame; 19] = [
        // What comes before the first delimiter and after the last.
        |_, form| format!("preamble\r\n{form}"),
        |_, form| format!("\r\n{form}"),
        |_, form| format!(" {form}"),
        |_, form| format!("{form}epilogue"),
        |_, form| format!("{form}\r\n"),
        |_, form| form.trim_end().to_owned() + " ",
        |_, form| form.trim_end().to_owned() + "\n",
        |_, form| form.trim_end().to_owned() + "-",
        |b, form| format!("{form}--{b}--\r\n"),
        // An end that is missing.
        |_, form| form.trim_end().trim_end_matches('-').to_owned(),
        |b, form| form.replace(&format!("--{b}--"), ""),
        |b, form| form.replace(&format!("--{b}--"), &format!("--{b}-")),
        // Line ends that are none.
        |_, form| form.replace("\r\n", "\n"),
        |b, form| form.replace(&format!("\r\n--{b}\r\n"), &format!("\n--{b}\r\n")),
        |b, form| form.replace(&format!("--{b}\r\n"), &format!("--{b}\n")),
        |b, form| form.replace(&format!("--{b}\r\n"), &format!("--{b}\r")),
        |b, form| form.replace(&format!("\r\n--{b}--"), &format!("--{b}--")),
        // Two delimiters that share a line end.
        |b, _| format!("--{b}\r\n--{b}--"),
        |b, _| format!("--{b}"),
    ];
    for frame in frames {
        assert_by_parts(false, |b| frame(b, form(b, "a.txt", "17")));
    }
}

#[test]
fn a_delimiter_in_the_content_makes_it_byte_for_byte() {
    for (before, after) in [
        ("", ""),
        ("a", "a"),
        ("\n", "\n"),
        ("\r", "\r\n"),
        ("\n", "\r\n"),
        ("\r\n", "a"),
        ("\r\n", " a\r\n"),
        ("\r\n", "--a"),
        ("\r\n", "--\r\n"),
        ("\r\n", "-\r\n"),
        ("\r\n-", "\r\n"),
        ("\r\n ", "\r\n"),
    ] {
        assert_by_parts(false, |b| {
            form(b, "a.txt", &format!("1{before}--{b}{after}7"))
        });
        // In a header, too.
        assert_by_parts(false, |b| form(b, &format!("1{before}--{b}{after}7"), "17"));
    }
    // As a delimiter it is one: this has three parts, whoever wrote it.
    assert_by_parts(true, |b| form(b, "a.txt", &format!("1\r\n--{b}\r\n7")));
}

/// The same body, with the boundary of its content type and with the one of a part.
#[test]
fn an_inner_multipart_is_content() {
    let inner = |inner: &str| format!("--{inner}\r\n\r\n17\r\n--{inner}--\r\n");
    assert_by_parts(true, |outer| form(outer, "a.txt", &inner("inner")));
    let body = form("outer", "a.txt", &inner("inner"));
    assert_ne!(of_form("outer", &body), of_form("inner", &body));
    let other = form("outer", "a.txt", &inner("inne2"));
    assert_ne!(of_form("outer", &body), of_form("outer", other));
    // A boundary that the outer one begins with.
    assert_by_parts(false, |b| {
        format!("--{b}\r\n\r\n--{b}x\r\n\r\n17\r\n--{b}x--\r\n\r\n--{b}--")
    });
}

/// Delimiters that overlap themselves are found as every reader finds them: from the left.
#[test]
fn dashes_in_the_boundary_and_around_it() {
    for boundary in ["-", "--", "---", "a--a", "--a--a"] {
        let body = form(boundary, "a.txt", "17");
        assert_eq!(
            of_form(boundary, &body),
            of_form("b", form("b", "a.txt", "17")),
            "{boundary}"
        );
        for more in ["-", "--", "---"] {
            let longer = body.replacen("\r\n--", &format!("\r\n--{more}"), 1);
            let expected = longer.replace(&format!("--{boundary}"), "--b");
            assert_ne!(
                of_form(boundary, &longer),
                of_form("b", expected),
                "{boundary} {more}"
            );
        }
    }
}

#[test]
fn an_encoded_body_is_taken_byte_for_byte() {
    let encoded = |boundary: &str| {
        let content_type = format!("multipart/form-data; boundary={boundary}");
        let lines = [
            ("content-type", content_type.as_bytes()),
            ("content-encoding", b"gzip"),
        ];
        fingerprint(&lines, form(boundary, "a.txt", "17"))
    };
    assert_ne!(encoded("b"), encoded("c"));
}
