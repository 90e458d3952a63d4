//! A body that is known whole.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

/// The body of a replayed answer or of a problem: bytes that are known whole, and trailers.
#[derive(Clone, Default)]
pub struct AnswerBody {
    data: Bytes,
    trailers: Option<HeaderMap>,
}

impl AnswerBody {
    pub(crate) fn new(data: Bytes, trailers: Option<HeaderMap>) -> Self {
        let trailers = trailers.filter(|trailers| !trailers.is_empty());
        Self { data, trailers }
    }

    pub(crate) fn next(&mut self) -> Option<Frame<Bytes>> {
        if !self.data.is_empty() {
            return Some(Frame::data(std::mem::take(&mut self.data)));
        }
        self.trailers.take().map(Frame::trailers)
    }
}

/// Shows sizes only: what is inside may be anybody's data and stays out of logs.
impl fmt::Debug for AnswerBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trailers = self.trailers.as_ref().map_or(0, HeaderMap::len);
        write!(
            f,
            "AnswerBody({} bytes, {trailers} trailers)",
            self.data.len()
        )
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.get_mut().next().map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.data.is_empty() && self.trailers.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let length = self.data.len() as u64;
        let mut hint = SizeHint::new();
        hint.set_lower(length);
        // Of an exact length HTTP/1.1 makes a Content-Length, after which there is no place for trailers.
        if self.trailers.is_none() {
            hint.set_upper(length);
        }
        hint
    }
}
