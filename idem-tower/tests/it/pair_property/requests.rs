//! Requests in many spellings, each with what it means.

use bytes::Bytes;
use http::{HeaderValue, Method, Request};
use http_body_util::Full;
use proptest::prelude::*;
use proptest::sample::select;

/// How the key's header is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    Missing,
    /// Not clearly a key.
    Malformed(Vec<HeaderValue>),
    Key {
        text: &'static str,
        spelled: HeaderValue,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Content {
    pub(crate) bytes: Bytes,
    pub(crate) means: Meaning,
}

/// What the bytes are, if their content type lets them be that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A payment, as JSON.
    Payment {
        amount: Option<&'static str>,
        to: Option<&'static str>,
    },
    /// The texts of its parts, as multipart.
    Parts(Vec<&'static str>),
    /// Only themselves.
    Bytes,
}

#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) query: &'static str,
    /// HTTP/2 and proxies spell the whole URI.
    pub(crate) authority: &'static str,
    pub(crate) client: Option<&'static str>,
    pub(crate) key: KeyHeader,
    pub(crate) content_type: Option<&'static str>,
    pub(crate) encoding: Option<&'static str>,
    pub(crate) version: Option<&'static str>,
    pub(crate) content: Content,
    /// What differs between the retries of one request.
    pub(crate) trace: Option<&'static str>,
}

