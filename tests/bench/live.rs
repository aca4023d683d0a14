//! The live map: what a thousand who watch cost those who hold, and how old a change is when five thousand hear of it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::bare::House;
use crate::cinema::{Cinema, SEATS, show_id};
use crate::holds::{is_held, strangers_hold};
use crate::http::Connection;
use crate::report::{Goal, Row};
use crate::rounds::{Spread, percentile};
use crate::server::Server;
use crate::{Options, Result};

/// Halls of an opening day; each hold changes one of their maps.
const HALLS: House = House { shows: 10, seats: 1_200 };
/// Holds a second while the age of changes is measured, and as many releases.
const HOLDS_A_SECOND: u32 = 5;
/// How long each is held: longer than changes are bundled.
const HELD: Duration = Duration::from_secs(1);
/// How many open their streams at the same time.
const AT_ONCE: usize = 100;

/// Both.
pub async fn measure(cinema: &Cinema, options: &Options) -> Result<Vec<Row>> {
    // Every watcher is an open file.
    rlimit::increase_nofile_limit(65_536)?;
    let (rounds, duration) = options.rounds();
    let mut rows = cost(cinema, rounds.min(4)).await?;
    let numbers: &[(usize, Goal, Goal)] = &[
        (1_000, Goal::Below(500.0, 200.0), Goal::Below(40.0, 25.0)),
        (5_000, Goal::Below(1_000.0, 400.0), Goal::Below(40.0, 25.0)),
    ];
    for (watchers, age, memory) in numbers {
        let (mut ages, mut each) = (Vec::new(), Vec::new());
        let mut halves = Vec::new();
        for _ in 0..rounds.min(3) {
            let mut heard = hear(cinema, *watchers, duration).await?;
            halves.push(percentile(&mut heard.ages, 0.5));
            ages.push(percentile(&mut heard.ages, 0.99));
            each.push(heard.kilobytes_each);
        }
        let p99 = Spread::of(&ages);
        let figure = format!("From a hold to {watchers} watchers, {HOLDS_A_SECOND} holds and releases a second");
        let measured = format!("p50 {}, p99 {}", Spread::of(&halves).show("ms"), p99.show("ms"));
        rows.push(Row::new(figure, measured).judged(p99.median, *age, "ms"));
        let each = Spread::of(&each);
        let row = Row::spread(format!("Memory of the server for each of {watchers} watchers"), each, "KiB");
        rows.push(row.judged(each.median, *memory, "KiB"));
    }
    Ok(rows)
}

/// Winning holds a second with a thousand watchers and without, in turns.
async fn cost(cinema: &Cinema, rounds: usize) -> Result<Vec<Row>> {
    const WATCHERS: usize = 1_000;
    let (mut with, mut without, mut ratios, mut ages) = (vec![], vec![], vec![], vec![]);
    for round in 0..=rounds {
        let mut rates = [0.0; 2];
        for (nth, watchers) in [0, WATCHERS].into_iter().enumerate() {
            HALLS.open(cinema).await?;
            let server = Server::start(cinema).await?;
            let audience = Audience::come(server.address, watchers, HALLS.shows, Ears::Few).await?;
            rates[nth] = strangers_hold(cinema, &server, HALLS, Duration::from_secs(5)).await?.rate();
            tokio::time::sleep(Duration::from_secs(1)).await;
            let heard = audience.leave().await?;
            if watchers > 0 && round > 0 {
                let mut all: Vec<f64> = heard.iter().flat_map(|heard| heard.ages.iter().copied()).collect();
                ages.push(percentile(&mut all, 0.99));
            }
            if heard.iter().any(|heard| heard.bytes < 10_000) {
                return Err("a watcher heard of no changes".into());
            }
            server.stop(cinema).await?;
        }
        // The first round warms everything up.
        if round > 0 {
            without.push(rates[0]);
            with.push(rates[1]);
            ratios.push(rates[1] / rates[0]);
        }
    }
    let ratio = Spread::of(&ratios);
    let measured = format!(
        "{}; {} and {}",
        ratio.show("times"),
        Spread::of(&with).show("a second"),
        Spread::of(&without).show("a second")
    );
    let figure = format!("Winning holds over HTTP with {WATCHERS} watchers of {} shows / with none", HALLS.shows);
    Ok(vec![
        Row::new(figure, measured).judged(ratio.median, Goal::Above(0.8, 0.9), "times"),
        Row::spread("In that sale, from a hold to a watcher of its show, p99", Spread::of(&ages), "ms"),
    ])
}

/// What an audience heard.
struct Heard {
    /// From each hold's own time until each watcher heard of it, in milliseconds.
    ages: Vec<f64>,
    /// What a watcher costs the server.
    kilobytes_each: f64,
}

async fn hear(cinema: &Cinema, watchers: usize, duration: Duration) -> Result<Heard> {
    House { shows: 1, seats: SEATS }.open(cinema).await?;
    let server = Server::start(cinema).await?;
    // As it is when it has shown its map to somebody.
    changes(server.address, Duration::from_secs(1)).await?;
    let before = server.memory_kib()?;
    let audience = Audience::come(server.address, watchers, 1, Ears::All).await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let after = server.memory_kib()?;
    let held = changes(server.address, duration).await?;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let mut ages: Vec<f64> = audience.leave().await?.into_iter().flat_map(|heard| heard.ages).collect();
    server.stop(cinema).await?;
    // What was never heard of is older than anything; the watchers came after the first holds.
    let missed = (held * watchers).saturating_sub(ages.len());
    ages.extend(std::iter::repeat_n(f64::INFINITY, missed));
    Ok(Heard { ages, kilobytes_each: (after - before).max(0.0) / watchers as f64 })
}

