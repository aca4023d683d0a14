//! Incidents: set aside when they happen, and settled by a person.

use super::gateway::Charge;
use super::{BoxOffice, fault};
use crate::domain::Error;
use crate::domain::ids::{IncidentId, PaymentId};
use crate::domain::incident::{Evidence, Kind, Settlement, Source};
use crate::domain::payment::Capture;
use crate::store::incidents;

/// Keeps what the gateway said of money that nobody expected. The same again changes nothing.
pub(super) async fn set_aside(
    office: &BoxOffice,
    kind: Kind,
    payment: Option<PaymentId>,
    capture: &Capture,
) -> Result<(), Error> {
    tell(kind, payment, capture);
    let evidence = evidence(payment, capture);
    incidents::record(&office.pool, kind, &capture.reference, payment, capture.amount, &evidence).await.map_err(fault)
}

/// One line in the log.
pub(super) fn tell(kind: Kind, payment: Option<PaymentId>, capture: &Capture) {
    tracing::error!(
        charge = capture.reference, ?payment, amount = %capture.amount, kind = kind.as_str(),
        "an incident: `matinee incidents` lists it"
    );
}

/// The gateway's own words; without them, what we read in them is better than nothing, and says that it is no more.
pub(super) fn evidence(payment: Option<PaymentId>, capture: &Capture) -> Evidence {
    capture.evidence.clone().unwrap_or_else(|| Evidence {
        source: Source::Reading,
        text: serde_json::json!({
            "charge": capture.reference, "amount_minor": capture.amount.minor,
            "currency": capture.amount.currency.code(), "payment": payment.map(|payment| payment.0),
        })
        .to_string(),
    })
}

/// The gateway tells of a charge that names no payment which could be ours. Money that it took is set aside; of anything
/// else there is nothing to keep.
///
/// # Errors
/// When the database does.
pub async fn nobodys(office: &BoxOffice, charge: Charge) -> Result<(), Error> {
    match charge {
        Charge::Captured(capture) => set_aside(office, Kind::UnknownCharge, None, &capture).await,
        Charge::Declined { .. } | Charge::NeedsAction { .. } => Ok(()),
    }
}

/// A person says what came of an incident. The second time changes nothing and answers with the first one's words; `None`
/// when there is no such incident.
///
/// # Errors
/// When the database does.
pub async fn settle(
    pool: &sqlx::PgPool,
    incident: IncidentId,
    by: &str,
    note: &str,
) -> Result<Option<Settlement>, Error> {
    incidents::settle(pool, incident, by, note).await.map_err(fault)
}
