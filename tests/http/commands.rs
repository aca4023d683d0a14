//! The contract's commands, one after the other.

use reqwest::StatusCode;
use uuid::Uuid;

use crate::browser::{Browser, hold_form, serve};
use crate::support::{Books, Cinema, DECLINED_CARD, GOOD_CARD, PRICE, all_at_once};

#[tokio::test(flavor = "multi_thread")]
async fn a_moviegoer_holds_pays_and_has_tickets() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let visitor = Browser::at(serve(&cinema.office).await);

    let held = visitor.hold(show, &[3, 4]).await;
    assert_eq!(held.status, StatusCode::OK);
    assert!(held.sets_cookie);
    let paid = visitor.pay(held.order(), GOOD_CARD).await;
    assert_eq!(paid.location, Some(format!("/orders/{}", held.order())));
    let page = visitor.get(&format!("/orders/{}", held.order())).await;
    assert_eq!(page.body.matches("data-testid=\"ticket\"").count(), 2);
    assert_eq!(cinema.ticketed(held.order()).await, [3, 4]);
    cinema.proves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_is_409_and_names_the_taken_seats() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let site = serve(&cinema.office).await;
    assert_eq!(Browser::at(site).hold(show, &[3]).await.status, StatusCode::OK);

    let late = Browser::at(site);
    let refused = late.hold(show, &[2, 3]).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    assert_eq!(refused.json()["error"], "seat_taken");
    assert_eq!(refused.json()["seats"], serde_json::json!([3]));
    assert_eq!(refused.json()["kept"], serde_json::json!([2]));
    assert!(refused.json()["message"].as_str().unwrap().contains("taken"));
    assert!(!refused.sets_cookie, "there is nothing to keep");
    assert_eq!(cinema.free(show).await, [1, 2, 4, 5, 6, 7, 8]);
    cinema.proves().await;
}

/// Without JavaScript the refusal comes back as a page that names the seats, keeps the rest picked and offers others.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_form_comes_back_with_the_rest_still_picked() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let site = serve(&cinema.office).await;
    Browser::at(site).hold(show, &[3]).await;

    let late = Browser::at(site);
    let from = format!("/shows/{show}");
    let refused = late.submit("/api/hold_seats", &from, &hold_form(Uuid::new_v4(), show, &[2, 3])).await;
    assert_eq!(refused.status, StatusCode::FOUND);
    let back = refused.location.unwrap();
    let page = late.get(back.split_once(&site.to_string()).unwrap().1).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.body.contains("1-3 was just taken, so none was held. Still picked: 1-2."), "{}", page.body);
    let kept = page.body.split("value=\"2\"").nth(1).unwrap().split('>').next().unwrap();
    assert!(kept.contains("checked"), "{kept}");
    assert!(page.body.contains("?pick=1,2"), "the nearest two side by side");
    cinema.proves().await;
}

/// B3: strangers are strangers until there is something to keep.
#[tokio::test(flavor = "multi_thread")]
async fn looking_makes_no_session() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let stranger = Browser::at(serve(&cinema.office).await);
    for path in ["/".to_owned(), format!("/shows/{show}"), "/my".to_owned()] {
        let page = stranger.get(&path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert!(!page.sets_cookie, "{path}");
    }
    let sessions: i64 = sqlx::query_scalar("select count(*) from sessions").fetch_one(&cinema.db).await.unwrap();
    assert_eq!(sessions, 0);
    cinema.proves().await;
}

/// P7: the very first click of a stranger, doubled.
#[tokio::test(flavor = "multi_thread")]
async fn a_strangers_double_click_is_one_visitor_with_one_order() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let site = serve(&cinema.office).await;
    let attempt = Uuid::new_v4();
    let clicks =
        all_at_once((0..20).map(|_| async move { Browser::at(site).hold_as(attempt, show, &[1, 2]).await })).await;
    let first = clicks[0].order();
    for click in &clicks {
        assert_eq!((click.status, click.order()), (StatusCode::OK, first), "{click:?}");
        assert!(click.sets_cookie);
    }
    let (orders, sessions): (i64, i64) =
        sqlx::query_as("select (select count(*) from orders), (select count(*) from sessions)")
            .fetch_one(&cinema.db)
            .await
            .unwrap();
    assert_eq!((orders, sessions), (1, 1));
    cinema.proves().await;
}

