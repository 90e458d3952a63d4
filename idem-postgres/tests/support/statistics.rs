//! A server that logs each statement, to count them.

use idem_postgres::sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use idem_postgres::{PostgresStore, Statements, Table};
use testkit::Postgres;

/// What a server of its own has logged of statements since it was last asked.
pub(crate) struct Statistics {
    pub(crate) server: Postgres,
    seen: usize,
}

impl Statistics {
    pub(crate) fn start() -> Self {
        let server = Postgres::builder()
            .setting("log_statement", "all")
            .setting("autovacuum", "off")
            .start();
        Self { server, seen: 0 }
    }

    /// A store on it, over a pool of so many connections.
    pub(crate) async fn store(&self, connections: u32, statements: Statements) -> PostgresStore {
        let options = PgConnectOptions::new()
            .socket(self.server.socket_folder())
            .port(self.server.port_number())
            .username("postgres");
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .test_before_acquire(false);
        let pool = pool.connect_with(options).await.unwrap();
        let table = Table::default();
        PostgresStore::migrate(&pool, &table).await.unwrap();
        let store = PostgresStore::open_with(pool, table, statements).await;
        store.unwrap()
    }

    pub(crate) fn new_statements(&mut self) -> Vec<String> {
        let log = self.server.log();
        let ran = |line: &&str| line.contains("statement: ") || line.contains("execute ");
        let all: Vec<_> = log.lines().filter(ran).map(str::to_owned).collect();
        let new = all[self.seen..].to_vec();
        self.seen = all.len();
        new
    }
}