impl Ask {
    pub(crate) fn request(&self) -> Request<Full<Bytes>> {
        let uri = format!("{}{}{}", self.authority, self.path, self.query);
        let mut request = Request::new(Full::new(self.content.bytes.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri.parse().unwrap();
        let headers = request.headers_mut();
        for (name, value) in [
            ("x-client", self.client),
            ("content-type", self.content_type),
            ("content-encoding", self.encoding),
            ("accept-version", self.version),
            ("traceparent", self.trace),
            ("date", self.trace),
            ("idempotent-replayed", self.trace),
        ] {
            if let Some(value) = value {
                headers.insert(name, HeaderValue::from_static(value));
            }
        }
        let lines = match &self.key {
            KeyHeader::Missing => Vec::new(),
            KeyHeader::Malformed(lines) => lines.clone(),
            KeyHeader::Key { spelled, .. } => vec![spelled.clone()],
        };
        for line in lines {
            headers.append("idempotency-key", line);
        }
        request
    }
}

fn key() -> impl Strategy<Value = KeyHeader> {
    let spelled = |text, spelled| KeyHeader::Key {
        text,
        spelled: HeaderValue::from_static(spelled),
    };
    let keys = select(vec![
        spelled("k", "k"),
        spelled("k", "\"k\""),
        spelled("k", "\"k\";v=1; w"),
        spelled("k", "  k "),
        spelled("k", "  \"k\""),
        spelled("K", "K"),
        spelled("k ", "\"k \""),
        spelled("a b,c;d", "\"a b,c;d\""),
        spelled("a\"\\", "\"a\\\"\\\\\""),
    ]);
    let long = "x".repeat(256);
    let texts = [
        &b""[..],
        b"  ",
        b"\"\"",
        b"\"k",
        b"k\"",
        b"k;v=1",
        b"k,k",
        b"a b",
        b"\"a\\k\"",
        b"\"k\" k",
        b"\"k\xc3\xa9\"",
        b"k\xff",
        b"\tk",
        long.as_bytes(),
    ];
    let line = |text: &[u8]| HeaderValue::from_bytes(text).unwrap();
    let mut malformed: Vec<_> = texts.iter().map(|text| vec![line(text)]).collect();
    malformed.push(vec![line(b"k"), line(b"k")]);
    prop_oneof![
        8 => keys,
        1 => select(malformed).prop_map(KeyHeader::Malformed),
        1 => Just(KeyHeader::Missing),
    ]
}

prop_compose! {
    fn payment()(
        (amount, to) in (select(vec![None, Some(("1.5", ["1.5", "1.50", "15e-1", "0.15E+1"])),
            Some(("15", ["15", "15.0", "1.5e1", "150E-1"])),
            Some(("9007199254740993", ["9007199254740993", "9007199254740993.0", "9007199254740993e0", "9.007199254740993e15"])),
            Some(("9007199254740992", ["9007199254740992", "9007199254740992.0", "9007199254740992e0", "9.007199254740992e15"])),
        ]), select(vec![None, Some(("ana", [r#""ana""#, r#""\u0061na""#])), Some(("Ana", [r#""Ana""#, r#""\u0041na""#]))])),
        (number, string) in (0..4_usize, 0..2_usize),
        (turned, blank) in (any::<bool>(), select(&["", " ", "\n\t", "\r\n  "])),
    ) -> Content {
        let amount_member = amount.map(|(_, spelled)| format!(r#""amount"{blank}:{}"#, spelled[number]));
        let to_member = to.map(|(_, spelled)| format!(r#""to":{blank}{}"#, spelled[string]));
        let mut members: Vec<_> = amount_member.into_iter().chain(to_member).collect();
        if turned {
            members.reverse();
        }
        Content {
            bytes: format!("{blank}{{{blank}{}{blank}}}", members.join(&format!("{blank},"))).into(),
            means: Meaning::Payment { amount: amount.map(|(amount, _)| amount), to: to.map(|(to, _)| to) },
        }
    }
}

/// With the boundary of the content type, or (at random) of the other one, which frames nothing.
fn form() -> impl Strategy<Value = (&'static str, Content)> {
    let parts = select(vec![vec!["1"], vec!["1", "2"], vec!["2", "1"], vec!["12"]]);
    let types = [
        ("x", "multipart/form-data; boundary=x"),
        ("y", "multipart/form-data; boundary=y"),
        ("y", "Multipart/Form-Data;Boundary=\"y\""),
    ];
    (parts, select(types.to_vec())).prop_map(|(parts, (boundary, content_type))| {
        let mut bytes = String::new();
        for part in &parts {
            bytes += &format!(
                "--{boundary}\r\ncontent-disposition: form-data; name=n\r\n\r\n{part}\r\n"
            );
        }
        bytes += &format!("--{boundary}--\r\n");
        let means = Meaning::Parts(parts);
        let bytes = bytes.into();
        (content_type, Content { bytes, means })
    })
}

/// A content type and a body for it, which need not fit.
fn content() -> impl Strategy<Value = (Option<&'static str>, Content)> {
    let types = select(vec![
        Some("application/json"),
        Some("application/json"),
        Some("Application/JSON ; charset=utf-8"),
        Some("application/pay+json"),
        Some("application/json;"),
        Some("application/json, text/plain"),
        Some("text/plain"),
        Some("text/plain; charset=utf-8"),
        Some(""),
        None,
    ]);
    let bytes = select(&[
        "",
        "{",
        r#"{"amount":1.5,"amount":1.5}"#,
        r#"{ "amount":1.5,"amount":1.5}"#,
        "\u{feff}{}",
    ]);
    let bytes = bytes.prop_map(|bytes| Content {
        bytes: Bytes::from_static(bytes.as_bytes()),
        means: Meaning::Bytes,
    });
    let any = prop_oneof![5 => payment(), 1 => bytes];
    let multipart = form().prop_map(|(content_type, content)| (Some(content_type), content));
    prop_oneof![4 => (types, any), 1 => multipart]
}

prop_compose! {
    fn ask()(
        method in select(&[Method::POST, Method::POST, Method::POST, Method::PATCH, Method::PUT]),
        path in select(&["/payments", "/payments", "/payments/", "/Payments", "/pay%6Dents"]),
        query in select(&["", "", "?", "?a=1&b=2", "?b=2&a=1"]),
        authority in select(&["", "http://service.example", "https://other.example:1"]),
        client in prop::option::weighted(0.95, select(&["ana", "ana", "ben", "ana:k"])),
        key in key(),
        (content_type, content) in content(),
        encoding in select(vec![None, None, None, Some("identity"), Some("Identity"), Some("gzip"), Some("br")]),
        version in select(vec![None, Some("1"), Some("2")]),
        trace in select(vec![None, Some("1"), Some("true")]),
    ) -> Ask {
        Ask { method, path, query, authority, client, key, content_type, encoding, version, content, trace }
    }
}

prop_compose! {
    /// A request, and another that differs from it in a few things, or in their spelling alone.
    pub(crate) fn pair()(
        first in ask(), other in ask(),
        differs in prop::collection::vec(prop::bool::weighted(0.2), 9),
        spelled_anew in any::<bool>(), same in payment(),
    ) -> (Ask, Ask) {
        let mut second = first.clone();
        if differs[0] { second.method = other.method; }
        if differs[1] { second.path = other.path; }
        if differs[2] { second.query = other.query; }
        if differs[3] { second.client = other.client; }
        if differs[4] { second.key = other.key; }
        if differs[5] { (second.content_type, second.content) = (other.content_type, other.content); }
        if differs[6] { second.content_type = other.content_type; }
        if differs[7] { second.encoding = other.encoding; }
        if differs[8] { second.version = other.version; }
        if spelled_anew { second.content = respelled(&second.content, same); }
        second.authority = other.authority;
        second.trace = other.trace;
        (first, second)
    }
}

/// The other spelling, if it happens to mean the same; otherwise one with more blanks.
fn respelled(content: &Content, other: Content) -> Content {
    if content.means == other.means {
        return other;
    }
    match content.means {
        Meaning::Payment { .. } => Content {
            bytes: [b" \n", &content.bytes[..], b" "].concat().into(),
            means: content.means.clone(),
        },
        _ => content.clone(),
    }
}
