mod boundaries;
mod bounded_work;
mod content_types;
mod golden;
mod json;
mod multipart;
mod reframed;

use http::{HeaderMap, HeaderName, HeaderValue};
use idem_core::Fingerprint;

/// A head's lines, in order.
type Lines<'a> = &'a [(&'a str, &'a [u8])];

fn fingerprint(lines: Lines<'_>, body: impl AsRef<[u8]>) -> Fingerprint {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        headers.append(name, HeaderValue::from_bytes(value).unwrap());
    }
    super::add(Fingerprint::builder(), &headers, body.as_ref()).finish()
}

/// A body with one content type.
fn of_type(content_type: &str, body: impl AsRef<[u8]>) -> Fingerprint {
    fingerprint(&[("content-type", content_type.as_bytes())], body)
}

/// A form with a field and a file, framed by the boundary.
fn form(boundary: &str, name: &str, file: &str) -> String {
    format!(
        "--{boundary}\r\ncontent-disposition: form-data; name=\"to\"\r\n\r\nana\r\n\
         --{boundary}\r\ncontent-disposition: form-data; name=\"doc\"; filename=\"{name}\"\r\n\
         content-type: text/plain\r\n\r\n{file}\r\n--{boundary}--\r\n"
    )
}

fn of_form(boundary: &str, body: impl AsRef<[u8]>) -> Fingerprint {
    of_type(&format!("multipart/form-data; boundary={boundary}"), body)
}

/// No two are equal.
#[track_caller]
fn assert_all_differ(fingerprints: &[(&str, Fingerprint)]) {
    for (i, (one, first)) in fingerprints.iter().enumerate() {
        for (two, second) in &fingerprints[i + 1..] {
            assert!(first != second, "{one} and {two}");
        }
    }
}
