//! Check the promises on the live database, and our books against the gateway's.

use std::collections::{HashMap, HashSet};

use super::gateway::Listed;
use super::{BoxOffice, fault};
use crate::domain::Error;
use crate::domain::money::Money;
use crate::store::proof::{self, Booked, Breach};

/// The question that two books answer.
const BOOKS: &str = "P6: the gateway's books differ from ours";

/// How many questions there are.
pub const fn questions() -> usize {
    proof::questions() + 1
}

/// Asks every question of the proof; none found means that the promises hold.
///
/// # Errors
/// When the database does, or when the gateway does not tell what its books say.
pub async fn prove(office: &BoxOffice) -> Result<Vec<Breach>, Error> {
    let mut found = proof::breaches(&office.pool, &office.plans).await.map_err(fault)?;
    // The gateway's first: what is captured between the two readings is then in ours at most, and open.
    let mut theirs = Vec::new();
    loop {
        let after = theirs.last().map(|charge: &Listed| charge.reference.clone());
        let page = office.gateway.books(after.as_deref()).await.map_err(|error| {
            tracing::warn!(%error, "the gateway's books");
            Error::Unavailable
        })?;
        if page.is_empty() {
            break;
        }
        theirs.extend(page);
    }
    let (ours, set_aside) = proof::money(&office.pool).await.map_err(fault)?;
    found.extend(differences(&theirs, &ours, &set_aside).into_iter().map(|row| Breach { question: BOOKS, row }));
    Ok(found)
}

/// What one book has and the other has not, or has otherwise. A payment whose fate is open differs from nothing.
fn differences(theirs: &[Listed], ours: &[Booked], set_aside: &HashSet<String>) -> Vec<String> {
    let by_charge: HashMap<&str, &Booked> =
        ours.iter().filter_map(|payment| Some((payment.charge.as_deref()?, payment))).collect();
    let by_payment: HashMap<_, &Booked> = ours.iter().map(|payment| (payment.id, payment)).collect();
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for charge in theirs {
        let Some(taken) = charge.captured else { continue };
        let named = charge.payment.and_then(|payment| by_payment.get(&payment));
        match (by_charge.get(charge.reference.as_str()), named) {
            (Some(payment), _) => {
                seen.insert(charge.reference.as_str());
                if payment.captured != Some(taken) {
                    found.push(format!("charge {}: {taken} there, {:?} here", charge.reference, payment.captured));
                }
                let refunded = payment.refunded.map_or(0, |refund: Money| refund.minor);
                // A refund whose answer was lost is made there and still owed here.
                if charge.refunded_minor != refunded && !(payment.refund_owed && refunded == 0) {
                    found.push(format!(
                        "charge {}: refunded {} there, {refunded} here",
                        charge.reference, charge.refunded_minor
                    ));
                }
            }
            (None, _) if set_aside.contains(&charge.reference) => {}
            (None, Some(payment)) if payment.open => {}
            (None, Some(payment)) => {
                found.push(format!("charge {} of payment {}: captured there, not here", charge.reference, payment.id));
            }
            (None, None) => found.push(format!("charge {}: captured there, unknown here", charge.reference)),
        }
    }
    let missing = by_charge.keys().filter(|charge| !seen.contains(**charge));
    found.extend(missing.map(|charge| format!("charge {charge}: captured here, not there")));
    found
}
