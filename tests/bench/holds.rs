//! Winning holds of four seats a second: over HTTP, against the same statement with nothing around it, in turns.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::bare::{self, House, all_won};
use crate::cinema::{Cinema, SEATS, show_id};
use crate::http::{Answer, Connection, Load, load};
use crate::report::{Goal, Row};
use crate::rounds::{Spread, percentile};
use crate::server::{Server, TIRELESS};
use crate::{Options, Result};

/// Twice as many people as the server has connections to the database.
pub const CLIENTS: usize = 32;
/// An opening: everybody wants the same show. Larger than any hall, so that there is time to measure.
const ONE_SHOW: House = House { shows: 1, seats: 30_000 };

/// At most so long.
const SELL_OUT: Duration = Duration::from_secs(10);

/// The shares, with what they are shares of.
pub async fn measure(cinema: &Cinema, options: &Options) -> Result<Vec<Row>> {
    let (rounds, duration) = options.rounds();
    // So many that no place is wanted twice within a round.
    let many = House { shows: if options.quick { 400 } else { 1000 }, seats: SEATS };
    let mut rows = compare(cinema, many, 0..=rounds, duration, "").await?;
    // Of the others a quick look has no first round, the one that counts for nothing.
    let fewer = usize::from(options.quick)..=rounds.div_ceil(2);
    rows.extend(opening(cinema, fewer.clone()).await?);
    // The slower the disk, the easier it is to keep up with it: this shows what the server itself costs.
    cinema.run("alter database matinee set synchronous_commit = off").await?;
    rows.extend(compare(cinema, many, fewer, duration, ", without waiting for the disk").await?);
    cinema.run("alter database matinee reset synchronous_commit").await?;
    Ok(rows)
}

/// Rounds of pgbench, known visitors, strangers and the bare driver, at many shows.
async fn compare(
    cinema: &Cinema,
    house: House,
    rounds: RangeInclusive<usize>,
    duration: Duration,
    how: &str,
) -> Result<Vec<Row>> {
    house.open(cinema).await?;
    let server = Server::start_with(cinema, TIRELESS).await?;
    let cookies: Arc<Vec<String>> = Arc::new(become_visitors(&server).await?);
    let (mut bare, mut driver, mut visitors, mut strangers) = (vec![], vec![], vec![], vec![]);
    let (mut p50, mut p99) = (vec![], vec![]);
    for round in rounds {
        // The first round warms everything up and counts for nothing.
        let duration = if round == 0 { Duration::from_secs(1) } else { duration };
        house.open(cinema).await?;
        let bare_rate = bare::pgbench(cinema, house, Some(duration)).await?;
        house.open(cinema).await?;
        let mut known = visitors_hold(cinema, &server, house, duration, &cookies).await?;
        house.open(cinema).await?;
        let unknown = strangers_hold(cinema, &server, house, duration).await?;
        house.open(cinema).await?;
        let driver_rate = bare::sqlx(cinema, house, duration).await?;
        if round > 0 {
            bare.push(bare_rate);
            driver.push(driver_rate);
            visitors.push(known.rate());
            strangers.push(unknown.rate());
            p50.push(percentile(&mut known.times, 0.5));
            p99.push(percentile(&mut known.times, 0.99));
        }
    }
    server.stop(cinema).await?;

    let row = |who: &str, rates: &[f64]| Row::new(format!("{who}{how}"), with_share(rates, &bare));
    let (p50, p99) = (Spread::of(&p50).show("ms"), Spread::of(&p99).show("ms"));
    Ok(vec![
        Row::spread(format!("Winning holds of 4 seats, pgbench, 16 connections{how}"), Spread::of(&bare), "a second"),
        row("Winning holds of 4 seats over HTTP, 32 visitors", &visitors).judged(
            share(&visitors, &bare).median,
            Goal::Above(45.0, 65.0),
            "%",
        ),
        Row::new(format!("Time of such a hold over HTTP{how}"), format!("p50 {p50}, p99 {p99}")),
        row("Winning holds over HTTP, a new visitor each", &strangers),
        row("The statement through sqlx, 16 connections, no HTTP", &driver),
    ])
}

