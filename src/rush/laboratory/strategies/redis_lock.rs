//! `redis-lock`: a lock for each seat in Redis, taken in seat order, with an expiry so that a dead holder does not keep it
//! for good, and with fencing. The seats are in Postgres, where the record of sale is.
//!
//! The expiry alone sells twice: a holder that was slow (a pause, a full disk, a lost packet) goes on writing when its lock
//! is another's already. So each lock has a number that only grows. Its holder first raises the rows' fence to it, which
//! also reads them, and then writes only rows whose fence is still its own: whoever is late finds a higher one. That last
//! condition is checked by Postgres, row by row; the lock before it only saves tries.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use redis::aio::MultiplexedConnection;
use tokio::sync::Mutex;

use super::rows::{HoldRows, OnRows, Rows};
use super::{Answer, again};
use crate::rush::laboratory::bench::{Bench, Trouble};
use crate::rush::laboratory::crowd::Order;
use crate::rush::laboratory::redis_server::{MISSING, RedisServer};

/// A hold takes a millisecond or two; this is for a holder that died.
pub const EXPIRY: Duration = Duration::from_secs(2);

/// Rows that have seen a newer lock are left out: fewer than wanted means that this lock has expired.
const RAISE: &str = "-- raise
with locked as materialized (
    select seat_no from seats where show_no = $1 and seat_no = any ($2) and fence < $4 order by seat_no for update
)
update seats s set fence = $4 from locked where s.show_no = $1 and s.seat_no = locked.seat_no
returning is_available(s.status, s.locked_at, $3, clock_timestamp())";

const WRITE_FENCED: &str = "-- write_fenced
with locked as materialized (
    select seat_no from seats where show_no = $1 and seat_no = any ($2) and (fence = $4 or not $5)
    order by seat_no for update
), held as (
    update seats s set status = 'locked', locked_at = clock_timestamp(), order_id = $3, version = version + 1
    from locked
    where (select count(*) from locked) = cardinality($2) and s.show_no = $1 and s.seat_no = locked.seat_no
    returning 1
)
select all_or_none((select count(*) from held), cardinality($2))";

/// Deletes a lock only if it is still one's own.
const UNLOCK: &str =
    "for _, key in ipairs(KEYS) do if redis.call('get', key) == ARGV[1] then redis.call('del', key) end end";

/// The lock service, and how far it is trusted.
#[derive(Debug)]
pub struct RedisLock {
    server: Arc<RedisServer>,
    idle: Mutex<Vec<MultiplexedConnection>>,
    expiry: Duration,
    fencing: bool,
}

/// With an expiry, and with the fence or (for the checker to find) without.
///
/// # Errors
/// When there is no Redis.
pub async fn open(bench: &Bench, expiry: Duration, fencing: bool) -> Result<OnRows<RedisLock>, Trouble> {
    let server = bench.redis.clone().ok_or_else(|| Trouble::Missing(MISSING.to_owned()))?;
    server.clear().await?;
    Ok(OnRows::open(bench, RedisLock { server, idle: Mutex::default(), expiry, fencing }))
}

#[async_trait]
impl HoldRows for RedisLock {
    async fn hold(&self, rows: &Rows, order: &Order) -> Result<Answer, Trouble> {
        let idle = self.idle.lock().await.pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.server.connect().await?,
        };
        let answer = again(|| self.attempt(connection.clone(), rows, order)).await;
        self.idle.lock().await.push(connection);
        answer
    }

    async fn redis_connections(&self) -> usize {
        self.idle.lock().await.len()
    }
}

impl RedisLock {
    async fn attempt(
        &self,
        mut redis: MultiplexedConnection,
        rows: &Rows,
        order: &Order,
    ) -> Result<Option<bool>, Trouble> {
        let keys: Vec<String> = order.sorted().iter().map(|seat| format!("lock:{}:{seat}", order.show.0)).collect();
        let holder = order.id.to_string();
        let mut locked = 0;
        for key in &keys {
            let expiry = u64::try_from(self.expiry.as_millis()).unwrap_or(u64::MAX);
            let mut set = redis::cmd("SET");
            set.arg(key).arg(&holder).arg("NX").arg("PX").arg(expiry);
            let set: Option<String> = set.query_async(&mut redis).await?;
            if set.is_none() {
                break;
            }
            locked += 1;
        }
        let answer = if locked == keys.len() {
            // Only once everything is locked: a later holder has a higher number.
            let token: i64 = redis::cmd("INCR").arg("fence").query_async(&mut redis).await?;
            self.hold_locked(rows, order, token).await
        } else {
            // Somebody is at one of them: look again when they are done.
            Ok(None)
        };
        let mut unlock = redis::cmd("EVAL");
        unlock.arg(UNLOCK).arg(locked).arg(&keys[..locked]).arg(&holder);
        unlock.exec_async(&mut redis).await?;
        answer
    }

    async fn hold_locked(&self, rows: &Rows, order: &Order, token: i64) -> Result<Option<bool>, Trouble> {
        let seats = order.sorted();
        let seen: Vec<bool> = sqlx::query_scalar(RAISE)
            .bind(order.show.0)
            .bind(&seats)
            .bind(rows.window.seconds())
            .bind(token)
            .fetch_all(&rows.pool)
            .await?;
        if seen.len() < seats.len() {
            return Ok(None);
        }
        if seen.contains(&false) {
            return Ok(Some(false));
        }
        let held: bool = sqlx::query_scalar(WRITE_FENCED)
            .bind(order.show.0)
            .bind(&seats)
            .bind(order.id.0)
            .bind(token)
            .bind(self.fencing)
            .fetch_one(&rows.pool)
            .await?;
        Ok(held.then_some(true))
    }
}
