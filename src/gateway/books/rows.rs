//! Charges as rows, and back; a row that cannot be is refused.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use sqlx::FromRow;
use sqlx::types::Json;

use super::BooksResult;
use crate::domain::money::Money;
use crate::gateway::charge::{Charge, State};

/// The columns of a [`ChargeRow`], from a table called `c`.
macro_rules! charge_columns {
    () => {
        "c.id, c.amount_minor, c.currency, c.last4, c.status::text as status, c.captured_at, c.decline_reason,
         c.action_token, c.return_url, c.metadata, c.refunded_minor,
         coalesce(c.decides_at <= clock_timestamp(), false) as is_due"
    };
}
pub(super) use charge_columns;

/// A charge as it lies in the table.
#[derive(FromRow)]
pub(super) struct ChargeRow {
    id: String,
    amount_minor: i64,
    currency: String,
    last4: Option<String>,
    status: String,
    captured_at: Option<DateTime<Utc>>,
    decline_reason: Option<String>,
    action_token: Option<String>,
    return_url: Option<String>,
    metadata: Json<BTreeMap<String, String>>,
    refunded_minor: i64,
    is_due: bool,
}

impl ChargeRow {
    /// The charge that it is.
    pub fn read(self) -> BooksResult<Charge> {
        let corrupt = |what: &str| sqlx::Error::Decode(format!("gateway.charges of {}: {what}", self.id).into());
        let state = match (self.status.as_str(), self.captured_at, self.decline_reason, self.action_token) {
            ("processing", None, None, None) => State::Processing { is_due: self.is_due },
            ("requires_action", None, None, Some(token)) => State::RequiresAction { token },
            ("captured", Some(at), None, _) => State::Captured { at },
            ("declined", None, Some(reason), _) => State::Declined { reason },
            ("canceled", None, None, _) => State::Canceled,
            _ => return Err(corrupt("its status and its other columns do not fit together")),
        };
        let currency = self.currency.parse().map_err(|error: String| corrupt(&error))?;
        Ok(Charge {
            amount: Money::new(self.amount_minor, currency),
            id: self.id,
            last4: self.last4,
            state,
            refunded_minor: self.refunded_minor,
            return_url: self.return_url,
            metadata: self.metadata.0,
        })
    }
}

/// The same for what may not be there.
pub(super) fn read(row: Option<ChargeRow>) -> BooksResult<Option<Charge>> {
    row.map(ChargeRow::read).transpose()
}
