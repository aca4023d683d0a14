//! Payments: each step of the saga is one conditional statement that says from which state it starts.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::postgres::PgPool;
use uuid::Uuid;

use super::pool::resilient;
use super::{StoreError, StoreResult};
use crate::domain::hold::MOST_SEATS;
use crate::domain::ids::{Attempt, OrderId, PaymentId, VisitorId};
use crate::domain::incident::Evidence;
use crate::domain::money::Money;
use crate::domain::payment::{Capture, Payment, PaymentState};
use crate::domain::saga::Actor;
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
    bought: bool,
    card_ending: Option<String>,
    action_url: Option<String>,
}

impl TryFrom<PaymentRow> for Payment {
    type Error = StoreError;

    fn try_from(row: PaymentRow) -> StoreResult<Self> {
        let corrupt = |column, what: String| StoreError::corrupt("payments", column, row.id, what);
        let currency = row.currency.parse().map_err(|error| corrupt("currency", error))?;
        let state = match (row.state.as_str(), row.settled_at, row.gateway_reference, row.reason) {
            ("started", None, None, None) => PaymentState::Started,
            ("captured", Some(settled_at), Some(reference), None) => {
                PaymentState::Captured { settled_at, reference, bought: row.bought }
            }
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
            card_ending: row.card_ending,
            action_url: row.action_url,
            state,
        })
    }
}

/// Records that a payment starts and renews the hold the first time; the amount to charge. `None` when the visitor has no
/// such order, or it is not held (lapsed, released, being paid, sold): then nothing changed.
///
/// # Errors
/// A violated `payments_one_per_attempt` means that this attempt was recorded before; a violated `orders_one_at_a_time` that
/// a hold of the same visitor ran at the same time: ask again.
pub async fn start(
    pool: &PgPool,
    visitor: VisitorId,
    order: OrderId,
    payment: PaymentId,
    attempt: Attempt,
    card_ending: &str,
    email: Option<&str>,
) -> StoreResult<Option<Money>> {
    let row = sqlx::query_file!(
        "src/store/sql/start_payment.sql",
        order.0,
        payment.0,
        attempt.0,
        card_ending,
        email,
        visitor.0
    )
    .fetch_one(pool)
    .await?;
    match (row.amount_minor, row.currency) {
        (Some(minor), Some(currency)) => {
            let currency =
                currency.parse().map_err(|error: String| StoreError::corrupt("orders", "currency", order, error))?;
            Ok(Some(Money::new(minor, currency)))
        }
        _ => Ok(None),
    }
}

/// What became of money that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It bought the seats.
    Sold,
    /// It goes back; the refund is recorded as owed.
    Refund {
        /// To this order.
        order: OrderId,
        /// Whether it is the amount that was asked for; if not, that is recorded as an incident.
        as_asked: bool,
    },
    /// It was known before: nothing changed.
    Known,
    /// It is no payment's: we know none of this name, or it was captured by another charge. Nothing changed.
    Nobodys,
}

/// Money was taken: sells the seats, or records the refund that is owed because they have gone, the order has ended
/// otherwise, or the amount is not what was asked for; then `evidence`, what the gateway said, is kept as an incident.
///
/// # Errors
/// When the database does.
pub async fn confirm(
    pool: &PgPool,
    payment: PaymentId,
    capture: &Capture,
    evidence: &Evidence,
    codes: &[TicketCode; MOST_SEATS],
    actor: Actor,
) -> StoreResult<Outcome> {
    let codes = codes.each_ref().map(ToString::to_string);
    resilient(|| async {
        let row = sqlx::query_file!(
            "src/store/sql/confirm.sql",
            payment.0,
            capture.reference,
            capture.amount.minor,
            capture.amount.currency.code(),
            &codes,
            actor.as_str(),
            evidence.text,
            evidence.source.as_str()
        )
        .fetch_one(pool)
        .await?;
        Ok(match (row.order_id, row.sold, row.known_as) {
            (_, Some(true), _) => Outcome::Sold,
            (Some(order), Some(false), _) => {
                Outcome::Refund { order: OrderId(order), as_asked: row.as_asked == Some(true) }
            }
            (Some(_), _, Some(charge)) if charge == capture.reference => Outcome::Known,
            _ => Outcome::Nobodys,
        })
    })
    .await
}

