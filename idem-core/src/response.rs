//! What was answered, kept byte for byte.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::Error;

/// What was answered: status, headers in order, body, trailers.
///
/// A replay gives back exactly these bytes (law R6): header names keep their case and order, names may
/// repeat, values are any bytes. A clone is cheap and shares the content.
///
/// The numbers mean what they mean in HTTP, but nothing here depends on HTTP: a job may use status 0.
///
/// ```
/// use idem_core::Response;
///
/// let response = Response::new(201)
///     .header("content-type", "application/json")
///     .body(r#"{"id":"pay_1"}"#);
/// assert_eq!(response.status(), 201);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Response(Arc<Parts>);

#[derive(Clone, PartialEq, Eq)]
struct Parts {
    status: u16,
    headers: Vec<Header>,
    body: Bytes,
    trailers: Vec<Header>,
}

/// One header or trailer line: a name and any bytes. `Debug` shows the value's size only.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    /// The name, in the case in which it was given.
    pub name: String,
    /// The value: any bytes, not necessarily text.
    pub value: Bytes,
}

impl Response {
    /// An answer with this status, no headers and an empty body.
    pub fn new(status: u16) -> Self {
        Self(Arc::new(Parts {
            status,
            headers: Vec::new(),
            body: Bytes::new(),
            trailers: Vec::new(),
        }))
    }

    /// Adds a header line after those already there.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Bytes>) -> Self {
        let line = Header {
            name: name.into(),
            value: value.into(),
        };
        Arc::make_mut(&mut self.0).headers.push(line);
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        Arc::make_mut(&mut self.0).body = body.into();
        self
    }

    /// Adds a trailer line after those already there.
    #[must_use]
    pub fn trailer(mut self, name: impl Into<String>, value: impl Into<Bytes>) -> Self {
        let line = Header {
            name: name.into(),
            value: value.into(),
        };
        Arc::make_mut(&mut self.0).trailers.push(line);
        self
    }

    /// The same in memory of its own: what was cut from a larger buffer no longer keeps that alive.
    pub(crate) fn compacted(&self) -> Self {
        let lines = |lines: &[Header]| {
            let line = |line: &Header| Header {
                name: line.name.clone(),
                value: Bytes::copy_from_slice(&line.value),
            };
            lines.iter().map(line).collect()
        };
        Self(Arc::new(Parts {
            status: self.0.status,
            headers: lines(&self.0.headers),
            body: Bytes::copy_from_slice(&self.0.body),
            trailers: lines(&self.0.trailers),
        }))
    }

    /// The status.
    pub fn status(&self) -> u16 {
        self.0.status
    }

    /// The header lines, in order.
    pub fn headers(&self) -> &[Header] {
        &self.0.headers
    }

    /// The body.
    pub fn body_bytes(&self) -> &Bytes {
        &self.0.body
    }

    /// The trailer lines, in order.
    pub fn trailers(&self) -> &[Header] {
        &self.0.trailers
    }

    /// The response as a versioned sequence of bytes, for stores that keep one value.
    ///
    /// The first byte is the format's version. Bytes written by any released version are read by all
    /// later ones.
    pub fn encode(&self) -> Vec<u8> {
        crate::codec::encode_response(self)
    }

    /// Reads what [`Response::encode`] wrote.
    ///
    /// # Errors
    /// [Corrupt](Error::is_corrupt) if the bytes are cut, have a rest, or are of an unknown version.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        crate::codec::decode_response(bytes)
    }

    /// How many bytes [`Response::encode`] gives.
    pub fn encoded_len(&self) -> usize {
        crate::codec::response_len(self)
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Header({}: {} bytes)", self.name, self.value.len())
    }
}

/// Shows status and sizes; contents may be anybody's data and stay out of logs.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.0.status)
            .field("headers", &self.0.headers.len())
            .field("body_bytes", &self.0.body.len())
            .field("trailers", &self.0.trailers.len())
            .finish()
    }
}

/// What is recorded of a completed operation.
///
/// A response that is larger than the limit completes the record all the same, without its body:
/// repeats get a clear answer, never a second run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The response, whole.
    Full(Response),
    /// The response was too large to keep: what is known of it.
    NotRetained {
        /// Its status.
        status: u16,
        /// The length of its body, in bytes.
        body_length: u64,
    },
}

impl Answer {
    /// The status of the response, whether or not its body was kept.
    pub fn status(&self) -> u16 {
        match self {
            Self::Full(response) => response.status(),
            Self::NotRetained { status, .. } => *status,
        }
    }

    pub(crate) fn compacted(&self) -> Self {
        match self {
            Self::Full(response) => Self::Full(response.compacted()),
            Self::NotRetained { .. } => self.clone(),
        }
    }

    /// The whole response, if it was kept.
    pub fn full(&self) -> Option<&Response> {
        match self {
            Self::Full(response) => Some(response),
            Self::NotRetained { .. } => None,
        }
    }
}

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        Self::Full(response)
    }
}

/// The body is shared, not copied.
impl From<&Response> for Answer {
    fn from(response: &Response) -> Self {
        Self::Full(response.clone())
    }
}

/// The body is shared, not copied.
impl From<&Self> for Answer {
    fn from(answer: &Self) -> Self {
        answer.clone()
    }
}
