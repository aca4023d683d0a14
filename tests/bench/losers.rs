//! Those who lose, and those who look: answered from memory in a crowd, against the same answered by the database.

use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::cinema::{Cinema, SEATS, show_id};
use crate::holds::{CLIENTS, form, is_held};
use crate::http::{Answer, Connection, Load, load};
use crate::report::{Goal, Row};
use crate::rounds::{Spread, percentile};
use crate::server::Server;
use crate::{Options, Result};

/// So many that asking them in turns makes no crowd at any of them.
const SHOWS: usize = 1000;
/// The seat that is given back again and again; nobody else asks for it.
const LAST_SEAT: usize = SEATS;
/// Between two tries of somebody who waits for a seat.
const TRIES_AGAIN: Duration = Duration::from_millis(5);
/// Reports of how many statements there were come a little later.
const COUNTED: Duration = Duration::from_millis(1500);

/// Losers and lookers of one show, and of as many shows as they are, in turns.
pub async fn measure(cinema: &Cinema, options: &Options) -> Result<Vec<Row>> {
    let (rounds, duration) = options.rounds();
    let rounds = rounds.min(3);
    cinema.fill(if options.quick { SHOWS / 2 } else { SHOWS }, SEATS).await?;
    let shows = if options.quick { SHOWS / 2 } else { SHOWS };
    cinema.run("update seats set status = 'booked', order_id = gen_random_uuid()").await?;
    cinema.run("vacuum analyze seats").await?;
    let share = Spread::of(&without_statements(cinema, rounds, duration).await?);
    let server = Server::start(cinema).await?;
    let (mut memory, mut sql, mut freed) = (vec![], vec![], vec![]);
    let mut maps: [[Vec<f64>; 2]; 2] = Default::default();
    for round in 0..=rounds {
        let duration = if round == 0 { Duration::from_secs(1) } else { duration };
        let one = lose(&server, duration, 1).await?;
        let many = lose(&server, duration, shows).await?;
        let mut looks = [[0.0; 2]; 2];
        for (nth, encoding) in ["accept-encoding: br\r\n", ""].into_iter().enumerate() {
            looks[nth] = [look(&server, duration, 1, encoding).await?, look(&server, duration, shows, encoding).await?];
        }
        if round > 0 {
            memory.push(one.rate());
            sql.push(many.rate());
            freed.extend(gives_back(cinema, &server, duration).await?);
            for (maps, looks) in maps.iter_mut().zip(looks) {
                maps[0].push(looks[0]);
                maps[1].push(looks[1]);
            }
        }
    }
    server.stop(cinema).await?;
    let times = ratio(&memory, &sql);
    let most = percentile(&mut freed, 1.0);
    let mut rows = vec![
        Row::spread("Losers on a sold-out show, answered without a statement", share, "%").judged(
            share.median,
            Goal::Above(90.0, 99.0),
            "%",
        ),
        Row::new(
            format!("Losers on one sold-out show / spread over {shows}, where each asks the database"),
            format!(
                "{}; {} and {}",
                times.show("times"),
                Spread::of(&memory).show("a second"),
                Spread::of(&sql).show("a second")
            ),
        )
        .judged(times.median, Goal::Above(3.0, 5.0), "times"),
        Row::new(
            "A released seat is bought again while losers storm the show, after the release’s answer",
            format!("p50 {:.0} ms, at most {most:.0} ms, of {} times", percentile(&mut freed, 0.5), freed.len()),
        )
        .judged(most, Goal::Below(1000.0, 250.0), "ms"),
    ];
    for (how, [one, many]) in ["compressed", "not compressed"].into_iter().zip(&maps) {
        let times = ratio(one, many);
        let figure = format!("Maps of {SEATS} seats as JSON, {how}: one show / {shows} shows, each read row by row");
        let (one, many) = (Spread::of(one).show("a second"), Spread::of(many).show("a second"));
        let row = Row::new(figure, format!("{}; {one} and {many}", times.show("times")));
        rows.push(row.judged(times.median, Goal::Above(5.0, 10.0), "times"));
    }
    Ok(rows)
}

fn ratio(over: &[f64], under: &[f64]) -> Spread {
    Spread::of(&over.iter().zip(under).map(|(over, under)| over / under).collect::<Vec<_>>())
}

