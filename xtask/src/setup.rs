//! Finds the servers that the tests need, and installs what is missing where it may.

use crate::apt;
use crate::shell::CommandLine;
use std::fs;
use std::path::{Path, PathBuf};

/// Something that the tests need on the machine.
struct Need {
    name: &'static str,
    /// Where it is and which version, if it is there.
    find: fn() -> Option<String>,
    apt: &'static str,
    dnf: &'static str,
    brew: &'static str,
}

const NEEDS: &[Need] = &[
    Need {
        name: "PostgreSQL",
        find: || program(&["postgres", "initdb", "pg_ctl"], &postgres_folders()),
        apt: "postgresql",
        dnf: "postgresql-server",
        brew: "postgresql@17",
    },
    // PostgreSQL refuses to run as root, so root's tests run it as this user.
    Need {
        name: "user postgres",
        find: user_postgres,
        apt: "postgresql-common",
        dnf: "postgresql-server",
        brew: "postgresql@17",
    },
    Need {
        name: "PgBouncer",
        find: || program(&["pgbouncer"], &system_folders()),
        apt: "pgbouncer",
        dnf: "pgbouncer",
        brew: "pgbouncer",
    },
    Need {
        name: "Redis",
        find: || program(&["redis-server", "redis-cli"], &[]),
        apt: "redis-server",
        dnf: "redis",
        brew: "redis",
    },
    // It makes the certificate of a server that speaks TLS.
    Need {
        name: "OpenSSL",
        find: openssl,
        apt: "openssl",
        dnf: "openssl",
        brew: "openssl",
    },
    Need {
        name: "curl",
        find: || program(&["curl"], &[]),
        apt: "curl",
        dnf: "curl",
        brew: "curl",
    },
    // It shows in which order the sled store writes and syncs.
    Need {
        name: "strace",
        find: strace,
        apt: "strace",
        dnf: "strace",
        brew: "",
    },
];

/// Where PostgreSQL keeps its server programs, a folder per version, outside of the PATH.
const POSTGRES_PLACES: &[(&str, &str)] = &[
    ("/usr/lib/postgresql", "bin"),
    ("/opt/homebrew/opt", "bin"),
    ("/usr/local/opt", "bin"),
    ("/usr", "bin"),
];

/// Where programs for administrators are, which are not on everybody's PATH.
const SYSTEM_FOLDERS: &[&str] = &["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin"];

pub(crate) fn run() -> Result<(), String> {
    let missing = look();
    if missing.is_empty() {
        return Ok(());
    }
    if !apt::may_install() {
        return Err(instructions(&missing));
    }
    apt::install(&packages(&missing, |need| need.apt))?;
    let missing = look();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(instructions(&missing))
    }
}

/// Says for each need where it was found; returns those that were not.
fn look() -> Vec<&'static Need> {
    let mut missing = Vec::new();
    for need in NEEDS {
        let found = (need.find)();
        println!(
            "{:<14} {}",
            need.name,
            found.as_deref().unwrap_or("missing")
        );
        if found.is_none() {
            missing.push(need);
        }
    }
    missing
}

fn instructions(missing: &[&Need]) -> String {
    let names: Vec<_> = missing.iter().map(|need| need.name).collect();
    let apt = packages(missing, |need| need.apt).join(" ");
    let dnf = packages(missing, |need| need.dnf).join(" ");
    let brew = packages(missing, |need| need.brew).join(" ");
    format!(
        "missing: {}\ninstall it with one of\n  \
         sudo apt-get install --no-install-recommends {apt}\n  \
         sudo dnf install {dnf}\n  \
         brew install {brew}",
        names.join(", ")
    )
}

