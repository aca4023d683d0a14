//! Opening sales and their waiting rooms: one place for a visitor, drawn at random, let in by the clock alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use matinee::box_office::BoxOffice;
use matinee::box_office::queue::{self, Waiting};
use matinee::domain::Error;
use matinee::domain::ids::ShowId;
use matinee::domain::queue::{ADMITTED_FOR, Opening, Place};
use matinee::store::pool;
use matinee::store::snapshots::MAY_BE_OLD;
use uuid::Uuid;

use crate::support::trips::Trips;
use crate::support::{Cinema, Visitor, all_at_once};

/// The rule of the waiting room, in Rust and in SQL, one microsecond either side of every boundary.
#[tokio::test]
async fn rust_and_sql_admit_in_the_same_instants() {
    let cinema = Cinema::open().await;
    let at: DateTime<Utc> = "2026-12-24T18:00:00.123456Z".parse().unwrap();
    let mut asked = 0;
    for per_minute in [1, 7, 59, 60, 600, 12_000, 1_000_000] {
        let opening = Opening { at, per_minute: Some(per_minute) };
        for place in [1, 2, 3, 59, 60, 61, 999, 200_000, 5_000_000].map(Place) {
            let admitted_at = opening.admitted_at(place).unwrap();
            for boundary in [at, admitted_at, admitted_at + ADMITTED_FOR] {
                for offset in [-1, 0, 1] {
                    let now = boundary + TimeDelta::microseconds(offset);
                    let sql: bool = sqlx::query_scalar("select is_admitted($1, $2, $3, $4)")
                        .bind(place.0)
                        .bind(at)
                        .bind(per_minute)
                        .bind(now)
                        .fetch_one(&cinema.db)
                        .await
                        .unwrap();
                    assert_eq!(opening.admits(Some(place), now), sql, "{place:?} at {per_minute} a minute, {now}");
                    asked += 1;
                }
            }
        }
    }
    assert_eq!(asked, 7 * 9 * 3 * 3);
    cinema.proves().await;
}

#[tokio::test]
async fn nobody_holds_before_the_opening_and_everybody_after() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    let ada = cinema.visitor();
    cinema.opens_in(show, 3600.0, None).await;
    assert_eq!(ada.hold(show, &[1]).await, Err(Error::NotOpenYet));
    assert_eq!(queue::look(&cinema.office, Some(ada.id), show).await, Ok(None), "there is nothing to wait in");
    cinema.opens_in(show, -0.001, None).await;
    ada.hold(show, &[1]).await.unwrap();
    cinema.proves().await;
}

/// Whatever is sent again, from however many tabs: one visitor has one place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tabs_and_reloads_do_not_help() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    cinema.opens_in(show, 3600.0, Some(60)).await;
    let (ada, there) = (cinema.visitor(), cinema.another_office());
    assert_eq!(ada.waits(show).await, Waiting::Outside { others: 0 });
    for _ in 0..5 {
        assert_eq!(ada.joins(show).await, Waiting::BeforeTheDraw { others: 0 });
    }
    let tabs = (0..20).map(|_| ada.goes_to(&there));
    all_at_once(tabs.map(|tab| async move { tab.joins(show).await })).await;
    let numbers: Vec<i64> = sqlx::query_scalar("select number from queue_numbers").fetch_all(&cinema.db).await.unwrap();
    assert_eq!(numbers, [1]);
    cinema.proves().await;
}

/// 3,000 come at once to two servers before the opening: each has a number of its own, each place is drawn once, and the
/// first who came are not the first who are let in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_are_drawn_among_all_who_came_before() {
    const EARLY: usize = 3_000;
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    cinema.opens_in(show, 3600.0, Some(60)).await;
    let offices = [cinema.another_office(), cinema.another_office()];
    let visitors: Vec<Visitor> = (0..EARLY).map(|nth| Visitor::at(&offices[nth % 2])).collect();
    for crowd in visitors.chunks(200) {
        all_at_once(crowd.iter().cloned().map(|visitor| async move { visitor.joins(show).await })).await;
    }
    cinema.opens_in(show, -0.001, Some(60)).await;
    // Who come later stand behind, in the order of coming.
    for late in 1..=3 {
        let place = place_of(&cinema.visitor(), show).await;
        assert_eq!(place, i64::try_from(EARLY).unwrap() + late);
    }
    let mut places = Vec::new();
    for visitor in &visitors {
        let here = place_of(visitor, show).await;
        places.push(here);
    }
    let other_server = place_of(&visitors[0].goes_to(&offices[1]), show).await;
    assert_eq!(other_server, places[0], "every server draws the same");
    let drawn: BTreeSet<i64> = places.iter().copied().collect();
    assert_eq!((drawn.len(), drawn.first(), drawn.last()), (EARLY, Some(&1), Some(&(EARLY as i64))));
    // The mean place of the first half to come: 1,500 with a standard deviation of 16.
    let first_half: i64 = places[..EARLY / 2].iter().sum::<i64>() / (EARLY as i64 / 2);
    assert!((1_420..1_580).contains(&first_half), "{first_half}");
    cinema.proves().await;
}

