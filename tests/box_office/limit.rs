//! At most ten seats a visitor and show, however the requests arrive.

use chrono::TimeDelta;
use matinee::domain::Error;
use matinee::domain::hold::MOST_SEATS;

use crate::support::clock::Clock;
use crate::support::pause::Moment;
use crate::support::{Cinema, GOOD_CARD, all_at_once, an_attempt, numbers, until};

#[tokio::test]
async fn ten_are_counted_per_visitor_and_show() {
    let cinema = Cinema::open().await;
    let (show, other) = (cinema.show_of(30).await, cinema.show_of(30).await);
    let (ada, bert) = (cinema.visitor(), cinema.visitor());
    ada.hold(show, &[1, 2, 3, 4, 5, 6]).await.unwrap();
    let rest = ada.hold(show, &[7, 8, 9, 10]).await.unwrap();
    assert_eq!(ada.hold(show, &[11]).await, Err(Error::too_many_seats(&numbers(&[11]), 10)));
    ada.hold(other, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).await.unwrap();
    bert.hold(show, &[11, 12, 13, 14, 15, 16, 17, 18, 19, 20]).await.unwrap();

    ada.release(rest).await.unwrap();
    assert_eq!(
        ada.hold(show, &[21, 22, 23, 24, 25]).await,
        Err(Error::too_many_seats(&numbers(&[21, 22, 23, 24, 25]), 6))
    );
    ada.hold(show, &[21, 22, 23, 24]).await.unwrap();
    cinema.proves().await;
}

#[tokio::test]
async fn a_taken_seat_is_named_even_when_it_would_be_one_too_many() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(12).await;
    let ada = cinema.visitor();
    ada.hold(show, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).await.unwrap();
    cinema.visitor().hold(show, &[11]).await.unwrap();
    // Either reason is true; neither may hold anything.
    let refused = ada.hold(show, &[11]).await;
    assert!(matches!(refused, Err(Error::TooManySeats { .. } | Error::SeatTaken { .. })), "{refused:?}");
    assert_eq!(cinema.free(show).await, [12]);
    cinema.proves().await;
}

