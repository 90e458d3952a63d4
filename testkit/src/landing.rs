//! Where kills landed.

use std::collections::BTreeMap;
use std::fmt;

/// How far an operation had come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Nothing was reserved, as far as is known.
    #[default]
    BeforeReserve,
    /// It was reserved; the effect had not happened, as far as is known.
    ReserveToEffect,
    /// The effect had happened; its completion was not recorded, as far as is known.
    EffectToCompletion,
    /// The completion was recorded; the client had no answer yet.
    After,
}

impl Stage {
    /// All, in order.
    pub const ALL: [Self; 4] = [
        Self::BeforeReserve,
        Self::ReserveToEffect,
        Self::EffectToCompletion,
        Self::After,
    ];

    /// The stage that begins at a mark of this name. Any other name is a place within a stage.
    #[must_use]
    pub fn begun_by(mark: &str) -> Option<Self> {
        match mark {
            "received" => Some(Self::BeforeReserve),
            "reserved" | "charging" => Some(Self::ReserveToEffect),
            "charged" | "effected" => Some(Self::EffectToCompletion),
            "completed" => Some(Self::After),
            _ => None,
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeforeReserve => "before reserve",
            Self::ReserveToEffect => "between reserve and effect",
            Self::EffectToCompletion => "between effect and completion",
            Self::After => "after completion",
        })
    }
}

/// Where a kill met an operation that a client was waiting for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landing {
    /// Which kill, from 1.
    pub kill: u64,
    /// What the client had asked for.
    pub operation: String,
    /// How far it had come, by its marks.
    pub stage: Stage,
    /// The last mark; none if it had not even been received.
    pub mark: Option<String>,
    /// It waited at that mark for leave to go on. Otherwise it was somewhere between there and the next.
    pub exact: bool,
}

/// How many kills landed where. A kill that met several operations counts in each stage that it met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All kills.
    pub kills: u64,
    /// By stage.
    pub stages: BTreeMap<Stage, u64>,
    /// The same, only what was met exactly at a mark.
    pub exact: BTreeMap<Stage, u64>,
    /// By the last mark.
    pub marks: BTreeMap<String, u64>,
    /// Kills that met no operation.
    pub idle: u64,
}

impl Tally {
    /// Counts the landings of so many kills.
    #[must_use]
    pub fn of(kills: u64, landings: &[Landing]) -> Self {
        let mut tally = Self {
            kills,
            ..Self::default()
        };
        for kill in 1..=kills {
            let met = || landings.iter().filter(|landing| landing.kill == kill);
            tally.idle += u64::from(met().next().is_none());
            for stage in Stage::ALL {
                let mut here = met().filter(|landing| landing.stage == stage);
                let exact = here.clone().any(|landing| landing.exact);
                *tally.exact.entry(stage).or_default() += u64::from(exact);
                let any = here.next().is_some();
                *tally.stages.entry(stage).or_default() += u64::from(any);
            }
            let mut marks: Vec<_> = met()
                .filter_map(|landing| landing.mark.as_deref())
                .collect();
            marks.sort_unstable();
            marks.dedup();
            for mark in marks {
                *tally.marks.entry(mark.to_owned()).or_default() += 1;
            }
        }
        tally
    }

    /// Kills that met an operation at this stage.
    #[must_use]
    pub fn at(&self, stage: Stage) -> u64 {
        self.stages.get(&stage).copied().unwrap_or(0)
    }

    /// Kills that met an operation at this stage while it waited at a mark.
    #[must_use]
    pub fn exactly_at(&self, stage: Stage) -> u64 {
        self.exact.get(&stage).copied().unwrap_or(0)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} kills", self.kills)?;
        for stage in Stage::ALL {
            let exact = self.exactly_at(stage);
            write!(f, ", {} {stage} ({exact} exactly)", self.at(stage))?;
        }
        write!(f, ", {} with nothing in flight", self.idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_counts_once_in_each_stage_that_it_met() {
        let landing = |kill, stage, mark: Option<&str>| Landing {
            kill,
            operation: "op".into(),
            stage,
            mark: mark.map(str::to_owned),
            exact: mark == Some("charged"),
        };
        let tally = Tally::of(
            3,
            &[
                landing(1, Stage::BeforeReserve, None),
                landing(1, Stage::EffectToCompletion, Some("charged")),
                landing(1, Stage::EffectToCompletion, Some("charged")),
                landing(3, Stage::EffectToCompletion, Some("flushing")),
            ],
        );
        assert_eq!(
            tally.to_string(),
            "3 kills, 1 before reserve (0 exactly), 0 between reserve and effect (0 exactly), \
             2 between effect and completion (1 exactly), 0 after completion (0 exactly), \
             1 with nothing in flight"
        );
        let marks = [("charged", 1), ("flushing", 1)].map(|(mark, n)| (mark.to_owned(), n));
        assert_eq!(tally.marks, BTreeMap::from(marks));
    }
}
