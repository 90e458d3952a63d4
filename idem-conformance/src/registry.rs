//! The list of laws: the one place that knows them all.
//!
//! [`conformance!`](crate::conformance) turns it into tests, [`all_laws`] into a table, `LAWS.md` is
//! written from it.

/// A law, as it stands in `LAWS.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Law {
    /// Its number in the design, such as `R5`.
    pub number: &'static str,
    /// The name of its test.
    pub name: &'static str,
    /// What a store must do.
    pub wording: &'static str,
    /// What goes wrong otherwise.
    pub reason: &'static str,
}

/// Calls another macro of this crate with every law of a group. A law is
/// `runtime path::to::function, "number", "wording", "reason";`.
#[doc(hidden)]
#[macro_export]
macro_rules! __laws {
    // For every store.
    (base => $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments
            Single reserve::r1_a_vacant_operation_is_reserved, "R1",
                "A vacant operation is reserved, as attempt 1 and without progress.",
                "Nothing would ever run.";
            Multi concurrency::r2_of_many_at_once_exactly_one_wins, "R2",
                "Of any number of callers that reserve one vacant operation at once, exactly one gets it.",
                "Two winners are a double charge.";
            Single model::l1_random_scripts_agree_with_the_machine, "L1",
                "Any sequence of calls, with time moving between them, has the outcomes of the state machine, and leaves the records that it leaves.",
                "Rules that hold one by one can still contradict each other in a sequence that nobody thought of.";
            Multi histories::l1_concurrent_histories_are_linearizable, "L1",
                "Any concurrent history on one record is linearizable against the state machine; a call whose outcome is unknown takes effect at any later time, or never.",
                "A store that is right for one caller at a time may still look in one moment and write in another.";
        }
    };
    // For stores with an injected clock: the instants at which something changes, to the millisecond.
    (exact_time => $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments
            Single exact_time::r3_a_lease_is_live_until_its_last_millisecond, "R3",
                "A lease is live while now is before its end, and not at its end.",
                "Stores that disagree on the boundary take over a live holder.";
            Single model::l1_random_scripts_agree_to_the_millisecond, "L1",
                "The same where calls fall on the very instants at which something changes, and durations are compared to the millisecond.",
                "Off by one is a live holder taken over, or a record that is expired for one call and stands for the next.";
            Multi histories::l1_concurrent_histories_are_linearizable_to_the_millisecond, "L1",
                "The same with durations compared to the millisecond.",
                "A call may read the clock before another call's write, and count its lease from there.";
        }
    };
    // For stores that outlive their process.
    (reopen => $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments
        }
    };
}

/// Emits one test per law into the calling module.
///
/// `conformance!(MyHarness)` emits the laws for every store; further words say what else it is:
/// - `exact_time`: [`advance`](crate::Harness::advance) moves an injected clock, and no time passes
///   otherwise;
/// - `reopen`: the store outlives its process, and the harness is [`Reopen`](crate::Reopen).
///
/// What a word does not name is not emitted; nothing passes without having run.
#[macro_export]
macro_rules! conformance {
    ($harness:ty $(, $capability:ident)* $(,)?) => {
        $crate::__laws! { base => __emit_tests [$harness] }
        $($crate::__laws! { $capability => __emit_tests [$harness] })*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __emit_tests {
    ([$harness:ty] $($runtime:ident $module:ident::$law:ident, $number:literal, $wording:literal, $reason:literal;)*) => {
        $(
            #[test]
            fn $law() {
                $crate::run::<$harness, _>($crate::Runtime::$runtime, $crate::laws::$module::$law);
            }
        )*
    };
}

/// Every law judged on `$harness`: a `Vec` of [`Verdict`](crate::Verdict)s.
#[macro_export]
macro_rules! judge_all {
    ($harness:ty $(, $capability:ident)* $(,)?) => {{
        let mut verdicts = ::std::vec::Vec::new();
        $crate::__laws! { base => __judge [$harness, verdicts] }
        $($crate::__laws! { $capability => __judge [$harness, verdicts] })*
        verdicts
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __judge {
    ([$harness:ty, $verdicts:ident] $($runtime:ident $module:ident::$law:ident, $number:literal, $wording:literal, $reason:literal;)*) => {
        $(
            $verdicts.push($crate::judge(stringify!($law), || {
                $crate::run::<$harness, _>($crate::Runtime::$runtime, $crate::laws::$module::$law);
            }));
        )*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __list {
    ([$laws:ident] $($runtime:ident $module:ident::$law:ident, $number:literal, $wording:literal, $reason:literal;)*) => {
        let group: &[$crate::Law] = &[$($crate::Law {
            number: $number,
            name: stringify!($law),
            wording: $wording,
            reason: $reason,
        }),*];
        $laws.extend_from_slice(group);
    };
}

/// All laws, in the order of the list.
pub fn all_laws() -> Vec<Law> {
    let mut laws: Vec<Law> = Vec::new();
    crate::__laws! { base => __list [laws] }
    crate::__laws! { exact_time => __list [laws] }
    crate::__laws! { reopen => __list [laws] }
    laws
}
