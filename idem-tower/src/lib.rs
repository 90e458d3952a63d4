//! A tower layer that makes routes of axum and hyper services retry-safe.
//!
//! A client sends `POST /payments` with an `Idempotency-Key`; the card is charged; the answer is lost;
//! the client sends the same request again, and gets the first answer: same status, same body, marked
//! `Idempotent-Replayed: true`. The handler runs once.
//!
//! ```
//! use http::request::Parts;
//! use idem_core::{Idempotency, MemoryStore, Scope};
//! use idem_tower::IdempotencyLayer;
//!
//! #[derive(Clone)]
//! struct Account(String); // left in the extensions by the layer that authenticates
//!
//! # fn check(payments: tower::util::BoxCloneSyncService<http::Request<idem_tower::RequestBody<axum::body::Body>>, http::Response<axum::body::Body>, std::convert::Infallible>) {
//! let layer = IdempotencyLayer::new(
//!     Idempotency::new(MemoryStore::new()),
//!     |parts: &Parts| Scope::new(&parts.extensions.get::<Account>()?.0).ok(),
//! );
//! // axum: Router::new().route("/payments", post(pay)).route_layer(layer).layer(authentication)
//! let service = tower::Layer::layer(&layer, payments);
//! # _ = service; }
//! ```
//!
//! # What happens to a request
//! ```text
//!  method not guarded ──────────────────────────────▶ passes untouched
//!  no key: 400, or unprotected where it is optional     key malformed: 400     no scope: 500
//!  body read whole (413 above the limit, 408 if too slow, 400 if it broke off)
//!  nothing is reserved until here
//!  fingerprint, then reserve:
//!    won ────────▶ the handler runs in a task of its own ─▶ answer captured ─▶ recorded ─▶ sent
//!    completed ──▶ 200 … as first answered, Idempotent-Replayed: true      (410 if it was not kept)
//!    other request with this key ──▶ 422      in flight ──▶ 409, Retry-After      unresolved ──▶ 409
//!    store down ──▶ 503, Retry-After
//! ```
//! Every refusal is a problem of RFC 9457; [`ProblemKind`] lists them. The protocol is modelled on an
//! expired IETF draft (idempotency-key-header) and on what is in use; [`IdempotencyLayer::policy`]
//! renders what a server should publish about it.
//!
//! **A client may hang up at any moment**, and no timeout layer outside stops a handler half-way: once it
//! has begun, it runs until it has given its answer, and the answer is recorded. (What an answer *streams*
//! after it was completed without its body ends with its client: effects belong before the answer.) At
//! shutdown await [`IdempotencyLayer::drain`]: a server's own graceful shutdown knows nothing of those.
//!
//! Since handlers go on without their clients, nothing outside bounds them:
//! [`running_limit`](IdempotencyLayer::running_limit) does. A timeout *inside* the layer stops a handler
//! half-way; its 408 lets the next request run again, which is right if the effect is idempotent by the
//! derived key. A handler that hangs is taken over once its heartbeat has reached its
//! [ceiling](idem_core::Builder::heartbeat_ceiling) and its lease is over. Handlers run in a task of their
//! own: task-locals of layers outside are not there, extensions are.
//!
//! # Where the layer stands
//! *Inside* authentication (the scope comes from there), rate limits and body limits: what they refuse
//! (401, 429, 413) uses up no key (axum's `DefaultBodyLimit` refuses in the extractor, which is inside: take
//! tower-http's `RequestBodyLimitLayer`). *Outside* whatever has effects. Compression belongs outside too, so
//! that what is recorded is not compressed; so does decompression of requests, since compressed bytes may
//! differ between retries. In axum the layer that is added last stands outermost; `route_layer` guards
//! routes only, where `layer` also keeps the 404 of a path that does not exist yet. Applied twice with the
//! same key and scope, the outer one counts.
//!
//! # The key
//! One line of the header: bare (`order-17`) or a quoted string of RFC 9651 (`"order-17"`, parameters are
//! ignored); both spell the same key. 1 to 255 bytes. A bare key has visible ASCII without `"` `\` `,` `;`.
//! Everything else is 400: a key that cannot be read is never taken for no key. Other sources:
//! [`IdempotencyLayer::key_from`].
//!
//! # What makes two requests the same
//! The fingerprint: method, path with query (not scheme or host: a retry may come by another protocol),
//! [chosen headers](IdempotencyLayer::fingerprint_header), and the body by its content type:
#![doc = include_str!("body_rules.md")]
//! Request trailers reach the handler and are not compared: on the way they may be dropped (RFC 9110
//! section 6.5.1).
//!
//! # What of an answer is kept
//! [`Answers`] decides by status, or the handler by a [`Disposition`]. Of a kept answer:
//!
//! | | |
//! | --- | --- |
//! | status, body, trailers | byte for byte |
//! | header lines | kept, repeated ones in order: `Location`, `ETag`, `Content-Type`, … |
//! | `Set-Cookie`, `WWW-Authenticate`, `Proxy-Authenticate`, `Authentication-Info`, `Proxy-Authentication-Info` | first answer only, unless [asked](IdempotencyLayer::keep_header): they were for who received them |
//! | `Connection` and what it lists, `Keep-Alive`, `Proxy-Connection`, `TE`, `Transfer-Encoding`, `Upgrade` | never: about one connection (RFC 9110 section 7.6.1) |
//! | `Date` | never: the server writes a new one |
//! | `Content-Length` | kept if it is the body's length, or tells of the body that there would be (`HEAD`, 304). If the body is shorter, the answer broke off; otherwise it is taken off the first answer too, and the server writes the right one |
//! | `Idempotent-Replayed` | taken off requests and first answers, put on replays: no other mark is believed |
//! | 101 | is no answer: completed without a body, and repeats get 410 |
//! | extensions | first answer only |
//! | 204, 303, 304 and others without a body | as any other |
//!
//! An answer is captured whole, recorded, then sent. If its body breaks off before that, nothing is
//! recorded: nobody knows what happened, and the client gets 500. If it is larger than
//! [the limit](IdempotencyLayer::answer_limit), of a type that never ends (`text/event-stream`), or not at
//! its end [in time](IdempotencyLayer::capture_for), the operation is completed *without* its body first,
//! and then the rest is streamed: its client gets it whole, a repeat gets 410, and nothing runs twice.
//!
//! # Effects in the same database
//! Two ways to let effect and record commit together:
//! 1. The handler takes the [`Reservation`](idem_core::Reservation), does its work in a transaction, completes
//!    its own record inside it, commits, and answers with [`RecordedAnswer`].
//! 2. [`IdempotencyLayer::by_hand`]: the layer reads the request only, and the handler runs reserve, effect
//!    and completion in one transaction, `PostgresStore::run_in` for example, by the layer's
//!    [`terms`](Idempotent::terms), and gives what became of it to [`Idempotent::answer_run`].
//!
//! # axum and hyper
//! With feature `axum` the module [`axum`] has extractors, and [`axum::layer`], which knows what `nest` does
//! to paths. In plain hyper, wrap the service and hand it to
//! hyper-util's `TowerToHyperService`. If the compiler then says *higher-ranked lifetime error*, a trait
//! object in the service or in its body is in its way: spawn the connection itself
//! (`tokio::spawn(connection.into_owned())`) or box the service (`tower::util::BoxCloneSyncService`).
//!
//! Browsers: let CORS allow the request header `Idempotency-Key` and expose `Idempotent-Replayed` and
//! `Retry-After`. Pre-flight requests pass untouched.

#[cfg(feature = "axum")]
pub mod axum;

mod answer_body;
mod body_fingerprint;
mod by_hand;
mod capture;
mod chunks;
mod disposition;
#[cfg(test)]
mod effort;
mod front;
#[cfg(any(test, idem_fuzz))]
#[doc(hidden)]
pub mod fuzzing;
mod header_rules;
mod key_header;
mod layer;
mod outcome;
mod policy;
mod problem;
mod recorded;
mod request_body;
mod response_body;
mod run;
mod scope;
mod service;
mod settings;

pub use answer_body::AnswerBody;
pub use by_hand::Idempotent;
pub use disposition::{Answers, Disposition};
pub use layer::IdempotencyLayer;
pub use policy::Policy;
pub use problem::ProblemKind;
pub use recorded::RecordedAnswer;
pub use request_body::RequestBody;
pub use response_body::ResponseBody;
pub use scope::ScopeExtractor;
pub use service::{IdempotencyService, ResponseFuture};
pub use settings::StoreDown;
