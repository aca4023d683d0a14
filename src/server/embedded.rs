//! A private Postgres for people who have not set up one: found, made, started, adopted after a crash and stopped here.
//!
//! One folder is one cinema: `<data_dir>/postgres` is the cluster, `<data_dir>/lock` says which matinee owns it,
//! `<data_dir>/postgres.log` is what the server said. The server listens on a unix socket in a folder that only its own
//! user may enter, never on the network. No SQL of the product belongs in here.

mod binaries;
mod cluster;
mod error;
mod launch;
mod owner;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};

use self::binaries::Binaries;
pub use self::cluster::clone_cluster;
use self::cluster::{Cluster, Holder, PidFile};
pub use self::error::EmbeddedError;
use self::launch::{arguments, tail};
use self::owner::{Owner, ServerUser};

/// The database that every matinee uses inside its private cluster.
const DATABASE: &str = "matinee";
/// The superuser that `initdb` makes; nobody outside the socket's folder can reach it.
const ROLE: &str = "matinee";
/// Names the socket file; no network port is opened. Fixed so that a `PGPORT` in the environment cannot move it.
const PORT: &str = "5432";
/// A start that follows a power cut replays the log first, so this is far more than the usual half second.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How often a starting or stopping server is looked at.
const POLL: Duration = Duration::from_millis(20);
/// A server log above this size is set aside at the next start, so that it cannot fill a disk over the years.
const LOG_LIMIT_BYTES: u64 = 16 * 1024 * 1024;

fn url_in(socket_dir: &Path, database: &str) -> String {
    let host = cluster::percent_encode(socket_dir);
    format!("postgres:///{database}?host={host}&port={PORT}&user={ROLE}")
}

/// A running private Postgres, owned by this process until [`Postgres::stop`] or the drop.
#[derive(Debug)]
pub struct Postgres {
    cluster: Cluster,
    binaries: Binaries,
    user: ServerUser,
    socket_dir: PathBuf,
    /// Absent when an orphan of a killed matinee was adopted: then it is not a child of this process.
    child: Option<Child>,
    running: bool,
    /// Held for its lock; the kernel releases it however this process ends.
    _owner: Owner,
}

impl Postgres {
    /// Starts the cluster under `data_dir`, which is made first if there is none, and waits until it answers.
    ///
    /// `settings` are server settings that win over the ones below, such as `("fsync", "off")` in a test.
    /// A server that a killed matinee left behind on this folder is taken over, or restarted if its settings differ.
    pub async fn start(data_dir: &Path, settings: &[(&str, &str)]) -> Result<Postgres, EmbeddedError> {
        let owner = Owner::claim(data_dir)?;
        let data_dir = owner.data_dir().to_path_buf();
        let user = ServerUser::choose(&data_dir, owner.uid())?;
        let cluster = Cluster::at(&data_dir);
        let binaries = Binaries::find(&user, &cluster)?;
        user.check_reach(&binaries.postgres(), &data_dir)?;
        if !cluster.exists() {
            cluster.make(&binaries, &user).await?;
        }
        let socket_dir = cluster.socket_dir(&user)?;
        let arguments = arguments(&cluster, &socket_dir, settings);
        let mut postgres = Postgres { cluster, binaries, user, socket_dir, child: None, running: false, _owner: owner };
        if !postgres.adopt(&arguments).await? {
            postgres.spawn(&arguments).await?;
        }
        postgres.create_database().await?;
        Ok(postgres)
    }

    /// Where sqlx, psql and node-postgres find the database, for example `postgres:///matinee?host=%2Fsrv%2F...`.
    pub fn url(&self) -> String {
        url_in(&self.socket_dir, DATABASE)
    }

    /// Where the database of a matinee that is running on `data_dir` is found; `None` when none is running. For commands
    /// that look at the live database beside it, such as `matinee prove`.
    pub fn url_of_running(data_dir: &Path) -> Option<String> {
        let found = Cluster::at(&data_dir.canonicalize().ok()?).pid_file()?;
        UnixStream::connect(found.socket_dir.join(format!(".s.PGSQL.{PORT}"))).ok()?;
        Some(url_in(&found.socket_dir, DATABASE))
    }

