//! Whether the folder can be read, before sled is let near it.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// How much is read at a time.
const PIECE: usize = 1 << 20;

/// Reads all of sled's files through once, and keeps nothing.
///
/// sled takes what it cannot read of its log for the log's end, a large value's file included, and clears away
/// what follows. So a disk that has a bad moment, or a process without a file left to open, has to be noticed
/// before.
///
/// # Errors
/// Something cannot be read; the error names it.
pub(crate) fn read_through(folder: &Path) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name == "db" || name == "conf" || name.starts_with("snap.") {
            read(&entry.path(), &mut piece)?;
        }
    }
    let blobs = match fs::read_dir(folder.join("blobs")) {
        Ok(blobs) => blobs,
        // sled makes it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for blob in blobs {
        read(&blob?.path(), &mut piece)?;
    }
    Ok(())
}

fn read(path: &Path, piece: &mut [u8]) -> io::Result<()> {
    let mut read = || {
        let mut file = File::open(path)?;
        loop {
            match file.read(piece) {
                Ok(0) => return Ok(()),
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
    };
    read().map_err(|error: io::Error| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        io::Error::new(error.kind(), format!("{name} cannot be read: {error}"))
    })
}
