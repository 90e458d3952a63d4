//! The body that the inner service gets.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::AnswerBody;

pin_project! {
    /// What an inner service gets for its body: the whole of it where the layer has read it, or the
    /// client's own stream where the request is not guarded.
    pub struct RequestBody<B> {
        #[pin]
        kind: Kind<B>,
    }
}

pin_project! {
    #[project = KindPinned]
    enum Kind<B> {
        Whole { body: AnswerBody },
        Untouched { #[pin] body: B },
    }
}

impl<B> RequestBody<B> {
    pub(crate) fn whole(body: AnswerBody) -> Self {
        Self {
            kind: Kind::Whole { body },
        }
    }

    pub(crate) fn untouched(body: B) -> Self {
        Self {
            kind: Kind::Untouched { body },
        }
    }
}

/// Shows sizes only: what is inside may be anybody's data and stays out of logs.
impl<B> fmt::Debug for RequestBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Whole { body } => body.fmt(f),
            Kind::Untouched { .. } => f.write_str("RequestBody(..)"),
        }
    }
}

impl<B: Body> Body for RequestBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.project().kind.project() {
            KindPinned::Whole { body } => Poll::Ready(body.next().map(Ok)),
            KindPinned::Untouched { body } => body.poll_frame(cx).map_ok(into_bytes),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Whole { body } => body.is_end_stream(),
            Kind::Untouched { body } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole { body } => body.size_hint(),
            Kind::Untouched { body } => body.size_hint(),
        }
    }
}

/// The same frame over `Bytes`, which costs nothing where the data is `Bytes` already.
pub(crate) fn into_bytes<D: Buf>(frame: Frame<D>) -> Frame<Bytes> {
    frame.map_data(|mut data| data.copy_to_bytes(data.remaining()))
}
