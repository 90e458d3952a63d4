//! Time that passes when the scheduler says so.
//!
//! A task of its own, the clock, moves the time to the next instant that somebody waits for, and wakes
//! him. When that task may run is what [`Passing`] decides.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::ops::Add;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

/// When time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// Once everybody waits, as with tokio's paused time: nobody is ever slow.
    WhenIdle,
    /// At any moment, now and then: any task may be stopped for as long as anything takes.
    AtAnyMoment,
}

/// Runs `main` as one execution in which time passes.
pub fn block_on<F: Future>(main: F) -> F::Output {
    TIMERS.set(Timers::default());
    drop(shuttle::future::spawn(poll_fn(|cx| tick(cx.waker()))));
    shuttle::future::block_on(main)
}

/// The clock is what [`block_on`] spawns first, after the main task.
const CLOCK: usize = 1;

thread_local! {
    /// Those of the execution under way: all of its tasks run on one thread. No step of the
    /// exploration lies between two accesses to it.
    static TIMERS: RefCell<Timers> = RefCell::default();
}

#[derive(Default)]
struct Timers {
    now: Duration,
    waiting: BTreeMap<(Duration, usize), Waker>,
    last_ticket: usize,
    /// Of the clock while nobody waits.
    clock: Option<Waker>,
}

/// Moves the time to the next instant that somebody waits for.
fn tick(clock: &Waker) -> Poll<()> {
    assert_eq!(usize::from(shuttle::current::me()), CLOCK);
    TIMERS.with_borrow_mut(|timers| match timers.waiting.pop_first() {
        Some(((instant, _), waker)) => {
            timers.now = timers.now.max(instant);
            waker.wake();
            clock.wake_by_ref();
        }
        None => timers.clock = Some(clock.clone()),
    });
    Poll::Pending
}

/// A scheduler that holds the clock back.
#[derive(Debug)]
pub struct WithTime<S> {
    scheduler: S,
    passing: Passing,
    decisions: u32,
}

impl<S> WithTime<S> {
    /// `scheduler` decides about all else.
    pub fn new(scheduler: S, passing: Passing) -> Self {
        Self {
            scheduler,
            passing,
            decisions: 0,
        }
    }

    fn clock_may_run(&mut self) -> bool {
        // Of the decisions in which it could run, so many pass it over: with all of them, a lease
        // would be over before anything was done.
        const RARELY: u32 = 24;
        self.decisions = self.decisions.wrapping_add(1);
        self.passing == Passing::AtAnyMoment && self.decisions.is_multiple_of(RARELY)
    }
}

impl<S: Scheduler> Scheduler for WithTime<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.scheduler.new_execution()
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let is_clock = |task: &&Task| usize::from(task.id()) == CLOCK;
        if runnable.len() == 1 || !runnable.iter().any(is_clock) || self.clock_may_run() {
            return self.scheduler.next_task(runnable, current, is_yielding);
        }
        let others: Vec<&Task> = runnable
            .iter()
            .copied()
            .filter(|task| !is_clock(task))
            .collect();
        self.scheduler.next_task(&others, current, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.scheduler.next_u64()
    }
}

/// An instant of the execution's own time, which begins at zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

impl Instant {
    /// The instant now.
    pub fn now() -> Self {
        Self(TIMERS.with_borrow(|timers| timers.now))
    }

    /// How long ago it was.
    pub fn elapsed(&self) -> Duration {
        Self::now().0.saturating_sub(self.0)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, by: Duration) -> Self {
        Self(self.0.saturating_add(by))
    }
}

/// Waits until so much time has passed.
pub fn sleep(duration: Duration) -> Sleep {
    Sleep {
        until: Instant::now() + duration,
        ticket: None,
    }
}

/// See [`sleep`].
#[derive(Debug)]
pub struct Sleep {
    until: Instant,
    ticket: Option<usize>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.until {
            return Poll::Ready(());
        }
        let until = self.until.0;
        TIMERS.with_borrow_mut(|timers| {
            let ticket = *self.ticket.get_or_insert_with(|| {
                timers.last_ticket += 1;
                timers.last_ticket
            });
            timers.waiting.insert((until, ticket), cx.waker().clone());
            if let Some(clock) = timers.clock.take() {
                clock.wake();
            }
        });
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            TIMERS.with_borrow_mut(|timers| timers.waiting.remove(&(self.until.0, ticket)));
        }
    }
}

/// Waits for `future`, but no longer than so.
pub async fn timeout<F: Future>(within: Duration, future: F) -> Result<F::Output, Elapsed> {
    let mut future = pin!(future);
    let mut sleep = pin!(sleep(within));
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        sleep.as_mut().poll(cx).map(|()| Err(Elapsed(())))
    })
    .await
}

/// The time of a [`timeout`] was over first.
#[derive(Debug)]
pub struct Elapsed(());
