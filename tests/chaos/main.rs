//! The live crash test. A crowd buys with every test card while servers and the card processor are killed, Postgres is
//! restarted immediately, wires are cut or fall silent, and webhooks come shuffled, late and several times. Then all must come
//! to rest by itself, and everybody's books are compared: `matinee prove`, and the checker that the model of the saga
//! (`tests/model`) is judged by, fed with plain SQL, the card processor's books, the mails, and what visitors were told.
//!
//! As part of the tests it is short: a few people, each fault at least once, and rows made older instead of waiting.
//! `make chaos` runs it with hundreds of people, in real time. It prints its seed; `MATINEE_CHAOS_SEED` asks for the same plan
//! again, though never for the same interleaving.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop right there and say where"
)]

#[path = "../support/mod.rs"]
mod support;

mod breaches;
mod client;
mod faults;
mod history;
mod last;
mod ledger;
mod link;
mod page;
mod person;
mod plan;
mod process;
mod quiet;
mod report;
mod shuffler;
mod site;
mod time;

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use tokio::time::{Instant, sleep_until};

use person::Person;
use plan::{Plan, SERVERS};
use report::Times;
use site::Site;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_buys_while_everything_fails() {
    let plan = Plan::from_environment();
    println!("MATINEE_CHAOS_SEED={}: {} people, {} faults", plan.seed, plan.people.len(), plan.faults.len());
    let site = Site::open(&plan).await;

    let start = Instant::now();
    let people = plan.people.iter().enumerate().map(|(nth, at)| {
        let (mut person, at) = (Person::new(&site, &plan, nth), start + *at);
        async move {
            sleep_until(at).await;
            person.comes().await;
            person
        }
    });
    let (people, ()) = tokio::join!(support::all_at_once(people.collect::<Vec<_>>()), faults::happen(&site, &plan));
    let crowd = start.elapsed();

    let quiet = quiet::comes(&site, &plan).await;
    let idle_since = Instant::now();
    site.shuffler.tells_everything_again().await;
    quiet::comes(&site, &plan).await;
    for mut person in people {
        person.looks_back().await;
    }
    last::comes(&site, idle_since).await;
    let last_quiet = quiet::comes(&site, &plan).await;

    let ledger = ledger::read(&site).await;
    let found = ledger.breaches();
    report::print(&site, &plan, &ledger, &found, &Times { crowd, quiet, last_quiet });
    assert!(found.is_empty(), "seed {}: {found:#?}", plan.seed);
    let faults: Vec<_> = site.servers.iter().flat_map(|server| server.logged("ERROR")).take(20).collect();
    assert_eq!(site.history.odd(), Vec::<String>::new(), "seed {}: odd answers; servers say {faults:#?}", plan.seed);
    every_fault_happened(&site);
    prove(&site);
    site.cinema.proves().await;
}

/// Or the run would have shown little.
fn every_fault_happened(site: &Site) {
    let counts = &site.counts;
    let happened: [(&str, &AtomicUsize, usize); 9] = [
        ("kills of servers", &counts.server_kills, SERVERS),
        ("kills of the card processor", &counts.gateway_kills, 1),
        ("restarts of Postgres", &counts.postgres_crashes, 1),
        ("cuts", &counts.cuts, 4),
        ("silences", &counts.silences, 1),
        ("refused webhooks", &counts.refused, 1),
        ("repeated webhooks", &counts.repeated, 1),
        ("disbelieved webhooks", &counts.disbelieved, 1),
        ("lost answers", &counts.lost, 1),
    ];
    for (what, counter, least) in happened {
        assert!(counter.load(Relaxed) >= least, "too few {what}: {counter:?}");
    }
    assert_eq!(counts.believed.load(Relaxed), 0, "webhooks that were too late or changed, and believed");
}

/// As an operator would.
fn prove(site: &Arc<Site>) {
    let proof = Command::new(env!("CARGO_BIN_EXE_matinee")).arg("prove").args(site.flags()).output().unwrap();
    let said = String::from_utf8_lossy(&proof.stdout).into_owned();
    println!("matinee prove: {said}");
    assert!(proof.status.success(), "{said}");
}
