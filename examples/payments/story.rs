//! Plays the scenes, and prints a line for each: what it is, what is expected, what was seen.

use std::process::ExitCode;
use std::time::Duration;

use idempotency::{Builder, OnConflict, OnLapse};
use tokio::time::timeout;

use crate::client::Failure;
use crate::flags;
use crate::sabotage::Sabotage;
use crate::scenes::{answers, at_once, interrupted, killed, one_transaction, two_servers};
use crate::stage::Stage;
use crate::store::StoreUrl;

/// A scene that hangs is wrong, not endless. None waits for the time: this is for a wrong store.
const LONGEST_SCENE: Duration = Duration::from_secs(15);

struct Story {
    sabotage: Option<Sabotage>,
    wrong: Vec<&'static str>,
    played: usize,
}

/// Whether every scene came out as expected, as an exit code. `Err`: what is wrong with the flags, in one line.
#[rustfmt::skip]
pub(crate) async fn play(flags: flags::Story) -> Result<ExitCode, String> {
    let opened = match flags.store.clone() {
        Some(store) => Some(store.open(flags.cache.clone()).await?),
        None => None,
    };
    let mut story = Story { sabotage: flags.sabotage, wrong: Vec::new(), played: 0 };
    let plain = |settings: Builder| settings;
    let waiting = |settings: Builder| settings.on_conflict(OnConflict::Wait { up_to: 4 * LONGEST_SCENE });
    let holding = |settings: Builder| settings.on_lapse(OnLapse::Hold);

    println!("Each scene plays over HTTP, against a server of its own on 127.0.0.1.\n");
    line("scene", "expected", "seen", "");
    story.scene("a first request", "201; charges: 1", plain, answers::first_request).await;
    story.scene("the same request again", "201 replayed, same bytes; charges: 1", plain, answers::repeat).await;
    story.scene("the same key, another payload", "422 key-reused; charges: 1", plain, answers::other_payload).await;
    story.scene("20 at the same instant", "1 x 201, 19 x 409 in-flight retry 1s; charges: 1", plain, at_once::rejected).await;
    story.scene("20 at once, in wait mode", "1 x 201, 19 x 201 replayed, same bytes; charges: 1", waiting, at_once::waiting).await;
    story.scene("no key", "400 key-missing; charges: 0", plain, answers::no_key).await;
    story.scene("the amount abc", answers::INVALID_EXPECTED, plain, answers::invalid_amount).await;
    story.scene("a declined card", answers::DECLINED_EXPECTED, plain, answers::declined).await;
    story.scene("two clients, one key", "201, 201, own answers; charges: 2", plain, answers::two_clients).await;
    story.scene("a handler outlives its lease", interrupted::LEASE_EXPECTED, plain, interrupted::outlives_its_lease).await;
    story.scene("a client hangs up", interrupted::HANG_UP_EXPECTED, plain, interrupted::hangs_up).await;
    story.scene("an attempt crashes under hold", interrupted::CRASH_EXPECTED, holding, interrupted::crashes).await;
    story.scene("after the retention", "201 replayed, then 201, new payment; charges: 2", plain, interrupted::after_retention).await;
    story.judge("the server is killed", killed::EXPECTED, killed::after_the_charge()).await;
    if let Some(store) = flags.store.filter(StoreUrl::is_shared) {
        let servers = two_servers::Servers { store, cache: flags.cache };
        story.judge("20 at once at two servers", "1 x 201, 19 x 409 in-flight retry 1s; charges: 1", servers.at_once()).await;
        story.judge("the other server is asked", "201, then 201 replayed, same bytes; charges: 1", servers.one_then_the_other()).await;
    }
    if let Some(transfers) = opened.and_then(|opened| opened.transfers) {
        story.judge("row and key in one commit", one_transaction::CRASH_EXPECTED, one_transaction::crashes(&transfers)).await;
        story.judge("20 transfers at one instant", "1 x 201, 19 x 409 in-flight retry 1s; rows: 1", one_transaction::at_once(&transfers)).await;
    }
    Ok(story.end())
}

impl Story {
    /// A scene on a stage of its own.
    async fn scene(
        &mut self,
        name: &'static str,
        expected: &str,
        settings: impl FnOnce(Builder) -> Builder,
        play: impl AsyncFnOnce(Stage) -> Result<String, Failure>,
    ) {
        let sabotage = self.sabotage;
        let scene = async move { play(Stage::set(sabotage, settings).await?).await };
        self.judge(name, expected, scene).await;
    }

    /// A scene says what it has seen in the words of what is expected, so nothing is checked that is
    /// not printed.
    async fn judge(
        &mut self,
        name: &'static str,
        expected: &str,
        scene: impl Future<Output = Result<String, Failure>>,
    ) {
        let seen = match timeout(LONGEST_SCENE, scene).await {
            Ok(Ok(seen)) => seen,
            Ok(Err(error)) => format!("error: {error}"),
            Err(_) => format!("no end within {LONGEST_SCENE:?}"),
        };
        self.played += 1;
        if seen == expected {
            line(name, expected, "the same", "ok");
        } else {
            line(name, expected, &seen, "WRONG");
            self.wrong.push(name);
        }
    }

    fn end(self) -> ExitCode {
        if self.wrong.is_empty() {
            println!("\nall {} scenes came out as expected", self.played);
            return ExitCode::SUCCESS;
        }
        let (wrong, played) = (self.wrong.len(), self.played);
        println!(
            "\n{wrong} of {played} scenes came out WRONG: {}",
            self.wrong.join("; ")
        );
        ExitCode::FAILURE
    }
}

fn line(scene: &str, expected: &str, seen: &str, verdict: &str) {
    let line = format!("{scene:<30}  {expected:<79}  {seen:<8}  {verdict}");
    println!("{}", line.trim_end());
}
