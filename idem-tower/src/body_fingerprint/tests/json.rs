use super::{assert_all_differ, fingerprint, of_type};

const BODY: &str = r#"{"amount":1.50,"to":"ana"}"#;
const RESPELT: &str = "{ \"to\": \"\\u0061na\",\n \"amount\": 1.5 }\r\n";

#[test]
fn two_spellings_of_a_value_are_equal() {
    for json in [
        "application/json",
        "application/vnd.example.v2+json",
        "image/x+json",
    ] {
        assert_eq!(of_type(json, BODY), of_type(json, RESPELT), "{json}");
        assert_ne!(
            of_type(json, BODY),
            of_type(json, r#"{"amount":1.51,"to":"ana"}"#)
        );
    }
}

#[test]
fn numbers_are_exact() {
    assert_ne!(
        of_type("application/json", "9007199254740993"),
        of_type("application/json", "9007199254740992"),
    );
}

#[test]
fn the_charset_and_case_of_the_content_type_do_not_count() {
    let plain = of_type("application/json", BODY);
    for content_type in [
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "application/json ; charset=\"utf-8\"",
        "application/json;",
        "Application/JSON",
        " application/json\t",
    ] {
        assert_eq!(of_type(content_type, RESPELT), plain, "{content_type}");
    }
}

#[test]
fn other_parameters_count_and_the_body_is_compared_as_json_all_the_same() {
    let types = [
        "application/json",
        "application/json; version=1",
        "application/json; version=2",
        "application/json; version=2; profile=a",
        "application/json; charset=latin1",
        "application/json; charset=utf-16",
    ];
    assert_all_differ(&types.map(|json| (json, of_type(json, BODY))));
    for json in types {
        assert_eq!(of_type(json, BODY), of_type(json, RESPELT), "{json}");
    }
    assert_eq!(
        of_type("application/json; Version=2; charset=utf-8", BODY),
        of_type("application/json;version=2", RESPELT)
    );
}

#[test]
fn which_json_it_is_counts() {
    let types = [
        "application/json",
        "application/vnd.a+json",
        "application/vnd.b+json",
        "application/merge-patch+json",
        "text/vnd.a+json",
    ];
    assert_all_differ(&types.map(|json| (json, of_type(json, BODY))));
}

#[test]
fn what_only_looks_like_a_json_type_is_taken_byte_for_byte() {
    for other in [
        "text/plain",
        "text/json",
        "application/jsonp",
        "application/json-seq",
        "application/x-json",
        "application/+json",
        "application/json+xml",
        "application/json,application/json",
        "application/json charset=utf-8",
        "application/json; charset",
        "application/json; charset=\"utf-8",
        "application /json",
        "json",
    ] {
        assert_ne!(of_type(other, BODY), of_type(other, RESPELT), "{other}");
        assert_ne!(
            of_type(other, BODY),
            of_type("application/json", BODY),
            "{other}"
        );
    }
}

#[test]
fn what_is_not_plain_json_is_taken_byte_for_byte() {
    let json = |body| of_type("application/json", body);
    assert_ne!(json(r#"{"a":1,"a":2}"#), json(r#"{"a":2}"#));
    assert_ne!(json("{"), json("{ "));
    assert_eq!(json("{"), json("{"));
}

#[test]
fn an_encoded_body_is_no_json() {
    let encoded = |encoding: &[u8], body| {
        let json = ("content-type", &b"application/json"[..]);
        fingerprint(&[json, ("content-encoding", encoding)], body)
    };
    assert_eq!(
        encoded(b"identity", RESPELT),
        of_type("application/json", BODY)
    );
    assert_eq!(
        encoded(b"Identity", RESPELT),
        of_type("application/json", BODY)
    );
    for encoding in [
        &b"gzip"[..],
        b"br",
        b"",
        b"identity, gzip",
        b"identity, identity",
        b"\xff",
    ] {
        assert_ne!(encoded(encoding, BODY), encoded(encoding, RESPELT));
        assert_ne!(encoded(encoding, BODY), of_type("application/json", BODY));
        assert_eq!(encoded(encoding, BODY), encoded(encoding, BODY));
    }
}
