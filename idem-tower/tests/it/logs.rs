//! What is logged, and what is never.

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use idem_tower::ProblemKind;
use tower::{Layer as _, ServiceExt as _};
use tracing::Dispatch;
use tracing::subscriber::{DefaultGuard, NoSubscriber};
use tracing_subscriber::filter::LevelFilter;

use crate::support::layer;
use crate::support::provoke::{KEY, SCOPE, SECRET, provoke};

/// What this thread logs, until the guard is dropped.
#[derive(Clone, Default)]
struct Logs(Arc<Mutex<Vec<u8>>>);

impl Logs {
    fn begin() -> (Self, (DefaultGuard, Dispatch)) {
        let logs = Self::default();
        let writer = logs.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(LevelFilter::TRACE)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        // While there is one subscriber only, tracing decides for every thread by what the thread has that
        // comes first to a place that logs: by that of another test, which has none.
        let second = Dispatch::new(NoSubscriber::new());
        (logs, (tracing::subscriber::set_default(subscriber), second))
    }

    /// The lines of this level.
    fn lines(&self, level: &str) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let level = format!(" {level} ");
        let lines = text.lines().filter(|line| line.contains(&level));
        lines.map(ToOwned::to_owned).collect()
    }
}

impl io::Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn without_a_scope_an_error_says_which_order_of_layers_helps() {
    let (logs, _guard) = Logs::begin();
    provoke(ProblemKind::NoScope, |layer| layer).await;
    let errors = logs.lines("ERROR");
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains("no scope"), "{errors:?}");
    assert!(
        errors[0].contains("inside the one that authenticates"),
        "{errors:?}"
    );
}

#[tokio::test]
async fn a_layer_that_is_applied_twice_warns_once_and_the_outer_one_counts() {
    let (logs, _guard) = Logs::begin();
    let (outer, outer_store, _) = layer();
    let (inner, inner_store, _) = layer();
    let handler = tower::service_fn(|_| async {
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::new())))
    });
    let service = outer.layer(inner.layer(handler));
    for key in ["1", "2", "3"] {
        let request = Request::post("/payments")
            .header("x-client", "ana")
            .header("idempotency-key", key)
            .body(Full::<Bytes>::default())
            .unwrap();
        assert_eq!(
            service.clone().oneshot(request).await.unwrap().status(),
            200
        );
    }
    let warnings = logs.lines("WARN");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("applied twice"), "{warnings:?}");
    assert_eq!((outer_store.len(), inner_store.len()), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_no_key_no_scope_and_no_payload_is_logged() {
    let (logs, _guard) = Logs::begin();
    for kind in ProblemKind::ALL {
        provoke(*kind, |layer| layer).await;
    }
    let levels = ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"];
    let lines: Vec<_> = levels.iter().flat_map(|level| logs.lines(level)).collect();
    // No scope, a store that is away, a record that cannot be read, an answer that broke off.
    assert!(lines.len() >= 4, "{lines:#?}");
    for line in lines {
        for raw in [KEY, SCOPE, SECRET] {
            assert!(!line.contains(raw), "{line}");
        }
    }
}
