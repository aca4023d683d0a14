//! Payments and refunds: each step of the saga is one conditional statement that says from which state it starts.

use chrono::{DateTime, Utc};
use sqlx::postgres::PgPool;
use uuid::Uuid;

use super::pool::resilient;
use super::{StoreError, StoreResult};
use crate::domain::ids::{Attempt, OrderId, PaymentId};
use crate::domain::money::Money;
use crate::domain::payment::{Payment, PaymentState};
use crate::domain::ticket::TicketCode;

struct PaymentRow {
    id: Uuid,
    order_id: Uuid,
    attempt: Uuid,
    amount_minor: i64,
    currency: String,
    state: String,
    started_at: DateTime<Utc>,
    settled_at: Option<DateTime<Utc>>,
    gateway_reference: Option<String>,
    reason: Option<String>,
}

impl TryFrom<PaymentRow> for Payment {
    type Error = StoreError;

    fn try_from(row: PaymentRow) -> StoreResult<Self> {
        let corrupt = |column, what: String| StoreError::corrupt("payments", column, row.id, what);
        let currency = row.currency.parse().map_err(|error| corrupt("currency", error))?;
        let state = match (row.state.as_str(), row.settled_at, row.gateway_reference, row.reason) {
            ("started", None, None, None) => PaymentState::Started,
            ("captured", Some(settled_at), Some(reference), None) => PaymentState::Captured { settled_at, reference },
            ("declined", Some(settled_at), None, Some(reason)) => PaymentState::Declined { settled_at, reason },
            ("failed", Some(settled_at), None, None) => PaymentState::Failed { settled_at },
            (other, ..) => return Err(corrupt("state", format!("{other} with columns of another state"))),
        };
        Ok(Self {
            id: PaymentId(row.id),
            order: OrderId(row.order_id),
            attempt: Attempt(row.attempt),
            amount: Money::new(row.amount_minor, currency),
            started_at: row.started_at,
            state,
        })
    }
}

/// Records that a payment starts and renews the hold the first time; the amount to charge. `None` when the order is not
/// held (lapsed, released, being paid, sold): then nothing changed.
///
/// # Errors
/// A violated `payments_one_per_attempt` means that this attempt was recorded before; a violated `orders_one_at_a_time` that
/// a hold of the same visitor ran at the same time: ask again.
pub async fn start(pool: &PgPool, order: OrderId, payment: PaymentId, attempt: Attempt) -> StoreResult<Option<Money>> {
    let row =
        sqlx::query_file!("src/store/sql/start_payment.sql", order.0, payment.0, attempt.0).fetch_one(pool).await?;
    match (row.amount_minor, row.currency) {
        (Some(minor), Some(currency)) => {
            let currency =
                currency.parse().map_err(|error: String| StoreError::corrupt("orders", "currency", order, error))?;
            Ok(Some(Money::new(minor, currency)))
        }
        _ => Ok(None),
    }
}

/// Money was taken: sells the seats (`true`), or records the refund that is owed because they have gone (`false`).
/// `None` when the payment was settled before: then nothing changed.
///
/// # Errors
/// When the database does.
pub async fn confirm(
    pool: &PgPool,
    order: OrderId,
    payment: PaymentId,
    reference: &str,
    codes: &[TicketCode],
) -> StoreResult<Option<bool>> {
    let codes: Vec<String> = codes.iter().map(ToString::to_string).collect();
    resilient(|| async {
        let row = sqlx::query_file!("src/store/sql/confirm.sql", order.0, payment.0, reference, &codes)
            .fetch_one(pool)
            .await?;
        Ok(row.sold)
    })
    .await
}

