//! What people, servers and the card processor do, step by step, in an order that dice choose.

use rand::Rng;
use rand::rngs::StdRng;

use crate::world::{Fate, SEATS, Told, World};

/// Somebody in the middle of something; each variant is a place where a server may die, or an answer be lost.
#[derive(Clone, Debug)]
enum Task {
    /// Looked, and is about to take.
    Hold {
        seats: Vec<usize>,
    },
    Release {
        order: usize,
    },
    Start {
        order: usize,
    },
    Charge {
        payment: usize,
        accepted: bool,
    },
    /// An answer of the card processor on its way: to the checkout, or as a message.
    Settle {
        payment: usize,
        captured: bool,
    },
    Ask {
        payment: usize,
    },
    Refund {
        payment: usize,
    },
    RefundMade {
        payment: usize,
    },
    Look {
        order: usize,
    },
}

/// Plays a history and brings it to rest.
pub fn play(world: &mut World, dice: &mut StdRng) {
    let mut tasks: Vec<Task> = Vec::new();
    for _ in 0..dice.random_range(8..40) {
        if tasks.is_empty() || dice.random_ratio(1, 3) {
            begin(world, dice, &mut tasks);
        }
        if dice.random_ratio(1, 6) {
            // Mostly a moment; sometimes over the end of a hold, or nearly.
            let jumps = [1, 30, 600, 899, 900, 901, 1800];
            world.pass(jumps[dice.random_range(0..jumps.len())]);
        }
        if !tasks.is_empty() {
            let task = tasks.swap_remove(dice.random_range(0..tasks.len()));
            if dice.random_ratio(1, 12) {
                tasks.push(task.clone());
            }
            match dice.random_range(0..12) {
                // It died, or its answer was lost: nobody goes on.
                0 => {}
                _ => go_on(world, dice, task, &mut tasks),
            }
        }
    }
    // What is still on its way may arrive, or not.
    while let Some(task) = tasks.pop() {
        if dice.random_ratio(1, 2) {
            go_on(world, dice, task, &mut tasks);
        }
    }
    recover(world);
    // The last words of the card processor come after everything, as its messages do.
    for payment in 0..world.payments.len() {
        if world.payments[payment].captured && world.mutant != crate::world::Mutant::NoClosedKeys {
            world.confirm(payment);
        }
    }
    recover(world);
}

fn begin(world: &World, dice: &mut StdRng, tasks: &mut Vec<Task>) {
    let order = (!world.orders.is_empty()).then(|| dice.random_range(0..world.orders.len()));
    match (dice.random_range(0..8), order) {
        (0..=2, _) | (_, None) => {
            let seats = match dice.random_range(0..3) {
                0 => (0..SEATS).collect(),
                _ => vec![dice.random_range(0..SEATS)],
            };
            if world.looks_free(&seats) {
                tasks.push(Task::Hold { seats });
            }
        }
        (3..=5, Some(order)) => tasks.push(Task::Start { order }),
        (6, Some(order)) => tasks.push(Task::Release { order }),
        (_, Some(order)) => tasks.push(Task::Look { order }),
    }
}

fn go_on(world: &mut World, dice: &mut StdRng, task: Task, tasks: &mut Vec<Task>) {
    match task {
        Task::Hold { seats } => {
            if let Some(order) = world.hold(&seats) {
                world.told.push(Told::Held(order));
            }
        }
        Task::Release { order } => {
            world.release(order);
        }
        Task::Start { order } => {
            if let Some(payment) = world.start(order) {
                tasks.push(Task::Charge { payment, accepted: dice.random_ratio(3, 4) });
            }
        }
        Task::Charge { payment, accepted } => {
            let captured = world.charge(payment, accepted);
            tasks.push(Task::Settle { payment, captured });
            if dice.random_ratio(1, 3) {
                tasks.push(Task::Settle { payment, captured });
            }
        }
        Task::Settle { payment, captured } => {
            if captured {
                world.confirm(payment);
            } else {
                // The processor's "declined" is final for its key.
                world.find(payment);
                world.give_up(payment);
            }
            after(world, payment, tasks);
        }
        Task::Ask { payment } => {
            let captured = world.find(payment);
            tasks.push(Task::Settle { payment, captured });
        }
        Task::Refund { payment } => {
            world.refund(payment);
            tasks.push(Task::RefundMade { payment });
        }
        Task::RefundMade { payment } => {
            world.refund_made(payment);
            after(world, payment, tasks);
        }
        Task::Look { order } => {
            for payment in 0..world.payments.len() {
                match world.payments[payment] {
                    ref open if open.order == order && open.fate == Fate::Started => tasks.push(Task::Ask { payment }),
                    ref open if open.order == order && open.fate == (Fate::Back { made: false }) => {
                        tasks.push(Task::Refund { payment });
                    }
                    _ => {}
                }
            }
        }
    }
}

/// What the visitor is told when a payment's fate is known, and what is to be done next.
fn after(world: &mut World, payment: usize, tasks: &mut Vec<Task>) {
    let order = world.payments[payment].order;
    match world.payments[payment].fate {
        Fate::Bought => world.told.push(Told::Sold(order)),
        Fate::Back { made: false } => tasks.push(Task::Refund { payment }),
        Fate::Back { made: true } => world.told.push(Told::Refunded(payment)),
        Fate::GivenUp => world.told.push(Told::Declined(payment)),
        Fate::Started => {}
    }
}

/// Whoever looks next finishes everything.
fn recover(world: &mut World) {
    for payment in 0..world.payments.len() {
        if world.payments[payment].fate == Fate::Started {
            if world.find(payment) {
                world.confirm(payment);
            } else {
                world.give_up(payment);
            }
        }
        if world.payments[payment].fate == (Fate::Back { made: false }) {
            world.refund(payment);
            world.refund_made(payment);
        }
    }
}
