//! The connection that a handler in a transaction works on.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use sqlx::postgres::PgConnection;
use sqlx::{Postgres, Transaction};

/// The connection of the transaction that a handler's effect belongs to: use it as a `&mut PgConnection`
/// (`&mut *connection`). It must not outlive the handler, and must not be committed or rolled back by hand;
/// savepoints (sqlx's nested transactions) are the handler's own, see
/// [`run_in`](crate::Transactions::run_in).
pub struct EffectConnection {
    /// Taken when it is dropped, and not before.
    transaction: Option<Transaction<'static, Postgres>>,
    home: Home,
}

/// Where a transaction goes when its handler is done with it.
#[derive(Clone, Default)]
pub(crate) struct Home(Arc<Mutex<Option<Transaction<'static, Postgres>>>>);

impl Home {
    /// Lends the transaction to a handler.
    pub(crate) fn lend(&self, transaction: Transaction<'static, Postgres>) -> EffectConnection {
        EffectConnection {
            transaction: Some(transaction),
            home: self.clone(),
        }
    }

    /// The transaction, if the handler has given it back.
    pub(crate) fn take(&self) -> Option<Transaction<'static, Postgres>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, transaction: Option<Transaction<'static, Postgres>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = transaction;
    }
}

impl Deref for EffectConnection {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        self.transaction
            .as_ref()
            .expect("it is there until it is dropped")
    }
}

impl DerefMut for EffectConnection {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.transaction
            .as_mut()
            .expect("it is there until it is dropped")
    }
}

impl Drop for EffectConnection {
    fn drop(&mut self) {
        self.home.put(self.transaction.take());
    }
}

impl fmt::Debug for EffectConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EffectConnection(..)")
    }
}
