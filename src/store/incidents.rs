//! What nobody expected of the gateway, kept with its evidence for a person to look at.

use sqlx::postgres::PgPool;

use super::StoreResult;
use super::pool::resilient;
use crate::domain::ids::PaymentId;
use crate::domain::payment::Capture;

/// What kind of incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Another amount or currency was taken than was asked for. The money goes back.
    WrongAmount,
    /// Money was taken for a payment that we do not know. It is set aside: nobody guesses whose it is.
    UnknownCharge,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::WrongAmount => "wrong_amount",
            Self::UnknownCharge => "unknown_charge",
        }
    }
}

/// Records it. The same one again changes nothing.
///
/// # Errors
/// When the database does.
pub async fn record(
    pool: &PgPool,
    kind: Kind,
    capture: &Capture,
    payment: PaymentId,
    evidence: &serde_json::Value,
) -> StoreResult<()> {
    resilient(|| async {
        sqlx::query!(
            "-- record_incident
            insert into incidents (charge, kind, payment_id, amount_minor, currency, evidence)
            values ($1, $2::text::incident_kind, $3, $4, $5, $6) on conflict do nothing",
            capture.reference,
            kind.as_str(),
            payment.0,
            capture.amount.minor,
            capture.amount.currency.code(),
            evidence
        )
        .execute(pool)
        .await?;
        Ok(())
    })
    .await
}
