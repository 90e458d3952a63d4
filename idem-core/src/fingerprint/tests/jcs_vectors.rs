//! The vectors of RFC 8785 and of its reference implementation.

use sha2::{Digest, Sha256};

use super::{bytes, canonical, json, spelling};
use crate::digest::hex;
use crate::fingerprint::property::rfc_8785;

/// The six files of the reference implementation's test data (cyberphone/json-canonicalization), with
/// the length and SHA-256 of what each must become.
#[test]
fn the_reference_test_data() {
    let files = [
        (
            "arrays",
            "[\n  56,\n  {\n    \"d\": true,\n    \"10\": null,\n    \"1\": [ ]\n  }\n]\n",
            32,
            "099601b171cafed97c333f8878d68e7f8c8f795412adb34b2fdcf0e7c7beac42",
        ),
        (
            "french",
            r#"{
              "peach": "This sorting order",
              "péché": "is wrong according to French",
              "pêche": "but canonicalization MUST",
              "sin":   "ignore locale"
            }"#,
            130,
            "d99d0ebdcb0033cb858cfa830ae46bc0fb3309413b271f1da828c89901a27ed5",
        ),
        (
            "structures",
            r#"{
              "1": {"f": {"f": "hi","F": 5} ,"\n": 56.0},
              "10": { },
              "": "empty",
              "a": { },
              "111": [ {"e": "yes","E": "no" } ],
              "A": { }
            }"#,
            98,
            "605f65004ec2db7692522a0852c22f1c989e036d547e88963d1a3143cf3195d5",
        ),
        (
            "unicode",
            "{\n  \"Unnormalized Unicode\":\"A\\u030a\"\n}\n",
            30,
            "0d99aad92a125196ff887876643fd3206786a84ddce2cee52ba4ad256d2381d3",
        ),
        (
            "values",
            r#"{
              "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
              "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
              "literals": [null, true, false]
            }"#,
            118,
            "2d5e01a318d0f0879ab568c4be289c8b1f64ef8921a53c6277d5e069978baacb",
        ),
        (
            "weird",
            r#"{
              "\u20ac": "Euro Sign",
              "\r": "Carriage Return",
              "\u000a": "Newline",
              "1": "One",
              "\u0080": "Control\u007f",
              "\ud83d\ude02": "Smiley",
              "\u00f6": "Latin Small Letter O With Diaeresis",
              "\ufb33": "Hebrew Letter Dalet With Dagesh",
              "</script>": "Browser Challenge"
            }"#,
            214,
            "6af595a9aa80110b964b4de3f82a05fa6ae7423005019bacfa2620dddc4e94d1",
        ),
    ];
    for (name, text, length, sha256) in files {
        // The one number in them that no double stands for. RFC 8785 rounds it.
        let canonical = spelling(text).replace("333333333.33333329", "333333333.3333333");
        assert_eq!(canonical.len(), length, "{name}: {canonical}");
        assert_eq!(
            hex(&Sha256::digest(&canonical)),
            sha256,
            "{name}: {canonical}"
        );
    }
}

/// Where RFC 8785 rounds to the nearest double, the canonical number stays what it is.
#[test]
fn a_number_that_no_double_stands_for_is_kept() {
    assert_eq!(spelling("333333333.33333329"), "333333333.33333329");
    assert_eq!(spelling("295147905179352825856"), "295147905179352825856");
}

/// RFC 8785, section 3.2.3: as UTF-16 code units, U+1F600 comes before U+FB33.
#[test]
fn members_are_sorted_by_utf16_code_units() {
    let text = r#"{
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\ud83d\ude00": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis"
    }"#;
    let canonical = spelling(text);
    let values = [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ];
    let places = values.map(|value| canonical.find(value).unwrap());
    assert!(places.is_sorted(), "{canonical}");
}

/// Every pair out of the code points around which the two orders part, in both orders of the text.
#[test]
fn the_order_of_names_is_that_of_their_code_units() {
    let names = [
        "",
        "\u{0}",
        "\n",
        "\"",
        "/",
        "A",
        "\\",
        "a",
        "a\u{0}",
        "a!",
        "ab",
        "\u{7f}",
        "\u{80}",
        "\u{7ff}",
        "\u{800}",
        "\u{d7ff}",
        "\u{e000}",
        "\u{e000}a",
        "\u{efff}",
        "\u{f000}",
        "\u{fb33}",
        "\u{ffff}",
        "\u{10000}",
        "\u{1f600}",
        "\u{1f600}\u{e000}",
        "\u{1f600}\u{10000}",
        "\u{3ffff}",
        "\u{40000}",
        "\u{fffff}",
        "\u{100000}",
        "\u{10ffff}",
        "a\u{ffff}",
        "a\u{10000}",
    ];
    for a in names {
        for b in names.into_iter().filter(|b| *b != a) {
            let units = |name: &str| name.encode_utf16().collect::<Vec<_>>();
            let (first, second) = if units(a) < units(b) { (a, b) } else { (b, a) };
            let member = |name| format!("{}:0", spelling(serde_json::json!(name).to_string()));
            assert_eq!(
                spelling(format!("{{{},{}}}", member(a), member(b))),
                format!("{{{},{}}}", member(first), member(second)),
            );
        }
    }
}

