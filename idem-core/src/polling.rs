//! Waiting for a record to change, for stores that nobody tells of writes.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use crate::jitter::jittered;

/// Instants are in whole milliseconds, and two clocks are read.
const ROUNDING: Duration = Duration::from_millis(3);

/// How [`changed`](crate::IdempotencyStore::changed) waits where the store is not told of writes: it looks, again and
/// again, after pauses that double and differ from waiter to waiter.
///
/// No write is missed (law W1): the first look tells how long ago the record was written, and so whether that was
/// after the wait had begun.
///
/// ```
/// # use idem_core::*;
/// # use std::time::Duration;
/// # struct MyStore;
/// # impl MyStore {
/// #     async fn read(&self, _: &RecordId) -> Result<Option<([u8; 16], u64, Duration)>, Error> { Ok(None) }
/// async fn changed(&self, record: &RecordId, within: Duration) {
///     Polling::new(Duration::from_millis(50), Duration::from_millis(500))
///         .until_changed(within, || async {
///             match self.read(record).await {
///                 Ok(Some((token, revision, age))) => Look::Found { write: (token, revision), age },
///                 Ok(None) => Look::Changed, // vacant: whoever waits may reserve it
///                 Err(_) => Look::Failed,
///             }
///         })
///         .await;
/// }
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Polling {
    first: Duration,
    longest: Duration,
}

/// What a look at a record has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look<W> {
    /// Whoever waits has something to do: the record is vacant, or completed.
    Changed,
    /// A record in flight.
    Found {
        /// What tells its last write from every other, such as token and revision.
        write: W,
        /// How long before this look that was, by the clock of the store. Too short does no harm.
        age: Duration,
    },
    /// Nothing is known.
    Failed,
}

impl Polling {
    /// The pause after the first look, and the longest. A pause is shortened by up to half.
    pub const fn new(first_pause: Duration, longest_pause: Duration) -> Self {
        Self {
            first: first_pause,
            longest: longest_pause,
        }
    }

    /// Returns once a look says so, or finds another write than the first, or one that was made since this wait
    /// began, and in any case `within` that time. A look that takes longer is dropped.
    ///
    /// Dropped: the look under way is dropped, and nothing is left behind.
    pub async fn until_changed<W: PartialEq, L: Future<Output = Look<W>>>(
        &self,
        within: Duration,
        mut look: impl FnMut() -> L,
    ) {
        let began = Instant::now();
        let left = || within.saturating_sub(began.elapsed());
        let mut pause = self.first;
        let mut first = None;
        while !left().is_zero() {
            match timeout(left(), look()).await.unwrap_or(Look::Failed) {
                Look::Changed => return,
                Look::Found { write, age } => match &first {
                    Some(first) if *first != write => return,
                    Some(_) => {}
                    // To resolve early does no harm; to miss a write would.
                    None if age <= began.elapsed().saturating_add(ROUNDING) => return,
                    None => first = Some(write),
                },
                // Whoever waits asks the store itself in the end.
                Look::Failed => {}
            }
            sleep(jittered(pause).min(left())).await;
            pause = pause.saturating_mul(2).min(self.longest);
        }
    }
}

#[cfg(all(test, not(idem_loom)))]
mod tests {
    use std::cell::Cell;

    use super::*;

    const POLLING: Polling = Polling::new(Duration::from_millis(50), Duration::from_millis(500));
    const WITHIN: Duration = Duration::from_secs(10);
    const LONG_AGO: Duration = Duration::from_secs(3600);

    /// How long a wait takes, and how often it looks.
    async fn wait(look: impl AsyncFn(u32) -> Look<u32>) -> (Duration, u32) {
        let (began, looks, look) = (Instant::now(), Cell::new(0), &look);
        let counted = || {
            looks.set(looks.get() + 1);
            let number = looks.get();
            async move { look(number).await }
        };
        POLLING.until_changed(WITHIN, counted).await;
        (began.elapsed(), looks.get())
    }

    fn found(write: u32, age: Duration) -> Look<u32> {
        Look::Found { write, age }
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_between_two_looks_ends_the_wait() {
        let (_, looks) = wait(async |look| found(look / 3, LONG_AGO)).await;
        assert_eq!(looks, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_between_the_beginning_and_the_first_look_ends_the_wait() {
        let slow = async |_| {
            sleep(Duration::from_millis(200)).await;
            found(1, Duration::from_millis(200))
        };
        assert_eq!(wait(slow).await.1, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_written_before_does_not() {
        let (took, looks) = wait(async |_| found(1, Duration::from_millis(20))).await;
        assert_eq!(took, WITHIN);
        // Pauses of 25 to 50 ms, 50 to 100, 100 to 200, 200 to 400, and 250 to 500 from then on.
        assert!((20..50).contains(&looks), "{looks}");
    }

    #[tokio::test(start_paused = true)]
    async fn failed_looks_are_passed_over_and_count_as_none() {
        let (_, looks) = wait(async |look| match look {
            2 => found(1, LONG_AGO),
            4 => found(2, LONG_AGO),
            _ => Look::Failed,
        })
        .await;
        assert_eq!(looks, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_hangs_is_dropped_in_time() {
        let (took, looks) = wait(async |_| std::future::pending().await).await;
        assert_eq!((took, looks), (WITHIN, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_something_to_do_waits_for_nothing() {
        assert_eq!(wait(async |_| Look::Changed).await, (Duration::ZERO, 1));
        let no_time = || async { panic!("no time to look") as Look<()> };
        POLLING.until_changed(Duration::ZERO, no_time).await;
    }
}
