//! `watch`, the one channel in use.

/// A value that one side changes and the other side watches.
pub mod watch {
    use std::fmt;
    use std::future::poll_fn;
    use std::ops::Deref;
    use std::sync::Arc;
    use std::task::{Poll, Waker};

    use shuttle::sync::{Mutex, MutexGuard};

    /// The side that changes the value. There is one.
    pub struct Sender<T>(Arc<Mutex<State<T>>>);

    /// A side that watches.
    pub struct Receiver<T>(Arc<Mutex<State<T>>>);

    struct State<T> {
        value: T,
        closed: bool,
        waiting: Vec<Waker>,
    }

    /// The value, for as long as it is looked at.
    pub struct Ref<'a, T>(MutexGuard<'a, State<T>>);

    /// The sender is gone.
    #[derive(Debug)]
    pub struct RecvError(());

    impl<T> Sender<T> {
        /// A channel that begins with `value`.
        pub fn new(value: T) -> Self {
            Self(Arc::new(Mutex::new(State {
                value,
                closed: false,
                waiting: Vec::new(),
            })))
        }

        /// One more receiver.
        pub fn subscribe(&self) -> Receiver<T> {
            Receiver(Arc::clone(&self.0))
        }

        /// Looks at the value.
        pub fn borrow(&self) -> Ref<'_, T> {
            Ref(lock(&self.0))
        }

        /// Changes the value, and wakes all who wait.
        pub fn send_modify(&self, modify: impl FnOnce(&mut T)) {
            change(&self.0, |state| modify(&mut state.value));
        }

        /// Sets the value, wakes all who wait, and gives the value before.
        pub fn send_replace(&self, value: T) -> T {
            change(&self.0, |state| std::mem::replace(&mut state.value, value))
        }
    }

    impl<T> Drop for Sender<T> {
        fn drop(&mut self) {
            change(&self.0, |state| state.closed = true);
        }
    }

    impl<T> Receiver<T> {
        /// Waits for a value of which `is_it` is true.
        pub async fn wait_for(
            &mut self,
            mut is_it: impl FnMut(&T) -> bool,
        ) -> Result<(), RecvError> {
            poll_fn(|cx| {
                let mut state = lock(&self.0);
                if is_it(&state.value) {
                    return Poll::Ready(Ok(()));
                }
                if state.closed {
                    return Poll::Ready(Err(RecvError(())));
                }
                if !state
                    .waiting
                    .iter()
                    .any(|waker| waker.will_wake(cx.waker()))
                {
                    state.waiting.push(cx.waker().clone());
                }
                Poll::Pending
            })
            .await
        }
    }

    impl<T> Deref for Ref<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.0.value
        }
    }

    impl<T> fmt::Debug for Sender<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Sender").finish_non_exhaustive()
        }
    }

    impl<T> fmt::Debug for Receiver<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Receiver").finish_non_exhaustive()
        }
    }

    fn change<T, R>(state: &Mutex<State<T>>, change: impl FnOnce(&mut State<T>) -> R) -> R {
        let mut state = lock(state);
        let result = change(&mut state);
        let woken = std::mem::take(&mut state.waiting);
        drop(state);
        woken.into_iter().for_each(Waker::wake);
        result
    }

    fn lock<T>(state: &Mutex<State<T>>) -> MutexGuard<'_, State<T>> {
        state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
