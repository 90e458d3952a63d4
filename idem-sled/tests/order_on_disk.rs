//! No acknowledgement leaves before the sync that covers it, by the system calls themselves. Without arguments
//! this is the test, which runs itself under strace; with arguments, what is traced.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and it prints figures"
)]

#[cfg(target_os = "linux")]
mod support;

#[cfg(target_os = "linux")]
#[path = "support/one_test.rs"]
mod one_test;

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

/// sled syncs by other calls elsewhere, and strace is Linux's.
#[cfg(not(target_os = "linux"))]
fn main() {
    println!("the order of system calls is looked at on Linux");
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::future::{Future as _, poll_fn};
    use std::path::Path;
    use std::pin::pin;
    use std::process::Command;
    use std::task::Poll;

    use idem_core::{IdempotencyStore as _, Inspect as _, ManualClock, Outcome, Response, Terms};
    use idem_sled::{Durability, SledStore, sled};
    use testkit::Folder;

    use crate::support::{operation, request, reserve};

    /// sled's. It may write over what it has moved after about two of them without a sync.
    const SEGMENT: u64 = 512 << 10;

    const ARGUMENT: &str = "be-traced";

    pub(super) fn main() {
        let args: Vec<String> = std::env::args().skip(1).collect();
        if let [argument, folder, durability] = &args[..]
            && argument == ARGUMENT
        {
            return be_traced(Path::new(folder), durability);
        }
        crate::one_test::run("no_answer_before_its_sync", no_answer_before_its_sync);
    }

    fn no_answer_before_its_sync() {
        let seen = judge(&trace("immediate")).unwrap_or_else(|fault| panic!("{fault}"));
        println!(
            "{} syncs, and every acknowledgement after the one that covers it; {} bytes of log between two at most",
            seen.syncs, seen.most_between_syncs
        );
        assert!(
            seen.most_between_syncs < 2 * SEGMENT,
            "{}",
            seen.most_between_syncs
        );
        // The judge can say no: under Eventual the order is another.
        let fault = judge(&trace("eventual")).unwrap_err();
        println!("eventual: {fault}");
    }

    /// What a process that is traced says between its calls goes to a file that nobody reads but strace.
    fn say(what: &str) {
        fs::write("/dev/null", format!("{what}\n")).unwrap();
    }

    fn be_traced(folder: &Path, durability: &str) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let durability = match durability {
            "immediate" => Durability::Immediate,
            _ => Durability::Eventual {
                within: std::time::Duration::from_secs(3600),
            },
        };
        runtime.block_on(async {
            let clock = ManualClock::new();
            let options = SledStore::options(folder).durability(durability);
            let options = options.clock(clock.clone());
            let store = options.open().await.unwrap();
            let rows = store.effect_tree("rows").await.unwrap();
            for round in 0..5 {
                let key = format!("{round}");
                let holder = reserve(&store, &key).await;
                say("ACK reserve");
                // Given to a thread of the store's, and its caller goes away.
                let answer = Response::new(201).body("x".repeat(300)).into();
                {
                    let mut dropped = pin!(store.complete(&holder, &answer));
                    let _ = poll_fn(|cx| Poll::Ready(dropped.as_mut().poll(cx).is_ready())).await;
                }
                while !matches!(
                    store.reserve(&request(&key)).await.unwrap(),
                    Outcome::Replay(_)
                ) {
                    // It was dropped before it swapped.
                    store.complete(&holder, &answer).await.unwrap();
                    say("ACK complete");
                }
                say("ACK replay");

                let holder = reserve(&store, &format!("{round} large")).await;
                say("ACK reserve");
                // In chunks, which are written before the record.
                let large = Response::new(201).body(vec![7; 900_000]).into();
                store.complete(&holder, &large).await.unwrap();
                say("ACK complete large");

                let run = store.run_in(
                    [&rows],
                    operation(&format!("{round} in one")),
                    |[rows], _| {
                        // Over 128 KiB: sled puts it into a file of its own.
                        rows.insert("row", vec![7; 300_000]);
                        Ok::<_, sled::Error>(Response::new(201))
                    },
                );
                run.await.unwrap();
                say("ACK transaction");
            }
            for round in 0..100 {
                let holder = reserve(&store, &format!("{round} small")).await;
                let answer = Response::new(201).body(vec![7; 1500]).into();
                store.complete(&holder, &answer).await.unwrap();
            }
            clock.advance(2 * Terms::default().retention());
            let purged = store.purge_expired(1000).await.unwrap();
            say("ACK purge");
            assert_eq!(purged.removed, 115, "{purged:?}");
        });
    }

    /// The system calls of such a process, a line for each.
    fn trace(durability: &str) -> String {
        let folder = Folder::new();
        let output = folder.path().join("trace");
        let ended = Command::new("strace")
            .args(["-f", "-q", "-y", "-s", "40"])
            .args(["-e", "trace=openat,write,pwrite64,fsync,fdatasync"])
            .arg("-o")
            .arg(&output)
            .arg(std::env::current_exe().unwrap())
            .args([
                ARGUMENT,
                folder.path().join("store").to_str().unwrap(),
                durability,
            ])
            .status()
            .expect("strace is installed: `cargo xtask setup`");
        assert!(ended.success(), "{ended}");
        fs::read_to_string(output).unwrap()
    }

    /// What was written and is not synced, at some line of the trace.
    #[derive(Debug, Default)]
    struct Judge {
        /// By thread, what a call that has begun and not ended was about.
        unfinished: BTreeMap<String, String>,
        /// Files written to since the last sync of them began.
        dirty: BTreeSet<String>,
        /// Files that a sync covers that has begun, by thread.
        syncing: BTreeMap<String, String>,
        unsynced: BTreeMap<String, u32>,
        syncs: u32,
        in_blobs: u32,
        acknowledged: BTreeMap<String, u32>,
        log_since_sync: u64,
        most_between_syncs: u64,
    }

    /// How many syncs there were; or which acknowledgement came too early.
    fn judge(trace: &str) -> Result<Judge, String> {
        let mut judge = Judge::default();
        for line in trace.lines() {
            let Some((thread, call)) = line.split_once(' ') else {
                continue;
            };
            judge
                .see(thread, call.trim_start())
                .map_err(|fault| format!("{fault}: {line}"))?;
        }
        assert!(judge.in_blobs >= 5, "{} writes to blobs", judge.in_blobs);
        for what in ["reserve", "replay", "complete large", "transaction"] {
            let seen = judge.acknowledged.get(what).copied().unwrap_or(0);
            assert!(
                seen >= 5,
                "{seen} x {what}: the trace is not what it should be"
            );
        }
        assert!(judge.syncs >= 20, "{} syncs", judge.syncs);
        Ok(judge)
    }

    impl Judge {
        fn see(&mut self, thread: &str, call: &str) -> Result<(), String> {
            if call.starts_with("<...") {
                let begun = self.unfinished.remove(thread).unwrap_or_default();
                return self.ends(thread, &begun);
            }
            self.begins(thread, call);
            if let Some(begun) = call.strip_suffix("<unfinished ...>") {
                self.unfinished.insert(thread.to_owned(), begun.to_owned());
                // What it says leaves when it begins.
                return if begun.contains("ACK ") {
                    self.ends(thread, begun)
                } else {
                    Ok(())
                };
            }
            self.ends(thread, call)
        }

        /// A write counts from its beginning, and so does what a sync covers.
        fn begins(&mut self, thread: &str, call: &str) {
            let Some(file) = file(call) else { return };
            if call.starts_with("fsync(") || call.starts_with("fdatasync(") {
                if file.ends_with("/db") {
                    self.log_since_sync = 0;
                }
                self.syncing.insert(thread.to_owned(), file.to_owned());
                self.dirty.remove(file);
            } else if call.starts_with("write(") || call.starts_with("pwrite64(") {
                if file.ends_with("/db") {
                    self.log_since_sync += length(call);
                    self.most_between_syncs = self.most_between_syncs.max(self.log_since_sync);
                }
                self.dirty.insert(file.to_owned());
                self.in_blobs += u32::from(file.contains("/blobs/"));
                *self.unsynced.entry(file.to_owned()).or_default() += 1;
            }
        }

        fn ends(&mut self, thread: &str, call: &str) -> Result<(), String> {
            if let Some(file) = self.syncing.remove(thread) {
                self.syncs += 1;
                if !self.dirty.contains(&file) {
                    self.unsynced.remove(&file);
                }
            }
            if let Some((_, rest)) = call.split_once("\"ACK ") {
                let what = rest.split(['\\', '"']).next().unwrap_or_default();
                *self.acknowledged.entry(what.to_owned()).or_default() += 1;
                if let Some((file, writes)) = self.unsynced.first_key_value() {
                    return Err(format!("{writes} writes to {file} were not synced"));
                }
            }
            Ok(())
        }
    }

    /// How much a `pwrite64` is to write: the last but one of its arguments.
    fn length(call: &str) -> u64 {
        let arguments = call.split(')').next().unwrap_or_default();
        let mut last = arguments.rsplit(", ").skip(1);
        last.next()
            .and_then(|length| length.parse().ok())
            .unwrap_or(0)
    }

    /// The file of a call, if it is one that holds the store's data.
    fn file(call: &str) -> Option<&str> {
        let (_, rest) = call.split_once('<')?;
        let (file, _) = rest.split_once('>')?;
        let data = file.ends_with("/store/db") || file.contains("/store/blobs/");
        data.then_some(file)
    }
}
