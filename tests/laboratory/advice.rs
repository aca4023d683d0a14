//! What is advised follows from the figures of a run, and turns with them.

use std::time::Duration;

use hdrhistogram::Histogram;
use matinee::domain::ids::OrderId;
use matinee::rush::laboratory::advice::Advice;
use matinee::rush::laboratory::checker::Fault;
use matinee::rush::laboratory::summary::Summary;
use matinee::rush::laboratory::{Name, Trial};
use uuid::Uuid;

/// A round of one second with so many attempts, each answered within so many milliseconds.
fn trial(attempts: u64, ms: u64) -> Trial {
    let mut times = Histogram::new_with_max(120_000_000, 3).unwrap();
    times.record_n(ms * 1000, attempts).unwrap();
    Trial {
        took: Duration::from_secs(1),
        attempts,
        rates: vec![attempts as f64],
        won: attempts,
        lost: 0,
        failed: 0,
        sold: 0,
        retries: 0,
        deadlocks: 0,
        connections: 1,
        redis_connections: 0,
        times,
        faults: vec![],
        first_error: None,
    }
}

fn summary(rates: &[(Name, u64, u64)]) -> Summary {
    let mut summary = Summary::default();
    for (name, low, high) in rates {
        summary.add(*name, "low", trial(*low, 2));
        summary.add(*name, "high", trial(*high, 5));
    }
    summary
}

fn choice(rates: &[(Name, u64, u64)]) -> String {
    Advice::of(&summary(rates)).choice.unwrap_or_default()
}

#[test]
fn the_quickest_of_both_is_chosen_whichever_it_is() {
    let ours = [(Name::Conditional, 1000, 1000), (Name::Unique, 500, 500)];
    assert!(choice(&ours).contains("servers: conditional; the next, unique, comes to 50.0 %"), "{}", choice(&ours));
    let theirs = [(Name::Conditional, 500, 100), (Name::Unique, 1000, 1000)];
    assert!(choice(&theirs).contains("servers: unique; the next, conditional, comes to 22.4 %"), "{}", choice(&theirs));
    let near = [(Name::Conditional, 1000, 1000), (Name::Unique, 950, 950)];
    assert!(choice(&near).contains("servers: conditional, or as well unique"), "{}", choice(&near));
}

#[test]
fn what_needs_one_server_is_wrong_or_loses_its_data_is_never_the_choice() {
    let rates = [
        (Name::Conditional, 10, 10),
        (Name::Queue, 1000, 1000),
        (Name::ProcessMutexOnTwoServers, 1000, 1000),
        (Name::RedisCas, 1000, 1000),
        (Name::Counter, 1000, 1000),
    ];
    assert!(choice(&rates).contains("servers: conditional."), "{}", choice(&rates));
    let mut broken = summary(&[(Name::Conditional, 10, 10), (Name::Unique, 1000, 1000)]);
    broken.results.last_mut().unwrap().trial.faults.push(Fault::Stolen(OrderId(Uuid::nil())));
    assert!(Advice::of(&broken).choice.unwrap().contains("servers: conditional."), "it broke its word in this run");
    assert_eq!(broken.surprises(), ["unique is meant to be right and broke its word 1 times"]);
}

#[test]
fn rounds_that_differ_make_differences_small() {
    let mut summary = summary(&[(Name::Conditional, 1000, 1000), (Name::Unique, 700, 700)]);
    assert_eq!(summary.steadiness(), None);
    for (name, rate) in [(Name::Conditional, 500), (Name::Unique, 350)] {
        summary.add(name, "low", trial(rate, 2));
        summary.add(name, "high", trial(rate, 5));
    }
    assert_eq!(summary.steadiness(), Some(0.5));
    let advice = Advice::of(&summary);
    assert!(advice.choice.unwrap().contains("conditional, or as well unique"));
    assert!(advice.reasons.concat().contains("50.0 % of its quickest"));
}
