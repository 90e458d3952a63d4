//! Waiting for what can only be asked about.

use std::thread;
use std::time::{Duration, Instant};

/// Asks until there is an answer.
///
/// # Panics
///
/// If there is none `within` that time: the message names `what` was waited for.
#[track_caller]
pub fn until<T>(what: &str, within: Duration, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + within;
    let mut pause = Duration::from_micros(500);
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "{what}: not within {within:?}");
        // why: nothing tells when it happens, so it is asked again and again
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
