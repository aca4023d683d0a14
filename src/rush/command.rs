//! The command `matinee rush`: its flags, and what it does with them. The doc comments are the text of its `--help`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};

use super::figure::count;
use super::laboratory::advice::Advice;
use super::laboratory::bench::{self, Bench, Trouble};
use super::laboratory::crowd::{Contention, Crowd};
use super::laboratory::page;
use super::laboratory::redis_server::{MISSING, RedisServer};
use super::laboratory::strategies::{Choice, Name};
use super::laboratory::summary::Summary;
use super::laboratory::trial::{self, Limit};
use super::place::Place;
use crate::domain::seat::HoldWindow;
use crate::server::embedded::EmbeddedError;

/// Holds of the laboratory last so long: the shortest window there is, so that holds lapse during a trial.
const WINDOW_S: i32 = 1;

/// What a rush is made of.
#[derive(Debug, Clone, Args)]
pub struct Flags {
    /// Strategies of the laboratory to compare, with commas between; "all" is every one that has a chance or is famous.
    #[arg(long, value_name = "NAME|all", value_enum, value_delimiter = ',', required = true)]
    pub strategy: Vec<Choice>,

    /// How closely the visitors stand: many shows, one small show at a time, or first the one and then the other.
    #[arg(long, value_enum, default_value = "both")]
    pub contention: Density,

    /// How many rounds each strategy gets; all have had one before the next begins, so that a change of the machine's mood
    /// meets them all.
    #[arg(long, value_name = "ROUNDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=20))]
    pub rounds: u64,

    /// How long each round of a strategy takes, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub seconds: u64,

    /// Seats of the show that everybody wants under high contention.
    #[arg(long, value_name = "SEATS", default_value_t = 60, value_parser = clap::value_parser!(i16).range(1..=1000))]
    pub seats: i16,

    /// How many visitors act at the same time.
    #[arg(long, value_name = "CLIENTS", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub clients: u16,

    /// Most connections to Postgres.
    #[arg(long, value_name = "CONNECTIONS", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=90))]
    pub connections: u16,

    /// What the crowd's list of attempts is made from: the same seed, the same list.
    #[arg(long, value_name = "NUMBER", default_value_t = 7)]
    pub seed: u64,

    /// Where to write the report with its charts, as one HTML file.
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,

    /// End with an error when a strategy that is meant to be right was not, or one that is meant to fail was not caught.
    #[arg(long)]
    pub check: bool,
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

/// Why the rush ends with an error: one clear line.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The private Postgres.
    #[error("{0}")]
    Embedded(#[from] EmbeddedError),
    /// The database.
    #[error("the database cannot be used: {0}")]
    Database(#[from] sqlx::Error),
    /// A bench.
    #[error("{0}")]
    Trouble(#[from] Trouble),
    /// Somebody else's database.
    #[error(
        "this database is not empty: the rush wants one of its own. Unset DATABASE_URL to use a private one, or drop the \
         schema laboratory if a rush that was killed has left it."
    )]
    NotEmpty,
    /// Ctrl-C.
    #[error("stopped")]
    Stopped,
    /// The report, or a folder.
    #[error("{0}")]
    System(#[from] std::io::Error),
    /// With `--check`.
    #[error("not as it should be: {0}")]
    Surprises(String),
}

impl Flags {
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

/// Does what the flags say; `database` is the one to use instead of a private Postgres.
///
/// # Errors
/// One clear line.
pub async fn run(flags: &Flags, database: Option<&str>) -> Result<(), Failure> {
    let start = Instant::now();
    let place = Place::open(database).await?;
    let rushed = tokio::select! {
        rushed = measure(flags, &place) => rushed,
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
        flags.seed,
        Contention::low().shows,
        Contention::low().seats,
        flags.seats,
        start.elapsed().as_secs(),
    );
    let Advice { choice, reasons, remarks } = Advice::of(&summary);
    let advice: Vec<String> = choice.into_iter().chain(reasons).chain(remarks).collect();
    println!("{lead}\n{}\n{}", summary.tables(), advice.join("\n"));
    if let Some(file) = &flags.report {
        std::fs::write(file, page::html(&summary, lead))?;
        println!("\nThe report is in {}.", file.display());
    }
    let surprises = summary.surprises();
    if flags.check && !surprises.is_empty() {
        return Err(Failure::Surprises(surprises.join("; ")));
    }
    Ok(())
}

async fn measure(flags: &Flags, place: &Place) -> Result<(Summary, String), Failure> {
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
                let crowd = Crowd { seed: flags.seed.wrapping_add(round), clients: flags.clients.into(), contention };
                summary.add(*name, contention.name, trial::run(bench, strategy, &crowd, limit).await?);
                progress.inc(1);
            }
        }
    }
    progress.finish_and_clear();
    Ok((summary, machine))
}