/// No money was taken: the card was declined (with a reason) or the gateway failed (without). The order is held again, as
/// long as its hold lasts. Nothing changes when the payment was settled before.
///
/// # Errors
/// When the database does.
pub async fn give_up(pool: &PgPool, order: OrderId, payment: PaymentId, reason: Option<&str>) -> StoreResult<()> {
    resilient(|| async {
        sqlx::query!(
            r#"-- give_up_payment
            with paying as materialized (
                select id from orders where id = $1 and state = 'paying' for update
            ), settled as (
                update payments p
                set state = case when $3::text is null then 'failed' else 'declined' end::payment_state,
                    reason = $3, settled_at = clock_timestamp()
                from paying where p.order_id = paying.id and p.id = $2 and p.state = 'started'
                returning p.order_id
            )
            update orders o set state = 'held', state_at = clock_timestamp() from settled where o.id = settled.order_id"#,
            order.0,
            payment.0,
            reason
        )
        .execute(pool)
        .await?;
        Ok(())
    })
    .await
}

/// The payments of an order, oldest first.
///
/// # Errors
/// When the database does, or a row cannot be.
pub async fn of_order(pool: &PgPool, order: OrderId) -> StoreResult<Vec<Payment>> {
    let rows = resilient(|| async {
        Ok(sqlx::query_as!(
            PaymentRow,
            r#"-- payments_of_order
            select id, order_id, attempt, amount_minor, currency, state::text as "state!", started_at, settled_at,
                   gateway_reference, reason
            from payments where order_id = $1 order by started_at"#,
            order.0
        )
        .fetch_all(pool)
        .await?)
    })
    .await?;
    rows.into_iter().map(Payment::try_from).collect()
}

/// A refund, owed or made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refund {
    /// Of this payment.
    pub payment: PaymentId,
    /// How much.
    pub amount: Money,
    /// The end of the hold that the payment came too late for.
    pub hold_ended_at: DateTime<Utc>,
    /// When the payment arrived.
    pub owed_since: DateTime<Utc>,
    /// When it was made, with the gateway's reference; `None` while it is owed.
    pub made: Option<(DateTime<Utc>, String)>,
    /// The gateway's reference of the charge.
    pub charge: String,
}

/// The refund of an order, if there is one.
///
/// # Errors
/// When the database does.
pub async fn refund_of_order(pool: &PgPool, order: OrderId) -> StoreResult<Option<Refund>> {
    let row = resilient(|| async {
        Ok(sqlx::query!(
            r#"-- refund_of_order
            select r.payment_id, r.amount_minor, p.currency, r.hold_ended_at, r.owed_since, r.refunded_at,
                   r.gateway_reference, p.gateway_reference as "charge!"
            from refunds r join payments p on p.id = r.payment_id where p.order_id = $1"#,
            order.0
        )
        .fetch_optional(pool)
        .await?)
    })
    .await?;
    row.map(|row| {
        let currency = row
            .currency
            .parse()
            .map_err(|error: String| StoreError::corrupt("payments", "currency", row.payment_id, error))?;
        Ok(Refund {
            payment: PaymentId(row.payment_id),
            amount: Money::new(row.amount_minor, currency),
            hold_ended_at: row.hold_ended_at,
            owed_since: row.owed_since,
            made: row.refunded_at.zip(row.gateway_reference),
            charge: row.charge,
        })
    })
    .transpose()
}

/// The gateway gave the money back: the refund and its order end. Nothing changes the second time.
///
/// # Errors
/// When the database does.
pub async fn refunded(pool: &PgPool, order: OrderId, payment: PaymentId, reference: &str) -> StoreResult<()> {
    resilient(|| async {
        sqlx::query!(
            r#"-- refunded
            with owing as materialized (
                select id from orders where id = $1 and state = 'refund_owed' for update
            ), made as (
                update refunds set refunded_at = clock_timestamp(), gateway_reference = $3
                from owing where payment_id = $2 and refunded_at is null
                returning refunded_at
            )
            update orders o set state = 'refunded', state_at = made.refunded_at from made, owing where o.id = owing.id"#,
            order.0,
            payment.0,
            reference
        )
        .execute(pool)
        .await?;
        Ok(())
    })
    .await
}
