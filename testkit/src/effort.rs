//! How much random work to do.

/// The factor that `IDEM_EFFORT` asks for; 1 if it is not set.
///
/// # Panics
///
/// If it is set to anything but a whole number from 1.
#[must_use]
pub fn effort() -> u64 {
    std::env::var("IDEM_EFFORT").map_or(1, |factor| {
        factor
            .parse()
            .ok()
            .filter(|&factor| factor > 0)
            .expect("IDEM_EFFORT is a whole number from 1")
    })
}
