//! The world at rest as the common checker wants it, and the one question that only the model can ask.

use crate::verdict::{Ledger, OrderLine, PaymentLine, Told as Words};
use crate::world::{Fate, Told, World};

/// The price of everything.
const PRICE: i64 = 1;

/// Each broken promise, in words.
pub fn breaches(world: &World) -> Vec<String> {
    let breaches = ledger(world).breaches();
    let stolen = world.stolen.iter().map(|order| format!("order {order} lost its seats while they were held"));
    stolen.chain(breaches.iter().map(ToString::to_string)).collect()
}

fn ledger(world: &World) -> Ledger<usize> {
    let orders = world.orders.iter().enumerate().map(|(id, order)| OrderLine {
        id,
        seats: order.seats.len(),
        phase: order.phase,
        has_address: false,
    });
    let payments = world.payments.iter().enumerate().map(|(id, payment)| PaymentLine {
        id,
        order: payment.order,
        is_open: matches!(payment.fate, Fate::Started | Fate::Back { made: false }),
        bought: payment.fate == Fate::Bought,
        captured: if payment.captured { PRICE } else { 0 },
        refunded: i64::from(payment.refunds) * PRICE,
    });
    let told = world.told.iter().map(|told| match *told {
        Told::Held(order) => Words::Held(order),
        Told::Sold(order) => Words::Sold(order, world.orders[order].seats.len()),
        Told::Declined(payment) => Words::NotCharged(payment),
        // Of the payment alone: another one may have bought the seats of its order.
        Told::Refunded(payment) => Words::NotCharged(payment),
    });
    Ledger {
        tickets: world.tickets.clone(),
        orders: orders.collect(),
        payments: payments.collect(),
        mails: Vec::new(),
        told: told.collect(),
    }
}
