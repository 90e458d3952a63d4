//! A disk that refuses to take more: every call ends, the store closes itself, and what was acknowledged is
//! there in the next process. Without arguments this is the test; with arguments, a process whose files may not
//! grow, since its shell has set a limit.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and it prints figures"
)]

#[cfg(unix)]
#[path = "support/one_test.rs"]
mod one_test;
#[cfg(unix)]
mod support;

#[cfg(unix)]
fn main() {
    unix::main();
}

#[cfg(not(unix))]
fn main() {
    println!("the limit on files is a Unix shell's");
}

#[cfg(unix)]
mod unix {
    use std::io::{BufRead as _, BufReader};
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::sync::mpsc;
    use std::thread;
    use std::time::{Duration, Instant};

    use idem_core::{Error, IdempotencyStore as _, Inspect as _, Outcome, Response};
    use idem_sled::{EffectTree, OpenError, RunInError, SledStore};
    use testkit::Folder;

    use crate::support::large::assert_whole;
    use crate::support::{operation, request, reserve};

    const ARGUMENT: &str = "fill-the-disk";
    /// By when a commit counts as hanging. Far above what a busy machine needs.
    const LIMIT: Duration = Duration::from_secs(2);
    /// Beyond it.
    const PATIENCE: Duration = Duration::from_secs(10);
    /// Of 512 bytes each: `ulimit -f`.
    const BLOCKS: &str = "3072";
    const MORE_THAN_THAT: usize = 4 << 20;

    pub(super) fn main() {
        let args: Vec<String> = std::env::args().skip(1).collect();
        if let [argument, what, folder] = &args[..]
            && argument == ARGUMENT
        {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(fill(what, Path::new(folder)));
            // Not by the end of `main`: a thread hangs in sled.
            std::process::exit(0);
        }
        crate::one_test::run("a_disk_that_refuses_ends_every_call", || {
            assert_eq!(run("the log"), "something could not be written");
            assert_eq!(
                run("the log, in transactions"),
                "something could not be written"
            );
            assert_eq!(run("a large row"), "sled hangs");
            assert_eq!(run("an opening"), "it was not open");
        });
    }

