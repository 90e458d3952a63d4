//! The rules that every file of the workspace keeps.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The workspace's own files, by path from its root.
fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if name == "target" || name == ".git" || name.starts_with("mutants.out") {
                continue;
            } else if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                files.push(entry.path().strip_prefix(root()).unwrap().to_owned());
            }
        }
    }
    files
}

fn named(end: &str) -> Vec<PathBuf> {
    files()
        .into_iter()
        .filter(|path| path.to_str().unwrap().ends_with(end))
        .collect()
}

/// The faults that `check` finds in the lines of any Rust file, each with its place.
fn faults(check: impl Fn(&Path, &[&str], usize) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    for path in named(".rs") {
        let text = read(&path);
        let lines: Vec<&str> = text.lines().collect();
        let bad = (0..lines.len()).filter(|&at| check(&path, &lines, at));
        faults.extend(bad.map(|at| format!("{}:{}: {}", path.display(), at + 1, lines[at])));
    }
    faults
}

#[test]
fn the_files_that_go_with_a_release_are_there() {
    assert!(read("README.md").starts_with("# "));
    assert!(read("LICENSE-MIT").contains("Permission is hereby granted, free of charge"));
    assert!(read("LICENSE-APACHE").contains("Version 2.0, January 2004"));
    let changes = read("CHANGELOG.md");
    let version = format!("## {}", env!("CARGO_PKG_VERSION"));
    let has = |title: &str| changes.lines().any(|line| line.starts_with(title));
    assert!(
        has("## Unreleased") || has(&version),
        "CHANGELOG.md has neither"
    );
}

#[test]
fn every_crate_shares_version_toolchain_licence_and_lints() {
    let mut manifests = named("Cargo.toml");
    // A workspace of its own has nothing to share.
    manifests.retain(|path| path != "fuzz/Cargo.toml");
    assert!(manifests.len() >= 3, "{manifests:?}");
    for path in manifests {
        let text = read(&path);
        let mut shared = ["version", "edition", "rust-version", "license"]
            .map(|key| format!("{key}.workspace = true"))
            .to_vec();
        shared.push("[lints]\nworkspace = true".into());
        for line in shared {
            assert!(
                text.contains(&format!("\n{line}\n")),
                "{}: no {line}",
                path.display()
            );
        }
        let published = !text.contains("\npublish = false\n");
        let keys: &[_] = if published {
            &["description", "keywords", "categories"]
        } else {
            &["description"]
        };
        for key in keys {
            assert!(
                text.contains(&format!("\n{key} = ")),
                "{}: no {key}",
                path.display()
            );
        }
    }
}

#[test]
fn the_crates_name_each_other_by_the_one_version() {
    let version = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
    for line in read("Cargo.toml")
        .lines()
        .filter(|line| line.contains("path = \""))
    {
        // What is not published, such as a test rig, needs no version.
        assert!(
            !line.contains("version =") || line.contains(&version),
            "{line}"
        );
    }
}

#[test]
fn no_test_is_ignored() {
    let found = faults(|_, lines, at| {
        let line = lines[at].trim_start();
        let is_attribute = line.starts_with("#[") || line.starts_with("#![");
        is_attribute && (line.contains("[ignore") || line.contains(", ignore"))
    });
    assert!(
        found.is_empty(),
        "scale it by IDEM_EFFORT instead:\n{}",
        found.join("\n")
    );
}

#[test]
fn a_test_that_sleeps_says_why() {
    let found = faults(|path, lines, at| {
        let line = lines[at].trim_start();
        let sleeps = line.contains("thread::sleep") || line.contains("time::sleep");
        let code = !line.starts_with("//") && !path.ends_with("tests/tidy.rs");
        // Paused time passes at once, and in order.
        let paused = line.contains("tokio") && lines.iter().any(|l| l.contains("start_paused"));
        let says_why = || {
            lines[at.saturating_sub(1)..=at]
                .iter()
                .any(|l| l.contains("// why:"))
        };
        sleeps && code && !paused && is_test(path, lines, at) && !says_why()
    });
    assert!(
        found.is_empty(),
        "wait for the event, or add `// why:`:\n{}",
        found.join("\n")
    );
}

/// Whether a line is test code: in a `tests` folder, below a `#[cfg(test)]` module's head, or in a
/// file that has tests but no such module.
fn is_test(path: &Path, lines: &[&str], at: usize) -> bool {
    let has = |text: &str| lines.iter().any(|line| line.trim_start().starts_with(text));
    let module = lines.windows(2).position(|pair| {
        pair[0] == "#[cfg(test)]" && pair[1].contains("mod ") && pair[1].ends_with('{')
    });
    let in_folder = path.components().any(|part| part.as_os_str() == "tests");
    let module_file = module.is_none() && (has("#[test]") || has("#[tokio::test"));
    in_folder || module_file || module.is_some_and(|head| at > head)
}

#[test]
fn test_code_is_told_from_the_rest() {
    let code = [
        "fn a() {}",
        "#[cfg(test)]",
        "mod tests {",
        "    #[test]",
        "    fn b() {}",
        "}",
    ];
    let (source, folder) = (Path::new("a/src/lib.rs"), Path::new("a/tests/it/main.rs"));
    assert!(!is_test(source, &code, 0) && is_test(source, &code, 4));
    assert!(is_test(folder, &code, 0));
    assert!(is_test(source, &code[3..], 1) && !is_test(source, &code[..1], 0));
}
