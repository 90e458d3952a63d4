//! Finds the servers' programs, where `cargo xtask setup` finds them too.

use std::fs;
use std::path::{Path, PathBuf};

/// A server's programs, which stand in one folder.
pub(crate) struct Wanted {
    pub(crate) server: &'static str,
    /// Each may have more than one name.
    pub(crate) programs: &'static [&'static [&'static str]],
    /// Names a folder to take them from instead, for another version than the machine's own.
    pub(crate) variable: &'static str,
    /// Where they may be that is not on everybody's PATH.
    pub(crate) folders: &'static [&'static str],
    /// Where there is a folder per version, and where the programs are in it.
    pub(crate) places: &'static [(&'static str, &'static str)],
}

impl Wanted {
    /// The folder that has all of them: the one asked for, one on the PATH, or the newest version's.
    #[track_caller]
    pub(crate) fn folder(&self, asked: Option<PathBuf>) -> PathBuf {
        let asked = asked.or_else(|| std::env::var_os(self.variable).map(PathBuf::from));
        let folders = asked.map_or_else(|| self.usual_folders(), |folder| vec![folder]);
        let found = folders.iter().find(|folder| self.all_in(folder));
        found.cloned().unwrap_or_else(|| {
            let programs: Vec<_> = self.programs.iter().map(|names| names[0]).collect();
            panic!(
                "{} ({}) is not in {folders:?}: install it with `cargo xtask setup`, \
                 or name its folder by {}",
                self.server,
                programs.join(", "),
                self.variable
            )
        })
    }

    fn all_in(&self, folder: &Path) -> bool {
        let has_one = |names: &&[&str]| named_in(folder, names).is_some();
        self.programs.iter().all(has_one)
    }

    fn usual_folders(&self) -> Vec<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let versions = self
            .places
            .iter()
            .flat_map(|(parent, inner)| versions_in(Path::new(parent), inner));
        let others = self.folders.iter().map(PathBuf::from);
        std::env::split_paths(&path)
            .chain(others)
            .chain(versions)
            .collect()
    }
}

/// The program in the folder that has one of the names.
pub(crate) fn named_in(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    let mut paths = names.iter().map(|name| folder.join(name));
    paths.find(|path| path.is_file())
}

/// `PARENT/VERSION/INNER` for each version there, the newest first.
fn versions_in(parent: &Path, inner: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let version = version(entry.file_name().to_str()?)?;
            Some((version, entry.path().join(inner)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;
    use std::panic;

    const WANTED: Wanted = Wanted {
        server: "Some server",
        programs: &[&["some-server", "other-server"], &["some-tool"]],
        variable: "IDEM_NOT_SET",
        folders: &["/no/such/folder"],
        places: &[],
    };

    #[test]
    fn a_folder_counts_only_if_it_has_all_of_them() {
        let folder = Folder::new();
        let path = folder.path();
        fs::write(path.join("other-server"), "").unwrap();
        assert!(!WANTED.all_in(path));
        fs::write(path.join("some-tool"), "").unwrap();
        assert_eq!(WANTED.folder(Some(path.to_owned())), path);
        assert_eq!(
            named_in(path, WANTED.programs[0]),
            Some(path.join("other-server"))
        );
    }

    #[test]
    fn a_missing_server_says_what_installs_it() {
        let missing = panic::catch_unwind(|| WANTED.folder(None)).unwrap_err();
        let message = missing.downcast::<String>().unwrap();
        assert!(message.starts_with("Some server (some-server, some-tool) is not in ["));
        assert!(message.contains("\"/no/such/folder\""), "{message}");
        assert!(message.contains("install it with `cargo xtask setup`"));
    }

    #[test]
    fn the_newest_version_comes_first() {
        let parent = Folder::new();
        let parent = parent.path();
        for folder in ["9", "15", "postgresql@17", "share"] {
            fs::create_dir_all(parent.join(folder)).unwrap();
        }
        let expected = ["postgresql@17/bin", "15/bin", "9/bin"].map(|f| parent.join(f));
        assert_eq!(versions_in(parent, "bin"), expected);
    }
}
