//! The locks and atomics of the stores: the standard ones, or those of the model checkers.
//!
//! `idem_loom` is set by hand, for the tests of this crate alone; `idem_shuttle` by the crate in
//! `shuttle/`, which compiles these sources a second time. Neither is ever set in what is published.

#[cfg(not(any(all(test, idem_loom), idem_shuttle)))]
mod chosen {
    pub(crate) use std::hash::RandomState;
    pub(crate) use std::sync::{Mutex, MutexGuard, atomic};

    pub(crate) const MODEL_CHECKED: bool = false;
}

#[cfg(all(test, idem_loom))]
mod chosen {
    pub(crate) use loom::sync::{Mutex, MutexGuard, atomic};

    pub(crate) use super::checked::*;
}

#[cfg(idem_shuttle)]
mod chosen {
    pub(crate) use shuttle::sync::{Mutex, MutexGuard, atomic};

    pub(crate) use super::checked::*;
}

/// A checker explores every execution of one program: chance may have no part in it.
#[cfg(any(all(test, idem_loom), idem_shuttle))]
mod checked {
    use std::hash::{BuildHasherDefault, DefaultHasher};

    pub(crate) type RandomState = BuildHasherDefault<DefaultHasher>;

    pub(crate) const MODEL_CHECKED: bool = true;
}

pub(crate) use chosen::{MODEL_CHECKED, Mutex, MutexGuard, RandomState, atomic};
