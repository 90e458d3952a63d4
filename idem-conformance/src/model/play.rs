//! Plays a script on a store and on the specification, side by side.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use idem_core::{
    Answer, Cursor, Fingerprint, Holder, Operation, Outcome, Progress, RecordId, ReserveRequest,
    Response,
};

use super::script::{Reserve, Script, Step, Who, Write};
use super::specification::{Specification, records};
use crate::agree::Precision;
use crate::call::{Call, Reply};
use crate::readable::{Plain, token};
use crate::{Harness, Store};

/// Plays `script` on a store of its own. `Err`: what was played, and how the store differs at the end
/// of it.
pub(super) async fn play<H: Harness>(script: Script, precision: Precision) -> Result<(), String> {
    let harness = H::open().await;
    let mut play = Play {
        store: harness.store(),
        specification: Specification::default(),
        precision,
        reserved: HashMap::new(),
        played: String::new(),
    };
    for (number, step) in script.iter().enumerate() {
        let result = match step {
            Step::Advance(by) => {
                harness.advance(*by).await;
                play.specification.advance(*by);
                play.note(number, format_args!("{} pass", Plain(*by)));
                Ok(())
            }
            step => play.step(number, step).await,
        };
        let result = match result {
            Ok(()) => play.look_at_every_record().await,
            fault => fault,
        };
        if let Err(fault) = result {
            return Err(format!("{}{fault}", play.played));
        }
    }
    Ok(())
}

struct Play {
    store: Arc<dyn Store>,
    specification: Specification,
    precision: Precision,
    /// Everybody to whom a record was given, in turn.
    reserved: HashMap<RecordId, Vec<Holder>>,
    played: String,
}

impl Play {
    async fn step(&mut self, number: usize, step: &Step) -> Result<(), String> {
        match step {
            Step::Reserve(reserve) => self.call(number, reserve.call()).await,
            Step::Write(record, who, write) => {
                let holder = self.who(&records()[*record], *who);
                self.call(number, write.call(holder, number)).await
            }
            Step::Lapsed(page) => self.walk_through_the_lapsed(number, *page).await,
            Step::Purge(limit) => self.purge(number, *limit).await,
            Step::Advance(_) => Ok(()),
        }
    }

    async fn call(&mut self, number: usize, call: Call) -> Result<(), String> {
        let expected = self.specification.call(&call);
        self.note(number, format_args!("{call}"));
        let seen = call.send(&*self.store).await.map_err(|error| {
            format!("   the store failed: {error:?}\n   expected: {expected}\n")
        })?;
        if !self.precision.agree(&seen, &expected) {
            return Err(format!("   seen:     {seen}\n   expected: {expected}\n"));
        }
        if let (Call::Reserve(request), Reply::Reserve(Outcome::Reserved { attempt, .. })) =
            (&call, &expected)
        {
            let record = request.operation.record.clone();
            let holder = Holder::new(record.clone(), request.token, *attempt);
            self.reserved.entry(record).or_default().push(holder);
        }
        Ok(())
    }

    fn who(&self, record: &RecordId, who: Who) -> Holder {
        let stranger = Holder::new(record.clone(), token(9), 1);
        let reserved = self.reserved.get(record).map_or(&[][..], Vec::as_slice);
        let former = |back| reserved.iter().rev().nth(back).cloned();
        let holder = || self.specification.get(record).map(|info| info.holder);
        match who {
            Who::Holder => holder().or_else(|| former(0)).unwrap_or(stranger),
            Who::Former(back) => former(back).unwrap_or(stranger),
            Who::OtherAttempt => holder().map_or(stranger, |holder| Holder {
                attempt: if holder.attempt == 1 {
                    2
                } else {
                    holder.attempt - 1
                },
                ..holder
            }),
            Who::Stranger => stranger,
        }
    }

    async fn look_at_every_record(&self) -> Result<(), String> {
        for record in records() {
            let seen = Call::Get(record.clone()).send(&*self.store).await;
            let seen = seen.map_err(|error| format!("   get failed: {error:?}\n"))?;
            let expected = Reply::Get(self.specification.get(&record));
            if !self.precision.agree(&seen, &expected) {
                let record = Plain(&record);
                return Err(format!(
                    "   then {record}\n   is:        {seen}\n   should be: {expected}\n"
                ));
            }
        }
        Ok(())
    }

