//! A trial: the crowd let loose on one strategy, and what came of it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use sqlx::postgres::PgPool;

use super::bench::{Bench, Trouble};
use super::checker::{Fault, Terms, faults};
use super::crowd::{Attempt, Crowd, Then};
use super::record::{Entry, Span, Told};
use super::strategies::{Answer, Strategy};

/// How often the connections in use are counted.
const GLANCE: Duration = Duration::from_millis(2);
/// Longest time that the histogram tells apart, in microseconds.
const LONGEST_US: u64 = 120_000_000;

/// When a trial ends: whichever comes first, or the end of the crowd's list.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Attempts.
    pub attempts: u64,
    /// Time.
    pub time: Duration,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Trial {
    /// From the first call to the last answer.
    pub took: Duration,
    /// Holds asked for.
    pub attempts: u64,
    /// Attempts a second in each round.
    pub rates: Vec<f64>,
    /// Of these, told yes.
    pub won: u64,
    /// Told no.
    pub lost: u64,
    /// Neither: an error, or given up.
    pub failed: u64,
    /// Seats of orders that were told that they bought.
    pub sold: u64,
    /// Tries beyond the first.
    pub retries: u64,
    /// Counted by Postgres.
    pub deadlocks: i64,
    /// Most Postgres connections that were busy at one glance.
    pub connections: u32,
    /// Connections to Redis.
    pub redis_connections: usize,
    /// Time of a hold until its answer, in microseconds.
    pub times: Histogram<u64>,
    /// What the checker found.
    pub faults: Vec<Fault>,
    /// The first error that a client met.
    pub first_error: Option<String>,
}

impl Trial {
    /// Adds another round of the same.
    pub fn add(&mut self, round: Self) {
        self.took += round.took;
        self.attempts += round.attempts;
        self.rates.extend(round.rates);
        self.won += round.won;
        self.lost += round.lost;
        self.failed += round.failed;
        self.sold += round.sold;
        self.retries += round.retries;
        self.deadlocks += round.deadlocks;
        self.connections = self.connections.max(round.connections);
        self.redis_connections = self.redis_connections.max(round.redis_connections);
        self.times += round.times;
        self.faults.extend(round.faults);
        self.first_error = self.first_error.take().or(round.first_error);
    }

    /// Attempts a second.
    pub fn rate(&self) -> f64 {
        self.attempts as f64 / self.took.as_secs_f64().max(1e-9)
    }

    /// Time in milliseconds that this part of the holds stayed below.
    pub fn percentile_ms(&self, part: f64) -> f64 {
        self.times.value_at_quantile(part) as f64 / 1000.0
    }

    /// How many faults of a kind there are.
    pub fn count(&self, kind: &str) -> usize {
        self.faults.iter().filter(|fault| fault.kind() == kind).count()
    }
}

/// One client's part.
struct Share {
    entries: Vec<Entry>,
    times: Histogram<u64>,
    retries: u64,
    first_error: Option<String>,
}

impl Share {
    fn new() -> Self {
        // Three digits are what a reader takes in; the bounds are constants, so they always fit.
        let times = Histogram::new_with_max(LONGEST_US, 3).unwrap_or_else(|error| unreachable!("{error}"));
        Self { entries: Vec::new(), times, retries: 0, first_error: None }
    }

    fn failed(&mut self, trouble: &Trouble) -> Told {
        self.first_error.get_or_insert_with(|| trouble.to_string());
        Told::Nothing
    }

    fn note_hold(&mut self, answer: Result<Answer, Trouble>) -> Told {
        match answer {
            Ok(Answer { won, retries }) => {
                self.retries += u64::from(retries);
                if won { Told::Yes } else { Told::No }
            }
            Err(trouble) => {
                if let Trouble::GaveUp(tries) = &trouble {
                    self.retries += u64::from(tries.saturating_sub(1));
                }
                self.failed(&trouble)
            }
        }
    }

    /// Does what the holder of an entry does next.
    async fn finish(&mut self, strategy: &dyn Strategy, (nth, then): (usize, Then), start: Instant) {
        let Some(order) = self.entries.get(nth).map(|entry| entry.order.clone()) else { return };
        let called = start.elapsed();
        let answer = match then {
            Then::Confirm => strategy.confirm(&order).await,
            Then::Release => strategy.release(&order).await.map(|()| true),
            Then::Leave => return,
        };
        let span = Span { called, answered: start.elapsed() };
        let told = match answer {
            Ok(true) => Told::Yes,
            Ok(false) => Told::No,
            Err(trouble) => self.failed(&trouble),
        };
        if let Some(entry) = self.entries.get_mut(nth) {
            entry.next = Some((then, span, told));
        }
    }
}

