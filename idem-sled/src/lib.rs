//! The sled store for idempotency: durable, for one process, with nothing to install.
//!
//! ```
//! use idem_core::*;
//! use idem_sled::SledStore;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("idem-sled-doc-{}", std::process::id()));
//! let store = SledStore::open(&folder).await?;
//! let idempotency = Idempotency::new(store.clone());
//! let operation = Operation::new(Scope::new("acct_812")?, Key::new("order-17")?, Fingerprint::raw("150.00"));
//! let charge = async |_: Reservation| Ok::<_, Error>(Response::new(201).body("paid"));
//!
//! let first = idempotency.execute(&operation, charge).await?; // on disk before it is answered
//! let retry = idempotency.execute(&operation, charge).await?; // in the next process, too
//! assert_eq!(first.response(), retry.response());
//! store.close().await?;
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(()) }
//! ```
//!
//! # What survives
//! | | [`Durability::Immediate`] (default) | [`Durability::Eventual`] |
//! | --- | --- | --- |
//! | `kill -9`, panic, out of memory | everything that was acknowledged, and whatever an answer rested on | all but the last `within` and one flush |
//! | the machine stops | the same, as far as the disk keeps what it has confirmed by `fdatasync`, **and as long as sled writes less than about 1 MiB of log between two syncs: [see below](#when-the-machine-stops)** | the same as for a kill, on the same condition |
//! | [`close`](SledStore::close), or the last clone dropped | everything | everything, if the last flush succeeds: `close` says so, and [`flush`](SledStore::flush) before |
//! | the disk is lost | nothing | nothing |
//!
//! Under `Immediate` one thread commits: sled's `flush()`, then a sync of every file of large values that is new,
//! then `fdatasync`, then it wakes everybody whose write that covered. So callers share syncs, and throughput
//! grows with them. A repeat that is answered from a record whose sync is still under way waits for it (law D1);
//! one that finds it on disk waits for nothing. **If a flush fails, or takes longer than the
//! [limit](Options::commit_limit), the store closes itself**: after a failed sync the kernel forgets what it could
//! not write, so nothing that is in memory can be relied on any more. Everybody who waits is told, and every later
//! call says so until the folder is opened again.
//!
//! Under `Eventual` a killed process puts the store back to how it was at some instant before: **what had been
//! answered may run again**. Choose it where the effect is deduplicated by its derived key anyway.
//!
//! # Key and effect together
//! A payment that is a row in a tree of the same folder commits together with its key:
//! [`run_in`](SledStore::run_in). With a provider, reserve first, call it with the derived key, and commit result
//! and answer together: [`complete_in`](SledStore::complete_in); under `idem_tower` answer with its
//! `RecordedAnswer`, or call `run_in` from behind `by_hand`. Handlers are closures that may run more than once, and
//! write through the trees that they are given alone. What they read there may not be on disk yet: a
//! [`RollBack`](Settled::RollBack), which writes nothing, may be answered from rows that a crash takes back. Keep
//! rows small, some KiB: what follows about large values is about rows as well.
//!
//! # The clock
//! The wall clock, which never runs backwards here, not even across restarts: the latest instant shown is written
//! with every commit.
//!
//! | the wall clock | then |
//! | --- | --- |
//! | jumps forward | leases end early, by no more than the jump. What protects then is the token, and the derived key or `Hold` |
//! | is set back while the store is open | time goes on from where it was; leases end when they would have |
//! | is behind when the store is opened | time goes on from the latest instant written. What passed in between does not count: leases end later by so much |
//!
//! # Opening
//! One process at a time, one store in it; anything else is [`OpenError::Locked`]. A later format is
//! [`OpenError::NewerFormat`]; folders of earlier ones are read, and no earlier release opens them afterwards.
//! What a killed process left half-written is cleared away under a lock of the store's own, once every file of the
//! folder has been read through: that takes as long as reading them does, and sled then reads them from memory.
//! A record that cannot be read, in a tree that can, is an error for its key, and never vacant.
//!
//! # What calls cost
//! No call runs on a thread of the async runtime: each is handed to one of four threads of the store's, since sled
//! may read from the disk, or wait for it, within any call. Reserving and completing wait for one commit; index
//! entries are written before their record and need none of their own. Purging costs what is due, and waits for
//! one commit at its end. `changed` wakes at writes through this store.
//!
//! Values of any size are kept. What is over 2 KiB, an answer with its headers or a saved progress, is written in
//! chunks of 4 KiB beside its record, costs that many writes in the same commit, and as many when it is replaced
//! or purged. Opening looks at each of them, to remove what a crash has left without a record.
//!
//! Space comes back late: the log is compacted as it goes, and takes about twice what is stored. Call
//! [`Inspect::purge_expired`](idem_core::Inspect::purge_expired), or let a [`Janitor`](idem_core::Janitor) do it.
//!
//! # When the machine stops
//! A power cut, a kernel's panic or a virtual machine that is killed, not the end of a process. On Linux sled takes for
//! stable what is only on its way to the disk, and once it has written about 1 MiB of log, two of its segments, it may
//! write over a segment whose pages it has moved, before what they were moved to is synced. Then acknowledged answers
//! may be gone, a transaction split, or the folder may never open again.
//!
//! So the store has sled write little between two syncs: whoever has handed it 64 KiB since the last waits for the
//! next. A log is several times what is stored: 11 MB went by between two syncs when five answers of 900 kB were purged
//! without this, and 0.5 MB with it. **What is left** is what one transaction of yours writes, what a crash left and
//! an opening removes, and whatever sled does of its own accord beyond what was seen. Keep rows small. Where it must
//! not happen at all, take Postgres, or a provider that deduplicates by the derived key for longer than you retry; and
//! keep a backup. The tests kill processes, and look at the order and the amount of writes and syncs; none cuts the
//! power.
//!
//! # sled, plainly
//! sled 0.34.7 is from 2021, the last stable release, and **nobody maintains it**; 1.0 has been in alpha since, with
//! another format and without transactions. Its own README says: if reliability is your primary constraint, use
//! SQLite. Two crates that it depends on are unmaintained as well (RUSTSEC-2025-0057, RUSTSEC-2024-0384). What is
//! relied on here is little: compare-and-swap for each key, transactions, and a log that comes back up to some
//! place. What is known to be weak is worked around, **but for the first row**:
//!
//! | sled 0.34.7 | so here |
//! | --- | --- |
//! | on Linux it takes what `sync_file_range` has written for stable, and on the strength of that writes over older parts of its log, between two syncs | the store has it write little between two syncs, which narrows it: [see above](#when-the-machine-stops) |
//! | `flush_async` hangs for ever at eight callers | it is never called; one thread flushes |
//! | `flush()` is `sync_file_range` on Linux, which leaves the data in the disk's cache | `fdatasync` of the file follows |
//! | values in files of their own are never synced | they are, and their folder, before the `fdatasync` |
//! | a kill while it writes its snapshot makes it refuse to open, although nothing is lost | the unfinished file is removed first |
//! | so does one in its very first moments | half a configuration without data is removed |
//! | its cache is 1 GiB | 64 MiB, see [`Options::cache_capacity`] |
//! | a leaf of a tree, up to 16 values, is a file of its own once it is over 128 KiB; not all of these files are removed when they are replaced and the process restarts | the store's own trees stay far below that, see above. **Not for rows of yours**, nor for what the first format wrote until it is replaced |
//! | if such a file cannot be written, its flushes wait for ever; or for the next write, if a piece of the log cannot | it is made to write, a new tree each time, also while a transaction waits; after [a limit](Options::commit_limit) every call is told, and `close` returns. **The folder may stay locked then until the process ends**, and its other stores may wait: start it anew |
//! | what it cannot read of its log when it opens, a large value's file included, it takes for the log's end, and clears away what follows | everything is read through first, and a file that refuses is an [error](OpenError::Io). **Not if a file is missing**: keep the folder whole, and a backup |
//! | a transaction over several trees is atomic when the process is killed, but not if a write of it fails (nor always [if the machine stops](#when-the-machine-stops)) | the record comes last: an effect may stand without its completion, and the retry meets it under the same derived key |
//! | a transaction's closure may run again, and locks out every other call in the process | see [`run_in`](Transactions::run_in) |
//!
//! What hangs without a commit is not noticed: a read on a disk that does not answer, or a transaction's handler
//! that does not end.
//!
//! It is killed several hundred times in each run of this crate's tests, also within flushes and transactions, and
//! the order of its writes and syncs is looked at by system call; a process whose files may not grow is told so, and
//! all that was acknowledged is there in the next.
//!
//! How it compares, on one machine whose disk syncs in 85 µs (36-byte keys, 80-byte values, thousands of durable
//! inserts a second; n: callers at a time):
//!
//! | | n = 1 | 16 | 64 |
//! | --- | --- | --- | --- |
//! | **sled, flushes shared, `fdatasync`: this store's way** | 4.9 | 37 | 94 |
//! | sled, a flush and `fdatasync` for each | 5.0 | 12 | |
//! | redb, a durable transaction for each | 4.6 | 4.2 | |
//! | redb, commits shared | 4.2 | 19 | 33 |
//! | fjall, `SyncData` for each | 9.9 | 8.6 | |
//! | SQLite, WAL, `synchronous=FULL` | 7.1 | 6.8 | |
//!
//! redb and SQLite are maintained; [`CompareAndSwap`](idem_core::CompareAndSwap) makes a store of any of them in
//! three functions. For many processes there is Postgres.

mod clock;
mod commits;
mod complete_in;
mod core;
mod disk;
mod effect_tree;
mod engine;
mod failure;
mod hands;
mod large;
mod life;
mod nudge;
mod open;
mod options;
mod pace;
mod readable;
mod run_in;
mod store;
mod sync;
mod threads;
mod transaction;

pub use complete_in::NotCompleted;
pub use effect_tree::{EffectTree, TreeInTransaction};
pub use failure::OpenError;
pub use idem_core::{Reserved, RunInError, Settled};
pub use options::{Commit, Durability, Options};
pub use run_in::Transactions;
pub use sled;
pub use store::SledStore;
