//! A record as stores keep it. What its bytes are is tested with the codec.

use super::*;

#[test]
fn s1_a_record_is_what_its_bytes_say() {
    let too_large = Answer::NotRetained {
        status: 200,
        body_length: 1 << 40,
    };
    for record in [
        in_flight(),
        in_flight().held().started().abandoned(40),
        in_flight().completed(),
        in_flight().completed_with(too_large),
    ] {
        assert_eq!(Record::decode(&record.encode()).unwrap(), record);
    }
}

#[test]
fn bytes_of_no_record_are_an_error_and_never_a_vacant_key() {
    assert!(Record::decode(&[]).unwrap_err().is_corrupt());
}
