//! The store: each call is one script on one key.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use idem_core::{
    Answer, Completion, Error, Holder, IdempotencyStore, Outcome, Progress, RecordId,
    ReserveRequest, Terms, Update,
};
use redis::Value;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::name::Prefix;
use crate::replicas::{Replicas, RestsOn};
use crate::script::{Step, Steps};
use crate::{reply, value, wait};

/// The store: see the [crate's front page](crate). Clones share everything.
#[derive(Clone)]
pub struct RedisStore {
    pub(crate) connection: Connection,
    pub(crate) prefix: Prefix,
    pub(crate) steps: Arc<Steps>,
    /// Whether the native command is tried first.
    native: Arc<AtomicBool>,
    /// Whom answers wait for.
    pub(crate) replicas: Option<Arc<Replicas>>,
}

/// The largest answer that is kept, in bytes: half of what Redis takes for one value by default.
const LARGEST_ANSWER: usize = 256 << 20;

impl RedisStore {
    /// A store under the prefix `idem`. Nothing is sent.
    pub fn new(connection: impl Into<Connection>) -> Self {
        Self {
            connection: connection.into(),
            prefix: Prefix::default(),
            steps: Arc::new(Steps::new()),
            native: Arc::new(AtomicBool::new(true)),
            replicas: None,
        }
    }

    /// The same under another prefix: as good as another store.
    #[must_use]
    pub fn with_prefix(mut self, prefix: Prefix) -> Self {
        self.prefix = prefix;
        self
    }

    /// The same without `SET … NX GET`: all is done by scripts. For comparison, and for servers behind a proxy
    /// that has notions of its own of that command. Stores with it and without share their records.
    #[must_use]
    pub fn without_native(mut self) -> Self {
        self.native = Arc::new(AtomicBool::new(false));
        self
    }

    pub(crate) async fn run(
        &self,
        step: &Step,
        record: &RecordId,
        arguments: &[&[u8]],
    ) -> Result<Value, Error> {
        let name = self.prefix.of_record(record);
        let asked = step.run(&self.connection, &name, arguments);
        self.connection
            .in_limit(asked)
            .await
            .map_err(Failure::into_error)
    }

    /// A write of who holds the record: it names token and attempt.
    async fn write<T>(
        &self,
        (step, more): (&Step, &[&[u8]]),
        holder: &Holder,
        read: fn(Value) -> Result<T, Error>,
        rests: fn(&T) -> RestsOn,
    ) -> Result<T, Error> {
        let name = self.prefix.of_record(&holder.record);
        let attempt = holder.attempt.to_string();
        let mut arguments: Vec<&[u8]> = vec![holder.token.as_bytes(), attempt.as_bytes()];
        arguments.extend(more);
        let writing = async {
            let way = self.way(&name).await?;
            let asked = step.run(way.connection(), &name, &arguments).await;
            let asked = asked.and_then(|value| Ok(read(value)?));
            way.answer(asked, rests, &self.prefix.of_mark(&name)).await
        };
        let written = self.connection.in_limit(writing).await;
        written.map_err(Failure::into_error)
    }

    /// A new key, or an answer with the same fingerprint; `None` for everything else, and then nothing was written.
    ///
    /// `SET` with `NX` and `GET` writes the value if there is none, and gives the value that there is otherwise. That
    /// may be this very try, sent before: then the script finds its token in it. `TIME` comes after it, on the same
    /// node: what the answer says of the time that is left held at a moment within this call, as it would of a script.
    async fn reserve_natively(
        &self,
        connection: &Connection,
        name: &str,
        request: &ReserveRequest,
    ) -> Result<Option<Outcome>, Failure> {
        let mut commands = redis::pipe();
        let set = commands.cmd("SET").arg(name).arg(value::native(request));
        set.arg("NX").arg("GET").arg("PX");
        set.arg(value::millis(request.terms.retention()));
        commands.cmd("TIME");
        let answers = connection.ask_in_a_row(commands, name).await?;
        let [set, time] = &answers[..] else {
            return Err(Failure::strange());
        };
        if let Some(refused) = connection.refusal(set) {
            return Err(refused);
        }
        match set {
            Value::Nil => Ok(Some(value::RESERVED)),
            Value::BulkString(found) => {
                let replay = |now| value::replay(found, &request.operation.fingerprint, now);
                Ok(reply::time(time).and_then(replay).map(Outcome::Replay))
            }
            _ => Err(Failure::strange()),
        }
    }

