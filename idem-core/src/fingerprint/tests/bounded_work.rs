//! Texts made to be costly cost no more than their length. There are no timed assertions: a quadratic
//! step would keep these tests from ending.

use std::fmt::Write as _;

use super::{canonical, spelling};

const MIB: usize = 1024 * 1024;

#[test]
fn a_hundred_thousand_brackets_do_not_exhaust_the_stack() {
    for open in ["[", r#"{"a":"#, "[ [", r#"[{"a":"#] {
        assert_eq!(canonical(open.repeat(100_000)), None);
    }
    let closed = "[".repeat(100_000) + &"]".repeat(100_000);
    assert_eq!(canonical(closed), None);
}

#[test]
fn the_deepest_text_fits_a_small_stack() {
    let text = r#"[{"a":"#.repeat(64) + "1" + &"}]".repeat(64);
    let thread = std::thread::Builder::new()
        .stack_size(256 * 1024)
        .spawn(move || assert_eq!(spelling(&text), text));
    thread.unwrap().join().unwrap();
}

#[test]
fn a_number_of_ten_mebibytes() {
    let ones = "1".repeat(10 * MIB);
    let exponent = 10 * MIB - 1;
    assert_eq!(spelling(&ones), format!("1.{}e+{exponent}", &ones[1..]));
    assert_eq!(canonical(format!("1e{ones}")), None);
}

#[test]
fn long_numbers_of_every_shape() {
    let ones = "1".repeat(MIB);
    let zeros = "0".repeat(MIB);
    assert_eq!(spelling(format!("1{zeros}")), format!("1e+{MIB}"));
    assert_eq!(spelling(format!("0.{zeros}1")), format!("1e-{}", MIB + 1));
    assert_eq!(spelling(format!("0.{zeros}")), "0");
    assert_eq!(spelling(format!("1.{zeros}")), "1");
    assert_eq!(spelling(format!("123.{ones}")), format!("123.{ones}"));
    assert_eq!(spelling(format!("1{zeros}e-{MIB}")), "1");
    assert_eq!(spelling(format!("1e{zeros}2")), "100");
}

#[test]
fn a_name_of_one_mebibyte() {
    let name = "n".repeat(MIB);
    let text = format!(r#"{{"{name}b":1,"{name}a":2,"{name}":3}}"#);
    let sorted = format!(r#"{{"{name}":3,"{name}a":2,"{name}b":1}}"#);
    assert_eq!(spelling(text), sorted);
    let escaped = r"\u0061".repeat(MIB);
    assert_eq!(spelling(format!(r#"{{"{escaped}":1}}"#)).len(), MIB + 6);
}

#[test]
fn two_hundred_thousand_members_in_reverse_order() {
    let object = |names: &mut dyn Iterator<Item = u32>| {
        let mut text = String::from("{");
        for name in names {
            let comma = if text.len() == 1 { "" } else { "," };
            write!(text, "{comma}\"{name:06}\":{name}").unwrap();
        }
        text + "}"
    };
    let sorted = object(&mut (0..200_000));
    assert_eq!(spelling(object(&mut (0..200_000).rev())), sorted);
    // A permutation without long runs: 7919 is prime and does not divide the count.
    let mixed = object(&mut (0..20_000).map(|i| (i * 7919) % 20_000));
    assert_eq!(spelling(mixed), object(&mut (0..20_000)));
    let twice = object(&mut (0..200_000).rev().chain([77]));
    assert_eq!(canonical(twice), None);
}

#[test]
fn every_level_out_of_order() {
    let long = "x".repeat(64 * 1024);
    let text = r#"{"b":"#.repeat(128) + "\"" + &long + "\"" + &r#","a":0}"#.repeat(128);
    let sorted = r#"{"a":0,"b":"#.repeat(128) + "\"" + &long + "\"" + &"}".repeat(128);
    assert_eq!(spelling(text), sorted);
}

#[test]
fn mebibytes_of_white_space_and_of_small_values() {
    let space = " ".repeat(MIB);
    assert_eq!(spelling(format!("{space}[{space}]")), "[]");
    let array = format!("[{}0]", "0,".repeat(MIB));
    assert_eq!(spelling(&array), array);
}
