//! What the driver's errors mean.

use std::fmt;

use idem_core::Error;
use redis::{ErrorKind, RedisError};

use crate::refusal::Refusal;
use crate::suspicion::Sign;

/// A call that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    cause: Cause,
    /// The driver sends again by itself: an earlier send may have been applied, whatever became of the last.
    resends: bool,
}

#[derive(Debug)]
enum Cause {
    /// The server refused.
    Refused(Refusal),
    /// There was no connection, or it was lost.
    Lost(RedisError),
    /// No answer came in time.
    Late(tokio::time::error::Elapsed),
    /// The answer is none of those that there are.
    Strange,
    /// Fewer replicas than were asked for said in time that they have it.
    Unconfirmed(Unconfirmed),
    /// Known as the caller is told it.
    Told(Error),
}

/// How many replicas have it for certain.
#[derive(Debug)]
struct Unconfirmed {
    confirmed: i64,
    wanted: u32,
}

impl fmt::Display for Unconfirmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { confirmed, wanted } = self;
        write!(f, "{confirmed} replicas of {wanted} confirmed it")
    }
}

impl std::error::Error for Unconfirmed {}

impl Failure {
    pub(crate) fn of(error: RedisError, resends: bool) -> Self {
        let cause = match Refusal::of(&error) {
            Some(refusal) => Cause::Refused(refusal),
            None if matches!(
                error.kind(),
                ErrorKind::Parse | ErrorKind::UnexpectedReturnType
            ) =>
            {
                Cause::Strange
            }
            None => Cause::Lost(error),
        };
        Self { cause, resends }
    }

    pub(crate) fn late(elapsed: tokio::time::error::Elapsed) -> Self {
        Self {
            cause: Cause::Late(elapsed),
            resends: false,
        }
    }

    /// The answer is none of those that there are.
    pub(crate) fn strange() -> Self {
        Self {
            cause: Cause::Strange,
            resends: false,
        }
    }

    /// The server has it, and too few replicas say so.
    pub(crate) fn unconfirmed(confirmed: i64, wanted: u32) -> Self {
        Self {
            cause: Cause::Unconfirmed(Unconfirmed { confirmed, wanted }),
            resends: false,
        }
    }

    /// The same of a call of which an earlier command was applied, or may have been.
    pub(crate) fn possibly_applied(mut self) -> Self {
        self.resends = true;
        self
    }

    /// The connection works, and nothing is on its way: another call may use it.
    pub(crate) fn was_answered(&self) -> bool {
        match &self.cause {
            Cause::Refused(refusal) => !refusal.sends_elsewhere(),
            Cause::Unconfirmed(_) | Cause::Told(_) => true,
            Cause::Lost(_) | Cause::Late(_) | Cause::Strange => false,
        }
    }

    /// What it says of the connection.
    pub(crate) fn sign(&self) -> Sign {
        match &self.cause {
            Cause::Refused(refusal) => match refusal.code() {
                // The driver of a cluster looks for the primary by itself.
                "READONLY" | "MASTERDOWN" if !self.resends => Sign::Wrong,
                // Also what a new connection is refused with: the driver then repeats it for ever.
                "READONLY" | "MASTERDOWN" | "ERR" | "NOPERM" | "NOAUTH" | "WRONGPASS" => {
                    Sign::Doubtful
                }
                _ => Sign::Lives,
            },
            // The driver gives it for ever.
            Cause::Lost(error) if !error.is_io_error() && !self.resends => Sign::Wrong,
            Cause::Lost(_) | Cause::Late(_) | Cause::Strange => Sign::Doubtful,
            Cause::Unconfirmed(_) | Cause::Told(_) => Sign::Lives,
        }
    }

    fn code(&self) -> Option<&str> {
        match &self.cause {
            Cause::Refused(refusal) => Some(refusal.code()),
            _ => None,
        }
    }

    /// The server does not know the script: nothing was applied.
    pub(crate) fn is_no_script(&self) -> bool {
        self.code() == Some("NOSCRIPT")
    }

    /// The server has no such command, or not with these options, or the user may not run it.
    pub(crate) fn is_not_understood(&self) -> bool {
        matches!(self.code(), Some("ERR" | "NOPERM"))
    }

    /// The server takes no writes now, whatever is written. It may have an answer to give.
    pub(crate) fn is_of_all_writes(&self) -> bool {
        matches!(
            self.code(),
            Some("OOM" | "NOREPLICAS" | "MISCONF" | "READONLY")
        )
    }

