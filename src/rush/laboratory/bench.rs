//! The bench that a strategy is put on: its tables, filled anew, and its connections.

use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions, Connection};

use crate::domain::seat::HoldWindow;
use crate::store::pool;

use super::crowd::Contention;
use super::redis_server::RedisServer;

/// The schema that everything lies in; dropped at the end.
pub const SCHEMA: &str = "laboratory";
/// Names our connections in the database's list.
const APPLICATION: &str = "matinee laboratory";
/// The product's own rule and guard, word for word.
const RULE: &str = include_str!("../../../migrations/0001_the_rule.sql");
const TABLES: &str = include_str!("schema.sql");
/// How long the last connections of a trial may take to go; their counters are complete only then.
const FAREWELL: Duration = Duration::from_secs(10);

/// Why a strategy could not answer.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// Postgres refused.
    #[error("database: {0}")]
    Database(#[from] sqlx::Error),
    /// Redis refused.
    #[error("redis: {0}")]
    Redis(#[from] redis::RedisError),
    /// Somebody was quicker, each time.
    #[error("gave up after {0} tries")]
    GaveUp(u32),
    /// What the store holds cannot be read.
    #[error("the store holds what cannot be: {0}")]
    Corrupt(String),
    /// A worker of a strategy is gone.
    #[error("the worker is gone")]
    Gone,
    /// A worker of a strategy could not do its work.
    #[error("the worker failed: {0}")]
    Worker(String),
    /// It needs something that is not here.
    #[error("{0}")]
    Missing(String),
}

impl Trouble {
    /// Whether trying again is the right answer: a serialization failure, a deadlock, or the guard of all-or-none.
    pub fn is_conflict(&self) -> bool {
        let Self::Database(sqlx::Error::Database(cause)) = self else { return false };
        matches!(cause.code().as_deref(), Some("40001" | "40P01" | "MT001"))
    }
}

/// What every strategy is opened with.
#[derive(Clone, Debug)]
pub struct Bench {
    /// Connections into the laboratory's schema.
    pub pool: PgPool,
    /// Most of them.
    pub connections: u32,
    /// How long a hold keeps others away.
    pub window: HoldWindow,
    /// What is on sale.
    pub contention: Contention,
    /// Redis, where there is one.
    pub redis: Option<Arc<RedisServer>>,
    url: String,
}

fn options(url: &str) -> Result<PgConnectOptions, sqlx::Error> {
    // Everybody is planned like the product, for a fair comparison.
    let session = pool::SESSION.into_iter().chain([
        ("search_path", SCHEMA),
        // A commit that is refused rolls back by itself; that a second rollback finds nothing is no news.
        ("client_min_messages", "error"),
    ]);
    Ok(PgConnectOptions::from_str(url)?.application_name(APPLICATION).options(session).disable_statement_logging())
}

impl Bench {
    /// Makes the schema anew, fills it, and opens connections.
    ///
    /// # Errors
    /// The database's.
    pub async fn open(
        url: &str,
        connections: u32,
        window: HoldWindow,
        contention: Contention,
        redis: Option<Arc<RedisServer>>,
    ) -> Result<Self, Trouble> {
        let mut maker = options(url)?.connect().await?;
        for statements in ["drop schema if exists laboratory cascade; create schema laboratory", RULE, TABLES] {
            sqlx::raw_sql(statements).execute(&mut maker).await?;
        }
        fill(&mut maker, contention).await?;
        maker.close().await?;
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(Duration::from_secs(30))
            .test_before_acquire(false)
            .connect_with(options(url)?)
            .await?;
        // Opened before the clock runs: making a connection costs more than many a hold.
        let mut opened = Vec::new();
        for _ in 0..connections {
            opened.push(pool.acquire().await?);
        }
        drop(opened);
        // They go back in tasks of their own; whoever counts the busy ones must not count these.
        while pool.num_idle() < usize::try_from(connections).unwrap_or(0) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(Self { pool, connections, window, contention, redis, url: url.to_owned() })
    }

    /// Closes the connections, waits until the database has seen the last of them go, and says how many deadlocks it
    /// has counted so far.
    ///
    /// # Errors
    /// The database's.
    pub async fn close(self) -> Result<i64, Trouble> {
        self.pool.close().await;
        deadlocks(&self.url).await
    }

    /// Where the database is.
    pub fn url(&self) -> &str {
        &self.url
    }
}

async fn fill(maker: &mut PgConnection, contention: Contention) -> Result<(), sqlx::Error> {
    for statement in [
        "-- fill_seats
         insert into seats (show_no, seat_no)
         select show_no, seat_no from generate_series(1, $1::integer) show_no, generate_series(1, $2::integer) seat_no",
        "-- fill_stocks
         insert into stocks (show_no, stock) select show_no, $2::integer from generate_series(1, $1::integer) show_no",
        "-- fill_documents
         insert into documents (show_no, seats)
         select show_no, (select jsonb_agg(jsonb_build_object('status', 'available')) from generate_series(1, $2::integer))
         from generate_series(1, $1::integer) show_no",
    ] {
        sqlx::query(statement)
            .bind(contention.shows)
            .bind(i32::from(contention.seats))
            .execute(&mut *maker)
            .await?;
    }
    sqlx::raw_sql("analyze seats, stocks, documents").execute(maker).await?;
    Ok(())
}

/// Deadlocks that the database has counted. A connection hands in its count when it goes, so this waits for the last.
///
/// # Errors
/// The database's.
pub async fn deadlocks(url: &str) -> Result<i64, Trouble> {
    let mut connection = PgConnectOptions::from_str(url)?.connect().await?;
    let start = Instant::now();
    loop {
        let (here, deadlocks): (i64, i64) = sqlx::query_as(
            "-- deadlocks
             select (select count(*) from pg_stat_activity
                     where datname = current_database() and application_name = $1),
                    (select deadlocks from pg_stat_database where datname = current_database())",
        )
        .bind(APPLICATION)
        .fetch_one(&mut connection)
        .await?;
        if here == 0 || start.elapsed() > FAREWELL {
            connection.close().await?;
            return Ok(deadlocks);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Drops what the laboratory made.
///
/// # Errors
/// The database's.
pub async fn drop_schema(url: &str) -> Result<(), Trouble> {
    let mut connection = options(url)?.connect().await?;
    sqlx::raw_sql("drop schema if exists laboratory cascade").execute(&mut connection).await?;
    connection.close().await?;
    Ok(())
}
