//! A database server and perhaps a Redis for one test, and benches on them.

use std::sync::Arc;
use std::time::Duration;

use matinee::domain::seat::HoldWindow;
use matinee::rush::laboratory::crowd::{Contention, Crowd};
use matinee::rush::laboratory::redis_server::{MISSING, RedisServer};
use matinee::rush::laboratory::trial::{self, Limit};
use matinee::rush::laboratory::{Bench, Name, Strategy, Trial};

use crate::support::server::Server;

/// A commit takes two milliseconds at least, as on a disk that is not the quickest. What is written and not committed yet is
/// what a strategy must get right, and without something to wait for there would hardly be any.
const SLOW_DISK: &[(&str, &str)] = &[("fsync", "on"), ("commit_delay", "2000"), ("commit_siblings", "0")];

pub struct Place {
    server: Server,
    redis: Option<Arc<RedisServer>>,
}

impl Place {
    /// What the strategy needs; `None`, with a word, when that is a Redis and none is installed.
    pub async fn open(needs_redis: bool) -> Option<Self> {
        let redis = if needs_redis { RedisServer::start().await.unwrap().map(Arc::new) } else { None };
        if needs_redis && redis.is_none() {
            println!("SKIPPED: {MISSING}");
            return None;
        }
        Some(Self { server: Server::start(SLOW_DISK).await, redis })
    }

    /// Fresh tables.
    pub async fn bench(&self, window_s: i32, contention: Contention) -> Bench {
        let window = HoldWindow::from_seconds(window_s).unwrap();
        Bench::open(&self.server.url_of("matinee"), 10, window, contention, self.redis.clone()).await.unwrap()
    }

    /// Lets the crowd of this seed loose on fresh tables.
    pub async fn trial(&self, name: Name, seed: u64) -> Trial {
        let bench = self.bench(1, contention(seed)).await;
        let strategy = name.open(&bench).await.unwrap();
        run(bench, strategy, seed).await
    }
}

/// Runs the crowd of this seed.
pub async fn run(bench: Bench, strategy: Arc<dyn Strategy>, seed: u64) -> Trial {
    let clients = 8 + usize::try_from(seed % 3).unwrap() * 4;
    let crowd = Crowd { seed, clients, contention: bench.contention };
    // With all shows open, for longer than a hold lasts.
    let time = Duration::from_millis(if bench.contention.attempts_a_show.is_some() { 600 } else { 1_500 });
    let limit = Limit { attempts: 6_000, time };
    trial::run(bench, strategy, &crowd, limit).await.unwrap()
}

/// Even seeds: a few small shows at the same time, whose lapsed holds are met again. Odd seeds: one tiny show after the
/// other, where everybody meets everybody.
pub fn contention(seed: u64) -> Contention {
    let (shows, seats) = if seed.is_multiple_of(2) { (12, 12) } else { (60, 8) };
    let attempts_a_show = (seed % 2 == 1).then_some(100);
    let paid = if attempts_a_show.is_some() { 200 } else { 40 };
    Contention { name: "test", shows, seats, attempts_a_show, paid, left: 30, party: 4 }
}

/// The seeds to run.
pub fn seeds(usual: std::ops::Range<u64>) -> Vec<u64> {
    let one = std::env::var("LABORATORY_SEED").ok().and_then(|seed| seed.parse().ok());
    one.map_or_else(|| usual.collect(), |seed| vec![seed])
}
