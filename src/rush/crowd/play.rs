//! The run: opens the stage, lets everybody come, watches, and judges when the last one has gone.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::hall::Hall;
use super::link::{Links, Question};
use super::person::Drawing;
use super::record::{Kept, Kind, Record};
use super::scenario::Scenario;
use super::shown::Shown;
use super::stage::{Server, Stage, StageError, Standing};
use super::verdict::{self, Fault};
use super::visit::{Cinema, visit};
use super::watch::{Seen, Watchers};
use crate::rush::figure::whole;
use crate::store::orders;

/// How often the seats are counted, and progress is shown.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
/// For the last change to reach the last watcher, at most; a watched map is read anew within a second, whatever changed it.
const QUIET: Duration = Duration::from_secs(5);

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    /// What was played.
    pub scenario: Scenario,
    /// What the people saw.
    pub kept: Kept,
    /// What the watchers saw.
    pub seen: Vec<Seen>,
    /// How the seats stood, and when after the start.
    pub standings: Vec<(Duration, Standing)>,
    /// How they stood at the end.
    pub end: Standing,
    /// From the start until the last person had gone.
    pub took: Duration,
    /// The most memory that each server had in use, in bytes.
    pub memory: Vec<u64>,
    /// Promises that were broken.
    pub faults: Vec<Fault>,
}

/// Plays a scenario with `program`, which is `matinee`, in the empty database at `url`.
///
/// # Errors
/// When the stage cannot be set up. What goes wrong on it is in the outcome.
pub async fn play(
    scenario: Scenario,
    program: &Path,
    url: &str,
    progress: &ProgressBar,
) -> Result<Outcome, StageError> {
    let stage = Stage::open(url, program, &scenario).await?;
    let mut servers = Vec::new();
    for _ in 0..scenario.stage.servers {
        servers.push(stage.server().await?);
    }
    let hall = Hall::new(&stage.plan, scenario.people.taste)
        .ok_or_else(|| StageError::Scenario("a hall without seats".to_owned()))?;
    let each = scenario.stage.connections as usize / servers.len();
    let links: Vec<Arc<Links>> = servers.iter().map(|server| Arc::new(Links::new(server.address, each))).collect();
    let watchers = Watchers::come(&links, stage.show, scenario.stage.watchers).await;

    let start = Instant::now();
    let cinema = Arc::new(Cinema {
        show: stage.show,
        hall,
        servers: links.clone(),
        shown: Shown::default(),
        record: Record::new(start),
        scenario: scenario.clone(),
    });
    let (over, is_over) = watch::channel(false);
    let (_, standings) = tokio::join!(
        async {
            everybody(&cinema, start).await;
            over.send_replace(true);
        },
        look_on(&stage, &cinema, start, is_over, progress),
    );
    let took = start.elapsed();
    let old_maps = quiet(&links[0], &stage, watchers).await;
    let memory = servers.iter().filter_map(Server::memory).collect();
    for server in servers {
        server.end().await?;
    }
    let end = stage.standing().await?;
    let cinema = Arc::into_inner(cinema).ok_or_else(|| StageError::Scenario("somebody has not gone".to_owned()))?;
    let kept = cinema.record.into_kept();
    let (seen, old) = old_maps;
    let mut faults = judge(&stage, &scenario, &kept).await?;
    faults.extend((old > 0).then_some(Fault::OldMaps { watchers: old }));
    let unsold = usize::from(scenario.show.seats) - end.sold;
    faults.extend((scenario.expect.all_sold && unsold > 0).then_some(Fault::NotSold { seats: unsold }));
    stage.database.close().await;
    Ok(Outcome { scenario, kept, seen, standings, end, took, memory, faults })
}

