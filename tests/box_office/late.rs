//! Money that comes after the hold has lapsed: sold all the same while the seats are free, refunded once when they have gone.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use matinee::box_office::gateway::Gateway;
use matinee::box_office::{self, BoxOffice};
use matinee::domain::ids::OrderId;
use matinee::domain::order::Standing;
use matinee::store::{orders, refunds};

use crate::support::gateway::{Paying, ScriptedGateway};
use crate::support::{Books, Cinema, GOOD_CARD, PRICE, Visitor, all_at_once, taken, until};

#[tokio::test]
async fn a_late_payment_whose_seats_are_still_free_sells_them() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    let Paying { order, charge, payment, .. } = cinema.paying(show, &[1, 2]).await;
    cinema.expire(order).await;
    assert_eq!(cinema.free(show).await, [1, 2, 3]);
    // Somebody took one meanwhile and gave it back; somebody else let it lapse.
    let bert = cinema.visitor();
    let back = bert.hold(show, &[1]).await.unwrap();
    bert.release(back).await.unwrap();
    let lapsed = cinema.visitor().hold(show, &[2, 3]).await.unwrap();
    cinema.expire(lapsed).await;

    charge.goes_on();
    assert_eq!(payment.await.unwrap(), Ok(()));
    assert_eq!(cinema.ticketed(order).await, [1, 2]);
    assert_eq!(cinema.books(order).await, Books::sold_for(2 * PRICE));
    assert_eq!(cinema.free(show).await, [3]);
    cinema.proves().await;
}

/// P1: both clock times are kept; the page that says them is in `tests/http/pages.rs` and in `end2end/specs/desktop/paying`.
#[tokio::test]
async fn a_late_payment_whose_seat_has_gone_is_refunded_once() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    let Paying { visitor: ada, order, charge, payment, office, gateway } = cinema.paying(show, &[1, 2]).await;
    cinema.expire(order).await;
    let ended_at = cinema.order(order).await.ends_at();
    let bert = cinema.visitor();
    let bought = bert.hold(show, &[2]).await.unwrap();
    bert.pay(bought, GOOD_CARD).await.unwrap();

    charge.goes_on();
    assert_eq!(payment.await.unwrap(), Ok(()));
    assert!(cinema.is_refunded(order).await);
    assert_eq!(cinema.ticketed(order).await, Vec::<i16>::new());
    assert_eq!(cinema.ticketed(bought).await, [2]);
    assert_eq!(cinema.books(order).await, Books::refunded(2 * PRICE));
    assert_eq!(cinema.free(show).await, [1, 3], "what nobody took is free");
    // Both clock times are kept: when the hold ended, and when the payment arrived.
    let refund = refunds::of_order(&cinema.db, order).await.unwrap().remove(0);
    assert_eq!((refund.amount.minor, refund.hold_ended_at), (2 * PRICE, ended_at));
    assert!(refund.owed_since > refund.hold_ended_at);
    assert!(refund.made.clone().is_some_and(|(made_at, _)| made_at >= refund.owed_since));

    for _ in 0..5 {
        box_office::resume(&office, order).await.unwrap();
        assert_eq!(ada.pay(order, GOOD_CARD).await, Ok(()));
        assert_eq!(ada.release(order).await, Ok(show));
    }
    assert_eq!(refunds::of_order(&cinema.db, order).await.unwrap(), [refund]);
    assert_eq!(gateway.refunds_asked.load(Ordering::SeqCst), 1);
    assert_eq!(cinema.books(order).await, Books::refunded(2 * PRICE));
    cinema.proves().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_confirmation_that_meets_another_hold_leaves_one_of_them_with_the_seats() {
    const ROUNDS: i16 = 300;
    let cinema = Cinema::open().await;
    let show = cinema.show_of(600).await;
    let (mut sold, mut refunded) = (0, 0);
    // Whoever was first starts a little later in the next round, so that they keep meeting.
    let mut head_start = Duration::ZERO;
    let step = Duration::from_micros(100);
    let (office, gateway) = cinema.scripted_office();
    for round in 0..ROUNDS {
        let seats = [round * 2 + 1, round * 2 + 2];
        let (ada, bert) = (Visitor::at(&office), cinema.visitor());
        let order = ada.hold(show, &seats).await.unwrap();
        let mut charge = gateway.next_charge_thinks();
        let payment = tokio::spawn(async move { ada.pay(order, GOOD_CARD).await });
        charge.began().await;
        cinema.expire(order).await;
        let take_over = tokio::spawn(async move {
            tokio::time::sleep(head_start).await;
            bert.hold(show, &[seats[1]]).await
        });
        charge.goes_on();
        assert_eq!(payment.await.unwrap(), Ok(()));
        match take_over.await.unwrap() {
            Ok(other) => {
                refunded += 1;
                head_start += step;
                assert!(cinema.is_refunded(order).await);
                assert_eq!(cinema.books(order).await, Books::refunded(2 * PRICE));
                assert!(matches!(cinema.standing(other).await, Standing::Held { .. }));
            }
            Err(conflict) => {
                sold += 1;
                head_start = head_start.saturating_sub(step);
                assert_eq!(conflict, taken(&[seats[1]], &[]));
                assert_eq!(cinema.ticketed(order).await, seats);
                assert_eq!(cinema.books(order).await, Books::sold_for(2 * PRICE));
            }
        }
    }
    println!("{sold} sold, {refunded} refunded");
    assert!(sold > 0 && refunded > 0, "both ends were met: {sold} sold, {refunded} refunded");
    cinema.proves().await;
}

