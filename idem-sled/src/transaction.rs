//! One transaction over the records and the user's trees, as a job for a thread of the store's.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use idem_core::{CasStore, Error, Panic, Planned, RecordId};
use sled::Tree;
use sled::transaction::{
    ConflictableTransactionError, TransactionError, Transactional as _, TransactionalTree,
};
use tokio::sync::oneshot;

use crate::commits::Waiter as _;
use crate::core::{Core, Told};
use crate::engine::Engine;
use crate::large::{LargeTree, Parted, Reference};
use crate::{TreeInTransaction, store::Inner};
use crate::{effect_tree, failure};

/// How a transaction ended. Whatever is not `Committed` has changed nothing.
pub(crate) enum Ended<C, N> {
    /// On disk.
    Committed(C),
    /// There was nothing to write. What stood in the record is on disk; what was read of the user's trees may
    /// not be yet.
    Nothing(N),
}

/// Why there is no end to tell of.
pub(crate) enum Broken<E> {
    Store(Error),
    Handler(E),
    Panicked(Panic),
}

impl<E> From<Error> for Broken<E> {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// What is decided inside.
pub(crate) enum Decided<C, N> {
    /// Write this, with or without what the handler wrote.
    Write {
        planned: Planned<C>,
        with_effect: bool,
    },
    Nothing(N),
}

/// The end of a closure of sled's that is not to commit.
enum Abort<N, E> {
    Nothing(N),
    Broken(Broken<E>),
}

type Run<C, N, E> = Result<Ended<C, N>, Broken<E>>;

impl Inner {
    /// Runs `decide` on what stands under the record's key, with the trees, in one transaction of sled's. It
    /// may run more than once, and what it writes goes through the trees alone.
    ///
    /// Dropped, it goes on to its end.
    pub(crate) async fn transact<C, N, E, const T: usize>(
        self: &Arc<Self>,
        record: &RecordId,
        trees: Vec<Tree>,
        decide: impl Fn(
            &Self,
            Option<Vec<u8>>,
            [&TreeInTransaction; T],
        ) -> Result<Decided<C, N>, Broken<E>>
        + Send
        + 'static,
    ) -> Run<C, N, E>
    where
        C: Send + 'static,
        N: Send + 'static,
        E: Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let inner = Arc::clone(self);
        let record = record.clone();
        let engine = self.cas.engine();
        engine.give(Box::new(move |core| {
            run(core, &inner, &record, trees, decide, answer);
        }))?;
        let answered = engine.shared.life.or_failed(answered).await;
        answered.unwrap_or_else(|| Err(failure::broke_off().into()))
    }
}

