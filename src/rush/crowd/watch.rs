//! Those who only watch: they hear of every change on the live map, and how old it was when it came.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use hdrhistogram::Histogram;
use http_body_util::BodyExt;
use serde::Deserialize;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::link::Links;
use super::record::times;
use crate::domain::ids::ShowId;

/// Before a watcher whose stream has ended comes again.
const COMES_AGAIN: Duration = Duration::from_millis(500);

/// What one watcher saw.
#[derive(Debug)]
pub struct Seen {
    /// From the moment that a seat was held until the watcher heard of it, in microseconds: with the hold's own commit.
    pub ages: Histogram<u64>,
    /// Messages.
    pub messages: u64,
    /// Messages that do not follow the one before, so that the map is to be read anew.
    pub gaps: u64,
    /// How often the server said to read the map anew, the first time of a stream not counted.
    pub resyncs: u64,
    /// Streams that ended and were opened again.
    pub breaks: u64,
    /// The version of the map that it has in the end.
    pub version: Option<u64>,
}

#[derive(Deserialize)]
struct Message {
    from: Option<u64>,
    version: u64,
    #[serde(default)]
    seats: Vec<SeatJson>,
}

#[derive(Deserialize)]
struct SeatJson {
    locked_at: Option<DateTime<Utc>>,
}

/// Those who watch.
#[derive(Debug)]
pub struct Watchers {
    tasks: JoinSet<Seen>,
    closing: CancellationToken,
}

impl Watchers {
    /// Lets so many watch a show, at the servers in turns, and waits until each has heard something.
    pub async fn come(servers: &[Arc<Links>], show: ShowId, number: u32) -> Self {
        let (mut tasks, closing) = (JoinSet::new(), CancellationToken::new());
        let here = Arc::new(AtomicU64::new(0));
        for nth in 0..number as usize {
            let (server, closing) = (Arc::clone(&servers[nth % servers.len()]), closing.clone());
            let here = Arc::clone(&here);
            tasks.spawn(async move { watch(&server, show, &here, &closing).await });
        }
        // A server that refuses them shows in the figures, not in a wait without an end.
        for _ in 0..200 {
            if here.load(Ordering::Relaxed) >= number.into() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Self { tasks, closing }
    }

    /// Sends them home; what each of them saw.
    pub async fn leave(mut self) -> Vec<Seen> {
        self.closing.cancel();
        let mut all = Vec::new();
        while let Some(seen) = self.tasks.join_next().await {
            all.extend(seen);
        }
        all
    }
}

async fn watch(server: &Links, show: ShowId, here: &AtomicU64, closing: &CancellationToken) -> Seen {
    let mut seen = Seen { ages: times(), messages: 0, gaps: 0, resyncs: 0, breaks: 0, version: None };
    let mut first = true;
    loop {
        tokio::select! {
            () = closing.cancelled() => return seen,
            () = listen(server, show, &mut seen, || if std::mem::take(&mut first) { here.fetch_add(1, Ordering::Relaxed); }) => {
                seen.breaks += 1;
            }
        }
        tokio::select! {
            () = closing.cancelled() => return seen,
            () = tokio::time::sleep(COMES_AGAIN) => {}
        }
    }
}

/// Listens until the stream ends.
async fn listen(server: &Links, show: ShowId, seen: &mut Seen, mut heard: impl FnMut()) {
    let known = seen.version.map(|version| format!("?version={version}")).unwrap_or_default();
    let Ok(response) = server.stream(&format!("/shows/{show}/live{known}")).await else { return };
    let mut body = response.into_body();
    let mut text = Vec::new();
    let mut begun = false;
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        text.extend_from_slice(&data);
        // A message ends with an empty line.
        while let Some(end) = text.windows(2).position(|two| two == b"\n\n") {
            let message: Vec<u8> = text.drain(..end + 2).collect();
            hear(seen, &String::from_utf8_lossy(&message), begun);
            begun = true;
            heard();
        }
    }
}

fn hear(seen: &mut Seen, message: &str, begun: bool) {
    let field = |name: &str| message.lines().find_map(|line| line.strip_prefix(name));
    let Some(json) = field("data: ").and_then(|data| serde_json::from_str::<Message>(data).ok()) else { return };
    seen.messages += 1;
    match field("event: ") {
        Some("seats") => {
            if json.from != seen.version {
                seen.gaps += 1;
            }
            let now = Utc::now();
            for locked_at in json.seats.iter().filter_map(|seat| seat.locked_at) {
                let age = (now - locked_at).num_microseconds().and_then(|age| u64::try_from(age).ok());
                seen.ages.saturating_record(age.unwrap_or_default());
            }
        }
        Some("resync") if begun => seen.resyncs += 1,
        _ => {}
    }
    seen.version = Some(json.version);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watcher_notices_what_it_missed() {
        let mut seen = Seen { ages: times(), messages: 0, gaps: 0, resyncs: 0, breaks: 0, version: None };
        let now = Utc::now().to_rfc3339();
        let seats = |from: u64, version: u64| {
            format!(
                "event: seats\nid: {version}\ndata: {{\"from\":{from},\"version\":{version},\"now\":\"{now}\",\
                 \"seats\":[{{\"no\":1,\"status\":\"locked\",\"locked_at\":\"{now}\"}}]}}\n\n"
            )
        };
        hear(&mut seen, &format!("event: resync\nid: 7\ndata: {{\"version\":7,\"now\":\"{now}\"}}\n\n"), false);
        hear(&mut seen, &seats(7, 8), true);
        assert_eq!((seen.gaps, seen.resyncs, seen.version, seen.ages.len()), (0, 0, Some(8), 1));
        hear(&mut seen, &seats(9, 10), true);
        assert_eq!((seen.gaps, seen.version), (1, Some(10)));
        hear(&mut seen, &format!("event: resync\nid: 12\ndata: {{\"version\":12,\"now\":\"{now}\"}}\n\n"), true);
        assert_eq!((seen.gaps, seen.resyncs, seen.version, seen.messages), (1, 1, Some(12), 4));
    }
}
