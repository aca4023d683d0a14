//! What can be asked of the program. The doc comments are the text of `matinee --help`, read by a cinema's technician.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

use crate::domain::ids::{IncidentId, ShowId};

/// What a technician can ask of the program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Subcommand)]
pub enum Command {
    /// Serve the site until it is stopped with Ctrl-C or a TERM signal (the default).
    #[default]
    Serve,
    /// Bring the database's tables up to date, then end. Serving does this by itself.
    Migrate,
    /// Load the demo cinema, then end; run again, it adds the days that the week lacks. Some of it is sold, unless the card
    /// processor is another one (--gateway-url), whose books are not ours to write.
    Seed,
    /// Check on the live database that every promise was kept (no seat sold twice, no payment without tickets or
    /// refund, ...); name each breach and end with an error if there is one.
    Prove,
    /// Finish what a crash or a silent card processor left open: ask it about every open payment and make every refund
    /// that is owed, then end; with an error when it did not answer all. Serving does this by itself.
    Reconcile,
    /// List what nobody expected of the card processor (money in a wrong amount, money that is nobody's), with what it
    /// said, word for word; with --settle, note what came of one.
    Incidents(Incidents),
    /// Say when a show's sale opens, and how many who wait in its waiting room are let in a minute.
    Opening(Opening),
    /// Run the simulated card processor alone, as another company would; serve then names it with --gateway-url.
    Gateway,
}

/// What `matinee incidents` is asked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Incidents {
    /// List those that are settled, too.
    #[arg(long, conflicts_with = "settle")]
    pub all: bool,

    /// Settle this one, by the number that it is listed with. Done again, it changes nothing.
    #[arg(long, value_name = "NUMBER", requires = "note")]
    pub settle: Option<IncidentId>,

    /// What came of it, such as "given back by hand, reference 4711".
    #[arg(long, value_name = "TEXT", requires = "settle", value_parser = NonEmptyStringValueParser::new())]
    pub note: Option<String>,

    /// Who settles it. Absent: the name of the account.
    #[arg(long, value_name = "NAME", env = "USER", default_value = "somebody", value_parser = NonEmptyStringValueParser::new())]
    pub by: String,
}

/// What `matinee opening` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Opening {
    /// The show, by the id in its address.
    pub show: ShowId,

    /// When its sale opens, by the cinema's clock: "2026-12-24 19:00".
    #[arg(long, value_name = "DATE TIME", required_unless_present = "now")]
    pub at: Option<String>,

    /// Its sale is open, without a waiting room.
    #[arg(long, conflicts_with_all = ["at", "per_minute"])]
    pub now: bool,

    /// How many are let in a minute. Absent: all at once, there is no waiting room.
    #[arg(long, value_name = "PEOPLE", value_parser = clap::value_parser!(i32).range(1..=1_000_000))]
    pub per_minute: Option<i32>,
}
