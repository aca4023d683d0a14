//! `redis-cas`: the seats are keys in Redis. WATCH them, look, and write within MULTI and EXEC, which does nothing when one
//! of them has changed; then again. Quick, because nothing waits for a disk: what was sold is in memory, and a power cut,
//! or a failover to a copy that lags behind, sells it once more.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use redis::aio::MultiplexedConnection;
use tokio::sync::Mutex;
use uuid::Uuid;

use super::{Answer, Strategy, again};
use crate::domain::ids::OrderId;
use crate::domain::seat::{HoldWindow, SeatNo, Status};
use crate::rush::laboratory::bench::{Bench, Trouble};
use crate::rush::laboratory::crowd::{Order, ShowNo};
use crate::rush::laboratory::record::{Books, Owned, Place};
use crate::rush::laboratory::redis_server::{MISSING, RedisServer};

/// The list of tickets.
const TICKETS: &str = "tickets";

/// A seat's value: `status order locked_at`, the last in microseconds of Redis' clock. A seat without a key is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seat {
    status: Status,
    order: OrderId,
    locked_at: DateTime<Utc>,
}

impl Seat {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let status = words.next()?.parse().ok()?;
        let order = OrderId(words.next()?.parse().ok()?);
        Some(Self { status, order, locked_at: DateTime::from_timestamp_micros(words.next()?.parse().ok()?)? })
    }

    fn text(&self) -> String {
        format!("{} {} {}", self.status.as_str(), self.order, self.locked_at.timestamp_micros())
    }
}

/// The seats, and the connections to them.
#[derive(Debug)]
pub struct RedisCas {
    server: Arc<RedisServer>,
    idle: Mutex<Vec<MultiplexedConnection>>,
    window: HoldWindow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Hold,
    Confirm,
    Release,
}

impl RedisCas {
    /// On an empty Redis.
    pub async fn open(bench: &Bench) -> Result<Self, Trouble> {
        let server = bench.redis.clone().ok_or_else(|| Trouble::Missing(MISSING.to_owned()))?;
        server.clear().await?;
        Ok(Self { server, idle: Mutex::default(), window: bench.window })
    }

    /// On a connection that nobody else uses meanwhile: what is watched is a matter of the connection.
    async fn run(&self, what: What, order: &Order) -> Result<Answer, Trouble> {
        let idle = self.idle.lock().await.pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.server.connect().await?,
        };
        let answer = again(|| self.attempt(connection.clone(), what, order)).await;
        self.idle.lock().await.push(connection);
        answer
    }

    async fn attempt(
        &self,
        mut redis: MultiplexedConnection,
        what: What,
        order: &Order,
    ) -> Result<Option<bool>, Trouble> {
        let keys: Vec<String> = order.seats.iter().map(|seat| format!("seat:{}:{seat}", order.show.0)).collect();
        let mut look = redis::pipe();
        look.cmd("WATCH").arg(&keys).ignore().cmd("MGET").arg(&keys).cmd("TIME");
        let (seen, (seconds, micros)): (Vec<Option<String>>, (i64, i64)) = look.query_async(&mut redis).await?;
        let corrupt = || Trouble::Corrupt(format!("{seen:?} at {seconds}"));
        let now = DateTime::from_timestamp_micros(seconds * 1_000_000 + micros).ok_or_else(corrupt)?;
        let (mut fits, mut owns) = (true, Vec::with_capacity(keys.len()));
        for text in &seen {
            let seat = match text {
                Some(text) => Some(Seat::parse(text).ok_or_else(corrupt)?),
                None => None,
            };
            let available = seat.is_none_or(|seat| self.window.is_available(seat.status, Some(seat.locked_at), now));
            let own = seat.is_some_and(|seat| seat.order == order.id && seat.status == Status::Locked);
            owns.push(own);
            fits &= match what {
                What::Hold => available,
                What::Confirm => own && !available,
                What::Release => true,
            };
        }
        if !fits {
            redis::cmd("UNWATCH").exec_async(&mut redis).await?;
            return Ok(Some(false));
        }
        let mut change = redis::pipe();
        change.atomic();
        for ((key, seat), own) in keys.iter().zip(&order.seats).zip(owns) {
            let status = if what == What::Hold { Status::Locked } else { Status::Booked };
            let value = Seat { status, order: order.id, locked_at: now }.text();
            match what {
                What::Release if own => change.cmd("DEL").arg(key).ignore(),
                // A lapsed hold may have lost seats to others.
                What::Release => &mut change,
                _ => change.cmd("SET").arg(key).arg(value).ignore(),
            };
            if what == What::Confirm {
                let ticket = format!("{} {seat} {}", order.show.0, order.id);
                change.cmd("RPUSH").arg(TICKETS).arg(ticket).ignore();
            }
        }
        let done: Option<()> = change.query_async(&mut redis).await?;
        Ok(done.map(|()| true))
    }
}

fn owned(show: &str, seat: &str, order: &str) -> Option<Owned> {
    let place = Place { show: ShowNo(show.parse().ok()?), seat: Some(SeatNo(seat.parse().ok()?)) };
    Some(Owned { place, order: OrderId(order.parse::<Uuid>().ok()?), units: 1 })
}

#[async_trait]
impl Strategy for RedisCas {
    async fn hold(&self, order: &Order) -> Result<Answer, Trouble> {
        self.run(What::Hold, order).await
    }

    async fn confirm(&self, order: &Order) -> Result<bool, Trouble> {
        Ok(self.run(What::Confirm, order).await?.won)
    }

    async fn release(&self, order: &Order) -> Result<(), Trouble> {
        self.run(What::Release, order).await.map(|_| ())
    }

    async fn redis_connections(&self) -> usize {
        self.idle.lock().await.len()
    }

    async fn books(&self) -> Result<Books, Trouble> {
        let mut redis = self.server.connect().await?;
        let corrupt = |text: &String| Trouble::Corrupt(text.clone());
        let mut books = Books::default();
        let keys: Vec<String> = redis::cmd("KEYS").arg("seat:*").query_async(&mut redis).await?;
        for key in keys {
            let text: String = redis::cmd("GET").arg(&key).query_async(&mut redis).await?;
            let seat = Seat::parse(&text).ok_or_else(|| corrupt(&text))?;
            let parts: Vec<&str> = key.split(':').collect();
            let [_, show, no] = parts[..] else { return Err(corrupt(&key)) };
            books.owned.push(owned(show, no, &seat.order.to_string()).ok_or_else(|| corrupt(&key))?);
        }
        let tickets: Vec<String> = redis::cmd("LRANGE").arg(TICKETS).arg(0).arg(-1).query_async(&mut redis).await?;
        for text in tickets {
            let parts: Vec<&str> = text.split(' ').collect();
            let [show, no, order] = parts[..] else { return Err(corrupt(&text)) };
            books.tickets.push(owned(show, no, order).ok_or_else(|| corrupt(&text))?);
        }
        Ok(books)
    }
}
