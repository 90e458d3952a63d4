//! The provider's memory in a file, so that it outlives the server: a real one is another company.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::provider::Charge;

/// What the provider did about a call: a line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) provider_key: String,
    /// Whether the key was known, and so nothing was done.
    pub(crate) repeat: bool,
    /// None: it was declined.
    pub(crate) charge: Option<Charge>,
}

/// The file, open for more calls.
pub(crate) struct LedgerFile(File);

impl LedgerFile {
    /// Opens the file, or makes it, and reads the calls of processes before.
    pub(crate) fn open(path: &Path) -> Result<(Self, Vec<Call>), String> {
        let wrong = |error: io::Error| format!("--provider-ledger {}: {error}", path.display());
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(wrong)?,
        };
        let calls = text
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>();
        let calls = calls.map_err(|error| wrong(error.into()))?;
        let file = File::options().create(true).append(true).open(path);
        Ok((Self(file.map_err(wrong)?), calls))
    }

    /// Writes a call down: from here on it has happened.
    pub(crate) fn write(&mut self, call: &Call) -> io::Result<()> {
        // One write, so that a kill leaves all of the line or nothing.
        let line = serde_json::to_string(call)? + "\n";
        self.0.write_all(line.as_bytes())?;
        self.0.sync_data()
    }
}
