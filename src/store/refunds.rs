//! Refunds: money that could not buy its seats, on its way back. One for a payment, which its key says.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::postgres::PgPool;
use uuid::Uuid;

use super::pool::resilient;
use super::{StoreError, StoreResult};
use crate::domain::ids::{OrderId, PaymentId};
use crate::domain::money::Money;
use crate::domain::payment::{Refund, RefundReason};
use crate::domain::saga::Actor;

struct RefundRow {
    payment_id: Uuid,
    order_id: Uuid,
    amount_minor: i64,
    currency: String,
    reason: String,
    hold_ended_at: DateTime<Utc>,
    owed_since: DateTime<Utc>,
    refunded_at: Option<DateTime<Utc>>,
    gateway_reference: Option<String>,
    charge: Option<String>,
}

impl TryFrom<RefundRow> for Refund {
    type Error = StoreError;

    fn try_from(row: RefundRow) -> StoreResult<Self> {
        let corrupt = |column, what: String| StoreError::corrupt("refunds", column, row.payment_id, what);
        let currency = row.currency.parse().map_err(|error| corrupt("currency", error))?;
        let reason = RefundReason::ALL.into_iter().find(|reason| reason.as_str() == row.reason);
        Ok(Self {
            payment: PaymentId(row.payment_id),
            order: OrderId(row.order_id),
            amount: Money::new(row.amount_minor, currency),
            reason: reason.ok_or_else(|| corrupt("reason", row.reason.clone()))?,
            hold_ended_at: row.hold_ended_at,
            owed_since: row.owed_since,
            made: row.refunded_at.zip(row.gateway_reference.clone()),
            charge: row.charge.clone().ok_or_else(|| corrupt("payment_id", "its payment was never captured".into()))?,
        })
    }
}

/// The refunds of an order, oldest first.
///
/// # Errors
/// When the database does, or a row cannot be.
pub async fn of_order(pool: &PgPool, order: OrderId) -> StoreResult<Vec<Refund>> {
    let rows = resilient(|| async {
        Ok(sqlx::query_as!(
            RefundRow,
            r#"-- refunds_of_order
            select r.payment_id, p.order_id, r.amount_minor, r.currency, r.reason::text as "reason!", r.hold_ended_at,
                   r.owed_since, r.refunded_at, r.gateway_reference, p.gateway_reference as charge
            from refunds r join payments p on p.id = r.payment_id where p.order_id = $1 order by r.owed_since"#,
            order.0
        )
        .fetch_all(pool)
        .await?)
    })
    .await?;
    rows.into_iter().map(Refund::try_from).collect()
}

/// Refunds that are owed and that nobody has asked the gateway for in the last while; from now on they are the caller's to
/// make, for as long as `lease`. Of one order, or of all.
///
/// # Errors
/// When the database does, or a row cannot be.
pub async fn take_owed(pool: &PgPool, of: Option<OrderId>, lease: TimeDelta, most: i64) -> StoreResult<Vec<Refund>> {
    let seconds = lease.num_seconds() as f64;
    let rows = resilient(|| async {
        Ok(sqlx::query_as!(
            RefundRow,
            r#"-- take_owed_refunds
            update refunds r set asked_at = clock_timestamp()
            from (select owed.payment_id, p.order_id, p.gateway_reference
                  from refunds owed join payments p on p.id = owed.payment_id
                  where owed.refunded_at is null and ($1::uuid is null or p.order_id = $1)
                    and (owed.asked_at is null or owed.asked_at < clock_timestamp() - $2 * interval '1 second')
                  order by owed.owed_since limit $3 for update of owed skip locked) taken
            where r.payment_id = taken.payment_id
            returning r.payment_id, taken.order_id, r.amount_minor, r.currency, r.reason::text as "reason!", r.hold_ended_at,
                      r.owed_since, r.refunded_at, r.gateway_reference, taken.gateway_reference as charge"#,
            of.map(|order| order.0),
            seconds,
            most
        )
        .fetch_all(pool)
        .await?)
    })
    .await?;
    rows.into_iter().map(Refund::try_from).collect()
}

/// The gateway gave the money back: the refund ends, and its order when this was the last one it owed. Nothing changes the
/// second time.
///
/// # Errors
/// When the database does.
pub async fn made(pool: &PgPool, payment: PaymentId, reference: &str, actor: Actor) -> StoreResult<()> {
    resilient(|| async {
        sqlx::query_file!("src/store/sql/refund_made.sql", payment.0, reference, actor.as_str()).execute(pool).await?;
        Ok(())
    })
    .await
}