fn packages(needs: &[&Need], of: fn(&Need) -> &'static str) -> Vec<&'static str> {
    let mut packages: Vec<_> = needs.iter().map(|need| of(need)).collect();
    packages.dedup();
    packages.retain(|package| !package.is_empty());
    packages
}

/// The first folder, on the PATH or else in `elsewhere`, that has all of `names`; with the version
/// of the first of them.
fn program(names: &[&str], elsewhere: &[PathBuf]) -> Option<String> {
    let on_path = path_folders();
    let mut folders = on_path.iter().chain(elsewhere);
    let folder = folders.find(|folder| names.iter().all(|name| folder.join(name).is_file()))?;
    let path = folder.join(names[0]);
    let answer = CommandLine::new("")
        .word(path.to_string_lossy())
        .and("--version")
        .ask()?;
    // Name and version; what some programs add about their libraries is left out.
    let version: Vec<_> = answer.lines().next()?.split_whitespace().take(3).collect();
    Some(format!("{}: {}", path.display(), version.join(" ")))
}

pub(crate) fn on_path(name: &str) -> bool {
    path_folders()
        .iter()
        .any(|folder| folder.join(name).is_file())
}

fn path_folders() -> Vec<PathBuf> {
    std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default()
}

fn postgres_folders() -> Vec<PathBuf> {
    POSTGRES_PLACES
        .iter()
        .flat_map(|(parent, inner)| versions_in(Path::new(parent), inner))
        .collect()
}

fn system_folders() -> Vec<PathBuf> {
    SYSTEM_FOLDERS.iter().map(PathBuf::from).collect()
}

/// `PARENT/VERSION/INNER` for each version there, the newest first.
fn versions_in(parent: &Path, inner: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            Some((
                version(entry.file_name().to_str()?)?,
                entry.path().join(inner),
            ))
        })
        .collect();
    found.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    found.into_iter().map(|(_, folder)| folder).collect()
}

/// The major version in a folder's name: `17`, `postgresql@17`, `pgsql-17`.
fn version(folder: &str) -> Option<u32> {
    let digits = folder
        .strip_prefix("postgresql@")
        .or_else(|| folder.strip_prefix("pgsql-"))
        .unwrap_or(folder);
    digits.parse().ok()
}

fn strace() -> Option<String> {
    if !cfg!(target_os = "linux") {
        return Some("not needed, as this is not Linux".into());
    }
    program(&["strace"], &[])
}

fn openssl() -> Option<String> {
    let version = CommandLine::new("openssl version").ask()?;
    Some(version.trim().to_owned())
}

fn user_postgres() -> Option<String> {
    if !is_root() {
        return Some("not needed, as this is not root".into());
    }
    let id = CommandLine::new("id -u postgres").ask()?;
    Some(format!("uid {}", id.trim()))
}

pub(crate) fn is_root() -> bool {
    CommandLine::new("id -u")
        .ask()
        .is_some_and(|id| id.trim() == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_with_its_version_only_if_all_of_its_folder_is_there() {
        let found = program(&["cargo"], &[]).unwrap();
        assert!(found.contains("/cargo: cargo "), "{found}");
        assert_eq!(program(&["cargo", "no-such-program-here"], &[]), None);
        assert!(on_path("cargo") && !on_path("no-such-program-here"));
    }

    #[test]
    fn the_newest_version_comes_first() {
        let parent = std::env::temp_dir().join(format!("xtask-{}-versions", std::process::id()));
        for folder in ["9", "15", "postgresql@17", "share"] {
            fs::create_dir_all(parent.join(folder)).unwrap();
        }
        let found = versions_in(&parent, "bin");
        fs::remove_dir_all(&parent).unwrap();
        assert_eq!(
            found,
            ["postgresql@17/bin", "15/bin", "9/bin"].map(|f| parent.join(f))
        );
        assert!(versions_in(Path::new("/no/such/folder"), "bin").is_empty());
    }

    #[test]
    fn the_instructions_name_every_missing_package_once() {
        let all: Vec<&Need> = NEEDS.iter().collect();
        let text = instructions(&all);
        assert!(
            text.starts_with(
                "missing: PostgreSQL, user postgres, PgBouncer, Redis, OpenSSL, curl, strace
"
            ),
            "{text}"
        );
        assert!(
            text.contains("dnf install postgresql-server pgbouncer redis openssl curl strace"),
            "{text}"
        );
        assert!(
            text.contains("brew install postgresql@17 pgbouncer redis openssl curl"),
            "{text}"
        );
        let redis = instructions(&all[3..4]);
        assert!(
            redis.contains("apt-get install --no-install-recommends redis-server\n"),
            "{redis}"
        );
    }
}
