//! A cinema for one test: a private Postgres, a box office on it, and the words to tell a story with. Every story ends
//! with [`Cinema::proves`].

#![allow(dead_code, reason = "each test binary tells other stories")]

pub mod clock;
pub mod gateway;
mod server;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use matinee::box_office::{self, BoxOffice};
use matinee::box_office::gateway::{Gateway, SimulatedGateway};
use matinee::domain::Error;
use matinee::domain::cinema::Cinema as CinemaRow;
use matinee::domain::hold::Selection;
use matinee::domain::ids::{Attempt, OrderId, PlanId, ShowId, VisitorId};
use matinee::domain::order::{Order, Standing};
use matinee::domain::payment::{Card, Payment};
use matinee::domain::plan::Plan;
use matinee::domain::seat::{HoldWindow, SeatNo};
use matinee::domain::show::{Film, SeatMap};
use matinee::store::setup::{self, NewShow};
use matinee::store::{cinemas, maps, orders, payments, pool, tickets};
use sqlx::postgres::{PgPool, PgPoolOptions};
use uuid::Uuid;

use gateway::ScriptedGateway;
use server::Server;

/// The window of most shows.
pub const QUARTER_HOUR_S: i32 = 900;
/// Price of a seat where it does not matter, in cents.
pub const PRICE: i64 = 1250;
/// How long a test waits for what must come at once; only a failing test ever waits so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// Test cards of the simulated gateway.
pub const GOOD_CARD: &str = "4242 4242 4242 4242";
pub const DECLINED_CARD: &str = "4000 0000 0000 0002";
pub const BREAKING_CARD: &str = "4000 0000 0000 0119";

/// A cinema that nobody else uses.
#[derive(Debug)]
pub struct Cinema {
    /// Where the story's visitors buy.
    pub office: Arc<BoxOffice>,
    /// The test's own connections: for looking and for breaking things, without the product's time limits.
    pub db: PgPool,
    proven: AtomicBool,
    server: Server,
}

impl Cinema {
    /// A cinema without shows, which takes money through the simulated gateway.
    pub async fn open() -> Self {
        Self::open_with(&[]).await
    }

    /// The same on a server with further settings.
    pub async fn open_with(settings: &[(&str, &str)]) -> Self {
        let server = Server::start(settings).await;
        let db = own_connections(&server.url()).await;
        cinemas::create(&db, &here(), &[7; 64]).await.unwrap();
        let pool = pool::connect(&server.url()).unwrap();
        let gateway = Arc::new(SimulatedGateway::new(pool.clone()));
        let office = Arc::new(BoxOffice::new(pool, here(), gateway));
        Self { office, db, proven: AtomicBool::new(false), server }
    }

    /// Makes the test's own connections anew, so that they follow changed settings of the database.
    pub async fn reconnect(&mut self) {
        self.db.close().await;
        self.db = own_connections(&self.url()).await;
    }

    /// Where another program finds the database.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Another server on the same database, with connections and memory of its own.
    pub fn another_office(&self) -> Arc<BoxOffice> {
        let pool = pool::connect(&self.url()).unwrap();
        let gateway = Arc::new(SimulatedGateway::new(pool.clone()));
        Arc::new(BoxOffice::new(pool, here(), gateway))
    }

    /// Another server on the same database, whose gateway does what the test says.
    pub fn scripted_office(&self) -> (Arc<BoxOffice>, Arc<ScriptedGateway>) {
        let pool = pool::connect(&self.url()).unwrap();
        let gateway = Arc::new(ScriptedGateway::new(pool.clone()));
        let office = BoxOffice::new(pool, here(), Arc::clone(&gateway) as Arc<dyn Gateway>);
        (Arc::new(office), gateway)
    }

    /// A show tomorrow in a hall of this layout; prices by zone in cents; how long a hold lasts in seconds.
    pub async fn show(&self, layout: &str, prices: &[i64], window_s: i32) -> ShowId {
        let plan = Plan::parse(layout).unwrap();
        let (id, film, hall) = (ShowId(Uuid::new_v4()), Uuid::new_v4(), Uuid::new_v4());
        let mut connection = self.db.acquire().await.unwrap();
        let plan_id = PlanId(Uuid::new_v4());
        setup::add_plan(&mut connection, plan_id, layout).await.unwrap();
        setup::add_hall(&mut connection, hall, "Lantern Room", plan_id).await.unwrap();
        setup::add_film(&mut connection, film, &a_film()).await.unwrap();
        let show = NewShow {
            id,
            film,
            hall,
            plan: plan_id,
            starts_at: Utc::now() + TimeDelta::days(1),
            sales_close_at: Utc::now() + TimeDelta::days(1) + TimeDelta::minutes(20),
            hold_window: HoldWindow::from_seconds(window_s).unwrap(),
            currency: "EUR".parse().unwrap(),
            zone_prices: prices.to_vec(),
        };
        assert!(setup::add_show(&mut connection, &show, &plan).await.unwrap());
        id
    }

