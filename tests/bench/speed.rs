//! What the README states about speed, measured: `make bench`, or `make bench ARGS=--quick` for a rough look.
//!
//! Everything runs on this machine and on databases of its own, over loopback and unix sockets, for a bounded time. What
//! is compared is measured in turns, round by round, because disks and neighbours change their mood within minutes.

mod bare;
mod bots;
mod cinema;
mod crowds;
mod holds;
mod http;
mod live;
mod lookup;
mod losers;
mod machine;
mod markup;
mod pages;
mod payments;
mod phone;
mod report;
mod rounds;
mod sale;
mod server;
mod statement;
#[path = "../support/trips.rs"]
mod trips;
mod weight;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};

use crate::report::{Report, Row};

/// Whatever goes wrong ends one part of the run with one line.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Measures Matinee.
#[derive(Debug, Clone, Parser)]
struct Options {
    /// A rough look within a minute: fewer and shorter rounds, no ten million rows.
    #[arg(long)]
    quick: bool,
    /// Also fill ten million seat rows in a quick run.
    #[arg(long, conflicts_with = "no_big")]
    big: bool,
    /// Leave the ten million seat rows out.
    #[arg(long)]
    no_big: bool,
    /// Only these parts.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
    /// Added by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Parts of the run, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Weight,
    Statement,
    Holds,
    Sale,
    Payments,
    Crowds,
    Losers,
    Bots,
    Live,
    Pages,
    Markup,
    Phone,
}

impl Options {
    fn big(&self) -> bool {
        !self.no_big && (self.big || !self.quick)
    }

    fn has(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }

    /// How many rounds, and how long each takes.
    fn rounds(&self) -> (usize, Duration) {
        if self.quick { (1, Duration::from_secs(1)) } else { (5, Duration::from_secs(3)) }
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    let outcome = runtime.block_on(async {
        tokio::select! {
            outcome = run(&options) => outcome,
            // Dropping the run stops its databases and servers and removes their folders.
            _ = tokio::signal::ctrl_c() => Err("interrupted".into()),
        }
    });
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => failed(&error),
    }
}

fn failed(error: &dyn std::fmt::Display) -> ExitCode {
    eprintln!("speed: {error}");
    ExitCode::FAILURE
}

/// Runs the parts; `false` when one of them could not be measured.
async fn run(options: &Options) -> Result<bool> {
    let start = Instant::now();
    let before = machine::load();
    let cinema = cinema::Cinema::open("speed").await?;
    let mut report = Report::new(machine::describe(&cinema, before).await?, options.quick);
    if options.has(Part::Weight) {
        report.add("weight", part(start, "what a browser downloads", async { weight::measure() }).await);
    }
    if options.has(Part::Statement) {
        report.add("statement", part(start, "the hold's statement", statement::measure(&cinema, options)).await);
    }
    if options.has(Part::Holds) {
        report.add("holds", part(start, "holds a second", holds::measure(&cinema, options)).await);
    }
    if options.has(Part::Sale) {
        report.add("sale", part(start, "a payment's statements", sale::measure(&cinema, options)).await);
    }
    if options.has(Part::Payments) {
        report.add("payments", part(start, "payments a second", payments::measure(&cinema, options)).await);
    }
    if options.has(Part::Crowds) {
        report.add("crowds", part(start, "whole sales", crowds::measure(&cinema, options)).await);
    }
    if options.has(Part::Losers) {
        report.add("losers", part(start, "losers and lookers", losers::measure(&cinema, options)).await);
    }
    if options.has(Part::Bots) {
        report.add("bots", part(start, "a storm of bots", bots::measure(&cinema, options)).await);
    }
    if options.has(Part::Live) {
        report.add("live", part(start, "the live map", live::measure(&cinema, options)).await);
    }
    if options.has(Part::Pages) {
        report.add("pages", part(start, "pages", pages::measure(&cinema, options)).await);
    }
    if options.has(Part::Markup) {
        report.add("markup", part(start, "pages by hand", markup::measure(&cinema, options)).await);
    }
    if options.has(Part::Phone) {
        report.add("phone", part(start, "a phone", phone::measure(&cinema, options)).await);
    }
    cinema.close().await?;
    report.add_duration(start.elapsed());
    report.publish(options.only.is_empty() && !options.quick)?;
    Ok(report.is_complete())
}

async fn part(start: Instant, name: &str, measuring: impl Future<Output = Result<Vec<Row>>>) -> Result<Vec<Row>> {
    eprintln!("[{:4} s] {name}", start.elapsed().as_secs());
    let rows = measuring.await;
    match &rows {
        Ok(rows) => rows.iter().for_each(|row| eprintln!("         {row}")),
        Err(error) => eprintln!("         not measured: {error}"),
    }
    rows
}
