//! P7 at the door: what an attempt was used for once, it stands for. The same request again is answered as the first time,
//! however many come at once; another one under the same attempt is refused; and what is still at work says when to ask again.

use std::collections::BTreeSet;

use matinee::domain::ids::{OrderId, ShowId};
use reqwest::StatusCode;
use uuid::Uuid;

use crate::browser::{Answer, Browser, hold_form, serve};
use crate::support::{Books, Cinema, DECLINED_CARD, GOOD_CARD, PRICE, all_at_once};

fn error(answer: &Answer) -> (u16, String) {
    (answer.status.as_u16(), answer.json()["error"].as_str().unwrap().to_owned())
}

fn pay_form(order: OrderId, attempt: Uuid, card: &str) -> [(&'static str, String); 3] {
    [("order", order.to_string()), ("attempt", attempt.to_string()), ("card", card.to_owned())]
}

/// A visitor who has a cookie, by a hold in another show.
async fn known(cinema: &Cinema) -> Browser {
    let elsewhere = cinema.show_of(1).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    assert_eq!(visitor.hold(elsewhere, &[1]).await.status, StatusCode::OK);
    visitor
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_to_hold_stands_for_one_choice() {
    let cinema = Cinema::open().await;
    let (show, other) = (cinema.show_of(8).await, cinema.show_of(8).await);
    let visitor = known(&cinema).await;
    let attempt = Uuid::new_v4();
    let first = visitor.hold_as(attempt, show, &[1, 2]).await;
    let before = cinema.order(first.order()).await;
    for seats in [&[1, 2][..], &[2, 1], &[1, 2, 2]] {
        let again = visitor.hold_as(attempt, show, seats).await;
        assert_eq!(
            (again.status, again.location, again.body),
            (first.status, first.location.clone(), first.body.clone())
        );
    }
    for (show, seats) in [(show, &[1][..]), (show, &[1, 2, 3]), (show, &[7, 8]), (other, &[1, 2])] {
        assert_eq!(error(&visitor.hold_as(attempt, show, seats).await), (422, "attempt_reused".to_owned()));
    }
    assert_eq!(cinema.order(first.order()).await, before, "not renewed either");
    assert_eq!((cinema.free(show).await.len(), cinema.free(other).await.len()), (6, 8));

    // For good: whatever has become of the order.
    visitor.release(first.order()).await;
    assert_eq!(visitor.hold_as(attempt, show, &[1, 2]).await.location, first.location);
    assert_eq!(error(&visitor.hold_as(attempt, show, &[1]).await), (422, "attempt_reused".to_owned()));
    assert_eq!(cinema.free(show).await.len(), 8);
    cinema.proves().await;
}

/// Ten equal ones at once, and ten that differ: of these one is first, and all others are told.
#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_to_hold_that_comes_many_times_at_once_is_one_hold() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(20).await;
    let visitor = known(&cinema).await;
    let send = async |attempt: Uuid, show: ShowId, seats: fn(i16) -> Vec<i16>| {
        all_at_once((0..10).map(|nth| {
            let visitor = visitor.goes_to(visitor.site);
            async move { visitor.post("/api/hold_seats", &hold_form(attempt, show, &seats(nth))).await }
        }))
        .await
    };
    let equal = send(Uuid::new_v4(), show, |_| vec![1, 2]).await;
    let orders: BTreeSet<OrderId> = equal.iter().map(Answer::order).collect();
    assert_eq!(orders.len(), 1, "{equal:?}");
    assert_eq!(cinema.free(show).await.len(), 18);

    let different = send(Uuid::new_v4(), show, |nth| vec![3 + nth]).await;
    let (held, refused): (Vec<_>, Vec<_>) = different.iter().partition(|answer| answer.status == StatusCode::OK);
    assert_eq!((held.len(), refused.len()), (1, 9), "{different:?}");
    for answer in refused {
        assert_eq!(error(answer), (422, "attempt_reused".to_owned()));
    }
    assert_eq!(cinema.free(show).await.len(), 17);
    cinema.proves().await;
}

/// The order is the key: there is nothing else that a second request could say.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_comes_many_times_at_once_is_one_release() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let order = visitor.hold(show, &[1, 2]).await.order();
    let answers = all_at_once((0..10).map(|_| {
        let visitor = visitor.goes_to(visitor.site);
        async move { visitor.release(order).await }
    }))
    .await;
    for answer in answers {
        assert_eq!((answer.status, answer.location), (StatusCode::OK, Some(format!("/shows/{show}"))));
    }
    // Somebody else has a seat by now: a late copy of the request takes nothing from them.
    let other = Browser::at(visitor.site);
    assert_eq!(other.hold(show, &[1]).await.status, StatusCode::OK);
    assert_eq!(visitor.release(order).await.status, StatusCode::OK);
    assert_eq!(cinema.free(show).await.len(), 7);
    let told: i64 = sqlx::query_scalar("select count(*) from order_events where order_id = $1 and event = 'released'")
        .bind(order.0)
        .fetch_one(&cinema.db)
        .await
        .unwrap();
    assert_eq!(told, 1);
    cinema.proves().await;
}

