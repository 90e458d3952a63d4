//! The Redis store for idempotency: single server or cluster, Redis or Valkey.
//!
//! **Redis can lose what it acknowledged**, and a lost record is a second run. So the effect must survive that:
//! give the provider the [derived key](idem_core::Reservation::derived_key), which even a lost record derives
//! anew, or keep the records in a database.
//!
//! ```no_run
//! use idem_core::*;
//! use idem_redis::*;
//!
//! # async fn pay() -> Result<(), Box<dyn std::error::Error>> {
//! let store = RedisStore::new(Connection::open("redis://redis.internal:6379").await?);
//! let idempotency = Idempotency::new(store);
//!
//! let operation = Operation::new(Scope::new("acct_812")?, Key::new("order-17")?, Fingerprint::raw("150.00"));
//! let executed = idempotency
//!     .execute(&operation, async |reservation: Reservation| {
//!         let provider_key = reservation.derived_key("charge"); // the same, even if Redis forgets
//!         # let _ = provider_key;
//!         Ok::<_, Error>(Response::new(201).body("paid"))
//!     })
//!     .await?;
//! # _ = executed; Ok(()) }
//! ```
//!
//! # What Redis can lose, and what that does to the promise
//! | | what is lost | what to set |
//! | --- | --- | --- |
//! | eviction: `maxmemory` with any policy but `noeviction` | any record at any time; the `volatile-*` policies take records first, since each has a time to live | `maxmemory-policy noeviction`: full, the server then refuses what is new, and what runs can still be recorded |
//! | a crash without an append-only file | everything | `appendonly yes` |
//! | a crash with `appendfsync everysec` | about the last second, also of what was acknowledged | `appendfsync always` |
//! | a failover: replicas are behind | what the primary had not sent yet | [`RedisStore::wait_replicas`] narrows it, `min-replicas-to-write` bounds it |
//! | a clock that jumps forward | leases and times to live end early | the token of each attempt still keeps late writers out |
//! | a clock that is set back | nothing; but leases of the dead last longer by as much, and each repeat is told a whole one | wait, or [`resolve`](idem_core::resolve) |
//!
//! [`RedisStore::check`] finds which of these a server has; run it when a process starts.
//!
//! A lost *reservation* lets a second request run beside the first, whose late answer is then refused
//! (`Superseded`). A lost *answer* lets the next repeat run again. Law D1 holds as far as the server's settings
//! carry it, for replays too: what is replayed is what the server has now.
//!
//! With [`RedisStore::wait_replicas`] an answer is given only once so many replicas have what it rests on. **That does
//! not make Redis consistent**: a failover may elect a replica that has not confirmed. With as many as each primary
//! has, every one has confirmed, and nothing is answered while one is away. What was not confirmed in time is of
//! unknown outcome.
//!
//! The tests bring all of this about, with a provider that knows the derived key again: servers and applications
//! killed, the last second of the append-only file taken away, lines cut, primaries killed whose replicas are behind.
//! No effect happens twice in any of them; what was lost is counted, and printed.
//!
//! # What calls cost
//! | | round trips | in the server |
//! | --- | --- | --- |
//! | reserve a new key; replay | 1 | `SET … NX GET PX` and `TIME`; before Redis 7.0 a script |
//! | complete, renew, abandon, release | 1 | a script: one read, one write |
//! | a conflict, a mismatch, a takeover, a resend | 2 | the same `SET`, which then writes nothing, and a script |
//! | with [`wait_replicas`](RedisStore::wait_replicas) | 1 more | `WAIT`; a small script before it where nothing was written |
//! | [`changed`](idem_core::IdempotencyStore::changed) | 1 every 25 to 250 ms for each waiter | a script that reads |
//! | [`lapsed`](idem_core::Inspect::lapsed) | for each page, one for each 500 keys **of the whole server** and one for each 16 records | `SCAN`, and for each record a script that leaves its answer alone |
//! | [`purge_expired`](idem_core::Inspect::purge_expired) | 0 | nothing: the server removes what has expired |
//!
//! Each step is atomic in the server and reads the server's clock. Scripts go by their digest; a server that has
//! forgotten them is sent the text once more.
//!
//! Every record has a time to live from its first write on. One that was reserved under
//! [`Hold`](idem_core::OnLapse::Hold) and has started has none until it is completed, abandoned or released:
//! nobody but a person may forget it.
//!
//! # Clusters
//! One record is one key, whose name never has a brace in it, whatever the client wrote: see [`Prefix`]. With the
//! feature `cluster`, [`Connection::open_cluster`]. The driver resends there by itself, up to 16 times and within the
//! limit of a call; every write names its token and can be repeated. The price: an error never says "not applied", and
//! a copy of the driver's may find that the one before it was applied. A completion is then told its own answer as one
//! that stands already, which counts as a replay. A release is told that it is superseded, and so is an abandoning that
//! somebody took over in between: the caller gets a conflict in the place of its own response.
//!
//! # A cache in front of a database
//! [`RedisCache`] is the shared cache for [`Cached`](idem_core::Cached): repeats are answered without the database, and
//! nothing rests on what Redis keeps. A copy outlives its record, though: if the database loses a completion that it had
//! committed, by a failover or a restore, repeats that find the copy are answered by it, and others run again. After a
//! restore, take a new [`Prefix`].
//!
//! # Errors
//! | Redis says | the error | applied |
//! | --- | --- | --- |
//! | `OOM`, `READONLY`, `LOADING`, `MISCONF`, `NOREPLICAS`, `BUSY` | transient | no |
//! | `NOAUTH`, `WRONGPASS`, `NOPERM`, `CROSSSLOT`, `MOVED` | not transient | no |
//! | `WRONGTYPE`, or a value that cannot be read | [corrupt](idem_core::Error::is_corrupt), for this key only | no |
//! | nothing: the connection was lost, or no answer came in time | transient | unknown |
//! | `WAIT` counted too few replicas, or failed | transient | unknown |
//!
//! Where no write is taken, what is recorded is replayed all the same; by a replica, too, as far as it has it. `READONLY`
//! passes once the connection leads to a primary: [`Connection::open`] makes it anew, about once a second.
//!
//! On a cluster all but the third are of unknown outcome. What the server says in its own words is left out, since it
//! may quote the key.
//!
//! # Limits
//! - Durations are counted in milliseconds and clamped at 2^53. Answers have at most 256 MiB.
//! - A user of an ACL needs `EVALSHA`, `EVAL`, `SET`, `GET`, `GETEX`, `DEL`, `TIME`, `PTTL` and `PEXPIRETIME` on the keys
//!   under the prefix; on a cluster also `CLUSTER SLOTS`, `PING` and `ASKING`, and `READONLY` for a connection of yours
//!   that reads from replicas; `SCAN` and `GETRANGE` for [`lapsed`](idem_core::Inspect::lapsed); `INFO` and `CONFIG GET`
//!   for all that [`check`](RedisStore::check) can find; `WAIT` for [`wait_replicas`](RedisStore::wait_replicas).
//! - **The times to live under the prefix are the store's.** From that of a new record the store tells when it was
//!   reserved: to shorten it (`EXPIRE`) lets a second run start beside the first, to lengthen it keeps the key from
//!   everybody for as much longer. Without it (`PERSIST`) a new record cannot be read, and others stay in memory for ever.
//! - The tests run on Redis 7.0 and, before a release, on Redis 8 and Valkey 9. An older Redis has neither
//!   `SET … NX GET` nor `PEXPIRETIME`: the store then does by scripts alone, and with `PTTL`. The tests run that, too,
//!   on a Redis 7.0 that lacks them; on 6.2, the oldest that has what is left, nothing was run.
//! - [`wait_replicas`](RedisStore::wait_replicas) goes straight to the nodes of a cluster and follows no redirection
//!   within a call: one that finds its record elsewhere, or a slot on its way to another node, is transient.
//! - Names contain scope and key, escaped, so that `lapsed` can tell them: whoever may list the server's keys sees
//!   them. Use [`Scope::digest`](idem_core::Scope::digest) and [`Key::from_parts`](idem_core::Key::from_parts) for what
//!   is secret.
//! - Drop a future, and what it sent may still be applied; nothing else is left behind.
//! - redis 1.8, re-exported here. On another version of it, let the store make its connection:
//!   [`Connection::open`].
//!
//! # Features
//! - `cluster`: connections to a cluster.
//! - `tls`: `rediss://…`, by rustls and the machine's own roots, with ring unless the process has installed another
//!   provider of cryptography.

mod ask;
mod cache;
mod check;
mod connection;
mod danger;
mod failure;
mod inspect;
mod lines;
mod name;
mod refusal;
mod reopen;
mod replicas;
mod reply;
mod script;
#[cfg(feature = "cluster")]
mod slots;
mod store;
mod suspicion;
mod value;
mod wait;

pub use cache::RedisCache;
pub use connection::{Connection, Limits};
pub use danger::Danger;
pub use name::Prefix;
pub use redis;
pub use store::RedisStore;