async fn place_of(visitor: &Visitor, show: ShowId) -> i64 {
    match visitor.joins(show).await {
        Waiting::InLine { place, .. } => place.0,
        Waiting::Admitted { pass, .. } => pass.place_for(show, visitor.id).unwrap().0,
        other => panic!("{other:?}"),
    }
}

/// The whole way: waits, is let in by the clock, holds with the pass; afterwards the pass is worth nothing.
#[tokio::test]
async fn a_pass_lets_in_from_its_turn_on_until_it_is_over() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(9).await;
    cinema.opens_in(show, 60.0, Some(60)).await;
    let ada = cinema.visitor();
    ada.joins(show).await;
    assert_eq!(ada.hold(show, &[1]).await, Err(Error::NotOpenYet));
    // Alone before the draw, so first: let in after a second.
    cinema.opens_in(show, -0.5, Some(60)).await;
    assert!(matches!(ada.waits(show).await, Waiting::InLine { place: Place(1), ahead: 0, .. }));
    assert_eq!(ada.hold(show, &[1]).await, Err(Error::NotYourTurn));
    cinema.opens_in(show, -1.001, Some(60)).await;
    let Waiting::Admitted { pass, .. } = ada.waits(show).await else { panic!("it is her turn") };
    assert_eq!(ada.hold(show, &[1]).await, Err(Error::NotYourTurn), "without the pass");
    ada.hold_with(pass, show, &[1]).await.unwrap();
    // Her friend gets the pass, and has no use of it.
    let friend = cinema.visitor();
    assert_eq!(friend.hold_with(pass, show, &[2]).await, Err(Error::NotYourTurn));
    let other_show = cinema.show_of(3).await;
    cinema.opens_in(other_show, -1.001, Some(60)).await;
    assert_eq!(ada.hold_with(pass, other_show, &[1]).await, Err(Error::NotYourTurn));
    // A quarter of an hour later.
    cinema.opens_in(show, -1.001 - 900.0, Some(60)).await;
    assert_eq!(ada.waits(show).await, Waiting::Over);
    assert_eq!(ada.hold_with(pass, show, &[2]).await, Err(Error::NotYourTurn));
    // A new place, behind the others; nobody waits any more, so it is her turn at once, and a whole one.
    let Waiting::Admitted { pass, until } = ada.joins(show).await else { panic!("nobody is before her") };
    assert_eq!(pass.place_for(show, ada.id), Some(Place(901)), "nine hundred turns have passed");
    let left = until - cinema.seats(show).await.now;
    assert!(left > ADMITTED_FOR - TimeDelta::seconds(30), "{left}");
    ada.hold_with(pass, show, &[2]).await.unwrap();
    cinema.proves().await;
}

/// Hours later a thousand come at once: they are let in at the rate, not all at once for the turns that nobody took.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_that_nobody_took_are_not_saved_up() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    cinema.opens_in(show, -7200.0, Some(60)).await;
    let late = (0..200).map(|_| cinema.visitor());
    let places = all_at_once(late.map(|visitor| async move { place_of(&visitor, show).await })).await;
    let (first, last) = (places.iter().min().unwrap(), places.iter().max().unwrap());
    assert!(*first >= 7200, "{first}");
    // Each has a place of its own, but for turns that passed while they came.
    assert_eq!(places.iter().collect::<BTreeSet<_>>().len(), 200);
    assert!(last - first >= 199);
    cinema.proves().await;
}

