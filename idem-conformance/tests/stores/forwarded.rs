//! A reference, a box or an `Arc` of a store is a store.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use idem_conformance::{Harness, Store, async_trait};
use idem_core::{ManualClock, MemoryStore};

/// A store behind a pointer.
trait Pointer: Send + Sync + 'static {
    type To: Store + Clone + 'static;

    fn to(store: MemoryStore) -> Self::To;
}

struct Forwarded<P: Pointer> {
    clock: ManualClock,
    store: P::To,
    pointer: PhantomData<P>,
}

#[async_trait]
impl<P: Pointer> Harness for Forwarded<P> {
    async fn open() -> Self {
        let clock = ManualClock::new();
        Self {
            store: P::to(MemoryStore::with_clock(clock.clone())),
            clock,
            pointer: PhantomData,
        }
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

mod reference {
    use super::*;

    struct Reference;

    impl Pointer for Reference {
        type To = &'static MemoryStore;

        fn to(store: MemoryStore) -> Self::To {
            Box::leak(Box::new(store))
        }
    }

    idem_conformance::conformance!(Forwarded<Reference>, exact_time);
}

mod boxed {
    use super::*;

    struct Boxed;

    impl Pointer for Boxed {
        type To = Box<MemoryStore>;

        fn to(store: MemoryStore) -> Self::To {
            Box::new(store)
        }
    }

    idem_conformance::conformance!(Forwarded<Boxed>, exact_time);
}

mod shared_object {
    use super::*;

    struct SharedObject;

    impl Pointer for SharedObject {
        type To = Arc<dyn Store>;

        fn to(store: MemoryStore) -> Self::To {
            Arc::new(store)
        }
    }

    idem_conformance::conformance!(Forwarded<SharedObject>, exact_time);
}
