//! `matinee opening`: when a show's sale opens.

use chrono::NaiveDateTime;
use sqlx::postgres::PgPool;

use super::commands::Opening as Asked;
use super::run::Failure;
use crate::box_office::queue;
use crate::domain::queue::Opening;
use crate::store::cinemas;

/// How a time is given: a minute on the cinema's clock.
const FORMAT: &str = "%Y-%m-%d %H:%M";

/// Sets the opening of a show, or takes it away.
pub async fn run(database: &PgPool, asked: &Asked) -> Result<(), Failure> {
    let (cinema, _) = cinemas::get(database).await?.ok_or(Failure::NoCinema)?;
    let opening = match &asked.at {
        None => None,
        Some(text) => {
            let local = NaiveDateTime::parse_from_str(text, FORMAT).ok();
            // An hour that comes twice in autumn is its first; one that spring leaves out does not come.
            let at = local.and_then(|local| cinema.instant(local)).ok_or_else(|| Failure::NoTime(text.clone()))?;
            Some(Opening { at, per_minute: asked.per_minute })
        }
    };
    if !queue::open(database, asked.show, opening).await.map_err(Failure::Stopped)? {
        return Err(Failure::NoShow(asked.show));
    }
    let words = match opening {
        None => "is on sale.".to_owned(),
        Some(Opening { at, per_minute: None }) => format!("goes on sale on {}.", cinema.date_time(at)),
        Some(Opening { at, per_minute: Some(people) }) => {
            format!("goes on sale on {}, {people} people a minute, out of a waiting room.", cinema.date_time(at))
        }
    };
    println!("Show {} {words}", asked.show);
    Ok(())
}
