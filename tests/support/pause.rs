//! Stops a transaction in its middle, for as long as a test likes.

use sqlx::PgConnection;
use sqlx::pool::PoolConnection;
use sqlx::postgres::Postgres;

use super::Cinema;

/// Where a payment's start stops.
#[derive(Clone, Copy, Debug)]
pub enum Moment {
    /// When its payment is about to be recorded.
    BeforePayment,
    /// When its order is written and nothing is committed.
    AfterRenewal,
}

/// Whoever comes to the moment waits until it ends.
#[derive(Debug)]
pub struct Pause(PoolConnection<Postgres>);

impl Cinema {
    /// From now on, whoever comes to this moment waits for [`Pause::ends`].
    pub async fn pauses(&self, moment: Moment) -> Pause {
        let (on, name) = match moment {
            Moment::BeforePayment => ("before insert on payments", "payments"),
            Moment::AfterRenewal => ("after update on orders", "orders"),
        };
        let trigger = format!(
            "create function wait_for_the_test() returns trigger language plpgsql
             as 'begin perform pg_advisory_xact_lock_shared(1); return new; end';
             create trigger {name}_wait {on} for each row execute function wait_for_the_test()"
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(trigger)).execute(&self.db).await.unwrap();
        let mut connection = self.db.acquire().await.unwrap();
        advisory(&mut connection, "select pg_advisory_lock(1)").await;
        Pause(connection)
    }
}

impl Pause {
    /// Lets them go on.
    pub async fn ends(mut self) {
        advisory(&mut self.0, "select pg_advisory_unlock(1)").await;
    }
}

async fn advisory(connection: &mut PgConnection, statement: &'static str) {
    sqlx::query(statement).execute(connection).await.unwrap();
}
