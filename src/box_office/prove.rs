//! Check the promises on the live database.

use super::BoxOffice;
use crate::store::StoreResult;
use crate::store::proof::{self, Breach};

/// Asks every question of the proof; none found means that the promises hold.
///
/// # Errors
/// When the database does.
pub async fn prove(office: &BoxOffice) -> StoreResult<Vec<Breach>> {
    proof::breaches(&office.pool, &office.plans).await
}
