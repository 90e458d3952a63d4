//! What an attempt saves for its successor.

use std::fmt;

use bytes::Bytes;

use crate::Error;

/// Bytes that a running attempt saved for its successor: a recovery point. At most 64 KiB.
///
/// An attempt that takes over is given the progress of the attempt before, so that it can go on
/// instead of starting anew (laws R5 and C6).
#[derive(Clone, PartialEq, Eq)]
pub struct Progress(Bytes);

impl Progress {
    /// The most bytes that can be saved.
    pub const MAX_LEN: usize = 64 * 1024;

    /// # Errors
    /// [Too large](Error::is_too_large) above [`Progress::MAX_LEN`] bytes.
    pub fn new(bytes: impl Into<Bytes>) -> Result<Self, Error> {
        let bytes = bytes.into();
        if bytes.len() > Self::MAX_LEN {
            return Err(Error::too_large(
                "progress",
                bytes.len() as u64,
                Self::MAX_LEN as u64,
            ));
        }
        Ok(Self(bytes))
    }

    /// The same in memory of its own.
    pub(crate) fn compacted(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }

    /// The saved bytes.
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }
}

/// Shows the size only.
impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Progress({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_has_at_most_64_kib() {
        for length in [0, 1, 65_536] {
            let progress = Progress::new(vec![7; length]).unwrap();
            assert_eq!(progress.as_bytes().len(), length);
        }
        let error = Progress::new(vec![7; 65_537]).unwrap_err();
        assert!(error.is_too_large());
        assert_eq!(
            error.to_string(),
            "progress has 65537 bytes: at most 65536 are allowed"
        );
    }

    #[test]
    fn any_bytes_are_kept() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(Progress::new(all.clone()).unwrap().as_bytes(), &all);
    }

    #[test]
    fn debug_shows_the_size_only() {
        let progress = Progress::new("card charged").unwrap();
        assert_eq!(format!("{progress:?}"), "Progress(12 bytes)");
    }
}
