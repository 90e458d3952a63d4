//! Standing in for rustc, to set a `cfg` in the members alone.
//!
//! `RUSTFLAGS` would reach every dependency, and all of them would be built once more. cargo takes a program for
//! the members alone, and asks that program also which dependencies a `cfg` brings.

use std::process::{Command, ExitCode};

use crate::shell::CommandLine;

/// Set by [`with_cfg`]: the `cfg` that this program, run as rustc, adds.
const CFG: &str = "XTASK_RUSTC_CFG";

/// The command, with `--cfg` for the members that it builds.
pub(crate) fn with_cfg(line: CommandLine, cfg: &str) -> CommandLine {
    // Without a path of its own it could not have been started.
    let this = std::env::current_exe().unwrap_or_default();
    line.env("RUSTC_WORKSPACE_WRAPPER", this.to_string_lossy())
        .env(CFG, cfg)
}

/// Runs rustc, whose path and arguments these are, if that is what this program was started for.
pub(crate) fn stand_in(args: &[String]) -> Option<ExitCode> {
    let cfg = std::env::var(CFG).ok()?;
    let (rustc, args) = args.split_first()?;
    let ended = Command::new(rustc)
        .args(args)
        .args(["--cfg", &cfg, "-D", "warnings"])
        .status();
    match ended {
        Ok(status) if status.success() => Some(ExitCode::SUCCESS),
        Ok(_) => Some(ExitCode::FAILURE),
        Err(error) => {
            eprintln!("{rustc}: {error}");
            Some(ExitCode::FAILURE)
        }
    }
}
