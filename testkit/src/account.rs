//! Who runs a server that refuses to run as root.

use std::process::Command;

/// A user of this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

impl Account {
    /// The user `postgres` if the test runs as root, which Postgres refuses; otherwise none is needed.
    pub(crate) fn for_postgres() -> Option<Self> {
        if id(&["-u"]) != Some(0) {
            return None;
        }
        let account = id(&["-u", "postgres"]).zip(id(&["-g", "postgres"]));
        let (user, group) = account.expect(
            "PostgreSQL refuses to run as root and there is no user `postgres`: \
             run `cargo xtask setup`",
        );
        Some(Self { user, group })
    }
}

fn id(args: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(args).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
