//! The saga: every step in every state, money that comes when nobody expects it, and recovery by whoever looks next.

mod broken;
mod money;
mod races;
mod recovery;
mod steps;
mod story;
mod twice;

use matinee::box_office;
use matinee::box_office::gateway::Charge;
use matinee::domain::ids::{OrderId, PaymentId};
use matinee::domain::payment::{Capture, Card, RefundReason};
use matinee::domain::saga::{Actor, Happening, Phase};
use matinee::store::{events, payments, refunds};
use uuid::Uuid;

use crate::support::{Cinema, GOOD_CARD};

impl Cinema {
    /// Starts a payment and gives it up, as if the gateway had never heard of it.
    pub async fn given_up(&self, order: OrderId) -> PaymentId {
        let payment = PaymentId(Uuid::new_v4());
        self.starts(order, payment).await.unwrap();
        payments::give_up(&self.db, payment, None, Actor::Recovery).await.unwrap();
        payment
    }

    /// The gateway takes the money of a payment after all, and says so: once to nobody, then as a message.
    pub async fn captures(&self, payment: PaymentId) -> Capture {
        let known = payments::get(&self.db, payment).await.unwrap().unwrap();
        let card = Card::parse(GOOD_CARD).unwrap();
        match self.office.gateway.charge(payment, known.order, known.amount, &card).await.unwrap() {
            Charge::Captured(capture) => capture,
            other => panic!("{other:?}"),
        }
    }

    pub async fn learns(&self, payment: PaymentId) {
        let capture = self.captures(payment).await;
        box_office::learn(&self.office, payment, Charge::Captured(capture)).await.unwrap();
    }

    pub async fn phase(&self, order: OrderId) -> Phase {
        let state: String = sqlx::query_scalar("select state::text from orders where id = $1")
            .bind(order.0)
            .fetch_one(&self.db)
            .await
            .unwrap();
        Phase::ALL.into_iter().find(|phase| phase.as_str() == state).unwrap()
    }

    pub async fn story(&self, order: OrderId) -> Vec<(Happening, Actor)> {
        let story = events::of_order(&self.db, order).await.unwrap();
        assert!(story.is_sorted_by_key(|event| event.at));
        story.into_iter().map(|event| (event.what, event.actor)).collect()
    }

    pub async fn reasons(&self, order: OrderId) -> Vec<RefundReason> {
        let refunds = refunds::of_order(&self.db, order).await.unwrap();
        assert!(refunds.iter().all(|refund| refund.made.is_some()), "{refunds:?}");
        refunds.into_iter().map(|refund| refund.reason).collect()
    }

    pub async fn incidents(&self, kind: &str, charge: &str) -> i64 {
        sqlx::query_scalar("select count(*) from incidents where kind = $1::text::incident_kind and charge = $2")
            .bind(kind)
            .bind(charge)
            .fetch_one(&self.db)
            .await
            .unwrap()
    }
}