    /// What such a process said at its end, after all that it had acknowledged was found in its folder.
    fn run(what: &str) -> String {
        let began = Instant::now();
        let folder = Folder::new();
        let mut acknowledged = Vec::new();
        let mut blocks = BLOCKS;
        if what == "an opening" {
            // In a process that could write, and was closed.
            (acknowledged, _) = limited("nothing", "1048576", &folder);
            blocks = "1";
        }
        let (also, closed) = limited(what, blocks, &folder);
        acknowledged.extend(also);
        assert!(acknowledged.len() >= 20, "{}", acknowledged.len());
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let store = SledStore::open(folder.path()).await.unwrap();
            for key in &acknowledged {
                let outcome = store.reserve(&request(key)).await.unwrap();
                assert!(matches!(outcome, Outcome::Replay(_)), "{key}: {outcome:?}");
            }
            assert_whole(&store);
            reserve(&store, "goes on").await;
            store.close().await.unwrap();
        });
        println!(
            "{what}: {} acknowledged, and all there; {:?}",
            acknowledged.len(),
            began.elapsed()
        );
        closed
    }

    /// Runs a process whose files have at most so many blocks: what it acknowledged, and how it was closed.
    fn limited(what: &str, blocks: &str, folder: &Folder) -> (Vec<String>, String) {
        let mut child = Command::new("sh")
            // The signal that goes with the refusal would end it.
            .args(["-c", "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"", blocks])
            .arg(std::env::current_exe().unwrap())
            .args([ARGUMENT, what])
            .arg(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (tell, told) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        let reader = thread::spawn(move || {
            for line in output.lines() {
                tell.send(line.unwrap()).unwrap();
            }
        });
        let (mut acknowledged, mut closed) = (Vec::new(), None);
        // Until it has closed its output: the process has ended.
        loop {
            match told.recv_timeout(LIMIT + 3 * PATIENCE) {
                Ok(line) => match line.split_once(' ').unwrap() {
                    ("acknowledged", key) => acknowledged.push(key.to_owned()),
                    ("closed:", how) => closed = Some(how.to_owned()),
                    _ => println!("{what}: {line}"),
                },
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    child.kill().unwrap();
                    panic!("{what}: it hangs");
                }
            }
        }
        reader.join().unwrap();
        assert!(child.wait().unwrap().success());
        (acknowledged, closed.expect("it says how it was closed"))
    }

    async fn complete(store: &SledStore, key: &str) -> Result<(), Error> {
        let request = request(key);
        if let Outcome::Reserved { attempt, .. } = store.reserve(&request).await? {
            let record = request.operation.record.clone();
            let holder = idem_core::Holder::new(record, request.token, attempt);
            let answer = Response::new(201).body("x".repeat(10_000));
            store.complete(&holder, &answer.into()).await?;
            println!("acknowledged {key}");
        }
        Ok(())
    }

    async fn complete_at_once(
        store: &SledStore,
        rows: &EffectTree,
        key: &str,
    ) -> Result<(), Error> {
        let run = store.run_in([rows], operation(key), |[rows], _| {
            rows.insert("row", "150.00");
            Ok::<_, Error>(Response::new(201).body("x".repeat(10_000)))
        });
        match run.await {
            Ok(_) => println!("acknowledged {key}"),
            Err(RunInError::Store(error)) => return Err(error),
            Err(error) => panic!("{error:?}"),
        }
        Ok(())
    }

    /// In the process whose files may not grow.
    async fn fill(what: &str, folder: &Path) {
        let options = SledStore::options(folder).commit_limit(LIMIT);
        let began = Instant::now();
        let store = match options.open().await {
            Ok(store) => store,
            Err(error) => {
                println!("refused: {error:?} after {:?}", began.elapsed());
                assert!(what == "an opening" && began.elapsed() < LIMIT + PATIENCE);
                return println!("closed: it was not open");
            }
        };
        let rows = store.effect_tree("rows").await.unwrap();
        let mut refused = None;
        for number in 0..1_000 {
            if number == 8 && what == "a large row" {
                // Past the store, and into a file of its own: whoever wrote it is told, and the store is not.
                let rows = store.db().unwrap().open_tree("rows").unwrap();
                let row = rows.insert("row", vec![7; MORE_THAN_THAT]);
                println!("row: {:?}", row.unwrap_err());
            }
            let began = Instant::now();
            // Some wait together; those who transact wait for a flush, and lock the others out meanwhile.
            let transacts = what == "the log, in transactions";
            let all = [0, 1, 2].map(|also| {
                let (store, rows, key) = (store.clone(), rows.clone(), format!("{number}.{also}"));
                tokio::spawn(async move {
                    if transacts && also > 0 {
                        complete_at_once(&store, &rows, &key).await
                    } else {
                        complete(&store, &key).await
                    }
                })
            });
            for task in all {
                refused = refused.or(task.await.unwrap().err());
            }
            if what == "nothing" && number == 10 {
                drop(rows);
                store.close().await.unwrap();
                return println!("closed: well");
            }
            if refused.is_some() {
                println!("refused: after {:?}", began.elapsed());
                assert!(began.elapsed() < LIMIT + PATIENCE);
                break;
            }
        }
        let refused = refused.expect("the disk refuses");
        println!("refused: {refused}");
        let began = Instant::now();
        let record = operation("0.0").record;
        assert!(store.get(&record).await.is_err());
        assert!(store.reserve(&request("late")).await.is_err());
        assert!(store.flush().await.is_err());
        assert!(store.purge_expired(1).await.is_err());
        assert!(store.effect_tree("late").await.is_err());
        println!("later: 5 calls in {:?}", began.elapsed());
        assert!(began.elapsed() < PATIENCE);
        drop(rows);
        let error = store.close().await.unwrap_err().to_string();
        let how = ["something could not be written", "sled hangs"];
        let how = how.into_iter().find(|how| error.contains(how)).unwrap();
        println!("closed: {how}");
        assert!(began.elapsed() < LIMIT + PATIENCE);
        // What cannot be written cannot be opened, either, and that is an answer, too.
        let again = SledStore::options(folder).commit_limit(LIMIT).open().await;
        println!(
            "again: {:?} after {:?}",
            again.as_ref().err(),
            began.elapsed()
        );
        let is_locked = matches!(again, Err(OpenError::Locked));
        assert_eq!(is_locked, how == "sled hangs");
        assert!(began.elapsed() < 2 * LIMIT + PATIENCE);
    }
}