    /// A show with this many seats of one zone and a window of a quarter of an hour.
    pub async fn show_of(&self, seats: usize) -> ShowId {
        self.show(&layout_of(seats), &[PRICE], QUARTER_HOUR_S).await
    }

    /// Somebody new at this cinema.
    pub fn visitor(&self) -> Visitor {
        Visitor::at(&self.office)
    }

    /// The order as it is in the database.
    pub async fn order(&self, order: OrderId) -> Order {
        orders::get(&self.db, order).await.unwrap().unwrap().0
    }

    /// Where the order stands now, by the database's clock.
    pub async fn standing(&self, order: OrderId) -> Standing {
        let (order, now) = orders::get(&self.office.pool, order).await.unwrap().unwrap();
        order.standing(now)
    }

    /// The order's payments, oldest first.
    pub async fn payments(&self, order: OrderId) -> Vec<Payment> {
        payments::of_order(&self.db, order).await.unwrap()
    }

    /// The seats that the order has tickets for.
    pub async fn ticketed(&self, order: OrderId) -> Vec<i16> {
        tickets::of_order(&self.db, order).await.unwrap().into_iter().map(|ticket| ticket.seat.0).collect()
    }

    /// The show's seats as a map shows them.
    pub async fn seats(&self, show: ShowId) -> SeatMap {
        maps::seat_map(&self.office.pool, &self.office.plans, show).await.unwrap().unwrap()
    }

    /// The numbers of the seats that everybody may pick now.
    pub async fn free(&self, show: ShowId) -> Vec<i16> {
        let map = self.seats(show).await;
        let is_free = |seat: &&matinee::domain::show::Seat| {
            map.show.hold_window.is_available(seat.status, seat.locked_at, map.now)
        };
        map.seats.iter().filter(is_free).map(|seat| seat.no.0).collect()
    }

    /// What the gateway's own books say about an order.
    pub async fn books(&self, order: OrderId) -> Books {
        let (captures, captured, refunded): (i64, i64, i64) = sqlx::query_as(
            "select count(*) filter (where captured),
                    coalesce(sum(c.amount_minor) filter (where captured), 0)::bigint,
                    coalesce(sum(c.amount_minor) filter (where refunded_at is not null), 0)::bigint
             from gateway.charges c join payments p on p.id = c.idempotency_key where p.order_id = $1",
        )
        .bind(order.0)
        .fetch_one(&self.db)
        .await
        .unwrap();
        Books { captures, captured, refunded }
    }

    /// Lets the order's hold lapse: as if its window and a little more had passed.
    pub async fn expire(&self, order: OrderId) {
        let window = self.order(order).await.hold_window;
        self.age(order, TimeDelta::seconds(i64::from(window.seconds()) + 1)).await;
    }

    /// As if this much time had passed for the order, its seats and its payments.
    pub async fn age(&self, order: OrderId, by: TimeDelta) {
        sqlx::query(
            "with aged as (
                 update orders set held_at = held_at - $2, locked_at = locked_at - $2, renewed_at = renewed_at - $2,
                                   state_at = state_at - $2
                 where id = $1
             ), paid as (
                 update payments set started_at = started_at - $2, settled_at = settled_at - $2 where order_id = $1
             )
             update seats set locked_at = locked_at - $2 where order_id = $1 and status = 'locked'",
        )
        .bind(order.0)
        .bind(sqlx::postgres::types::PgInterval::try_from(by.to_std().unwrap()).unwrap())
        .execute(&self.db)
        .await
        .unwrap();
    }

    /// Runs statements of the test's own.
    pub async fn sql(&self, statements: &'static str) {
        sqlx::raw_sql(statements).execute(&self.db).await.unwrap();
    }

    /// Waits until so many connections wait for a lock.
    pub async fn until_waiting(&self, connections: i64) {
        until("connections wait for a lock", || async {
            let waiting: i64 =
                sqlx::query_scalar("select count(*) from pg_stat_activity where wait_event_type = 'Lock'")
                    .fetch_one(&self.db)
                    .await
                    .unwrap();
            waiting >= connections
        })
        .await;
    }

    /// How the story ends: no promise is broken, nobody met a deadlock, and no statement had to be stopped by the guard
    /// of all-or-none.
    pub async fn proves(&self) {
        self.proven.store(true, Ordering::Relaxed);
        let breaches = box_office::prove(&self.another_office()).await.unwrap();
        assert!(breaches.is_empty(), "broken promises: {breaches:#?}");
        for trouble in ["deadlock detected", "all or none:"] {
            assert_eq!(self.server.logged(trouble), Vec::<String>::new(), "in the database's log");
        }
    }

    /// For the few stories that break a cinema to see whether somebody notices.
    pub fn is_broken_on_purpose(&self) {
        self.proven.store(true, Ordering::Relaxed);
    }
}

