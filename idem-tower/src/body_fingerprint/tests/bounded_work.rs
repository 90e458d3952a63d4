//! A client chooses both the boundary and the body: bodies made to be costly cost no more than their
//! length. There are no timed assertions: a quadratic step would keep this test from ending.

use super::of_type;

const MANY: usize = 128 * 1024;

fn multipart(boundary: &str, body: impl AsRef<[u8]>) -> idem_core::Fingerprint {
    of_type(&format!("multipart/mixed; boundary={boundary}"), body)
}

#[test]
fn bodies_of_delimiters_and_almost_delimiters() {
    let long = "-".repeat(69) + "x";
    let dashes = "-".repeat(8 * MANY);
    let almost = |boundary: &str| format!("--{boundary}\r\n\r\n{dashes}\r\n--{boundary}--");
    assert_eq!(multipart(&long, almost(&long)), multipart("b", almost("b")));

    let parts = |boundary: &str| {
        let part = format!("--{boundary}\r\n\r\n");
        part.repeat(MANY) + &format!("--{boundary}--")
    };
    assert_eq!(multipart("b", parts("b")), multipart("c", parts("c")));
    // All parts are added before the end turns out to be missing.
    let cut = |boundary: &str| parts(boundary) + "x";
    assert_ne!(multipart("b", cut("b")), multipart("c", cut("c")));

    let lines = "\r\n--".repeat(MANY);
    let broken = |boundary: &str| format!("--{boundary}\r\n{lines}");
    assert_ne!(multipart("b", broken("b")), multipart("c", broken("c")));
}