/// Strangers hold a seat and give it back a second later, at a steady pace; how many holds there were.
async fn changes(address: SocketAddr, duration: Duration) -> Result<usize> {
    let mut connection = Connection::open(address).await?;
    let mut every = tokio::time::interval(Duration::from_secs(1) / HOLDS_A_SECOND);
    let start = Instant::now();
    let (mut held, mut holding) = (0, VecDeque::new());
    while start.elapsed() < duration || !holding.is_empty() {
        every.tick().await;
        if start.elapsed() < duration {
            let seat = held * 7 % SEATS + 1;
            let form = format!("show={}&seats%5B%5D={seat}&attempt={}", show_id(0), Uuid::new_v4());
            let request = connection.post("/api/hold_seats", "", &form);
            let answer = connection.ask(&request).await?;
            if !is_held(&answer) {
                return Err(format!("a hold was answered with {}", answer.status).into());
            }
            held += 1;
            let cookie = answer.header("set-cookie").and_then(|cookie| cookie.split(';').next()).unwrap_or_default();
            let order = answer.header("location").and_then(|page| page.split('/').nth_back(1)).unwrap_or_default();
            holding.push_back((format!("cookie: {cookie}\r\n"), format!("order={order}"), Instant::now()));
        }
        let is_over = |held: &(String, String, Instant)| held.2.elapsed() >= HELD;
        if let Some((cookie, form, _)) = holding.pop_front_if(|held| is_over(held)) {
            let release = connection.post("/api/release_hold", &cookie, &form);
            if connection.ask(&release).await?.status >= 400 {
                return Err("a release was refused".into());
            }
        }
    }
    Ok(held)
}

/// Those who watch.
struct Audience {
    closing: CancellationToken,
    watchers: Vec<JoinHandle<Result<Watcher>>>,
}

/// Who of those who watch finds out how old each change is; the others only take it off the wire, since in a cinema watchers
/// do not sit on the server's cores.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ears {
    /// Everybody.
    All,
    /// One in a hundred.
    Few,
}

impl Audience {
    /// So many come, to so many shows in turns; each has heard something when this is over.
    async fn come(address: SocketAddr, number: usize, shows: usize, ears: Ears) -> Result<Self> {
        let closing = CancellationToken::new();
        let here = Arc::new(tokio::sync::Semaphore::new(0));
        let doors = Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
        let watch = |nth: usize| {
            let (closing, here, doors) = (closing.clone(), Arc::clone(&here), Arc::clone(&doors));
            let listens = ears == Ears::All || nth.is_multiple_of(100);
            tokio::spawn(async move {
                let door = doors.acquire_owned().await?;
                let mut stream = TcpStream::connect(address).await?;
                let path = format!("/shows/{}/live", show_id(nth % shows));
                stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n").as_bytes()).await?;
                let mut watcher = Watcher { ages: Vec::new(), bytes: 0, text: Vec::with_capacity(4096) };
                stream.read_buf(&mut watcher.text).await?;
                if !watcher.text.starts_with(b"HTTP/1.1 200") {
                    return Err("a watcher was refused".into());
                }
                drop(door);
                here.add_permits(1);
                loop {
                    tokio::select! {
                        () = closing.cancelled() => return Ok(watcher),
                        read = stream.read_buf(&mut watcher.text) => if read? == 0 { return Err("a stream ended".into()) },
                    }
                    watcher.bytes += watcher.text.len();
                    if listens { watcher.hear() } else { watcher.text.clear() }
                }
            })
        };
        let watchers = (0..number).map(watch).collect();
        let all = here.acquire_many(u32::try_from(number)?);
        tokio::time::timeout(Duration::from_secs(60), all).await.map_err(|_| "not all watchers came")??.forget();
        Ok(Self { closing, watchers })
    }

    /// They go; what each has heard.
    async fn leave(self) -> Result<Vec<Watcher>> {
        self.closing.cancel();
        let mut all = Vec::with_capacity(self.watchers.len());
        for watcher in self.watchers {
            all.push(watcher.await??);
        }
        Ok(all)
    }
}

struct Watcher {
    /// How old each change was when this one heard of it, in milliseconds.
    ages: Vec<f64>,
    bytes: usize,
    text: Vec<u8>,
}

impl Watcher {
    /// Notes how old each held seat is of which it was told, and forgets what it has read.
    fn hear(&mut self) {
        const MARK: &[u8] = b"\"locked_at\":\"";
        let now = Utc::now();
        let mut at = 0;
        while let Some(found) = self.text[at..].windows(MARK.len()).position(|part| part == MARK) {
            let begin = at + found + MARK.len();
            let Some(length) = self.text[begin..].iter().position(|byte| *byte == b'"') else { break };
            let time = std::str::from_utf8(&self.text[begin..begin + length]).unwrap_or_default();
            if let Ok(locked_at) = DateTime::parse_from_rfc3339(time) {
                self.ages.push((now - locked_at.to_utc()).num_microseconds().unwrap_or_default() as f64 / 1000.0);
            }
            at = begin + length;
        }
        // A time that is cut in two stays until its rest is here.
        let keep = if at == 0 { self.text.len().saturating_sub(64) } else { at };
        self.text.drain(..keep.min(self.text.len()));
    }
}
