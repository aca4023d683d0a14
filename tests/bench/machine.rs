//! What the figures were measured on: nobody can judge a number without it.

use std::fs::OpenOptions;
use std::io::{Seek, Write};
use std::path::Path;
use std::time::Instant;

use crate::Result;
use crate::cinema::Cinema;
use crate::rounds::{Spread, percentile};

/// As much as Postgres writes at least.
const PAGE: [u8; 8192] = [7; 8192];
const FLUSHES: usize = 100;

/// One line about the machine and what else it did when the run began.
pub async fn describe(cinema: &Cinema, load: f64) -> Result<String> {
    let cores = std::thread::available_parallelism()?;
    let kernel = read("/proc/sys/kernel/osrelease");
    let cpu = read("/proc/cpuinfo");
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let cpu = cpu.trim_start_matches([':', ' ', '\t']).replace("(R)", "");
    let cpu = if cpu.is_empty() { String::new() } else { format!(" ({cpu})") };
    let postgres: String = sqlx::query_scalar("show server_version").fetch_one(&cinema.db).await?;
    let postgres = postgres.split_whitespace().next().unwrap_or_default();
    let flush = Spread::of(&[flush_ms(cinema.folder())?, flush_ms(cinema.folder())?, flush_ms(cinema.folder())?]);
    let today = chrono::Utc::now().format("%Y-%m-%d");
    // Half a core of somebody else's work is enough to spoil a figure.
    let busy = if load > 0.5 {
        format!(" Other work ran at the same time (load {load:.1} before the start).")
    } else {
        String::new()
    };
    Ok(format!(
        "Measured on {today}: {cores} cores{cpu} shared by Postgres, the server and the load, kernel {}, Postgres {postgres} \
         with `fsync` and `synchronous_commit` on, a flush of the disk takes {}.{busy}",
        kernel.trim(),
        flush.show("ms"),
    ))
}

/// The median time that the disk needs to make one overwritten page safe, in milliseconds.
pub fn flush_ms(folder: &Path) -> Result<f64> {
    let path = folder.join("flush");
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).open(&path)?;
    file.write_all(&PAGE)?;
    file.sync_all()?;
    let mut times = Vec::with_capacity(FLUSHES);
    for _ in 0..FLUSHES {
        let start = Instant::now();
        file.rewind()?;
        file.write_all(&PAGE)?;
        file.sync_data()?;
        times.push(start.elapsed().as_secs_f64() * 1000.0);
    }
    std::fs::remove_file(&path)?;
    Ok(percentile(&mut times, 0.5))
}

/// How many programs wanted to run during the last minute.
pub fn load() -> f64 {
    read("/proc/loadavg").split_whitespace().next().and_then(|load| load.parse().ok()).unwrap_or(0.0)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
