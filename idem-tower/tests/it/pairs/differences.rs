//! What an answer has that it should not have, and the other way round.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bytes::Bytes;
use http::{HeaderMap, Method};

use super::row::{Date, Length, Line, Want, WantBody};
use crate::support::client::{Answer, Protocol};

/// The differences, one a line: `-` is missing, `+` is too much. `None` is no answer.
pub(super) fn differences(
    want: &Want,
    method: &Method,
    protocol: Protocol,
    got: Option<&Answer>,
) -> Vec<String> {
    let wanted = match &want.body {
        WantBody::NoAnswer => vec!["no answer".to_owned()],
        WantBody::Exactly(_) | WantBody::Json(_) => wanted(want, method, protocol, got),
    };
    let shown = got.map_or_else(|| vec!["no answer".to_owned()], |got| shown(want, got));
    let missing = wanted.iter().filter(|line| !shown.contains(line));
    let excess = shown.iter().filter(|line| !wanted.contains(line));
    let missing = missing.map(|line| format!("- {line}"));
    missing
        .chain(excess.map(|line| format!("+ {line}")))
        .collect()
}

fn wanted(want: &Want, method: &Method, protocol: Protocol, got: Option<&Answer>) -> Vec<String> {
    let (body, length) = match &want.body {
        WantBody::NoAnswer => (String::new(), 0),
        WantBody::Exactly(body) => (show_body(body), body.len()),
        // How JSON is spelt is nobody's business: its length is that of what came.
        WantBody::Json(body) => (format!("json {body}"), got.map_or(0, |got| got.body.len())),
    };
    let mut headers = want.headers.clone();
    let length_is_told = headers.iter().any(|(name, _)| name == "content-length");
    let http1 = protocol == Protocol::Http1;
    if want.length == Length::Streams {
        if http1 {
            headers.push((
                "transfer-encoding".parse().unwrap(),
                "chunked".parse().unwrap(),
            ));
        }
    } else if !length_is_told
        && (length > 0 || http1 && method != Method::HEAD && !matches!(want.status, 204 | 304))
    {
        headers.push(("content-length".parse().unwrap(), length.into()));
    }
    let mut lines = vec![format!("status {}", want.status)];
    lines.extend(show_lines(
        "header",
        headers.iter().map(|(n, v)| (n.as_str(), v.as_bytes())),
    ));
    match want.date {
        Date::Any => {}
        Date::Is(date) => lines.push(format!("date {date}")),
        Date::IsNot(_) => lines.push("date of its own".to_owned()),
    }
    lines.push(body);
    lines.extend(show_lines("trailer", want.trailers.iter().map(bytes_of)));
    lines
}

fn bytes_of((name, value): &Line) -> (&str, &[u8]) {
    (name.as_str(), value.as_bytes())
}

fn shown(want: &Want, got: &Answer) -> Vec<String> {
    let mut headers = got.headers.clone();
    let date = headers.remove("date");
    let mut lines = vec![format!("status {}", got.status.as_u16())];
    lines.extend(show_map("header", &headers));
    let date = date.map_or("none".to_owned(), |date| date.to_str().unwrap().to_owned());
    match want.date {
        Date::Any => {}
        Date::IsNot(other) if date != "none" && date != other => {
            lines.push("date of its own".to_owned());
        }
        Date::Is(_) | Date::IsNot(_) => lines.push(format!("date {date}")),
    }
    lines.push(match (&want.body, serde_json::from_slice(&got.body)) {
        (WantBody::Json(_), Ok(serde_json::Value::Object(body))) => {
            format!("json {}", serde_json::Value::Object(body))
        }
        _ => show_body(&got.body),
    });
    lines.extend(show_map("trailer", &got.trailers));
    lines
}

fn show_map(what: &str, map: &HeaderMap) -> Vec<String> {
    show_lines(
        what,
        map.iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes())),
    )
}

/// One line for each name, with its values in their order.
fn show_lines<'a>(what: &str, lines: impl Iterator<Item = (&'a str, &'a [u8])>) -> Vec<String> {
    let mut by_name = BTreeMap::<&str, Vec<String>>::new();
    for (name, value) in lines {
        let value = format!("\"{}\"", value.escape_ascii());
        by_name.entry(name).or_default().push(value);
    }
    let lines = by_name.into_iter();
    lines
        .map(|(name, values)| format!("{what} {name}: {}", values.join(" and ")))
        .collect()
}

fn show_body(body: &Bytes) -> String {
    const MOST: usize = 300;
    if body.len() <= MOST {
        return format!("body \"{}\"", body.escape_ascii());
    }
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    format!(
        "body of {} bytes, hash {:016x}, that begins with \"{}\"",
        body.len(),
        hasher.finish(),
        body[..40].escape_ascii()
    )
}
