//! The checkout: reserve, charge, confirm, or compensate. Each step is one conditional statement; between them no
//! transaction and no lock is open, and any step may be taken again by whoever looks next.
//!
//! ```text
//! start (records the attempt, renews the hold once)
//!   -> gateway.charge, with the payment's id as its idempotency key
//!        captured -> confirm -> tickets; or, when the seats have gone, a refund that is owed -> gateway.refund -> refunded
//!        declined -> the order is held again, for what is left of its window
//!        no answer -> gateway.find; if that fails too, the payment stays under way until `resume` learns its fate
//! ```

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use uuid::Uuid;

use super::gateway::{Charge, NoAnswer};
use super::hold::ROUNDS;
use super::release::owned;
use super::{BoxOffice, fault};
use crate::domain::Error;
use crate::domain::ids::{Attempt, OrderId, PaymentId, VisitorId};
use crate::domain::money::Money;
use crate::domain::order::{Order, OrderState, Standing};
use crate::domain::payment::{Card, Payment, PaymentState};
use crate::domain::ticket::TicketCode;
use crate::store::{orders, payments};

/// How long a charge may take before its fate is asked for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Pays the visitor's order and returns when its fate is known (or the gateway does not tell). The same attempt again
/// charges nothing. Runs in a task of its own: a client that hangs up cannot stop it halfway.
///
/// # Errors
/// Only what stopped the payment before any money could move; what became of it afterwards is read from the order.
pub async fn pay(
    office: &Arc<BoxOffice>,
    visitor: VisitorId,
    order: OrderId,
    attempt: Attempt,
    card: Card,
) -> Result<(), Error> {
    let known = owned(office, visitor, order).await?;
    let office = Arc::clone(office);
    let task = tokio::spawn(async move { start_and_charge(&office, &known, attempt, &card).await });
    task.await.unwrap_or_else(|panic| {
        let reference = Uuid::new_v4().simple().to_string();
        tracing::error!(reference, %panic, "the checkout panicked");
        Err(Error::Internal { reference })
    })
}

async fn start_and_charge(office: &BoxOffice, order: &Order, attempt: Attempt, card: &Card) -> Result<(), Error> {
    let payment = PaymentId(Uuid::new_v4());
    let mut started = payments::start(&office.pool, order.id, payment, attempt).await;
    for _ in 0..ROUNDS {
        let Err(error) = &started else { break };
        if !error.on_constraint("orders_one_at_a_time") {
            break;
        }
        started = payments::start(&office.pool, order.id, payment, attempt).await;
    }
    match started {
        Ok(Some(amount)) => charge(office, order.id, payment, amount, card).await,
        Ok(None) => refuse(office, order.id, attempt).await,
        // Recorded before, by the same form sent twice: that one is doing the work.
        Err(error) if error.on_constraint("payments_one_per_attempt") => Ok(()),
        Err(error) if error.is_dead_connection() => {
            // Whether it was recorded is not known; nothing was charged. The form can be sent again.
            tracing::warn!(%error, "starting a payment");
            Err(Error::Unavailable)
        }
        Err(error) => Err(fault(error)),
    }
}

/// Why a payment could not start. Not an error when the order is paid, or this attempt is what made it so.
async fn refuse(office: &BoxOffice, order: OrderId, attempt: Attempt) -> Result<(), Error> {
    let known = payments::of_order(&office.pool, order).await.map_err(fault)?;
    if known.iter().any(|payment| payment.attempt == attempt) {
        return Ok(());
    }
    let (order, now) = orders::get(&office.pool, order).await.map_err(fault)?.ok_or(Error::UnknownOrder)?;
    match order.standing(now) {
        Standing::Sold { .. } | Standing::RefundOwed { .. } | Standing::Refunded { .. } => Ok(()),
        Standing::Paying { .. } => Err(Error::PaymentInProgress),
        Standing::Released { .. } => Err(Error::AlreadyReleased),
        // `Held` here means that it lapsed between the statements, or lost its seats while it lay lapsed.
        Standing::Lapsed { .. } | Standing::Held { .. } => Err(Error::HoldLapsed),
    }
}

