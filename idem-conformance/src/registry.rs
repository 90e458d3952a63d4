//! What is done with the [list](crate::laws) of laws: turned into tests, judged, or shown.

/// A law, as it stands in `LAWS.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Law {
    /// Its number in the design, such as `R5`.
    pub number: &'static str,
    /// The name of its test.
    pub name: &'static str,
    /// What a store must do.
    pub wording: &'static str,
    /// What goes wrong otherwise.
    pub reason: &'static str,
    /// The wrong store that this law is for.
    pub rejects: &'static str,
    /// For which stores it is: `base` for all.
    pub group: &'static str,
}

/// Emits one test per law into the calling module, and a last one, `every_law_was_emitted`, that says
/// how many they are.
///
/// `conformance!(MyHarness)` emits the laws for every store; further words say what else it is:
///
/// | word | what it says | the harness is also |
/// | --- | --- | --- |
/// | `exact_time` | `advance` moves an injected clock, and no time passes otherwise | |
/// | `reopen` | the store outlives its process | [`Reopen`](crate::Reopen) |
/// | `limit` | it keeps responses only up to a size | [`Limited`](crate::Limited) |
/// | `copies` | a cache before it replays copies of answers, and may say that they are remembered for less long than they are | |
/// | `marks` | a shared cache before it does so, and refuses rapid repeats: for a second at most, it may be in conflict with what is gone | |
///
/// `exact_time` and `reopen` ask more of a store. The others ask something else of it, and no less than
/// that. The words are checked against the store: a law fails, and names the word, if one is said that
/// is not true, or not said although it should be. What does not apply to a store is not emitted;
/// nothing passes without having run.
///
/// A word that is none of these is an error:
///
/// ```compile_fail
/// # struct Mine;
/// idem_conformance::conformance!(Mine, exact_tiem);
/// ```
#[macro_export]
macro_rules! conformance {
    ($harness:ty $(, $word:ident)* $(,)?) => {
        $crate::__groups! { __emit_tests [$harness] $($word)* }

        #[test]
        fn every_law_was_emitted() {
            let mut emitted = ::std::vec::Vec::new();
            $crate::__groups! { __list [emitted] $($word)* }
            $crate::check_emitted(&emitted, &[$(stringify!($word)),*]);
        }
    };
}

/// Every law judged on `$harness`: a `Vec` of [`Verdict`](crate::Verdict)s.
#[macro_export]
macro_rules! judge_all {
    ($harness:ty $(, $word:ident)* $(,)?) => {
        $crate::judge_some!(|_: &str, _: &str| true, $harness $(, $word)*)
    };
}

/// The same for the laws that `$chosen` is true for, by the law's name and the name of the wrong store that
/// it [rejects](crate::Law::rejects).
#[macro_export]
macro_rules! judge_some {
    ($chosen:expr, $harness:ty $(, $word:ident)* $(,)?) => {{
        let mut verdicts = ::std::vec::Vec::new();
        let chosen = $chosen;
        $crate::__groups! { __judge [$harness, verdicts, chosen] $($word)* }
        verdicts
    }};
}

