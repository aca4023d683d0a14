//! The table of `domain::saga`, compared with what the statements do.

use matinee::box_office;
use matinee::domain::ids::{OrderId, PaymentId, ShowId};
use matinee::domain::payment::PaymentState;
use matinee::domain::saga::{Actor, Phase, Step};
use matinee::store::{holds, payments};
use uuid::Uuid;

use crate::support::{Cinema, GOOD_CARD};

/// An order of one seat in a phase, and a payment of it that was given up.
pub async fn order_in(cinema: &Cinema, phase: Phase) -> (ShowId, OrderId, PaymentId) {
    let show = cinema.show_of(1).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[1]).await.unwrap();
    let spare = cinema.given_up(order).await;
    let late = async || {
        let payment = PaymentId(Uuid::new_v4());
        cinema.starts(order, payment).await.unwrap();
        cinema.expire(order).await;
        let bert = cinema.visitor();
        let other = bert.hold(show, &[1]).await.unwrap();
        let capture = cinema.captures(payment).await;
        cinema.confirms(payment, &capture).await;
        bert.release(other).await.unwrap();
        payment
    };
    match phase {
        Phase::Held => {}
        Phase::Paying => {
            let payment = PaymentId(Uuid::new_v4());
            cinema.starts(order, payment).await.unwrap();
        }
        Phase::Sold => ada.pay(order, GOOD_CARD).await.unwrap(),
        Phase::Released => drop(ada.release(order).await.unwrap()),
        Phase::RefundOwed => drop(late().await),
        Phase::Refunded => {
            late().await;
            box_office::resume(&cinema.office, order).await.unwrap();
        }
    }
    assert_eq!(cinema.phase(order).await, phase);
    (show, order, spare)
}

/// The picture in `domain::saga` is what the statements do: each step, in each state, leads where the table says, and
/// nowhere else.
#[tokio::test]
async fn every_step_in_every_state_leads_where_the_table_says() {
    let cinema = Cinema::open().await;
    for phase in Phase::ALL {
        for step in Step::ALL {
            let (show, order, spare) = order_in(&cinema, phase).await;
            match step {
                Step::Release => drop(holds::release(&cinema.db, order).await.unwrap()),
                Step::StartPayment => {
                    let payment = PaymentId(Uuid::new_v4());
                    cinema.starts(order, payment).await;
                }
                Step::GiveUp => {
                    for payment in cinema.payments(order).await {
                        payments::give_up(&cinema.db, payment.id, Some("no"), Actor::Gateway).await.unwrap();
                    }
                }
                Step::Sell => {
                    let capture = cinema.captures(spare).await;
                    cinema.confirms(spare, &capture).await;
                }
                Step::OweRefund => {
                    cinema.expire(order).await;
                    // Sold or held by others: somebody else has the seat now, unless the order has sold it.
                    let _taken = cinema.visitor().hold(show, &[1]).await;
                    let capture = cinema.captures(spare).await;
                    cinema.confirms(spare, &capture).await;
                }
                Step::RefundMade => {
                    for payment in cinema.payments(order).await {
                        if matches!(payment.state, PaymentState::Captured { bought: false, .. }) {
                            box_office::resume(&cinema.office, order).await.unwrap();
                        }
                    }
                }
            }
            let expected = phase.after(step).unwrap_or(phase);
            assert_eq!(cinema.phase(order).await, expected, "{step:?} in {phase:?}");
            // Whatever was done: finished by whoever looks, all of it is in order.
            cinema.age_payments(order).await;
            box_office::resume(&cinema.office, order).await.unwrap();
        }
    }
    cinema.proves().await;
}
