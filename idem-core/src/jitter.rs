//! Pauses that keep callers apart.

use std::time::Duration;

/// Full jitter over the upper half: callers that failed together do not come back together.
pub(crate) fn jittered(pause: Duration) -> Duration {
    // Without random bytes the pause is merely not jittered.
    let random = getrandom::u32().unwrap_or(u32::MAX);
    pause.mul_f64(0.5 + 0.5 * f64::from(random) / f64::from(u32::MAX))
}
