//! Services asked directly, without a server.

use std::fmt::Debug;

use bytes::Bytes;
use http::Response;
use http_body::Body;
use http_body_util::BodyExt as _;

use super::client::Answer;
use super::gate::soon;

/// The whole answer, which does not break off.
pub(crate) async fn collected<B>(response: Response<B>) -> Answer
where
    B: Body<Data = Bytes, Error: Debug>,
{
    let (parts, body) = response.into_parts();
    let collected = soon(body.collect()).await.unwrap();
    let trailers = collected.trailers().cloned().unwrap_or_default();
    Answer {
        status: parts.status,
        headers: parts.headers,
        body: collected.to_bytes(),
        trailers,
    }
}

/// The next piece of a body.
pub(crate) async fn next<B>(body: &mut B) -> Bytes
where
    B: Body<Data = Bytes, Error: Debug> + Unpin,
{
    let frame = soon(body.frame()).await;
    frame.unwrap().unwrap().into_data().unwrap()
}
