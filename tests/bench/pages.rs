//! How quickly pages come, and what a crowd on the first page costs the database.

use std::time::Duration;

use chrono::{TimeDelta, Utc};
use matinee::box_office::demo::{DemoHall, FILMS, HALLS, ZONE};
use matinee::domain::cinema::Cinema as CinemaRow;
use matinee::domain::ids::{PlanId, ShowId};
use matinee::domain::plan::Plan;
use matinee::domain::seat::HoldWindow;
use matinee::domain::show::Film;
use matinee::store::setup::{self, NewShow};
use uuid::Uuid;

use crate::cinema::Cinema;
use crate::http::{Answer, Connection, load};
use crate::report::{Goal, Row};
use crate::rounds::{Spread, number, percentile};
use crate::server::Server;
use crate::{Options, Result};

/// Shows of the week.
const SHOWS: usize = 250;
const DAYS: usize = 7;
/// Halls by plan: one small, five large, one very large.
const SCREENS: [usize; 7] = [1, 1, 0, 1, 2, 1, 1];
/// Views of the first page while the counting is watched.
const VIEWS: usize = 1000;
/// What browsers send.
const AS_BROWSERS: &str = "accept-encoding: gzip, deflate, br, zstd\r\n";

/// A page to ask for.
struct Page {
    name: String,
    path: String,
    encoding: &'static str,
    connections: usize,
}

/// The shows whose seat maps are looked at.
pub struct Shows {
    /// About three hundred seats.
    pub large: ShowOf,
    /// About twelve hundred.
    pub very_large: ShowOf,
}

/// A show and how many seats it has.
pub struct ShowOf {
    /// Its address.
    pub path: String,
    /// Its seats.
    pub seats: usize,
}

/// Times and rates of the pages.
pub async fn measure(cinema: &Cinema, options: &Options) -> Result<Vec<Row>> {
    let shows = open_week(cinema).await?;
    let mut rows = vec![count_the_counting(cinema, options).await?];
    let server = Server::start(cinema).await?;
    let mut pages = Vec::new();
    for show in [&shows.large, &shows.very_large] {
        for connections in [1, 32] {
            pages.push(Page {
                name: format!("Seat page, {} seats", show.seats),
                path: show.path.clone(),
                encoding: AS_BROWSERS,
                connections,
            });
        }
        pages.push(Page {
            name: format!("Seat page, {} seats, not compressed", show.seats),
            path: show.path.clone(),
            encoding: "",
            connections: 32,
        });
        for connections in [1, 32] {
            let path = format!("{}/seats", show.path);
            pages.push(Page {
                name: format!("Seats as JSON, {}", show.seats),
                path,
                encoding: AS_BROWSERS,
                connections,
            });
        }
    }
    for connections in [1, 32] {
        let name = format!("What’s on, a day of a week of {SHOWS} shows");
        pages.push(Page { name, path: "/".to_owned(), encoding: AS_BROWSERS, connections });
    }
    for show in [&shows.large, &shows.very_large] {
        check_seats(&server, show).await?;
    }

    let (rounds, duration) =
        if options.quick { (2, Duration::from_millis(500)) } else { (3, Duration::from_millis(1500)) };
    let mut figures: Vec<[Vec<f64>; 3]> = pages.iter().map(|_| Default::default()).collect();
    let mut sizes = vec![0; pages.len()];
    for round in 0..=rounds {
        for (page, (figures, size)) in pages.iter().zip(figures.iter_mut().zip(&mut sizes)) {
            // The first round warms everything up.
            let duration = if round == 0 { duration / 5 } else { duration };
            let (path, encoding) = (page.path.clone(), page.encoding);
            let request = move |connection: &Connection, _: usize, _: usize| Some(connection.get(&path, encoding));
            let mut load = load(server.address, page.connections, duration, request, is_ok).await?;
            if round > 0 {
                figures[2].push(load.rate());
                figures[0].push(percentile(&mut load.times, 0.5));
                figures[1].push(percentile(&mut load.times, 0.99));
            } else {
                *size = length(&server, page).await?;
            }
        }
    }
    server.stop(cinema).await?;
    for (page, (figures, size)) in pages.iter().zip(figures.iter().zip(&sizes)) {
        let [p50, p99, rate] = figures.each_ref().map(|figure| Spread::of(figure));
        let plural = if page.connections == 1 { "connection" } else { "connections" };
        rows.push(Row::new(
            format!("{}, {} {plural}", page.name, page.connections),
            format!(
                "p50 {}, p99 {}, {}, {} bytes each",
                p50.show("ms"),
                p99.show("ms"),
                rate.show("a second"),
                number(*size as f64)
            ),
        ));
    }
    Ok(rows)
}

fn is_ok(answer: &Answer<'_>) -> bool {
    answer.status == 200
}

async fn length(server: &Server, page: &Page) -> Result<usize> {
    let mut connection = Connection::open(server.address).await?;
    let request = connection.get(&page.path, page.encoding);
    Ok(connection.ask(&request).await?.body.len())
}

/// A page that is quick because it is empty is no figure.
async fn check_seats(server: &Server, show: &ShowOf) -> Result<()> {
    let mut connection = Connection::open(server.address).await?;
    for (path, mark) in
        [(show.path.clone(), "data-testid=\"seat-"), (format!("{}/seats", show.path), "\"price_minor\"")]
    {
        let request = connection.get(&path, "");
        let page = String::from_utf8_lossy(connection.ask(&request).await?.body).into_owned();
        let found = page.matches(mark).count();
        if found != show.seats {
            return Err(format!("{path} shows {found} seats of {}", show.seats).into());
        }
    }
    Ok(())
}

