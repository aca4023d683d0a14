//! The checkout: reserve, charge, confirm, or compensate. Each step is one conditional statement; between them no
//! transaction and no lock is open, and any step may be taken again by whoever looks next (see `recover`).
//!
//! ```text
//! start (records the attempt, renews the hold once)
//!   -> gateway.charge, with the payment's id as its idempotency key
//!        captured -> confirm -> tickets; or a refund that is owed -> gateway.refund -> refunded
//!        declined -> the order is held again, for what is left of its window
//!        no answer -> gateway.find; if that fails too, the payment stays under way until somebody learns its fate
//! ```
//!
//! What may happen in which state is a table in `domain::saga`.
//!
//! An attempt to pay an order is recorded as its payment's row, in the statement that starts it: the same attempt finds that
//! row and is answered from it, for as long as there are rows, which is for ever. With another card it is refused. Giving
//! back needs no attempt: its order says all, and is given back once.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use uuid::Uuid;

use super::gateway::{Charge, NoAnswer};
use super::hold::ROUNDS;
use super::release::owned;
use super::{BoxOffice, fault, incidents};
use crate::domain::Error;
use crate::domain::hold::MOST_SEATS;
use crate::domain::ids::{Attempt, OrderId, PaymentId, VisitorId};
use crate::domain::incident::Kind;
use crate::domain::money::Money;
use crate::domain::order::Standing;
use crate::domain::payment::{Capture, Card, Email, PaymentState, Refund};
use crate::domain::saga::Actor;
use crate::domain::ticket::TicketCode;
use crate::store::payments::Outcome;
use crate::store::{orders, payments, refunds};

/// Longer than the slowest bank takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// How far a payment has come when its form is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Its fate is known, or it waits for nobody here: the order's page tells it.
    Told,
    /// The same form, sent before, is still at work.
    UnderWay,
    /// The card's holder must confirm it on this page of the gateway.
    Confirm(String),
}

/// How long the second of two equal forms waits for the first.
const JOINING: Duration = Duration::from_secs(2);

/// Pays the visitor's order and returns when its fate is known (or the gateway does not tell). The same attempt again
/// charges nothing. Runs in a task of its own: a client that hangs up cannot stop it halfway.
///
/// # Errors
/// Only what stopped the payment before any money could move; what became of it afterwards is read from the order.
/// [`Error::AttemptReused`] when the attempt was sent before with another card.
pub async fn pay(
    office: &Arc<BoxOffice>,
    visitor: VisitorId,
    order: OrderId,
    attempt: Attempt,
    card: Card,
    email: Option<Email>,
) -> Result<Progress, Error> {
    let office = Arc::clone(office);
    let task =
        tokio::spawn(async move { start_and_charge(&office, visitor, order, attempt, &card, email.as_ref()).await });
    task.await.unwrap_or_else(|panic| {
        let reference = Uuid::new_v4().simple().to_string();
        tracing::error!(reference, %panic, "the checkout panicked");
        Err(Error::Internal { reference })
    })
}

async fn start_and_charge(
    office: &BoxOffice,
    visitor: VisitorId,
    order: OrderId,
    attempt: Attempt,
    card: &Card,
    email: Option<&Email>,
) -> Result<Progress, Error> {
    for _ in 0..ROUNDS {
        let payment = PaymentId(Uuid::new_v4());
        let email = email.map(Email::as_str);
        match payments::start(&office.pool, visitor, order, payment, attempt, card.ending(), email).await {
            Ok(Some(amount)) => return charge(office, order, payment, amount, card).await,
            Ok(None) => {
                // Perhaps because it is somebody else's, of whose order nothing is told.
                owned(office, visitor, order).await?;
                return join(office, order, attempt, card).await;
            }
            // A hold of the same visitor ran at the same moment.
            Err(error) if error.on_constraint("orders_one_at_a_time") => {}
            // Recorded before, by the same form sent twice: that one is doing the work.
            Err(error) if error.on_constraint("payments_one_per_attempt") => {
                return join(office, order, attempt, card).await;
            }
            Err(error) if error.is_dead_connection() => {
                // Whether it was recorded is not known; nothing was charged. The form can be sent again.
                tracing::warn!(%error, "starting a payment");
                return Err(Error::Unavailable);
            }
            Err(error) => return Err(fault(error)),
        }
    }
    Err(Error::Unavailable)
}

/// Why a payment could not start. Not an error when the order is paid, or this attempt is what made it so.
async fn refuse(office: &BoxOffice, order: OrderId, attempt: Attempt, card: &Card) -> Result<Progress, Error> {
    let known = payments::of_order(&office.pool, order).await.map_err(fault)?;
    if let Some(before) = known.iter().find(|payment| payment.attempt == attempt) {
        return match (&before.card_ending, &before.state) {
            (Some(ending), _) if ending != card.ending() => Err(Error::AttemptReused),
            (_, PaymentState::Started) => Ok(before.action_url.clone().map_or(Progress::UnderWay, Progress::Confirm)),
            _ => Ok(Progress::Told),
        };
    }
    let (order, now) = orders::get(&office.pool, order).await.map_err(fault)?.ok_or(Error::UnknownOrder)?;
    match order.standing(now) {
        Standing::Sold { .. } | Standing::RefundOwed { .. } | Standing::Refunded { .. } => Ok(Progress::Told),
        Standing::Paying { .. } => Err(Error::PaymentInProgress),
        Standing::Released { .. } => Err(Error::AlreadyReleased),
        // `Held` here means that it lapsed between the statements, or lost its seats while it lay lapsed.
        Standing::Lapsed { .. } | Standing::Held { .. } => Err(Error::HoldLapsed),
    }
}