#[tokio::test]
async fn what_has_lapsed_or_is_sold_does_not_count() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(40).await;
    let ada = cinema.visitor();
    let ten = |first: i16| (first..first + 10).collect::<Vec<_>>();
    let lapsed = ada.hold(show, &ten(1)).await.unwrap();
    cinema.expire(lapsed).await;
    let sold = ada.hold(show, &ten(11)).await.unwrap();
    ada.pay(sold, GOOD_CARD).await.unwrap();
    ada.hold(show, &ten(21)).await.unwrap();
    assert_eq!(ada.hold(show, &[31]).await, Err(Error::too_many_seats(&numbers(&[31]), 10)));
    cinema.proves().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_and_one_at_once_are_not_eleven() {
    two_at_once(10, 1, 100).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn six_and_six_at_once_are_not_twelve() {
    two_at_once(6, 6, 100).await;
}

/// A visitor sends two forms at the same moment, through two servers, each of which would be allowed alone.
async fn two_at_once(one: i16, other: i16, rounds: usize) {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(20).await;
    let elsewhere = cinema.another_office();
    let mut first_won = 0;
    for _ in 0..rounds {
        let ada = cinema.visitor();
        let wishes = [
            (ada.clone(), (1..=one).collect::<Vec<_>>()),
            (ada.goes_to(&elsewhere), (one + 1..=one + other).collect()),
        ];
        let outcomes = all_at_once(wishes.map(|(ada, seats)| async move { ada.hold(show, &seats).await })).await;
        let [(order, asked, holding)] = [(&outcomes[0], other, one), (&outcomes[1], one, other)]
            .into_iter()
            .filter_map(|(outcome, asked, holding)| Some((*outcome.as_ref().ok()?, asked, holding)))
            .collect::<Vec<_>>()[..]
        else {
            panic!("{one} + {other} seats: {outcomes:?}")
        };
        let refused = outcomes.iter().find_map(|outcome| outcome.as_ref().err());
        let Some(Error::TooManySeats { asked: refused, holding: held, .. }) = refused else { panic!("{outcomes:?}") };
        assert_eq!((*refused, *held), (asked.unsigned_abs(), holding.unsigned_abs()));
        first_won += usize::from(outcomes[0].is_ok());
        assert!(usize::from((one + other).unsigned_abs()) > MOST_SEATS);
        ada.release(order).await.unwrap();
    }
    println!("the first of two won {first_won} of {rounds} rounds");
    cinema.proves().await;
}

/// A hold is renewed in its last instant while ten more seats are held, for which it has lapsed: one of the two is true.
#[tokio::test]
async fn a_renewal_and_a_hold_at_the_same_instant_are_not_twenty() {
    for moment in [Moment::BeforePayment, Moment::AfterRenewal] {
        let (cinema, mut clock) = Clock::stopped().await;
        let show = cinema.show_of(20).await;
        let ada = cinema.visitor();
        let order = ada.hold(show, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).await.unwrap();
        let pause = cinema.pauses(moment).await;
        clock.set(cinema.order(order).await.ends_at()).await;
        let (payer, holder) = (ada.clone(), ada);
        let paying = tokio::spawn(async move { payer.pay(order, GOOD_CARD).await });
        cinema.until_waiting(1).await;
        clock.advance(chrono::TimeDelta::microseconds(1)).await;
        let more = [11, 12, 13, 14, 15, 16, 17, 18, 19, 20];
        let holding = tokio::spawn(async move { holder.hold(show, &more).await });
        until("the hold is over, or waits", || async { holding.is_finished() || cinema.waiting().await == 2 }).await;
        pause.ends().await;
        match (moment, paying.await.unwrap(), holding.await.unwrap()) {
            (Moment::BeforePayment, Err(Error::HoldLapsed), Ok(_)) => {}
            (Moment::AfterRenewal, Ok(()), refused) => {
                assert_eq!(refused, Err(Error::too_many_seats(&numbers(&more), 10)));
            }
            outcome => panic!("{outcome:?}"),
        }
        cinema.proves().await;
    }
}

/// Many small forms at once: ten of them go through, in whatever order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twelve_single_seats_at_once_are_ten() {
    let cinema = Cinema::open().await;
    for _ in 0..10 {
        let show = cinema.show_of(12).await;
        let ada = cinema.visitor();
        let outcomes = all_at_once((1..=12).map(|seat| {
            let ada = ada.clone();
            async move { ada.hold(show, &[seat]).await }
        }))
        .await;
        let refused: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
        assert_eq!(refused.len(), 2, "{outcomes:?}");
        assert!(refused.iter().all(|refused| matches!(refused, Error::TooManySeats { asked: 1, holding: 10, .. })));
        assert_eq!(cinema.free(show).await.len(), 2);
    }
    cinema.proves().await;
}

/// Held again and again without buying: after three windows of a day it is the turn of others. Changing one's mind quickly
/// costs nothing, and other seats are as free as ever.
#[tokio::test]
async fn whoever_keeps_seats_from_others_gives_way_after_three_windows() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(6).await;
    let ada = cinema.visitor();
    for _ in 0..20 {
        let order = ada.hold(show, &[5]).await.unwrap();
        ada.release(order).await.unwrap();
    }
    let mut kept = Vec::new();
    for seats in [[1, 2], [1, 2], [2, 3], [2, 3]] {
        // The fourth begins after exactly three whole windows: as much as one may.
        let order = ada.hold(show, &seats).await.unwrap();
        cinema.expire(order).await;
        kept.push(order);
    }
    let attempt = an_attempt();
    assert_eq!(ada.hold_as(attempt, show, &[2, 4]).await, Err(Error::KeptTooLong));
    assert_eq!(ada.hold_as(attempt, show, &[2, 4]).await, Err(Error::KeptTooLong), "the same form again");
    ada.hold(show, &[4, 5]).await.unwrap();
    let bert = cinema.visitor();
    let bought = bert.hold(show, &[1, 2]).await.unwrap();
    bert.pay(bought, GOOD_CARD).await.unwrap();
    // What was bought was kept from nobody; a day later all is forgotten.
    let cleo = cinema.visitor();
    let sold = cleo.hold(show, &[6]).await.unwrap();
    cleo.pay(sold, GOOD_CARD).await.unwrap();
    for order in kept {
        cinema.age(order, TimeDelta::days(1)).await;
    }
    ada.hold(show, &[3]).await.unwrap();
    cinema.proves().await;
}
