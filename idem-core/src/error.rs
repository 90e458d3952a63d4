//! What can go wrong, and what may be concluded from it.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

/// Whether the call that failed may have changed the store.
///
/// `Unknown` is the honest answer for a lost connection, a time-out or a dropped future: the write
/// may have happened, or may still happen later. The same call can be sent again with the same
/// [`Token`](crate::Token): every write is safe to repeat (laws R10, C2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Applied {
    /// The call did not take effect and never will.
    No,
    /// Nobody can tell whether the call took effect, or still will.
    Unknown,
}

/// A call that could not be carried out.
///
/// Expected results (a conflict, a mismatch, a lost reservation) are values, never errors. An error
/// says "could not", and answers two questions: may the call [have been applied](Error::applied),
/// and can [trying again](Error::is_transient) help? Ask with the `is_*` predicates; the driver's own
/// error is the [source](StdError::source). Neither `Display` nor `Debug` of this type shows a key, a
/// scope or a fingerprint.
///
/// ```
/// use idem_core::{Applied, Key};
///
/// let error = Key::new("").unwrap_err();
/// assert!(error.is_invalid());
/// assert_eq!(error.applied(), Applied::No);
/// assert_eq!(error.to_string(), "key is empty: 1 to 255 bytes are allowed");
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: Kind,
    applied: Applied,
    message: Cow<'static, str>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Invalid,
    TooLarge,
    Corrupt,
    Unavailable,
    TooLate,
    Failed,
    Superseded,
}

