//! A cinema as in production: Postgres that waits for its disk, two servers, the card processor as a service of its own, and
//! wires between all of them.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use matinee::domain::ids::ShowId;
use sqlx::postgres::PgConnectOptions;
use tempfile::TempDir;

use crate::history::{Counts, History};
use crate::link::{End, Link};
use crate::plan::{Plan, SERVERS};
use crate::process::Process;
use crate::shuffler::Shuffler;
use crate::support::{Cinema, PRICE, layout_of};

/// The tests' own Postgres does not wait for its disk; this one loses nothing that was said to be written.
const HONEST: &[(&str, &str)] =
    &[("fsync", "on"), ("full_page_writes", "on"), ("synchronous_commit", "on"), ("autovacuum", "on")];

/// What the card processor knows the cinema by.
const GATEWAY_KEY: &str = "sk_of_the_cinema";
pub const WEBHOOK_SECRET: &str = "whsec_of_the_cinema";

pub struct Site {
    pub cinema: Cinema,
    pub show: ShowId,
    /// Another one, for somebody who comes when the first is sold.
    pub last_show: ShowId,
    pub servers: Vec<Arc<Process>>,
    pub gateway: Arc<Process>,
    pub to_postgres: Arc<Link>,
    pub shuffler: Arc<Shuffler>,
    pub counts: Arc<Counts>,
    pub history: History,
    folder: TempDir,
}

impl Site {
    pub async fn open(plan: &Plan) -> Arc<Self> {
        let cinema = Cinema::open_with(HONEST).await;
        // Fewer seats than are wanted, and everybody wants the first.
        let show = cinema.show(&layout_of(plan.people.len() * 3 / 2), &[PRICE], plan.window_s).await;
        let last_show = cinema.show(&layout_of(2), &[PRICE], plan.window_s).await;
        let direct = PgConnectOptions::from_str(&cinema.url()).unwrap();
        let socket = direct.get_socket().unwrap().join(format!(".s.PGSQL.{}", direct.get_port()));
        let to_postgres = Link::to(End::Socket(socket)).await;
        let (role, database) = (direct.get_username(), direct.get_database().unwrap());
        let url = format!("postgres://{role}@{}/{database}?sslmode=disable", to_postgres.address);

        let folder = tempfile::tempdir().unwrap();
        let counts = Arc::new(Counts::default());
        let mut doors = Vec::new();
        for _ in 0..SERVERS {
            doors.push(Link::to(End::Nowhere).await);
        }
        let shuffler = Shuffler::start(doors.clone(), plan.dice(u64::MAX), Arc::clone(&counts)).await;
        let gateway_door = Link::to(End::Nowhere).await;
        let gateway_url = format!("http://{}", gateway_door.address);
        let known = ["--database-url", &url, "--gateway-key", GATEWAY_KEY, "--webhook-secret", WEBHOOK_SECRET];
        let webhook_url = format!("http://{}/hooks", shuffler.address);
        let arguments =
            [&["gateway"], &known[..], &["--webhook-url", &webhook_url, "--site-url", &gateway_url]].concat();
        let gateway = Process::start(gateway_door, &arguments, folder.path().join("gateway.log")).await;
        let mails = mails_in(folder.path()).to_string_lossy().into_owned();
        let mut servers = Vec::new();
        for (nth, door) in doors.into_iter().enumerate() {
            let site_url = format!("http://{}", door.address);
            let own = ["--gateway-url", &gateway_url, "--mail", &mails, "--site-url", &site_url];
            let arguments = [&["serve"], &known[..], &own].concat();
            let log = folder.path().join(format!("server-{nth}.log"));
            servers.push(Process::start(door, &arguments, log).await);
        }
        let history = History::default();
        Arc::new(Self { cinema, show, last_show, servers, gateway, to_postgres, shuffler, counts, history, folder })
    }

    /// Where the mails are.
    pub fn mails(&self) -> PathBuf {
        mails_in(self.folder.path())
    }

    /// The flags with which another command of the program finds all this.
    pub fn flags(&self) -> Vec<String> {
        let gateway = format!("http://{}", self.gateway.door.address);
        let flags = ["--database-url", &self.cinema.url(), "--gateway-url", &gateway, "--gateway-key", GATEWAY_KEY];
        flags.map(str::to_owned).to_vec()
    }
}

fn mails_in(folder: &Path) -> PathBuf {
    folder.join("mails")
}
