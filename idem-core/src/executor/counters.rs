//! What has happened, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{ExecuteError, Executed, Recorded};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// What an [`Idempotency`](super::Idempotency) has done since it was made, for metrics. Each
        /// number only ever grows.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)*
        }

        #[derive(Default)]
        pub(crate) struct Counting {
            $(pub(crate) $name: AtomicU64,)*
        }

        impl Counting {
            pub(crate) fn read(&self) -> Counters {
                Counters { $($name: self.$name.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counters! {
    /// Handlers that ran to their verdict, and whose answer was sent.
    ran,
    /// Answers replayed.
    replayed,
    /// Requests in conflict, unresolved ones included.
    conflicts,
    /// Requests in conflict with an unresolved operation.
    unresolved,
    /// Keys used for another operation.
    mismatches,
    /// Handlers that failed with an error. A panic is not counted: it ends the call.
    handler_errors,
    /// Requests that were refused because the store did not answer.
    store_errors,
    /// Operations taken over from an earlier attempt.
    taken_over,
    /// Attempts that lost their reservation to another one.
    superseded,
    /// Answers sent although the store had not acknowledged them.
    unrecorded,
}

impl Counting {
    /// Counts a result, and names it for the log.
    pub(super) fn count<E>(&self, result: &Result<Executed, ExecuteError<E>>) -> &'static str {
        let (counter, name) = match result {
            Ok(Executed::Ran {
                recorded: Recorded::Unrecorded,
                ..
            }) => (&self.ran, "unrecorded"),
            Ok(Executed::Ran {
                recorded: Recorded::Completed { .. },
                ..
            }) => (&self.ran, "completed"),
            Ok(Executed::Ran {
                recorded: Recorded::Abandoned,
                ..
            }) => (&self.ran, "abandoned"),
            Ok(Executed::Ran {
                recorded: Recorded::Released,
                ..
            }) => (&self.ran, "released"),
            Ok(Executed::Replayed(_)) => (&self.replayed, "replayed"),
            Ok(Executed::Conflict {
                retry_after: Some(_),
            }) => (&self.conflicts, "conflict"),
            Ok(Executed::Conflict { retry_after: None }) => {
                add_one(&self.unresolved);
                (&self.conflicts, "unresolved")
            }
            Ok(Executed::Mismatch) => (&self.mismatches, "mismatch"),
            Err(ExecuteError::Handler(_)) => (&self.handler_errors, "handler failed"),
            Err(ExecuteError::Panicked(_)) => (&self.handler_errors, "handler panicked"),
            Err(ExecuteError::Store(_)) => (&self.store_errors, "store failed"),
        };
        add_one(counter);
        name
    }
}

pub(super) fn add_one(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