/// P6: ten posts of the same payment form, and ten of ten different ones.
#[tokio::test(flavor = "multi_thread")]
async fn ten_payments_at_once_charge_once_and_all_answers_show_the_order() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let site = serve(&cinema.office).await;
    let visitor = Browser::at(site);
    let order = visitor.hold(show, &[1, 2]).await.order();
    let attempt = Uuid::new_v4();
    let same = (0..10).map(|_| {
        let visitor = visitor.goes_to(site);
        async move {
            let form = [("order", order.to_string()), ("attempt", attempt.to_string()), ("card", GOOD_CARD.to_owned())];
            visitor.post("/api/pay", &form).await
        }
    });
    for answer in all_at_once(same).await {
        assert_eq!((answer.status, answer.location), (StatusCode::OK, Some(format!("/orders/{order}"))));
    }
    let others = (0..10).map(|_| {
        let visitor = visitor.goes_to(site);
        async move { visitor.pay(order, GOOD_CARD).await }
    });
    for answer in all_at_once(others).await {
        assert_eq!((answer.status, answer.location), (StatusCode::OK, Some(format!("/orders/{order}"))));
    }
    assert_eq!(cinema.books(order).await, Books::sold_for(2 * PRICE));
    cinema.proves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn releasing_twice_answers_twice_the_same() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let order = visitor.hold(show, &[1, 2]).await.order();
    for _ in 0..2 {
        let released = visitor.release(order).await;
        assert_eq!((released.status, released.location), (StatusCode::OK, Some(format!("/shows/{show}"))));
    }
    assert_eq!(cinema.free(show).await.len(), 8);
    cinema.proves().await;
}

/// H6: seven held, a decline, then given back: seven are free.
#[tokio::test(flavor = "multi_thread")]
async fn a_decline_keeps_the_hold_until_it_is_given_back() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let order = visitor.hold(show, &[1, 2, 3, 4, 5, 6, 7]).await.order();
    visitor.pay(order, DECLINED_CARD).await;
    let page = visitor.get(&format!("/orders/{order}")).await;
    assert!(page.body.contains("the bank declined the card"), "{}", page.body);
    let pay_page = visitor.get(&format!("/orders/{order}/pay")).await;
    assert!(pay_page.body.contains("data-testid=\"declined-notice\""));
    assert_eq!(cinema.free(show).await, [8]);
    visitor.release(order).await;
    assert_eq!(cinema.free(show).await.len(), 8);
    cinema.proves().await;
}

/// P8: the browser has no say in the price.
#[tokio::test(flavor = "multi_thread")]
async fn a_price_in_the_form_is_ignored() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let mut form = hold_form(Uuid::new_v4(), show, &[1, 2]);
    form.extend([("price_minor", "1".to_owned()), ("total", "0".to_owned())]);
    let order = visitor.post("/api/hold_seats", &form).await.order();
    visitor.pay(order, GOOD_CARD).await;
    assert_eq!(cinema.books(order).await, Books::sold_for(2 * PRICE));
    cinema.proves().await;
}

/// The same attempt while the first one is still at work: a program is told when to come again, a person gets the page
/// that waits. Another card under the same attempt is another request.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_sent_again_while_it_is_under_way_is_409_for_programs_and_a_page_for_people() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let order = visitor.hold(show, &[1]).await.order();
    let attempt = Uuid::new_v4().to_string();
    let form = |card: &str| vec![("order", order.to_string()), ("attempt", attempt.clone()), ("card", card.to_owned())];
    // Accepted after five seconds.
    let slow = "4000000000000341";
    let first = {
        let (visitor, form) = (visitor.goes_to(visitor.site), form(slow));
        tokio::spawn(async move { visitor.post("/api/pay", &form).await })
    };
    crate::support::until("the payment is under way", || async { cinema.payments(order).await.len() == 1 }).await;
    let again = visitor.post("/api/pay", &form(slow)).await;
    assert_eq!((again.status, again.retry_after.as_deref()), (StatusCode::CONFLICT, Some("1")));
    assert_eq!(again.json()["error"], "payment_in_progress");
    let page = visitor.submit("/api/pay", &format!("/orders/{order}/pay"), &form(slow)).await;
    assert_eq!((page.status, page.location), (StatusCode::FOUND, Some(format!("/orders/{order}"))));
    let other = visitor.post("/api/pay", &form(GOOD_CARD)).await;
    assert_eq!((other.status, &other.json()["error"]), (StatusCode::UNPROCESSABLE_ENTITY, &"attempt_reused".into()));
    let told = first.await.unwrap();
    assert_eq!(
        told.location,
        visitor.post("/api/pay", &form(slow)).await.location,
        "the second answer equals the first"
    );
    assert_eq!(cinema.books(order).await, Books::sold_for(PRICE));
    let page = visitor.get(&format!("/orders/{order}")).await.body;
    for words in ["What happened", "Seats held", "card ending 0341", "EUR 12.50 taken from", "Tickets issued"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    cinema.proves().await;
}
