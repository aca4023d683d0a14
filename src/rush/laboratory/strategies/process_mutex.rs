//! `process-mutex`: a mutex for each seat in the server's memory, then look and write as if alone. Right as long as there is
//! one server; a second one has mutexes of its own, and the two do not know of each other.

use async_trait::async_trait;
use tokio::sync::Mutex;

use super::Answer;
use super::rows::{HoldRows, OnRows, Rows, all_free, look, write};
use crate::rush::laboratory::bench::{Bench, Trouble};
use crate::rush::laboratory::crowd::Order;

#[derive(Debug)]
pub struct ProcessMutex {
    servers: Vec<Server>,
}

/// What one server has in its memory.
#[derive(Debug)]
struct Server {
    mutexes: Vec<Mutex<()>>,
    seats: usize,
}

pub fn open(bench: &Bench, servers: usize) -> OnRows<ProcessMutex> {
    let seats = usize::from(bench.contention.seats.unsigned_abs());
    let all = seats * usize::try_from(bench.contention.shows).unwrap_or(0);
    let server = || Server { mutexes: (0..all).map(|_| Mutex::default()).collect(), seats };
    OnRows::open(bench, ProcessMutex { servers: (0..servers).map(|_| server()).collect() })
}

impl Server {
    fn of(&self, order: &Order, seat: i16) -> Option<&Mutex<()>> {
        let show = usize::try_from(order.show.0 - 1).ok()?;
        self.mutexes.get(show * self.seats + usize::try_from(seat - 1).ok()?)
    }
}

#[async_trait]
impl HoldRows for ProcessMutex {
    async fn hold(&self, rows: &Rows, order: &Order) -> Result<Answer, Trouble> {
        let server = &self.servers[order.server(self.servers.len())];
        let mut guards = Vec::with_capacity(order.seats.len());
        for seat in order.sorted() {
            let Some(mutex) = server.of(order, seat) else { return Ok(Answer::at_once(false)) };
            guards.push(mutex.lock().await);
        }
        let free = all_free(order, &look(&rows.pool, rows, order).await?);
        if free {
            write(&rows.pool, order).await?;
        }
        Ok(Answer::at_once(free))
    }
}
