//! Answers that wait until replicas have what they rest on.
//!
//! `WAIT` counts the replicas that have acknowledged the last write **of the connection that asks**: on one that has
//! written nothing it is answered at once, and says nothing. So call and `WAIT` go over one connection that no other
//! call uses meanwhile, and straight to the node that has the record; it is never made anew in between. A call that
//! only read what an earlier one had written, as a replay does, writes a mark first: it stands behind that earlier
//! write in the one stream that replicas follow, so that who has it has both. (Redis 7.0 takes reads for writes here;
//! its docs promise no such thing.)

use std::sync::Arc;
use std::time::Duration;

use idem_core::{Completion, Error, Outcome, Update};
use redis::Value;

use crate::RedisStore;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::lines::{Line, Lines};
use crate::value;

/// How long a mark is remembered, in milliseconds. Nobody reads it.
const MARK: u64 = 1000;

/// Writes one. `GETEX` counts as the first write of the script: a server that is full takes those after it, and what
/// is recorded can still be replayed there.
const WRITE_MARK: &str =
    "redis.call('GETEX', KEYS[1]) return redis.call('SET', KEYS[1], '', 'PX', ARGV[1])";

/// How many replicas, and for how long they are waited for.
pub(crate) struct Replicas {
    pub(crate) wanted: u32,
    within: Duration,
    lines: Arc<Lines>,
}

impl RedisStore {
    /// The same, but every answer that lets something run, or tells what was recorded, is given only once `replicas`
    /// replicas have what it rests on: a reservation, a completion, a renewal, an abandoning, a release, and each
    /// replay. A conflict, a mismatch and a superseded write are answered at once.
    ///
    /// What was not confirmed `within` that time is of unknown outcome and
    /// [transient](idem_core::Error::is_transient): the server has it, too few replicas are known to. The same call
    /// again waits again, and is answered by what stands. The executor does so by itself, for as long as it
    /// [resends](idem_core::Builder::store_timeouts).
    ///
    /// **This narrows what a failover loses; Redis does not become consistent by it.** A failover may elect a replica
    /// that was not among those that confirmed. With as many as each primary has, none is left that was not; but then
    /// nothing is answered while one of them is away. A replica confirms what it has in memory, not on its disk: if
    /// it and the primary crash, the append-only files decide.
    ///
    /// Each call then goes over a connection that no other call uses meanwhile, up to 32 to a node, made when they
    /// are needed; more calls than that wait for their turn. One that was lost meanwhile is noticed by the next call,
    /// which is then of unknown outcome. It costs one round trip more, and the time until the
    /// replicas have answered. Keep `within` below [`Limits::answer`](crate::Limits::answer), which ends the call
    /// in any case. A count that is never reached leaves every call without an answer.
    ///
    /// ```no_run
    /// # use idem_redis::*;
    /// # use std::time::Duration;
    /// # async fn open() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = RedisStore::new(Connection::open("redis://redis.internal:6379").await?)
    ///     .wait_replicas(1, Duration::from_millis(500))?;
    /// # Ok(()) }
    /// ```
    ///
    /// Dropped during the wait, a call was applied, and nobody knows by how many replicas; its connection is closed.
    ///
    /// # Errors
    /// [Invalid](Error::is_invalid) if the count or the time is zero, or if the connection was not made by
    /// [`Connection::open`] or [`Connection::open_cluster`]: the driver's own do not say where they lead to.
    pub fn wait_replicas(mut self, replicas: u32, within: Duration) -> Result<Self, Error> {
        if replicas == 0 || within.is_zero() {
            return Err(Error::invalid(
                "to wait for replicas takes at least one of them, and some time",
            ));
        }
        let Some(lines) = Lines::beside(&self.connection) else {
            return Err(Error::invalid(
                "to wait for replicas takes connections of the store's own: make the first by Connection::open \
                 or Connection::open_cluster",
            ));
        };
        self.replicas = Some(Arc::new(Replicas {
            wanted: replicas,
            within,
            lines: Arc::new(lines),
        }));
        Ok(self)
    }

