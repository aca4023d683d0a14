//! The demo cinema.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Days, NaiveDate, TimeDelta, Timelike, Utc};
use matinee::box_office::demo::{FILMS, HALLS};
use matinee::box_office::seed::{Bill, DAYS, Seeded};
use matinee::box_office::{self};
use matinee::domain::plan::{Kind, Plan};
use matinee::gateway::past::{self, PastCharge};
use matinee::store::StoreError;

use crate::support::{Cinema, GOOD_CARD};

/// What was charged before, written into the gateway's books by the gateway.
async fn yesterday(cinema: &Cinema, bills: Vec<Bill>) -> Result<Option<Vec<String>>, StoreError> {
    let past: Vec<PastCharge> = bills
        .into_iter()
        .map(|(payment, amount)| PastCharge { key: payment.to_string(), amount, metadata: BTreeMap::new() })
        .collect();
    Ok(Some(past::remember(&cinema.db, &past).await?))
}

async fn charges(cinema: &Cinema) -> i64 {
    sqlx::query_scalar("select count(*) from gateway.charges").fetch_one(&cinema.db).await.unwrap()
}

/// Seeds a cinema; again from the start in the unlikely case that midnight passed meanwhile.
async fn seeded() -> (Cinema, Seeded, NaiveDate) {
    loop {
        let cinema = Cinema::open().await;
        let today = cinema.office.cinema.date(Utc::now());
        let charge = async |bills: Vec<Bill>| yesterday(&cinema, bills).await;
        let seeded = box_office::seed(&cinema.office.pool, charge).await.unwrap();
        let again = box_office::seed(&cinema.office.pool, charge).await.unwrap();
        if cinema.office.cinema.date(Utc::now()) == today {
            assert_eq!(again, Seeded::default(), "a second seeding adds nothing");
            return (cinema, seeded, today);
        }
        cinema.proves().await;
    }
}

#[tokio::test]
async fn a_demo_cinema_has_a_week_of_shows_in_three_halls() {
    let (cinema, seeded, today) = seeded().await;
    let rows: Vec<(String, String, DateTime<Utc>, DateTime<Utc>)> = sqlx::query_as(
        "select halls.name, films.title, starts_at, sales_close_at
         from shows join halls on halls.id = hall_id join films on films.id = film_id",
    )
    .fetch_all(&cinema.db)
    .await
    .unwrap();
    assert_eq!(rows.len(), seeded.shows);

    let zone = cinema.office.cinema.zone;
    let mut starts: BTreeMap<(String, NaiveDate), BTreeSet<u32>> = BTreeMap::new();
    let mut at_once: BTreeMap<DateTime<Utc>, BTreeSet<String>> = BTreeMap::new();
    for (hall, film, starts_at, sales_close_at) in &rows {
        let local = starts_at.with_timezone(&zone);
        let minutes = local.hour() * 60 + local.minute();
        assert!(
            starts.entry((hall.clone(), local.date_naive())).or_default().insert(minutes),
            "one show at a time in {hall}"
        );
        assert!(at_once.entry(*starts_at).or_default().insert(film.clone()), "no film runs twice at the same time");
        assert!(*sales_close_at > *starts_at && *sales_close_at < *starts_at + TimeDelta::hours(1));
    }
    let days: BTreeSet<NaiveDate> = starts.keys().map(|(_, day)| *day).collect();
    let week: BTreeSet<NaiveDate> = (0..DAYS).map(|ahead| today + Days::new(ahead)).collect();
    assert_eq!(days, week);
    for hall in HALLS {
        // On the night of the spring change a wall clock may skip a start; no start lies in those hours.
        assert!(hall.starts.iter().all(|minutes| *minutes >= 4 * 60));
        for day in &week {
            let wanted: BTreeSet<u32> = hall.starts.iter().copied().collect();
            assert_eq!(starts[&(hall.name.to_owned(), *day)], wanted, "{} on {day}", hall.name);
        }
    }
    let films: BTreeSet<&str> = rows.iter().map(|(_, film, ..)| film.as_str()).collect();
    assert_eq!(films, FILMS.iter().map(|film| film.title).collect());
    cinema.proves().await;
}

