//! `queue`: one worker a show. Commands wait in line; the worker takes all that wait, up to a batch, looks once, decides
//! one after the other by the product's own rule, and writes everything in one transaction, so that a batch shares a flush.
//! Nobody else may write: right as long as a show has one worker, which means one server.

use std::collections::HashMap;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sqlx::postgres::{PgConnection, PgPool};
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use super::rows::{one_seat, tickets};
use super::{Answer, Strategy};
use crate::domain::seat::{HoldWindow, SeatNo, Status};
use crate::rush::laboratory::bench::{Bench, Trouble};
use crate::rush::laboratory::crowd::{Order, ShowNo};
use crate::rush::laboratory::record::Books;

/// Most commands of one transaction.
const BATCH: usize = 64;

const READ: &str = "-- read
select seat_no, status::text, locked_at, order_id, clock_timestamp()
from seats where show_no = $1 and seat_no = any ($2)";

const WRITE: &str = "-- write
update seats s set status = new.status::seat_status, locked_at = new.locked_at, order_id = new.order_id
from unnest($2::smallint[], $3::text[], $4::timestamptz[], $5::uuid[]) new (seat_no, status, locked_at, order_id)
where s.show_no = $1 and s.seat_no = new.seat_no";

const SELL: &str = "-- sell
insert into tickets (show_no, seat_no, order_id)
select $1, sold.seat_no, sold.order_id from unnest($2::smallint[], $3::uuid[]) sold (seat_no, order_id)";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Hold,
    Confirm,
    Release,
}

#[derive(Debug)]
struct Command {
    what: What,
    order: Order,
    reply: oneshot::Sender<Result<bool, Trouble>>,
}

/// A seat as the worker sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seat {
    status: Status,
    locked_at: Option<DateTime<Utc>>,
    order: Option<Uuid>,
}

#[derive(Debug)]
pub struct Queue {
    pool: PgPool,
    shows: Vec<mpsc::Sender<Command>>,
}

impl Queue {
    pub fn open(bench: &Bench) -> Self {
        let worker = |show| {
            let (sender, commands) = mpsc::channel(1024);
            // Ends when the last sender is gone, with the strategy.
            tokio::spawn(work(bench.pool.clone(), bench.window, ShowNo(show), commands));
            sender
        };
        Self { pool: bench.pool.clone(), shows: (1..=bench.contention.shows).map(worker).collect() }
    }

    async fn send(&self, what: What, order: &Order) -> Result<bool, Trouble> {
        let show = usize::try_from(order.show.0 - 1).ok().and_then(|nth| self.shows.get(nth)).ok_or(Trouble::Gone)?;
        let (reply, answer) = oneshot::channel();
        let command = Command { what, order: order.clone(), reply };
        show.send(command).await.map_err(|_gone| Trouble::Gone)?;
        answer.await.map_err(|_gone| Trouble::Gone)?
    }
}

async fn work(pool: PgPool, window: HoldWindow, show: ShowNo, mut commands: mpsc::Receiver<Command>) {
    let mut batch = Vec::with_capacity(BATCH);
    while commands.recv_many(&mut batch, BATCH).await > 0 {
        let done = run_batch(&pool, window, show, &batch).await;
        let trouble = done.as_ref().err().map(ToString::to_string);
        let mut answers = done.unwrap_or_default().into_iter();
        for command in batch.drain(..) {
            let lost = || Trouble::Worker(trouble.clone().unwrap_or_default());
            // Whoever has gone does not hear it; what was decided stays.
            let _heard = command.reply.send(answers.next().ok_or_else(lost));
        }
    }
}

fn is_own(seat: &Seat, order: &Order) -> bool {
    seat.order == Some(order.id.0) && seat.status == Status::Locked
}

