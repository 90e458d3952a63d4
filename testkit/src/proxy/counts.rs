//! What happened in a proxy.

/// What happened in a proxy so far. A fault counts when it happened, not when it was planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that reached the server.
    pub connections: u64,
    /// Connections that were cut at once: the server was down, or [`refuse`](super::Proxy::refuse) said so.
    pub refused: u64,
    /// Requests, with a fault or without.
    pub requests: u64,
    /// By [`DropRequest`](super::Fault::DropRequest).
    pub requests_dropped: u64,
    /// By [`DropAnswer`](super::Fault::DropAnswer): the server did answer.
    pub answers_dropped: u64,
    /// By [`DelayRequest`](super::Fault::DelayRequest), forwarded in the end.
    pub requests_delayed: u64,
    /// By [`DelayAnswer`](super::Fault::DelayAnswer).
    pub answers_delayed: u64,
    /// By [`CutRequest`](super::Fault::CutRequest).
    pub requests_cut: u64,
    /// By [`CutAnswer`](super::Fault::CutAnswer).
    pub answers_cut: u64,
    /// By [`Stall`](super::Fault::Stall).
    pub stalled: u64,
    /// Connections that [`cut_all`](super::Proxy::cut_all) cut.
    pub cut: u64,
}
