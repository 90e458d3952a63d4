//! Mutation testing of the state machine.

use crate::shell::CommandLine;

/// Fails if a mutant survives.
pub(crate) fn run() -> Result<(), String> {
    if CommandLine::new("cargo mutants --version").ask().is_none() {
        return Err("cargo-mutants is not installed: cargo install --locked cargo-mutants".into());
    }
    let line = line();
    println!("{line}");
    match line.run()?.code {
        Some(0) => Ok(()),
        Some(2 | 3) => Err("mutants survived or hung: see mutants.out/outcomes.json".into()),
        code => Err(format!("cargo-mutants itself failed ({code:?})")),
    }
}

fn line() -> CommandLine {
    CommandLine::new("cargo mutants -p idem-core -f")
        .word("idem-core/src/machine/*.rs")
        .and("-- --lib machine")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_pattern_is_left_to_cargo_mutants() {
        let expected =
            "cargo mutants -p idem-core -f 'idem-core/src/machine/*.rs' -- --lib machine";
        assert_eq!(super::line().to_string(), expected);
    }
}
