//! The stories that are broken: what went before, and what is done while something breaks.

use std::sync::Arc;

use matinee::box_office::gateway::Charge;
use matinee::box_office::hold::order_of;
use matinee::box_office::{self, BoxOffice, Progress};
use matinee::domain::Error;
use matinee::domain::ids::{Attempt, OrderId, PaymentId, ShowId};
use matinee::domain::payment::{Capture, Card};
use matinee::domain::saga::Phase;
use matinee::store::payments;
use uuid::Uuid;

use crate::support::wires::Wires;
use crate::support::{Cinema, DECLINED_CARD, GOOD_CARD, Visitor, an_attempt};

const CONFIRMED_CARD: &str = "4000 0000 0000 3220";
const LOST_ANSWER_CARD: &str = "4000 0000 0000 0127";
const FAILING_REFUNDS_CARD: &str = "4000 0000 0000 0184";

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Story {
    /// Two seats are held.
    Hold,
    /// They are given back.
    Release,
    /// They are paid.
    GoodCard,
    /// They are paid, and the gateway loses its own answer.
    LostAnswer,
    /// A card is declined, another one pays.
    DeclinedThenGood,
    /// The card's holder confirms on the gateway's page and comes back.
    Confirmed,
    /// The hold lapses while the gateway thinks; nobody takes the seats.
    LateAndFree,
    /// The hold lapses while the gateway thinks, and one seat is taken.
    LateAndTaken,
    /// The same, and the gateway's bank fails the refund twice.
    RefundFailsTwice,
    /// After a crash that took money, somebody looks at the order.
    ResumedCapture,
    /// After a crash before money was taken, somebody looks at the order.
    ResumedSilence,
    /// After a crash whose money comes too late, a server starts.
    ReconciledLate,
    /// The gateway's message tells of money that nobody had heard of.
    ToldInTime,
    /// The same, too late.
    ToldLate,
}

impl Story {
    /// How it may end; the first is how it ends when nothing breaks. (Money that was not asked for in time leaves a hold.)
    pub const fn ends(self) -> &'static [Phase] {
        match self {
            Self::Hold => &[Phase::Held],
            Self::Release => &[Phase::Released, Phase::Held],
            Self::GoodCard | Self::LostAnswer | Self::DeclinedThenGood | Self::Confirmed | Self::LateAndFree => {
                &[Phase::Sold, Phase::Held]
            }
            // The same form sent again, when the first never arrived, is in time.
            Self::LateAndTaken | Self::RefundFailsTwice => &[Phase::Refunded, Phase::Held, Phase::Sold],
            Self::ResumedCapture | Self::ToldInTime => &[Phase::Sold],
            Self::ResumedSilence => &[Phase::Held],
            Self::ReconciledLate | Self::ToldLate => &[Phase::Refunded],
        }
    }
}

/// One telling of a story.
#[derive(Clone)]
pub struct Scene {
    pub cinema: Arc<Cinema>,
    pub story: Story,
    pub show: ShowId,
    pub ada: Visitor,
    pub order: OrderId,
    attempts: [Attempt; 2],
    /// What the gateway took before, unheard of.
    unheard: Option<(PaymentId, Capture)>,
}

impl Scene {
    /// What went before, at a server that works.
    pub async fn prepare(cinema: &Arc<Cinema>, story: Story) -> Self {
        let (show, ada, attempts) = (cinema.show_of(2).await, cinema.visitor(), [an_attempt(), an_attempt()]);
        let order = order_of(ada.id, attempts[0]);
        let mut scene = Self { cinema: Arc::clone(cinema), story, show, ada, order, attempts, unheard: None };
        if story == Story::Hold {
            return scene;
        }
        assert_eq!(scene.ada.hold_as(attempts[0], show, &[1, 2]).await, Ok(order));
        let resumed = matches!(story, Story::ResumedCapture | Story::ResumedSilence | Story::ReconciledLate);
        if resumed || matches!(story, Story::ToldInTime | Story::ToldLate) {
            let payment = PaymentId(Uuid::new_v4());
            payments::start(&cinema.db, scene.ada.id, order, payment, attempts[1], "4242", None)
                .await
                .unwrap()
                .unwrap();
            if story != Story::ResumedSilence {
                scene.unheard = Some((payment, cinema.captures(payment).await));
            }
        }
        if matches!(story, Story::ReconciledLate | Story::ToldLate) {
            scene.lapses(true).await;
        }
        scene
    }

