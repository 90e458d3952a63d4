//! Which boundaries are plain enough.

use super::{form, of_form, of_type};

#[test]
fn without_a_plain_boundary_it_is_taken_byte_for_byte() {
    let too_long = "b".repeat(71);
    let form = |boundary: &str| form(boundary, "a.txt", "17");
    for (parameters, boundary) in [
        ("", "b"),
        ("; boundary", "b"),
        ("; boundary=", ""),
        ("; boundary=\"\"", ""),
        ("; boundary=\"b", "b"),
        ("; boundary=b\"", "b"),
        ("; boundary=\"b\"c", "b"),
        ("; boundary=b c", "b"),
        ("; boundary=\"b c\"", "b c"),
        ("; boundary=\"b \"", "b "),
        ("; boundary=\"b\\c\"", "bc"),
        ("; boundary=\"b\\c\"", "b\\c"),
        ("; boundary=b*c", "b*c"),
        ("; boundary=b@c", "b@c"),
        ("; boundary=b; boundary=c", "b"),
        ("; boundary=b; boundary=c", "c"),
        ("; boundary=b; boundary=b", "b"),
        ("; boundary=b; boundary*=utf-8''c", "b"),
        ("; boundary*0=b; boundary*1=c", "bc"),
        ("; xboundary=b", "b"),
        (", boundary=b", "b"),
        (" boundary=b", "b"),
        (&format!("; boundary={too_long}"), &too_long),
    ] {
        let with = |body: &str| of_type(&format!("multipart/form-data{parameters}"), body);
        let by_parts = of_form("x", form("x"));
        assert_ne!(with(&form(boundary)), by_parts, "{parameters}");
        assert_ne!(with(&form(boundary)), with(&form("other")), "{parameters}");
    }
}

/// `B` stands for the boundary: if the body were taken by its parts, it would not count.
#[test]
fn a_boundary_that_is_one_to_some_readers_only_counts() {
    for content_type in [
        "multipart/form-data; boundary=B; boundary*=utf-8''c",
        "multipart/form-data; boundary*0=c; boundary=B",
        "multipart/form-data; boundary=B; boundary=B",
        "multipart/form-data; boundary=B;x",
        "multipartx/form-data; boundary=B",
        "text/plain; boundary=B",
        "application/x-multipart; boundary=B",
    ] {
        let under = |boundary: &str| {
            let content_type = content_type.replace('B', boundary);
            of_type(&content_type, form(boundary, "a.txt", "17"))
        };
        assert_ne!(under("one"), under("two"), "{content_type}");
    }
}
