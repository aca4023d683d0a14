//! The fast no: in a crowd of losers the server refuses from memory. It may be a moment old; it never says yes, and it never
//! takes a lapsed hold for one that is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use matinee::box_office::{self, BoxOffice};
use matinee::domain::Error;
use matinee::domain::ids::ShowId;
use matinee::store::pool;
use matinee::store::snapshots::MAY_BE_OLD;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use uuid::Uuid;

use crate::support::trips::Trips;
use crate::support::{Cinema, GOOD_CARD, PRICE, QUARTER_HOUR_S, Visitor, all_at_once, an_attempt, layout_of, taken};

/// Enough who lose at once that the server refuses from memory.
async fn a_crowd_loses(office: &Arc<BoxOffice>, show: ShowId, seat: i16) {
    let losers = (0..64).map(|_| Visitor::at(office));
    let refused = all_at_once(losers.map(|loser| async move { loser.hold(show, &[seat]).await })).await;
    assert!(refused.iter().all(|answer| *answer == Err(taken(&[seat], &[]))), "{refused:?}");
}

/// How often the database is asked is counted on the way to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_of_losers_is_refused_without_the_database() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(4).await;
    cinema.visitor().hold(show, &[2, 3]).await.unwrap();
    let trips = Trips::to(&cinema.url()).await.unwrap();
    let counted = pool::connect(&trips.url).unwrap();
    let office = Arc::new(BoxOffice::new(counted, cinema.office.cinema.clone(), Arc::new(cinema.gateway.clone())));
    // Those who lose alone are refused by the database, each of them.
    for _ in 0..5 {
        trips.since();
        assert_eq!(Visitor::at(&office).hold(show, &[2]).await, Err(taken(&[2], &[])));
        assert_eq!(trips.since(), 1);
        tokio::time::sleep(2 * MAY_BE_OLD).await;
    }
    // A machine that does other things may keep the crowd apart for so long that it is none; not always.
    let mut asked = Vec::new();
    while asked.last() != Some(&0) {
        assert!(asked.len() < 300, "the database was always asked: {asked:?}");
        a_crowd_loses(&office, show, 2).await;
        trips.since();
        let loser = Visitor::at(&office);
        assert_eq!(loser.hold(show, &[1, 2, 3]).await, Err(taken(&[2, 3], &[1])));
        asked.push(trips.since());
    }
    // What could win is the database's to answer, crowd or not.
    a_crowd_loses(&office, show, 2).await;
    trips.since();
    Visitor::at(&office).hold(show, &[1, 4]).await.unwrap();
    assert!(trips.since() >= 1);
    cinema.proves().await;
}

/// In the midst of a crowd everybody who has another answer gets it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_crowd_every_other_answer_is_still_given() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(12).await;
    let office = cinema.another_office();
    let ada = Visitor::at(&office);
    let attempt = an_attempt();
    let order = ada.hold_as(attempt, show, &[1, 2]).await.unwrap();
    a_crowd_loses(&office, show, 1).await;
    assert_eq!(ada.hold_as(attempt, show, &[1, 2]).await, Ok(order), "the same form again");
    assert_eq!(ada.hold_as(attempt, show, &[1]).await, Err(Error::AttemptReused));
    let yours = ada.hold(show, &[2, 3]).await;
    assert!(matches!(yours, Err(Error::AlreadyYours { .. })), "{yours:?}");
    let bert = Visitor::at(&office);
    let unknown = bert.hold(show, &[1, 99]).await;
    assert!(matches!(unknown, Err(Error::UnknownSeat { .. })), "{unknown:?}");
    // Given back here: to be had here at once, however many lose at this moment.
    let mut holder = (ada, order);
    for _ in 0..50 {
        a_crowd_loses(&office, show, 1).await;
        let (visitor, order) = holder;
        visitor.release(order).await.unwrap();
        let next = Visitor::at(&office);
        let order = next.hold(show, &[1]).await.unwrap();
        holder = (next, order);
    }
    cinema.proves().await;
}

