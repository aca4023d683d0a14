//! The story of an order in plain words: what happened and when, by the cinema's clock.

use leptos::prelude::*;

use crate::domain::cinema::Cinema;
use crate::domain::ids::PaymentId;
use crate::domain::payment::{Payment, Refund, RefundReason};
use crate::domain::saga::{Happening, OrderEvent};

/// What is known of an order's money, to tell its story with.
pub struct Evidence<'a> {
    /// Its payments.
    pub payments: &'a [Payment],
    /// Its refunds.
    pub refunds: &'a [Refund],
}

impl Evidence<'_> {
    fn card(&self, id: Option<PaymentId>) -> String {
        let payment = self.payments.iter().find(|payment| Some(payment.id) == id);
        let ending = payment.and_then(|payment| payment.card_ending.as_deref());
        ending.map_or_else(|| "the card".to_owned(), |ending| format!("the card ending {ending}"))
    }

    fn words(&self, cinema: &Cinema, event: &OrderEvent) -> String {
        let refund = self.refunds.iter().find(|refund| Some(refund.payment) == event.payment);
        match event.what {
            Happening::Held => "Seats held".to_owned(),
            Happening::Released => "Seats given back".to_owned(),
            Happening::PaymentStarted => format!("Payment asked of {}", self.card(event.payment)),
            Happening::PaymentDeclined => format!("Declined: {}", event.why.as_deref().unwrap_or("no reason given")),
            Happening::PaymentFailed => "The card processor failed; nothing was charged".to_owned(),
            Happening::PaymentCaptured => {
                let payment = self.payments.iter().find(|payment| Some(payment.id) == event.payment);
                let amount = refund.map(|refund| refund.amount).or(payment.map(|payment| payment.amount));
                let amount = amount.map(|amount| format!("{amount} ")).unwrap_or_default();
                format!("{amount}taken from {}", self.card(event.payment))
            }
            Happening::Sold => "Tickets issued".to_owned(),
            Happening::RefundOwed => refund.map_or_else(|| "Refund owed".to_owned(), |refund| owed(cinema, refund)),
            Happening::Refunded => {
                let amount = refund.map(|refund| format!("{} ", refund.amount)).unwrap_or_default();
                format!("{amount}given back, reference {}", event.why.as_deref().unwrap_or_default())
            }
        }
    }
}

fn owed(cinema: &Cinema, refund: &Refund) -> String {
    let why = match refund.reason {
        RefundReason::TooLate => format!(
            "the hold had ended at {} and not all seats were still free",
            cinema.to_the_second(refund.hold_ended_at)
        ),
        RefundReason::PaidTwice => "the order had been paid, or refunded, before".to_owned(),
        RefundReason::GivenBack => "the seats had been given back".to_owned(),
        RefundReason::WrongAmount => "another amount was taken than was asked for".to_owned(),
    };
    format!("{} to be given back: {why}", refund.amount)
}

/// The lines of the story; nothing for an order from before stories were kept.
pub fn story(cinema: &Cinema, events: &[OrderEvent], evidence: &Evidence<'_>) -> impl IntoView + use<> {
    let lines = events.iter().map(|event| {
        let machine = event.at.with_timezone(&cinema.zone).to_rfc3339();
        let (time, words) = (cinema.to_the_second(event.at), evidence.words(cinema, event));
        view! { <li><time datetime=machine>{time}</time><span>{words}</span></li> }
    });
    let lines = lines.collect_view();
    (!events.is_empty()).then(|| {
        view! {
            <section class="panel no-print" aria-labelledby="story">
                <h2 id="story">"What happened"</h2>
                <ol class="story">{lines}</ol>
            </section>
        }
    })
}
