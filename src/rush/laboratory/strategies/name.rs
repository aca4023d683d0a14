//! Names of the strategies, and what is known of each before it runs.

use std::sync::Arc;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::{
    Strategy, advisory, conditional, counter, document, look_alikes, naive, optimistic, pessimistic, process_mutex,
    queue, redis_cas, redis_lock, serializable, unique,
};
use crate::rush::laboratory::bench::{Bench, Trouble};

/// A strategy's name on the command line and in tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub enum Name {
    /// One conditional statement: pre-check, ordered lock, update by key, guard. The product's.
    Conditional,
    /// A transaction that locks the rows in seat order, then looks, then writes.
    Pessimistic,
    /// Look, then write only what still has the version that was seen; else again.
    Optimistic,
    /// A row is a hold; the primary key and "on conflict do nothing" decide.
    Unique,
    /// Look, then write, in a serializable transaction; again when Postgres refuses.
    Serializable,
    /// Advisory locks of the transaction, in seat order, then look, then write.
    Advisory,
    /// One worker a show takes one batch after another.
    Queue,
    /// A mutex for each seat in the memory of the only server.
    ProcessMutex,
    /// A row says how many places of a show are left, and an update takes some.
    Counter,
    /// A show is one JSON document with a version.
    Document,
    /// A lock a seat in Redis, with expiry and fencing; the seats in Postgres.
    RedisLock,
    /// The seats in Redis, with WATCH, MULTI and EXEC.
    RedisCas,
    /// Meant to fail: look, wait 20 ms, write.
    Naive,
    /// Meant to fail: the same mutexes in two servers on one database.
    ProcessMutexOnTwoServers,
    /// Meant to fail, and not part of "all": the locked rows joined by their place instead of their key.
    LookAlikeCtid,
    /// Meant to fail, and not part of "all": an update that counts the free seats and locks none.
    LookAlikeCount,
}

impl Name {
    /// What "all" means.
    pub const ALL: [Self; 14] = [
        Self::Conditional,
        Self::Pessimistic,
        Self::Optimistic,
        Self::Unique,
        Self::Serializable,
        Self::Advisory,
        Self::Queue,
        Self::ProcessMutex,
        Self::Counter,
        Self::Document,
        Self::RedisLock,
        Self::RedisCas,
        Self::Naive,
        Self::ProcessMutexOnTwoServers,
    ];

    /// As it is written.
    pub fn text(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// What it does, in a sentence.
    pub fn about(self) -> String {
        let value = self.to_possible_value();
        value.and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default()
    }

    /// Whether the checker should find nothing.
    pub const fn is_right(self) -> bool {
        !matches!(self, Self::Naive | Self::ProcessMutexOnTwoServers | Self::LookAlikeCtid | Self::LookAlikeCount)
    }

    /// Whether it needs Redis.
    pub const fn needs_redis(self) -> bool {
        matches!(self, Self::RedisLock | Self::RedisCas)
    }

    /// Why it cannot simply be put in the place of the product's, where that is so: what it does or is.
    pub const fn limit(self) -> Option<&'static str> {
        match self {
            Self::Queue | Self::ProcessMutex => Some("is right with one server only"),
            Self::Counter => Some("is for places without numbers"),
            Self::RedisCas => Some("keeps what was sold in Redis' memory and waits for no disk"),
            Self::RedisLock => Some("needs a second service, and Postgres still decides"),
            _ => None,
        }
    }

    /// Whether it does what the product must: numbered seats, on any number of servers, kept by Postgres alone.
    pub const fn is_candidate(self) -> bool {
        self.is_right() && self.limit().is_none()
    }

    /// Puts it on a bench.
    ///
    /// # Errors
    /// When its store refuses, or is missing.
    pub async fn open(self, bench: &Bench) -> Result<Arc<dyn Strategy>, Trouble> {
        Ok(match self {
            Self::Conditional => Arc::new(conditional::open(bench)),
            Self::Pessimistic => Arc::new(pessimistic::open(bench)),
            Self::Optimistic => Arc::new(optimistic::open(bench)),
            Self::Unique => Arc::new(unique::Unique::open(bench)),
            Self::Serializable => Arc::new(serializable::open(bench)),
            Self::Advisory => Arc::new(advisory::open(bench)),
            Self::Queue => Arc::new(queue::Queue::open(bench)),
            Self::ProcessMutex => Arc::new(process_mutex::open(bench, 1)),
            Self::ProcessMutexOnTwoServers => Arc::new(process_mutex::open(bench, 2)),
            Self::Counter => Arc::new(counter::Counter::open(bench)),
            Self::Document => Arc::new(document::Document::open(bench)),
            Self::RedisLock => Arc::new(redis_lock::open(bench, redis_lock::EXPIRY, true).await?),
            Self::RedisCas => Arc::new(redis_cas::RedisCas::open(bench).await?),
            Self::Naive => Arc::new(naive::open(bench)),
            Self::LookAlikeCtid => Arc::new(look_alikes::ctid(bench)),
            Self::LookAlikeCount => Arc::new(look_alikes::count(bench)),
        })
    }
}

/// What the command line may name: a strategy, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Every one of [`Name::ALL`].
    All,
    /// This one.
    One(Name),
}

impl ValueEnum for Choice {
    fn value_variants<'a>() -> &'a [Self] {
        const CHOICES: [Choice; 17] = {
            let mut choices = [Choice::All; 17];
            let mut nth = 0;
            while nth < Name::ALL.len() {
                choices[nth + 1] = Choice::One(Name::ALL[nth]);
                nth += 1;
            }
            choices[15] = Choice::One(Name::LookAlikeCtid);
            choices[16] = Choice::One(Name::LookAlikeCount);
            choices
        };
        &CHOICES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::All => Some(PossibleValue::new("all").help("Every strategy below that is part of \"all\"")),
            Self::One(name) => name.to_possible_value(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_can_be_named_and_says_what_it_does() {
        for name in Name::value_variants() {
            assert_eq!(Choice::from_str(&name.text(), false), Ok(Choice::One(*name)));
            assert!(name.about().len() > 20, "{name:?}");
            let look_alike = matches!(name, Name::LookAlikeCtid | Name::LookAlikeCount);
            assert_eq!(Name::ALL.contains(name), !look_alike, "{name:?}");
            assert_eq!(name.is_right(), !name.about().starts_with("Meant to fail"), "{name:?}");
        }
    }
}
