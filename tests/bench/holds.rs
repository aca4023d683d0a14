//! Winning holds of four seats a second: over HTTP, against the same statement with nothing around it, in turns.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use matinee::store::pool::CONNECTIONS;
use sqlx::Row as _;
use uuid::Uuid;

use crate::cinema::{Cinema, SEATS, show_id};
use crate::http::{Answer, Connection, Load, load};
use crate::report::{Goal, Row};
use crate::rounds::{Spread, percentile};
use crate::server::Server;
use crate::statement::HOLD;
use crate::{Options, Result};

/// Of four seats each.
const PLACES_A_SHOW: usize = SEATS / 4;
/// Twice as many people as the server has connections to the database.
const CLIENTS: usize = 32;

/// The shares, with what they are shares of.
pub async fn measure(cinema: &Cinema, options: &Options) -> Result<Vec<Row>> {
    let (rounds, duration) = options.rounds();
    // Enough that nobody meets a taken seat within a round.
    let shows = if options.quick { 400 } else { 1000 };
    std::fs::write(script(cinema), pgbench_script(shows))?;
    let mut rows = compare(cinema, shows, rounds, duration, "").await?;
    // The slower the disk, the easier it is to keep up with it: this shows what the server itself costs.
    cinema.run("alter database matinee set synchronous_commit = off").await?;
    rows.extend(compare(cinema, shows, rounds.div_ceil(2), duration, ", without waiting for the disk").await?);
    cinema.run("alter database matinee reset synchronous_commit").await?;
    Ok(rows)
}

