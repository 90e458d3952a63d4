mod against_sfv;
mod bytes;
mod lines;
mod table;

use super::{Malformed, Reason, parse};

#[track_caller]
fn assert_key(value: impl AsRef<[u8]>, key: &str) {
    let value = value.as_ref();
    match parse(value) {
        Ok(read) => assert_eq!(read.as_str(), key, "{}", value.escape_ascii()),
        Err(error) => panic!("{}: {error}", value.escape_ascii()),
    }
}

#[track_caller]
fn assert_malformed(value: impl AsRef<[u8]>, reason: Reason) {
    let value = value.as_ref();
    assert_eq!(
        parse(value),
        Err(Malformed(reason)),
        "{}",
        value.escape_ascii()
    );
}
