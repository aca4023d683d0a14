//! The figures of a run, for people.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use uuid::Uuid;

use crate::ledger::phases;
use crate::plan::Plan;
use crate::site::Site;
use crate::support::verdict::{Breach, Check, Ledger};

/// How long things took.
pub struct Times {
    pub crowd: Duration,
    pub quiet: Duration,
    pub last_quiet: Duration,
}

pub fn print(site: &Site, plan: &Plan, ledger: &Ledger<Uuid>, found: &[Breach], times: &Times) {
    let counts = &site.counts;
    let phases = phases(ledger);
    let of = |phase: &str| phases.get(phase).copied().unwrap_or_default();
    let refunds = ledger.payments.iter().filter(|payment| payment.refunded > 0).count();
    let told = site.history.all().len();
    let n = |counter: &AtomicUsize| counter.load(Relaxed);
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    let processes = site.servers.iter().chain([&site.gateway]);
    let slowest = processes.map(|process| process.slowest_start.load(Relaxed)).max().unwrap_or_default();
    let rows = [
        ("seed", plan.seed.to_string()),
        ("people", plan.people.len().to_string()),
        ("orders", ledger.orders.len().to_string()),
        ("  sold", format!("{} ({} tickets)", of("sold"), ledger.tickets.len())),
        ("  refunded", of("refunded").to_string()),
        ("  released", of("released").to_string()),
        ("  lapsed", of("held").to_string()),
        ("payments", format!("{} ({refunds} refunded)", ledger.payments.len())),
        ("mails", ledger.mails.len().to_string()),
        ("kill -9 of a server", n(&counts.server_kills).to_string()),
        ("kill -9 of the card processor", n(&counts.gateway_kills).to_string()),
        ("immediate restarts of Postgres", n(&counts.postgres_crashes).to_string()),
        ("wires cut", n(&counts.cuts).to_string()),
        ("silences of the card processor", n(&counts.silences).to_string()),
        ("slowest start of a killed process", seconds(Duration::from_millis(slowest))),
        ("holds that lapsed during a payment", n(&counts.expired).to_string()),
        ("webhooks heard, and refused", format!("{}, {}", n(&counts.heard), n(&counts.refused))),
        ("webhooks delivered, of them repeats", format!("{}, {}", n(&counts.delivered), n(&counts.repeated))),
        ("webhooks too late or changed, not believed", n(&counts.disbelieved).to_string()),
        ("payment forms sent, of them twice at once", format!("{}, {}", n(&counts.payments_sent), n(&counts.doubled))),
        ("answers that visitors lost", n(&counts.lost).to_string()),
        ("answers \"not available right now\"", n(&counts.unavailable).to_string()),
        ("requests sent again", n(&counts.retries).to_string()),
        ("the crowd took", seconds(times.crowd)),
        ("quiet came after", seconds(times.quiet)),
        ("quiet after a server was gone for good", seconds(times.last_quiet)),
        ("things that visitors were told, checked", told.to_string()),
    ];
    println!();
    for (name, value) in rows {
        println!("{name:<46} {value}");
    }
    for check in Check::ALL {
        println!(
            "{:<46} {}",
            format!("{}:", check.words()),
            found.iter().filter(|breach| breach.check == check).count()
        );
    }
}