    async fn walk_through_the_lapsed(&mut self, number: usize, page: usize) -> Result<(), String> {
        self.note(
            number,
            format_args!("walk through the lapsed records, {page} a page"),
        );
        let mut after: Option<Cursor> = None;
        let mut seen = Vec::new();
        loop {
            let found = self.store.lapsed(after.as_ref(), page).await;
            let found = found.map_err(|error| format!("   lapsed failed: {error:?}\n"))?;
            if found.records.len() > page || found.records.is_empty() && found.next.is_some() {
                return Err(format!("   a page of {} records\n", found.records.len()));
            }
            seen.extend(found.records);
            after = found.next;
            if after.is_none() || seen.len() > records().len() {
                break;
            }
        }
        let expected = records().into_iter();
        let expected = expected
            .filter(|record| self.specification.lapsed_since(record).is_some())
            .count();
        let mut since = None;
        let mut fault = (seen.len() != expected).then(|| format!("expected {expected} of them"));
        for info in &seen {
            let record = &info.operation.record;
            let lapsed_since = self.specification.lapsed_since(record);
            let shown = self.specification.get(record);
            if lapsed_since.is_none() || lapsed_since < since {
                fault = Some(format!("{} does not belong there", Plain(record)));
            } else if !shown.is_some_and(|expected| self.precision.info(info, &expected)) {
                fault = Some(format!("{} is not shown as it is", Plain(record)));
            }
            since = lapsed_since;
        }
        fault.map_or(Ok(()), |fault| {
            let seen: String = seen
                .iter()
                .map(|info| format!("   {}\n", Plain(info)))
                .collect();
            Err(format!("{seen}   {fault}\n"))
        })
    }

    async fn purge(&mut self, number: usize, limit: usize) -> Result<(), String> {
        self.note(
            number,
            format_args!("purge all that is expired, {limit} a call"),
        );
        let expired = self.specification.expired();
        let mut removed = 0;
        // One more call than needed may find that nothing is left.
        for _ in 0..=expired {
            let purged = self.store.purge_expired(limit).await;
            let purged = purged.map_err(|error| format!("   the purge failed: {error:?}\n"))?;
            removed += purged.removed;
            if purged.removed > limit || removed > expired {
                return Err(format!("   {purged:?}, of {expired} expired\n"));
            }
            if !purged.more {
                self.specification.purge();
                return Ok(());
            }
        }
        Err(format!("   it does not end; {expired} were expired\n"))
    }

    fn note(&mut self, number: usize, what: std::fmt::Arguments<'_>) {
        let now = Plain(self.specification.now());
        // Writing to a string cannot fail.
        let _ = writeln!(self.played, "{:>3}. at {now}: {what}", number + 1);
    }
}

impl Reserve {
    fn call(&self) -> Call {
        let operation = Operation {
            record: records()[self.record].clone(),
            fingerprint: Fingerprint::raw(if self.other { "b" } else { "a" }),
        };
        let request = ReserveRequest::new(operation, token(self.token), self.terms)
            .on_lapse(self.on_lapse)
            .longest_age(self.longest_age);
        Call::Reserve(if self.resend {
            request.resent()
        } else {
            request
        })
    }
}

impl Write {
    fn call(&self, holder: Holder, number: usize) -> Call {
        let text = format!("step {}", number + 1);
        match self {
            Self::Complete { whole: true } => {
                Call::Complete(holder, Response::new(201).body(text).into())
            }
            Self::Complete { whole: false } => Call::Complete(
                holder,
                Answer::NotRetained {
                    status: 200,
                    body_length: number as u64 + 1,
                },
            ),
            Self::Renew { terms, progress } => {
                let progress = progress.then(|| Progress::new(text).expect("a short text"));
                Call::Renew(holder, *terms, progress)
            }
            Self::Abandon => Call::Abandon(holder),
            Self::Release => Call::Release(holder),
        }
    }
}