async fn charge(
    office: &BoxOffice,
    order: OrderId,
    payment: PaymentId,
    amount: Money,
    card: &Card,
) -> Result<(), Error> {
    let answer = tokio::time::timeout(PATIENCE, office.gateway.charge(payment, amount, card))
        .await
        .unwrap_or_else(|_| Err(NoAnswer(format!("nothing within {} s", PATIENCE.as_secs()))));
    match answer {
        Ok(decision) => settle(office, order, payment, Some(decision)).await,
        Err(error) => {
            tracing::warn!(%payment, %error, "charge");
            ask(office, order, payment).await
        }
    }
}

/// Asks the gateway what became of a payment whose answer was lost.
async fn ask(office: &BoxOffice, order: OrderId, payment: PaymentId) -> Result<(), Error> {
    match office.gateway.find(payment).await {
        Ok(decision) => settle(office, order, payment, decision).await,
        Err(error) => {
            tracing::warn!(%payment, %error, "the payment stays under way until the gateway tells");
            Ok(())
        }
    }
}

async fn settle(office: &BoxOffice, order: OrderId, payment: PaymentId, decision: Option<Charge>) -> Result<(), Error> {
    match decision {
        Some(Charge::Captured { reference }) => confirm(office, order, payment, &reference).await,
        Some(Charge::Declined { reason }) => {
            payments::give_up(&office.pool, order, payment, Some(&reason)).await.map_err(fault)
        }
        None => payments::give_up(&office.pool, order, payment, None).await.map_err(fault),
    }
}

async fn confirm(office: &BoxOffice, id: OrderId, payment: PaymentId, reference: &str) -> Result<(), Error> {
    let (order, _) = orders::get(&office.pool, id).await.map_err(fault)?.ok_or(Error::UnknownOrder)?;
    let codes: Vec<TicketCode> = (0..order.seats.count())
        .map(|_| TicketCode::from_random(Uuid::new_v4().as_u128() ^ rand::random::<u128>()))
        .collect();
    match payments::confirm(&office.pool, id, payment, reference, &codes).await.map_err(fault)? {
        Some(true) | None => Ok(()),
        Some(false) => refund(office, id).await,
    }
}

/// Makes the refund that is owed. A gateway that does not answer leaves it owed, for whoever looks next.
async fn refund(office: &BoxOffice, order: OrderId) -> Result<(), Error> {
    let Some(owed) = payments::refund_of_order(&office.pool, order).await.map_err(fault)? else { return Ok(()) };
    if owed.made.is_some() {
        return Ok(());
    }
    match office.gateway.refund(&owed.charge).await {
        Ok(reference) => payments::refunded(&office.pool, order, owed.payment, &reference).await.map_err(fault),
        Err(error) => {
            tracing::warn!(%order, %error, "the refund stays owed");
            Ok(())
        }
    }
}

/// Finishes what a crash or a silent gateway left open. Called by whoever looks at the order; does nothing to an order
/// that is not open.
///
/// # Errors
/// When the database does.
pub async fn resume(office: &Arc<BoxOffice>, id: OrderId) -> Result<(), Error> {
    let Some((order, now)) = orders::get(&office.pool, id).await.map_err(fault)? else { return Ok(()) };
    match order.state {
        OrderState::RefundOwed { .. } => {
            let office = Arc::clone(office);
            finished(tokio::spawn(async move { refund(&office, id).await }).await)
        }
        OrderState::Paying => {
            let lost = |payment: &Payment| {
                // Longer than any charge can still be under way in a living server.
                let grace = TimeDelta::seconds(PATIENCE.as_secs().cast_signed() + 15);
                payment.state == PaymentState::Started && now - payment.started_at > grace
            };
            let known = payments::of_order(&office.pool, id).await.map_err(fault)?;
            let Some(payment) = known.into_iter().find(lost) else { return Ok(()) };
            let office = Arc::clone(office);
            finished(tokio::spawn(async move { ask(&office, id, payment.id).await }).await)
        }
        _ => Ok(()),
    }
}

fn finished(result: Result<Result<(), Error>, tokio::task::JoinError>) -> Result<(), Error> {
    result.unwrap_or_else(|panic| {
        tracing::error!(%panic, "resuming an order panicked");
        Ok(())
    })
}