/// RFC 8785, appendix B, and more from its reference implementation: doubles by their bits, and what
/// each must print as.
#[test]
fn doubles_are_spelled_as_in_rfc_8785() {
    let samples = [
        (0x0000000000000000, "0"),
        (0x8000000000000000, "0"),
        (0x0000000000000001, "5e-324"),
        (0x8000000000000001, "-5e-324"),
        (0x7fefffffffffffff, "1.7976931348623157e+308"),
        (0xffefffffffffffff, "-1.7976931348623157e+308"),
        (0x4340000000000000, "9007199254740992"),
        (0xc340000000000000, "-9007199254740992"),
        (0x4430000000000000, "295147905179352830000"),
        (0x44b52d02c7e14af5, "9.999999999999997e+22"),
        (0x44b52d02c7e14af6, "1e+23"),
        (0x44b52d02c7e14af7, "1.0000000000000001e+23"),
        (0x444b1ae4d6e2ef4e, "999999999999999700000"),
        (0x444b1ae4d6e2ef4f, "999999999999999900000"),
        (0x444b1ae4d6e2ef50, "1e+21"),
        (0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"),
        (0x3eb0c6f7a0b5ed8d, "0.000001"),
        (0x41b3de4355555553, "333333333.3333332"),
        (0x41b3de4355555554, "333333333.33333325"),
        (0x41b3de4355555555, "333333333.3333333"),
        (0x41b3de4355555556, "333333333.3333334"),
        (0x41b3de4355555557, "333333333.33333343"),
        (0xbecbf647612f3696, "-0.0000033333333333333333"),
        (0x43143ff3c1cb0959, "1424953923781206.2"),
        (0x4340000000000001, "9007199254740994"),
        (0x4340000000000002, "9007199254740996"),
        (0x3fd3333333333333, "0.3"),
        (0x3fd3333333333334, "0.30000000000000004"),
        (0x0010000000000000, "2.2250738585072014e-308"),
        (0x000fffffffffffff, "2.225073858507201e-308"),
        (0x3fefffffffffffff, "0.9999999999999999"),
        (0xc46696695dbd1cc3, "-3.3333333333333335e+21"),
    ];
    for (bits, expected) in samples {
        let shortest = serde_json::json!(f64::from_bits(bits)).to_string();
        assert_eq!(spelling(&shortest), expected, "{shortest}");
        assert_eq!(spelling(expected), expected);
    }
}

/// The series of the reference implementation's bulk test: the first normal doubles.
#[test]
fn the_smallest_normal_doubles_are_spelled_as_in_rfc_8785() {
    for bits in (0x0010000000000000..).take(2000) {
        let shortest = serde_json::json!(f64::from_bits(bits)).to_string();
        let expected = rfc_8785::canonicalize(shortest.as_bytes()).unwrap();
        assert_eq!(spelling(&shortest), expected, "{bits:016x}");
    }
}

/// RFC 8785, section 3.2.2.2: which characters are escaped, and how.
#[test]
fn strings_are_escaped_as_in_rfc_8785() {
    let escaped = |character: char| match character {
        '\u{8}' => "\\b".to_owned(),
        '\t' => "\\t".to_owned(),
        '\n' => "\\n".to_owned(),
        '\u{c}' => "\\f".to_owned(),
        '\r' => "\\r".to_owned(),
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\0'..='\u{1f}' => format!("\\u{:04x}", u32::from(character)),
        other => other.to_string(),
    };
    // All of the basic plane, which is where every escape and both its edges are.
    for character in '\0'..='\u{ffff}' {
        let text = format!("\"\\u{:04X}\"", u32::from(character));
        assert_eq!(spelling(text), format!("\"{}\"", escaped(character)));
    }
}

/// What RFC 8785 calls an error, as it is not I-JSON (RFC 7493) or not JSON at all, stays as it was
/// sent.
#[test]
fn errors_of_rfc_8785_are_taken_byte_for_byte() {
    let texts: [&[u8]; 9] = [
        // 7fffffffffffffff and 7ff0000000000000 of appendix B, as some print them.
        b"NaN",
        b"Infinity",
        b"-Infinity",
        // Lone surrogates: the first half, the second, and the two in the wrong order.
        br#"{"a":"\ud83d"}"#,
        br#"{"\udead":1}"#,
        br#""\ude00\ud83d""#,
        b"\"\xed\xa0\xbd\"",
        // One name twice, however it is escaped.
        br#"{"a":1,"a":1}"#,
        br#"{"\u20ac":1,"\u20AC":2}"#,
    ];
    for text in texts {
        assert_eq!(canonical(text), None, "{}", text.escape_ascii());
        assert_eq!(json(text), bytes(text), "{}", text.escape_ascii());
    }
}
