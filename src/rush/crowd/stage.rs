//! Where the crowd comes to: a cinema with one show in a database of its own, and the real program serving it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use sqlx::postgres::PgPool;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::scenario::Scenario;
use crate::box_office::rehearsal;
use crate::domain::ids::ShowId;
use crate::domain::plan::Plan;
use crate::domain::seat::{HoldWindow, Status};
use crate::store::maps;
use crate::store::plans::Plans;
use crate::store::{StoreError, pool};

/// A server says where it is within this time, or it does not start.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// Why a stage could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The database.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// A process, or a folder.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A server.
    #[error("a server of the rush did not start: {0}")]
    Server(String),
    /// The scenario.
    #[error("{0}")]
    Scenario(String),
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// Where it answers.
    pub address: SocketAddr,
}

/// The stage.
#[derive(Debug)]
pub struct Stage {
    program: PathBuf,
    url: String,
    // Its server's logs.
    folder: TempDir,
    /// Of the onlooker, who counts seats and reads orders.
    pub database: PgPool,
    /// The show.
    pub show: ShowId,
    /// Its plan.
    pub plan: Plan,
    plans: Plans,
}

/// How the seats stand at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Free, by the rule.
    pub free: usize,
    /// Held.
    pub held: usize,
    /// Sold.
    pub sold: usize,
}

impl Stage {
    /// Makes the cinema in an empty database. `program` is the one that serves it: `matinee`.
    ///
    /// # Errors
    /// One line.
    pub async fn open(url: &str, program: &Path, scenario: &Scenario) -> Result<Self, StageError> {
        pool::migrate(url).await?;
        let database = pool::connect(url)?;
        let window = HoldWindow::from_seconds(scenario.show.hold_window_s)
            .ok_or_else(|| StageError::Scenario("no hold can last so long".to_owned()))?;
        let (show, plan) = rehearsal::open(&database, scenario.show.seats, window).await?;
        let folder = tempfile::Builder::new().prefix("matinee-rush-").tempdir()?;
        let (program, url) = (program.to_owned(), url.to_owned());
        Ok(Self { program, url, folder, database, show, plan, plans: Plans::default() })
    }

    /// Starts a server. It believes us, who come from this machine, when we say for whom we ask, as it would believe a proxy.
    ///
    /// # Errors
    /// What it said instead of its address.
    pub async fn server(&self) -> Result<Server, StageError> {
        let log = tempfile::Builder::new()
            .suffix(".log")
            .tempfile_in(self.folder.path())?
            .keep()
            .map_err(std::io::Error::from)?;
        let mut child = self
            .matinee("serve")
            .args(["--listen", "127.0.0.1:0", "--trusted-proxy", "127.0.0.1/32"])
            .stdout(Stdio::piped())
            .stderr(log.0)
            .spawn()?;
        let stdout = child.stdout.take();
        let said = async {
            let mut line = String::new();
            if let Some(stdout) = stdout {
                BufReader::new(stdout).read_line(&mut line).await?;
            }
            Ok::<_, std::io::Error>(line)
        };
        let said = tokio::time::timeout(STARTS_WITHIN, said).await.unwrap_or_else(|_| Ok(String::new()))?;
        let address = said.trim().rsplit('/').next().and_then(|address| address.parse().ok());
        let address = address.ok_or_else(|| {
            let log = std::fs::read_to_string(&log.1).unwrap_or_default();
            StageError::Server(log.lines().last().unwrap_or("it said nothing").to_owned())
        })?;
        Ok(Server { child, address })
    }

    /// How the seats stand, judged by the rule at the database's time.
    ///
    /// # Errors
    /// The database's.
    pub async fn standing(&self) -> Result<Standing, StageError> {
        let map = maps::seat_map(&self.database, &self.plans, self.show).await?;
        let Some(map) = map else { return Ok(Standing::default()) };
        let mut standing = Standing::default();
        for seat in &map.seats {
            if map.show.hold_window.is_available(seat.status, seat.locked_at, map.now) {
                standing.free += 1;
            } else if seat.status == Status::Booked {
                standing.sold += 1;
            } else {
                standing.held += 1;
            }
        }
        Ok(standing)
    }

    /// What `matinee prove` says of the database: each breach, or none.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub async fn prove(&self) -> Result<Vec<String>, StageError> {
        let output = self.matinee("prove").output().await?;
        if output.status.success() {
            return Ok(Vec::new());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let lines: Vec<String> =
            said.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
        Ok(if lines.is_empty() { vec!["it failed without a word".to_owned()] } else { lines })
    }

    fn matinee(&self, command: &str) -> Command {
        let mut program = Command::new(&self.program);
        program
            .args([command, "--database-url", &self.url])
            // What an operator has set for a cinema is not meant for a rehearsal.
            .env_remove("MATINEE_GATEWAY_URL")
            .env_remove("MATINEE_MAIL")
            .env_remove("MATINEE_SECURE_COOKIE")
            .env("RUST_LOG", "warn")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        program
    }
}

impl Server {
    /// Memory that it has in use, in bytes; `None` where the system does not tell.
    pub fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()?)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
    }

    /// Ends it at once: whatever a server may be needed for is in the database.
    ///
    /// # Errors
    /// The system's.
    pub async fn end(mut self) -> Result<(), StageError> {
        Ok(self.child.kill().await?)
    }
}
