//! Writes that nobody reads: if sled has met an error, it says so before it writes, and wakes the flushes that
//! wait for what will not be written.
//!
//! A nudge has to reach sled's log each time, and to wait for nothing that such a flush holds. An insert would do
//! neither: one of what stands already writes nothing, and every call that reads or writes waits behind a
//! transaction that waits for the flush. To make a tree, and to remove one, needs no such lock.

use std::sync::{Mutex, PoisonError};

use idem_core::Token;
use sled::{Db, Tree};

/// Before the name of a tree that a nudge makes.
const NUDGE: &[u8] = b"idem_nudge";

/// The trees of the nudges until now: no longer in sled, and their handles kept until it is closed. To drop the last
/// handle of a tree is a flush, again and again until there is nothing to flush. Some hundred bytes for each.
#[derive(Default)]
pub(crate) struct Nudges(Mutex<Vec<Tree>>);

impl Nudges {
    pub(crate) fn nudge(&self, db: &Db) -> sled::Result<()> {
        // A name of its own: a tree that is there already is opened without a write.
        let name = [NUDGE, Token::random().as_bytes()].concat();
        let tree = db.open_tree(&name)?;
        let mut trees = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        trees.push(tree);
        drop(trees);
        db.drop_tree(name)?;
        Ok(())
    }
}

/// Removes the trees of nudges that were broken off, when the folder is opened.
pub(crate) fn remove_left(db: &Db) -> sled::Result<()> {
    for name in db.tree_names() {
        if name.starts_with(NUDGE) {
            db.drop_tree(name)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use sled::transaction::ConflictableTransactionError;
    use testkit::Folder;

    use super::*;

    fn open(folder: &Folder) -> Db {
        let config = sled::Config::new().path(folder.path());
        config.flush_every_ms(None).open().unwrap()
    }

    #[test]
    fn each_writes_and_leaves_no_tree() {
        let folder = Folder::new();
        let db = open(&folder);
        let nudges = Nudges::default();
        for nudge in 0..3 {
            while db.flush().unwrap() > 0 {}
            nudges.nudge(&db).unwrap();
            assert!(db.flush().unwrap() > 0, "nudge {nudge} wrote nothing");
        }
        assert_eq!(db.tree_names(), [b"__sled__default".as_slice()]);
        // Broken off.
        let left = [NUDGE, b" left"].concat();
        drop(db.open_tree(&left).unwrap());
        drop((nudges, db));
        let db = open(&folder);
        assert!(db.tree_names().iter().any(|name| *name == left));
        remove_left(&db).unwrap();
        drop(db);
        assert_eq!(open(&folder).tree_names(), [b"__sled__default".as_slice()]);
    }

    /// Whoever transacts holds what a flush and a transaction that wait for one another hold.
    #[test]
    fn none_waits_for_a_transaction() {
        let folder = Folder::new();
        let db = open(&folder);
        let (reach, reached) = mpsc::channel();
        let (go, gone) = mpsc::channel::<()>();
        let transacts = {
            let db = db.clone();
            thread::spawn(move || {
                let _ = db.transaction(|_| {
                    reach.send(()).unwrap();
                    let _ = gone.recv();
                    Err::<(), _>(ConflictableTransactionError::Abort(()))
                });
            })
        };
        reached.recv().unwrap();
        let (tell, told) = mpsc::channel();
        let nudges = {
            let db = db.clone();
            thread::spawn(move || {
                let nudges = Nudges::default();
                for _ in 0..2 {
                    nudges.nudge(&db).unwrap();
                }
                tell.send(()).unwrap();
            })
        };
        let nudged = told.recv_timeout(Duration::from_secs(10));
        drop(go);
        transacts.join().unwrap();
        nudges.join().unwrap();
        nudged.unwrap();
    }
}
