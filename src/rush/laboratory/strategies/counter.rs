//! `counter`: a row says how many places of a show are left, and an update takes some if there are enough. For places
//! without numbers. What a lapsed hold had goes back to the row by whoever comes next.

use async_trait::async_trait;
use sqlx::postgres::PgPool;
use uuid::Uuid;

use super::rows::tickets;
use super::{Answer, Strategy};
use crate::domain::ids::OrderId;
use crate::domain::seat::HoldWindow;
use crate::rush::laboratory::bench::{Bench, Trouble};
use crate::rush::laboratory::crowd::{Order, ShowNo};
use crate::rush::laboratory::record::{Books, Owned, Place};

/// Without a lapsed hold this reads only.
const GIVE_BACK: &str = "-- give_back
with lapsed as (
    delete from places where show_no = $1 and not sold and is_available('locked', locked_at, $2, clock_timestamp())
    returning places
)
update stocks set stock = stock + (select sum(places) from lapsed) where show_no = $1 and exists (select from lapsed)";

const TAKE: &str = "-- take
with taken as (
    update stocks set stock = stock - $2 where show_no = $1 and stock >= $2 returning show_no
)
insert into places (order_id, show_no, places, locked_at) select $3, $1, $2, clock_timestamp() from taken";

const CONFIRM: &str = "-- confirm
with bought as (
    update places set sold = true
    where order_id = $2 and not sold and not is_available('locked', locked_at, $3, clock_timestamp())
    returning places
)
insert into tickets (show_no, order_id) select $1, $2 from bought, generate_series(1, bought.places)";

const RELEASE: &str = "-- release
with released as (delete from places where order_id = $2 and not sold returning places)
update stocks set stock = stock + (select places from released) where show_no = $1 and exists (select from released)";

#[derive(Debug)]
pub struct Counter {
    pool: PgPool,
    window: HoldWindow,
}

impl Counter {
    pub fn open(bench: &Bench) -> Self {
        Self { pool: bench.pool.clone(), window: bench.window }
    }
}

#[async_trait]
impl Strategy for Counter {
    async fn hold(&self, order: &Order) -> Result<Answer, Trouble> {
        let places = i32::try_from(order.seats.len()).unwrap_or(i32::MAX);
        sqlx::query(GIVE_BACK).bind(order.show.0).bind(self.window.seconds()).execute(&self.pool).await?;
        let taken = sqlx::query(TAKE).bind(order.show.0).bind(places).bind(order.id.0).execute(&self.pool).await?;
        Ok(Answer::at_once(taken.rows_affected() == 1))
    }

    async fn confirm(&self, order: &Order) -> Result<bool, Trouble> {
        let issued = sqlx::query(CONFIRM)
            .bind(order.show.0)
            .bind(order.id.0)
            .bind(self.window.seconds())
            .execute(&self.pool)
            .await?;
        Ok(issued.rows_affected() > 0)
    }

    async fn release(&self, order: &Order) -> Result<(), Trouble> {
        sqlx::query(RELEASE).bind(order.show.0).bind(order.id.0).execute(&self.pool).await?;
        Ok(())
    }

    async fn books(&self) -> Result<Books, Trouble> {
        let owned: Vec<(i32, Uuid, i32)> = sqlx::query_as(
            "-- owned
             select show_no, order_id, places from places",
        )
        .fetch_all(&self.pool)
        .await?;
        let owned = owned.into_iter().map(|(show, order, places)| Owned {
            place: Place { show: ShowNo(show), seat: None },
            order: OrderId(order),
            units: places.unsigned_abs(),
        });
        Ok(Books { owned: owned.collect(), tickets: tickets(&self.pool).await? })
    }

    fn is_numbered(&self) -> bool {
        false
    }
}
