//! What must hold, whatever was killed and whenever.

use std::collections::BTreeMap;
use std::fmt;

use crate::history::Try;
use crate::http::Answer;
use crate::ledger::Effect;

/// Something that must not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// More than one effect for one operation.
    EffectTwice {
        /// The operation.
        operation: String,
        /// All its effects.
        effects: Vec<Effect>,
    },
    /// A client was told of success, and there is no effect.
    AcknowledgedWithoutEffect {
        /// The operation.
        operation: String,
    },
    /// An effect of an operation that no client has asked for.
    EffectOfNobody {
        /// The effect.
        effect: Effect,
    },
    /// A client was told one thing, and later another.
    AnswerChanged {
        /// The operation.
        operation: String,
        /// What counts.
        first: Answer,
        /// What was said later.
        later: Answer,
    },
    /// No definitive answer to the last client that asked.
    Stuck {
        /// The operation.
        operation: String,
        /// How often it was asked.
        tries: usize,
        /// What came last.
        last: Option<Result<Answer, String>>,
    },
}

/// No operation had an effect twice.
#[must_use]
pub fn no_effect_twice(effects: &[Effect]) -> Vec<Violation> {
    let mut by_operation: BTreeMap<&str, Vec<&Effect>> = BTreeMap::new();
    for effect in effects {
        by_operation
            .entry(&effect.operation)
            .or_default()
            .push(effect);
    }
    let twice = by_operation
        .into_iter()
        .filter(|(_, effects)| effects.len() > 1);
    twice
        .map(|(operation, effects)| Violation::EffectTwice {
            operation: operation.to_owned(),
            effects: effects.into_iter().cloned().collect(),
        })
        .collect()
}

/// What a client was told stands: every later definitive answer is the same, by status and body, as
/// the first; and every success has its effect.
#[must_use]
pub fn answers_stand(tries: &BTreeMap<String, Vec<Try>>, effects: &[Effect]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (operation, tries) in tries {
        let mut answers = tries.iter().filter_map(Try::acknowledged);
        let Some(first) = answers.next() else {
            continue;
        };
        let same = |later: &&Answer| (later.status, &later.body) == (first.status, &first.body);
        if let Some(later) = answers.find(|later| !same(later)) {
            violations.push(Violation::AnswerChanged {
                operation: operation.clone(),
                first: first.clone(),
                later: later.clone(),
            });
        }
        let is_its = |effect: &Effect| effect.operation == *operation;
        if first.succeeded() && !effects.iter().any(is_its) {
            violations.push(Violation::AcknowledgedWithoutEffect {
                operation: operation.clone(),
            });
        }
    }
    violations
}

/// Every operation has got a definitive answer in the end.
#[must_use]
pub fn nothing_stuck(tries: &BTreeMap<String, Vec<Try>>) -> Vec<Violation> {
    let stuck = tries.iter().filter(|(_, tries)| {
        let last = tries.last();
        last.is_none_or(|last| !last.definitive)
    });
    stuck
        .map(|(operation, tries)| Violation::Stuck {
            operation: operation.clone(),
            tries: tries.len(),
            last: tries.last().map(|last| last.outcome.clone()),
        })
        .collect()
}

/// Every effect is of an operation that a client has asked for.
#[must_use]
pub fn every_effect_was_asked_for(
    tries: &BTreeMap<String, Vec<Try>>,
    effects: &[Effect],
) -> Vec<Violation> {
    let foreign = effects
        .iter()
        .filter(|effect| !tries.contains_key(&effect.operation));
    foreign
        .map(|effect| Violation::EffectOfNobody {
            effect: effect.clone(),
        })
        .collect()
}

