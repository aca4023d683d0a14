//! `matinee incidents`: what an operator sees of them.

use std::fmt::Write;

use sqlx::postgres::PgPool;

use super::commands::Incidents;
use super::run::Failure;
use crate::box_office;
use crate::domain::cinema::Cinema;
use crate::domain::ids::IncidentId;
use crate::domain::incident::{Incident, Source};
use crate::store::{cinemas, incidents};

/// Lists incidents, or settles one.
pub async fn run(database: &PgPool, asked: &Incidents) -> Result<(), Failure> {
    let (cinema, _) = cinemas::get(database).await?.ok_or(Failure::NoCinema)?;
    if let (Some(incident), Some(note)) = (asked.settle, &asked.note) {
        return settle(database, &cinema, incident, &asked.by, note).await;
    }
    let listed = incidents::list(database, asked.all).await?;
    for incident in &listed {
        println!("{}", words(&cinema, incident));
    }
    println!("{}", open_words(incidents::open(database).await?));
    Ok(())
}

/// One line in the log of a server that starts while incidents are open.
pub async fn warn_of_open(database: &PgPool) -> Result<(), Failure> {
    let open = incidents::open(database).await?;
    if open > 0 {
        tracing::warn!(open, "the card processor did what nobody expected: `matinee incidents` says what.");
    }
    Ok(())
}

async fn settle(database: &PgPool, cinema: &Cinema, incident: IncidentId, by: &str, note: &str) -> Result<(), Failure> {
    let settled = box_office::settle(database, incident, by, note).await.map_err(Failure::Stopped)?;
    let settled = settled.ok_or(Failure::NoIncident(incident))?;
    let at = cinema.date_time(settled.at);
    println!("#{incident} is settled since {at}, by {}: {}", in_line(&settled.by), in_line(&settled.note));
    if (settled.by.as_str(), settled.note.as_str()) != (by, note) {
        println!("That was noted before, and stays.");
    }
    Ok(())
}

fn open_words(open: i64) -> String {
    match open {
        0 => "No incident is open.".to_owned(),
        1 => "1 incident is open.".to_owned(),
        open => format!("{open} incidents are open."),
    }
}

fn words(cinema: &Cinema, incident: &Incident) -> String {
    let payment =
        incident.payment.map_or_else(|| "of no payment".to_owned(), |payment| format!("of payment {payment}"));
    let source = match incident.evidence.source {
        Source::Message => "its message, word for word",
        Source::Answer => "its answer, word for word",
        Source::Reading => "what was read in its words; these were not kept",
    };
    let mut text = format!(
        "#{} {} {} {}, charge {} {payment}\n    {source}: {}",
        incident.id,
        cinema.date_time(incident.at),
        incident.kind.as_str(),
        incident.amount,
        in_line(&incident.charge),
        in_line(&incident.evidence.text),
    );
    if let Some(settled) = &incident.settled {
        let at = cinema.date_time(settled.at);
        // Writing to a string cannot fail.
        let _written = write!(text, "\n    settled {at} by {}: {}", in_line(&settled.by), in_line(&settled.note));
    }
    text
}

/// Somebody else wrote it: it must neither move the terminal's cursor nor look like a line of ours.
fn in_line(text: &str) -> String {
    let plain = |letter: char| {
        !letter.is_control()
            && !matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().fold(String::with_capacity(text.len()), |mut line, letter| {
        match letter {
            letter if plain(letter) => line.push(letter),
            // As JSON and Rust write it.
            letter => line.extend(letter.escape_default()),
        }
        line
    })
}
