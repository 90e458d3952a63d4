//! What is printed: all that happened in one world, and the figures of many.

use std::fmt::Write as _;

use idem_core::Executed;

use crate::seeds::Figures;
use crate::world::World;

impl World {
    /// All that happened, in order.
    pub(crate) fn trace(&self) -> String {
        let mut lines = self.diary.lock().unwrap().clone();
        for process in self.processes.lock().unwrap().iter() {
            let calls = process.connection.trace().into_iter();
            let number = process.number;
            lines.extend(
                calls.map(|(at, call)| {
                    (process.since + at, format!("    process {number}: {call}"))
                }),
            );
        }
        lines.sort_by_key(|(at, _)| *at);
        lines
            .into_iter()
            .fold(String::new(), |mut text, (at, line)| {
                let _ = writeln!(text, "{:>9.3} s {line}", at.as_secs_f64());
                text
            })
    }

    pub(crate) fn add_to(&self, figures: &mut Figures) {
        figures.charges += self.provider.charges();
        for process in self.processes.lock().unwrap().iter() {
            figures.calls += process.connection.trace().len();
            for (fault, count) in process.connection.injected() {
                *figures.faults.entry(fault).or_default() += count;
            }
            let counters = process.idempotency.counters();
            for (name, count) in [
                ("ran", counters.ran),
                ("replayed", counters.replayed),
                ("conflicts", counters.conflicts),
                ("unresolved", counters.unresolved),
                ("handler errors", counters.handler_errors),
                ("store errors", counters.store_errors),
                ("taken over", counters.taken_over),
                ("superseded", counters.superseded),
                ("unrecorded", counters.unrecorded),
            ] {
                *figures.outcomes.entry(name).or_default() += count;
            }
        }
    }
}

pub(crate) fn shown(executed: &Executed) -> String {
    let body = executed
        .response()
        .map(|response| String::from_utf8_lossy(response.body_bytes()));
    match executed {
        Executed::Ran { recorded, .. } => format!(
            "{:?} by its own run, {recorded:?}",
            body.unwrap_or_default()
        ),
        Executed::Replayed(_) => format!("{:?} by a replay", body.unwrap_or_default()),
        other => format!("{other:?}"),
    }
}