/// Of losers on one show, the share that was answered without a statement, in percent: all that a server asks the database
/// while they storm it is counted against them, its start and its snapshots too.
async fn without_statements(cinema: &Cinema, rounds: usize, duration: Duration) -> Result<Vec<f64>> {
    // Each statement of the server is a transaction. They are counted when their connection ends.
    let counted = "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()";
    let mut shares = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let before = cinema.number(counted).await?;
        let server = Server::start(cinema).await?;
        let losers = lose(&server, duration, 1).await?.times.len();
        server.stop(cinema).await?;
        tokio::time::sleep(COUNTED).await;
        let asked = cinema.number(counted).await? - before;
        shares.push(100.0 * (1.0 - asked as f64 / losers as f64));
    }
    Ok(shares)
}

/// Strangers ask for seats that are sold, at so many shows in turns, as pages do: a program would be offered other seats, which
/// takes a map.
async fn lose(server: &Server, duration: Duration, shows: usize) -> Result<Load> {
    let request = move |connection: &Connection, client: usize, nth: usize| {
        let form = form((nth * CLIENTS + client) % shows, (client * 4) % (SEATS - 8) + 1);
        Some(connection.post_from_page("/api/hold_seats", &form))
    };
    // Back to the page, with the error.
    let has_lost = |answer: &Answer<'_>| answer.header("location").is_some_and(|page| page.contains("__err"));
    load(server.address, CLIENTS, duration, request, has_lost).await
}

/// Maps a second, of so many shows in turns.
async fn look(server: &Server, duration: Duration, shows: usize, encoding: &'static str) -> Result<f64> {
    let request = move |connection: &Connection, client: usize, nth: usize| {
        Some(connection.get(&format!("/shows/{}/seats", show_id((nth * CLIENTS + client) % shows)), encoding))
    };
    let is_map = |answer: &Answer<'_>| answer.status == 200 && answer.body.len() > 1000;
    Ok(load(server.address, CLIENTS, duration, request, is_map).await?.rate())
}

/// While losers storm a show, somebody gives its one held seat back, and somebody else who asks for it again and again gets
/// it: after how many milliseconds, each time.
async fn gives_back(cinema: &Cinema, server: &Server, duration: Duration) -> Result<Vec<f64>> {
    cinema
        .run(&format!(
            "update seats set status = 'available', locked_at = null, order_id = null
             where show_id = '{}' and seat_no = {LAST_SEAT}",
            show_id(0)
        ))
        .await?;
    let storm = lose(server, duration, 1);
    let passing = async {
        let mut connection = Connection::open(server.address).await?;
        let mut times = Vec::new();
        let (mut cookie, mut order) = takes(&mut connection).await?;
        let start = Instant::now();
        while start.elapsed() + Duration::from_millis(500) < duration {
            let release = connection.post("/api/release_hold", &cookie, &format!("order={order}"));
            if connection.ask(&release).await?.status >= 400 {
                return Err("a release was refused".into());
            }
            let released = Instant::now();
            (cookie, order) = takes(&mut connection).await?;
            times.push(released.elapsed().as_secs_f64() * 1000.0);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Result::Ok(times)
    };
    let (stormed, times) = tokio::join!(storm, passing);
    stormed?;
    // Sold, as before.
    let seat = format!("show_id = '{}' and seat_no = {LAST_SEAT}", show_id(0));
    cinema
        .run(&format!(
            "update seats set status = 'booked', locked_at = null, order_id = gen_random_uuid() where {seat}"
        ))
        .await?;
    times
}

/// A stranger who asks until the seat is theirs: their cookie, and their order.
async fn takes(connection: &mut Connection) -> Result<(String, String)> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(5) {
        let form = format!("show={}&seats%5B%5D={LAST_SEAT}&attempt={}", show_id(0), Uuid::new_v4());
        let request = connection.post("/api/hold_seats", "", &form);
        let answer = connection.ask(&request).await?;
        if is_held(&answer) {
            let cookie = answer.header("set-cookie").and_then(|cookie| cookie.split(';').next());
            let order = answer.header("location").and_then(|page| page.split('/').nth_back(1));
            let (Some(cookie), Some(order)) = (cookie, order) else { return Err("a hold without a cookie".into()) };
            return Ok((format!("cookie: {cookie}\r\n"), order.to_owned()));
        }
        tokio::time::sleep(TRIES_AGAIN).await;
    }
    Err("a released seat was not to be had".into())
}
