//! Who has the effect: a provider that charges cards.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use idem_core::DerivedKey;
use tokio::time::Instant;

pub(crate) struct Provider {
    /// For how long it remembers a key; `None`: for ever. Zero: it deduplicates nothing.
    remembers: Option<Duration>,
    charged: Mutex<HashMap<String, Instant>>,
    charges: Mutex<usize>,
}

impl Provider {
    pub(crate) fn that_remembers(remembers: Option<Duration>) -> Self {
        Self {
            remembers,
            charged: Mutex::default(),
            charges: Mutex::default(),
        }
    }

    pub(crate) fn that_forgets() -> Self {
        Self::that_remembers(Some(Duration::ZERO))
    }

    /// Charges the card, unless it remembers to have done so under this key. Says which.
    pub(crate) fn charge(&self, key: &DerivedKey) -> bool {
        let mut charged = self.charged.lock().unwrap();
        let since = charged.get(&key.to_string()).map(Instant::elapsed);
        if since.is_some_and(|since| self.remembers.is_none_or(|remembers| since < remembers)) {
            return false;
        }
        charged.insert(key.to_string(), Instant::now());
        *self.charges.lock().unwrap() += 1;
        true
    }

    /// How often a card was charged.
    pub(crate) fn charges(&self) -> usize {
        *self.charges.lock().unwrap()
    }
}