#[tokio::test]
async fn passes_are_signed() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    cinema.opens_in(show, -10.0, Some(600)).await;
    let ada = cinema.visitor();
    let Waiting::Admitted { pass, .. } = ada.joins(show).await else { panic!("it is her turn") };
    let carried = queue::carried(&cinema.office, pass).unwrap();
    let there = cinema.another_office();
    assert_eq!(queue::pass(&there, show, ada.id, &carried), Some(pass), "every server knows it");
    let (_, seal) = carried.split_once('.').unwrap();
    for forged in [format!("2.{seal}"), format!("1.{}", "0".repeat(64)), "1".to_owned(), "1.".to_owned(), String::new()]
    {
        assert_eq!(queue::pass(&there, show, ada.id, &forged), None, "{forged}");
    }
    assert_eq!(queue::pass(&there, show, cinema.visitor().id, &carried), None);
    assert_eq!(queue::join(&cinema.office, ada.id, ShowId(Uuid::new_v4())).await, Err(Error::UnknownShow));
    cinema.proves().await;
}

/// At the opening itself, while people come: who came early is settled by the database's clock, once, and every server draws
/// the same from then on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_draw_is_settled_in_the_instant_of_the_opening() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    cinema.opens_in(show, 1.5, Some(1)).await;
    let offices = [cinema.another_office(), cinema.another_office()];
    let people: Vec<Visitor> = (0..400).map(|nth| Visitor::at(&offices[nth % 2])).collect();
    let coming = people.iter().cloned().enumerate().map(|(nth, visitor)| async move {
        tokio::time::sleep(std::time::Duration::from_millis(8 * nth as u64)).await;
        visitor.joins(show).await
    });
    all_at_once(coming).await;
    let (early, came): (i64, i64) =
        sqlx::query_as("select early, last from queues").fetch_one(&cinema.db).await.unwrap();
    let by_the_clock: i64 = sqlx::query_scalar(
        "select count(*) from queue_numbers q join shows on shows.id = q.show_id where number <= $1 and came_at > sales_open_at",
    )
    .bind(early)
    .fetch_one(&cinema.db)
    .await
    .unwrap();
    println!("{early} of {came} came before the opening");
    assert!(0 < early && early < came && came == 400);
    assert!(by_the_clock <= 1, "whoever is counted at the last instant is written an instant later");
    let mut places = BTreeSet::new();
    for (nth, visitor) in people.iter().enumerate() {
        let there = visitor.goes_to(&offices[(nth + 1) % 2]);
        let place = place_of(visitor, show).await;
        assert_eq!(place, place_of(&there, show).await);
        places.insert(place);
    }
    assert_eq!(places, (1..=400).collect());
    cinema.proves().await;
}

/// In a crowd the refusals of those who are not let in come from memory too, and end with the opening.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_before_the_opening_does_not_reach_the_database() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    cinema.opens_in(show, 3600.0, None).await;
    let trips = Trips::to(&cinema.url()).await.unwrap();
    let counted = pool::connect(&trips.url).unwrap();
    let office = Arc::new(BoxOffice::new(counted, cinema.office.cinema.clone(), Arc::new(cinema.gateway.clone())));
    for (opens_in, per_minute, refusal) in [
        (3600.0, None, Error::NotOpenYet),
        (3600.0, Some(60), Error::NotOpenYet),
        (-10.0, Some(60), Error::NotYourTurn),
    ] {
        cinema.opens_in(show, opens_in, per_minute).await;
        tokio::time::sleep(3 * MAY_BE_OLD).await;
        let mut asked = Vec::new();
        // A busy machine may keep the crowd apart for so long that it is none; not always.
        while asked.last() != Some(&0) {
            assert!(asked.len() < 300, "the database was always asked: {asked:?}");
            for (size, counts) in [(64, false), (1, true)] {
                trips.since();
                let crowd = (0..size).map(|_| Visitor::at(&office));
                let answers = all_at_once(crowd.map(|visitor| async move { visitor.hold(show, &[1]).await })).await;
                assert!(answers.iter().all(|answer| *answer == Err(refusal.clone())), "{answers:?}");
                if counts {
                    asked.push(trips.since());
                }
            }
        }
    }
    cinema.opens_in(show, -10.0, None).await;
    tokio::time::sleep(MAY_BE_OLD).await;
    Visitor::at(&office).hold(show, &[1]).await.unwrap();
    cinema.proves().await;
}
