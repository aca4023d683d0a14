//! A past for a demo: a merchant who begins with customers of yesterday needs charges of yesterday. Only who runs this
//! processor can write them; no merchant can ask for them.

use std::collections::BTreeMap;

use sqlx::postgres::PgPool;

use super::books::Books;
use crate::domain::money::Money;

/// A charge that was captured once upon a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastCharge {
    /// The idempotency key that it was made with.
    pub key: String,
    /// What was taken.
    pub amount: Money,
    /// What the merchant noted down.
    pub metadata: BTreeMap<String, String>,
}

/// Writes charges of the past into the books of this database; their names, in the order given. Those of a key that was used
/// before are what they were.
///
/// # Errors
/// When the database does.
pub async fn remember(pool: &PgPool, charges: &[PastCharge]) -> Result<Vec<String>, sqlx::Error> {
    Books::new(pool.clone()).write_past(charges).await
}
