//! What went wrong, and what may be concluded from it.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use idem_core::Error;

use crate::commits::Closed;

/// Why a store could not be opened. No record was changed; what a killed process had left may have been cleared
/// away. If a file of the folder cannot be read, nothing at all was changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process, or another store in this one, has the folder open.
    Locked,
    /// A later release has written here. Use that one.
    NewerFormat {
        /// The format of the folder.
        found: u32,
        /// The latest that this release reads.
        known: u32,
    },
    /// What is there is not a store that can be read.
    Damaged(Box<dyn StdError + Send + Sync>),
    /// The operating system refused, also to read a file of the folder; or sled hangs, see
    /// [`Options::commit_limit`](crate::Options::commit_limit).
    Io(io::Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked => f.write_str(
                "the store's folder is in use: one process at a time, and one store in it",
            ),
            Self::NewerFormat { found, known } => write!(
                f,
                "the store has format {found}, and this release reads formats up to {known}: use a later one"
            ),
            Self::Damaged(_) => f.write_str("the store's folder cannot be read: it is damaged"),
            Self::Io(_) => f.write_str("the store's folder cannot be used"),
        }
    }
}

impl StdError for OpenError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Locked | Self::NewerFormat { .. } => None,
            Self::Damaged(source) => Some(&**source),
            Self::Io(source) => Some(source),
        }
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<sled::Error> for OpenError {
    fn from(error: sled::Error) -> Self {
        match error {
            sled::Error::Io(error) => Self::Io(error),
            error => Self::Damaged(Box::new(error)),
        }
    }
}

/// A call that did nothing, since the store is closed.
pub(crate) fn closed(why: Closed) -> Error {
    match why {
        Closed::ByOwner => Error::failed("the store is closed", "its owner closed it"),
        Closed::Failed => Error::failed(
            "the store has closed itself, since something could not be written: open it again",
            "an earlier write or flush failed",
        ),
    }
}

/// A write that is in memory, and may be on disk or not.
pub(crate) fn not_flushed(_: Closed) -> Error {
    Error::unknown_outcome(
        "it is not known whether this is on disk: the store has closed itself",
        "a flush failed",
    )
}

/// A read that failed.
pub(crate) fn not_read(error: sled::Error) -> Error {
    match error {
        sled::Error::Corruption { .. } => {
            Error::corrupt("sled cannot read this page: it is damaged")
        }
        error => Error::failed("sled could not read", error),
    }
}

/// A write of which sled does not say how far it came.
pub(crate) fn not_written(error: sled::Error) -> Error {
    Error::unknown_outcome("sled failed in the middle of a write", error)
}

/// A large value without all of its chunks.
pub(crate) fn chunks_missing() -> Error {
    Error::corrupt("a part of this record's value is missing: it is damaged")
}

/// The thread that was at it has gone, or hangs.
pub(crate) fn broke_off() -> Error {
    Error::unknown_outcome(
        "the call broke off: the store has closed itself",
        "sled panicked, hangs, or could not write",
    )
}

/// A store that had failed, and is closed now.
pub(crate) fn closed_after_failure() -> Error {
    Error::unknown_outcome(
        "the store is closed, and something could not be written: what was not acknowledged may be lost",
        "a write or flush failed",
    )
}

/// A store whose files sled does not let go of.
pub(crate) fn stuck() -> Error {
    Error::unknown_outcome(
        "the store is closed, but sled hangs: the folder stays locked until this process ends",
        "a write or flush did not return",
    )
}
