//! Incidents and what became of them. Both tables only grow.

use chrono::{DateTime, Utc};
use sqlx::postgres::PgPool;
use uuid::Uuid;

use super::pool::resilient;
use super::{StoreError, StoreResult};
use crate::domain::ids::{IncidentId, PaymentId};
use crate::domain::incident::{Evidence, Incident, Kind, Settlement, Source};
use crate::domain::money::Money;

struct IncidentRow {
    nth: i64,
    at: DateTime<Utc>,
    kind: String,
    charge: String,
    payment_id: Option<Uuid>,
    amount_minor: i64,
    currency: String,
    source: String,
    evidence: String,
    settled_at: Option<DateTime<Utc>>,
    settled_by: Option<String>,
    note: Option<String>,
}

impl TryFrom<IncidentRow> for Incident {
    type Error = StoreError;

    fn try_from(row: IncidentRow) -> StoreResult<Self> {
        let corrupt = |column, what: String| StoreError::corrupt("incidents", column, row.nth, what);
        let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == row.kind);
        let source = Source::ALL.into_iter().find(|source| source.as_str() == row.source);
        let settled = match (row.settled_at, row.settled_by, row.note) {
            (Some(at), Some(by), Some(note)) => Some(Settlement { at, by, note }),
            (None, None, None) => None,
            _ => return Err(corrupt("nth", "half of a settlement".to_owned())),
        };
        let currency = row.currency.parse().map_err(|error| corrupt("currency", error))?;
        let source = source.ok_or_else(|| corrupt("source", row.source.clone()))?;
        Ok(Self {
            id: IncidentId(row.nth),
            at: row.at,
            kind: kind.ok_or_else(|| corrupt("kind", row.kind.clone()))?,
            charge: row.charge,
            payment: row.payment_id.map(PaymentId),
            amount: Money::new(row.amount_minor, currency),
            evidence: Evidence { source, text: row.evidence },
            settled,
        })
    }
}

/// Records it. The same one again changes nothing.
///
/// # Errors
/// When the database does.
pub async fn record(
    pool: &PgPool,
    kind: Kind,
    charge: &str,
    payment: Option<PaymentId>,
    amount: Money,
    evidence: &Evidence,
) -> StoreResult<()> {
    resilient(|| async {
        sqlx::query!(
            "-- record_incident
            insert into incidents (charge, kind, payment_id, amount_minor, currency, evidence, source)
            values ($1, $2::text::incident_kind, $3, $4, $5, $6, $7::text::evidence_source) on conflict do nothing",
            charge,
            kind.as_str(),
            payment.map(|payment| payment.0),
            amount.minor,
            amount.currency.code(),
            evidence.text,
            evidence.source.as_str()
        )
        .execute(pool)
        .await?;
        Ok(())
    })
    .await
}

/// Incidents, oldest first: all of them, or those that nobody has settled.
///
/// # Errors
/// When the database does, or a row cannot be.
pub async fn list(pool: &PgPool, settled_too: bool) -> StoreResult<Vec<Incident>> {
    let rows = resilient(|| async {
        Ok(sqlx::query_as!(
            IncidentRow,
            r#"-- incidents
            select i.nth, i.at, i.kind::text as "kind!", i.charge, i.payment_id, i.amount_minor, i.currency,
                   i.source::text as "source!", i.evidence, s.at as "settled_at?", s.settled_by as "settled_by?",
                   s.note as "note?"
            from incidents i left join settlements s on s.incident = i.nth
            where $1 or s.incident is null
            order by i.nth"#,
            settled_too
        )
        .fetch_all(pool)
        .await?)
    })
    .await?;
    rows.into_iter().map(Incident::try_from).collect()
}

/// How many are open.
///
/// # Errors
/// When the database does.
pub async fn open(pool: &PgPool) -> StoreResult<i64> {
    resilient(|| async {
        Ok(sqlx::query_scalar!(
            r#"-- open_incidents
            select count(*) as "count!" from incidents where nth not in (select incident from settlements)"#
        )
        .fetch_one(pool)
        .await?)
    })
    .await
}

/// Settles it, unless that was done before: how it is settled now. `None` when there is no such incident.
///
/// # Errors
/// When the database does.
pub async fn settle(pool: &PgPool, incident: IncidentId, by: &str, note: &str) -> StoreResult<Option<Settlement>> {
    resilient(|| async {
        sqlx::query!(
            "-- settle_incident
            insert into settlements (incident, settled_by, note) select nth, $2, $3 from incidents where nth = $1
            on conflict do nothing",
            incident.0,
            by,
            note
        )
        .execute(pool)
        .await?;
        // A statement of its own: what another settled at this moment is seen only now.
        Ok(sqlx::query_as!(
            Settlement,
            r#"-- settlement
            select at, settled_by as by, note from settlements where incident = $1"#,
            incident.0
        )
        .fetch_optional(pool)
        .await?)
    })
    .await
}
