//! The real server as a process of its own: the release binary, as people run it.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::Result;
use crate::cinema::Cinema;
use crate::weight;

/// For visitors who hold and pay far more often than people may: each of them stands for many.
pub const TIRELESS: &[&str] = &["--visitor-share", "0"];

/// A running server.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// Where it answers.
    pub address: SocketAddr,
}

impl Server {
    /// Starts it on the cinema's database, at any free port.
    pub async fn start(cinema: &Cinema) -> Result<Self> {
        Self::start_with(cinema, &[]).await
    }

    /// Starts it with further flags.
    pub async fn start_with(cinema: &Cinema, flags: &[&str]) -> Result<Self> {
        let log = std::fs::File::create(cinema.folder().join("server.log"))?;
        let mut child = Command::new(env!("CARGO_BIN_EXE_matinee"))
            .args(["serve", "--listen", "127.0.0.1:0", "--database-url", &cinema.url()])
            .args(flags)
            .env("MATINEE_SITE", weight::site())
            .env_remove("RUST_LOG")
            .env_remove("MATINEE_SECURE_COOKIE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()?;
        let stdout = child.stdout.take();
        // Made first, so that a server that says nothing is stopped as well.
        let mut server = Self { child, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        let said = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            stdout.map(|stdout| BufReader::new(stdout).read_line(&mut line));
            line
        });
        let said = tokio::time::timeout(Duration::from_secs(30), said).await??;
        let address = said.trim().rsplit('/').next().and_then(|address| address.parse().ok());
        server.address = address.ok_or_else(|| format!("the server did not start: {}", cinema.server_log()))?;
        Ok(server)
    }

    /// Memory that it has in use, in KiB.
    pub fn memory_kib(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no memory is told")?;
        Ok(line.trim().trim_end_matches(" kB").trim().parse()?)
    }

    /// Ends it in order, and waits until the database has seen its connections go: only then are their statistics counted.
    pub async fn stop(mut self, cinema: &Cinema) -> Result<()> {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status()?;
        if !asked.success() {
            return Err("the server could not be stopped".into());
        }
        for _ in 0..500 {
            let gone = self.child.try_wait()?.is_some();
            if gone
                && cinema.number("select count(*) from pg_stat_activity where application_name = 'matinee'").await? == 0
            {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err("the server did not end".into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Without effect on one that has ended.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
