//! Refunds: never more than was captured, whoever asks at once.

use sqlx::FromRow;
use sqlx::postgres::PgConnection;

use chrono::{DateTime, Utc};

use super::events::Telling;
use super::{Books, BooksResult, a_name};
use crate::gateway::charge::Refund;

/// What became of a request for a refund.
#[derive(Debug)]
pub(in crate::gateway) enum Refunding {
    /// Given back; by this request or by an earlier one with the same key.
    Done(Refund),
    /// There is no such charge.
    NoCharge,
    /// The charge took no money.
    NotCaptured,
    /// Less than this is left of the charge.
    TooMuch,
    /// The key was used for another refund.
    OtherRequest,
    /// The simulated failure: nothing was given back.
    Failed,
}

#[derive(FromRow)]
struct Refundable {
    is_captured: bool,
    left_minor: i64,
    refund_failures: i16,
}

#[derive(FromRow)]
struct RefundRow {
    id: String,
    charge_id: String,
    amount_minor: i64,
    created_at: DateTime<Utc>,
}

impl From<RefundRow> for Refund {
    fn from(row: RefundRow) -> Self {
        Self { id: row.id, charge: row.charge_id, amount_minor: row.amount_minor, created_at: row.created_at }
    }
}

impl Books {
    /// Gives a part of a captured charge back, once a key.
    pub async fn refund(&self, key: &str, charge: &str, amount_minor: i64) -> BooksResult<Refunding> {
        let mut transaction = self.pool.begin().await?;
        // The charge's row is what refunds of it wait for.
        let Some(refundable) = lock_charge(&mut transaction, charge).await? else {
            return Ok(Refunding::NoCharge);
        };
        if let Some(known) = refund_of_key(&mut transaction, key).await? {
            let is_same = known.charge == charge && known.amount_minor == amount_minor;
            return Ok(if is_same { Refunding::Done(known) } else { Refunding::OtherRequest });
        }
        if !refundable.is_captured {
            return Ok(Refunding::NotCaptured);
        }
        if amount_minor > refundable.left_minor {
            return Ok(Refunding::TooMuch);
        }
        if refundable.refund_failures > 0 {
            fail_refund(&mut transaction, charge).await?;
            transaction.commit().await?;
            return Ok(Refunding::Failed);
        }
        let Some(refund) = insert_refund(&mut transaction, key, charge, amount_minor).await? else {
            // In the same instant, for another charge: that one has another lock.
            return Ok(Refunding::OtherRequest);
        };
        add_to_refunded(&mut transaction, charge, amount_minor).await?;
        Telling::of_refund(&refund).record(&mut transaction).await?;
        transaction.commit().await?;
        Ok(Refunding::Done(refund))
    }

    /// A refund.
    pub async fn find_refund(&self, id: &str) -> BooksResult<Option<Refund>> {
        let row: Option<RefundRow> = sqlx::query_as(
            "-- find_refund
             select id, charge_id, amount_minor, created_at from gateway.refunds where id = $1",
        )
        .bind(id)
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.map(Refund::from))
    }
}

async fn lock_charge(connection: &mut PgConnection, id: &str) -> BooksResult<Option<Refundable>> {
    sqlx::query_as(
        "-- lock_charge
         select status = 'captured' as is_captured, amount_minor - refunded_minor as left_minor, refund_failures
         from gateway.charges where id = $1 for update",
    )
    .bind(id)
    .fetch_optional(connection)
    .await
}

async fn refund_of_key(connection: &mut PgConnection, key: &str) -> BooksResult<Option<Refund>> {
    let row: Option<RefundRow> = sqlx::query_as(
        "-- refund_of_key
         select id, charge_id, amount_minor, created_at from gateway.refunds where idempotency_key = $1",
    )
    .bind(key)
    .fetch_optional(connection)
    .await?;
    Ok(row.map(Refund::from))
}

async fn fail_refund(connection: &mut PgConnection, charge: &str) -> BooksResult<()> {
    sqlx::query(
        "-- fail_refund
         update gateway.charges set refund_failures = refund_failures - 1 where id = $1",
    )
    .bind(charge)
    .execute(connection)
    .await?;
    Ok(())
}

/// `None` when the key has a refund.
async fn insert_refund(
    connection: &mut PgConnection,
    key: &str,
    charge: &str,
    amount_minor: i64,
) -> BooksResult<Option<Refund>> {
    let row: Option<RefundRow> = sqlx::query_as(
        "-- insert_refund
         insert into gateway.refunds (id, charge_id, idempotency_key, amount_minor) values ($1, $2, $3, $4)
         on conflict on constraint refunds_one_per_key do nothing
         returning id, charge_id, amount_minor, created_at",
    )
    .bind(a_name("re"))
    .bind(charge)
    .bind(key)
    .bind(amount_minor)
    .fetch_optional(connection)
    .await?;
    Ok(row.map(Refund::from))
}

/// Refused by a check of the table if it were more than was captured.
async fn add_to_refunded(connection: &mut PgConnection, charge: &str, amount_minor: i64) -> BooksResult<()> {
    sqlx::query(
        "-- add_to_refunded
         update gateway.charges set refunded_minor = refunded_minor + $2 where id = $1",
    )
    .bind(charge)
    .bind(amount_minor)
    .execute(connection)
    .await?;
    Ok(())
}
