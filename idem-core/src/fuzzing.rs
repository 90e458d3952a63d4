//! What each fuzz target checks, by the target's name. The tests check it of the checked-in inputs.

pub use crate::codec::property::check as record_codec;
pub use crate::fingerprint::property::check as canonical_json;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use crate::fingerprint::property::rfc_8785;

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
    fn canonical_json() {
        check_inputs("canonical_json", |text| {
            super::canonical_json(text, rfc_8785::canonicalize);
        });
    }

    #[test]
    fn record_codec() {
        check_inputs("record_codec", super::record_codec);
    }
}
