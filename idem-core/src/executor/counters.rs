//! What has happened, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Entry, ExecuteError, Executed, Recorded};
use crate::Error;

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
    /// Counts what became of a reservation by hand, unless it was won: then its end counts.
    pub(super) fn count_entry(&self, entry: &Result<Entry, Error>) {
        add_one(match entry {
            Ok(Entry::Won(_)) => return,
            Ok(Entry::Replayed(_)) => &self.replayed,
            Ok(Entry::Conflict { retry_after: None }) => {
                add_one(&self.unresolved);
                &self.conflicts
            }
            Ok(Entry::Conflict { .. }) => &self.conflicts,
            Ok(Entry::Mismatch) => &self.mismatches,
            Err(_) => &self.store_errors,
        });
    }

    /// Counts a result, and names it for the log.
    pub(super) fn count<E>(&self, result: &Result<Executed, ExecuteError<E>>) -> &'static str {
        let (counter, name) = match result {
            Ok(executed) => return self.count_executed(executed),
            Err(ExecuteError::Handler(_)) => (&self.handler_errors, "handler failed"),
            // Of detached handlers: their own `execute` has ended without a result.
            Err(ExecuteError::Panicked(_) | ExecuteError::Cancelled) => {
                (&self.handler_errors, "handler did not end")
            }
            Err(ExecuteError::Store(_)) => (&self.store_errors, "store failed"),
        };
        add_one(counter);
        name
    }

    pub(super) fn count_executed(&self, executed: &Executed) -> &'static str {
        let (counter, name) = match executed {
            Executed::Ran { recorded, .. } => (
                &self.ran,
                match recorded {
                    Recorded::Completed { .. } => "completed",
                    Recorded::CompletedWithoutBody { .. } => "completed without its body",
                    Recorded::Abandoned => "abandoned",
                    Recorded::Released => "released",
                    Recorded::ByHandler => "recorded by its handler",
                    Recorded::Unrecorded => "unrecorded",
                },
            ),
            Executed::Replayed(_) => (&self.replayed, "replayed"),
            Executed::Conflict {
                retry_after: Some(_),
            } => (&self.conflicts, "conflict"),
            Executed::Conflict { retry_after: None } => {
                add_one(&self.unresolved);
                (&self.conflicts, "unresolved")
            }
            Executed::Mismatch => (&self.mismatches, "mismatch"),
        };
        add_one(counter);
        name
    }
}

pub(super) fn add_one(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
