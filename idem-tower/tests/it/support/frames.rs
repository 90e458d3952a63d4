//! A body of which every frame is given.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Data(Bytes),
    /// Not ready yet; woken at once.
    Pending,
    Breaks,
    /// Nothing comes any more, and no end either.
    Never,
    Trailers(HeaderMap),
}

/// A body breaks off at the first [`Step::Breaks`], and ends with the last step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    pub(crate) steps: VecDeque<Step>,
    /// Whether it says beforehand how long it is (or would have been).
    pub(crate) declares: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body broke off")
    }
}

impl std::error::Error for Broken {}

impl From<Infallible> for Broken {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl Frames {
    /// How many bytes are in it, what comes after a break included.
    pub(crate) fn length(&self) -> usize {
        let data = self.steps.iter().map(|step| match step {
            Step::Data(data) => data.len(),
            _ => 0,
        });
        data.sum()
    }
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match self.steps.pop_front() {
            None => Poll::Ready(None),
            Some(Step::Data(data)) => Poll::Ready(Some(Ok(Frame::data(data)))),
            Some(Step::Trailers(trailers)) => Poll::Ready(Some(Ok(Frame::trailers(trailers)))),
            Some(Step::Pending) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Step::Never) => {
                self.steps.push_front(Step::Never);
                Poll::Pending
            }
            Some(Step::Breaks) => {
                self.steps.clear();
                Poll::Ready(Some(Err(Broken)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.declares && self.steps.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if self.declares {
            SizeHint::with_exact(self.length() as u64)
        } else {
            SizeHint::default()
        }
    }
}

/// What came of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) data: Vec<u8>,
    pub(crate) trailers: HeaderMap,
    pub(crate) whole: bool,
}

pub(crate) async fn read<B>(body: B) -> Arrived
where
    B: Body<Data = Bytes>,
{
    let mut body = std::pin::pin!(body);
    let mut arrived = Arrived {
        data: Vec::new(),
        trailers: HeaderMap::new(),
        whole: true,
    };
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            arrived.whole = false;
            break;
        };
        match frame.into_data() {
            Ok(data) => arrived.data.extend_from_slice(&data),
            Err(frame) => arrived.trailers = frame.into_trailers().unwrap(),
        }
    }
    arrived
}