    /// What happens behind the server's back while its gateway thinks.
    pub fn script(&self, wires: &Wires) {
        let taken = match self.story {
            Story::LateAndFree => false,
            Story::LateAndTaken | Story::RefundFailsTwice => true,
            _ => return,
        };
        let scene = self.clone();
        wires.meanwhile("POST /v1/charges HTTP", async move { scene.lapses(taken).await });
    }

    async fn lapses(&self, taken: bool) {
        self.cinema.expire(self.order).await;
        if taken {
            self.cinema.visitor().hold(self.show, &[2]).await.unwrap();
        }
    }

    /// The story itself, at this server. Sent again, the forms are the same.
    pub async fn act(self, office: Arc<BoxOffice>) -> Result<(), Error> {
        let ada = self.ada.goes_to(&office);
        let pay = async |attempt, card| {
            box_office::pay(&office, ada.id, self.order, attempt, Card::parse(card).unwrap(), None).await
        };
        match self.story {
            Story::Hold => ada.hold_as(self.attempts[0], self.show, &[1, 2]).await.map(drop),
            Story::Release => ada.release(self.order).await.map(drop),
            Story::GoodCard | Story::LateAndFree | Story::LateAndTaken => {
                pay(self.attempts[1], GOOD_CARD).await.map(drop)
            }
            Story::LostAnswer => pay(self.attempts[1], LOST_ANSWER_CARD).await.map(drop),
            Story::RefundFailsTwice => pay(self.attempts[1], FAILING_REFUNDS_CARD).await.map(drop),
            Story::DeclinedThenGood => {
                let first = pay(self.attempts[0], DECLINED_CARD).await.map(drop);
                pay(self.attempts[1], GOOD_CARD).await.map(drop).and(first)
            }
            Story::Confirmed => match pay(self.attempts[1], CONFIRMED_CARD).await? {
                Progress::Confirm(_) => {
                    self.is_confirmed().await;
                    box_office::returned(&office, self.order).await
                }
                Progress::Told | Progress::UnderWay => Ok(()),
            },
            Story::ResumedCapture | Story::ResumedSilence => {
                self.cinema.age_payments(self.order).await;
                box_office::resume(&office, self.order).await
            }
            Story::ReconciledLate => {
                self.cinema.age_payments(self.order).await;
                box_office::reconcile(&office).await.map(drop)
            }
            Story::ToldInTime | Story::ToldLate => {
                let (payment, capture) = self.unheard.clone().unwrap();
                box_office::learn(&office, payment, Charge::Captured(capture)).await
            }
        }
    }

    /// The card's holder confirms on the gateway's page, if it waits for that; whether it did.
    pub async fn is_confirmed(&self) -> bool {
        let token: Option<String> = sqlx::query_scalar(
            "select action_token from gateway.charges c join payments p on p.id::text = c.idempotency_key
             where p.order_id = $1 and c.status = 'requires_action'",
        )
        .bind(self.order.0)
        .fetch_optional(&self.cinema.db)
        .await
        .unwrap();
        let Some(token) = token else { return false };
        let page = format!("http://{}/pay/{token}", self.cinema.gateway_at);
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let form = client.post(page).header("content-type", "application/x-www-form-urlencoded");
        let answer = form.body("decision=confirm").send().await.unwrap();
        assert!(answer.status().is_redirection(), "{answer:?}");
        true
    }
}
