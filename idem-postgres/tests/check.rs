//! Each danger is found where it is, with its remedy, and none where there is none.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use idem_postgres::sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use idem_postgres::sqlx::{self, Connection as _};
use idem_postgres::{Danger, PostgresStore, Statements, Table};
use testkit::{PgBouncer, Postgres, Stop, until};

/// As the executor's default.
const ONE_CALL: Duration = Duration::from_secs(2);

/// As a server for production is: what it acknowledges is on the disk.
static SERVER: LazyLock<Postgres> = LazyLock::new(sound_server);

fn sound_server() -> Postgres {
    Postgres::builder().fsync().start()
}

/// A role and a store of their own, on a server, as they should be.
struct Sound<'a> {
    server: &'a Postgres,
    /// The name of the role, and of the schema or the database that it owns.
    role: String,
    database: String,
    store: PostgresStore,
}

impl<'a> Sound<'a> {
    /// In a schema, which has the role's name and so is found without being named.
    async fn on(server: &'a Postgres, statements: Statements) -> Self {
        let role = new_role(server, "CREATE SCHEMA AUTHORIZATION ROLE_NAME");
        Self::open(server, role, "postgres", statements).await
    }

    /// In a database: it takes longer to make.
    async fn alone_on(server: &'a Postgres) -> Self {
        let role = new_role(server, "CREATE DATABASE ROLE_NAME OWNER ROLE_NAME");
        let database = role.clone();
        Self::open(server, role, &database, Statements::Prepared).await
    }

    async fn open(
        server: &'a Postgres,
        role: String,
        database: &str,
        statements: Statements,
    ) -> Self {
        let pool = pool_of_one(options(server).username(&role).database(database));
        let table = Table::default();
        PostgresStore::migrate(&pool, &table).await.unwrap();
        let store = PostgresStore::open_with(pool, table, statements).await;
        Self {
            server,
            role,
            database: database.to_owned(),
            store: store.unwrap(),
        }
    }

    /// Runs this as the superuser in the store's database, with the name of the role for `ROLE_NAME`.
    async fn alter(&self, sql: &str) {
        let path = format!("{}, public", self.role);
        let options = options(self.server)
            .database(&self.database)
            .options([("search_path", path)]);
        let mut connection = sqlx::ConnectOptions::connect(&options).await.unwrap();
        let sql = sqlx::AssertSqlSafe(sql.replace("ROLE_NAME", &self.role));
        let ran = sqlx::Executor::execute(&mut connection, sqlx::raw_sql(sql)).await;
        ran.unwrap();
    }

    /// What is found on a new connection.
    async fn check(&self) -> Vec<Danger> {
        let connection = self.store.pool().acquire().await.unwrap().detach();
        connection.close().await.unwrap();
        self.store.check(ONE_CALL).await.unwrap()
    }

    /// That this is found and nothing else, and that it says this much.
    #[track_caller]
    fn assert_finds(found: &[Danger], says: &[&str], when: &str) {
        let said: Vec<_> = found.iter().map(ToString::to_string).collect();
        let all = said.len() == says.len()
            && said
                .iter()
                .zip(says)
                .all(|(said, says)| said.contains(says));
        assert!(all, "{when}: {said:?} instead of {says:?}");
    }
}

const SOUND_ROLE: &str = "ALTER ROLE ROLE_NAME SET statement_timeout = '1500ms'; \
    ALTER ROLE ROLE_NAME SET idle_in_transaction_session_timeout = '30s'";

fn new_role(server: &Postgres, home: &str) -> String {
    static ROLES: AtomicUsize = AtomicUsize::new(0);
    let role = format!("clerk_{}", ROLES.fetch_add(1, Ordering::Relaxed));
    let make = format!("CREATE ROLE ROLE_NAME LOGIN; {SOUND_ROLE}");
    for sql in [&make, home] {
        server.psql(&sql.replace("ROLE_NAME", &role)).unwrap();
    }
    role
}