/// Rounds of pgbench, known visitors, strangers and the bare driver.
async fn compare(cinema: &Cinema, shows: usize, rounds: usize, duration: Duration, how: &str) -> Result<Vec<Row>> {
    cinema.fill(shows, SEATS).await?;
    let server = Server::start(cinema).await?;
    let cookies: Arc<Vec<String>> = Arc::new(become_visitors(&server).await?);
    let (mut bare, mut driver, mut visitors, mut strangers) = (vec![], vec![], vec![], vec![]);
    let (mut p50, mut p99) = (vec![], vec![]);
    for round in 0..=rounds {
        // The first round warms everything up and counts for nothing.
        let duration = if round == 0 { Duration::from_secs(1) } else { duration };
        cinema.fill(shows, SEATS).await?;
        let bare_rate = pgbench(cinema, duration).await?;
        cinema.fill(shows, SEATS).await?;
        let mut known = over_http(cinema, &server, shows, duration, Some(&cookies)).await?;
        cinema.fill(shows, SEATS).await?;
        let unknown = over_http(cinema, &server, shows, duration, None).await?;
        cinema.fill(shows, SEATS).await?;
        let driver_rate = through_sqlx(cinema, shows, duration).await?;
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

    let share = |rates: &[f64]| {
        Spread::of(&rates.iter().zip(&bare).map(|(rate, bare)| 100.0 * rate / bare).collect::<Vec<_>>())
    };
    let [visitors_share, strangers_share, driver_share] = [share(&visitors), share(&strangers), share(&driver)];
    let row = |who: &str, rates: &[f64], share: Spread| {
        let measured = format!("{}; {} of pgbench's", Spread::of(rates).show("a second"), share.show("%"));
        Row::new(format!("{who}{how}"), measured)
    };
    let (p50, p99) = (Spread::of(&p50).show("ms"), Spread::of(&p99).show("ms"));
    Ok(vec![
        Row::spread(format!("Winning holds of 4 seats, pgbench, 16 connections{how}"), Spread::of(&bare), "a second"),
        row("Winning holds of 4 seats over HTTP, 32 visitors", &visitors, visitors_share).judged(
            visitors_share.median,
            Goal::Above(45.0, 65.0),
            "%",
        ),
        Row::new(format!("Time of such a hold over HTTP{how}"), format!("p50 {p50}, p99 {p99}")),
        row("Winning holds over HTTP, a new visitor each", &strangers, strangers_share),
        row("The statement through sqlx, 16 connections, no HTTP", &driver, driver_share),
    ])
}

fn script(cinema: &Cinema) -> PathBuf {
    cinema.folder().join("hold.pgbench")
}

/// The product's statement, word for word, prepared once a connection. The ids of a show and of an order are put
/// together from a number of twelve digits, since pgbench knows only numbers; each place is held once.
fn pgbench_script(shows: usize) -> String {
    format!(
        "\\if :prepared = 0\n\
         prepare hold (uuid, smallint[], uuid, uuid, bigint) as\n{HOLD};\n\
         \\set prepared 1\n\\endif\n\
         \\set n :n + 1\n\
         \\set place permute(:n * {CONNECTIONS} + :client_id, {places}, 4711)\n\
         \\set show 100000000000 + :place / {PLACES_A_SHOW}\n\
         \\set order 200000000000 + :place\n\
         \\set visitor 300000000000 + :place\n\
         \\set a (:place % {PLACES_A_SHOW}) * 4 + 1\n\\set b :a + 1\n\\set c :a + 2\n\\set d :a + 3\n\
         execute hold ('00000000-0000-4000-8000-:show', '{{:a,:b,:c,:d}}', '00000000-0000-4000-8000-:visitor', \
         '00000000-0000-4000-8000-:order', 10);\n",
        places = shows * PLACES_A_SHOW,
    )
}

async fn pgbench(cinema: &Cinema, duration: Duration) -> Result<f64> {
    let connections = CONNECTIONS.to_string();
    let output = tokio::process::Command::new(cinema.program("pgbench"))
        .args(["-n", "-M", "simple", "-D", "n=-1", "-D", "prepared=0", "-j", "2", "-c", &connections])
        .args(["-T", &duration.as_secs().to_string(), "-f"])
        .arg(script(cinema))
        .arg(cinema.url())
        .env("PGOPTIONS", "-c plan_cache_mode=force_generic_plan")
        .kill_on_drop(true)
        .output()
        .await?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let after = |label: &str| said.lines().find_map(|line| line.trim().strip_prefix(label)).map(str::trim);
    let first = |text: &str| text.split([' ', '/']).next().and_then(|number| number.parse::<f64>().ok());
    let rate = after("tps =").and_then(first);
    let holds = after("number of transactions actually processed:").and_then(first);
    let (Some(rate), Some(holds)) = (rate, holds) else {
        return Err(format!("pgbench: {}", String::from_utf8_lossy(&output.stderr)).into());
    };
    verified(cinema, holds as usize).await?;
    Ok(rate)
}

/// Every hold that was counted is in the database.
async fn verified(cinema: &Cinema, holds: usize) -> Result<()> {
    let orders = cinema.held().await?;
    let seats = cinema.number("select count(*) from seats where status = 'locked'").await?;
    if (orders, seats) == (i64::try_from(holds)?, orders * 4) {
        Ok(())
    } else {
        Err(format!("{holds} holds were counted, but there are {orders} orders and {seats} held seats").into())
    }
}

/// Each client holds once, at a show of its own, and keeps the cookie that it is given.
async fn become_visitors(server: &Server) -> Result<Vec<String>> {
    let mut connection = Connection::open(server.address).await?;
    let mut cookies = Vec::with_capacity(CLIENTS);
    for client in 0..CLIENTS {
        let request = connection.post("/api/hold_seats", "", &form(&show_id(client), 1));
        let answer = connection.ask(&request).await?;
        let cookie = answer.header("set-cookie").and_then(|cookie| cookie.split(';').next());
        let cookie = cookie.ok_or_else(|| format!("a first hold got no cookie: {}", answer.status))?;
        cookies.push(format!("cookie: {cookie}\r\n"));
    }
    Ok(cookies)
}

async fn over_http(
    cinema: &Cinema,
    server: &Server,
    shows: usize,
    duration: Duration,
    cookies: Option<&Arc<Vec<String>>>,
) -> Result<Load> {
    let cookies = cookies.map(Arc::clone);
    let request = move |connection: &Connection, client: usize, nth: usize| {
        // A visitor comes to a show at most twice, since ten seats are the limit: each time to a place of its own.
        let (visit, step) = (nth / shows, nth % shows);
        let place = client * 2 + visit;
        let cookie = cookies.as_ref().map_or("", |cookies| &cookies[client]);
        let form = form(&show_id((step * 77 + client * 31) % shows), place * 4 + 1);
        (visit < 2).then(|| connection.post("/api/hold_seats", cookie, &form))
    };
    let load = load(server.address, CLIENTS, duration, request, is_held).await?;
    verified(cinema, load.times.len()).await?;
    Ok(load)
}

fn form(show: &str, first: usize) -> String {
    let attempt = Uuid::new_v4();
    let [a, b, c, d] = [first, first + 1, first + 2, first + 3];
    format!("show={show}&seats%5B%5D={a}&seats%5B%5D={b}&seats%5B%5D={c}&seats%5B%5D={d}&attempt={attempt}")
}

/// Redirected to the payment page, in the way of those who asked for JSON.
fn is_held(answer: &Answer<'_>) -> bool {
    answer.status < 400 && answer.header("location").is_some_and(|page| page.ends_with("/pay"))
}

/// The same statement by the same driver on as many connections, without the server around it.
async fn through_sqlx(cinema: &Cinema, shows: usize, duration: Duration) -> Result<f64> {
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(cinema.connect().await?);
    }
    let start = Instant::now();
    let tasks: Vec<_> = connections
        .into_iter()
        .enumerate()
        .map(|(client, mut connection)| {
            tokio::spawn(async move {
                let mut holds = 0;
                while start.elapsed() < duration && holds < 4 * shows {
                    let place = client * 4 + holds / shows;
                    let show = show_id((holds * 77 + client * 31) % shows).parse::<Uuid>()?;
                    let first = i16::try_from(place * 4 + 1)?;
                    let row = sqlx::query(HOLD)
                        .bind(show)
                        .bind(vec![first, first + 1, first + 2, first + 3])
                        .bind(Uuid::new_v4())
                        .bind(Uuid::new_v4())
                        .bind(10_i64)
                        .fetch_one(&mut connection)
                        .await?;
                    if !row.try_get::<bool, _>(0)? {
                        return Err("a hold lost".into());
                    }
                    holds += 1;
                }
                Result::Ok(holds)
            })
        })
        .collect();
    let mut holds = 0;
    for task in tasks {
        holds += task.await??;
    }
    let seconds = start.elapsed().as_secs_f64();
    verified(cinema, holds).await?;
    Ok(holds as f64 / seconds)
}
