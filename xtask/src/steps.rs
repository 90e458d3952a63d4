//! What `cargo xtask test` checks, in order.

use crate::metadata::Package;
use crate::rustc;
use crate::shell::CommandLine;

/// One command of the test run, and what it must do.
pub(crate) struct Step {
    /// The row of the table that its time goes to.
    pub(crate) part: String,
    pub(crate) line: CommandLine,
    pub(crate) expect: Expect,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Expect {
    /// It ends with this exit code.
    Exit(i32),
    /// It succeeds, and at least so many tests passed.
    Tests(u64),
    /// It succeeds and names this crate, but none of the [`FOREIGN`] ones.
    OnlyOwn(&'static str),
}

/// What `idem-core` must never depend on: frameworks, databases, TLS, HTTP. A name stands for
/// its family as well (`sqlx` for `sqlx-core`).
#[rustfmt::skip]
pub(crate) const FOREIGN: &[&str] = &[
    // web
    "actix", "axum", "hyper", "poem", "reqwest", "rocket", "salvo", "tonic", "tower", "warp",
    // HTTP
    "h2", "h3", "http", "httparse", "quinn",
    // databases
    "diesel", "fjall", "fred", "libsql", "mongodb", "mysql", "postgres", "redb", "redis",
    "rocksdb", "rusqlite", "sled", "sqlx", "tokio-postgres",
    // TLS
    "aws-lc-rs", "aws-lc-sys", "native-tls", "openssl", "ring", "rustls", "schannel",
];

/// Each example and how it must end. A sabotaged story has to be noticed.
const EXAMPLES: &[(&str, i32)] = &[
    ("payments", 0),
    ("payments -- --sabotage forget", 1),
    ("payments -- --sabotage no-token", 1),
    ("payments -- --sabotage global-scope", 1),
    ("by_hand", 0),
    ("custom_store", 0),
];

/// Its features re-export other members, which its tests use by themselves: more features, more snippets.
const FACADE: &str = "idempotency";

/// Members without users or tests: those that stand for others under a model checker, which has a step of its own,
/// and the one that is nothing but features.
const INTERNAL: &[&str] = &["idem-core-shuttle", "idem-shuttle-tokio", "workspace-hack"];

pub(crate) fn steps(packages: &[Package]) -> Vec<Step> {
    let packages = || {
        packages
            .iter()
            .filter(|package| !INTERNAL.contains(&package.name.as_str()))
    };
    let mut steps = vec![
        step("format", "cargo fmt --all --check", Expect::Exit(0)),
        step(
            "format",
            "cargo fmt --manifest-path fuzz/Cargo.toml --check",
            Expect::Exit(0),
        ),
        step(
            "lints",
            "cargo clippy --workspace --all-targets --all-features -- -D warnings",
            Expect::Exit(0),
        ),
    ];
    steps.extend(
        packages()
            .filter(|package| package.is_library)
            .flat_map(lints_by_feature),
    );
    steps.push(step(
        "dependencies",
        "cargo tree -p idem-core -e normal --all-features --prefix none",
        Expect::OnlyOwn("idem-core"),
    ));
    steps.extend(packages().flat_map(tests));
    // The targets themselves are for `cargo xtask fuzz`: they build on nightly only.
    steps.push(step(
        "fuzz corpora",
        "cargo test -p idem-core --lib fuzzing",
        Expect::Tests(2),
    ));
    steps.push(step(
        "fuzz corpora",
        "cargo test -p idem-tower --lib fuzzing",
        Expect::Tests(1),
    ));
    let mut docs = step(
        "docs",
        "cargo doc --workspace --no-deps --all-features",
        Expect::Exit(0),
    );
    docs.line = docs.line.env("RUSTDOCFLAGS", "-D warnings");
    steps.push(docs);
    steps.push(step(
        "model checks",
        "cargo test --release -p idem-core --lib explorer",
        Expect::Tests(1),
    ));
    steps.push(step(
        "model checks",
        "cargo test --release -p idem-core --lib cached::model",
        Expect::Tests(30),
    ));
    for (package, least) in [("idem-core", 24), ("idem-sled", 8)] {
        let line = format!("cargo test -p {package} --lib loom");
        let mut loom = step("model checks", &line, Expect::Tests(least));
        loom.line = rustc::with_cfg(loom.line, "idem_loom");
        steps.push(loom);
    }
    steps.push(step(
        "model checks",
        "cargo test --release -p idem-core-shuttle",
        Expect::Tests(19),
    ));
    steps.extend(EXAMPLES.iter().map(|(example, code)| {
        step(
            "examples",
            &format!("cargo run --example {example}"),
            Expect::Exit(*code),
        )
    }));
    steps
}

/// A library as its users build it: without the other members, which may switch features on.
fn lints_by_feature(package: &Package) -> impl Iterator<Item = Step> {
    package.feature_flags().into_iter().map(|flags| {
        let line = format!("cargo clippy -p {} {flags} -- -D warnings", package.name);
        step("lints by feature", &line, Expect::Exit(0))
    })
}

/// Unit, integration and doc tests of one member on its own.
fn tests(package: &Package) -> impl Iterator<Item = Step> {
    package.feature_flags().into_iter().map(|flags| {
        let what = match flags {
            "--all-features" if package.name == FACADE => "--doc ",
            _ => "",
        };
        let line = format!("cargo test -p {} {what}{flags}", package.name);
        step(&format!("tests {}", package.name), &line, Expect::Tests(0))
    })
}

fn step(part: &str, line: &str, expect: Expect) -> Step {
    Step {
        part: part.to_owned(),
        line: CommandLine::new(line),
        expect,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata;

    fn lines(part: &str) -> Vec<String> {
        let steps = steps(&metadata::tests::sample());
        steps
            .iter()
            .filter(|s| s.part.starts_with(part))
            .map(|s| s.line.to_string())
            .collect()
    }

    #[test]
    fn every_library_is_linted_with_each_of_its_feature_sets() {
        let expected = [
            "cargo clippy -p plain -- -D warnings",
            "cargo clippy -p rich -- -D warnings",
            "cargo clippy -p rich --no-default-features -- -D warnings",
            "cargo clippy -p rich --all-features -- -D warnings",
        ];
        assert_eq!(lines("lints by feature"), expected);
    }

    #[test]
    fn every_member_is_tested_with_each_of_its_feature_sets() {
        let expected = [
            "cargo test -p plain",
            "cargo test -p rich",
            "cargo test -p rich --no-default-features",
            "cargo test -p rich --all-features",
            "cargo test -p tool",
            "cargo test -p idempotency",
            "cargo test -p idempotency --doc --all-features",
        ];
        assert_eq!(lines("tests "), expected);
    }

    #[test]
    fn model_checks_that_ran_no_test_are_not_enough() {
        let steps = steps(&[]);
        let models: Vec<_> = steps
            .iter()
            .filter(|step| step.part == "model checks")
            .collect();
        assert_eq!(models.len(), 5);
        for model in models {
            assert!(matches!(model.expect, Expect::Tests(least) if least > 0));
        }
    }

    #[test]
    fn warnings_in_the_docs_are_errors() {
        let expected = "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --all-features";
        assert_eq!(lines("docs"), [expected]);
    }
}
