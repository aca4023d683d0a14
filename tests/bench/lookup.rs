//! How long it takes to look up ten seats of one show among all.

use std::time::Instant;

use rand::{Rng, rng};
use uuid::Uuid;

use crate::Result;
use crate::cinema::{Cinema, SEATS, show_id};
use crate::rounds::percentile;

/// Look-ups of a round.
const TIMES: usize = 500;

/// The median of look-ups at random shows out of so many, over one connection, in milliseconds: with the way there and back.
pub async fn ten_seats(cinema: &Cinema, shows: usize) -> Result<f64> {
    let mut connection = cinema.connect().await?;
    let mut times = Vec::with_capacity(TIMES);
    for nth in 0..TIMES + TIMES / 10 {
        let (show, first) = (show_id(rng().random_range(0..shows)), rng().random_range(1..SEATS - 10));
        let seats: Vec<i16> = (first..first + 10).map(i16::try_from).collect::<std::result::Result<_, _>>()?;
        let look = sqlx::query(
            "select seat_no, status::text, locked_at, order_id from seats where show_id = $1 and seat_no = any ($2)",
        )
        .bind(show.parse::<Uuid>()?)
        .bind(seats);
        let start = Instant::now();
        let found = look.fetch_all(&mut connection).await?.len();
        if found != 10 {
            return Err(format!("a look-up found {found} of 10 seats").into());
        }
        // The first ones prepare the statement and warm everything up.
        if nth >= TIMES / 10 {
            times.push(start.elapsed().as_secs_f64() * 1000.0);
        }
    }
    Ok(percentile(&mut times, 0.5))
}