#[tokio::test]
async fn a_demo_cinema_is_partly_sold_and_can_be_bought_from() {
    let (cinema, seeded, _) = seeded().await;
    let (seats, booked, other): (i64, i64, i64) = sqlx::query_as(
        "select count(*), count(*) filter (where status = 'booked'), count(*) filter (where status = 'locked') from seats",
    )
    .fetch_one(&cinema.db)
    .await
    .unwrap();
    assert_eq!((seats, booked, other), (seeded.seats as i64, seeded.sold as i64, 0));
    assert!(seeded.sold * 10 > seeded.seats && seeded.sold * 10 < seeded.seats * 9, "{seeded:?}");
    let (full, empty): (i64, i64) = sqlx::query_as(
        "select count(*) filter (where free < 10), count(*) filter (where free > 2 * sold) from (
             select count(*) filter (where status = 'available') as free, count(*) filter (where status = 'booked') as sold
             from seats group by show_id) shows",
    )
    .fetch_one(&cinema.db)
    .await
    .unwrap();
    assert!(full > 0 && empty > 0, "{full} nearly sold out, {empty} nearly empty");

    // The last show of the week is in the future at any time of the day.
    let show =
        sqlx::query_scalar("select id from shows order by starts_at desc limit 1").fetch_one(&cinema.db).await.unwrap();
    let show = matinee::domain::ids::ShowId(show);
    let free = cinema.free(show).await;
    let ada = cinema.visitor();
    if let Some(seat) = free.first() {
        let order = ada.hold(show, &[*seat]).await.unwrap();
        ada.pay(order, GOOD_CARD).await.unwrap();
        assert_eq!(cinema.ticketed(order).await, [*seat]);
    }
    cinema.proves().await;
}

/// Stopped after the gateway's books were written and before ours: the next seeding finds the same charges, and no money
/// is nobody's.
#[tokio::test]
async fn a_seeding_that_was_stopped_charges_nothing_twice() {
    let cinema = Cinema::open().await;
    let asked = Cell::new(0);
    let stops = async |bills: Vec<Bill>| {
        let charges = yesterday(&cinema, bills).await;
        asked.set(asked.get() + 1);
        if asked.get() == 3 { Err(StoreError::Schema("the light went out".to_owned())) } else { charges }
    };
    box_office::seed(&cinema.office.pool, stops).await.unwrap_err();
    let (before, payments): (i64, i64) =
        sqlx::query_as("select (select count(*) from gateway.charges), (select count(*) from payments)")
            .fetch_one(&cinema.db)
            .await
            .unwrap();
    assert!(before > payments, "charges that no payment knows yet: {before}, {payments}");
    let seeded =
        box_office::seed(&cinema.office.pool, async |bills: Vec<Bill>| yesterday(&cinema, bills).await).await.unwrap();
    assert!(seeded.sold > 0);
    let payments: i64 = sqlx::query_scalar("select count(*) from payments").fetch_one(&cinema.db).await.unwrap();
    assert_eq!(charges(&cinema).await, payments);
    cinema.proves().await;
}

/// A card processor whose books are not ours to write has no such past: nothing is sold, and the books agree.
#[tokio::test]
async fn a_demo_cinema_with_another_card_processor_has_sold_nothing() {
    let cinema = Cinema::open().await;
    let seeded = box_office::seed(&cinema.office.pool, async |_| Ok::<_, StoreError>(None)).await.unwrap();
    let sold: i64 = sqlx::query_scalar("select count(*) from seats where status <> 'available'")
        .fetch_one(&cinema.db)
        .await
        .unwrap();
    assert_eq!((seeded.sold, sold, charges(&cinema).await), (0, 0, 0));
    assert!(seeded.shows > 0 && seeded.seats > 0);
    cinema.proves().await;
}

#[tokio::test]
async fn the_halls_are_of_different_character() {
    let plans: Vec<Plan> = HALLS.iter().map(|hall| Plan::parse(hall.plan).unwrap()).collect();
    let sizes: Vec<usize> = plans.iter().map(|plan| plan.places().len()).collect();
    assert!(sizes[0] < 100 && (250..350).contains(&sizes[1]) && (1_100..1_300).contains(&sizes[2]), "{sizes:?}");
    for kind in [Kind::Wheelchair, Kind::Companion] {
        assert!(plans[1].places().iter().any(|place| place.kind == kind), "{kind:?}");
    }
    assert!(plans[1].zones().len() > 1);
}
