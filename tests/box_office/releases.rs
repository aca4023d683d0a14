//! How holds end without a sale: given back, lapsed, and never stretched.

use chrono::TimeDelta;
use matinee::domain::Error;
use matinee::domain::order::{OrderState, Standing};

use crate::support::{Books, Cinema, DECLINED_CARD, GOOD_CARD, QUARTER_HOUR_S, an_attempt, numbers, taken};

#[tokio::test]
async fn what_is_released_is_free_at_once_and_only_once() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(9).await;
    let (ada, bert) = (cinema.visitor(), cinema.visitor());
    let order = ada.hold(show, &[1, 2, 3, 4, 5, 6, 7]).await.unwrap();
    ada.pay(order, DECLINED_CARD).await.unwrap();
    assert_eq!(cinema.free(show).await, [8, 9], "a decline keeps the hold");
    assert_eq!(bert.release(order).await, Err(Error::UnknownOrder), "not his");

    assert_eq!(ada.release(order).await, Ok(show));
    assert_eq!(cinema.free(show).await, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let of_bert = bert.hold(show, &[1, 2]).await.unwrap();
    assert_eq!(ada.release(order).await, Ok(show), "the second answer equals the first");
    assert_eq!(cinema.standing(of_bert).await, Standing::Held { ends_at: cinema.order(of_bert).await.ends_at() });
    assert_eq!(cinema.free(show).await, [3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(ada.pay(order, GOOD_CARD).await, Err(Error::AlreadyReleased));
    assert_eq!(cinema.books(order).await, Books::EMPTY);
    cinema.proves().await;
}

#[tokio::test]
async fn releasing_a_lapsed_hold_leaves_the_new_holders_alone() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    let (ada, bert, cleo) = (cinema.visitor(), cinema.visitor(), cinema.visitor());
    let order = ada.hold(show, &[1, 2, 3]).await.unwrap();
    cinema.expire(order).await;
    let held = bert.hold(show, &[1]).await.unwrap();
    let sold = cleo.hold(show, &[2]).await.unwrap();
    cleo.pay(sold, GOOD_CARD).await.unwrap();

    assert_eq!(ada.release(order).await, Ok(show));
    assert_eq!(cinema.free(show).await, [3]);
    assert_eq!(cinema.order(held).await.state, OrderState::Held);
    assert_eq!(cinema.ticketed(sold).await, [2]);
    bert.pay(held, GOOD_CARD).await.unwrap();
    assert_eq!(ada.release(sold).await, Err(Error::UnknownOrder));
    assert_eq!(cleo.release(sold).await, Err(Error::AlreadySold));
    cinema.proves().await;
}

#[tokio::test]
async fn nothing_but_starting_to_pay_renews_a_hold_and_that_only_once() {
    const A_SECOND: TimeDelta = TimeDelta::seconds(1);
    let window = TimeDelta::seconds(QUARTER_HOUR_S.into());
    let cinema = Cinema::open().await;
    let show = cinema.show_of(2).await;
    let ada = cinema.visitor();
    let attempt = an_attempt();
    let order = ada.hold_as(attempt, show, &[1]).await.unwrap();
    cinema.visitor().hold(show, &[2]).await.unwrap();
    cinema.age(order, window - A_SECOND).await;
    let before = cinema.order(order).await;

    assert_eq!(ada.hold(show, &[2]).await, Err(taken(&[2], &[])));
    let already = Error::AlreadyYours { seats: numbers(&[1]), kept: vec![] };
    assert_eq!(ada.hold(show, &[1]).await, Err(already), "another attempt is another order");
    for _ in 0..20 {
        assert_eq!(ada.hold_as(attempt, show, &[1]).await, Ok(order));
    }
    assert_eq!(cinema.order(order).await, before);
    assert_eq!(cinema.seats(show).await.seats[0].locked_at, Some(before.locked_at));

    // The first payment gives a full window, the second does not.
    ada.pay(order, DECLINED_CARD).await.unwrap();
    let renewed = cinema.order(order).await;
    assert!(renewed.locked_at > before.locked_at);
    assert_eq!(cinema.seats(show).await.seats[0].locked_at, Some(renewed.locked_at));
    cinema.age(order, window - A_SECOND).await;
    ada.pay(order, DECLINED_CARD).await.unwrap();
    let last = cinema.order(order).await;
    assert_eq!(last.locked_at, renewed.locked_at - (window - A_SECOND));
    assert!(last.ends_at() <= last.held_at + window * 2, "two windows at most, from the first hold to the last lapse");
    cinema.age(order, A_SECOND * 2).await;
    assert_eq!(ada.pay(order, GOOD_CARD).await, Err(Error::HoldLapsed));
    cinema.proves().await;
}