/// No money was taken: the card was declined (with a reason) or the gateway failed (without). An order that was being paid
/// is held again, as long as its hold lasts. Nothing changes when the payment was settled before.
///
/// # Errors
/// When the database does.
pub async fn give_up(pool: &PgPool, payment: PaymentId, reason: Option<&str>, actor: Actor) -> StoreResult<()> {
    resilient(|| async {
        sqlx::query_file!("src/store/sql/give_up_payment.sql", payment.0, reason, actor.as_str()).execute(pool).await?;
        Ok(())
    })
    .await
}

/// Open payments that nobody has asked the gateway about for a while; from now on they are the caller's to ask about, for as
/// long as `lease`. Of one order, or of all.
///
/// # Errors
/// When the database does, or a row cannot be.
pub async fn take_open(pool: &PgPool, of: Option<OrderId>, lease: TimeDelta, most: i64) -> StoreResult<Vec<Payment>> {
    let seconds = lease.num_seconds() as f64;
    let rows = resilient(|| async {
        Ok(sqlx::query_as!(
            PaymentRow,
            r#"-- take_open_payments
            update payments p set asked_at = clock_timestamp()
            from (select id from payments
                  where state = 'started' and ($1::uuid is null or order_id = $1)
                    and greatest(started_at, asked_at) < clock_timestamp() - $2 * interval '1 second'
                  order by started_at limit $3 for update skip locked) open
            where p.id = open.id
            returning p.id, p.order_id, p.attempt, p.amount_minor, p.currency, p.state::text as "state!", p.started_at,
                      p.settled_at, p.gateway_reference, p.reason, p.bought, p.card_ending, p.action_url"#,
            of.map(|order| order.0),
            seconds,
            most
        )
        .fetch_all(pool)
        .await?)
    })
    .await?;
    rows.into_iter().map(Payment::try_from).collect()
}

/// The card's holder must confirm the payment there.
///
/// # Errors
/// When the database does.
pub async fn needs_action(pool: &PgPool, payment: PaymentId, url: &str) -> StoreResult<()> {
    resilient(|| async {
        sqlx::query!(
            "-- payment_needs_action
            update payments set action_url = $2 where id = $1 and state = 'started' and action_url is distinct from $2",
            payment.0,
            url
        )
        .execute(pool)
        .await?;
        Ok(())
    })
    .await
}

/// The payment that the gateway's charge of this reference was captured for.
///
/// # Errors
/// When the database does.
pub async fn of_charge(pool: &PgPool, reference: &str) -> StoreResult<Option<PaymentId>> {
    resilient(|| async {
        Ok(sqlx::query_scalar!("-- payment_of_charge\nselect id from payments where gateway_reference = $1", reference)
            .fetch_optional(pool)
            .await?
            .map(PaymentId))
    })
    .await
}

/// Whether any payment's fate is open, or any refund is owed.
///
/// # Errors
/// When the database does.
pub async fn anything_open(pool: &PgPool) -> StoreResult<bool> {
    resilient(|| async {
        Ok(sqlx::query_scalar!(
            r#"-- anything_open
            select exists (select from payments where state = 'started')
                or exists (select from refunds where refunded_at is null) as "open!""#
        )
        .fetch_one(pool)
        .await?)
    })
    .await
}

/// A payment by its id.
///
/// # Errors
/// When the database does, or the row cannot be.
pub async fn get(pool: &PgPool, payment: PaymentId) -> StoreResult<Option<Payment>> {
    let row = resilient(|| async {
        Ok(sqlx::query_as!(
            PaymentRow,
            r#"-- payment
            select id, order_id, attempt, amount_minor, currency, state::text as "state!", started_at, settled_at,
                   gateway_reference, reason, bought, card_ending, action_url
            from payments where id = $1"#,
            payment.0
        )
        .fetch_optional(pool)
        .await?)
    })
    .await?;
    row.map(Payment::try_from).transpose()
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
                   gateway_reference, reason, bought, card_ending, action_url
            from payments where order_id = $1 order by started_at"#,
            order.0
        )
        .fetch_all(pool)
        .await?)
    })
    .await?;
    rows.into_iter().map(Payment::try_from).collect()
}
