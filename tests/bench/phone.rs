//! A phone on a slow network: when the seats are there to see, and when the map is live.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::cinema::Cinema;
use crate::pages::open_week;
use crate::report::{Goal, Row};
use crate::rounds::Spread;
use crate::server::Server;
use crate::{Options, Result};

/// Where distributions put the browser.
const CHROMIUM: [&str; 4] =
    ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome-stable", "/usr/bin/google-chrome"];

/// What one visit saw, in milliseconds after it began.
#[derive(Debug, Deserialize)]
struct Visit {
    path: String,
    first_paint: f64,
    largest_paint: f64,
    live: f64,
    kilobytes: f64,
}

/// First and largest paint, and the live map.
pub async fn measure(cinema: &Cinema, options: &Options) -> Result<Vec<Row>> {
    let visits = if options.quick { "1" } else { "5" };
    let named = std::env::var_os("MATINEE_CHROMIUM").filter(|path| !path.is_empty()).map(PathBuf::from);
    let usual = || CHROMIUM.iter().map(PathBuf::from).find(|path| path.exists());
    let chromium = named.or_else(usual).ok_or("no Chromium: install it, or name it in MATINEE_CHROMIUM")?;
    let shows = open_week(cinema).await?;
    let server = Server::start(cinema).await?;
    let output = tokio::process::Command::new("node")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench/phone.mjs"))
        .arg(format!("http://{}", server.address))
        .args([visits, &shows.large.path, &shows.very_large.path])
        .env("MATINEE_CHROMIUM", chromium)
        .kill_on_drop(true)
        .output()
        .await?;
    server.stop(cinema).await?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = said.lines().find(|line| line.starts_with("Error: ")).or(said.lines().last());
        return Err(format!("the browser could not measure: {}", line.unwrap_or_default()).into());
    }
    let mut by_page: BTreeMap<String, Vec<Visit>> = BTreeMap::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let visit: Visit = serde_json::from_str(line)?;
        by_page.entry(visit.path.clone()).or_default().push(visit);
    }
    let mut rows = Vec::new();
    for show in [shows.large, shows.very_large] {
        let visits = by_page.remove(&show.path).ok_or("a page was not visited")?;
        let of = |value: fn(&Visit) -> f64| Spread::of(&visits.iter().map(value).collect::<Vec<_>>());
        let (first, largest) = (of(|visit| visit.first_paint / 1000.0), of(|visit| visit.largest_paint / 1000.0));
        let live = of(|visit| visit.live / 1000.0);
        let seats = show.seats;
        let words = |what: &str| format!("Phone, {seats} seats: {what}");
        rows.push(Row::spread(words("the form can be used (first paint)"), first, "s"));
        rows.push(Row::spread(words("largest paint"), largest, "s").judged(largest.median, Goal::AtMost(1.5), "s"));
        rows.push(Row::spread(words("the map is live"), live, "s").judged(live.median, Goal::AtMost(2.0), "s"));
        rows.push(Row::spread(words("downloaded"), of(|visit| visit.kilobytes), "KB"));
    }
    Ok(rows)
}