#[tokio::test]
async fn a_refund_that_fails_stays_owed_until_somebody_looks() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(1).await;
    let Paying { visitor: ada, order, charge, payment, office, gateway } = cinema.paying(show, &[1]).await;
    gateway.next_refunds_fail(3);
    cinema.expire(order).await;
    cinema.visitor().hold(show, &[1]).await.unwrap();
    charge.goes_on();
    assert_eq!(payment.await.unwrap(), Ok(()));
    for _ in 0..2 {
        assert!(matches!(cinema.standing(order).await, Standing::RefundOwed { .. }));
        assert_eq!(ada.release(order).await, Ok(show));
        assert_eq!(cinema.books(order).await, Books::sold_for(PRICE));
        cinema.proves().await;
        box_office::resume(&office, order).await.unwrap();
    }
    box_office::resume(&office, order).await.unwrap();
    assert!(cinema.is_refunded(order).await);
    assert_eq!(cinema.books(order).await, Books::refunded(PRICE));
    cinema.proves().await;
}

/// P5: the late payment's own path and twenty who look at its order ask for the refund at once, on two servers: none is made
/// before all have asked. It is made once, and no more is given back than was paid.
///
/// Who looks while somebody else is just taking the refund leaves it to him: that a late path which races with the looks asks as
/// well is therefore not certain. In half of the rounds it comes first and asks; in the others they race, and the looks suffice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_refund_requests_and_the_late_path_at_once_make_one_refund() {
    let cinema = Cinema::open().await;
    for round in 0..10 {
        let show = cinema.show_of(1).await;
        let Paying { order, charge, payment, office, gateway, .. } = cinema.paying(show, &[1]).await;
        let late_path_first = round < 5;
        let meeting = if late_path_first { 21 } else { 20 };
        gateway.next_refunds_meet(meeting);
        // In half of the rounds a refund reaches the bank and its answer is lost.
        gateway.next_refunds_lose_their_answer(round % 2);
        cinema.expire(order).await;
        cinema.visitor().hold(show, &[1]).await.unwrap();
        let server: Arc<dyn Gateway> = Arc::<ScriptedGateway>::clone(&gateway);
        let elsewhere = BoxOffice::new(cinema.another_office().pool.clone(), office.cinema.clone(), server);
        let offices = [office, Arc::new(elsewhere)];
        let looks = (0..20).map(|nth| {
            let office = Arc::clone(&offices[nth % 2]);
            async move {
                until("there is nothing left to do", || async {
                    box_office::resume(&office, order).await.unwrap();
                    matches!(standing(&office, order).await, Standing::Refunded { .. })
                })
                .await;
            }
        });
        charge.goes_on();
        if late_path_first {
            until("the late path asks", || async { gateway.refunds_asked.load(Ordering::SeqCst) == 1 }).await;
        }
        all_at_once(looks).await;
        assert_eq!(payment.await.unwrap(), Ok(()));
        assert!(gateway.refunds_asked.load(Ordering::SeqCst) >= meeting);
        assert_eq!(cinema.books(order).await, Books::refunded(PRICE));
        assert_eq!(refunds::of_order(&cinema.db, order).await.unwrap().len(), 1);
    }
    let made: i64 = sqlx::query_scalar("select count(*) from gateway.refunds").fetch_one(&cinema.db).await.unwrap();
    assert_eq!(made, 10);
    cinema.proves().await;
}

async fn standing(office: &BoxOffice, order: OrderId) -> Standing {
    let (order, now) = orders::get(&office.pool, order).await.unwrap().unwrap();
    order.standing(now)
}
