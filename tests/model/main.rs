//! The saga as a model: holds, payments, refunds and a card processor as plain values, run by a scheduler with dice. A
//! history is a few people, two seats, and every fault there is: answers and requests that are lost, messages that come
//! twice and late, servers that die between any two steps, time that jumps over the end of a hold. At its end recovery runs
//! until nothing is open, and the checker of the live crash test (`tests/chaos`) asks what `matinee prove` asks of a database.
//!
//! The rule and the table of steps are the product's own (`domain::seat`, `domain::saga`). A seed stands for a history: a
//! failure prints it, and `MODEL_SEED=.. cargo test --test model` runs that one again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop right there and say where")]

mod checker;
mod people;
#[expect(dead_code, reason = "a live cinema has more to tell")]
#[path = "../support/verdict.rs"]
mod verdict;
mod world;

use std::thread;

use rand::{SeedableRng, rngs::StdRng};

use checker::breaches;
use people::play;
use world::{Mutant, World};

/// A run's histories.
const HISTORIES: u64 = 1_000_000;
/// A mutant must be caught within so many.
const MUTANT_HISTORIES: u64 = 20_000;

/// One history: what was found, and how it went.
fn history(seed: u64, mutant: Mutant) -> (Vec<String>, World) {
    let mut dice = StdRng::seed_from_u64(seed);
    let mut world = World::new(mutant);
    play(&mut world, &mut dice);
    (breaches(&world), world)
}

#[test]
fn a_million_histories_keep_the_promises() {
    if let Some(seed) = std::env::var("MODEL_SEED").ok().and_then(|seed| seed.parse().ok()) {
        let (found, world) = history(seed, Mutant::None);
        assert!(found.is_empty(), "{found:?}\n{world:#?}");
        return;
    }
    let threads = thread::available_parallelism().map_or(1, usize::from) as u64;
    let each = HISTORIES / threads;
    let runs: Vec<_> = (0..threads)
        .map(|nth| {
            thread::spawn(move || {
                let (mut sold, mut refunded, mut surplus) = (0_u64, 0_u64, 0_u64);
                for seed in nth * each..(nth + 1) * each {
                    let (found, world) = history(seed, Mutant::None);
                    assert!(found.is_empty(), "MODEL_SEED={seed}: {found:?}");
                    sold += u64::from(!world.tickets.is_empty());
                    let back = world.payments.iter().filter(|payment| payment.refund_owed_or_made()).count();
                    refunded += u64::from(back > 0);
                    surplus += u64::from(back > 0 && !world.tickets.is_empty());
                }
                (sold, refunded, surplus)
            })
        })
        .collect();
    let (mut sold, mut refunded, mut surplus) = (0, 0, 0);
    for run in runs {
        let done = run.join().unwrap();
        (sold, refunded, surplus) = (sold + done.0, refunded + done.1, surplus + done.2);
    }
    println!("{HISTORIES} histories: {sold} with tickets, {refunded} with refunds, {surplus} with both");
    // Or the dice would have met nothing worth checking.
    assert!(sold > HISTORIES / 10 && refunded > HISTORIES / 100 && surplus > HISTORIES / 1000);
}

fn is_caught(mutant: Mutant, by: &str) {
    let caught = (0..MUTANT_HISTORIES).find(|seed| history(*seed, mutant).0.iter().any(|found| found.contains(by)));
    println!("{mutant:?} is caught by history {caught:?}: {by}");
    assert!(caught.is_some(), "{mutant:?} lives");
}

#[test]
fn without_a_recheck_after_the_wait_a_seat_is_promised_twice() {
    is_caught(Mutant::NoRecheck, "lost its seats");
}

#[test]
fn without_a_key_for_refunds_money_goes_back_twice() {
    is_caught(Mutant::NoUniqueRefund, "refunded more than was taken");
}

#[test]
fn without_asking_the_order_a_confirmation_sells_what_is_not_its_own() {
    is_caught(Mutant::ConfirmWithoutOrder, "sold twice");
}

#[test]
fn without_closing_its_key_a_late_charge_is_lost() {
    is_caught(Mutant::NoClosedKeys, "neither tickets nor a refund");
}