/// P3 in a crowd: no refusal is given to anybody who asked after the hold had lapsed by the database's clock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lapsed_hold_is_never_refused_from_memory() {
    const ROUNDS: usize = 6;
    let cinema = Cinema::open().await;
    let office = cinema.another_office();
    let refused = AtomicUsize::new(0);
    for _ in 0..ROUNDS {
        let show = cinema.show(&layout_of(2), &[PRICE], 1).await;
        let held = cinema.visitor().hold(show, &[1]).await.unwrap();
        let lapses_at: DateTime<Utc> = cinema.order(held).await.locked_at + TimeDelta::seconds(1);
        let answers = join_all((0..24).map(|_| async {
            loop {
                let asked_at: DateTime<Utc> =
                    sqlx::query_scalar("select clock_timestamp()").fetch_one(&cinema.db).await.unwrap();
                match Visitor::at(&office).hold(show, &[1]).await {
                    Ok(_) => return true,
                    Err(Error::SeatTaken { .. }) if asked_at <= lapses_at => {
                        _ = refused.fetch_add(1, Ordering::Relaxed)
                    }
                    Err(Error::SeatTaken { .. }) => {
                        let has_it: Uuid =
                            sqlx::query_scalar("select order_id from seats where show_id = $1 and seat_no = 1")
                                .bind(show.0)
                                .fetch_one(&cinema.db)
                                .await
                                .unwrap();
                        assert_ne!(has_it, held.0, "refused for a hold that had lapsed");
                        return false;
                    }
                    other => panic!("{other:?}"),
                }
            }
        }))
        .await;
        assert_eq!(answers.iter().filter(|won| **won).count(), 1);
    }
    assert!(refused.load(Ordering::Relaxed) > 24 * ROUNDS, "there was a crowd before each lapse");
    cinema.proves().await;
}

/// Another server's release is known here within the stated age, in the middle of a crowd.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_server_gave_back_can_be_had_soon() {
    let cinema = Cinema::open().await;
    let (here, there) = (cinema.another_office(), cinema.another_office());
    let mut waits = Vec::new();
    for _ in 0..20 {
        let show = cinema.show_of(1).await;
        let holder = Visitor::at(&there);
        let order = holder.hold(show, &[1]).await.unwrap();
        a_crowd_loses(&here, show, 1).await;
        holder.release(order).await.unwrap();
        let since = Instant::now();
        loop {
            match Visitor::at(&here).hold(show, &[1]).await {
                Ok(_) => break,
                Err(Error::SeatTaken { .. }) => tokio::time::sleep(Duration::from_millis(1)).await,
                other => panic!("{other:?}"),
            }
        }
        waits.push(since.elapsed());
    }
    waits.sort_unstable();
    println!("free again after {:?} (median), {:?} (longest)", waits[waits.len() / 2], waits[waits.len() - 1]);
    // A machine that does other things may be slow to ask; most of the time it is not.
    assert!(waits[waits.len() / 2] < 2 * MAY_BE_OLD, "{waits:?}");
    cinema.proves().await;
}

/// Two servers whose snapshots are always a little behind each other, a crowd at both, and every way to take and give back:
/// what was granted was the database's to grant.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stale_snapshot_may_refuse_and_never_grants() {
    const SEED: u64 = 20_261_201;
    let cinema = Cinema::open().await;
    let show = cinema.show(&layout_of(6), &[PRICE], QUARTER_HOUR_S).await;
    let offices = [cinema.another_office(), cinema.another_office()];
    let (held, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    join_all((0..32).map(|nth| {
        let (office, cinema, held, refused) = (Arc::clone(&offices[nth % 2]), &cinema, &held, &refused);
        async move {
            let mut dice = StdRng::seed_from_u64(SEED + nth as u64);
            while held.load(Ordering::Relaxed) < 300 {
                let visitor = Visitor::at(&office);
                let first = dice.random_range(1..=5);
                match visitor.hold(show, &[first, first + 1]).await {
                    Ok(order) => {
                        held.fetch_add(1, Ordering::Relaxed);
                        // By the database, this very order has exactly these seats.
                        let owned: Vec<i16> = sqlx::query_scalar(
                            "select seat_no from seats where show_id = $1 and order_id = $2 order by 1",
                        )
                        .bind(show.0)
                        .bind(order.0)
                        .fetch_all(&cinema.db)
                        .await
                        .unwrap();
                        assert_eq!(owned, [first, first + 1]);
                        visitor.release(order).await.unwrap();
                    }
                    Err(Error::SeatTaken { .. }) => _ = refused.fetch_add(1, Ordering::Relaxed),
                    other => panic!("{other:?}"),
                }
            }
        }
    }))
    .await;
    let (held, refused) = (held.into_inner(), refused.into_inner());
    println!("{held} held, {refused} refused");
    assert!(refused > held, "{held} held, {refused} refused");
    // In the end all is free, and one of them buys it.
    tokio::time::sleep(MAY_BE_OLD).await;
    let ada = Visitor::at(&offices[0]);
    let order = ada.hold(show, &[1, 2, 3, 4, 5, 6]).await.unwrap();
    ada.pay(order, GOOD_CARD).await.unwrap();
    assert!(cinema.is_sold(order).await);
    assert!(box_office::prove(&offices[1]).await.unwrap().is_empty());
    cinema.proves().await;
}
