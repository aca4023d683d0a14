//! What an attempt stands for, and what an order tells of itself.

use matinee::box_office::{self, Progress};
use matinee::domain::Error;
use matinee::domain::order::Standing;
use matinee::domain::payment::Card;
use matinee::domain::saga::{Actor, Happening};

use crate::support::{Books, Cinema, DECLINED_CARD, GOOD_CARD, PRICE, Visitor, an_attempt};

/// The same attempt: the same answer while nothing differs, a refusal when the card does, and "still at work" meanwhile.
#[tokio::test]
async fn an_attempt_to_pay_stands_for_one_card() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(1).await;
    let (office, gateway) = cinema.scripted_office();
    let ada = Visitor::at(&office);
    let order = ada.hold(show, &[1]).await.unwrap();
    let attempt = an_attempt();
    let pay =
        async |card: &str| box_office::pay(&office, ada.id, order, attempt, Card::parse(card).unwrap(), None).await;

    let mut charge = gateway.next_charge_thinks();
    let payer = ada.clone();
    let first = tokio::spawn(async move { payer.pay_as(attempt, order, GOOD_CARD).await });
    charge.began().await;
    assert_eq!(pay(GOOD_CARD).await, Ok(Progress::UnderWay));
    assert_eq!(pay(DECLINED_CARD).await, Err(Error::AttemptReused));
    charge.goes_on();
    first.await.unwrap().unwrap();
    assert_eq!(pay(GOOD_CARD).await, Ok(Progress::Told));
    assert_eq!(pay(DECLINED_CARD).await, Err(Error::AttemptReused));
    assert_eq!(cinema.books(order).await, Books::sold_for(PRICE));
    assert_eq!(cinema.payments(order).await[0].card_ending.as_deref(), Some("4242"));
    cinema.proves().await;
}

/// Who did what, in the order in which it happened; and nobody can write it anew.
#[tokio::test]
async fn an_order_tells_its_story() {
    use Happening::{
        Held, PaymentCaptured, PaymentDeclined, PaymentFailed, PaymentStarted, RefundOwed, Refunded, Released, Sold,
    };
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[1]).await.unwrap();
    ada.pay(order, DECLINED_CARD).await.unwrap();
    ada.pay(order, GOOD_CARD).await.unwrap();
    let by_ada = [Held, PaymentStarted, PaymentDeclined, PaymentStarted, PaymentCaptured, Sold];
    assert_eq!(cinema.story(order).await, by_ada.map(|what| (what, Actor::Visitor)));

    let released = ada.hold(show, &[2]).await.unwrap();
    ada.release(released).await.unwrap();
    ada.release(released).await.unwrap();
    assert_eq!(cinema.story(released).await, [Held, Released].map(|what| (what, Actor::Visitor)));

    let late = ada.hold(show, &[3]).await.unwrap();
    let payment = cinema.given_up(late).await;
    cinema.expire(late).await;
    cinema.visitor().hold(show, &[3]).await.unwrap();
    cinema.learns(payment).await;
    let expected = [
        (Held, Actor::Visitor),
        (PaymentStarted, Actor::Visitor),
        (PaymentFailed, Actor::Recovery),
        (PaymentCaptured, Actor::Gateway),
        (RefundOwed, Actor::Gateway),
        (Refunded, Actor::Gateway),
    ];
    assert_eq!(cinema.story(late).await, expected);
    assert!(matches!(cinema.standing(late).await, Standing::Refunded { .. }));
    for change in ["update order_events set why = 'because'", "delete from order_events"] {
        let refused = sqlx::query(change).execute(&cinema.db).await.unwrap_err();
        assert!(refused.to_string().contains("order_events"), "{refused}");
    }
    cinema.proves().await;
}
