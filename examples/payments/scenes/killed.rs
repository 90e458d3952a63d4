//! A server process that is killed after the provider charged and before the answer is recorded.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::{ANA, PAYMENT};
use crate::client::{Answer, Connection, Failure};
use crate::temporary::TemporaryFolder;

pub(crate) const EXPECTED: &str =
    "no answer; then 409 in-flight retry 1s; then 201, again: same bytes; charges: 1";

/// The first life charges, and waits for the provider's answer for longer than it lives. The second one opens
/// the same files.
pub(crate) async fn after_the_charge() -> Result<String, Failure> {
    let folder = TemporaryFolder::new()?;
    let ledger = folder.path().join("ledger");
    let mut first = Server::start(folder.path(), &ledger, "1h").await?;
    let lost = tokio::spawn(pay(first.address));
    while std::fs::metadata(&ledger)?.len() == 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    // SIGKILL: nothing is tidied up.
    first.process.kill().await?;
    let lost = match lost.await? {
        Ok(answer) => answer.to_string(),
        Err(_) => "no answer".to_owned(),
    };

    let second = Server::start(folder.path(), &ledger, "0s").await?;
    let refused = pay(second.address).await?;
    // The reservation of the dead process stands until its lease has lapsed.
    let taken_over = loop {
        let answer = pay(second.address).await?;
        if answer.status() != "409" {
            break answer;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let again = pay(second.address).await?;
    let same = again.compared_to(&taken_over);
    let connection = Connection::open(second.address).await?;
    let ledger = connection.get("/ledger").await?.json()?;
    let charges = ledger["charges"].as_array().map_or(0, Vec::len);
    Ok(format!(
        "{lost}; then {refused}; then {taken_over}, again: {same}; charges: {charges}"
    ))
}

async fn pay(server: SocketAddr) -> Result<Answer, Failure> {
    let connection = Connection::open(server).await?;
    connection.pay(ANA, Some("order-1"), PAYMENT).await
}

/// This program, serving in a process of its own. Dropped, it is killed.
struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    async fn start(folder: &Path, ledger: &Path, latency: &str) -> Result<Self, Failure> {
        let store = format!("sled:{}", folder.join("store").display());
        let mut process = Command::new(std::env::current_exe()?)
            .args(["serve", "--listen", "127.0.0.1:0", "--lease", "2s"])
            .args(["--store", &store, "--provider-latency", latency])
            .arg("--provider-ledger")
            .arg(ledger)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = process.stdout.take().ok_or("it has no output")?;
        let first = BufReader::new(stdout).lines().next_line().await?;
        let first = first.unwrap_or_default();
        let address = first.strip_prefix("listening on http://");
        let address = address.ok_or("the server did not start")?.parse()?;
        Ok(Self { process, address })
    }
}
