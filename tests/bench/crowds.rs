//! Whole sales by the crowd of `matinee rush`, over HTTP on the release binary: an opening sale all at once, a thousand people
//! who want one seat, and a sale that goes on to the last seat.

use std::path::Path;

use indicatif::ProgressBar;
use matinee::rush::crowd::record::Kind;
use matinee::rush::crowd::{Outcome, Scenario, play};

use crate::cinema::Cinema;
use crate::report::{Goal, Row};
use crate::rounds::{Spread, number};
use crate::{Options, Result};

/// The sales, with how long each took.
pub async fn measure(cinema: &Cinema, options: &Options) -> Result<Vec<Row>> {
    let rounds = if options.quick { 1 } else { 3 };
    let mut opening = Scenario::find("opening-sale")?;
    // All attempts at the same instant, and nothing else: what the machine makes of them.
    opening.people.arrive_s = 0.0;
    opening.people.pick_s = (0.0, 0.0);
    (opening.people.opens_page, opening.people.opens_map) = (0.0, 0.0);
    // So that no seat is held a second time.
    opening.show.hold_window_s = 900;
    opening.holders.goes_back = 0.0;
    opening.stage.connections = 64;
    opening.stage.watchers = 0;
    let sales = play_often(cinema, &opening, rounds).await?;
    let once = Scenario::find("one-seat")?;
    let seat = play_often(cinema, &once, rounds).await?;
    let last = play_often(cinema, &Scenario::find("last-seat")?, 1).await?;

    let answered = |outcome: &Outcome| outcome.kept.last_attempt.as_secs_f64();
    let took = Spread::of(&sales.iter().map(answered).collect::<Vec<_>>());
    let rate = Spread::of(&sales.iter().map(Outcome::attempts_a_second).collect::<Vec<_>>());
    let held: Vec<usize> =
        sales.iter().map(|outcome| outcome.kept.grants.iter().map(|grant| grant.seats.len()).sum()).collect();
    let seats = usize::from(opening.show.seats);
    if held.iter().any(|held| *held != seats) {
        return Err(format!("of {seats} seats of the opening sale {held:?} were held").into());
    }
    let one = Spread::of(&seat.iter().map(answered).collect::<Vec<_>>());
    let (sold, sellable) = (last[0].end.sold as f64, f64::from(last[0].scenario.show.seats));
    Ok(vec![
        Row::new(
            format!(
                "Opening sale over HTTP: {} attempts of {} people at {seats} seats, all answered",
                number(opening.people.number.into()),
                number(opening.people.number.into())
            ),
            format!("{}; {}; each seat held once, nothing failed", took.show("s"), rate.show("attempts a second")),
        )
        .judged(took.median, Goal::Below(20.0, 10.0), "s"),
        Row::new(
            "1,000 people at one seat over HTTP, a connection each, all answered",
            format!("{}; one holds it", one.show("s")),
        )
        .judged(one.median, Goal::Below(2.0, 0.7), "s"),
        Row::new(
            "Seats sold / sellable when enough people ask, three in ten never pay",
            format!(
                "{:.3} ({sold:.0} of {sellable:.0}, after {:.1} s; holds last {} s)",
                sold / sellable,
                last[0].took.as_secs_f64(),
                last[0].scenario.show.hold_window_s
            ),
        )
        .judged(sold / sellable, Goal::Above(1.0, 1.0), ""),
    ])
}

/// Plays a scenario in databases of its own, and asks whether every promise was kept: a quick sale that sells twice is no
/// figure.
async fn play_often(cinema: &Cinema, scenario: &Scenario, rounds: usize) -> Result<Vec<Outcome>> {
    let program = Path::new(env!("CARGO_BIN_EXE_matinee"));
    let mut outcomes = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        cinema.run("drop database if exists rush").await?;
        cinema.run("create database rush template template0").await?;
        let outcome = play(scenario.clone(), program, &cinema.url_of("rush"), &ProgressBar::hidden()).await?;
        if let Some(fault) = outcome.faults.first() {
            return Err(format!("{} promises broken; the first: {fault}", outcome.faults.len()).into());
        }
        if outcome.count(Kind::Held) + outcome.count(Kind::Lost) < u64::from(scenario.people.number) {
            return Err("somebody was not answered".into());
        }
        outcomes.push(outcome);
        cinema.run("drop database rush").await?;
    }
    Ok(outcomes)
}