/// Lets everybody come at their time, and waits until all have gone.
async fn everybody(cinema: &Arc<Cinema>, start: Instant) {
    let tracker = TaskTracker::new();
    if let Some(drawing) = Drawing::new(&cinema.scenario) {
        for person in drawing.people() {
            tokio::time::sleep_until((start + person.arrives).into()).await;
            tracker.spawn(visit(Arc::clone(cinema), person));
        }
    }
    tracker.close();
    tracker.wait().await;
}

/// Counts the seats again and again, until it is over.
async fn look_on(
    stage: &Stage,
    cinema: &Cinema,
    start: Instant,
    mut is_over: watch::Receiver<bool>,
    progress: &ProgressBar,
) -> Vec<(Duration, Standing)> {
    let mut standings = Vec::new();
    let mut every = tokio::time::interval(BETWEEN_LOOKS);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = every.tick() => {}
            _ = is_over.changed() => return standings,
        }
        let at = start.elapsed();
        match stage.standing().await {
            Ok(standing) => {
                let (gone, answered) = {
                    let kept = cinema.record.kept();
                    let count = |kind| kept.times.get(&kind).map_or(0, |times| times.len());
                    (kept.gone, count(Kind::Held) + count(Kind::Lost))
                };
                progress.set_position(gone);
                progress.set_message(format!(
                    "{} attempts answered; seats: {} free, {} held, {} sold",
                    whole(i64::try_from(answered).unwrap_or(i64::MAX)),
                    standing.free,
                    standing.held,
                    standing.sold
                ));
                standings.push((at, standing));
            }
            Err(error) => tracing::warn!(%error, "the seats could not be counted"),
        }
    }
}

/// Waits until the watchers can have heard the last change, and sends them home; what they saw, and how many of them have
/// another map than the server.
async fn quiet(server: &Links, stage: &Stage, watchers: Watchers) -> (Vec<Seen>, usize) {
    let begun = Instant::now();
    let mut last = None;
    // A lapse changes no version: nothing is written. So the version stands still when nobody acts any more.
    while begun.elapsed() < QUIET {
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        let version = version(server, stage).await;
        if version.is_some() && version == last {
            break;
        }
        last = version;
    }
    let seen = watchers.leave().await;
    let old = seen.iter().filter(|seen| seen.version != last).count();
    (seen, old)
}

/// The version of the map that a server gives now.
async fn version(server: &Links, stage: &Stage) -> Option<u64> {
    let path = format!("/shows/{}/seats", stage.show);
    let from = std::net::Ipv4Addr::LOCALHOST;
    let question = Question { path: &path, form: None, from, cookie: None, page: false };
    let answer = server.ask(&question).await.ok()?;
    let map: serde_json::Value = serde_json::from_slice(&answer.unpacked()?).ok()?;
    map.get("version")?.as_u64()
}

async fn judge(stage: &Stage, scenario: &Scenario, kept: &Kept) -> Result<Vec<Fault>, StageError> {
    let mut found = HashMap::new();
    for grant in &kept.grants {
        if let Some((order, _)) = orders::get(&stage.database, grant.order).await? {
            found.insert(grant.order, order);
        }
    }
    let mut faults = verdict::told(&kept.grants, &found);
    let window = Duration::from_secs(u64::from(scenario.show.hold_window_s.unsigned_abs()));
    faults.extend(verdict::between(&kept.grants, window));
    faults.extend(stage.prove().await?.into_iter().map(Fault::Proof));
    let failed = kept.statuses.iter().filter(|(status, _)| **status >= 500 && **status != 503).map(|(_, count)| count);
    let answers: u64 = failed.sum();
    faults.extend((answers > 0).then_some(Fault::ServerFailed { answers }));
    faults.extend(kept.broken.iter().map(|(what, times)| Fault::Broken { times: *times, what: what.clone() }));
    let answered = |kind: Kind| kept.times.get(&kind).map_or(0, |times| times.len());
    let attempts = kept.attempts.saturating_sub(answered(Kind::Held) + answered(Kind::Lost));
    faults.extend((attempts > 0).then_some(Fault::Unanswered { attempts }));
    Ok(faults)
}