/// Runs the crowd on the strategy, closes the bench, and asks the checker.
///
/// # Errors
/// When the bench fails; what a client meets is a figure.
pub async fn run(bench: Bench, strategy: Arc<dyn Strategy>, crowd: &Crowd, limit: Limit) -> Result<Trial, Trouble> {
    let before = counted_deadlocks(&bench).await?;
    let window = Duration::from_secs(bench.window.seconds().unsigned_abs().into());
    let next = Arc::new(AtomicU64::new(0));
    let busiest = Arc::new(AtomicU32::new(0));
    let watcher = tokio::spawn(watch(bench.pool.clone(), Arc::clone(&busiest)));
    let start = Instant::now();
    let clients: Vec<_> = (0..crowd.clients)
        .map(|_| tokio::spawn(client(Arc::clone(&strategy), *crowd, limit, window, Arc::clone(&next), start)))
        .collect();
    let mut whole = Share::new();
    for client in clients {
        let share = client.await.map_err(|_panicked| Trouble::Gone)?;
        whole.entries.extend(share.entries);
        whole.retries += share.retries;
        whole.first_error = whole.first_error.or(share.first_error);
        whole.times += &share.times;
    }
    let took = start.elapsed();
    watcher.abort();
    let called = start.elapsed();
    let books = strategy.books().await?;
    let looked = Span { called, answered: start.elapsed() };
    let unnumbered = (!strategy.is_numbered()).then_some(u32::from(crowd.contention.seats.unsigned_abs()));
    let redis_connections = strategy.redis_connections().await;
    drop(strategy);
    let deadlocks = bench.close().await? - before;
    let told = |told: Told| whole.entries.iter().filter(|entry| entry.told == told).count() as u64;
    let paid = whole.entries.iter().filter(|entry| matches!(entry.next, Some((Then::Confirm, _, Told::Yes))));
    Ok(Trial {
        took,
        attempts: whole.entries.len() as u64,
        rates: vec![whole.entries.len() as f64 / took.as_secs_f64().max(1e-9)],
        won: told(Told::Yes),
        lost: told(Told::No),
        failed: told(Told::Nothing),
        sold: paid.map(|entry| entry.order.seats.len() as u64).sum(),
        retries: whole.retries,
        deadlocks,
        connections: busiest.load(Ordering::Relaxed),
        redis_connections,
        times: whole.times,
        faults: faults(Terms { window, unnumbered }, &whole.entries, &books, looked),
        first_error: whole.first_error,
    })
}

/// What was counted before this trial; its own connections, which are open already, have nothing to hand in yet.
async fn counted_deadlocks(bench: &Bench) -> Result<i64, Trouble> {
    let deadlocks: i64 = sqlx::query_scalar(
        "-- counted_deadlocks
         select deadlocks from pg_stat_database where datname = current_database()",
    )
    .fetch_one(&bench.pool)
    .await?;
    Ok(deadlocks)
}

async fn watch(pool: PgPool, busiest: Arc<AtomicU32>) {
    loop {
        let idle = u32::try_from(pool.num_idle()).unwrap_or(u32::MAX);
        busiest.fetch_max(pool.size().saturating_sub(idle), Ordering::Relaxed);
        tokio::time::sleep(GLANCE).await;
    }
}

/// One visitor after another at the same till. Some pay or go back at once; the others keep their seats while the next one
/// tries, long enough to see it when they are taken away. Some come back to a hold that has lapsed, and release it.
async fn client(
    strategy: Arc<dyn Strategy>,
    crowd: Crowd,
    limit: Limit,
    window: Duration,
    next: Arc<AtomicU64>,
    start: Instant,
) -> Share {
    let mut share = Share::new();
    let mut holding: Option<(usize, Then)> = None;
    let mut left: VecDeque<(Duration, usize)> = VecDeque::new();
    while start.elapsed() < limit.time {
        let nth = next.fetch_add(1, Ordering::Relaxed);
        let Some(Attempt { order, then, at_once }) = (nth < limit.attempts).then(|| crowd.attempt(nth)).flatten()
        else {
            break;
        };
        let called = start.elapsed();
        let answer = strategy.hold(&order).await;
        let span = Span { called, answered: start.elapsed() };
        share.times.saturating_record(u64::try_from((span.answered - called).as_micros()).unwrap_or(u64::MAX));
        let told = share.note_hold(answer);
        share.entries.push(Entry { order, span, told, next: None });
        let held = (told == Told::Yes).then(|| (share.entries.len() - 1, then));
        if then == Then::Leave && !at_once && told == Told::Yes {
            left.push_back((span.answered + window, share.entries.len() - 1));
        }
        if let Some((_, nth)) = left.pop_front_if(|(lapses, _)| *lapses < start.elapsed()) {
            share.finish(&*strategy, (nth, Then::Release), start).await;
        }
        if at_once && let Some(held) = held {
            share.finish(&*strategy, held, start).await;
        }
        if let Some(held) = std::mem::replace(&mut holding, held.filter(|_| !at_once)) {
            share.finish(&*strategy, held, start).await;
        }
    }
    if let Some(held) = holding {
        share.finish(&*strategy, held, start).await;
    }
    share
}
