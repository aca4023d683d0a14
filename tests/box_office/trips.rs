//! How often a sale asks the database: each question waits for a flush or for the network, so none may come back unnoticed.

use std::sync::Arc;

use matinee::box_office::gateway::Charge;
use matinee::box_office::{self, BoxOffice};
use matinee::domain::payment::{Capture, PaymentState};
use matinee::store::pool;

use crate::support::trips::Trips;
use crate::support::{Cinema, DECLINED_CARD, GOOD_CARD, Visitor};

#[tokio::test]
async fn a_sale_asks_the_database_three_times_and_a_message_once() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(30).await;
    let trips = Trips::to(&cinema.url()).await.unwrap();
    let counted = pool::connect(&trips.url).unwrap();
    let office = Arc::new(BoxOffice::new(counted, cinema.office.cinema.clone(), Arc::new(cinema.gateway.clone())));
    let mut told = Vec::new();
    // The first time statements are also prepared.
    for first in [1, 5, 9] {
        let ada = Visitor::at(&office);
        trips.since();
        let order = ada.hold(show, &[first, first + 1, first + 2, first + 3]).await.unwrap();
        let held = trips.since();
        ada.pay(order, DECLINED_CARD).await.unwrap();
        let declined = trips.since();
        ada.pay(order, GOOD_CARD).await.unwrap();
        let paid = trips.since();
        let payment = cinema.payments(order).await.pop().unwrap();
        let PaymentState::Captured { reference, .. } = payment.state else { panic!("{payment:?}") };
        let capture = Capture { reference, amount: payment.amount, evidence: None };
        box_office::learn(&office, payment.id, Charge::Captured(capture)).await.unwrap();
        let message = trips.since();
        ada.release(order).await.unwrap_err();
        assert!(trips.since() > 0, "what is asked is counted");
        assert!(cinema.is_sold(order).await);
        told.push([held, declined, paid, message]);
    }
    assert_eq!(told[1..], [[1, 2, 2, 1]; 2], "hold, declined payment, payment, message");
    cinema.proves().await;
}
