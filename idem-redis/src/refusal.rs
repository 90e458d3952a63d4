//! What a server's refusals mean.

use std::fmt;

use idem_core::Error;
use redis::RedisError;

/// What the server called its refusal. Its words are left out: they may quote the command, and with it the key.
#[derive(Debug)]
pub(crate) struct Refusal {
    code: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redis answered {}", self.code)
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    /// What the server called its refusal, if it was the server.
    pub(crate) fn of(error: &RedisError) -> Option<Self> {
        let errors = error.clone().into_server_errors()?;
        let (_, error) = errors.first()?;
        // What fails within a script may be told in the words of a script that failed, or in the command's own.
        if error.code() == "ERR"
            && let Some(words) = error.details()
            && let Some((_, code)) = WITHIN_SCRIPTS.iter().find(|(said, _)| {
                words.starts_with(said) || (words.contains("user_script") && words.contains(said))
            })
        {
            return Some(Self::called(code));
        }
        Some(Self::called(error.code()))
    }

    pub(crate) fn called(code: &str) -> Self {
        let code = code.to_owned();
        Self { code }
    }

    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// The server is not, or no longer, the one to ask.
    pub(crate) fn sends_elsewhere(&self) -> bool {
        ELSEWHERE.contains(&self.code())
    }

    /// The server said no, and did nothing: a script writes once, at its end.
    pub(crate) fn into_error(self, resends: bool) -> Error {
        let (said, passes) = match self.code() {
            "WRONGTYPE" => {
                return Error::corrupt("the record cannot be read: it is not a string");
            }
            "NOAUTH" | "WRONGPASS" => (
                "Redis refused the user or its password, or wants one: check them in the URL",
                false,
            ),
            "NOPERM" => (
                "the user may not run a command that the store needs: see the crate's docs for which they are",
                false,
            ),
            "CROSSSLOT" => ("Redis took one record for several slots", false),
            "MOVED" | "ASK" if resends => ("another node of the cluster has this record now", true),
            "MOVED" | "ASK" => (
                "the server is a node of a cluster, and another one has this record: open a cluster connection",
                false,
            ),
            "OOM" => (
                "Redis is out of memory: nothing can be reserved or recorded until maxmemory is raised or \
             something is removed",
                true,
            ),
            "READONLY" => (
                "the server takes no writes, it is a replica: connect to the primary",
                true,
            ),
            "LOADING" => ("Redis is loading its data", true),
            "MISCONF" => (
                "Redis takes no writes, since it cannot save them to its disk",
                true,
            ),
            "NOREPLICAS" => ("Redis takes no writes without its replicas", true),
            "BUSY" => ("Redis is busy with somebody's long script", true),
            "CLUSTERDOWN" | "MASTERDOWN" | "TRYAGAIN" => ("the cluster is not whole", true),
            _ => ("Redis refused a command", false),
        };
        match (resends, passes) {
            (true, _) => Error::unknown_outcome(said, self),
            (false, true) => Error::unavailable(said, self),
            (false, false) => Error::failed(said, self),
        }
    }
}

const ELSEWHERE: [&str; 6] = [
    "MOVED",
    "ASK",
    "READONLY",
    "CLUSTERDOWN",
    "MASTERDOWN",
    "UNBLOCKED",
];

/// Words, and the code that they stand for.
const WITHIN_SCRIPTS: [(&str, &str); 6] = [
    ("-OOM", "OOM"),
    ("-MISCONF", "MISCONF"),
    ("-READONLY", "READONLY"),
    ("-NOREPLICAS", "NOREPLICAS"),
    ("The user executing the script can't", "NOPERM"),
    ("ACL failure in script", "NOPERM"),
];