    /// As the caller is told.
    pub(crate) fn into_error(self) -> Error {
        match self.cause {
            Cause::Refused(refusal) => refusal.into_error(self.resends),
            Cause::Lost(error) => lost(error, self.resends),
            Cause::Late(elapsed) => Error::unknown_outcome("Redis did not answer in time", elapsed),
            Cause::Strange => Error::unknown_outcome(
                "the answer of Redis cannot be read",
                Refusal::called("something unexpected"),
            ),
            Cause::Unconfirmed(unconfirmed) => Error::unknown_outcome(
                "too few replicas have confirmed it in time: the same call again waits again",
                unconfirmed,
            ),
            Cause::Told(error) => error,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            cause: Cause::Told(error),
            resends: false,
        }
    }
}

fn lost(error: RedisError, resends: bool) -> Error {
    match error.kind() {
        ErrorKind::AuthenticationFailed => Refusal::called("WRONGPASS").into_error(resends),
        ErrorKind::InvalidClientConfig => Error::failed("the address of Redis is not right", error),
        // A connection that was never made carried nothing; unless there was another before it.
        _ if error.is_connection_refusal() && !resends => {
            Error::unavailable("no connection to Redis", error)
        }
        _ => Error::unknown_outcome("the connection to Redis was lost", error),
    }
}

/// A connection that could not be had: nothing was sent.
pub(crate) fn of_connection(error: RedisError) -> Error {
    match Refusal::of(&error) {
        Some(refusal) => refusal.into_error(false),
        None => match error.kind() {
            ErrorKind::AuthenticationFailed | ErrorKind::InvalidClientConfig => lost(error, false),
            _ => Error::unavailable("no connection to Redis", error),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use idem_core::Applied;
    use redis::parse_redis_value;

    use super::*;

    fn said(line: &str) -> RedisError {
        let value = parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap();
        value.extract_error().unwrap_err()
    }

    #[test]
    fn a_refusal_says_that_nothing_was_applied_and_whether_it_may_pass() {
        for (line, passes) in [
            ("NOAUTH Authentication required.", false),
            ("WRONGPASS invalid username-password pair", false),
            ("NOPERM this user has no permissions", false),
            (
                "CROSSSLOT Keys in request don't hash to the same slot",
                false,
            ),
            ("MOVED 3999 127.0.0.1:6381", false),
            (
                "OOM command not allowed when used memory > 'maxmemory'.",
                true,
            ),
            (
                "READONLY You can't write against a read only replica.",
                true,
            ),
            ("LOADING Redis is loading the dataset in memory", true),
            ("MISCONF Errors writing to the AOF file", true),
            ("NOREPLICAS Not enough good replicas to write.", true),
            ("BUSY Redis is busy running a script.", true),
            ("CLUSTERDOWN The cluster is down", true),
            (
                "ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed",
                true,
            ),
            (
                "ERR The user executing the script can't run this command script: 1, on @user_script:1.",
                false,
            ),
            (
                "ERR The user executing the script can't run this command or subcommand",
                false,
            ),
            (
                "ERR ACL failure in script: User default has no permissions script: 1, on @user_script:1.",
                false,
            ),
            ("ERR unknown command", false),
        ] {
            let error = Failure::of(said(line), false).into_error();
            assert_eq!(error.applied(), Applied::No, "{line}");
            assert_eq!(error.is_transient(), passes, "{line}");
            // A client that sends again may have been applied before it was refused.
            let error = Failure::of(said(line), true).into_error();
            assert_eq!(error.applied(), Applied::Unknown, "{line}");
        }
        assert!(
            Failure::of(said("WRONGTYPE Operation"), true)
                .into_error()
                .is_corrupt()
        );
    }

    #[test]
    fn a_lost_connection_is_unknown_and_one_that_was_never_made_is_not() {
        let of = |kind: io::ErrorKind, resends| {
            let error = RedisError::from(io::Error::from(kind));
            Failure::of(error, resends).into_error().applied()
        };
        assert_eq!(of(io::ErrorKind::ConnectionReset, false), Applied::Unknown);
        assert_eq!(of(io::ErrorKind::TimedOut, false), Applied::Unknown);
        assert_eq!(of(io::ErrorKind::ConnectionRefused, false), Applied::No);
        assert_eq!(of(io::ErrorKind::ConnectionRefused, true), Applied::Unknown);
    }

    #[test]
    fn nothing_that_the_server_quotes_is_repeated() {
        let line =
            "ERR unknown command 'EVALSHA', with args beginning with: 'idem:acct_812:order-17'";
        let error = Failure::of(said(line), false).into_error();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("order-17"), "{shown}");
    }
}