    /// The folder of the server's programs; `pgbench` and `psql` are usually there too.
    pub fn bin_dir(&self) -> &Path {
        self.binaries.dir()
    }

    /// Waits until the server has ended by itself, or was killed: asked once a second, by its socket, which works for an
    /// adopted server too. Whoever serves from it should end then, so that a service manager can start both anew.
    pub async fn ended(&self) {
        let socket = self.socket_dir.join(format!(".s.PGSQL.{PORT}"));
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if UnixStream::connect(&socket).is_err() {
                return;
            }
        }
    }

    /// Ends the server as a planned shutdown: sessions are closed, everything is written, and the next start is quick.
    pub async fn stop(mut self) -> Result<(), EmbeddedError> {
        self.running = false;
        self.stop_by("fast").await?;
        if let Some(mut child) = self.child.take() {
            // It has removed its pid file as its last act, so this wait is short; without it a zombie would stay.
            let reaped = tokio::task::spawn_blocking(move || child.wait()).await;
            tracing::debug!(?reaped, "embedded Postgres stopped");
        }
        Ok(())
    }

    /// True when a usable server was already there: one that a matinee left behind when it was killed.
    async fn adopt(&mut self, arguments: &[String]) -> Result<bool, EmbeddedError> {
        let deadline = Instant::now() + START_LIMIT;
        while let Some(found) = self.cluster.pid_file() {
            match found.holder(&self.cluster) {
                Holder::Server => {}
                // Postgres sees this for itself.
                Holder::Nobody => return Ok(false),
                // Postgres would take the stranger for a server and refuse to start. Should sessions of the dead server
                // linger, it still notices by their shared memory.
                Holder::Stranger => {
                    tracing::warn!(pid = found.pid, "removing the pid file of a Postgres that is gone");
                    self.cluster.remove_pid_file()?;
                    return Ok(false);
                }
            }
            if found.is_ready() && self.accepts(&found) {
                self.running = true;
                if self.cluster.started_as(&self.binaries.postgres(), arguments) {
                    tracing::info!(pid = found.pid, "took over the Postgres that an earlier matinee left running");
                    return Ok(true);
                }
                tracing::info!(pid = found.pid, "restarting the Postgres that an earlier matinee left running");
                self.stop_by("fast").await?;
                self.running = false;
                return Ok(false);
            }
            if Instant::now() > deadline {
                return Err(EmbeddedError::Stuck { pid: found.pid, limit: START_LIMIT });
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(false)
    }

    /// Whether somebody listens on the socket that the pid file names.
    fn accepts(&self, found: &PidFile) -> bool {
        UnixStream::connect(found.socket_dir.join(format!(".s.PGSQL.{PORT}"))).is_ok()
    }

    async fn spawn(&mut self, arguments: &[String]) -> Result<(), EmbeddedError> {
        cluster::remove_socket_lock(&self.socket_dir)?;
        let (log, log_start) = self.open_log()?;
        let program = self.binaries.postgres();
        let mut command = self.user.command(&program);
        let stderr = log.try_clone().map_err(|source| EmbeddedError::file(&self.cluster.log(), source))?;
        // A group of its own: Ctrl-C in the terminal must end matinee first, which then ends the server in order.
        command.process_group(0);
        command.args(arguments).stdin(Stdio::null()).stdout(log).stderr(stderr);
        let child = command.spawn().map_err(|source| EmbeddedError::program(&program, source))?;
        let pid = child.id();
        self.running = true;
        let child = self.child.insert(child);
        let deadline = Instant::now() + START_LIMIT;
        loop {
            if self.cluster.pid_file().is_some_and(|found| found.pid == pid && found.is_ready()) {
                tracing::debug!(pid, cluster = %self.cluster.dir().display(), "embedded Postgres is ready");
                return Ok(());
            }
            if let Ok(Some(status)) = child.try_wait() {
                self.running = false;
                let log = tail(&self.cluster.log(), log_start);
                return Err(EmbeddedError::Exited { status, log });
            }
            if Instant::now() > deadline {
                let log = tail(&self.cluster.log(), log_start);
                return Err(EmbeddedError::Slow { limit: START_LIMIT, log });
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// The server's log, opened for append, and its length before this start.
    fn open_log(&self) -> Result<(File, u64), EmbeddedError> {
        let path = self.cluster.log();
        let open = || -> std::io::Result<(File, u64)> {
            if std::fs::metadata(&path).is_ok_and(|log| log.len() > LOG_LIMIT_BYTES) {
                std::fs::rename(&path, path.with_extension("log.old"))?;
            }
            let log = OpenOptions::new().create(true).append(true).open(&path)?;
            // Failing statements are logged with their values: nobody else may read them.
            log.set_permissions(std::fs::Permissions::from_mode(0o600))?;
            let length = log.metadata()?.len();
            Ok((log, length))
        };
        let opened = open().map_err(|source| EmbeddedError::file(&path, source))?;
        self.user.own(&path)?;
        Ok(opened)
    }

    async fn create_database(&self) -> Result<(), EmbeddedError> {
        match connect(&self.url()).await {
            Ok(connection) => connection.close().await.map_err(EmbeddedError::Connect),
            Err(sqlx::Error::Database(refused)) if refused.code().as_deref() == Some("3D000") => {
                let mut connection =
                    connect(&url_in(&self.socket_dir, "postgres")).await.map_err(EmbeddedError::Connect)?;
                sqlx::query("create database matinee")
                    .execute(&mut connection)
                    .await
                    .map_err(EmbeddedError::Connect)?;
                connection.close().await.map_err(EmbeddedError::Connect)
            }
            Err(other) => Err(EmbeddedError::Connect(other)),
        }
    }

    async fn stop_by(&self, mode: &str) -> Result<(), EmbeddedError> {
        let output = tokio::process::Command::from(self.stop_command(mode)).output().await;
        let output = output.map_err(|source| EmbeddedError::program(&self.binaries.pg_ctl(), source))?;
        // pg_ctl also fails when the server had ended by itself; what counts is that none is left.
        let is_gone = || UnixStream::connect(self.socket_dir.join(format!(".s.PGSQL.{PORT}"))).is_err();
        if output.status.success() || self.cluster.pid_file().is_none() || is_gone() {
            return Ok(());
        }
        Err(EmbeddedError::Stop { log: error::last_lines(&String::from_utf8_lossy(&output.stderr)) })
    }

    fn stop_command(&self, mode: &str) -> std::process::Command {
        let mut command = self.user.command(&self.binaries.pg_ctl());
        command.arg("stop").arg("-D").arg(self.cluster.dir()).args(["-w", "-t", "60", "-m", mode]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }
}

impl Drop for Postgres {
    /// For a test that panics or a start that fails half-way: the data survives, the server does not.
    fn drop(&mut self) {
        if !self.running {
            return;
        }
        match self.stop_command("immediate").output() {
            Ok(output) if output.status.success() => {}
            failed => tracing::warn!(?failed, "could not stop the embedded Postgres"),
        }
        if let Some(child) = &mut self.child {
            let _reaped = child.wait();
        }
    }
}

async fn connect(url: &str) -> Result<PgConnection, sqlx::Error> {
    PgConnectOptions::from_str(url)?.connect().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_settings_win_and_no_network_is_opened() {
        let arguments = arguments(&Cluster::at(Path::new("/data")), Path::new("/data/run"), &[("fsync", "off")]);
        assert_eq!(arguments[..2], ["-D", "/data/postgres"]);
        assert!(arguments.contains(&"listen_addresses=".to_owned()));
        assert_eq!(arguments.last().map(String::as_str), Some("fsync=off"));
    }
}
