//! The command `matinee rush`: its flags, and what it does with them. The doc comments are the text of its `--help`.

use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::crowd::stage::StageError;
use super::crowd::{self, Outcome, Scenario};
use super::laboratory;
use super::laboratory::bench::Trouble;
use super::place::Place;
use crate::server::embedded::EmbeddedError;

/// What is played when nothing is named.
const FIRST: &str = "opening-sale";

/// What a rush is made of.
#[derive(Debug, Clone, Args)]
pub struct Flags {
    /// The crowd: a scenario in a TOML file, or one that comes with the program: opening-sale (200,000 people want 1,000 seats
    /// within a minute; the default), one-seat (1,000 people want one), last-seat (until every seat is sold, two servers).
    #[arg(value_name = "SCENARIO.toml", conflicts_with = "strategy")]
    pub scenario: Option<String>,

    /// Print the scenario instead of playing it: to change a copy.
    #[arg(long, conflicts_with = "strategy")]
    pub print: bool,

    /// What everything random is made from: the same seed, the same crowd with the same wishes. Absent: the scenario's own,
    /// or 7 in the laboratory.
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,

    /// Where to write the report with its charts, as one HTML file.
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,

    /// End with an error when a promise was broken; in the laboratory, when a strategy that is meant to be right was not, or
    /// one that is meant to fail was not caught.
    #[arg(long)]
    pub check: bool,

    /// The laboratory.
    #[command(flatten)]
    pub laboratory: laboratory::command::Competition,
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
    /// The stage of a crowd, or its servers.
    #[error("{0}")]
    Stage(#[from] StageError),
    /// A scenario.
    #[error("{0}")]
    Scenario(String),
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

/// Does what the flags say; `database` is the one to use instead of a private Postgres.
///
/// # Errors
/// One clear line.
pub async fn run(flags: &Flags, database: Option<&str>) -> Result<(), Failure> {
    if flags.laboratory.strategy.is_empty() {
        return play(flags, database).await;
    }
    laboratory::command::run(&flags.laboratory, flags.seed, flags.report.as_deref(), flags.check, database).await
}

async fn play(flags: &Flags, database: Option<&str>) -> Result<(), Failure> {
    let name = flags.scenario.as_deref().unwrap_or(FIRST);
    let mut scenario = Scenario::find(name).map_err(Failure::Scenario)?;
    if flags.print {
        print!("{}", Scenario::text(name).map_err(Failure::Scenario)?);
        return Ok(());
    }
    scenario.seed = flags.seed.unwrap_or(scenario.seed);
    let program = std::env::current_exe()?;
    let place = Place::open(database).await?;
    let played = tokio::select! {
        played = measure(scenario, &program, &place) => played,
        // Without this a private Postgres would outlive us.
        () = crate::server::stop_signal() => Err(Failure::Stopped),
    };
    let cleared = place.clear().await;
    place.close().await?;
    let (outcome, lead) = played?;
    cleared?;
    println!("{lead}\n\n{}\n\n{}\n", outcome.table(), outcome.sentences().join("\n"));
    println!("{}", outcome.verdict().join("\n"));
    if let Some(file) = &flags.report {
        std::fs::write(file, crowd::page::html(&outcome, lead))?;
        println!("\nThe report is in {}.", file.display());
    }
    if flags.check && !outcome.faults.is_empty() {
        return Err(Failure::Surprises(outcome.verdict().join(" ")));
    }
    Ok(())
}

async fn measure(scenario: Scenario, program: &Path, place: &Place) -> Result<(Outcome, String), Failure> {
    let lead = format!("{} {}", scenario.describe(), place.machine().await?);
    // Drawn on a terminal only.
    let progress = ProgressBar::new(scenario.people.number.into());
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent} % have left; {msg} [{elapsed}]") {
        progress.set_style(style);
    }
    let outcome = crowd::play(scenario, program, &place.url, &progress).await?;
    progress.finish_and_clear();
    Ok((outcome, lead))
}