    /// By the native command, and by the script where that does not decide.
    async fn reserve_either_way(
        &self,
        connection: &Connection,
        name: &str,
        request: &ReserveRequest,
    ) -> Result<Outcome, Failure> {
        if self.native.load(Ordering::Relaxed) {
            match self.reserve_natively(connection, name, request).await {
                Ok(Some(outcome)) => return Ok(outcome),
                Ok(None) => {}
                Err(failure) if failure.is_not_understood() => {
                    // Before Redis 7: it is not asked again.
                    self.native.store(false, Ordering::Relaxed);
                }
                // It would write nothing for a replay, but is refused for being a write. A script reads first. What it
                // says of a record in flight is left out: that of a replica may be long past.
                Err(refused) if refused.is_of_all_writes() => {
                    let asked = self.reserve_by_script(connection, name, request).await;
                    return match asked {
                        Ok(Outcome::Conflict { .. } | Outcome::Mismatch) => Err(refused),
                        asked => asked,
                    };
                }
                Err(failure) => return Err(failure),
            }
        }
        self.reserve_by_script(connection, name, request).await
    }

    /// Whatever the record is: the script decides.
    async fn reserve_by_script(
        &self,
        connection: &Connection,
        name: &str,
        request: &ReserveRequest,
    ) -> Result<Outcome, Failure> {
        let hold = match request.on_lapse {
            idem_core::OnLapse::RunAgain => "0",
            idem_core::OnLapse::Hold => "1",
        };
        let longest_age = request.longest_age.map(number).unwrap_or_default();
        let (lease, retention) = (
            number(request.terms.lease()),
            number(request.terms.retention()),
        );
        let arguments: [&[u8]; 6] = [
            request.token.as_bytes(),
            &value::fingerprint(&request.operation.fingerprint),
            lease.as_bytes(),
            retention.as_bytes(),
            hold.as_bytes(),
            longest_age.as_bytes(),
        ];
        let reserved = self.steps.reserve.run(connection, name, &arguments).await?;
        Ok(reply::outcome(reserved)?)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl IdempotencyStore for RedisStore {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        let name = self.prefix.of_record(&request.operation.record);
        let reserving = async {
            let way = self.way(&name).await?;
            let asked = self
                .reserve_either_way(way.connection(), &name, request)
                .await;
            let mark = self.prefix.of_mark(&name);
            way.answer(asked, RestsOn::of_outcome, &mark).await
        };
        let reserved = self.connection.in_limit(reserving).await;
        reserved.map_err(Failure::into_error)
    }

    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
        if let Answer::Full(response) = answer
            && response.encoded_len() > LARGEST_ANSWER
        {
            let length = response.encoded_len() as u64;
            return Err(Error::too_large(
                "the answer",
                length,
                LARGEST_ANSWER as u64,
            ));
        }
        let answer = value::answer(answer);
        let step: (_, &[&[u8]]) = (&self.steps.complete, &[&answer]);
        self.write(step, holder, reply::completion, RestsOn::of_completion)
            .await
    }

    async fn renew(
        &self,
        holder: &Holder,
        terms: Terms,
        progress: Option<&Progress>,
    ) -> Result<Update, Error> {
        let progress = progress.map(value::progress).unwrap_or_default();
        let (lease, retention) = (number(terms.lease()), number(terms.retention()));
        let more: [&[u8]; 3] = [lease.as_bytes(), retention.as_bytes(), &progress];
        let step: (_, &[&[u8]]) = (&self.steps.renew, &more);
        self.write(step, holder, reply::update, RestsOn::of_renewal)
            .await
    }

    async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
        let step: (_, &[&[u8]]) = (&self.steps.abandon, &[]);
        self.write(step, holder, reply::update, RestsOn::of_ending)
            .await
    }

    async fn release(&self, holder: &Holder) -> Result<Update, Error> {
        let step: (_, &[&[u8]]) = (&self.steps.release, &[]);
        self.write(step, holder, reply::update, RestsOn::of_ending)
            .await
    }

    async fn changed(&self, record: &RecordId, within: Duration) {
        wait::changed(self, record, within).await;
    }
}

fn number(duration: Duration) -> String {
    value::millis(duration).to_string()
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("connection", &self.connection)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}