/// While the bank thinks: every command about the order that cannot be answered now says when to come again. Afterwards the
/// attempt is answered from its payment, and stands for its card.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_still_at_work_says_when_to_ask_again() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let (office, gateway) = cinema.scripted_office();
    let visitor = Browser::at(serve(&office).await);
    let order = visitor.hold(show, &[1]).await.order();
    let attempt = Uuid::new_v4();
    let mut charge = gateway.next_charge_thinks();
    let first = {
        let (visitor, form) = (visitor.goes_to(visitor.site), pay_form(order, attempt, GOOD_CARD));
        tokio::spawn(async move { visitor.post("/api/pay", &form).await })
    };
    charge.began().await;
    let at_work = |answer: &Answer| (error(answer), answer.retry_after.clone());
    let come_again = ((409, "payment_in_progress".to_owned()), Some("1".to_owned()));
    assert_eq!(at_work(&visitor.post("/api/pay", &pay_form(order, attempt, GOOD_CARD)).await), come_again);
    assert_eq!(at_work(&visitor.pay(order, GOOD_CARD).await), come_again, "another attempt");
    assert_eq!(at_work(&visitor.release(order).await), come_again);
    let reused = (422, "attempt_reused".to_owned());
    assert_eq!(error(&visitor.post("/api/pay", &pay_form(order, attempt, DECLINED_CARD)).await), reused);
    // A person is led to the page that waits.
    let page = visitor.submit("/api/pay", &format!("/orders/{order}/pay"), &pay_form(order, attempt, GOOD_CARD)).await;
    assert_eq!((page.status, page.location), (StatusCode::FOUND, Some(format!("/orders/{order}"))));

    charge.goes_on();
    let first = first.await.unwrap();
    assert_eq!((first.status, first.location.as_deref()), (StatusCode::OK, Some(&*format!("/orders/{order}"))));
    for _ in 0..2 {
        let again = visitor.post("/api/pay", &pay_form(order, attempt, GOOD_CARD)).await;
        assert_eq!((again.status, &again.location, &again.body), (first.status, &first.location, &first.body));
    }
    assert_eq!(error(&visitor.post("/api/pay", &pay_form(order, attempt, DECLINED_CARD)).await), reused);
    assert_eq!(cinema.payments(order).await.len(), 1);
    assert_eq!(cinema.books(order).await, Books::sold_for(PRICE));
    cinema.proves().await;
}

/// A declined attempt stays declined, and is not charged again.
#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_to_pay_that_was_declined_is_not_tried_anew() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let order = visitor.hold(show, &[1]).await.order();
    let attempt = Uuid::new_v4();
    let answers = all_at_once((0..10).map(|_| {
        let (visitor, form) = (visitor.goes_to(visitor.site), pay_form(order, attempt, DECLINED_CARD));
        async move { visitor.post("/api/pay", &form).await }
    }))
    .await;
    for answer in answers {
        assert_eq!((answer.status, answer.location), (StatusCode::OK, Some(format!("/orders/{order}"))));
    }
    assert_eq!(
        error(&visitor.post("/api/pay", &pay_form(order, attempt, GOOD_CARD)).await),
        (422, "attempt_reused".to_owned())
    );
    assert_eq!((cinema.payments(order).await.len(), cinema.books(order).await), (1, Books::EMPTY));
    cinema.proves().await;
}
