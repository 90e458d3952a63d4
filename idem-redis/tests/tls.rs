//! By TLS, to a server whose certificate the machine knows, and not to one that it does not know.
#![cfg(feature = "tls")]
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use idem_core::{Answer, Applied, IdempotencyStore, Outcome, Response};
use idem_redis::{Connection, RedisStore};
use support::{request, reserve};
use testkit::{Folder, Port, Redis};
use tokio::runtime::Runtime;

const TEST: &str = "a_store_by_tls_keeps_its_records_and_knows_its_server";
/// Who finds a URL in it is a process for which the certificate is one of the machine's roots.
const VARIABLE: &str = "IDEM_TLS_URL";

#[test]
fn a_store_by_tls_keeps_its_records_and_knows_its_server() {
    let runtime = Runtime::new().unwrap();
    if let Ok(url) = std::env::var(VARIABLE) {
        return runtime.block_on(works(&url));
    }
    let (folder, port) = (Folder::new(), Port::claim());
    let (certificate, key) = self_signed(folder.path());
    let server = Redis::builder()
        .setting("tls-port", &port.number().to_string())
        .setting("tls-cert-file", &certificate)
        .setting("tls-key-file", &key)
        .setting("tls-ca-cert-file", &certificate)
        .setting("tls-auth-clients", "no")
        .start();
    let url = format!("rediss://{}", port.address());

    // Nobody on this machine has heard of that certificate.
    let error = runtime.block_on(Connection::open(&url)).unwrap_err();
    assert!(error.is_unavailable(), "{error:?}");
    assert_eq!(error.applied(), Applied::No);

    let mut trusting = Command::new(std::env::current_exe().unwrap());
    trusting.args(["--exact", TEST, "--nocapture"]);
    trusting.env(VARIABLE, &url);
    let said = trusting
        .env("SSL_CERT_FILE", &certificate)
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&said.stdout) + String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success(), "{words}\n{}", server.log());
    assert_eq!(
        server.ask(&["EXISTS", "idem:acct_812:k"]),
        testkit::resp::Reply::Integer(1)
    );
}

/// Over the connection of all, and over one of a call's own.
async fn works(url: &str) {
    let store = RedisStore::new(Connection::open(url).await.unwrap());
    let holder = reserve(&store, &request("k")).await;
    let answer = Answer::from(Response::new(201).body("paid"));
    store.complete(&holder, &answer).await.unwrap();
    match store.reserve(&request("k")).await.unwrap() {
        Outcome::Replay(replay) => assert_eq!(replay.answer, answer),
        other => panic!("{other:?}"),
    }
    let waiting = store.wait_replicas(1, Duration::from_millis(50)).unwrap();
    let alone = waiting.reserve(&request("k")).await.unwrap_err();
    assert!(alone.to_string().contains("replicas"), "{alone:?}");
}

/// For 127.0.0.1, and good for two days: certificate and key, by path.
fn self_signed(folder: &Path) -> (String, String) {
    let path = |name: &str| folder.join(name).display().to_string();
    let (certificate, key) = (path("certificate.pem"), path("key.pem"));
    let made = Command::new("openssl")
        .args(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2".split(' '),
        )
        .args([
            "-subj",
            "/CN=127.0.0.1",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
        ])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-out", &certificate, "-keyout", &key])
        .output()
        .expect("`openssl` makes a certificate: install the package of that name");
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    (certificate, key)
}
