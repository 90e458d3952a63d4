//! Calls and replies as a person reads them: what failing laws print.

use std::fmt;
use std::time::Duration;

use idem_core::{
    Answer, Completion, Condition, Fingerprint, Holder, Outcome, Progress, RecordId, RecordInfo,
    Replay, Terms, Token, Update,
};

use crate::call::{Call, Reply};

/// Shows what it holds in plain words.
pub(crate) struct Plain<T>(pub(crate) T);

/// The token of this number: shown by its number.
pub(crate) fn token(number: u64) -> Token {
    Token::from_bytes(u128::from(number).to_be_bytes())
}

impl fmt::Display for Plain<&Token> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match u64::try_from(u128::from_be_bytes(*self.0.as_bytes())) {
            Ok(number) => write!(f, "token {number}"),
            Err(_) => write!(f, "{:?}", self.0),
        }
    }
}

impl fmt::Display for Plain<Duration> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = self.0.as_secs() / 60;
        if self.0 != Duration::from_secs(minutes * 60) {
            write!(f, "{:?}", self.0)
        } else {
            write!(f, "{} h {:02}", minutes / 60, minutes % 60)
        }
    }
}

impl fmt::Display for Plain<&RecordId> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scope = String::from_utf8_lossy(self.0.scope.as_bytes());
        write!(f, "({scope}, {})", self.0.key.as_str())
    }
}

impl fmt::Display for Plain<&Holder> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holder = self.0;
        let (record, token) = (Plain(&holder.record), Plain(&holder.token));
        write!(f, "{record} by {token}, attempt {}", holder.attempt)
    }
}

impl fmt::Display for Plain<&Fingerprint> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = ["a", "b"].into_iter();
        match known
            .into_iter()
            .find(|what| Fingerprint::raw(what) == *self.0)
        {
            Some(what) => f.write_str(what),
            None => write!(f, "{:02x?}", &self.0.as_bytes()[..4]),
        }
    }
}

impl fmt::Display for Plain<Terms> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lease, retention) = (Plain(self.0.lease()), Plain(self.0.retention()));
        write!(f, "lease {lease}, retention {retention}")
    }
}

impl fmt::Display for Plain<&Answer> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Answer::Full(response) => {
                let body = String::from_utf8_lossy(response.body_bytes());
                write!(f, "{} {body:?}", response.status())
            }
            Answer::NotRetained {
                status,
                body_length,
            } => write!(f, "{status} without its {body_length} bytes"),
        }
    }
}

impl fmt::Display for Plain<Option<&Progress>> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(progress) => {
                let text = String::from_utf8_lossy(progress.as_bytes());
                write!(f, "progress {text:?}")
            }
            None => f.write_str("no progress"),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reserve(request) => {
                let record = Plain(&request.operation.record);
                let what = Plain(&request.operation.fingerprint);
                let (token, terms) = (Plain(&request.token), Plain(request.terms));
                let again = if request.resend { " again" } else { "" };
                write!(f, "reserve{again} {record} by {token} asking {what}: ")?;
                write!(f, "{terms}, {:?}", request.on_lapse)?;
                match request.longest_age {
                    Some(age) => write!(f, ", longest age {}", Plain(age)),
                    None => Ok(()),
                }
            }
            Self::Complete(holder, answer) => {
                write!(f, "complete {} with {}", Plain(holder), Plain(answer))
            }
            Self::Renew(holder, terms, progress) => {
                let progress = Plain(progress.as_ref());
                write!(f, "renew {}: {}, {progress}", Plain(holder), Plain(*terms))
            }
            Self::Abandon(holder) => write!(f, "abandon {}", Plain(holder)),
            Self::Release(holder) => write!(f, "release {}", Plain(holder)),
            Self::Get(record) => write!(f, "get {}", Plain(record)),
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reserve(Outcome::Reserved { attempt, progress }) => {
                write!(
                    f,
                    "reserved, attempt {attempt}, {}",
                    Plain(progress.as_ref())
                )
            }
            Self::Reserve(Outcome::Replay(replay)) => write!(f, "replay of {}", Plain(replay)),
            Self::Reserve(Outcome::Conflict { retry_after }) => match retry_after {
                Some(hint) => write!(f, "conflict, retry after {}", Plain(*hint)),
                None => f.write_str("conflict, unresolved"),
            },
            Self::Reserve(Outcome::Mismatch) => f.write_str("mismatch"),
            Self::Complete(Completion::Completed { remembered_for }) => {
                write!(f, "completed, remembered for {}", Plain(*remembered_for))
            }
            Self::Complete(Completion::AlreadyCompleted(replay))
            | Self::Update(Update::AlreadyCompleted(replay)) => {
                write!(f, "already completed: {}", Plain(replay))
            }
            Self::Complete(Completion::Superseded) | Self::Update(Update::Superseded) => {
                f.write_str("superseded")
            }
            Self::Update(Update::Done) => f.write_str("done"),
            Self::Get(None) => f.write_str("absent"),
            Self::Get(Some(info)) => write!(f, "{}", Plain(info)),
        }
    }
}

impl fmt::Display for Plain<&Replay> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = Plain(self.0.remembered_for);
        write!(f, "{}, remembered for {left}", Plain(&self.0.answer))
    }
}

impl fmt::Display for Plain<&RecordInfo> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.0;
        let what = Plain(&info.operation.fingerprint);
        write!(f, "{} asking {what}: ", Plain(&info.holder))?;
        match &info.condition {
            Condition::Live { lease_left } => write!(f, "live for {}", Plain(*lease_left)),
            Condition::Lapsed { ago } => write!(f, "lapsed {} ago", Plain(*ago)),
            Condition::Unresolved { ago } => write!(f, "unresolved since {} ago", Plain(*ago)),
            Condition::Abandoned { ago } => write!(f, "abandoned {} ago", Plain(*ago)),
            Condition::Completed(answer) => write!(f, "completed with {}", Plain(answer)),
            other => write!(f, "{other:?}"),
        }?;
        let started = if info.started {
            "started"
        } else {
            "not started"
        };
        write!(f, ", {started}, {:?}, ", info.on_lapse)?;
        write!(f, "{}, ", Plain(info.progress.as_ref()))?;
        let (first, last) = (info.first_reserved_ago, info.last_reserved_ago);
        write!(
            f,
            "first reserved {} ago, last {} ago, ",
            Plain(first),
            Plain(last)
        )?;
        match info.remembered_for {
            Some(left) => write!(f, "remembered for {}", Plain(left)),
            None => f.write_str("kept until resolved"),
        }
    }
}
