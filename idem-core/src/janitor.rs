//! Purging in the background.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::panics::catch_panic;
use crate::{Error, Inspect};

/// Purges expired records in the background, in small batches, for as long as it runs.
///
/// Expired records are vacant for every purpose whether or not they were purged; a janitor only gives
/// their space back. Run one in each process if you like: they do not disturb each other, and the
/// jitter keeps them apart.
///
/// ```
/// use std::time::Duration;
/// use idem_core::{Janitor, MemoryStore};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), idem_core::Error> {
/// let store = MemoryStore::new();
/// let janitor = Janitor::new(store.clone()).interval(Duration::from_secs(30)).start()?;
/// // at shutdown
/// janitor.stop().await;
/// # Ok(()) }
/// ```
#[must_use = "call `start`"]
pub struct Janitor {
    store: Arc<dyn Inspect>,
    interval: Duration,
    batch: usize,
}

impl Janitor {
    /// A janitor that looks once a minute and purges 1000 records a call.
    pub fn new(store: impl Inspect + 'static) -> Self {
        Self {
            store: Arc::new(store),
            interval: Duration::from_secs(60),
            batch: 1_000,
        }
    }

    /// How long to pause when nothing is due, shortened at random by up to a fifth. Default: a minute.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// How many records to remove in one call of the store, at most. Default: 1000.
    pub fn batch(mut self, records: usize) -> Self {
        self.batch = records;
        self
    }

    /// Starts it, on the tokio runtime that this is called in.
    ///
    /// # Errors
    /// [Invalid](Error::is_invalid) for an interval or a batch of zero, and outside a runtime.
    pub fn start(self) -> Result<RunningJanitor, Error> {
        if self.interval.is_zero() || self.batch == 0 {
            let which = if self.batch == 0 { "batch" } else { "interval" };
            return Err(Error::invalid(format!(
                "janitor {which} is zero: more is needed"
            )));
        }
        let runtime = tokio::runtime::Handle::try_current()
            .map_err(|_| Error::invalid("a janitor is started inside a tokio runtime"))?;
        let stop = watch::Sender::new(false);
        let task = runtime.spawn(self.run(stop.subscribe()));
        Ok(RunningJanitor { stop, task })
    }

    async fn run(self, mut stop: watch::Receiver<bool>) {
        loop {
            let more = match catch_panic(self.store.purge_expired(self.batch)).await {
                Ok(Ok(purged)) => {
                    if purged.removed > 0 {
                        tracing::debug!(removed = purged.removed, more = purged.more, "purged");
                    }
                    purged.more
                }
                Ok(Err(error)) => {
                    tracing::warn!(%error, "purging failed; trying again after a pause");
                    false
                }
                Err(_panic) => {
                    tracing::warn!("the store panicked while purging; trying again after a pause");
                    false
                }
            };
            // Between batches too: so that it can be stopped, and so that it yields.
            let pause = if more {
                Duration::ZERO
            } else {
                self.shortened_interval()
            };
            let stopped = async { stop.wait_for(|stop| *stop).await.is_ok() };
            match timeout(pause, stopped).await {
                Err(_time_is_up) => tokio::task::yield_now().await,
                Ok(_stopped_or_handle_dropped) => return,
            }
        }
    }

    fn shortened_interval(&self) -> Duration {
        // Without random bytes it merely has no jitter.
        let random = getrandom::u32().unwrap_or(0);
        let shortened = self
            .interval
            .mul_f64(0.2 * f64::from(random) / f64::from(u32::MAX));
        self.interval.saturating_sub(shortened)
    }
}

/// A janitor at work. Dropped, it stops after the batch that it is at.
#[derive(Debug)]
pub struct RunningJanitor {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl RunningJanitor {
    /// Stops it after the batch that it is at, and waits for that.
    ///
    /// Dropped: it stops all the same.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        // It does not panic; and if the runtime cancels it, it has stopped.
        let _ = self.task.await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::{Cursor, LapsedPage, Purged, RecordId, RecordInfo};

    /// Has so many expired records, and notes when it was asked to purge how many.
    struct Due {
        left: Mutex<usize>,
        asked: Mutex<Vec<(Instant, usize)>>,
        failing: bool,
    }

    impl Due {
        fn new(left: usize, failing: bool) -> Arc<Self> {
            Arc::new(Self {
                left: Mutex::new(left),
                asked: Mutex::default(),
                failing,
            })
        }

        fn asked(&self) -> Vec<(Instant, usize)> {
            self.asked.lock().unwrap().clone()
        }
    }

    #[async_trait]
    impl Inspect for Due {
        async fn get(&self, _: &RecordId) -> Result<Option<RecordInfo>, Error> {
            Ok(None)
        }

        async fn lapsed(&self, _: Option<&Cursor>, _: usize) -> Result<LapsedPage, Error> {
            Ok(LapsedPage {
                records: Vec::new(),
                next: None,
            })
        }

        async fn purge_expired(&self, limit: usize) -> Result<Purged, Error> {
            self.asked.lock().unwrap().push((Instant::now(), limit));
            if self.failing {
                return Err(Error::unavailable("away", "planted"));
            }
            let mut left = self.left.lock().unwrap();
            let removed = limit.min(*left);
            *left -= removed;
            Ok(Purged {
                removed,
                more: *left > 0,
            })
        }
    }

    const MINUTE: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn what_is_due_goes_in_batches_without_a_pause() {
        let store = Due::new(25, false);
        let started = Instant::now();
        let janitor = Janitor::new(Arc::clone(&store)).batch(10).start().unwrap();
        sleep(MINUTE / 60).await;
        janitor.stop().await;
        assert_eq!(store.asked().len(), 3);
        assert!(
            store
                .asked()
                .iter()
                .all(|(at, limit)| *limit == 10 && *at - started < MINUTE / 60)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn it_pauses_for_its_interval_less_a_fifth_at_most() {
        for failing in [false, true] {
            let store = Due::new(0, failing);
            let janitor = Janitor::new(Arc::clone(&store))
                .interval(MINUTE)
                .start()
                .unwrap();
            sleep(20 * MINUTE).await;
            janitor.stop().await;
            let asked = store.asked();
            assert!((20..=26).contains(&asked.len()), "{} times", asked.len());
            for pair in asked.windows(2) {
                let pause = pair[1].0 - pair[0].0;
                assert!(
                    pause >= MINUTE * 4 / 5 - Duration::from_millis(1),
                    "{pause:?}"
                );
                assert!(pause <= MINUTE + Duration::from_millis(2), "{pause:?}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_waits_for_no_interval_and_neither_does_a_drop() {
        let store = Due::new(0, false);
        let started = Instant::now();
        Janitor::new(Arc::clone(&store))
            .start()
            .unwrap()
            .stop()
            .await;
        assert!(started.elapsed() < MINUTE / 60);

        drop(Janitor::new(Arc::clone(&store)).start().unwrap());
        sleep(10 * MINUTE).await;
        assert!(store.asked().len() <= 2);
    }

    #[tokio::test]
    async fn settings_that_cannot_work_are_refused() {
        let janitor = || Janitor::new(crate::MemoryStore::new());
        assert!(
            janitor()
                .interval(Duration::ZERO)
                .start()
                .unwrap_err()
                .is_invalid()
        );
        assert!(janitor().batch(0).start().unwrap_err().is_invalid());
    }

    #[test]
    fn outside_a_runtime_it_is_refused() {
        assert!(
            Janitor::new(crate::MemoryStore::new())
                .start()
                .unwrap_err()
                .is_invalid()
        );
    }
}
