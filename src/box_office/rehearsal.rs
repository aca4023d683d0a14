//! Open a house for a rehearsal: one hall, one film, one show, in a database that has no cinema yet. The crowd of
//! `matinee rush` meets it instead of people.

use chrono::{TimeDelta, Utc};
use rand::RngCore;
use sqlx::postgres::PgPool;
use uuid::Uuid;

use super::demo::ZONE;
use crate::domain::cinema::Cinema;
use crate::domain::ids::{PlanId, ShowId};
use crate::domain::plan::Plan;
use crate::domain::seat::HoldWindow;
use crate::domain::show::Film;
use crate::store::setup::{self, NewShow};
use crate::store::{StoreError, StoreResult, cinemas, transaction};

/// Seats of a full row.
const ROW: usize = 40;
/// Behind so many an aisle.
const BLOCK: usize = 20;

/// Opens it: a show of so many seats in rows of forty, on sale now, whose holds last so long.
///
/// # Errors
/// When the database refuses.
pub async fn open(pool: &PgPool, seats: u16, hold_window: HoldWindow) -> StoreResult<(ShowId, Plan)> {
    let mut cookie_key = vec![0_u8; 64];
    rand::rng().fill_bytes(&mut cookie_key);
    cinemas::create(pool, &Cinema { name: "A rehearsal".to_owned(), zone: ZONE }, &cookie_key).await?;
    let layout = layout(seats.into());
    let plan = Plan::parse(&layout).map_err(|error| StoreError::Schema(error.to_string()))?;
    let (film, hall, plan_id) = (Uuid::new_v4(), Uuid::new_v4(), PlanId(Uuid::new_v4()));
    let starts_at = Utc::now() + TimeDelta::days(30);
    let show = NewShow {
        id: ShowId(Uuid::new_v4()),
        film,
        hall,
        plan: plan_id,
        starts_at,
        sales_close_at: starts_at,
        hold_window,
        currency: "EUR".parse().map_err(StoreError::Schema)?,
        zone_prices: vec![1250],
    };
    let (id, places) = (show.id, plan.clone());
    transaction::run(
        pool,
        Box::new(move |connection| {
            let (layout, show, places) = (layout.clone(), show.clone(), places.clone());
            Box::pin(async move {
                setup::add_plan(connection, plan_id, &layout).await?;
                setup::add_hall(connection, hall, "The Great Hall", plan_id).await?;
                let row = Film {
                    title: "The Opening".to_owned(),
                    poster: "paper-comet".to_owned(),
                    runtime_min: 97,
                    genre: "Family".to_owned(),
                    rating: "6+".to_owned(),
                    blurb: String::new(),
                };
                setup::add_film(connection, film, &row).await?;
                setup::add_show(connection, &show, &places).await?;
                Ok(())
            })
        }),
    )
    .await?;
    Ok((id, plan))
}

fn layout(seats: usize) -> String {
    let rows = (0..seats).step_by(ROW).map(|first| {
        let row = ROW.min(seats - first);
        let places = format!("{}.{}", "s".repeat(row.min(BLOCK)), "s".repeat(row.saturating_sub(BLOCK)));
        format!("row {} | {}\n", first / ROW + 1, places.trim_end_matches('.'))
    });
    rows.fold("zone s Stalls\n".to_owned(), |layout, row| layout + &row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::plan::MOST_PLACES;

    #[test]
    fn the_house_has_as_many_seats_as_were_asked_for() {
        for seats in [1, 19, 20, 21, 40, 41, 300, 1_000, MOST_PLACES] {
            assert_eq!(Plan::parse(&layout(seats)).unwrap().places().len(), seats, "{seats}");
        }
    }
}
