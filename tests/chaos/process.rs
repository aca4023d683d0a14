//! A process of the program, behind a wire whose address stays: it can be killed and started again.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::Mutex;

use crate::link::{End, Link};

/// For a start that finds no database, because that is being restarted too. Only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// What runs.
#[derive(Debug)]
struct Running {
    child: Child,
    /// Kept, or the program could not write to it.
    _said: Lines<BufReader<ChildStdout>>,
}

#[derive(Debug)]
pub struct Process {
    /// Where it is found, whether it runs or not.
    pub door: Arc<Link>,
    arguments: Vec<String>,
    log: PathBuf,
    running: Mutex<Option<Running>>,
    /// In milliseconds, the longest time until it ran.
    pub slowest_start: AtomicU64,
}

impl Process {
    /// Starts the program with these arguments; it listens wherever there is room.
    pub async fn start(door: Arc<Link>, arguments: &[&str], log: PathBuf) -> Arc<Self> {
        let arguments = [arguments, &["--listen", "127.0.0.1:0"]].concat().into_iter().map(str::to_owned).collect();
        let process =
            Arc::new(Self { door, arguments, log, running: Mutex::default(), slowest_start: AtomicU64::new(0) });
        *process.running.lock().await = Some(process.launch().await);
        process
    }

    /// Ended by a signal that it cannot hear, and started again after a while.
    pub async fn is_killed(&self, dead_for: Duration) {
        let mut running = self.running.lock().await;
        self.end(&mut running).await;
        tokio::time::sleep(dead_for).await;
        *running = Some(self.launch().await);
    }

    /// The same, and nobody starts it again.
    pub async fn is_killed_for_good(&self) {
        let mut running = self.running.lock().await;
        self.end(&mut running).await;
    }

    /// What it logged that contains this text.
    pub fn logged(&self, text: &str) -> Vec<String> {
        let log = std::fs::read_to_string(&self.log).unwrap();
        log.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
    }

    async fn end(&self, running: &mut Option<Running>) {
        self.door.leads_to(End::Nowhere);
        if let Some(mut running) = running.take() {
            running.child.kill().await.unwrap();
        }
    }

    /// As a service manager does: again, if it ended because the database was not there.
    async fn launch(&self) -> Running {
        let since = Instant::now();
        loop {
            let log = OpenOptions::new().create(true).append(true).open(&self.log).unwrap();
            let mut child = Command::new(env!("CARGO_BIN_EXE_matinee"))
                .args(&self.arguments)
                .env("RUST_LOG", "warn")
                .env("NO_COLOR", "1")
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(log)
                .kill_on_drop(true)
                .spawn()
                .unwrap();
            let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
            if let Ok(Some(line)) = said.next_line().await {
                let address = line.split("http://").nth(1).unwrap().trim().parse().unwrap();
                self.door.leads_to(End::Port(address));
                self.slowest_start.fetch_max(u64::try_from(since.elapsed().as_millis()).unwrap(), Relaxed);
                return Running { child, _said: said };
            }
            child.wait().await.unwrap();
            assert!(
                since.elapsed() < PATIENCE,
                "{:?} does not start: {:?}",
                self.arguments[0],
                self.logged("matinee:")
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}
