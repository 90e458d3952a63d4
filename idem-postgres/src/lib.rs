//! The Postgres store for idempotency: the authoritative store, and key and effect in one transaction.
//!
//! **Never call a provider inside a transaction.** What the provider did does not roll back, and for as long
//! as it takes, the transaction holds a connection, locks, and every request with the same key. Measured with
//! a pool of 2, a provider that takes 1 s, and 8 callers at once (`tests/provider_cost.rs`):
//!
//! | the provider is called | all callers are done after | a query that has nothing to do with them waits |
//! | --- | --- | --- |
//! | inside the transaction | 4.2 s | 4.1 s |
//! | between two of them | 1.0 s | 8 ms |
//!
//! If the effect is in this database, let key and effect commit together. If it is a provider's, reserve and
//! commit first, call the provider with the derived key, then commit result and answer together.
//!
//! ```no_run
//! use idem_core::*;
//! use idem_postgres::*;
//!
//! # async fn check() -> Result<(), Box<dyn std::error::Error>> {
//! let pool = sqlx::PgPool::connect("postgres://app@db.internal/payments").await?;
//! let table = Table::default();
//! PostgresStore::migrate(&pool, &table).await?;
//! let store = PostgresStore::open(pool.clone(), table).await?;
//!
//! let operation = Operation::new(Scope::new("acct_812")?, Key::new("order-17")?, Fingerprint::raw("150.00"));
//! let executed = store
//!     .run_in(&pool, operation, async |mut connection: EffectConnection, _: Reserved| {
//!         sqlx::query("INSERT INTO payments (amount) VALUES (150.00)").execute(&mut *connection).await?;
//!         Ok::<_, sqlx::Error>(Response::new(201).body("paid"))
//!     })
//!     .await?;
//! # _ = executed; Ok(()) }
//! ```
//!
//! # Two ways, and what is left if the process dies
//! One transaction ([`PostgresStore::run_in`], or its parts [`reserve_in`](PostgresStore::reserve_in) and
//! [`complete_held_in`](PostgresStore::complete_held_in) in a transaction of one's own):
//!
//! | dies after | the effect | the key | the retry |
//! | --- | --- | --- | --- |
//! | begin, reserve, effect | rolled back | free | runs |
//! | commit, before the answer is sent | there | completed | replays |
//! | a commit whose answer was lost | there, or not | completed, or free | finds out |
//!
//! Three steps, with a provider ([`Idempotency`](idem_core::Idempotency) over the store, and
//! [`commit_in`](PostgresStore::commit_in), or [`complete_in`](PostgresStore::complete_in) and a commit of one's own;
//! under [`Hold`](idem_core::OnLapse::Hold) the retry is in conflict until a person has looked):
//!
//! | dies after | the effect | the key | the retry |
//! | --- | --- | --- | --- |
//! | reserve and commit | none | reserved | after the lease: runs |
//! | the provider's answer | at the provider | reserved | after the lease: asks with the same derived key |
//! | result and answer committed | there | completed | replays |
//!
//! # How transactions end
//!
//! | what happens | then |
//! | --- | --- |
//! | the handler fails or panics | it has not happened: everything rolls back, the key is as it was |
//! | the payment is declined, and that is to be remembered | [`Settled::CompleteWithoutEffect`]: what the handler wrote rolls back to a savepoint, the answer commits |
//! | a savepoint of the handler's own is rolled back | what was written since is undone, no more |
//! | a savepoint around [`reserve_in`](PostgresStore::reserve_in) is rolled back | the reservation is undone: completing is [`NotCompleted::Superseded`] |
//! | a transaction of one's own is dropped | it rolls back |
//! | the answer of the commit is lost | effect and answer are both there, or neither: the error says [`Unknown`](idem_core::Applied::Unknown), and the same request, sent again, finds out |
//! | serialization failure (SQLSTATE 40001) before the effect | the transaction begins anew by itself |
//! | serialization failure after it | nothing was applied: the handler's error, or one of the store that says so; the same request, sent again, runs |
//! | a takeover beside `complete_in` | [`NotCompleted::Superseded`]: roll back; the other attempt has the same derived key |
//! | two transactions reserve two keys in opposite order | a conflict, also where the server finds a deadlock: the transaction goes on |
//! | a nested transaction cannot begin, or its `begin` is dropped | sqlx ends the whole transaction: an error that says [`Unknown`](idem_core::Applied::Unknown), whatever the handler says; its parts refuse a connection without a transaction |
//! | a second request meets a reservation before its commit | it waits for the time of a commit, or as long as [asked](Transactions::wait), then replays, or is a conflict for a second at most |
//!
//! # What calls cost
//! Reserving a new key and completing are one statement and one commit each; a replay is one statement that
//! takes no lock and writes nothing. Taking over what lapsed is two. Completing and renewing are HOT updates;
//! purging follows an index; `lapsed` reads the table, since an index for it would cost every write, so give its role
//! a `statement_timeout` that is long enough. Under
//! [`OnLapse::Hold`](idem_core::OnLapse::Hold) the first renewal and the completion touch the purge index.
//! Behind a cache ([`Cached`](idem_core::Cached), and before transactions [`Transactions::behind`]) a replay and a
//! rapid repeat are no statement at all.
//!
//! [`changed`](idem_core::IdempotencyStore::changed) looks every 50 to 500 ms by primary key and holds no
//! connection in between: `LISTEN`/`NOTIFY` would make every completion take a lock of the whole cluster.
//!
//! # Limits and promises
//! - All time is the server's. A clock that jumps forward frees leases early: what protects then is the token,
//!   and the transaction or the derived key.
//! - Durable as `synchronous_commit` says; `off` gives up law D1, for replays too.
//! - Statements wait 100 ms for the lock of a row, and then once more; for the lock of the table, which only DDL
//!   is in the way of, until the `statement_timeout`. Set a `statement_timeout` for the role that is
//!   shorter than the executor's [store timeout](idem_core::Builder::store_timeouts) of 2 s. What else may be
//!   wrong with a server, [`check`](PostgresStore::check) finds: run it when a process starts.
//! - Every call on the pool is one autocommit statement at a time, so that a dropped future leaves no open
//!   transaction behind; [`run_in`](PostgresStore::run_in) runs in a task that nobody can drop. **Your own
//!   `Pool::begin` can**: in sqlx 0.8.4 to 0.9.0 a cancelled `begin` leaves a transaction open on the pooled
//!   connection, and what later calls write there is acknowledged and lost. Heal it in your pool:
//!   ```no_run
//!   # use idem_postgres::sqlx::{self, Executor as _, postgres::PgPoolOptions};
//!   let pool = PgPoolOptions::new().after_release(|connection, _| {
//!       Box::pin(async move { connection.execute("ROLLBACK").await.map(|_| true) })
//!   });
//!   ```
//! - Works under any default isolation level, with a pool of one, and behind a pooler in transaction mode that
//!   does not track prepared statements: see [`Statements::Text`].
//! - sqlx 0.9, re-exported here. On another version, let the store make its pool:
//!   [`PostgresStore::connect`].

mod before;
mod check;
mod danger;
mod effect_connection;
mod failure;
mod in_transaction;
mod inspect;
mod open;
mod pooler;
mod row;
mod run_in;
mod schema;
mod session;
mod sql;
mod statement;
mod store;
mod table;
mod wait;

pub use danger::Danger;
pub use effect_connection::EffectConnection;
pub use idem_core::{Reserved, RunInError, Settled};
pub use in_transaction::NotCompleted;
pub use run_in::Transactions;
pub use sqlx;
pub use statement::Statements;
pub use store::PostgresStore;
pub use table::Table;
