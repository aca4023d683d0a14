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
         with claimed as (
             insert into gateway.keys (key, charge_id, tries) values ($1::uuid::text, $2, 1)
             on conflict (key) do nothing returning charge_id
         )
         insert into gateway.charges (id, idempotency_key, amount_minor, currency, status, captured_at, decline_reason)
         select charge_id, $1::uuid::text, $3, $4,
                case when $5 then 'captured' else 'declined' end::gateway.charge_status,
                case when $5 then clock_timestamp() end, $6
         from claimed",
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
         insert into gateway.keys (key, closed_at) values ($1::uuid::text, clock_timestamp()) on conflict (key) do nothing",
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
        r#"-- find_charge
         select coalesce(c.id, 'closed') as "reference!", coalesce(c.amount_minor, 0) as "amount_minor!",
                coalesce(c.currency, 'EUR') as "currency!", coalesce(c.status = 'captured', false) as "captured!",
                c.decline_reason as "reason?"
         from gateway.keys k left join gateway.charges c on c.id = k.charge_id where k.key = $1::uuid::text"#,
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
    sqlx::query!(
        "-- refund_charge
         with given_back as (
             update gateway.charges set refunded_minor = amount_minor
             where id = $1 and status = 'captured' and refunded_minor = 0
             returning id, idempotency_key, amount_minor
         )
         insert into gateway.refunds (id, charge_id, idempotency_key, amount_minor)
         select $2, id, idempotency_key, amount_minor from given_back on conflict (idempotency_key) do nothing",
        charge,
        reference
    )
    .execute(pool)
    .await?;
    Ok(sqlx::query_scalar!(
        "-- find_refund
         select id from gateway.refunds where charge_id = $1 order by created_at limit 1",
        charge
    )
    .fetch_optional(pool)
    .await?)
}
