//! Who asks, and what each alone may see. Every text here has a mark, by which it is found in logs.

use http::request::Parts;
use idem_core::Scope;

#[derive(Debug)]
pub(crate) struct Client {
    /// What it proves itself with.
    pub(crate) credential: &'static str,
    pub(crate) scope: &'static str,
    /// In every answer to it, and in no other.
    pub(crate) secret: &'static str,
}

pub(crate) const CLIENTS: [Client; 4] = [
    Client {
        credential: "Bearer rawcredential-ana-5f1c",
        scope: "rawscope-ana",
        secret: "rawsecret-ana-90d41b",
    },
    Client {
        credential: "Bearer rawcredential-ben-77e0",
        scope: "rawscope-ben",
        secret: "rawsecret-ben-1c02fe",
    },
    Client {
        credential: "Bearer rawcredential-eve-02aa",
        scope: "rawscope-ana:rawkey",
        secret: "rawsecret-eve-b3c377",
    },
    Client {
        credential: "Bearer rawcredential-zoe-e9d3",
        scope: "rawscope-zoe",
        secret: "rawsecret-zoe-4410d2",
    },
];

/// What no log may have in it.
pub(crate) const MARKS: [&str; 4] = ["rawcredential", "rawscope", "rawsecret", "rawkey"];

/// A key of a client: what it asks for is always the same, see [`super::requests`].
pub(crate) fn key_of(client: usize, number: u64) -> String {
    format!("rawkey-{client}-{number}")
}

pub(crate) fn authenticated(headers: &http::HeaderMap) -> Option<&'static Client> {
    let credential = headers.get("authorization")?;
    CLIENTS
        .iter()
        .find(|client| client.credential == credential)
}

pub(crate) fn scope(parts: &Parts) -> Option<Scope> {
    Scope::new(authenticated(&parts.headers)?.scope).ok()
}
