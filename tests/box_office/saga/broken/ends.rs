//! How a broken story is brought to its end by whoever comes next, and what must be true then.

use std::sync::Arc;

use matinee::box_office::gateway::Charge;
use matinee::box_office::recover::refund_made;
use matinee::box_office::{self, BoxOffice};
use matinee::domain::Error;
use matinee::domain::ids::PaymentId;
use matinee::domain::money::Money;
use matinee::domain::payment::Capture;
use matinee::domain::saga::Phase;
use uuid::Uuid;

use super::scene::Scene;
use crate::support::{Books, GOOD_CARD, PRICE};

/// Who comes next.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// Somebody looks at the order's page.
    Look,
    /// A server starts, or `matinee reconcile` runs.
    Reconcile,
    /// The visitor sends the same form again.
    SameForm,
    /// The gateway's messages come; of what it never heard of it tells nothing, so somebody looks, too.
    Messages,
}

impl Next {
    pub const ALL: [Self; 4] = [Self::Look, Self::Reconcile, Self::SameForm, Self::Messages];
}

/// What the two lines of a story's books cost.
const TOTAL: i64 = 2 * PRICE;

impl Scene {
    /// Whoever comes next comes again until nothing is open.
    pub async fn finish(&self, office: &Arc<BoxOffice>, next: Next) {
        for round in 0..8 {
            self.ages().await;
            let looked = match next {
                Next::Look => box_office::resume(office, self.order).await,
                Next::Reconcile => box_office::reconcile(office).await.map(drop),
                Next::SameForm => {
                    let _told = self.clone().act(Arc::clone(office)).await;
                    self.ages().await;
                    box_office::resume(office, self.order).await
                }
                Next::Messages => {
                    self.is_told(office).await.unwrap();
                    box_office::resume(office, self.order).await
                }
            };
            assert_eq!(looked, Ok(()), "{next:?}");
            if !self.is_open().await {
                return;
            }
            // The card's holder makes up his mind, or never does.
            if round == 2 && (self.order.0.as_u128().is_multiple_of(2) || !self.is_confirmed().await) {
                self.cinema.expire(self.order).await;
            }
        }
        panic!("still open: {:?}", self.cinema.payments(self.order).await);
    }

    /// As if everybody who was at work had had more than enough time.
    async fn ages(&self) {
        self.cinema.age_payments(self.order).await;
        self.cinema.sql("update refunds set asked_at = asked_at - interval '1 minute' where refunded_at is null").await;
    }

    async fn is_open(&self) -> bool {
        sqlx::query_scalar(
            "select exists (select from payments p left join refunds r on r.payment_id = p.id where p.order_id = $1
                            and (p.state = 'started' or (r.payment_id is not null and r.refunded_at is null)))",
        )
        .bind(self.order.0)
        .fetch_one(&self.cinema.db)
        .await
        .unwrap()
    }

    /// The gateway's messages about the order, each as often as it likes.
    async fn is_told(&self, office: &Arc<BoxOffice>) -> Result<(), Error> {
        let charges: Vec<(Uuid, String, String, i64)> = sqlx::query_as(
            "select p.id, c.status::text, c.id, c.amount_minor from gateway.charges c
             join payments p on p.id::text = c.idempotency_key where p.order_id = $1",
        )
        .bind(self.order.0)
        .fetch_all(&self.cinema.db)
        .await
        .unwrap();
        for (payment, status, reference, minor) in charges {
            let amount = Money::new(minor, "EUR".parse().unwrap());
            let decision = match status.as_str() {
                "captured" => Charge::Captured(Capture { reference: reference.clone(), amount, evidence: None }),
                "declined" => Charge::Declined { reason: "as its message says".to_owned() },
                _ => continue,
            };
            box_office::learn(office, PaymentId(payment), decision).await?;
            let refund: Option<String> = sqlx::query_scalar("select id from gateway.refunds where charge_id = $1")
                .bind(&reference)
                .fetch_optional(&self.cinema.db)
                .await
                .unwrap();
            if let Some(refund) = refund {
                refund_made(office, &reference, &refund).await?;
            }
        }
        Ok(())
    }

    /// Tickets, or one refund, or nothing charged; the gateway's books and ours say the same. How it ended; none when there
    /// is no order at all.
    pub async fn ended(&self) -> Option<Phase> {
        let exists: bool = sqlx::query_scalar("select exists (select from orders where id = $1)")
            .bind(self.order.0)
            .fetch_one(&self.cinema.db)
            .await
            .unwrap();
        let (books, tickets) = (self.cinema.books(self.order).await, self.cinema.ticketed(self.order).await);
        if !exists {
            assert_eq!((books, self.cinema.free(self.show).await), (Books::EMPTY, vec![1, 2]));
            return None;
        }
        let phase = self.cinema.phase(self.order).await;
        assert!(self.story.ends().contains(&phase), "ended {phase:?}: {:?}", self.cinema.payments(self.order).await);
        let refunds = self.cinema.reasons(self.order).await.len();
        let expected = match phase {
            Phase::Sold => (Books::sold_for(TOTAL), vec![1, 2], 0),
            Phase::Refunded => (Books::refunded(TOTAL), vec![], 1),
            _ => (Books::EMPTY, vec![], 0),
        };
        assert_eq!((books, tickets, refunds), expected, "ended {phase:?}");
        Some(phase)
    }

    /// Nothing stands in anybody's way afterwards: what is held can be bought, what is free can be held.
    pub async fn goes_on(&self, office: &Arc<BoxOffice>) {
        let ada = self.ada.goes_to(office);
        match self.ended().await {
            None => assert_eq!(self.clone().act(Arc::clone(office)).await, Ok(())),
            Some(Phase::Held) if self.cinema.free(self.show).await.is_empty() && self.is_whole().await => {
                ada.pay(self.order, GOOD_CARD).await.unwrap();
                assert_eq!(self.cinema.phase(self.order).await, Phase::Sold);
                assert_eq!(self.cinema.books(self.order).await, Books::sold_for(TOTAL));
            }
            Some(Phase::Held | Phase::Released) => {
                let free = self.cinema.free(self.show).await;
                self.cinema.visitor().hold(self.show, &free).await.unwrap();
            }
            Some(_) => {}
        }
    }

    /// Whether the order has all its seats.
    async fn is_whole(&self) -> bool {
        let its: i64 = sqlx::query_scalar("select count(*) from seats where order_id = $1")
            .bind(self.order.0)
            .fetch_one(&self.cinema.db)
            .await
            .unwrap();
        its == 2
    }
}
