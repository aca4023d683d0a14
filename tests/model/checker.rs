//! The promises, asked of a world at rest.

use matinee::domain::saga::Phase;

use crate::world::{Fate, SEATS, Told, World};

/// Each broken promise, in words.
pub fn breaches(world: &World) -> Vec<String> {
    let mut found = Vec::new();
    let tickets_of = |order: usize| world.tickets.iter().filter(|ticket| ticket.1 == order).count();
    for seat in 0..SEATS {
        let sold = world.tickets.iter().filter(|ticket| ticket.0 == seat).count();
        if sold > 1 {
            found.push(format!("seat {seat} was sold twice"));
        }
    }
    found.extend(world.stolen.iter().map(|order| format!("order {order} lost its seats while they were held")));
    for (number, payment) in world.payments.iter().enumerate() {
        let bought = payment.fate == Fate::Bought;
        if payment.captured && !bought && payment.refunds == 0 {
            found.push(format!("payment {number}: neither tickets nor a refund"));
        }
        if bought && payment.refunds > 0 {
            found.push(format!("payment {number}: tickets and a refund"));
        }
        if payment.refunds > 1 {
            found.push(format!("payment {number}: refunded more than was taken"));
        }
        if !payment.captured && (bought || payment.refunds > 0) {
            found.push(format!("payment {number}: tickets or a refund for nothing"));
        }
        if matches!(payment.fate, Fate::Started | Fate::Back { made: false }) {
            found.push(format!("payment {number} is stuck"));
        }
    }
    for (number, order) in world.orders.iter().enumerate() {
        let expected = if order.phase == Phase::Sold { order.seats.len() } else { 0 };
        if tickets_of(number) != expected {
            found.push(format!("order {number} is {:?} with {} tickets", order.phase, tickets_of(number)));
        }
        let buyers =
            world.payments.iter().filter(|payment| payment.order == number && payment.fate == Fate::Bought).count();
        if buyers != usize::from(order.phase == Phase::Sold) {
            found.push(format!("order {number} is {:?}, bought by {buyers} payments", order.phase));
        }
        if matches!(order.phase, Phase::Paying | Phase::RefundOwed) {
            found.push(format!("order {number} is stuck: {:?}", order.phase));
        }
    }
    for told in &world.told {
        let kept = match *told {
            Told::Held(_) => true,
            Told::Sold(order) => tickets_of(order) == world.orders[order].seats.len(),
            Told::Refunded(payment) => world.payments[payment].refunds == 1,
        };
        if !kept {
            found.push(format!("told {told:?}, and it is not so"));
        }
    }
    found
}