    /// What a call goes over.
    pub(crate) async fn way(&self, name: &str) -> Result<Way<'_>, Failure> {
        match &self.replicas {
            None => Ok(Way::Shared(&self.connection)),
            Some(replicas) => {
                let line = replicas.lines.take(name).await?;
                Ok(Way::Own(replicas, Box::new(line)))
            }
        }
    }
}

/// The connection for one call.
pub(crate) enum Way<'a> {
    /// That of all calls; nothing is waited for.
    Shared(&'a Connection),
    /// One of its own.
    Own(&'a Replicas, Box<Line>),
}

/// What an answer rests on, and replicas must have before it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestsOn {
    /// It lets nothing run, and tells nothing.
    Nothing,
    /// This very call wrote it.
    OurWrite,
    /// An earlier call wrote it, or may have.
    EarlierWrite,
}

impl Way<'_> {
    pub(crate) fn connection(&self) -> &Connection {
        match self {
            Self::Shared(connection) => connection,
            Self::Own(_, line) => &line.connection,
        }
    }

    /// Gives the answer once it may be given; the connection goes to the next call, if it can.
    pub(crate) async fn answer<T>(
        self,
        asked: Result<T, Failure>,
        rests: fn(&T) -> RestsOn,
        mark: &str,
    ) -> Result<T, Failure> {
        let (replicas, line) = match self {
            Self::Shared(_) => return asked,
            Self::Own(replicas, line) => (replicas, line),
        };
        let answered = match asked {
            Ok(answer) => match replicas.confirm(&line, rests(&answer), mark).await {
                Ok(()) => Ok(answer),
                // Whatever became of the wait: the call itself was applied.
                Err(failure) => Err(failure.possibly_applied()),
            },
            Err(failure) => Err(line.failed(failure)),
        };
        line.done(answered.as_ref().err());
        answered
    }
}

impl Replicas {
    async fn confirm(&self, line: &Line, rests: RestsOn, mark: &str) -> Result<(), Failure> {
        let mut commands = redis::pipe();
        match rests {
            RestsOn::Nothing => return Ok(()),
            RestsOn::OurWrite => {}
            RestsOn::EarlierWrite => {
                commands
                    .cmd("EVAL")
                    .arg(WRITE_MARK)
                    .arg(1)
                    .arg(mark)
                    .arg(MARK);
            }
        }
        // Never zero: that would be without end.
        let within = value::millis(self.within);
        commands.cmd("WAIT").arg(self.wanted).arg(within);
        let answers = line.connection.ask_in_a_row(commands, mark).await?;
        if let Some(refused) = answers.iter().find_map(|it| line.connection.refusal(it)) {
            return Err(refused);
        }
        match answers.last() {
            Some(Value::Int(confirmed)) if *confirmed >= i64::from(self.wanted) => Ok(()),
            Some(Value::Int(confirmed)) => Err(Failure::unconfirmed(*confirmed, self.wanted)),
            _ => Err(Failure::strange()),
        }
    }
}

impl RestsOn {
    pub(crate) fn of_outcome(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Reserved { .. } => Self::OurWrite,
            Outcome::Replay(_) => Self::EarlierWrite,
            Outcome::Conflict { .. } | Outcome::Mismatch => Self::Nothing,
        }
    }

    pub(crate) fn of_completion(completion: &Completion) -> Self {
        match completion {
            Completion::Completed { .. } => Self::OurWrite,
            Completion::AlreadyCompleted(_) => Self::EarlierWrite,
            Completion::Superseded => Self::Nothing,
        }
    }

    pub(crate) fn of_renewal(update: &Update) -> Self {
        match update {
            Update::Done => Self::OurWrite,
            Update::AlreadyCompleted(_) => Self::EarlierWrite,
            Update::Superseded => Self::Nothing,
        }
    }

    /// Of an abandoning or a release: sent again, it finds its work done and writes nothing.
    pub(crate) fn of_ending(_: &Update) -> Self {
        Self::EarlierWrite
    }
}
