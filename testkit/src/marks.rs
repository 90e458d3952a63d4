//! Where a child process is, and where it is to be killed.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::landing::{Landing, Stage};
use crate::lines::LineServer;

/// `ADDRESS/LIFE`: where the child reports its marks, and which of its lives this is.
pub(crate) const VARIABLE: &str = "IDEM_MARKS";

/// When to kill a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aim {
    /// When an operation comes to the mark of this name for the `nth` time in this life, from 1: exactly
    /// there, since whoever reports a mark waits for leave to go on.
    Mark {
        /// Its name.
        name: String,
        /// Which time.
        nth: u64,
    },
    /// After so long, wherever it is then.
    After(Duration),
}

/// The marks that a child reports: how far every operation has come that a client waits for.
///
/// Once a kill is decided, nobody gets leave to go on: until the kill, every operation comes to its next
/// mark at most, and where it then waits is where the kill meets it.
#[derive(Clone, Debug)]
pub struct Marks {
    shared: Arc<Shared>,
    server: Arc<LineServer>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Which life of the child this is; marks of earlier ones are void.
    life: u64,
    /// The mark to stop at, and how many times it is still to be passed.
    aim: Option<(String, u64)>,
    stopped: bool,
    in_flight: BTreeMap<String, InFlight>,
}

#[derive(Debug, Default)]
struct InFlight {
    /// Requests whose client waits.
    requests: u64,
    stage: Stage,
    mark: Option<String>,
    /// Whether it waits at the mark for leave to go on.
    waits: bool,
    /// Whether it was in flight when a kill was decided.
    met: bool,
}

impl Marks {
    /// Listens for marks; no kill is planned.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "it listens on a port")]
    pub fn new() -> Self {
        let shared = Arc::new(Shared::default());
        let of_server = Arc::clone(&shared);
        let server = LineServer::start(move |line| {
            let words: Vec<_> = line.split(' ').collect();
            let ["mark", life, mark, operation] = words[..] else {
                return Some(format!("not understood: {line}"));
            };
            let life = life.parse().ok()?;
            of_server
                .reach(life, mark, operation)
                .then(|| "go".to_owned())
        });
        Self {
            shared,
            server: Arc::new(server),
        }
    }

    /// A client sends a request for the operation.
    pub fn sent(&self, operation: &str) {
        self.shared.lock().entry(operation).requests += 1;
    }

    /// A client's request for the operation has ended, by an answer or without one.
    pub fn ended(&self, operation: &str) {
        let mut state = self.shared.lock();
        let in_flight = state.entry(operation);
        in_flight.requests = in_flight.requests.saturating_sub(1);
        // What a kill is about to meet stays until that is written down.
        if in_flight.requests == 0 && !in_flight.met {
            state.in_flight.remove(operation);
        }
    }

    /// An effect outside of the child, between the marks `charging` and `charged`. It happens unless a
    /// kill was decided before; `None` if the child was killed here, or before. `life`: the caller's, if
    /// he knows it.
    pub(crate) fn effect<T>(
        &self,
        operation: &str,
        life: Option<u64>,
        happen: impl FnOnce() -> T,
    ) -> Option<T> {
        let life = life.unwrap_or_else(|| self.shared.lock().life);
        if !self.shared.reach(life, "charging", operation) {
            return None;
        }
        let state = self.shared.lock();
        if state.life != life || state.stopped {
            self.shared.hold(state, life);
            return None;
        }
        // Under the lock, so that no kill comes between the effect and its mark.
        let happened = happen();
        let goes_on = self.shared.pass(state, life, "charged", operation);
        goes_on.then_some(happened)
    }

    /// The environment variable that the child's next life needs, by name and value.
    #[must_use]
    pub fn next_life(&self) -> (&'static str, String) {
        let mut state = self.shared.lock();
        state.life += 1;
        state.stopped = false;
        state.aim = None;
        state
            .in_flight
            .retain(|_, in_flight| in_flight.requests > 0);
        for in_flight in state.in_flight.values_mut() {
            *in_flight = InFlight {
                requests: in_flight.requests,
                ..InFlight::default()
            };
        }
        let value = format!("{}/{}", self.server.address(), state.life);
        self.shared.changed.notify_all();
        (VARIABLE, value)
    }

