//! Reads a handler's answer to its end, or finds that it is not worth keeping.

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http_body::Body;
use http_body_util::BodyExt as _;
use tokio::time::{Instant, timeout_at};

use crate::chunks::Chunks;
use crate::request_body::into_bytes;

pub(crate) enum Captured<R: Body> {
    Whole {
        body: Bytes,
        trailers: Option<HeaderMap>,
    },
    /// Larger than the limit, or not at its end in time: what was read, and the rest.
    Streams {
        read: VecDeque<Bytes>,
        rest: Pin<Box<R>>,
        /// As far as it is known.
        length: u64,
    },
    Failed(R::Error),
}

/// Reads up to `limit` bytes, for up to `within`.
pub(crate) async fn capture<R: Body>(body: R, limit: usize, within: Duration) -> Captured<R> {
    let mut body = Box::pin(body);
    let mut chunks = Chunks::default();
    let mut trailers = None;
    if body.size_hint().lower() > limit as u64 {
        return streams(chunks, None, body);
    }
    // So far away that it makes no difference, where the sum is no instant.
    let until = Instant::now().checked_add(within);
    loop {
        // A body that is always ready is never timed out.
        if until.is_some_and(|until| until <= Instant::now()) {
            return streams(chunks, None, body);
        }
        let next = match until {
            Some(until) => timeout_at(until, body.frame()).await,
            None => Ok(body.frame().await),
        };
        let frame = match next {
            Err(_) => return streams(chunks, None, body),
            Ok(None) => break,
            Ok(Some(Err(error))) => return Captured::Failed(error),
            Ok(Some(Ok(frame))) => frame,
        };
        match into_bytes(frame).into_data() {
            Ok(data) if data.len() > limit - chunks.length() => {
                return streams(chunks, Some(data), body);
            }
            Ok(data) => chunks.push(data),
            // Nothing comes after trailers: the end need not be waited for.
            Err(frame) => {
                trailers = frame.into_trailers().ok();
                if trailers.is_some() {
                    break;
                }
            }
        }
    }
    Captured::Whole {
        body: chunks.whole(),
        trailers,
    }
}

fn streams<R: Body>(chunks: Chunks, last: Option<Bytes>, rest: Pin<Box<R>>) -> Captured<R> {
    let read = [chunks.whole(), last.unwrap_or_default()];
    let read: VecDeque<Bytes> = read.into_iter().filter(|chunk| !chunk.is_empty()).collect();
    let read_so_far: u64 = read.iter().map(|chunk| chunk.len() as u64).sum();
    let length = read_so_far.saturating_add(rest.size_hint().lower());
    Captured::Streams { read, rest, length }
}
