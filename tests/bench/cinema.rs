//! A cinema to measure: a Postgres of its own on a real disk, with as many shows and seats as a figure needs.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use matinee::domain::cinema::Cinema as CinemaRow;
use matinee::domain::ids::PlanId;
use matinee::server::embedded::{EmbeddedError, Postgres};
use matinee::store::{cinemas, pool, setup};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions};
use tempfile::TempDir;
use uuid::Uuid;

use crate::Result;

/// Seats of a show, where nothing else is said.
pub const SEATS: usize = 300;

/// Shows are numbered from here, so that each number has twelve digits and fits into an id.
const FIRST_SHOW: usize = 100_000_000_000;

/// Orders from before. A cinema that has never sold would have its statements planned for an empty table.
const OLD_ORDERS: usize = 5000;

/// What a plain cinema's films, hall and plan are called.
const FIXTURE: Uuid = Uuid::from_u128(0x4000_8000_0000_0000_0000);

/// While ten million rows are filled nothing needs to survive a power cut, and nothing of it is logged.
const FILLING: &[(&str, &str)] = &[
    ("fsync", "off"),
    ("full_page_writes", "off"),
    ("wal_level", "minimal"),
    ("max_wal_senders", "0"),
    ("max_wal_size", "4GB"),
    ("maintenance_work_mem", "1GB"),
    ("autovacuum", "off"),
];

/// A database with a cinema in it.
#[derive(Debug)]
pub struct Cinema {
    /// The measuring side's own connections; the server has others.
    pub db: PgPool,
    // Dropped in this order: first the database stops, then its folder goes.
    postgres: Postgres,
    folder: TempDir,
}

impl Cinema {
    /// A cinema without shows, on a database as the product starts it.
    pub async fn open(name: &str) -> Result<Self> {
        let (postgres, folder) = start(name).await?;
        Self::on(postgres, folder).await
    }

    /// A cinema with so many shows: filled in a hurry, then started again as the product would.
    pub async fn filled(name: &str, shows: usize) -> Result<Self> {
        let (postgres, folder) = start(name).await?;
        postgres.stop().await?;
        let filling = Self::on(Postgres::start(folder.path(), FILLING).await?, folder).await?;
        filling.fill(shows, SEATS).await?;
        filling.run("checkpoint").await?;
        let Self { db, postgres, folder } = filling;
        db.close().await;
        postgres.stop().await?;
        // Or the system would write it to the disk while others wait for theirs to be flushed.
        std::process::Command::new("sync").arg("-f").arg(folder.path()).status()?;
        Self::on(Postgres::start(folder.path(), &[]).await?, folder).await
    }

    async fn on(postgres: Postgres, folder: TempDir) -> Result<Self> {
        pool::migrate(&postgres.url()).await?;
        let db = PgPoolOptions::new().max_connections(1).connect(&postgres.url()).await?;
        let row = CinemaRow { name: "The Meridian".to_owned(), zone: chrono_tz::Europe::Berlin };
        cinemas::create(&db, &row, Uuid::new_v4().as_bytes().repeat(4).as_slice()).await?;
        Ok(Self { db, postgres, folder })
    }

    /// Where the server finds the database.
    pub fn url(&self) -> String {
        self.postgres.url()
    }

    /// Where another database of the same server is found.
    pub fn url_of(&self, database: &str) -> String {
        self.url().replacen("///matinee?", &format!("///{database}?"), 1)
    }

    /// Where it and its neighbours keep their files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A program that came with the database.
    pub fn program(&self, name: &str) -> PathBuf {
        self.postgres.bin_dir().join(name)
    }

    /// What the server had to say.
    pub fn server_log(&self) -> String {
        let log = std::fs::read_to_string(self.folder().join("server.log")).unwrap_or_default();
        log.lines().last().unwrap_or("it said nothing").to_owned()
    }

    /// A connection that plans as the server's do.
    pub async fn connect(&self) -> Result<PgConnection> {
        let options = PgConnectOptions::from_str(&self.url())?.options(pool::SESSION);
        Ok(options.connect().await?)
    }

