//! A crate outside the workspace, with the template from the crate's docs, runs the suite.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use idem_conformance::laws_for;

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The first example of the crate's docs, as it is shown there.
fn template() -> String {
    let source = fs::read_to_string(here().join("src/lib.rs")).unwrap();
    let docs = source.lines().map_while(|line| line.strip_prefix("//!"));
    let example = docs
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .skip_while(|line| !line.starts_with("```"))
        .skip(1)
        .take_while(|line| !line.starts_with("```"));
    let shown = example.filter(|line| !line.starts_with("# "));
    shown.fold(String::new(), |text, line| text + line + "\n")
}

/// A folder of its own outside the workspace, removed at the end.
struct Outside(PathBuf);

impl Outside {
    fn new() -> Self {
        let name = format!("idem-third-party-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join("src")).unwrap();
        fs::create_dir_all(folder.join("tests")).unwrap();
        Self(folder)
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.0.join(file), text).unwrap();
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const MANIFEST: &str = r#"
[package]
name = "third-party"
version = "0.0.0"
edition = "2024"

[dependencies]
idem-core = { path = "CORE" }

[dev-dependencies]
idem-conformance = { path = "CONFORMANCE" }

[workspace]
"#;

#[test]
fn the_template_has_at_most_25_lines() {
    let lines = template().lines().filter(|line| !line.is_empty()).count();
    assert!((10..=25).contains(&lines), "it has {lines}");
}

#[test]
fn a_crate_of_somebody_else_s_runs_the_suite() {
    let outside = Outside::new();
    let core = here().join("../idem-core");
    let manifest = MANIFEST
        .replace("CORE", core.to_str().unwrap())
        .replace("CONFORMANCE", here().to_str().unwrap());
    outside.write("Cargo.toml", &manifest);
    outside.write("src/lib.rs", "pub use idem_core::MemoryStore;\n");
    outside.write("tests/conformance.rs", &template());
    // The versions of this workspace: those that are there without a network.
    fs::copy(here().join("../Cargo.lock"), outside.0.join("Cargo.lock")).unwrap();

    // The workspace's own target folder, in which the dependencies are built already.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["test", "--offline", "--test", "conformance"])
        .current_dir(&outside.0)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{stdout}\n{stderr}");
    // Every law, and the test that says how many they are.
    let expected = laws_for(&["exact_time"]).len() + 1;
    let passed = stdout
        .lines()
        .filter(|line| line.ends_with(" ... ok"))
        .count();
    assert_eq!(passed, expected, "{stdout}");
    let result = format!("test result: ok. {expected} passed; 0 failed; 0 ignored");
    assert!(stdout.contains(&result), "{stdout}");
}
