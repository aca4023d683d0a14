//! `matinee rush --strategy`: its flags, and the run. The doc comments are text of `matinee rush --help`.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};

use super::advice::Advice;
use super::bench::{self, Bench, Trouble};
use super::crowd::{Contention, Crowd};
use super::page;
use super::redis_server::{MISSING, RedisServer};
use super::strategies::{Choice, Name};
use super::summary::Summary;
use super::trial::{self, Limit};
use crate::domain::seat::HoldWindow;
use crate::rush::command::Failure;
use crate::rush::figure::count;
use crate::rush::place::Place;

/// Holds of the laboratory last so long: the shortest window there is, so that holds lapse during a trial.
const WINDOW_S: i32 = 1;
/// What the list of attempts is made from when nothing else is said.
const SEED: u64 = 7;

/// What a run of the laboratory is made of.
#[derive(Debug, Clone, Args)]
pub struct Competition {
    /// Strategies of the laboratory to compare, with commas between; "all" is every one that has a chance or is famous.
    #[arg(long, value_name = "NAME|all", value_enum, value_delimiter = ',')]
    pub strategy: Vec<Choice>,

    /// How closely the visitors stand: many shows, one small show at a time, or first the one and then the other.
    #[arg(long, value_enum, default_value = "both", requires = "strategy")]
    pub contention: Density,

    /// How many rounds each strategy gets; all have had one before the next begins, so that a change of the machine's mood
    /// meets them all.
    #[arg(long, value_name = "ROUNDS", default_value_t = 2, requires = "strategy", value_parser = clap::value_parser!(u64).range(1..=20))]
    pub rounds: u64,

    /// How long each round of a strategy takes, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 2, requires = "strategy", value_parser = clap::value_parser!(u64).range(1..=600))]
    pub seconds: u64,

    /// Seats of the show that everybody wants under high contention.
    #[arg(long, value_name = "SEATS", default_value_t = 60, requires = "strategy", value_parser = clap::value_parser!(i16).range(1..=1000))]
    pub seats: i16,

    /// How many visitors act at the same time.
    #[arg(long, value_name = "CLIENTS", default_value_t = 32, requires = "strategy", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub clients: u16,

    /// Most connections to Postgres.
    #[arg(long, value_name = "CONNECTIONS", default_value_t = 16, requires = "strategy", value_parser = clap::value_parser!(u16).range(1..=90))]
    pub connections: u16,
}

/// Which contentions are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Density {
    /// Many shows of an ordinary hall.
    Low,
    /// One small show at a time.
    High,
    /// Low, then high.
    Both,
}

impl Competition {
    fn names(&self) -> Vec<Name> {
        let mut names: Vec<Name> = Vec::new();
        for choice in &self.strategy {
            let chosen: &[Name] = match choice {
                Choice::All => &Name::ALL,
                Choice::One(name) => &[*name],
            };
            for name in chosen {
                if !names.contains(name) {
                    names.push(*name);
                }
            }
        }
        names
    }

    fn contentions(&self) -> Vec<Contention> {
        // More than the quickest strategy comes to; the list of attempts ends with the last show.
        let shows = i32::try_from(self.seconds * 50).unwrap_or(i32::MAX);
        let (low, high) = (Contention::low(), Contention::high(self.seats, shows));
        match self.contention {
            Density::Low => vec![low],
            Density::High => vec![high],
            Density::Both => vec![low, high],
        }
    }
}

/// Lets the strategies of the flags compete; writes the report, and with `check` ends with an error when one came out
/// otherwise than it should.
///
/// # Errors
/// One clear line.
pub async fn run(
    flags: &Competition,
    seed: Option<u64>,
    report: Option<&Path>,
    check: bool,
    database: Option<&str>,
) -> Result<(), Failure> {
    let seed = seed.unwrap_or(SEED);
    let start = Instant::now();
    let place = Place::open(database).await?;
    let rushed = tokio::select! {
        rushed = measure(flags, seed, &place) => rushed,
        // Without this a private Postgres would outlive us.
        () = crate::server::stop_signal() => Err(Failure::Stopped),
    };
    let cleared = bench::drop_schema(&place.url).await;
    place.close().await?;
    let (summary, machine) = rushed?;
    cleared?;
    let lead = format!(
        "{machine} {} visitors at a time over {} connections, {} of {} s each, seed {}, holds of {WINDOW_S} s. Low contention: \
         {} shows of {} seats; high: one show of {} seats at a time. The run took {} s.",
        flags.clients,
        flags.connections,
        count(flags.rounds, "round"),
        flags.seconds,
        seed,
        Contention::low().shows,
        Contention::low().seats,
        flags.seats,
        start.elapsed().as_secs(),
    );
    let Advice { choice, reasons, remarks } = Advice::of(&summary);
    let advice: Vec<String> = choice.into_iter().chain(reasons).chain(remarks).collect();
    println!("{lead}\n{}\n{}", summary.tables(), advice.join("\n"));
    if let Some(file) = report {
        std::fs::write(file, page::html(&summary, lead))?;
        println!("\nThe report is in {}.", file.display());
    }
    let surprises = summary.surprises();
    if check && !surprises.is_empty() {
        return Err(Failure::Surprises(surprises.join("; ")));
    }
    Ok(())
}

async fn measure(flags: &Competition, seed: u64, place: &Place) -> Result<(Summary, String), Failure> {
    let machine = place.machine().await?;
    let (names, contentions) = (flags.names(), flags.contentions());
    let redis =
        if names.iter().any(|name| name.needs_redis()) { RedisServer::start().await?.map(Arc::new) } else { None };
    let mut summary = Summary::default();
    let (run, skipped): (Vec<Name>, Vec<Name>) =
        names.into_iter().partition(|name| !name.needs_redis() || redis.is_some());
    summary.skipped.extend(skipped.into_iter().map(|name| (name, MISSING.to_owned())));
    let window = HoldWindow::from_seconds(WINDOW_S).ok_or_else(|| Trouble::Missing("no such window".to_owned()))?;
    let limit = Limit { attempts: u64::MAX, time: Duration::from_secs(flags.seconds) };
    // Drawn on a terminal only.
    let progress = ProgressBar::new((run.len() * contentions.len()) as u64 * flags.rounds);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} [{elapsed}, {eta} to go]") {
        progress.set_style(style);
    }
    for contention in contentions {
        for round in 0..flags.rounds {
            for name in &run {
                progress.set_message(format!("{}, {} contention", name.text(), contention.name));
                let bench =
                    Bench::open(&place.url, flags.connections.into(), window, contention, redis.clone()).await?;
                let strategy = name.open(&bench).await?;
                let crowd = Crowd { seed: seed.wrapping_add(round), clients: flags.clients.into(), contention };
                summary.add(*name, contention.name, trial::run(bench, strategy, &crowd, limit).await?);
                progress.inc(1);
            }
        }
    }
    progress.finish_and_clear();
    Ok((summary, machine))
}
