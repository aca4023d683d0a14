//! Recovery: whatever a crash, a silent gateway or a lost answer left open is finished by whoever looks next. No process has
//! to do it: the order's page does, a message of the gateway does, and so does `matinee reconcile`, which every server also
//! runs beside its requests.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;

use super::checkout;
use super::gateway::Charge;
use super::{BoxOffice, fault};
use crate::domain::Error;
use crate::domain::ids::{OrderId, PaymentId};
use crate::domain::payment::{Payment, PaymentState};
use crate::domain::saga::Actor;
use crate::domain::seat::Status;
use crate::store::{orders, payments, refunds};

/// How many payments or refunds are taken at once.
const HANDFUL: i64 = 20;

/// How long others leave alone what somebody has taken.
const LEASE: TimeDelta = TimeDelta::seconds(30);

/// How long recovery waits before it looks again at what is open.
const PAUSE: Duration = Duration::from_secs(10);

/// Longer than any charge can still be under way in a living server.
fn grace(office: &BoxOffice) -> TimeDelta {
    TimeDelta::seconds(office.patience.as_secs().cast_signed() + 15)
}

/// What a reconciliation did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Payments whose fate is known now.
    pub settled: usize,
    /// Refunds that were made.
    pub refunded: usize,
    /// Questions and refunds that the gateway did not answer: run it again when it does.
    pub unanswered: usize,
}

/// Finishes what is open about one order. Does nothing to an order of which nothing is, and writes nothing then.
///
/// # Errors
/// When the database does.
pub async fn resume(office: &Arc<BoxOffice>, order: OrderId) -> Result<(), Error> {
    let payments = payments::of_order(&office.pool, order).await.map_err(fault)?;
    if payments.iter().all(|payment| payment.is_at_rest()) {
        return Ok(());
    }
    let office = Arc::clone(office);
    // Not to be stopped halfway by somebody who closes the page.
    let task = tokio::spawn(async move {
        for payment in payments::take_open(&office.pool, Some(order), grace(&office), HANDFUL).await.map_err(fault)? {
            look_up(&office, &payment).await?;
        }
        checkout::refund_owed(&office, order, Actor::Recovery).await
    });
    task.await.unwrap_or_else(|panic| {
        tracing::error!(%panic, "resuming an order panicked");
        Ok(())
    })
}

/// Asks the gateway about every payment that is open for longer than a living server takes, and makes every refund that is
/// owed. Several servers may do so at once: each takes a few at a time, and others leave those alone.
///
/// # Errors
/// When the database does.
pub async fn reconcile(office: &BoxOffice) -> Result<Reconciled, Error> {
    let mut done = Reconciled::default();
    loop {
        let open = payments::take_open(&office.pool, None, grace(office), HANDFUL).await.map_err(fault)?;
        let owed = refunds::take_owed(&office.pool, None, LEASE, HANDFUL).await.map_err(fault)?;
        if open.is_empty() && owed.is_empty() {
            return Ok(done);
        }
        for payment in open {
            let answered = look_up(office, &payment).await?;
            *if answered { &mut done.settled } else { &mut done.unanswered } += 1;
        }
        for refund in owed {
            let answered = checkout::refund(office, &refund, Actor::Recovery).await?;
            *if answered { &mut done.refunded } else { &mut done.unanswered } += 1;
        }
    }
}

/// Asks about a payment. One that waits for its holder's confirmation may wait as long as the hold lasts, and is stopped then.
async fn look_up(office: &BoxOffice, payment: &Payment) -> Result<bool, Error> {
    let order = orders::get(&office.pool, payment.order).await.map_err(fault)?;
    let lapsed =
        order.is_none_or(|(order, now)| order.hold_window.is_available(Status::Locked, Some(order.locked_at), now));
    checkout::ask(office, payment.id, Actor::Recovery, lapsed).await
}

/// The visitor has come back from the gateway's page: what was decided there is asked for at once.
///
/// # Errors
/// When the database does.
pub async fn returned(office: &Arc<BoxOffice>, order: OrderId) -> Result<(), Error> {
    for payment in payments::of_order(&office.pool, order).await.map_err(fault)? {
        if payment.state == PaymentState::Started && payment.action_url.is_some() {
            let office = Arc::clone(office);
            let task = tokio::spawn(async move { look_up(&office, &payment).await });
            task.await.unwrap_or(Ok(false))?;
        }
    }
    Ok(())
}

/// The gateway says that it made a refund of a charge.
///
/// # Errors
/// When the database does.
pub async fn refund_made(office: &BoxOffice, charge: &str, reference: &str) -> Result<(), Error> {
    match payments::of_charge(&office.pool, charge).await.map_err(fault)? {
        Some(payment) => refunds::made(&office.pool, payment, reference, Actor::Gateway).await.map_err(fault),
        None => Ok(()),
    }
}

/// Finishes what is open when a server starts, and looks again and again while it runs: what a silent gateway or a database
/// out of reach left open may be anybody's, and who left it open may be gone for good. Never ends; a server runs it beside its
/// requests. As long as nothing is open, a look is one small question.
pub async fn keep_recovering(office: &BoxOffice) {
    loop {
        let done = match payments::anything_open(&office.pool).await {
            Ok(true) => reconcile(office).await,
            Ok(false) => Ok(Reconciled::default()),
            Err(error) => Err(fault(error)),
        };
        match done {
            Ok(done) if done != Reconciled::default() => tracing::info!(?done, "recovered"),
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "recovery could not go on"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Takes the gateway's own word for a payment, as its messages bring it: at any time, in any order, any number of times.
/// Money for a payment that nobody knows is set aside as an incident.
///
/// That money was taken stays true. That a card was declined may be the news of an earlier try, come late: whoever was told
/// so and left would be charged all the same. So this is asked once more, which also closes the payment's key.
///
/// # Errors
/// When the database does; [`Error::Unavailable`] when the gateway, asked, does not answer.
pub async fn learn(office: &Arc<BoxOffice>, payment: PaymentId, decision: Charge) -> Result<(), Error> {
    let office = Arc::clone(office);
    let task = tokio::spawn(async move {
        if matches!(decision, Charge::Captured(_)) {
            return checkout::settle(&office, payment, Some(decision), Actor::Gateway).await;
        }
        match payments::get(&office.pool, payment).await.map_err(fault)? {
            Some(known) if known.state == PaymentState::Started => {
                let answered = checkout::ask(&office, payment, Actor::Gateway, false).await?;
                if answered { Ok(()) } else { Err(Error::Unavailable) }
            }
            _ => Ok(()),
        }
    });
    task.await.unwrap_or_else(|panic| {
        tracing::error!(%panic, "learning a payment's fate panicked");
        Err(Error::Unavailable)
    })
}
