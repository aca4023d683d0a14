//! A real Redis of the laboratory's own, for the strategies that need one.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use tempfile::TempDir;

use super::bench::Trouble;

/// A start takes a tenth of a second; more only on a machine that is busy.
const START_LIMIT: Duration = Duration::from_secs(15);
/// What to say when there is none.
pub const MISSING: &str = "no redis-server was found: install Debian's redis-server";

/// A running Redis without persistence, on a unix socket in a folder of its own; it ends with the value.
#[derive(Debug)]
pub struct RedisServer {
    child: Child,
    socket: PathBuf,
    _folder: TempDir,
}

impl RedisServer {
    /// Starts one; `None` when none is installed.
    ///
    /// # Errors
    /// When it is installed and does not start.
    pub async fn start() -> Result<Option<Self>, Trouble> {
        let failed = |error: &dyn std::fmt::Display| Trouble::Missing(format!("redis-server did not start: {error}"));
        let folder = tempfile::Builder::new().prefix("matinee-redis-").tempdir().map_err(|error| failed(&error))?;
        let socket = folder.path().join("redis.sock");
        let mut command = Command::new("redis-server");
        command.args(["--port", "0", "--save", "", "--appendonly", "no", "--daemonize", "no"]);
        command.arg("--unixsocket").arg(&socket).arg("--dir").arg(folder.path());
        // What Debian's own service would read or write is left alone.
        command.args(["--pidfile", "", "--logfile", ""]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&error)),
        };
        let mut server = Self { child, socket, _folder: folder };
        let start = Instant::now();
        loop {
            match server.connect().await {
                Ok(_) => return Ok(Some(server)),
                Err(error) if start.elapsed() > START_LIMIT => return Err(failed(&error)),
                Err(_) => {}
            }
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(failed(&status));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// A connection of one's own: WATCH is a matter of a connection.
    ///
    /// # Errors
    /// Redis'.
    pub async fn connect(&self) -> Result<MultiplexedConnection, Trouble> {
        let client = redis::Client::open(format!("redis+unix://{}", self.socket.display()))?;
        Ok(client.get_multiplexed_async_connection().await?)
    }

    /// Forgets everything, for the next trial.
    ///
    /// # Errors
    /// Redis'.
    pub async fn clear(&self) -> Result<(), Trouble> {
        let mut connection = self.connect().await?;
        Ok(redis::cmd("FLUSHALL").exec_async(&mut connection).await?)
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // It keeps nothing, so there is nothing to end in order.
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}
