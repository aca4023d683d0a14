//! `unique`: a hold is a row of its own, and the primary key lets one in. A lapsed row is deleted by whoever wants the seat
//! next; a seat without a row is free. Written in seat order.

use async_trait::async_trait;
use sqlx::postgres::PgPool;
use uuid::Uuid;

use super::rows::{one_seat, tickets};
use super::{Answer, Strategy, again};
use crate::domain::seat::HoldWindow;
use crate::rush::laboratory::bench::{Bench, Trouble};
use crate::rush::laboratory::crowd::Order;
use crate::rush::laboratory::record::Books;

const CLEAR: &str = "-- clear
delete from holds where show_no = $1 and seat_no = any ($2) and not sold
                    and is_available('locked', locked_at, $3, clock_timestamp())";

const INSERT: &str = "-- insert
insert into holds (show_no, seat_no, order_id, locked_at)
select $1, seat_no, $3, clock_timestamp() from unnest($2::smallint[]) seat_no
on conflict do nothing";

const CONFIRM: &str = "-- confirm
with locked as materialized (
    select seat_no from holds
    where show_no = $1 and seat_no = any ($2) and order_id = $3 and not sold
      and not is_available('locked', locked_at, $4, clock_timestamp())
    order by seat_no for update
), booked as (
    update holds h set sold = true from locked
    where (select count(*) from locked) = cardinality($2) and h.show_no = $1 and h.seat_no = locked.seat_no
    returning h.seat_no
), issued as (
    insert into tickets (show_no, seat_no, order_id) select $1, seat_no, $3 from booked
)
select all_or_none((select count(*) from booked), cardinality($2))";

const RELEASE: &str = "-- release
delete from holds where show_no = $1 and seat_no = any ($2) and order_id = $3 and not sold";

#[derive(Debug)]
pub struct Unique {
    pool: PgPool,
    window: HoldWindow,
}

impl Unique {
    pub fn open(bench: &Bench) -> Self {
        Self { pool: bench.pool.clone(), window: bench.window }
    }

    async fn attempt(&self, order: &Order) -> Result<Option<bool>, Trouble> {
        let seats = order.sorted();
        let mut transaction = self.pool.begin().await?;
        sqlx::query(CLEAR)
            .bind(order.show.0)
            .bind(&seats)
            .bind(self.window.seconds())
            .execute(&mut *transaction)
            .await?;
        let inserted =
            sqlx::query(INSERT).bind(order.show.0).bind(&seats).bind(order.id.0).execute(&mut *transaction).await?;
        let all = inserted.rows_affected() == seats.len() as u64;
        if all {
            transaction.commit().await?;
        } else {
            transaction.rollback().await?;
        }
        Ok(Some(all))
    }
}

#[async_trait]
impl Strategy for Unique {
    async fn hold(&self, order: &Order) -> Result<Answer, Trouble> {
        again(|| self.attempt(order)).await
    }

    async fn confirm(&self, order: &Order) -> Result<bool, Trouble> {
        let confirmed = sqlx::query_scalar(CONFIRM)
            .bind(order.show.0)
            .bind(order.sorted())
            .bind(order.id.0)
            .bind(self.window.seconds());
        Ok(confirmed.fetch_one(&self.pool).await?)
    }

    async fn release(&self, order: &Order) -> Result<(), Trouble> {
        sqlx::query(RELEASE).bind(order.show.0).bind(order.sorted()).bind(order.id.0).execute(&self.pool).await?;
        Ok(())
    }

    async fn books(&self) -> Result<Books, Trouble> {
        let owned: Vec<(i32, i16, Uuid)> = sqlx::query_as(
            "-- owned
             select show_no, seat_no, order_id from holds",
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(Books { owned: owned.into_iter().map(one_seat).collect(), tickets: tickets(&self.pool).await? })
    }
}
