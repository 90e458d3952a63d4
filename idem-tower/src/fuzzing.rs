//! What each fuzz target checks, by the target's name. The tests check it of the checked-in inputs.

pub use crate::key_header::property::check as key_header;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use crate::key_header::property::sfv_string::sfv_string;

    /// Checks every file of the target's corpus, and whatever once failed.
    fn check_inputs(target: &str, property: impl Fn(&[u8])) {
        let corpus = files("corpus", target);
        assert!(!corpus.is_empty(), "fuzz/corpus/{target} has no files");
        for path in corpus.into_iter().chain(files("regressions", target)) {
            println!("the last before a failure is it: {}", path.display());
            property(&fs::read(path).unwrap());
        }
    }

    fn files(folder: &str, target: &str) -> Vec<PathBuf> {
        let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
        let entries = fs::read_dir(fuzz.join(folder).join(target));
        let entries = entries.into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    #[test]
    fn key_header() {
        check_inputs("key_header", |value| super::key_header(value, sfv_string));
    }
}
