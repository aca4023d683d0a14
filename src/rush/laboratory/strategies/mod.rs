//! The strategies, each in a file of its own, each correct as its advocates write it but for those that say otherwise.

mod advisory;
mod conditional;
mod counter;
mod document;
pub mod look_alikes;
mod naive;
mod name;
mod optimistic;
mod pessimistic;
mod process_mutex;
mod queue;
pub mod redis_cas;
pub mod redis_lock;
pub mod rows;
mod serializable;
mod unique;

use std::fmt;
use std::future::Future;
use std::time::Duration;

use async_trait::async_trait;
use rand::Rng;

use super::bench::Trouble;
use super::crowd::Order;
use super::record::Books;

pub use name::{Choice, Name};

/// So many times a conflict is tried again before the visitor is sent away with an error.
const TRIES: u32 = 60;

/// The answer to a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// All of the wanted seats are held; else none is.
    pub won: bool,
    /// Tries beyond the first.
    pub retries: u32,
}

impl Answer {
    /// At the first try.
    pub const fn at_once(won: bool) -> Self {
        Self { won, retries: 0 }
    }
}

/// A way to keep a seat from being sold twice.
#[async_trait]
pub trait Strategy: fmt::Debug + Send + Sync {
    /// Holds all of the seats or none.
    async fn hold(&self, order: &Order) -> Result<Answer, Trouble>;

    /// Sells held seats; false when the hold has lapsed.
    async fn confirm(&self, order: &Order) -> Result<bool, Trouble>;

    /// Gives held seats back; nothing when the hold has lapsed.
    async fn release(&self, order: &Order) -> Result<(), Trouble>;

    /// What the store holds: read when everybody has gone.
    async fn books(&self) -> Result<Books, Trouble>;

    /// Connections that it opened to Redis.
    async fn redis_connections(&self) -> usize {
        0
    }

    /// Whether seats have numbers, or are just so many places.
    fn is_numbered(&self) -> bool {
        true
    }
}

/// Tries until there is an answer. `Ok(None)` and conflicts mean: somebody was quicker, look again.
async fn again<F>(mut attempt: impl FnMut() -> F) -> Result<Answer, Trouble>
where
    F: Future<Output = Result<Option<bool>, Trouble>>,
{
    for retries in 0..TRIES {
        match attempt().await {
            Ok(Some(won)) => return Ok(Answer { won, retries }),
            Ok(None) => {}
            Err(trouble) if trouble.is_conflict() => {}
            Err(trouble) => return Err(trouble),
        }
        pause(retries).await;
    }
    Err(Trouble::GaveUp(TRIES))
}

/// A random pause, longer after each try, so that those who met do not meet again at once.
async fn pause(retries: u32) {
    let most_us = 250_u64 << retries.min(6);
    let pause = rand::rng().random_range(0..most_us);
    tokio::time::sleep(Duration::from_micros(pause)).await;
}