/// Decides a batch and writes what it changes: the answers in order.
async fn run_batch(pool: &PgPool, window: HoldWindow, show: ShowNo, batch: &[Command]) -> Result<Vec<bool>, Trouble> {
    let mut transaction = pool.begin().await?;
    let (seen, now) = read(&mut transaction, show, batch).await?;
    let mut seats = seen.clone();
    let mut sold: (Vec<i16>, Vec<Uuid>) = Default::default();
    let mut answers = Vec::with_capacity(batch.len());
    for Command { what, order, .. } in batch {
        let fits = |seat: &Seat| {
            let available = window.is_available(seat.status, seat.locked_at, now);
            match what {
                What::Hold => available,
                What::Confirm => is_own(seat, order) && !available,
                What::Release => true,
            }
        };
        let all = order.seats.iter().all(|seat| seats.get(seat).is_some_and(fits));
        answers.push(all);
        if !all {
            continue;
        }
        let id = Some(order.id.0);
        let become_what = match what {
            What::Hold => Seat { status: Status::Locked, locked_at: Some(now), order: id },
            What::Confirm => Seat { status: Status::Booked, locked_at: None, order: id },
            What::Release => Seat { status: Status::Available, locked_at: None, order: None },
        };
        for no in &order.seats {
            // A lapsed hold may have lost seats to others: what is still its own is given back.
            let ours = |seat: &&mut Seat| *what != What::Release || is_own(seat, order);
            if let Some(seat) = seats.get_mut(no).filter(ours) {
                *seat = become_what;
            }
        }
        if *what == What::Confirm {
            sold.0.extend(order.clicked());
            sold.1.extend(order.seats.iter().map(|_| order.id.0));
        }
    }
    let changed: Vec<(SeatNo, Seat)> = seats.into_iter().filter(|(seat, now)| seen.get(seat) != Some(now)).collect();
    if changed.is_empty() && sold.0.is_empty() {
        transaction.rollback().await?;
        return Ok(answers);
    }
    sqlx::query(WRITE)
        .bind(show.0)
        .bind(changed.iter().map(|(no, _)| no.0).collect::<Vec<_>>())
        .bind(changed.iter().map(|(_, seat)| seat.status.as_str()).collect::<Vec<_>>())
        .bind(changed.iter().map(|(_, seat)| seat.locked_at).collect::<Vec<_>>())
        .bind(changed.iter().map(|(_, seat)| seat.order).collect::<Vec<_>>())
        .execute(&mut *transaction)
        .await?;
    if !sold.0.is_empty() {
        sqlx::query(SELL).bind(show.0).bind(sold.0).bind(sold.1).execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(answers)
}

type Row = (i16, String, Option<DateTime<Utc>>, Option<Uuid>, DateTime<Utc>);

async fn read(
    connection: &mut PgConnection,
    show: ShowNo,
    batch: &[Command],
) -> Result<(HashMap<SeatNo, Seat>, DateTime<Utc>), Trouble> {
    let mut wanted: Vec<i16> = batch.iter().flat_map(|command| command.order.clicked()).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let rows: Vec<Row> = sqlx::query_as(READ).bind(show.0).bind(wanted).fetch_all(connection).await?;
    let now = rows.iter().map(|row| row.4).max().ok_or(Trouble::Corrupt(format!("no seats of show {}", show.0)))?;
    let mut seats = HashMap::with_capacity(rows.len());
    for (no, status, locked_at, order, _) in rows {
        let status = status.parse().map_err(|()| Trouble::Corrupt(status))?;
        seats.insert(SeatNo(no), Seat { status, locked_at, order });
    }
    Ok((seats, now))
}

#[async_trait]
impl Strategy for Queue {
    async fn hold(&self, order: &Order) -> Result<Answer, Trouble> {
        Ok(Answer::at_once(self.send(What::Hold, order).await?))
    }

    async fn confirm(&self, order: &Order) -> Result<bool, Trouble> {
        self.send(What::Confirm, order).await
    }

    async fn release(&self, order: &Order) -> Result<(), Trouble> {
        self.send(What::Release, order).await.map(|_| ())
    }

    async fn books(&self) -> Result<Books, Trouble> {
        let owned: Vec<(i32, i16, Uuid)> = sqlx::query_as(
            "-- owned
             select show_no, seat_no, order_id from seats where order_id is not null",
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(Books { owned: owned.into_iter().map(one_seat).collect(), tickets: tickets(&self.pool).await? })
    }
}