    /// Runs one statement.
    pub async fn run(&self, statement: &str) -> Result<()> {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&self.db).await?;
        Ok(())
    }

    /// A statement's only number.
    pub async fn number(&self, statement: &str) -> Result<i64> {
        Ok(sqlx::query_scalar(AssertSqlSafe(statement)).fetch_one(&self.db).await?)
    }

    /// Empties the cinema and gives it so many shows with so many free seats: each show's together and in order, the
    /// index made at the end, nothing left over from before.
    pub async fn fill(&self, shows: usize, seats: usize) -> Result<()> {
        let layout = layout(seats);
        let mut connection = self.db.acquire().await?;
        // A plan for each number of seats.
        let plan = PlanId(Uuid::from_u128(FIXTURE.as_u128() + seats as u128));
        setup::add_plan(&mut connection, plan, &layout).await?;
        setup::add_hall(&mut connection, FIXTURE, "Great Hall", plan).await?;
        drop(connection);
        self.run(&format!(
            "insert into films (id, title, poster, runtime_min, genre, rating, blurb)
             values ('{FIXTURE}', 'Paper Comet', 'paper-comet', 97, 'Family', '6+', '') on conflict do nothing"
        ))
        .await?;
        // Before the rows come, so that none of their pages must be logged whole when it is first changed.
        self.run("checkpoint").await?;
        let last = FIRST_SHOW + shows - 1;
        // One transaction: a table that was emptied in it needs no log when the cluster keeps little of one.
        self.run(&format!(
            "begin;
             truncate seats, orders, shows cascade;
             insert into shows (id, film_id, hall_id, plan_id, starts_at, sales_close_at, currency, zone_prices)
             select ('00000000-0000-4000-8000-' || n)::uuid, '{FIXTURE}', '{FIXTURE}', '{plan}',
                    now() + interval '60 days', now() + interval '60 days', 'EUR', '{{1250}}'
             from generate_series({FIRST_SHOW}, {last}) n;
             alter table seats drop constraint seats_pkey;
             insert into seats (show_id, seat_no, zone, status)
             select shows.id, no, 0, 'available' from shows cross join lateral generate_series(1, {seats}) no;
             alter table seats add primary key (show_id, seat_no);
             insert into orders (id, show_id, visitor_id, nth, seat_nos, prices, currency, window_s, held_at, locked_at,
                                 state, state_at)
             select gen_random_uuid(), shows.id, gen_random_uuid(), 1, '{{1}}', '{{1250}}', 'EUR', 900, now(), now(), 'sold', now()
             from (select id from shows limit 1) shows, generate_series(1, {OLD_ORDERS});
             commit"
        ))
        .await?;
        for table in ["shows", "seats", "orders"] {
            self.run(&format!("vacuum analyze {table}")).await?;
        }
        Ok(())
    }

    /// Stops the database; its folder goes.
    pub async fn close(self) -> Result<()> {
        self.db.close().await;
        self.postgres.stop().await?;
        Ok(())
    }
}

/// The id of a show by its number, from 0.
pub fn show_id(number: usize) -> String {
    format!("00000000-0000-4000-8000-{}", FIRST_SHOW + number)
}

async fn start(name: &str) -> Result<(Postgres, TempDir)> {
    let built = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = make_folder(name, built)?;
    match Postgres::start(folder.path(), &[]).await {
        // As root with the sources below a folder that only root may enter.
        Err(EmbeddedError::OutOfReach { .. }) => {
            let folder = make_folder(name, &std::env::temp_dir())?;
            Ok((Postgres::start(folder.path(), &[]).await?, folder))
        }
        started => Ok((started?, folder)),
    }
}

fn make_folder(name: &str, parent: &Path) -> Result<TempDir> {
    std::fs::create_dir_all(parent)?;
    // The database may run as another user, who must be able to enter.
    let permissions = Permissions::from_mode(0o755);
    Ok(tempfile::Builder::new().prefix(&format!("bench-{name}-")).permissions(permissions).tempdir_in(parent)?)
}

fn layout(seats: usize) -> String {
    let rows = (0..seats).step_by(20).map(|first| {
        let places = "s".repeat(20.min(seats - first));
        format!("row {} | {places}\n", first / 20 + 1)
    });
    rows.fold("zone s Stalls\n".to_owned(), |layout, row| layout + &row)
}
