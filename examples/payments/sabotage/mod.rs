//! Wrong stores: the right one, wrapped in one lie each. The story must tell.

mod forget;
mod global_scope;
mod no_token;

use std::str::FromStr;
use std::sync::Arc;

use idem_sled::SledStore;
use idempotency::IdempotencyStore;

/// What is wrong with the store.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sabotage {
    Forget,
    NoToken,
    GlobalScope,
}

impl FromStr for Sabotage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "forget" => Ok(Self::Forget),
            "no-token" => Ok(Self::NoToken),
            "global-scope" => Ok(Self::GlobalScope),
            _ => Err("give forget, no-token or global-scope".into()),
        }
    }
}

impl Sabotage {
    pub(crate) fn wrap(self, store: SledStore) -> Arc<dyn IdempotencyStore> {
        match self {
            Self::Forget => Arc::new(forget::Forget(store)),
            Self::NoToken => Arc::new(no_token::NoToken::new(store)),
            Self::GlobalScope => Arc::new(global_scope::GlobalScope(store)),
        }
    }
}