fn options(server: &Postgres) -> PgConnectOptions {
    PgConnectOptions::new()
        .socket(server.socket_folder())
        .port(server.port_number())
        .username("postgres")
}

fn pool_of_one(options: PgConnectOptions) -> PgPool {
    PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(Duration::from_secs(20))
        .connect_lazy_with(options)
}

#[tokio::test]
async fn a_server_as_it_should_be_has_no_dangers() {
    for statements in [Statements::Prepared, Statements::Text] {
        let sound = Sound::on(&SERVER, statements).await;
        assert_eq!(sound.check().await, []);
    }
}

#[tokio::test]
async fn what_is_set_for_a_role_or_a_database_is_found() {
    let sound = Sound::alone_on(&SERVER).await;
    for (whose, setting, value, says) in [
        (
            "ROLE",
            "statement_timeout",
            "0",
            "statement_timeout is not set",
        ),
        // As long as the executor waits is too long.
        ("ROLE", "statement_timeout", "2s", "statement_timeout is 2s"),
        (
            "ROLE",
            "statement_timeout",
            "1min",
            "for 2s. Set a shorter one: ALTER ROLE … SET statement_timeout = '1500ms'",
        ),
        (
            "ROLE",
            "idle_in_transaction_session_timeout",
            "0",
            "idle_in_transaction_session_timeout is not set",
        ),
        (
            "ROLE",
            "default_transaction_read_only",
            "on",
            "default_transaction_read_only is on",
        ),
        (
            "DATABASE",
            "synchronous_commit",
            "off",
            "synchronous_commit is off",
        ),
        ("DATABASE", "track_counts", "off", "track_counts is off"),
    ] {
        let set = format!("ALTER {whose} ROLE_NAME SET {setting} = '{value}'");
        sound.alter(&set).await;
        Sound::assert_finds(&sound.check().await, &[says], &set);
        let reset = format!("ALTER {whose} ROLE_NAME RESET {setting}; {SOUND_ROLE}");
        sound.alter(&reset).await;
    }
    assert_eq!(sound.check().await, []);
}

#[tokio::test]
async fn what_is_set_for_the_server_is_found() {
    let server = sound_server();
    let sound = Sound::on(&server, Statements::Prepared).await;
    for (name, says) in [
        ("fsync", "fsync is off"),
        ("full_page_writes", "full_page_writes is off"),
        ("autovacuum", "autovacuum is off"),
    ] {
        for value in ["off", "on"] {
            let set = format!("ALTER SYSTEM SET {name} = {value}");
            sound.alter(&set).await;
            sound.alter("SELECT pg_reload_conf()").await;
            let show = format!("SHOW {name}");
            until(&show, ONE_CALL * 10, || {
                (server.psql(&show).unwrap() == value).then_some(())
            });
            let says: &[&str] = if value == "off" { &[says] } else { &[] };
            Sound::assert_finds(&sound.check().await, says, name);
        }
    }
}