fn run<C, N, E, const T: usize>(
    core: &Core,
    inner: &Inner,
    record: &RecordId,
    trees: Vec<Tree>,
    decide: impl Fn(
        &Inner,
        Option<Vec<u8>>,
        [&TreeInTransaction; T],
    ) -> Result<Decided<C, N>, Broken<E>>,
    answer: oneshot::Sender<Run<C, N, E>>,
) where
    C: Send + 'static,
    N: Send + 'static,
    E: Send + 'static,
{
    let key = CasStore::<Engine>::record_key(record);
    core.keep_pace();
    let writing = match core.begin(&key) {
        Ok(writing) => writing,
        Err(closed) => {
            let _ = answer.send(Err(failure::closed(closed).into()));
            return;
        }
    };
    // sled applies the trees in this order, and if it fails half-way, on a full disk, what it has applied stays.
    // An effect without its completion is then met again under the same derived key; a completion without its
    // effect would be replayed. The machine's stop may break this all the same: see the crate's front page.
    let mut all = trees;
    all.push(core.large.0.clone());
    all.push(core.records.clone());
    let ended = all.transaction(|views: &Vec<TransactionalTree>| {
        let [effects @ .., large, records] = views.as_slice() else {
            return Err(ConflictableTransactionError::Conflict);
        };
        let effects: Vec<_> = effects
            .iter()
            .cloned()
            .map(TreeInTransaction::new)
            .collect();
        // What cannot be read is an error for this key, and closes nothing.
        let (stored, replaced) = read(records, large, &key)
            .map_err(|error| abort(Abort::Broken(Broken::Store(error))))?;
        let decided = catch_unwind(AssertUnwindSafe(|| {
            let mut given = effects.iter();
            // As many as the caller named.
            let trees = std::array::from_fn(|_| given.next().expect("a view of each tree"));
            decide(inner, stored, trees)
        }));
        let decided = decided.unwrap_or_else(|panic| Err(Broken::Panicked(Panic::new(panic))));
        match decided.map_err(|broken| abort(Abort::Broken(broken)))? {
            Decided::Nothing(nothing) => Err(abort(Abort::Nothing(nothing))),
            Decided::Write {
                planned,
                with_effect,
            } => {
                for effect in effects.iter().filter(|_| with_effect) {
                    effect.apply()?;
                }
                let replaced = replaced.filter(|_| planned.writes.iter().any(|(at, _)| *at == key));
                for (key, value) in planned.writes {
                    let Some(value) = value else {
                        records.remove(key)?;
                        continue;
                    };
                    core.pace.wrote(value.len());
                    let parted = Parted::of(&key, value);
                    LargeTree::write_in(large, &key, &parted)?;
                    records.insert(key, parted.stands)?;
                }
                Ok((planned.answer, replaced))
            }
        }
    });
    let ended = ended.and_then(|(committed, replaced)| {
        // Not within: if the transaction fails half-way, the old record may stand.
        if let Some(replaced) = replaced {
            core.large.remove(&replaced, |chunk| core.wrote(chunk))?;
        }
        Ok(committed)
    });
    match ended {
        Ok(committed) => {
            let told = Told::new(move |outcome| {
                let ended = outcome.map(|()| Ended::Committed(committed));
                let _ = answer.send(ended.map_err(|why| failure::not_flushed(why).into()));
            });
            if core.immediate {
                writing.written(told);
            } else {
                drop(writing);
                told.told(Ok(()));
            }
            inner.cas.wake(record);
        }
        Err(TransactionError::Abort(Abort::Nothing(nothing))) => {
            writing.not_written();
            core.after_read(&key, move |outcome| {
                let ended = outcome.map(|()| Ended::Nothing(nothing));
                let _ = answer.send(ended.map_err(|why| failure::closed(why).into()));
            });
        }
        Err(TransactionError::Abort(Abort::Broken(broken))) => {
            writing.not_written();
            let _ = answer.send(Err(broken));
        }
        Err(TransactionError::Storage(error)) => {
            // First: whatever is there now must not pass for what is on disk.
            core.fail();
            writing.not_written();
            let _ = answer.send(Err(failure::not_written(error).into()));
        }
    }
}

/// What stands under the record's key, and what of it is in chunks.
fn read(
    records: &TransactionalTree,
    large: &TransactionalTree,
    key: &[u8],
) -> Result<(Option<Vec<u8>>, Option<Reference>), Error> {
    let not_read = |error| failure::not_read(effect_tree::storage(error));
    let Some(value) = records.get(key).map_err(not_read)? else {
        return Ok((None, None));
    };
    let Some(reference) = Reference::of(key, &value)? else {
        return Ok((Some(value.to_vec()), None));
    };
    // Nobody else writes meanwhile.
    let whole = reference
        .value(|chunk| large.get(chunk))
        .map_err(not_read)?;
    let whole = whole.ok_or_else(failure::chunks_missing)?;
    Ok((Some(whole), Some(reference)))
}

fn abort<N, E>(why: Abort<N, E>) -> ConflictableTransactionError<Abort<N, E>> {
    ConflictableTransactionError::Abort(why)
}
