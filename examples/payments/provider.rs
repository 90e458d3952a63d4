//! A simulated payment provider, and the ledger of what it really charged.
//!
//! Like real ones it deduplicates by a key that its caller sends, and remembers that key for a window
//! of time only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idempotency::{Clock, DerivedKey, Timestamp};
use serde::Serialize;

use crate::gate::{Gate, HeldCalls};

/// The one amount whose card is declined.
const DECLINED: &str = "13.13";

/// What to charge.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Order {
    pub(crate) client: String,
    pub(crate) amount: String,
    pub(crate) currency: String,
    pub(crate) customer_id: String,
}

/// A line of the ledger: money that was taken.
#[derive(Clone, Debug, Serialize)]
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

    fn charge_once(&self, key: &DerivedKey, order: Order) -> Charged {
        let now = self.0.clock.now();
        let mut books = self.books();
        books.ledger.provider_calls += 1;
        if let Some((charged, until)) = books.answered.get(key.as_str())
            && now < *until
        {
            return charged.clone();
        }
        let charged = if order.amount == DECLINED {
            Charged::Declined
        } else {
            let charge = Charge {
                id: format!("pay_{}", books.ledger.charges.len() + 1),
                order,
                provider_key: key.to_string(),
            };
            books.ledger.charges.push(charge.clone());
            Charged::Paid(charge)
        };
        let until = now.saturating_add(self.0.window);
        let remembered = (charged.clone(), until);
        books.answered.insert(key.to_string(), remembered);
        charged
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
