//! The body that the client gets.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::AnswerBody;
use crate::request_body::into_bytes;

pin_project! {
    /// What a client gets for its body: an answer that is known whole (recorded, replayed, a problem),
    /// or the inner service's own stream.
    pub struct ResponseBody<R> {
        #[pin]
        kind: Kind<R>,
    }
}

pin_project! {
    #[project = KindPinned]
    enum Kind<R> {
        Whole { body: AnswerBody },
        /// What was read of a stream before it was decided not to keep it, then the rest.
        Streamed { read: VecDeque<Bytes>, rest: Pin<Box<R>> },
        Untouched { #[pin] body: R },
    }
}

impl<R> ResponseBody<R> {
    pub(crate) fn untouched(body: R) -> Self {
        Self {
            kind: Kind::Untouched { body },
        }
    }

    /// `read` holds no empty chunk.
    pub(crate) fn streamed(read: VecDeque<Bytes>, rest: Pin<Box<R>>) -> Self {
        Self {
            kind: Kind::Streamed { read, rest },
        }
    }
}

/// Empty: layers outside ask for it.
impl<R> Default for ResponseBody<R> {
    fn default() -> Self {
        AnswerBody::default().into()
    }
}

impl<R> From<AnswerBody> for ResponseBody<R> {
    fn from(body: AnswerBody) -> Self {
        Self {
            kind: Kind::Whole { body },
        }
    }
}

/// Shows sizes only: what is inside may be anybody's data and stays out of logs.
impl<R> fmt::Debug for ResponseBody<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Whole { body } => body.fmt(f),
            Kind::Streamed { .. } | Kind::Untouched { .. } => f.write_str("ResponseBody(..)"),
        }
    }
}

impl<R: Body> Body for ResponseBody<R> {
    type Data = Bytes;
    type Error = R::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, R::Error>>> {
        match self.project().kind.project() {
            KindPinned::Whole { body } => Poll::Ready(body.next().map(Ok)),
            KindPinned::Streamed { read, rest } => match read.pop_front() {
                Some(chunk) => Poll::Ready(Some(Ok(Frame::data(chunk)))),
                None => rest.as_mut().poll_frame(cx).map_ok(into_bytes),
            },
            KindPinned::Untouched { body } => body.poll_frame(cx).map_ok(into_bytes),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Whole { body } => body.is_end_stream(),
            Kind::Streamed { read, rest } => read.is_empty() && rest.is_end_stream(),
            Kind::Untouched { body } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole { body } => body.size_hint(),
            Kind::Streamed { read, rest } => {
                let read: u64 = read.iter().map(|chunk| chunk.len() as u64).sum();
                let rest = rest.size_hint();
                let mut all = SizeHint::new();
                all.set_lower(read.saturating_add(rest.lower()));
                if let Some(upper) = rest.upper().and_then(|upper| upper.checked_add(read)) {
                    all.set_upper(upper);
                }
                all
            }
            Kind::Untouched { body } => body.size_hint(),
        }
    }
}
