//! Connections: how many, how they are set up, and what happens when one has died.

use std::future::Future;
use std::str::FromStr;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

use super::{StoreError, StoreResult};

static MIGRATOR: Migrator = sqlx::migrate!("./migrations");

/// Measured on two cores: 12 to 16 connections are best, 4 give 60 %.
pub const CONNECTIONS: u32 = 16;

/// How long a request waits for a connection before it is told to come back.
const ACQUIRE: Duration = Duration::from_secs(5);

/// What is set in every session, and why. Whoever measures the product's statements elsewhere plans them like this too.
pub const SESSION: [(&str, &str); 6] = [
    // Array parameters would keep the planner on custom plans: 3,450 instead of 5,600 holds a second.
    ("plan_cache_mode", "force_generic_plan"),
    // A plan made while a table is nearly empty reads the whole of it, and a generic plan stays when the table has
    // grown: on an opening day that cost more than half of the holds. Every statement of ours has an index to use.
    ("enable_seqscan", "off"),
    // A handful of neighbours is fetched by their keys at once; making a bitmap of them first took a twentieth of a hold.
    ("enable_bitmapscan", "off"),
    // Nobody waits for a seat longer than this; the hold itself takes half a millisecond.
    ("lock_timeout", "2s"),
    ("statement_timeout", "10s"),
    ("idle_in_transaction_session_timeout", "10s"),
];

fn options(url: &str) -> StoreResult<PgConnectOptions> {
    Ok(PgConnectOptions::from_str(url)?.application_name("matinee").disable_statement_logging())
}

/// Opens the pool. Connections are made when first needed.
///
/// # Errors
/// When the URL is not one.
pub fn connect(url: &str) -> StoreResult<PgPool> {
    Ok(open(options(url)?.options(SESSION), CONNECTIONS))
}

/// A few more connections to the same database, for what must not wait behind everybody else.
pub fn beside(pool: &PgPool, connections: u32) -> PgPool {
    open((*pool.connect_options()).clone(), connections)
}

fn open(options: PgConnectOptions, connections: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE)
        // The ping before each use costs 20 % of the holds. A dead connection is met by `resilient` instead, and one
        // that has been idle for long is pinged, because a firewall may have dropped it without a word.
        .test_before_acquire(false)
        .before_acquire(|connection, meta| {
            Box::pin(async move {
                if meta.idle_for > Duration::from_secs(60) {
                    sqlx::Connection::ping(connection).await?;
                }
                Ok(true)
            })
        })
        .connect_lazy_with(options)
}

/// Runs one statement, again if its connection turns out to be dead: after a restart of the database every pooled
/// connection is, so it may take as many tries as there are connections. Only for what can be sent twice; in Matinee
/// that is everything.
///
/// # Errors
/// The statement's own error, or the last connection's.
pub async fn resilient<T, F>(mut statement: impl FnMut() -> F) -> StoreResult<T>
where
    F: Future<Output = StoreResult<T>>,
{
    for _ in 0..=CONNECTIONS {
        match statement().await {
            Err(error) if error.is_dead_connection() => tracing::debug!(%error, "dead connection, trying the next"),
            result => return result,
        }
    }
    statement().await
}

/// Brings the schema up to date. Safe to run from several servers at once: the migrator takes a lock.
///
/// # Errors
/// [`StoreError::Schema`] with one clear line when the database is newer than this program or was changed by hand.
pub async fn migrate(url: &str) -> StoreResult<()> {
    // A connection of its own: migrations may take longer than the pool's timeouts.
    let mut connection = options(url)?.connect().await?;
    let result = MIGRATOR.run(&mut connection).await;
    sqlx::Connection::close(connection).await?;
    result.map_err(|error| match error {
        MigrateError::VersionMissing(version) => StoreError::Schema(format!(
            "the database has migration {version}, which this matinee does not know: it was used by a newer version. \
             Start that version, or another database."
        )),
        MigrateError::VersionMismatch(version) => StoreError::Schema(format!(
            "migration {version} in the database is not the one this matinee has: the database was made by another build."
        )),
        MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _) => StoreError::Database(cause),
        other => StoreError::Schema(other.to_string()),
    })
}

/// Whether the database answers and its schema is exactly this program's.
///
/// # Errors
/// When it does not answer.
pub async fn is_ready(pool: &PgPool) -> StoreResult<bool> {
    // Not checked at compile time: the migrator makes this table, no migration does.
    let newest: Option<i64> = sqlx::query_scalar(
        "-- is_ready
         select max(version) from _sqlx_migrations where success",
    )
    .fetch_one(pool)
    .await?;
    Ok(newest == MIGRATOR.iter().map(|migration| migration.version).max())
}
