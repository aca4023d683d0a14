//! Load the demo cinema.

use chrono::{NaiveDate, TimeDelta, Utc};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, RngCore, SeedableRng};
use sqlx::postgres::PgPool;
use uuid::Uuid;

use super::demo::{CINEMA, FILMS, HALLS, ZONE};
use crate::domain::cinema::Cinema;
use crate::domain::ids::{PaymentId, PlanId, ShowId};
use crate::domain::money::Money;
use crate::domain::plan::{Kind, Plan};
use crate::domain::seat::HoldWindow;
use crate::domain::show::Film;
use crate::domain::ticket::TicketCode;
use crate::store::setup::{self, NewShow, SoldOrder};
use crate::store::{StoreError, StoreResult, cinemas, transaction};

/// How many days of shows there are, from today on.
pub const DAYS: u64 = 7;

/// Until how long after the start tickets are sold: the trailers.
const GRACE_MIN: i64 = 20;

/// What a seeding did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seeded {
    /// New shows.
    pub shows: usize,
    /// Their seats.
    pub seats: usize,
    /// Of which sold.
    pub sold: usize,
}

/// What somebody paid before the demo cinema began: by which payment, and how much.
pub type Bill = (PaymentId, Money);

/// Loads the demo cinema: halls, films, a week of shows from today on, some of them well sold. May be run again, any day:
/// what is there stays, what the week lacks is added.
///
/// The money for what is sold lies with the gateway, in books that are not ours: `charge` names the charge that took each
/// bill, the same for the same bill however often it is asked; or it says that this gateway has no such past, and then
/// nothing is sold.
///
/// # Errors
/// When the database refuses, or whoever keeps the gateway's books.
pub async fn seed<E: From<StoreError>>(
    pool: &PgPool,
    charge: impl AsyncFn(Vec<Bill>) -> Result<Option<Vec<String>>, E>,
) -> Result<Seeded, E> {
    let mut cookie_key = vec![0_u8; 64];
    rand::rng().fill_bytes(&mut cookie_key);
    cinemas::create(pool, &Cinema { name: CINEMA.to_owned(), zone: ZONE }, &cookie_key).await?;
    let Some((cinema, _)) = cinemas::get(pool).await? else {
        return Err(StoreError::Schema("the cinema's row has vanished".to_owned()).into());
    };
    set_up_halls_and_films(pool).await?;
    let today = cinema.date(Utc::now());
    let mut total = Seeded::default();
    for ahead in 0..DAYS {
        let Some(day) = today.checked_add_days(chrono::Days::new(ahead)) else { break };
        let mut shows = shows_of(&cinema, day)?;
        let known = setup::known(pool, &shows.iter().map(|(show, ..)| show.id).collect::<Vec<_>>()).await?;
        shows.retain(|(show, ..)| !known.contains(&show.id));
        if shows.is_empty() {
            continue;
        }
        let bills: Vec<Bill> =
            shows.iter().flat_map(|(show, plan, sold)| sold.iter().map(move |order| bill(order, plan, show))).collect();
        let count = bills.len();
        // First the gateway's books: whoever is stopped here finds the same charges when the shows are added after all.
        let charges = charge(bills).await?;
        if charges.as_ref().is_some_and(|charges| charges.len() != count) {
            return Err(StoreError::Schema("a bill of the past is not charged".to_owned()).into());
        }
        let mut charges = charges.map(Vec::into_iter);
        for (show, plan, mut sold) in shows {
            match &mut charges {
                Some(charges) => sold.iter_mut().zip(charges).for_each(|(order, charge)| order.charge = charge),
                None => sold.clear(),
            }
            let (seats, tickets) = (plan.places().len(), sold.iter().map(|order| order.seats.len()).sum::<usize>());
            if add_show(pool, show, plan, sold).await? {
                total.shows += 1;
                total.seats += seats;
                total.sold += tickets;
            }
        }
    }
    Ok(total)
}

fn bill(order: &SoldOrder, plan: &Plan, show: &NewShow) -> Bill {
    let place = |no: i16| plan.places().get(usize::from(no.cast_unsigned()).checked_sub(1)?);
    let price = |no: &i16| show.zone_prices.get(place(*no)?.zone).copied();
    (PaymentId(order.payment), Money::new(order.seats.iter().filter_map(price).sum(), show.currency))
}

/// The same name is the same row, so that seeding twice adds nothing.
fn id(kind: &str, name: &str) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("matinee:demo:{kind}:{name}").as_bytes())
}

async fn set_up_halls_and_films(pool: &PgPool) -> StoreResult<()> {
    transaction::run(
        pool,
        Box::new(|connection| {
            Box::pin(async move {
                for hall in HALLS {
                    let plan = PlanId(id("plan", hall.plan));
                    setup::add_plan(connection, plan, hall.plan).await?;
                    setup::add_hall(connection, id("hall", hall.name), hall.name, plan).await?;
                }
                for film in FILMS {
                    let row = Film {
                        title: film.title.to_owned(),
                        poster: film.poster.to_owned(),
                        runtime_min: film.runtime_min,
                        genre: film.genre.to_owned(),
                        rating: film.rating.to_owned(),
                        blurb: film.blurb.to_owned(),
                    };
                    setup::add_film(connection, id("film", film.title), &row).await?;
                }
                Ok(())
            })
        }),
    )
    .await
}