#[tokio::test]
async fn what_is_wrong_with_the_table_is_found() {
    let sound = Sound::on(&SERVER, Statements::Prepared).await;
    for (harm, says, mend) in [
        (
            "ALTER TABLE idempotency_records SET (autovacuum_enabled = False)",
            "autovacuum_enabled of the table is off",
            "ALTER TABLE idempotency_records RESET (autovacuum_enabled)",
        ),
        (
            "ALTER TABLE idempotency_records RESET (fillfactor)",
            "ALTER TABLE … SET (fillfactor = 50)",
            "ALTER TABLE idempotency_records SET (fillfactor = 50)",
        ),
        (
            "ALTER TABLE idempotency_records SET UNLOGGED",
            "ALTER TABLE … SET LOGGED",
            "ALTER TABLE idempotency_records SET LOGGED",
        ),
        (
            "DROP INDEX idempotency_records_purge_idx",
            "no valid index on purge_at",
            "CREATE INDEX ON idempotency_records (purge_at)",
        ),
        (
            "UPDATE idempotency_records_version SET version = 0",
            "of version 0, this release needs 1: run PostgresStore::migrate",
            "UPDATE idempotency_records_version SET version = 1",
        ),
        (
            "UPDATE idempotency_records_version SET version = 9",
            "of version 9, this release knows 1: update idem-postgres",
            "UPDATE idempotency_records_version SET version = 1",
        ),
        (
            "DELETE FROM idempotency_records_version",
            "of version none",
            "INSERT INTO idempotency_records_version VALUES (1)",
        ),
    ] {
        sound.alter(harm).await;
        Sound::assert_finds(&sound.check().await, &[says], harm);
        sound.alter(mend).await;
    }
    assert_eq!(sound.check().await, []);

    let drop = "DROP TABLE idempotency_records, idempotency_records_version";
    sound.alter(drop).await;
    let gone = sound.store.check(ONE_CALL).await.unwrap_err();
    assert!(gone.to_string().contains("is missing"), "{gone:?}");
}

#[tokio::test]
async fn several_dangers_are_all_found() {
    for statements in [Statements::Prepared, Statements::Text] {
        let sound = Sound::on(&SERVER, statements).await;
        sound
            .alter("ALTER ROLE ROLE_NAME SET statement_timeout = 0")
            .await;
        for sql in [
            "ALTER TABLE idempotency_records RESET (fillfactor)",
            "UPDATE idempotency_records_version SET version = 0",
        ] {
            sound.alter(sql).await;
        }
        let says = ["statement_timeout", "fillfactor", "of version 0"];
        Sound::assert_finds(&sound.check().await, &says, "three");
    }
}

#[tokio::test]
async fn a_server_that_has_become_a_standby_is_found() {
    let server = sound_server();
    let sound = Sound::on(&server, Statements::Prepared).await;
    sound.store.pool().acquire().await.unwrap().detach();
    server.stop(Stop::Fast);
    server.becomes_standby();
    server.start_again();
    let says = ["is a standby"];
    let found = sound.store.check(ONE_CALL).await.unwrap();
    Sound::assert_finds(&found, &says, "standby");
    assert!(matches!(
        found[..],
        [Danger::ReadOnly { standby: true, .. }]
    ));
}

#[tokio::test]
async fn what_the_server_does_not_tell_is_passed_over() {
    let sound = Sound::alone_on(&SERVER).await;
    // What would be found if it were told.
    sound
        .alter("ALTER ROLE ROLE_NAME SET statement_timeout = 0")
        .await;
    for sql in [
        "ALTER TABLE idempotency_records SET UNLOGGED",
        "REVOKE SELECT ON pg_settings FROM PUBLIC",
        "REVOKE EXECUTE ON FUNCTION pg_is_in_recovery() FROM PUBLIC",
        "REVOKE SELECT ON pg_index FROM PUBLIC",
        "REVOKE ALL ON idempotency_records_version FROM ROLE_NAME",
    ] {
        sound.alter(sql).await;
    }
    assert_eq!(sound.check().await, []);
}

#[tokio::test]
async fn a_pooler_that_came_between_is_found() {
    let sound = Sound::alone_on(&SERVER).await;
    let bouncer = PgBouncer::start(&SERVER);
    let users = "ALTER ROLE postgres IN DATABASE ROLE_NAME SET statement_timeout = '1s'; \
         ALTER ROLE postgres IN DATABASE ROLE_NAME SET idle_in_transaction_session_timeout = '1s'";
    sound.alter(users).await;
    let through = options(&SERVER)
        .socket(bouncer.socket_folder())
        .port(bouncer.port_number())
        .database(&sound.role)
        .extra_float_digits(None);
    sound.store.pool().set_connect_options(through);
    let says = ["use Statements::Text"];
    Sound::assert_finds(&sound.check().await, &says, "pooler");
}
