//! Whether statements that are prepared here are there for other sessions too: a pooler that gives each
//! transaction another session of the server, and does not track what clients prepare.
//!
//! Behind one, the names of prepared statements collide: most calls fail, and in the worst case the server
//! runs another client's statement under the same name. (That the store's own writes differ in the number
//! of their values makes it refuse that for them: see [`Sql`](crate::sql::Sql).) So this is looked for
//! where a store is opened.

use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, PgPool, Row as _};
use tokio::time::timeout;

/// What is said where it is found.
pub(crate) const REMEDY: &str = "a pooler gives each transaction another session of the server, where \
    prepared statements get lost and mixed up: use Statements::Text, or let the pooler track them \
    (PgBouncer 1.21: max_prepared_statements)";

/// A look that takes longer is not worth it.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often it is looked: a pooler may have several sessions idle, and take them in turn.
const LOOKS: usize = 4;

/// Names as this driver gives them. Poolers that track statements give them names of their own.
const OF_CLIENTS: &str = "SELECT count(*) AS others FROM pg_prepared_statements \
                          WHERE name LIKE 'sqlx\\_s\\_%'";

/// Makes a connection that prepares nothing, and sees whether statements are prepared in its session all
/// the same. On a connection of the pool some must have been, just before.
///
/// `true` is a proof. `false` is none: the pooler may have had another session free. It is also the answer
/// if there is no further connection to be had.
pub(crate) async fn mixes_statements_up(pool: &PgPool) -> bool {
    let look = async {
        let mut connection = pool.connect_options().connect().await?;
        let found = look(&mut connection).await;
        // It has done its work, however it ends.
        let _ = connection.close().await;
        found
    };
    matches!(timeout(PATIENCE, look).await, Ok(Ok(true)))
}

async fn look(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    for _ in 0..LOOKS {
        let row = connection.fetch_one(sqlx::raw_sql(OF_CLIENTS)).await?;
        let others: i64 = row.try_get("others")?;
        if others > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}
