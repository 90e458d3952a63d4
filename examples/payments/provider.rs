//! A simulated payment provider, and the ledger of what it really charged.
//!
//! Like real ones it deduplicates by a key that its caller sends, and remembers that key for a window
//! of time only.

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idempotency::{Clock, DerivedKey, Timestamp};
use serde::{Deserialize, Serialize};

use crate::gate::{Gate, HeldCalls};
use crate::ledger_file::{Call, LedgerFile};

/// The one amount whose card is declined.
const DECLINED: &str = "13.13";

/// What to charge.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) client: String,
    pub(crate) amount: String,
    pub(crate) currency: String,
    pub(crate) customer_id: String,
}

/// A line of the ledger: money that was taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Charge {
    pub(crate) id: String,
    #[serde(flatten)]
    pub(crate) order: Order,
    pub(crate) provider_key: String,
}

#[derive(Clone, Debug)]
pub(crate) enum Charged {
    Paid(Charge),
    Declined,
}

/// A handle on the provider: clones share one ledger.
#[derive(Clone)]
pub(crate) struct Provider(Arc<Inner>);

struct Inner {
    clock: Arc<dyn Clock>,
    window: Duration,
    latency: Duration,
    books: Mutex<Books>,
    gate: Gate,
}

#[derive(Clone, Default, Serialize)]
pub(crate) struct Ledger {
    pub(crate) charges: Vec<Charge>,
    /// Every call, whether it charged, was declined or was a repeat.
    pub(crate) provider_calls: u64,
}

#[derive(Default)]
struct Books {
    ledger: Ledger,
    /// What was answered to a key, and until when that is remembered.
    answered: HashMap<String, (Charged, Timestamp)>,
    file: Option<LedgerFile>,
}

impl Provider {
    /// A provider that remembers keys for `window` by `clock`, and answers after `latency`.
    pub(crate) fn new(clock: impl Clock + 'static, window: Duration, latency: Duration) -> Self {
        Self(Arc::new(Inner {
            clock: Arc::new(clock),
            window,
            latency,
            books: Mutex::default(),
            gate: Gate::default(),
        }))
    }

    /// The same, with its memory in a file: it knows what it was asked in processes before. Keys count anew
    /// from now.
    pub(crate) fn keep_in(&self, file: LedgerFile, calls: Vec<Call>) {
        let until = self.0.clock.now().saturating_add(self.0.window);
        let mut books = self.books();
        for call in calls {
            books.note(&call, until);
        }
        books.file = Some(file);
    }

    /// Charges once for a key. The money moves at once and the answer takes its time, so whoever stops
    /// waiting has paid all the same.
    pub(crate) async fn charge(&self, key: &DerivedKey, order: Order) -> Charged {
        let charged = self.charge_once(key, order);
        self.0.gate.pass().await;
        tokio::time::sleep(self.0.latency).await;
        charged
    }

    /// What was charged so far.
    pub(crate) fn ledger(&self) -> Ledger {
        self.books().ledger.clone()
    }

    /// What was charged for a key, for an operator who asks.
    pub(crate) fn charge_of(&self, key: &DerivedKey) -> Option<Charge> {
        let charges = &self.books().ledger.charges;
        let charge = charges
            .iter()
            .rfind(|charge| charge.provider_key == key.as_str());
        charge.cloned()
    }

    /// From now on, answers wait until they are let go one by one.
    pub(crate) fn hold_answers(&self) -> HeldCalls {
        self.0.gate.close()
    }

    #[allow(clippy::print_stderr, reason = "a program for the terminal")]
    fn charge_once(&self, key: &DerivedKey, order: Order) -> Charged {
        let now = self.0.clock.now();
        let mut books = self.books();
        let known = books.answered.get(key.as_str());
        let known = known.filter(|(_, until)| now < *until);
        let call = match known {
            Some((charged, _)) => Call::of(key, true, charged.clone()),
            None if order.amount == DECLINED => Call::of(key, false, Charged::Declined),
            None => {
                let charge = Charge {
                    id: format!("pay_{}", books.ledger.charges.len() + 1),
                    order,
                    provider_key: key.to_string(),
                };
                Call::of(key, false, Charged::Paid(charge))
            }
        };
        if let Some(Err(error)) = books.file.as_mut().map(|file| file.write(&call)) {
            eprintln!("payments: the provider's ledger: {error}");
            // A panic that prints nothing: it stands for a provider that does not answer.
            resume_unwind(Box::new("the provider does not answer"));
        }
        books.note(&call, now.saturating_add(self.0.window));
        call.charged()
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    /// What a call has changed.
    fn note(&mut self, call: &Call, until: Timestamp) {
        self.ledger.provider_calls += 1;
        if !call.repeat {
            self.ledger.charges.extend(call.charge.clone());
            let remembered = (call.charged(), until);
            self.answered.insert(call.provider_key.clone(), remembered);
        }
    }
}

impl Call {
    fn of(key: &DerivedKey, repeat: bool, charged: Charged) -> Self {
        Self {
            provider_key: key.to_string(),
            repeat,
            charge: match charged {
                Charged::Paid(charge) => Some(charge),
                Charged::Declined => None,
            },
        }
    }

    fn charged(&self) -> Charged {
        match &self.charge {
            Some(charge) => Charged::Paid(charge.clone()),
            None => Charged::Declined,
        }
    }
}
