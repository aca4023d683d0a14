//! The simulated gateway's own books, in a schema of its own.

use sqlx::postgres::PgPool;

use super::StoreResult;
use crate::domain::ids::PaymentId;
use crate::domain::money::Money;

/// What the simulated gateway remembers of a charge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChargeRecord {
    /// The gateway's reference.
    pub reference: String,
    /// How much, in minor units.
    pub amount_minor: i64,
    /// Of this currency.
    pub currency: String,
    /// Whether money was taken.
    pub captured: bool,
    /// Why not.
    pub reason: Option<String>,
}

/// Records a charge under its idempotency key, or finds the one recorded before.
///
/// # Errors
/// When the database does.
pub async fn record(pool: &PgPool, key: PaymentId, amount: Money, charge: &ChargeRecord) -> StoreResult<ChargeRecord> {
    sqlx::query!(
        "-- record_charge
         insert into gateway.charges (idempotency_key, reference, amount_minor, currency, captured, reason)
         values ($1, $2, $3, $4, $5, $6) on conflict (idempotency_key) do nothing",
        key.0,
        charge.reference,
        amount.minor,
        amount.currency.code(),
        charge.captured,
        charge.reason
    )
    .execute(pool)
    .await?;
    Ok(find(pool, key).await?.unwrap_or_else(|| charge.clone()))
}

/// Closes a key that no charge has used yet: a charge that arrives later takes no money. A used key stays as it is.
///
/// # Errors
/// When the database does.
pub async fn close(pool: &PgPool, key: PaymentId) -> StoreResult<()> {
    sqlx::query!(
        "-- close_charge
         insert into gateway.charges (idempotency_key, reference, amount_minor, currency, captured)
         values ($1, 'closed_' || $1::uuid, 0, '', false) on conflict (idempotency_key) do nothing",
        key.0
    )
    .execute(pool)
    .await?;
    Ok(())
}

/// The charge recorded under an idempotency key; neither captured nor with a reason when the key was closed unused.
///
/// # Errors
/// When the database does.
pub async fn find(pool: &PgPool, key: PaymentId) -> StoreResult<Option<ChargeRecord>> {
    Ok(sqlx::query_as!(
        ChargeRecord,
        "-- find_charge
         select reference, amount_minor, currency, captured, reason from gateway.charges where idempotency_key = $1",
        key.0
    )
    .fetch_optional(pool)
    .await?)
}

/// Gives a captured charge back, once; the refund's reference, the same every time. `None` when there is nothing captured
/// under this reference.
///
/// # Errors
/// When the database does.
pub async fn refund(pool: &PgPool, charge: &str, reference: &str) -> StoreResult<Option<String>> {
    Ok(sqlx::query_scalar!(
        r#"-- refund_charge
        update gateway.charges
        set refund_reference = coalesce(refund_reference, $2), refunded_at = coalesce(refunded_at, clock_timestamp())
        where reference = $1 and captured
        returning refund_reference as "refund_reference!""#,
        charge,
        reference
    )
    .fetch_optional(pool)
    .await?)
}