/// How often a thousand views of the first page, spread over some seconds, make the database count a day's seats.
async fn count_the_counting(cinema: &Cinema, options: &Options) -> Result<Row> {
    let seconds = if options.quick { 4 } else { 10 };
    let read = "select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) from pg_stat_user_tables where relname = 'seats'";
    let first_day = format!(
        "select count(*) from seats join shows on id = show_id where (starts_at at time zone '{ZONE}')::date =
         (select min((starts_at at time zone '{ZONE}')::date) from shows)"
    );
    let a_day = cinema.number(&first_day).await?;
    // Own reads are counted as late as everybody's.
    cinema.run("select pg_stat_force_next_flush()").await?;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let before = cinema.number(read).await?;
    let server = Server::start(cinema).await?;
    let mut connection = Connection::open(server.address).await?;
    let request = connection.get("/", AS_BROWSERS);
    let mut every = tokio::time::interval(Duration::from_secs(seconds) / VIEWS as u32);
    for _ in 0..VIEWS {
        every.tick().await;
        if !is_ok(&connection.ask(&request).await?) {
            return Err("the first page fails".into());
        }
    }
    drop(connection);
    server.stop(cinema).await?;
    let rows = cinema.number(read).await? - before;
    if rows < a_day {
        return Err(format!("the first page has read {rows} seats, but its day has {a_day}").into());
    }
    let counts = rows as f64 / a_day as f64;
    let figure = format!(
        "Counts of a day's seats in {VIEWS} views of what’s on, a view each {} ms",
        seconds * 1000 / VIEWS as u64
    );
    let measured =
        format!("{counts:.1} ({} seat rows read; the day has {})", number(rows as f64), number(a_day as f64));
    // A tenth of the views would still be far from each of them.
    Ok(Row::new(figure, measured).judged(counts, Goal::AtMost(VIEWS as f64 / 100.0), ""))
}

/// A week of shows from tomorrow on, four seats in ten sold and one in twenty held.
pub async fn open_week(cinema: &Cinema) -> Result<Shows> {
    cinema.run("truncate seats, orders, shows cascade").await?;
    let mut connection = cinema.db.acquire().await?;
    let mut films = Vec::new();
    for film in FILMS {
        let id = Uuid::new_v4();
        let row = Film {
            title: film.title.to_owned(),
            poster: film.poster.to_owned(),
            runtime_min: film.runtime_min,
            genre: film.genre.to_owned(),
            rating: film.rating.to_owned(),
            blurb: film.blurb.to_owned(),
        };
        setup::add_film(&mut connection, id, &row).await?;
        films.push(id);
    }
    let mut screens = Vec::new();
    for (number, hall) in SCREENS.iter().map(|hall| &HALLS[*hall]).enumerate() {
        let (id, plan) = (Uuid::new_v4(), PlanId(Uuid::new_v4()));
        setup::add_plan(&mut connection, plan, hall.plan).await?;
        setup::add_hall(&mut connection, id, &format!("Screen {}", number + 1), plan).await?;
        screens.push((id, plan, hall));
    }
    let cinema_row = CinemaRow { name: String::new(), zone: ZONE };
    let first_day = cinema_row.date(Utc::now());
    let mut shown: [Option<ShowOf>; 2] = [None, None];
    for number in 0..SHOWS {
        let (day, slot) = (number % DAYS, number / DAYS);
        let (hall, plan_id, demo) = screens[slot % screens.len()];
        let date = first_day.checked_add_days(chrono::Days::new(day as u64 + 1)).ok_or("the calendar ends")?;
        let starts_at = cinema_row.start_of(date) + TimeDelta::minutes(11 * 60 + slot as i64 * 20);
        let plan = Plan::parse(demo.plan).map_err(|error| error.to_string())?;
        let show = NewShow {
            id: ShowId(Uuid::new_v4()),
            film: films[number % films.len()],
            hall,
            plan: plan_id,
            starts_at,
            sales_close_at: starts_at + TimeDelta::minutes(20),
            hold_window: HoldWindow::from_seconds(900).ok_or("a window of no length")?,
            currency: "EUR".parse()?,
            zone_prices: demo.zone_prices.to_vec(),
        };
        setup::add_show(&mut connection, &show, &plan).await?;
        if let Some(wanted) = wanted(demo) {
            shown[wanted] = Some(ShowOf { path: format!("/shows/{}", show.id), seats: plan.places().len() });
        }
    }
    drop(connection);
    cinema
        .run(
            "update seats set status = case when dice < 0.4 then 'booked' else 'locked' end::seat_status,
                              locked_at = case when dice < 0.4 then null else clock_timestamp() end, order_id = gen_random_uuid()
             from (select show_id, seat_no, random() as dice from seats) thrown
             where seats.show_id = thrown.show_id and seats.seat_no = thrown.seat_no and dice < 0.45",
        )
        .await?;
    for table in ["seats", "shows"] {
        cinema.run(&format!("vacuum analyze {table}")).await?;
    }
    match shown {
        [Some(large), Some(very_large)] => Ok(Shows { large, very_large }),
        _ => Err("a hall without a show".into()),
    }
}

/// Which of the two sizes a hall has.
fn wanted(hall: &DemoHall) -> Option<usize> {
    HALLS.iter().position(|known| known.name == hall.name)?.checked_sub(1)
}