    /// Waits until the aim is met, then holds everybody who reports a mark until the next life; the
    /// child is to be killed now. False if `patience` ended before the aim was met, in which case it is
    /// to be killed all the same.
    #[must_use]
    pub fn wait_for(&self, aim: &Aim, patience: Duration) -> bool {
        let mut state = self.shared.lock();
        let deadline = Instant::now()
            + match aim {
                Aim::After(time) => *time,
                Aim::Mark { name, nth } => {
                    state.aim = Some((name.clone(), *nth));
                    patience
                }
            };
        while !state.stopped {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let in_time = state.stopped || matches!(aim, Aim::After(_));
        if !state.stopped {
            state.stop();
        }
        in_time
    }

    /// What a kill has met, as landings of this number; to be asked between the kill and the next life.
    #[must_use]
    pub fn landings(&self, kill: u64) -> Vec<Landing> {
        let state = self.shared.lock();
        let met = state
            .in_flight
            .iter()
            .filter(|(_, in_flight)| in_flight.met);
        met.map(|(operation, in_flight)| Landing {
            kill,
            operation: operation.clone(),
            stage: in_flight.stage,
            mark: in_flight.mark.clone(),
            exact: in_flight.waits,
        })
        .collect()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the operation may go on. `life`: of whoever reports it.
    fn reach(&self, life: u64, mark: &str, operation: &str) -> bool {
        self.pass(self.lock(), life, mark, operation)
    }

    fn pass(
        &self,
        mut state: MutexGuard<'_, State>,
        life: u64,
        mark: &str,
        operation: &str,
    ) -> bool {
        if state.life == life {
            let stops = !state.stopped && state.aim_is_met_by(mark);
            let held = state.stopped || stops;
            state.entry(operation).comes_to(mark, held);
            if !held {
                return true;
            }
            if stops {
                state.stop();
                self.changed.notify_all();
            }
        }
        self.hold(state, life);
        false
    }

    /// Until the next life. Held, not refused: a child that is refused does something about it.
    fn hold(&self, mut state: MutexGuard<'_, State>, life: u64) {
        while state.life == life {
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl InFlight {
    fn comes_to(&mut self, mark: &str, waits: bool) {
        let stage = Stage::begun_by(mark).unwrap_or(self.stage);
        // Of two requests for one operation, the one that has come further counts.
        if stage >= self.stage {
            self.stage = stage;
            self.mark = Some(mark.to_owned());
            self.waits = waits;
        }
    }
}

impl State {
    fn entry(&mut self, operation: &str) -> &mut InFlight {
        self.in_flight.entry(operation.to_owned()).or_default()
    }

    fn aim_is_met_by(&mut self, mark: &str) -> bool {
        let Some((_, left)) = self.aim.as_mut().filter(|(name, _)| name == mark) else {
            return false;
        };
        *left -= 1;
        *left == 0
    }

    fn stop(&mut self) {
        self.stopped = true;
        for in_flight in self.in_flight.values_mut() {
            in_flight.met = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::LineClient;
    use crate::until::until;
    use std::thread::{self, JoinHandle};

    const PATIENCE: Duration = Duration::from_secs(20);

    fn reach(marks: &Marks, mark: &str, operation: &str) -> bool {
        let life = marks.shared.lock().life;
        marks.shared.reach(life, mark, operation)
    }

    /// Waits for the mark on another thread; returns once it is aimed at.
    fn aim_at(marks: &Marks, name: &str, nth: u64) -> JoinHandle<bool> {
        let name = name.to_owned();
        let aim = Aim::Mark { name, nth };
        let of_thread = marks.clone();
        let waiting = thread::spawn(move || of_thread.wait_for(&aim, PATIENCE));
        let is_aimed = || marks.shared.lock().aim.is_some().then_some(());
        until("an aim", PATIENCE, is_aimed);
        waiting
    }

    #[test]
    fn whoever_comes_to_the_mark_is_held_until_the_next_life() {
        let marks = Marks::new();
        let _ = marks.next_life();
        marks.sent("a");
        marks.sent("b");
        let waiting = aim_at(&marks, "charged", 1);
        assert!(reach(&marks, "received", "a") && reach(&marks, "reserved", "a"));
        assert!(reach(&marks, "reserved", "b") && reach(&marks, "flushing", "b"));
        let of_thread = marks.clone();
        let held = thread::spawn(move || reach(&of_thread, "charged", "a"));
        assert!(waiting.join().unwrap() && !held.is_finished());
        // Too late to be met; and what was met stays met, although its client has seen its connection end.
        marks.sent("c");
        marks.ended("b");
        let landing = |operation: &str, stage, mark: &str, exact| Landing {
            kill: 7,
            operation: operation.into(),
            stage,
            mark: Some(mark.into()),
            exact,
        };
        let expected = [
            landing("a", Stage::EffectToCompletion, "charged", true),
            landing("b", Stage::ReserveToEffect, "flushing", false),
        ];
        assert_eq!(marks.landings(7), expected);
        let _ = marks.next_life();
        assert!(!held.join().unwrap(), "it was killed");
        assert_eq!(marks.landings(8), []);
    }

    #[test]
    fn the_nth_time_counts_and_what_was_answered_is_not_met() {
        let marks = Marks::new();
        let _ = marks.next_life();
        let waiting = aim_at(&marks, "completed", 2);
        marks.sent("a");
        assert!(reach(&marks, "completed", "a"));
        marks.ended("a");
        marks.sent("b");
        let of_thread = marks.clone();
        let held = thread::spawn(move || reach(&of_thread, "completed", "b"));
        assert!(waiting.join().unwrap());
        let landings = marks.landings(1);
        assert_eq!(landings.len(), 1, "{landings:?}");
        assert_eq!(landings[0].operation, "b");
        assert_eq!(landings[0].stage, Stage::After);
        let _ = marks.next_life();
        assert!(!held.join().unwrap());
    }

    #[test]
    fn what_an_earlier_life_reports_late_is_void() {
        let marks = Marks::new();
        let (_, first) = marks.next_life();
        let (_, second) = marks.next_life();
        let report = |life: &str, mark| {
            let (address, life) = life.split_once('/').unwrap();
            let mut client = LineClient::connect(address).unwrap();
            client.ask(&format!("mark {life} {mark} a"))
        };
        assert!(report(&first, "charged").is_err());
        assert_eq!(report(&second, "reserved").unwrap(), "go");
        assert!(marks.wait_for(&Aim::After(Duration::ZERO), PATIENCE));
        assert_eq!(marks.landings(1)[0].stage, Stage::ReserveToEffect);
    }

    #[test]
    fn a_random_moment_finds_what_is_in_flight_and_where_it_waits_next() {
        let marks = Marks::new();
        let _ = marks.next_life();
        marks.sent("a");
        marks.sent("b");
        assert!(marks.wait_for(&Aim::After(Duration::ZERO), PATIENCE));
        let of_thread = marks.clone();
        let held = thread::spawn(move || reach(&of_thread, "reserved", "b"));
        let landed = || {
            let [a, b] = &marks.landings(1)[..] else {
                panic!("both were in flight");
            };
            assert_eq!((a.stage, &a.mark), (Stage::BeforeReserve, &None));
            (b.exact && b.stage == Stage::ReserveToEffect).then_some(())
        };
        until("the next mark", PATIENCE, landed);
        let _ = marks.next_life();
        assert!(!held.join().unwrap());
    }

    #[test]
    fn an_effect_happens_unless_a_kill_was_decided() {
        let marks = Marks::new();
        let _ = marks.next_life();
        assert_eq!(marks.effect("a", None, || 1), Some(1));
        assert_eq!(marks.effect("a", Some(0), || panic!("void")), None::<()>);
        let waiting = aim_at(&marks, "charged", 1);
        let of_thread = marks.clone();
        let held = thread::spawn(move || of_thread.effect("b", None, || 2));
        assert!(waiting.join().unwrap());
        let of_thread = marks.clone();
        let late = thread::spawn(move || of_thread.effect("c", None, || panic!("too late")));
        let has_come = || {
            marks
                .shared
                .lock()
                .in_flight
                .contains_key("c")
                .then_some(())
        };
        until("a late effect", PATIENCE, has_come);
        let landing = &marks.landings(1)[1];
        assert_eq!((&*landing.operation, landing.exact), ("b", true));
        assert_eq!(landing.stage, Stage::EffectToCompletion);
        let _ = marks.next_life();
        assert_eq!(held.join().unwrap(), None, "the caller is dead");
        assert_eq!(late.join().unwrap(), None::<()>);
    }

    #[test]
    fn a_mark_that_never_comes_is_missed() {
        let marks = Marks::new();
        let _ = marks.next_life();
        let name = "never".into();
        assert!(!marks.wait_for(&Aim::Mark { name, nth: 1 }, Duration::ZERO));
    }
}
