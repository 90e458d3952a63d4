//! The trees that an effect is written to, outside of a transaction and in one.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Weak;

use idem_core::Error;
use sled::transaction::{TransactionalTree, UnabortableTransactionError};
use sled::{IVec, Tree};

use crate::SledStore;
use crate::core::{Core, Told};
use crate::failure;
use crate::open::OWN_TREES;

/// A tree of the user's own in the store's folder: where effects are written that commit together with a
/// record. From [`SledStore::effect_tree`].
///
/// It is read, and written outside of transactions, through [`tree`](Self::tree). While it lives, the folder
/// cannot be opened again.
#[derive(Clone)]
pub struct EffectTree {
    tree: Tree,
    store: Weak<Core>,
}

impl SledStore {
    /// Opens a tree for effects, or makes it; it is on disk then.
    ///
    /// # Errors
    /// The name begins with `idem_`: those are the store's own. The store is closed. sled failed.
    ///
    /// Dropped: the tree may have been made.
    pub async fn effect_tree(&self, name: &str) -> Result<EffectTree, Error> {
        if name.starts_with(OWN_TREES) {
            return Err(Error::invalid(
                "trees whose names begin with idem_ are the store's own",
            ));
        }
        let name = name.to_owned();
        let engine = self.inner().cas.engine();
        let store = engine.shared.core.clone();
        let tree = engine.ask(move |core, answer| match core.db.open_tree(name) {
            Ok(tree) => core.commits.when_all_durable(Told::new(move |outcome| {
                let _ = answer.send(outcome.map(|()| tree).map_err(failure::closed));
            })),
            Err(error) => {
                core.fail();
                let _ = answer.send(Err(failure::not_written(error)));
            }
        });
        let tree = tree.await?;
        Ok(EffectTree { tree, store })
    }
}

impl EffectTree {
    /// sled's tree. **Not inside a transaction**: it would wait for that transaction's own end, for ever.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The trees of this store, of which none may be named twice.
    pub(crate) fn all_of<'a>(
        trees: impl Iterator<Item = &'a Self> + Clone,
        store: &Weak<Core>,
    ) -> Result<Vec<Tree>, Error> {
        for (position, tree) in trees.clone().enumerate() {
            if !tree.store.ptr_eq(store) {
                return Err(Error::invalid("an effect tree is of another store"));
            }
            let same = |other: &Self| other.tree.name() == tree.tree.name();
            if trees.clone().take(position).any(same) {
                return Err(Error::invalid("an effect tree is named twice"));
            }
        }
        Ok(trees.map(|tree| tree.tree.clone()).collect())
    }
}

impl fmt::Debug for EffectTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.tree.name();
        f.debug_tuple("EffectTree")
            .field(&String::from_utf8_lossy(&name))
            .finish()
    }
}

/// An [`EffectTree`] in a transaction: what is written is seen here at once, and by others once everything has
/// committed, or never.
pub struct TreeInTransaction {
    tree: TransactionalTree,
    writes: RefCell<BTreeMap<Vec<u8>, Option<IVec>>>,
}

impl TreeInTransaction {
    pub(crate) fn new(tree: TransactionalTree) -> Self {
        Self {
            tree,
            writes: RefCell::default(),
        }
    }

    /// What stands under the key.
    ///
    /// # Errors
    /// sled could not read.
    pub fn get(&self, key: impl AsRef<[u8]>) -> sled::Result<Option<IVec>> {
        let key = key.as_ref();
        if let Some(written) = self.writes.borrow().get(key) {
            return Ok(written.clone());
        }
        self.tree.get(key).map_err(storage)
    }

    /// Puts a value under the key.
    pub fn insert(&self, key: impl Into<Vec<u8>>, value: impl Into<IVec>) {
        self.writes
            .borrow_mut()
            .insert(key.into(), Some(value.into()));
    }

    /// Removes what stands under the key, if anything.
    pub fn remove(&self, key: impl Into<Vec<u8>>) {
        self.writes.borrow_mut().insert(key.into(), None);
    }

    /// Hands to sled what was written. Until then it is held here, so that it can be left out.
    pub(crate) fn apply(&self) -> Result<(), UnabortableTransactionError> {
        for (key, value) in self.writes.borrow().iter() {
            match value {
                Some(value) => self.tree.insert(key.as_slice(), value)?,
                None => self.tree.remove(key.as_slice())?,
            };
        }
        Ok(())
    }
}

/// sled 0.34 makes no other, since one transaction runs at a time.
pub(crate) fn storage(error: UnabortableTransactionError) -> sled::Error {
    match error {
        UnabortableTransactionError::Storage(error) => error,
        UnabortableTransactionError::Conflict => {
            sled::Error::ReportableBug("a conflict, where transactions run one by one".into())
        }
    }
}

impl fmt::Debug for TreeInTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TreeInTransaction(..)")
    }
}
