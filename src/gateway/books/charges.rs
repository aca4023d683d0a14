//! Charges and their idempotency keys.

use std::time::Duration;

use sqlx::postgres::PgConnection;

use super::events::{self, Telling};
use super::statements::{self, Key};
use super::{Books, BooksResult};
use crate::gateway::cards::{self, Behaviour};
use crate::gateway::charge::{Charge, NewCharge, State};

/// What became of a request for a charge.
#[derive(Debug)]
pub(in crate::gateway) enum Claim {
    /// Made by this request. While it is processing, the bank thinks for so long.
    Made(Charge, Duration),
    /// Made before, by the same request.
    Known(Charge),
    /// Made before, and the bank still thinks.
    Running,
    /// The key was used for another request.
    OtherRequest,
    /// Somebody was told that this key charged nothing.
    Closed,
    /// The simulated failure: nothing was charged.
    Failed,
}

/// What somebody decides on the hosted page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gateway) enum Decision {
    /// Take the money.
    Confirm,
    /// Take none.
    Refuse,
}

impl Books {
    /// Charges, unless the key says otherwise. A charge whose bank thinks is left processing.
    pub async fn charge(&self, key: &str, asked: &NewCharge) -> BooksResult<Claim> {
        let fingerprint = asked.fingerprint();
        let mut transaction = self.pool.begin().await?;
        statements::announce_charge(&mut transaction).await?;
        let known = statements::claim_key(&mut transaction, key, &fingerprint).await?;
        let claim = match known {
            Key { has_lapsed: true, is_closed: true, .. } | Key { is_closed: true, charge_id: None, .. } => {
                Claim::Closed
            }
            Key { has_lapsed: true, .. } => make(&mut transaction, key, asked, 0).await?,
            // Older keys did not write down what they were used for.
            Key { fingerprint: Some(other), .. } if other != fingerprint => Claim::OtherRequest,
            Key { charge_id: None, tries, .. } => make(&mut transaction, key, asked, tries).await?,
            Key { charge_id: Some(id), .. } => match statements::find_charge(&mut transaction, &id).await? {
                Some(Charge { state: State::Processing { is_due: false }, .. }) => Claim::Running,
                // The gateway that waited for the bank is gone.
                Some(Charge { state: State::Processing { is_due: true }, .. }) => {
                    Claim::Known(capture(&mut transaction, &id).await?)
                }
                Some(charge) => Claim::Known(charge),
                None => return Err(sqlx::Error::RowNotFound),
            },
        };
        transaction.commit().await?;
        Ok(claim)
    }

    /// The bank has thought. Captures a charge that is still processing; what became of it otherwise stays.
    pub async fn settle(&self, id: &str) -> BooksResult<Charge> {
        let mut transaction = self.pool.begin().await?;
        let charge = capture(&mut transaction, id).await?;
        transaction.commit().await?;
        Ok(charge)
    }

    /// The truth about a key, which stays true: without a charge it will never have one, and a charge that is still
    /// processing is canceled. One that waits for its hosted page is canceled only if that is wanted.
    pub async fn close(&self, key: &str, cancels_action: bool) -> BooksResult<Option<Charge>> {
        let mut transaction = self.pool.begin().await?;
        statements::close_key(&mut transaction, key).await?;
        let newest = statements::newest_of_key(&mut transaction, key).await?;
        if let Some(charge) = &newest
            && let Some(canceled) = statements::cancel(&mut transaction, &charge.id, cancels_action).await?
        {
            events::tell(&mut transaction, &canceled).await?;
            transaction.commit().await?;
            return Ok(Some(canceled));
        }
        // It may have been decided while we waited for it.
        let charge = match newest {
            Some(charge) => statements::find_charge(&mut transaction, &charge.id).await?,
            None => None,
        };
        transaction.commit().await?;
        Ok(charge)
    }

    /// A charge.
    pub async fn find(&self, id: &str) -> BooksResult<Option<Charge>> {
        statements::find_charge(&mut *self.pool.acquire().await?, id).await
    }

    /// Charges in the order of their creation, those behind another one; `None` when that one is not there. A page is
    /// complete: no charge appears later before its end.
    pub async fn list(&self, after: Option<&str>, most: i64) -> BooksResult<Option<Vec<Charge>>> {
        let mut transaction = self.pool.begin().await?;
        statements::await_announced(&mut transaction).await?;
        let start = match after {
            None => 0,
            Some(id) => match statements::number_of(&mut transaction, id).await? {
                Some(start) => start,
                None => return Ok(None),
            },
        };
        let charges = statements::list_behind(&mut transaction, start, most).await?;
        transaction.commit().await?;
        Ok(Some(charges))
    }

    /// The charge that a hosted page is about.
    pub async fn of_page(&self, token: &str) -> BooksResult<Option<Charge>> {
        statements::charge_of_page(&mut *self.pool.acquire().await?, token).await
    }

    /// Decides a charge on its hosted page, once; the charge as it is now.
    pub async fn decide(&self, token: &str, decision: Decision) -> BooksResult<Option<Charge>> {
        let mut transaction = self.pool.begin().await?;
        let confirms = decision == Decision::Confirm;
        let Some(charge) = statements::decide_by_token(&mut transaction, token, confirms).await? else {
            transaction.rollback().await?;
            return self.of_page(token).await;
        };
        events::tell(&mut transaction, &charge).await?;
        transaction.commit().await?;
        Ok(Some(charge))
    }
}

/// Makes the charge that the card leads to, and tells of it what the card says is told.
async fn make(connection: &mut PgConnection, key: &str, asked: &NewCharge, tries: i32) -> BooksResult<Claim> {
    let behaviour = cards::behaviour_of(&asked.card);
    let (status, reason, thinks) = match behaviour {
        Behaviour::Fails => ("", None, Duration::ZERO),
        Behaviour::FailsOnce if tries == 0 => ("", None, Duration::ZERO),
        Behaviour::Declines(reason) => ("declined", Some(reason), Duration::ZERO),
        Behaviour::SucceedsAfter(pause) => ("processing", None, pause),
        Behaviour::AsksOnThePage => ("requires_action", None, Duration::ZERO),
        _ => ("captured", None, Duration::ZERO),
    };
    let refund_failures = if behaviour == Behaviour::FailsTwoRefunds { 2 } else { 0 };
    if status.is_empty() {
        statements::use_key(connection, key, &asked.fingerprint(), None, tries + 1).await?;
        return Ok(Claim::Failed);
    }
    let charge = statements::insert_charge(connection, key, asked, status, reason, thinks, refund_failures).await?;
    statements::use_key(connection, key, &asked.fingerprint(), Some(&charge.id), tries + 1).await?;
    match (Telling::of_charge(&charge), behaviour) {
        // Undecided: the event comes with the decision.
        (None, _) => {}
        (Some(tells), Behaviour::TellsLate(pause)) => tells.late(pause).record(connection).await?,
        (Some(tells), Behaviour::TellsFiveTimes) => tells.times(5).record(connection).await?,
        (Some(tells), Behaviour::TellsInTheWrongOrder) => {
            tells.record(connection).await?;
            tells.a_stale_decline(&charge).record(connection).await?;
        }
        (Some(tells), _) => tells.record(connection).await?,
    }
    Ok(Claim::Made(charge, thinks))
}

async fn capture(connection: &mut PgConnection, id: &str) -> BooksResult<Charge> {
    if let Some(charge) = statements::capture_processing(connection, id).await? {
        events::tell(connection, &charge).await?;
        return Ok(charge);
    }
    statements::find_charge(connection, id).await?.ok_or(sqlx::Error::RowNotFound)
}
