//! Everybody locks in the same order, so nobody waits in a circle. `Cinema::proves` also reads the database's log.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use matinee::domain::Error;
use matinee::domain::ids::ShowId;

use crate::support::{Cinema, DECLINED_CARD, Visitor, all_at_once};

/// The seats of all shows lie on their pages in an order that has nothing to do with their numbers.
pub async fn shuffle(cinema: &Cinema) {
    cinema
        .sql(
            "create temporary table shuffled as select * from seats;
             delete from seats;
             insert into seats select * from shuffled order by md5(show_id::text || seat_no::text);
             drop table shuffled;",
        )
        .await;
}

/// Deadlocks that Postgres counted.
async fn deadlocks(cinema: &mut Cinema) -> i64 {
    cinema.ends(&[]).await;
    sqlx::query_scalar("select deadlocks from pg_stat_database where datname = current_database()")
        .fetch_one(&cinema.db)
        .await
        .unwrap()
}

/// H8, its first half.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_visitor_holds_both_ways_round_and_releases_at_once() {
    const ROUNDS: usize = 1_000;
    let mut cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    shuffle(&cinema).await;
    let ada = cinema.visitor();
    let mut previous = ada.hold(show, &[1, 2, 3, 4, 5]).await.unwrap();
    let mut held = 0;
    for _ in 0..ROUNDS {
        let (up, down, back) = (ada.clone(), ada.clone(), ada.clone());
        let (up, down, back) = tokio::join!(
            tokio::spawn(async move { up.hold(show, &[1, 2, 3, 4, 5]).await }),
            tokio::spawn(async move { down.hold(show, &[5, 4, 3, 2, 1]).await }),
            tokio::spawn(async move { back.release(previous).await }),
        );
        assert_eq!(back.unwrap(), Ok(show));
        for outcome in [up.unwrap(), down.unwrap()] {
            match outcome {
                Ok(order) => {
                    held += 1;
                    previous = order;
                }
                Err(Error::SeatTaken { .. } | Error::AlreadyYours { .. }) => {}
                Err(other) => panic!("unexpected: {other}"),
            }
        }
    }
    println!("{held} of {} holds found the seats free", 2 * ROUNDS);
    assert_eq!(deadlocks(&mut cinema).await, 0);
    cinema.proves().await;
}

/// H8, its second half.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_visitors_hold_overlapping_seats_in_opposite_order() {
    // Those that win, for in a crowd the others are refused before they come to any lock.
    const HOLDS: usize = 4_000;
    let mut cinema = Cinema::open().await;
    let show = cinema.show_of(7).await;
    shuffle(&cinema).await;
    let won = Arc::new(AtomicUsize::new(0));
    let busy = |visitor: Visitor, seats: &'static [i16]| {
        let won = Arc::clone(&won);
        async move {
            let mut held = 0;
            while won.load(Ordering::Relaxed) < HOLDS {
                match visitor.hold(show, seats).await {
                    Ok(order) => {
                        held += 1;
                        won.fetch_add(1, Ordering::Relaxed);
                        visitor.release(order).await.unwrap();
                    }
                    // What is refused from memory waits for nothing, and must leave the others their turn.
                    Err(Error::SeatTaken { .. } | Error::AlreadyYours { .. }) => tokio::task::yield_now().await,
                    Err(other) => panic!("unexpected: {other}"),
                }
            }
            held
        }
    };
    // Two tabs each.
    let (ada, bert) = (cinema.visitor(), cinema.visitor());
    let held = all_at_once([
        busy(ada.clone(), &[1, 2, 3, 4, 5]),
        busy(bert.clone(), &[7, 6, 5, 4, 3]),
        busy(ada, &[2, 4, 6]),
        busy(bert, &[5, 3, 1]),
    ])
    .await;
    println!("held: {held:?}");
    assert!(held.iter().all(|times| *times > 0));
    assert_eq!(deadlocks(&mut cinema).await, 0);
    cinema.proves().await;
}

/// Every statement that locks, over the same seats: holds that lapse and are taken over, declines, releases.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holding_paying_releasing_and_lapsing_do_not_wait_in_a_circle() {
    const EACH: usize = 150;
    let mut cinema = Arc::new(Cinema::open().await);
    let show: ShowId = cinema.show_of(6).await;
    shuffle(&cinema).await;
    let busy = |nth: usize| {
        let cinema = Arc::clone(&cinema);
        async move {
            let mut round = 0;
            while round < EACH {
                // Somebody new each time: whoever kept these seats so often would be sent away.
                let visitor = cinema.visitor();
                let seats: &[i16] = [&[1, 2, 3, 4][..], &[6, 5, 4, 3], &[2, 5], &[1, 6]][(nth + round) % 4];
                let order = match visitor.hold(show, seats).await {
                    Ok(order) => order,
                    Err(Error::SeatTaken { .. } | Error::AlreadyYours { .. }) => {
                        // Not a round: in a crowd these are refused before they come to any lock.
                        tokio::task::yield_now().await;
                        continue;
                    }
                    Err(other) => panic!("unexpected: {other}"),
                };
                if round % 3 == 0 {
                    cinema.expire(order).await;
                }
                match visitor.pay(order, DECLINED_CARD).await {
                    Ok(()) | Err(Error::HoldLapsed) => {}
                    Err(other) => panic!("unexpected: {other}"),
                }
                assert_eq!(visitor.release(order).await, Ok(show));
                round += 1;
            }
        }
    };
    all_at_once((0..6).map(busy)).await;
    let cinema = Arc::get_mut(&mut cinema).unwrap();
    assert_eq!(deadlocks(cinema).await, 0);
    cinema.proves().await;
}