/// Calls `$callback` with the laws of every group that the words select. Of each pair of groups one is
/// selected: what a word names, or what holds without it.
#[doc(hidden)]
#[macro_export]
macro_rules! __groups {
    ($callback:ident $arguments:tt $($word:ident)*) => {
        $crate::__select! {
            $callback $arguments
            [no_exact_time no_reopen no_limit no_copies no_marks]
            $($word)*
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    // What takes two words.
    ($callback:ident $arguments:tt [$time:ident $reopen:ident $limit:ident copies no_marks]) => {
        $crate::__select! { $callback $arguments [$time $reopen $limit copies no_marks copies_no_marks] }
    };
    ($callback:ident $arguments:tt [exact_time $reopen:ident $limit:ident no_copies $marks:ident]) => {
        $crate::__select! { $callback $arguments [exact_time $reopen $limit no_copies $marks exact_time_no_copies] }
    };
    ($callback:ident $arguments:tt [$($group:ident)*]) => {
        $crate::__laws! { base => $callback $arguments }
        $($crate::__laws! { $group => $callback $arguments })*
    };
    ($callback:ident $arguments:tt [$time:ident $reopen:ident $limit:ident $copies:ident $marks:ident] exact_time $($rest:ident)*) => {
        $crate::__select! { $callback $arguments [exact_time $reopen $limit $copies $marks] $($rest)* }
    };
    ($callback:ident $arguments:tt [$time:ident $reopen:ident $limit:ident $copies:ident $marks:ident] reopen $($rest:ident)*) => {
        $crate::__select! { $callback $arguments [$time reopen $limit $copies $marks] $($rest)* }
    };
    ($callback:ident $arguments:tt [$time:ident $reopen:ident $limit:ident $copies:ident $marks:ident] limit $($rest:ident)*) => {
        $crate::__select! { $callback $arguments [$time $reopen limit $copies $marks] $($rest)* }
    };
    ($callback:ident $arguments:tt [$time:ident $reopen:ident $limit:ident $copies:ident $marks:ident] copies $($rest:ident)*) => {
        $crate::__select! { $callback $arguments [$time $reopen $limit copies $marks] $($rest)* }
    };
    ($callback:ident $arguments:tt [$time:ident $reopen:ident $limit:ident $copies:ident $marks:ident] marks $($rest:ident)*) => {
        $crate::__select! { $callback $arguments [$time $reopen $limit copies marks] $($rest)* }
    };
    ($callback:ident $arguments:tt $groups:tt $word:ident $($rest:ident)*) => {
        ::std::compile_error!(::std::concat!(
            "no such word: `", ::std::stringify!($word),
            "`; a store may be said to have: exact_time, reopen, limit, copies, marks"
        ));
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __call {
    (by_reference, $law:path, $harness:ident) => {
        $law(&$harness).await
    };
    (by_value, $law:path, $harness:ident) => {
        $law($harness).await
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __emit_tests {
    ([$harness:ty] $group:ident $by:ident $($runtime:ident $module:ident::$law:ident, $number:literal, $wording:literal, $reason:literal, $rejects:literal;)*) => {
        $(
            #[test]
            fn $law() {
                $crate::run($crate::Runtime::$runtime, async |harness: $harness| {
                    $crate::__call!($by, $crate::laws::$module::$law, harness)
                });
            }
        )*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __judge {
    ([$harness:ty, $verdicts:ident, $chosen:ident] $group:ident $by:ident $($runtime:ident $module:ident::$law:ident, $number:literal, $wording:literal, $reason:literal, $rejects:literal;)*) => {
        $(
            if $chosen(::std::stringify!($law), $rejects) {
                $verdicts.push($crate::judge(::std::stringify!($law), || {
                    $crate::run($crate::Runtime::$runtime, async |harness: $harness| {
                        $crate::__call!($by, $crate::laws::$module::$law, harness)
                    });
                }));
            }
        )*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __list {
    ([$laws:ident] $group:ident $by:ident $($runtime:ident $module:ident::$law:ident, $number:literal, $wording:literal, $reason:literal, $rejects:literal;)*) => {
        $laws.extend([$($crate::__law(
            ::std::stringify!($group),
            [$number, ::std::stringify!($law), $wording, $reason, $rejects],
        )),*]);
    };
}

#[doc(hidden)]
pub fn __law(
    group: &'static str,
    [number, name, wording, reason, rejects]: [&'static str; 5],
) -> Law {
    Law {
        number,
        name,
        wording,
        reason,
        rejects,
        group,
    }
}

/// Every pair of groups: what a word names, and what holds without it.
const GROUPS: [(&str, &str); 5] = [
    ("exact_time", "no_exact_time"),
    ("reopen", "no_reopen"),
    ("limit", "no_limit"),
    ("copies", "no_copies"),
    ("marks", "no_marks"),
];

/// All laws, in the order of the list.
pub fn all_laws() -> Vec<Law> {
    let mut laws: Vec<Law> = Vec::new();
    crate::__laws! { base => __list [laws] }
    crate::__laws! { exact_time => __list [laws] }
    crate::__laws! { reopen => __list [laws] }
    crate::__laws! { no_limit => __list [laws] }
    crate::__laws! { limit => __list [laws] }
    crate::__laws! { no_copies => __list [laws] }
    crate::__laws! { copies => __list [laws] }
    crate::__laws! { exact_time_no_copies => __list [laws] }
    crate::__laws! { copies_no_marks => __list [laws] }
    crate::__laws! { no_marks => __list [laws] }
    crate::__laws! { marks => __list [laws] }
    laws
}

/// The laws that [`conformance!`](crate::conformance) emits for a store with these words.
pub fn laws_for(words: &[&str]) -> Vec<Law> {
    let said = |word: &str| words.contains(&word) || word == "copies" && words.contains(&"marks");
    let holds = |law: &Law| {
        let chosen = |(with, without)| if said(with) { with } else { without };
        let chosen = GROUPS.map(chosen);
        match law.group {
            "base" => true,
            "exact_time_no_copies" => ["exact_time", "no_copies"]
                .iter()
                .all(|g| chosen.contains(g)),
            "copies_no_marks" => ["copies", "no_marks"].iter().all(|g| chosen.contains(g)),
            group => chosen.contains(&group),
        }
    };
    all_laws().into_iter().filter(holds).collect()
}

/// What the last test of [`conformance!`](crate::conformance) does.
#[doc(hidden)]
#[allow(clippy::print_stdout, reason = "it is called by a test, to tell")]
pub fn check_emitted(emitted: &[Law], words: &[&str]) {
    let names = |laws: &[Law]| -> std::collections::BTreeSet<&'static str> {
        laws.iter().map(|law| law.name).collect()
    };
    let expected = laws_for(words);
    assert_eq!(names(emitted), names(&expected), "for the words {words:?}");
    assert_eq!(emitted.len(), expected.len(), "a law was emitted twice");
    println!(
        "{} laws of {} were emitted, for the words {words:?}",
        emitted.len(),
        all_laws().len()
    );
}
