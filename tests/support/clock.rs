//! A database clock that stands still until the test moves it, to the microsecond. The statements under test stay as they
//! are: they ask for `clock_timestamp()`, and find this one before Postgres' own.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::postgres::PgPool;

use super::{Cinema, micros};

/// The stopped clock of one cinema.
#[derive(Debug)]
pub struct Clock {
    db: PgPool,
    now: DateTime<Utc>,
}

impl Clock {
    /// A cinema whose clock stands still from the beginning.
    pub async fn stopped() -> (Cinema, Self) {
        let mut cinema = Cinema::open().await;
        cinema
            .sql(
                "create schema clock;
                 create table clock.hand (at timestamptz not null);
                 create function clock.clock_timestamp() returns timestamptz language plpgsql volatile
                 as 'begin return (select at from clock.hand); end';
                 create function clock.statement_timestamp() returns timestamptz language plpgsql volatile
                 as 'begin return (select at from clock.hand); end';
                 alter database matinee set search_path = clock, pg_catalog, public;",
            )
            .await;
        let now = micros(Utc::now());
        sqlx::query("insert into clock.hand values ($1)").bind(now).execute(&cinema.db).await.unwrap();
        // Only new connections go by it; the office has none yet.
        cinema.reconnect().await;
        let db = cinema.db.clone();
        (cinema, Self { db, now })
    }

    /// What it shows.
    pub const fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// Moves it to an instant.
    pub async fn set(&mut self, now: DateTime<Utc>) {
        self.now = now;
        sqlx::query("update clock.hand set at = $1").bind(now).execute(&self.db).await.unwrap();
    }

    /// Moves it on.
    pub async fn advance(&mut self, by: TimeDelta) {
        self.set(self.now + by).await;
    }
}
