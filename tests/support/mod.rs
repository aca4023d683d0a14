//! A cinema for one test: a private Postgres, a box office on it, and the words to tell a story with. Every story ends
//! with [`Cinema::proves`].

#![allow(dead_code, unused_imports, reason = "each test binary tells other stories")]

pub mod clock;
mod distance;
pub mod gateway;
mod look;
pub mod pause;
pub mod rush;
pub mod server;
pub mod smtp;
mod speech;
pub mod trips;
pub mod verdict;
mod visitor;
pub mod wires;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::{TimeDelta, Utc};
use matinee::box_office::gateway::http::HttpGateway;
use matinee::box_office::{self, BoxOffice};
use matinee::domain::cinema::Cinema as CinemaRow;
use matinee::domain::ids::{PlanId, ShowId};
use matinee::domain::plan::Plan;
use matinee::domain::seat::HoldWindow;
use matinee::domain::show::Film;
use matinee::store::setup::{self, NewShow};
use matinee::store::{cinemas, pool};
use sqlx::Connection;
use sqlx::postgres::{PgConnection, PgPool, PgPoolOptions};
use tokio::sync::Mutex;
use uuid::Uuid;

pub use look::Books;
use server::Server;
pub use visitor::*;

/// The window of most shows.
pub const QUARTER_HOUR_S: i32 = 900;
/// Price of a seat where it does not matter, in cents.
pub const PRICE: i64 = 1250;
/// What the card processor knows us by.
pub const GATEWAY_KEY: &str = "key of the test";
/// How long a test waits for what must come at once; only a failing test ever waits so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// A cinema that nobody else uses.
#[derive(Debug)]
pub struct Cinema {
    /// Where the story's visitors buy.
    pub office: Arc<BoxOffice>,
    /// The test's own connections: for looking and for breaking things, without the product's time limits.
    pub db: PgPool,
    /// Its card processor: the simulated one, on a port of its own.
    pub gateway: HttpGateway,
    /// That port.
    pub gateway_at: SocketAddr,
    proven: AtomicBool,
    database: String,
    server: Arc<Server>,
}

impl Cinema {
    /// A cinema without shows, which takes money through the simulated gateway.
    pub async fn open() -> Self {
        Self::open_with(&[]).await
    }

    /// The same on a server with further settings.
    pub async fn open_with(settings: &[(&str, &str)]) -> Self {
        Self::on(Arc::new(Server::start(settings).await), "matinee".to_owned()).await
    }

    /// Another cinema in a database of its own on the same server, for tests that need several.
    pub async fn next_door(&self) -> Self {
        let database = self.server.another_database().await;
        Self::on(Arc::clone(&self.server), database).await
    }

    async fn on(server: Arc<Server>, database: String) -> Self {
        let url = server.url_of(&database);
        let db = own_connections(&url).await;
        cinemas::create(&db, &here(), &[7; 64]).await.unwrap();
        let (gateway, gateway_at) = gateway_on(&url).await;
        let office = office_on(&url, &gateway);
        Self { office, db, gateway, gateway_at, proven: AtomicBool::new(false), database, server }
    }

    /// Makes the test's own connections anew, so that they follow changed settings of the database.
    pub async fn reconnect(&mut self) {
        self.db.close().await;
        self.db = own_connections(&self.url()).await;
    }

    /// Where another program finds the database.
    pub fn url(&self) -> String {
        self.server.url_of(&self.database)
    }

    /// Another database on the same server.
    pub fn url_of(&self, database: &str) -> String {
        self.server.url_of(database)
    }

    /// Ends Postgres where it stands and starts it again, as after a crash.
    pub async fn crash_postgres(&self) {
        self.server.restart_immediately().await;
    }

    /// Another server on the same database, with connections and memory of its own.
    pub fn another_office(&self) -> Arc<BoxOffice> {
        office_on(&self.url(), &self.gateway)
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

    /// Runs statements of the test's own.
    pub async fn sql(&self, statements: &'static str) {
        sqlx::raw_sql(statements).execute(&self.db).await.unwrap();
    }

    /// Waits until so many connections wait for a lock.
    pub async fn until_waiting(&self, connections: i64) {
        until("connections wait for a lock", || async { self.waiting().await >= connections }).await;
    }

    /// How many connections wait for a lock now.
    pub async fn waiting(&self) -> i64 {
        sqlx::query_scalar("select count(*) from pg_stat_activity where wait_event_type = 'Lock'")
            .fetch_one(&self.db)
            .await
            .unwrap()
    }

    /// Closes all connections that the story used and waits until the server has seen the last of them: only then are its
    /// counters complete.
    pub async fn ends(&mut self, others: &[Arc<BoxOffice>]) {
        for office in others.iter().chain([&self.office]) {
            office.pool.close().await;
            office.snapshots.close().await;
        }
        self.db.close().await;
        let last = Mutex::new(PgConnection::connect(&self.url()).await.unwrap());
        until("the connections are gone", || async {
            let others: i64 = sqlx::query_scalar(
                "select count(*) from pg_stat_activity
                 where backend_type = 'client backend' and datname = current_database() and pid <> pg_backend_pid()
                   and application_name <> 'matinee gateway'",
            )
            .fetch_one(&mut *last.lock().await)
            .await
            .unwrap();
            others == 0
        })
        .await;
        self.reconnect().await;
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

/// A plan of one zone with so many places, twenty a row.
pub fn layout_of(seats: usize) -> String {
    let rows =
        (0..seats).step_by(20).map(|first| format!("row {} | {}\n", first / 20 + 1, "s".repeat(20.min(seats - first))));
    rows.fold("zone s Stalls\n".to_owned(), |layout, row| layout + &row)
}

/// The card processor with its books in this database, spoken to over HTTP as always. It sends no messages: stories that
/// want some tell them.
async fn gateway_on(url: &str) -> (HttpGateway, SocketAddr) {
    let settings = matinee::gateway::Settings {
        pool: matinee::gateway::connect(url).unwrap(),
        api_keys: vec![GATEWAY_KEY.to_owned()],
        webhook_secrets: vec![],
        webhook_url: None,
        public_url: "http://gateway.example".to_owned(),
        merchant: "The Meridian".to_owned(),
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = matinee::gateway::router(settings);
    tokio::spawn(async move { axum::serve(listener, service).await });
    (HttpGateway::new(&format!("http://{address}"), GATEWAY_KEY, "http://cinema.example").unwrap(), address)
}

/// A server's box office. All servers of a cinema have the same secret.
fn office_on(url: &str, gateway: &HttpGateway) -> Arc<BoxOffice> {
    let mut office = BoxOffice::new(pool::connect(url).unwrap(), here(), Arc::new(gateway.clone()));
    office.secret = [7; 32];
    Arc::new(office)
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
