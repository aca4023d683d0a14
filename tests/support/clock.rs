//! How time passes in a test without anybody waiting for it: rows are made older, or the database's clock stands still
//! until the test moves it, to the microsecond. The statements under test stay as they are: they ask for
//! `clock_timestamp()`, and find the stopped one before Postgres' own.

use chrono::{DateTime, TimeDelta, Utc};
use matinee::domain::ids::{OrderId, ShowId};
use sqlx::postgres::PgPool;
use sqlx::postgres::types::PgInterval;

use super::Cinema;

impl Cinema {
    /// Lets the order's hold lapse: as if its window and a little more had passed.
    pub async fn expire(&self, order: OrderId) {
        let window = self.order(order).await.hold_window;
        self.age(order, TimeDelta::seconds(i64::from(window.seconds()) + 1)).await;
    }

    /// As if the order's hold had begun, and been renewed, so much earlier.
    pub async fn age(&self, order: OrderId, by: TimeDelta) {
        sqlx::query(
            "with aged as (
                 update orders set held_at = held_at - $2, locked_at = locked_at - $2, renewed_at = renewed_at - $2
                 where id = $1
             )
             update seats set locked_at = locked_at - $2 where order_id = $1 and status = 'locked'",
        )
        .bind(order.0)
        .bind(PgInterval::try_from(by.to_std().unwrap()).unwrap())
        .execute(&self.db)
        .await
        .unwrap();
    }

    /// Its sale opens so many seconds from now (or opened before), and so many a minute are let in, or all.
    pub async fn opens_in(&self, show: ShowId, seconds: f64, per_minute: Option<i32>) {
        sqlx::query(
            "update shows set sales_open_at = clock_timestamp() + $2 * interval '1 second', admit_per_minute = $3 where id = $1",
        )
        .bind(show.0)
        .bind(seconds)
        .bind(per_minute)
        .execute(&self.db)
        .await
        .unwrap();
    }

    /// As if the order's payments had been under way for longer than any living server waits for the gateway.
    pub async fn age_payments(&self, order: OrderId) {
        sqlx::query("update payments set started_at = started_at - interval '1 minute', asked_at = asked_at - interval '1 minute'
             where order_id = $1")
            .bind(order.0)
            .execute(&self.db)
            .await
            .unwrap();
    }
}

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
        // The database keeps whole microseconds.
        let now = DateTime::from_timestamp_micros(Utc::now().timestamp_micros()).unwrap();
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