/// All of them.
#[must_use]
pub fn all(tries: &BTreeMap<String, Vec<Try>>, effects: &[Effect]) -> Vec<Violation> {
    [
        no_effect_twice(effects),
        answers_stand(tries, effects),
        nothing_stuck(tries),
        every_effect_was_asked_for(tries, effects),
    ]
    .concat()
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |answer: &Answer| {
            let body = String::from_utf8_lossy(&answer.body).into_owned();
            format!("{} {body:?}", answer.status)
        };
        match self {
            Self::EffectTwice { operation, effects } => {
                let effects: Vec<_> = effects.iter().map(Effect::to_string).collect();
                write!(f, "{operation}: effect twice: {}", effects.join(", "))
            }
            Self::AcknowledgedWithoutEffect { operation } => {
                write!(f, "{operation}: acknowledged, but there is no effect")
            }
            Self::EffectOfNobody { effect } => write!(f, "nobody has asked for {effect}"),
            Self::AnswerChanged {
                operation,
                first,
                later,
            } => {
                let (first, later) = (text(first), text(later));
                write!(f, "{operation}: first told {first}, later {later}")
            }
            Self::Stuck {
                operation,
                tries,
                last,
            } => {
                let last = last
                    .as_ref()
                    .map(|last| last.as_ref().map_or_else(Clone::clone, text));
                let last = last.unwrap_or_else(|| "nothing".into());
                write!(
                    f,
                    "{operation}: stuck after {tries} tries, the last: {last}"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(id: &str, operation: &str) -> Effect {
        Effect {
            id: id.into(),
            operation: operation.into(),
            provider_key: None,
        }
    }

    fn told(status: u16, body: &str) -> Try {
        let answer = Answer {
            status,
            headers: Vec::new(),
            body: body.into(),
        };
        Try {
            definitive: answer.is_definitive(),
            outcome: Ok(answer),
        }
    }

    fn cut() -> Try {
        Try {
            outcome: Err("cut".into()),
            definitive: false,
        }
    }

    fn tries(of: &[(&str, &[Try])]) -> BTreeMap<String, Vec<Try>> {
        of.iter()
            .map(|(op, tries)| ((*op).into(), tries.to_vec()))
            .collect()
    }

    fn shown(violations: &[Violation]) -> Vec<String> {
        violations.iter().map(Violation::to_string).collect()
    }

    #[test]
    fn a_clean_run_has_no_violations() {
        let tries = tries(&[
            ("a", &[cut(), told(409, ""), told(201, "1"), told(201, "1")]),
            ("declined", &[told(402, "no"), cut(), told(402, "no")]),
        ]);
        assert_eq!(all(&tries, &[effect("1", "a")]), []);
    }

    #[test]
    fn an_effect_twice_is_found() {
        let effects = [effect("1", "a"), effect("2", "b"), effect("3", "a")];
        let found = shown(&no_effect_twice(&effects));
        assert_eq!(
            found,
            ["a: effect twice: 1 for a (no key), 3 for a (no key)"]
        );
    }

    #[test]
    fn an_answer_that_changed_is_found() {
        let effects = [effect("1", "a"), effect("2", "b")];
        let body = [told(201, "1"), cut(), told(201, "1"), told(201, "2")];
        let status = [told(201, "1"), told(422, "1")];
        let found = answers_stand(&tries(&[("a", &body), ("b", &status)]), &effects);
        let expected = [
            "a: first told 201 \"1\", later 201 \"2\"",
            "b: first told 201 \"1\", later 422 \"1\"",
        ];
        assert_eq!(shown(&found), expected);
    }

    #[test]
    fn an_acknowledged_effect_that_is_not_there_is_found() {
        let tries = tries(&[("a", &[told(201, "1")]), ("b", &[told(402, "no")])]);
        let found = shown(&answers_stand(&tries, &[effect("1", "other")]));
        assert_eq!(found, ["a: acknowledged, but there is no effect"]);
    }

    #[test]
    fn what_is_stuck_is_found() {
        let tries = tries(&[
            ("asked", &[told(201, "1"), told(409, "busy")]),
            ("cut", &[told(409, ""), cut()]),
            ("fine", &[cut(), told(201, "1")]),
            ("never", &[]),
        ]);
        let expected = [
            "asked: stuck after 2 tries, the last: 409 \"busy\"",
            "cut: stuck after 2 tries, the last: cut",
            "never: stuck after 0 tries, the last: nothing",
        ];
        assert_eq!(shown(&nothing_stuck(&tries)), expected);
    }

    #[test]
    fn an_effect_of_nobody_is_found() {
        let found = every_effect_was_asked_for(&tries(&[("a", &[])]), &[effect("1", "b")]);
        assert_eq!(shown(&found), ["nobody has asked for 1 for b (no key)"]);
    }

    #[test]
    fn all_verdicts_are_given() {
        let tries = tries(&[
            ("changed", &[told(201, "1"), told(201, "2")]),
            ("stuck", &[cut()]),
        ]);
        let effects = [effect("1", "stuck"), effect("2", "stuck"), effect("3", "x")];
        assert_eq!(all(&tries, &effects).len(), 5);
    }
}