/// The same form sent twice: the second answer should equal the first, so it waits for that one, if that does not take long.
async fn join(office: &BoxOffice, order: OrderId, attempt: Attempt, card: &Card) -> Result<Progress, Error> {
    let since = tokio::time::Instant::now();
    loop {
        match refuse(office, order, attempt, card).await {
            Ok(Progress::UnderWay) if since.elapsed() < JOINING => tokio::time::sleep(JOINING / 20).await,
            answer => return answer,
        }
    }
}

async fn charge(
    office: &BoxOffice,
    order: OrderId,
    payment: PaymentId,
    amount: Money,
    card: &Card,
) -> Result<Progress, Error> {
    match patiently(office, office.gateway.charge(payment, order, amount, card)).await {
        Ok(Charge::NeedsAction { url }) => {
            settle(office, payment, Some(Charge::NeedsAction { url: url.clone() }), Actor::Visitor).await?;
            Ok(Progress::Confirm(url))
        }
        Ok(decision) => settle(office, payment, Some(decision), Actor::Visitor).await.map(|()| Progress::Told),
        Err(error) => {
            tracing::warn!(%payment, %error, "charge");
            ask(office, payment, Actor::Visitor, false).await.map(|_| Progress::Told)
        }
    }
}

/// A gateway that says nothing must keep nobody for ever, nor hold up what recovery has still to do.
async fn patiently<T>(office: &BoxOffice, answer: impl Future<Output = Result<T, NoAnswer>>) -> Result<T, NoAnswer> {
    let silence = |_| Err(NoAnswer(format!("nothing within {:?}", office.patience)));
    tokio::time::timeout(office.patience, answer).await.unwrap_or_else(silence)
}

/// Asks the gateway what became of a payment whose answer was lost. `false` when it does not tell either. With `cancel`, one
/// that still waits for its holder's confirmation is stopped.
pub(super) async fn ask(office: &BoxOffice, payment: PaymentId, actor: Actor, cancel: bool) -> Result<bool, Error> {
    match patiently(office, office.gateway.find(payment, cancel)).await {
        Ok(decision) => settle(office, payment, decision, actor).await.map(|()| true),
        Err(error) => {
            tracing::warn!(%payment, %error, "the payment stays under way until the gateway tells");
            Ok(false)
        }
    }
}

/// Takes the gateway's word for a payment: tickets, a refund, or the order held again. The same word again changes nothing.
pub(super) async fn settle(
    office: &BoxOffice,
    payment: PaymentId,
    decision: Option<Charge>,
    actor: Actor,
) -> Result<(), Error> {
    let reason = match decision {
        Some(Charge::Captured(capture)) => return confirm(office, payment, &capture, actor).await,
        Some(Charge::Declined { reason }) => Some(reason),
        Some(Charge::NeedsAction { url }) => {
            return payments::needs_action(&office.pool, payment, &url).await.map_err(fault);
        }
        None => None,
    };
    payments::give_up(&office.pool, payment, reason.as_deref(), actor).await.map_err(fault)
}

/// One round trip, whatever it leads to: nothing is asked before that the statement itself does not judge.
async fn confirm(office: &BoxOffice, payment: PaymentId, capture: &Capture, actor: Actor) -> Result<(), Error> {
    let codes: [TicketCode; MOST_SEATS] =
        std::array::from_fn(|_| TicketCode::from_random(Uuid::new_v4().as_u128() ^ rand::random::<u128>()));
    let evidence = incidents::evidence(Some(payment), capture);
    match payments::confirm(&office.pool, payment, capture, &evidence, &codes, actor).await.map_err(fault)? {
        Outcome::Sold | Outcome::Known => Ok(()),
        Outcome::Refund { order, as_asked } => {
            if !as_asked {
                incidents::tell(Kind::WrongAmount, Some(payment), capture);
            }
            refund_owed(office, order, actor).await
        }
        Outcome::Nobodys => incidents::set_aside(office, Kind::UnknownCharge, Some(payment), capture).await,
    }
}

/// Makes the refunds that an order is owed. A gateway that does not answer leaves them owed, for whoever looks next.
pub(super) async fn refund_owed(office: &BoxOffice, order: OrderId, actor: Actor) -> Result<(), Error> {
    // No lease: whoever looks at an order tries at once, and the gateway makes a refund once however often it is asked.
    for owed in refunds::take_owed(&office.pool, Some(order), TimeDelta::zero(), 10).await.map_err(fault)? {
        refund(office, &owed, actor).await?;
    }
    Ok(())
}

/// Makes one refund. `false` when the gateway does not answer.
pub(super) async fn refund(office: &BoxOffice, owed: &Refund, actor: Actor) -> Result<bool, Error> {
    match patiently(office, office.gateway.refund(owed.payment, &owed.charge, owed.amount)).await {
        Ok(reference) => {
            refunds::made(&office.pool, owed.payment, &reference, actor).await.map_err(fault)?;
            Ok(true)
        }
        Err(error) => {
            tracing::warn!(order = %owed.order, %error, "the refund stays owed");
            Ok(false)
        }
    }
}
