//! What a layer is told.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::HeaderName;
use http::request::Parts;
use idem_core::{Error, Idempotency, Key, OnLapse};

use crate::header_rules::HeaderRules;
use crate::problem::ProblemStyle;
use crate::{Answers, ScopeExtractor};

/// What to do with a guarded request while the store of keys does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum StoreDown {
    /// Answer 503 with `Retry-After`; the handler does not run.
    #[default]
    Closed,
    /// Run the handler **unprotected**, without a reservation and without a record: every retry runs it
    /// again, also after the store is back. For effects of which twice is better than not at all. The
    /// [`Operation`](idem_core::Operation) is in the request's extensions: its derived keys need no
    /// store.
    ///
    /// Only for a store that cannot be reached. Not for one that answered with an error, not under
    /// [`OnLapse::Hold`](idem_core::OnLapse::Hold) and not with a
    /// [longest age](idem_core::Builder::longest_age), whose promises nobody can keep without the store:
    /// there it is as `Closed`.
    Open,
}

#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) idempotency: Idempotency,
    pub(crate) scope: Arc<dyn ScopeExtractor>,
    pub(crate) methods: Vec<Method>,
    pub(crate) key: KeySource,
    pub(crate) key_required: bool,
    pub(crate) key_form: Option<KeyForm>,
    pub(crate) path: Option<PathOf>,
    pub(crate) body: Option<BodyOf>,
    pub(crate) fingerprint_headers: Vec<HeaderName>,
    pub(crate) request_limit: usize,
    pub(crate) request_within: Duration,
    pub(crate) running_limit: Option<usize>,
    pub(crate) answer_limit: usize,
    pub(crate) capture_for: Duration,
    pub(crate) answers: Answers,
    pub(crate) header_rules: HeaderRules,
    pub(crate) retry_after: Duration,
    pub(crate) store_down: StoreDown,
    pub(crate) problems: ProblemStyle,
    /// The handler runs reserve, effect and completion by itself.
    pub(crate) by_hand: bool,
}

pub(crate) type PathOf = Arc<dyn Fn(&Parts) -> String + Send + Sync>;
pub(crate) type BodyOf = Arc<dyn Fn(&Parts, &Bytes) -> Vec<u8> + Send + Sync>;
pub(crate) type KeyOfParts = Arc<dyn Fn(&Parts) -> Result<Option<Key>, Error> + Send + Sync>;
pub(crate) type KeyOf = Arc<dyn Fn(&Parts, &Bytes) -> Result<Option<Key>, Error> + Send + Sync>;

#[derive(Clone)]
pub(crate) enum KeySource {
    Header(HeaderName),
    Parts(KeyOfParts),
    /// Known only once the body is.
    Body(KeyOf),
}

/// What the server asks of the text of a key, beyond what every key must be.
#[derive(Clone)]
pub(crate) struct KeyForm {
    pub(crate) description: String,
    pub(crate) accepts: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

impl Settings {
    pub(crate) fn new(idempotency: Idempotency, scope: impl ScopeExtractor) -> Self {
        let answer_limit = idempotency.response_limit();
        Self {
            idempotency,
            scope: Arc::new(scope),
            methods: vec![Method::POST, Method::PATCH],
            key: KeySource::Header(IDEMPOTENCY_KEY),
            key_required: true,
            key_form: None,
            path: None,
            body: None,
            fingerprint_headers: Vec::new(),
            request_limit: 1 << 20,
            request_within: Duration::from_secs(30),
            running_limit: None,
            answer_limit,
            capture_for: Duration::from_secs(10),
            answers: Answers::default(),
            header_rules: HeaderRules::default(),
            retry_after: Duration::from_secs(1),
            store_down: StoreDown::default(),
            problems: ProblemStyle::default(),
            by_hand: false,
        }
    }
}

impl Settings {
    /// Whether handlers run while the store is away. What `Hold` and a longest age promise nobody can
    /// keep without it.
    pub(crate) fn is_open(&self) -> bool {
        self.store_down == StoreDown::Open
            && self.idempotency.on_lapse() == OnLapse::RunAgain
            && self.idempotency.longest_age().is_none()
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("idempotency", &self.idempotency)
            .field("methods", &self.methods)
            .field("key_required", &self.key_required)
            .field("request_limit", &self.request_limit)
            .field("answer_limit", &self.answer_limit)
            .field("answers", &self.answers)
            .field("store_down", &self.store_down)
            .finish_non_exhaustive()
    }
}
