//! What stands in the tree of large values, looked at past the store.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use idem_sled::{SledStore, sled};

/// The trees of the records and of the chunks.
pub(crate) fn trees(store: &SledStore) -> (sled::Tree, sled::Tree) {
    let db = store.db().unwrap();
    let records = db.open_tree("idem_records").unwrap();
    (records, db.open_tree("idem_large").unwrap())
}

/// How many entries there are of each large value: a head and its chunks.
pub(crate) fn chunks(store: &SledStore) -> BTreeMap<Vec<u8>, usize> {
    let mut chunks = BTreeMap::new();
    for key in trees(store).1.iter().keys() {
        let key = key.unwrap();
        *chunks.entry(key[..16].to_vec()).or_default() += 1;
    }
    chunks
}

/// The key of each record that refers to a large value, with the value's id and number of chunks.
pub(crate) fn references(store: &SledStore) -> BTreeMap<Vec<u8>, (Vec<u8>, u32)> {
    let mut references = BTreeMap::new();
    for pair in trees(store).0.scan_prefix(b"\x01r") {
        let (key, value) = pair.unwrap();
        if value[0] == 0xFF {
            let number = u32::from_be_bytes(value[25..].try_into().unwrap());
            references.insert(key.to_vec(), (value[1..17].to_vec(), number));
        }
    }
    references
}

/// Every record that refers to chunks has them all, and there are no others. How many are there?
pub(crate) fn assert_whole(store: &SledStore) -> usize {
    let references = references(store);
    let expected = references
        .values()
        .map(|(id, number)| (id.clone(), *number as usize + 1));
    assert_eq!(chunks(store), expected.collect());
    references.len()
}

/// How many files sled keeps large leaves in.
pub(crate) fn blobs(folder: &Path) -> usize {
    fs::read_dir(folder.join("blobs")).unwrap().count()
}