impl Error {
    /// The input breaks a stated rule. The message says what is allowed. Not applied; trying again
    /// cannot help.
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::build(Kind::Invalid, Applied::No, message, None)
    }

    /// Something is larger than the store keeps. Nothing was written (law S1).
    pub fn too_large(what: &str, size: u64, limit: u64) -> Self {
        let message = format!("{what} has {size} bytes: at most {limit} are allowed");
        Self::build(Kind::TooLarge, Applied::No, message, None)
    }

    /// What the store holds for this record cannot be read. Such a record is never taken as vacant.
    pub fn corrupt(message: impl Into<Cow<'static, str>>) -> Self {
        Self::build(Kind::Corrupt, Applied::No, message, None)
    }

    /// The store could not be reached, and the call was certainly not applied. Trying again can help.
    pub fn unavailable(
        message: impl Into<Cow<'static, str>>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self::build(Kind::Unavailable, Applied::No, message, Some(source.into()))
    }

    /// The call was sent and its answer was lost: it may have been applied, or may be later. Trying
    /// again with the same token can help.
    pub fn unknown_outcome(
        message: impl Into<Cow<'static, str>>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self::build(
            Kind::Unavailable,
            Applied::Unknown,
            message,
            Some(source.into()),
        )
    }

    /// The store refused for a reason that will not go away by itself (a missing table, a closed
    /// store, a permission).
    pub fn failed(
        message: impl Into<Cow<'static, str>>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self::build(Kind::Failed, Applied::No, message, Some(source.into()))
    }

    pub(crate) fn timed_out() -> Self {
        Self::build(
            Kind::Unavailable,
            Applied::Unknown,
            "the store did not answer in time",
            None,
        )
    }

    pub(crate) fn store_panicked() -> Self {
        Self::build(Kind::Failed, Applied::Unknown, "the store panicked", None)
    }

    pub(crate) fn run_ended() -> Self {
        Self::build(
            Kind::Superseded,
            Applied::No,
            "the run of this reservation has ended: nothing can be saved any more",
            None,
        )
    }

    pub(crate) fn superseded() -> Self {
        Self::build(
            Kind::Superseded,
            Applied::No,
            "the reservation was superseded: stop, another attempt owns this operation",
            None,
        )
    }

    pub(crate) fn too_late() -> Self {
        Self::build(
            Kind::TooLate,
            Applied::No,
            "the lease was over before the handler could begin: it did not run",
            None,
        )
    }

    /// The same error of a call of which an earlier send may have been applied.
    pub(crate) fn possibly_applied(mut self) -> Self {
        self.0.applied = Applied::Unknown;
        self
    }

    /// The same error of a call that was given up before it could write its record.
    pub(crate) fn not_applied(mut self) -> Self {
        self.0.applied = Applied::No;
        self
    }

    fn build(
        kind: Kind,
        applied: Applied,
        message: impl Into<Cow<'static, str>>,
        source: Option<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self(Box::new(Inner {
            kind,
            applied,
            message: message.into(),
            source,
        }))
    }

    /// Whether the failed call may have changed the store.
    pub fn applied(&self) -> Applied {
        self.0.applied
    }

    /// Whether the same call, sent again, may succeed.
    pub fn is_transient(&self) -> bool {
        matches!(self.0.kind, Kind::Unavailable | Kind::TooLate)
    }

    /// The input breaks a stated rule.
    pub fn is_invalid(&self) -> bool {
        self.0.kind == Kind::Invalid
    }

    /// Something is over a stated size limit.
    pub fn is_too_large(&self) -> bool {
        self.0.kind == Kind::TooLarge
    }

    /// The stored record cannot be read.
    pub fn is_corrupt(&self) -> bool {
        self.0.kind == Kind::Corrupt
    }

    /// The store could not be reached or did not answer.
    pub fn is_unavailable(&self) -> bool {
        self.0.kind == Kind::Unavailable
    }

    /// The store answered, but so late that the lease was over before the handler could begin: it did
    /// not run, and the reservation was given back.
    pub fn is_too_late(&self) -> bool {
        self.0.kind == Kind::TooLate
    }

    /// The reservation that this handler runs under is no longer its own: see
    /// [`Reservation::save_progress`](crate::Reservation::save_progress).
    pub fn is_superseded(&self) -> bool {
        self.0.kind == Kind::Superseded
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("applied", &self.0.applied)
            .field("message", &self.0.message)
            .field("source", &self.0.source)
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn lost() -> io::Error {
        io::Error::new(io::ErrorKind::ConnectionReset, "the line went dead")
    }

    /// Every way to make an error, with what may be concluded from it: the letters of the predicates
    /// that hold (`i`nvalid, too `l`arge, `c`orrupt, `u`navailable, `s`uperseded, `t`ransient).
    fn all() -> [(Error, Applied, &'static str, &'static str); 7] {
        let superseded = Error::build(Kind::Superseded, Applied::No, "gone", None);
        [
            (Error::invalid("no key"), Applied::No, "i", "no key"),
            (
                Error::too_large("progress", 65_537, 65_536),
                Applied::No,
                "l",
                "progress has 65537 bytes: at most 65536 are allowed",
            ),
            (Error::corrupt("a bad byte"), Applied::No, "c", "a bad byte"),
            (
                Error::unavailable("down", lost()),
                Applied::No,
                "ut",
                "down",
            ),
            (
                Error::unknown_outcome("lost", lost()),
                Applied::Unknown,
                "ut",
                "lost",
            ),
            (
                Error::failed("no table", lost()),
                Applied::No,
                "",
                "no table",
            ),
            (superseded, Applied::No, "s", "gone"),
        ]
    }

    #[test]
    fn each_kind_answers_to_its_own_predicates_only() {
        for (error, applied, letters, message) in all() {
            let predicates = [
                ('i', error.is_invalid()),
                ('l', error.is_too_large()),
                ('c', error.is_corrupt()),
                ('u', error.is_unavailable()),
                ('s', error.is_superseded()),
                ('t', error.is_transient()),
            ];
            let holding = predicates.iter().filter(|(_, holds)| *holds);
            assert_eq!(
                String::from_iter(holding.map(|(letter, _)| letter)),
                letters,
                "{error:?}"
            );
            assert_eq!(error.applied(), applied);
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn the_drivers_error_is_the_source_and_not_part_of_the_message() {
        let error = Error::unavailable("the store cannot be reached", lost());
        assert_eq!(error.to_string(), "the store cannot be reached");
        let source = error.source().unwrap();
        let driver = source.downcast_ref::<io::Error>().unwrap();
        assert_eq!(driver.kind(), io::ErrorKind::ConnectionReset);

        assert!(Error::invalid("no key").source().is_none());
    }

    #[test]
    fn debug_tells_everything_at_once() {
        let shown = format!("{:?}", Error::unknown_outcome("no answer", "cut"));
        assert_eq!(
            shown,
            r#"Error { kind: Unavailable, applied: Unknown, message: "no answer", source: Some("cut") }"#
        );
    }

    #[test]
    fn it_crosses_threads_and_is_one_word_wide() {
        fn crosses_threads<T: Send + Sync + 'static>() {}
        crosses_threads::<Error>();
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }
}
