//! Installing Debian packages without starting the services that come in them.

use crate::setup::{is_root, on_path};
use crate::shell::CommandLine;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Debian asks this script before it starts a service; 101 forbids it.
const POLICY: &str = "/usr/sbin/policy-rc.d";
const FORBID: &str = "\
#!/bin/sh
# Laid by `cargo xtask setup` for the time of an installation. Safe to remove.
exit 101
";

/// Whether this program may install packages here.
pub(crate) fn may_install() -> bool {
    is_root() && on_path("apt-get")
}

pub(crate) fn install(packages: &[&str]) -> Result<(), String> {
    let _guard = NoServices::lay(Path::new(POLICY))
        .map_err(|error| format!("cannot keep new services from starting: {POLICY}: {error}"))?;
    apt_get("update")?;
    let packages = packages.join(" ");
    apt_get(&format!("install -y --no-install-recommends {packages}"))
}

fn apt_get(what: &str) -> Result<(), String> {
    let line = CommandLine::new("apt-get -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3")
        .and(what)
        .env("DEBIAN_FRONTEND", "noninteractive")
        // The second lock on the door, for a machine whose own policy lets services start.
        .env("RUNLEVEL", "1");
    println!("{line}");
    match line.run()?.code {
        Some(0) => Ok(()),
        _ => Err(format!("failed: {line}")),
    }
}

/// While this lives, installed services do not start.
struct NoServices {
    policy: PathBuf,
    ours: bool,
}

impl NoServices {
    /// A policy that is there already stays as it is, unless an interrupted run of ours left it.
    fn lay(policy: &Path) -> std::io::Result<Self> {
        let ours = match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o755)
            .open(policy)
        {
            Ok(mut file) => {
                file.write_all(FORBID.as_bytes())?;
                true
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                fs::read(policy).is_ok_and(|text| text == FORBID.as_bytes())
            }
            Err(error) => return Err(error),
        };
        Ok(Self {
            policy: policy.to_owned(),
            ours,
        })
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if self.ours && fs::remove_file(&self.policy).is_err() {
            eprintln!("could not remove {}; please do", self.policy.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A path of its own for one test, removed at its end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("xtask-{}-{name}", std::process::id()));
            let _ = fs::remove_file(&path);
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    #[test]
    fn the_policy_forbids_while_it_is_held_and_goes_afterwards() {
        let policy = Scratch::new("absent");
        let guard = NoServices::lay(&policy.0).unwrap();
        assert_eq!(fs::read_to_string(&policy.0).unwrap(), FORBID);
        assert_eq!(
            fs::metadata(&policy.0).unwrap().permissions().mode() & 0o700,
            0o700
        );
        drop(guard);
        assert!(!policy.0.exists());
    }

    #[test]
    fn a_policy_of_the_machine_is_left_alone() {
        let policy = Scratch::new("theirs");
        fs::write(&policy.0, "#!/bin/sh\nexit 104\n").unwrap();
        drop(NoServices::lay(&policy.0).unwrap());
        assert_eq!(
            fs::read_to_string(&policy.0).unwrap(),
            "#!/bin/sh\nexit 104\n"
        );
    }

    #[test]
    fn what_an_interrupted_run_left_is_removed() {
        let policy = Scratch::new("left");
        fs::write(&policy.0, FORBID).unwrap();
        drop(NoServices::lay(&policy.0).unwrap());
        assert!(!policy.0.exists());
    }
}