/// Everybody at one show, each a stranger, until it is sold out.
async fn opening(cinema: &Cinema, rounds: RangeInclusive<usize>) -> Result<Vec<Row>> {
    ONE_SHOW.open(cinema).await?;
    let server = Server::start_with(cinema, TIRELESS).await?;
    let (mut bare, mut over_http) = (vec![], vec![]);
    for round in rounds {
        ONE_SHOW.open(cinema).await?;
        let bare_rate = bare::pgbench(cinema, ONE_SHOW, None).await?;
        ONE_SHOW.open(cinema).await?;
        let strangers = strangers_hold(cinema, &server, ONE_SHOW, SELL_OUT).await?;
        if round > 0 {
            bare.push(bare_rate);
            over_http.push(strangers.rate());
        }
    }
    server.stop(cinema).await?;
    Ok(vec![
        Row::spread(
            "All at one show: winning holds of 4 seats, pgbench, 16 connections",
            Spread::of(&bare),
            "a second",
        ),
        Row::new("All at one show: over HTTP, a new visitor each", with_share(&over_http, &bare)),
    ])
}

fn share(rates: &[f64], bare: &[f64]) -> Spread {
    Spread::of(&rates.iter().zip(bare).map(|(rate, bare)| 100.0 * rate / bare).collect::<Vec<_>>())
}

fn with_share(rates: &[f64], bare: &[f64]) -> String {
    format!("{}; {} of pgbench's", Spread::of(rates).show("a second"), share(rates, bare).show("%"))
}

/// Each client holds once, at a show of its own, and keeps the cookie that it is given.
pub async fn become_visitors(server: &Server) -> Result<Vec<String>> {
    let mut connection = Connection::open(server.address).await?;
    let mut cookies = Vec::with_capacity(CLIENTS);
    for client in 0..CLIENTS {
        let request = connection.post("/api/hold_seats", "", &form(client, 1));
        let answer = connection.ask(&request).await?;
        let cookie = answer.header("set-cookie").and_then(|cookie| cookie.split(';').next());
        let cookie = cookie.ok_or_else(|| format!("a first hold got no cookie: {}", answer.status))?;
        cookies.push(format!("cookie: {cookie}\r\n"));
    }
    Ok(cookies)
}

async fn visitors_hold(
    cinema: &Cinema,
    server: &Server,
    house: House,
    duration: Duration,
    cookies: &Arc<Vec<String>>,
) -> Result<Load> {
    let cookies = Arc::clone(cookies);
    let request = move |connection: &Connection, client: usize, nth: usize| {
        // A visitor comes to a show at most twice, since ten seats are the limit: each time to a place of its own.
        let (visit, step) = (nth / house.shows, nth % house.shows);
        let form = form((step * 77 + client * 31) % house.shows, (client * 2 + visit) * 4 + 1);
        (visit < 2).then(|| connection.post("/api/hold_seats", &cookies[client], &form))
    };
    let load = load(server.address, CLIENTS, duration, request, is_held).await?;
    all_won(cinema, load.times.len()).await?;
    Ok(load)
}

/// Everybody a stranger, each at a place of its own; asks the database whether all of it is so.
pub async fn strangers_hold(cinema: &Cinema, server: &Server, house: House, duration: Duration) -> Result<Load> {
    let request = move |connection: &Connection, client: usize, nth: usize| {
        let (show, first) = house.place(nth * CLIENTS + client)?;
        Some(connection.post("/api/hold_seats", "", &form(show, first)))
    };
    let load = load(server.address, CLIENTS, duration, request, is_held).await?;
    all_won(cinema, load.times.len()).await?;
    Ok(load)
}

/// The form of a hold of four seats.
pub fn form(show: usize, first: usize) -> String {
    let (show, attempt) = (show_id(show), Uuid::new_v4());
    let [a, b, c, d] = [first, first + 1, first + 2, first + 3];
    format!("show={show}&seats%5B%5D={a}&seats%5B%5D={b}&seats%5B%5D={c}&seats%5B%5D={d}&attempt={attempt}")
}

/// Whether it was redirected to the payment page, in the way of those who asked for JSON.
pub fn is_held(answer: &Answer<'_>) -> bool {
    answer.status < 400 && answer.header("location").is_some_and(|page| page.ends_with("/pay"))
}