/// A day's shows, with what of each was sold before.
fn shows_of(cinema: &Cinema, day: NaiveDate) -> StoreResult<Vec<(NewShow, Plan, Vec<SoldOrder>)>> {
    let mut shows = Vec::new();
    for (hall_index, hall) in HALLS.iter().enumerate() {
        let plan = Plan::parse(hall.plan).map_err(|error| StoreError::Schema(error.to_string()))?;
        for (slot, minutes) in hall.starts.iter().enumerate() {
            let name = format!("{}:{day}:{minutes}", hall.name);
            // A different film in every hall at any time, and another order every day.
            let film = (slot * HALLS.len() + hall_index + day_number(day)) % FILMS.len();
            // On a spring night the wall clock may not show this time at all; then an hour later it does.
            let starts_at = [0, 60].iter().find_map(|later| {
                let local = day.and_hms_opt(0, 0, 0)? + TimeDelta::minutes(i64::from(*minutes) + later);
                chrono::TimeZone::from_local_datetime(&cinema.zone, &local).earliest()
            });
            let Some(starts_at) = starts_at.map(|local| local.with_timezone(&Utc)) else { continue };
            let Some(hold_window) = HoldWindow::from_seconds(15 * 60) else { continue };
            let Ok(currency) = "EUR".parse() else { continue };
            let show = NewShow {
                id: ShowId(id("show", &name)),
                film: id("film", FILMS[film].title),
                hall: id("hall", hall.name),
                plan: PlanId(id("plan", hall.plan)),
                starts_at,
                sales_close_at: starts_at + TimeDelta::minutes(GRACE_MIN),
                hold_window,
                currency,
                zone_prices: hall.zone_prices.to_vec(),
            };
            let sold = sold_already(&plan, &name);
            shows.push((show, plan.clone(), sold));
        }
    }
    Ok(shows)
}

async fn add_show(pool: &PgPool, show: NewShow, plan: Plan, sold: Vec<SoldOrder>) -> StoreResult<bool> {
    transaction::run(
        pool,
        Box::new(move |connection| {
            let (show, plan, sold) = (show.clone(), plan.clone(), sold.clone());
            Box::pin(async move {
                let added = setup::add_show(connection, &show, &plan).await?;
                if added {
                    setup::add_sold(connection, show.id, &sold).await?;
                }
                Ok(added)
            })
        }),
    )
    .await
}

fn day_number(day: NaiveDate) -> usize {
    usize::try_from(chrono::Datelike::num_days_from_ce(&day)).unwrap_or(0)
}

/// Seats that were sold before: parties of one to five side by side, more of them in the middle. Drawn from the show's
/// name, so that the same show is sold alike in every demo cinema.
fn sold_already(plan: &Plan, show: &str) -> Vec<SoldOrder> {
    let mut dice = StdRng::from_seed(*dice_seed(show).first_chunk().unwrap_or(&[0; 32]));
    let full = *[0.05, 0.15, 0.3, 0.45, 0.6, 0.8, 0.97, 1.0].choose(&mut dice).unwrap_or(&0.3);
    let places = plan.places();
    let goal = (places.len() as f64 * full) as usize;
    let mut taken = vec![false; places.len()];
    let mut orders = Vec::new();
    let mut sold = 0;
    for _ in 0..places.len() * 8 {
        if sold >= goal {
            break;
        }
        let party = dice.random_range(1..=5_usize).min(goal - sold);
        // The mean of two draws prefers the middle rows; a third draw decides the seat.
        let start = (dice.random_range(0..places.len()) + dice.random_range(0..places.len())) / 2;
        let run: Vec<usize> = (start..(start + party).min(places.len()))
            .take_while(|seat| {
                places[*seat].row == places[start].row
                    && !taken[*seat]
                    && (full > 0.9 || places[*seat].kind == Kind::Standard)
            })
            .collect();
        if run.is_empty() {
            continue;
        }
        sold += run.len();
        for seat in &run {
            taken[*seat] = true;
        }
        orders.push(SoldOrder {
            order: Uuid::new_v4(),
            visitor: Uuid::new_v4(),
            codes: run.iter().map(|_| TicketCode::from_random(rand::random()).to_string()).collect(),
            seats: run.iter().map(|seat| places[*seat].no.0).collect(),
            // The same show's nth payment is always the same one: its charge is found again.
            payment: id("payment", &format!("{show}:{}", orders.len())),
            charge: String::new(),
        });
    }
    orders
}

/// 32 bytes from a name; a dice's seed, nothing secret.
fn dice_seed(name: &str) -> Vec<u8> {
    (0..2_u8).flat_map(|half| Uuid::new_v5(&id("dice", name), &[half]).into_bytes()).collect()
}