impl Drop for Cinema {
    fn drop(&mut self) {
        let proven = self.proven.load(Ordering::Relaxed) || std::thread::panicking();
        assert!(proven, "this test does not end with proves()");
    }
}

/// Money, by the gateway's own books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Books {
    /// How many charges took money.
    pub captures: i64,
    /// How much, in cents.
    pub captured: i64,
    /// How much was given back.
    pub refunded: i64,
}

impl Books {
    /// Nothing was taken.
    pub const EMPTY: Self = Self { captures: 0, captured: 0, refunded: 0 };

    /// Taken once and kept.
    pub const fn sold_for(cents: i64) -> Self {
        Self { captures: 1, captured: cents, refunded: 0 }
    }

    /// Taken once and given back.
    pub const fn refunded(cents: i64) -> Self {
        Self { captures: 1, captured: cents, refunded: cents }
    }
}

/// Somebody who buys, at one of the cinema's servers.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// Where.
    pub office: Arc<BoxOffice>,
    /// Who.
    pub id: VisitorId,
}

impl Visitor {
    /// Somebody new.
    pub fn at(office: &Arc<BoxOffice>) -> Self {
        Self { office: Arc::clone(office), id: VisitorId(Uuid::new_v4()) }
    }

    /// The same person, served by another server.
    pub fn goes_to(&self, office: &Arc<BoxOffice>) -> Self {
        Self { office: Arc::clone(office), id: self.id }
    }

    /// Sends the form once.
    pub async fn hold(&self, show: ShowId, seats: &[i16]) -> Result<OrderId, Error> {
        self.hold_as(an_attempt(), show, seats).await
    }

    /// Sends the form of this attempt.
    pub async fn hold_as(&self, attempt: Attempt, show: ShowId, seats: &[i16]) -> Result<OrderId, Error> {
        let selection = Selection::new(numbers(seats))?;
        box_office::hold(&self.office, self.id, show, selection, attempt).await
    }

    /// Gives seats back.
    pub async fn release(&self, order: OrderId) -> Result<ShowId, Error> {
        box_office::release(&self.office, self.id, order).await
    }

    /// Sends the payment form once.
    pub async fn pay(&self, order: OrderId, card: &str) -> Result<(), Error> {
        self.pay_as(an_attempt(), order, card).await
    }

    /// Sends the payment form of this attempt.
    pub async fn pay_as(&self, attempt: Attempt, order: OrderId, card: &str) -> Result<(), Error> {
        box_office::pay(&self.office, self.id, order, attempt, Card::parse(card)?).await
    }
}

/// Runs all of them at the same time, each in a task of its own; the results in order.
pub async fn all_at_once<T, F>(stories: impl IntoIterator<Item = F>) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let tasks: Vec<_> = stories.into_iter().map(tokio::spawn).collect();
    let mut results = Vec::with_capacity(tasks.len());
    for task in tasks {
        results.push(task.await.unwrap());
    }
    results
}

/// Waits until something is true that must become true at once.
pub async fn until<F: Future<Output = bool>>(what: &str, mut is_true: impl FnMut() -> F) {
    let start = Instant::now();
    while !is_true().await {
        assert!(start.elapsed() < PATIENCE, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A name for a try that was not used before.
pub fn an_attempt() -> Attempt {
    Attempt(Uuid::new_v4())
}

/// Seat numbers.
pub fn numbers(seats: &[i16]) -> Vec<SeatNo> {
    seats.iter().copied().map(SeatNo).collect()
}

/// A conflict that names these seats and keeps those.
pub fn taken(seats: &[i16], kept: &[i16]) -> Error {
    Error::SeatTaken { seats: numbers(seats), kept: numbers(kept) }
}

/// A plan of one zone with so many places, twenty a row.
pub fn layout_of(seats: usize) -> String {
    let rows = (0..seats).step_by(20).map(|first| format!("row {} | {}\n", first / 20 + 1, "s".repeat(20.min(seats - first))));
    rows.fold("zone s Stalls\n".to_owned(), |layout, row| layout + &row)
}

/// Whole microseconds, as the database keeps them.
pub fn micros(instant: DateTime<Utc>) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(instant.timestamp_micros()).unwrap()
}

async fn own_connections(url: &str) -> PgPool {
    PgPoolOptions::new().max_connections(20).connect(url).await.unwrap()
}

fn here() -> CinemaRow {
    CinemaRow { name: "The Meridian".to_owned(), zone: chrono_tz::Europe::Berlin }
}

fn a_film() -> Film {
    Film {
        title: "Paper Comet".to_owned(),
        poster: "paper-comet".to_owned(),
        runtime_min: 97,
        genre: "Family".to_owned(),
        rating: "6+".to_owned(),
        blurb: "A girl folds a comet out of homework.".to_owned(),
    }
}
