//! Every step run twice, in a row and at once, at every stage of an order: the second answer equals the first, and nothing
//! happens twice.

use std::sync::Arc;

use matinee::box_office::gateway::Charge;
use matinee::box_office::recover::refund_made;
use matinee::box_office::{self, BoxOffice};
use matinee::domain::hold::Selection;
use matinee::domain::ids::{Attempt, OrderId, PaymentId, ShowId, VisitorId};
use matinee::domain::incident::{Evidence, Source};
use matinee::domain::payment::{Capture, Card, PaymentState};
use matinee::domain::saga::{Actor, Phase};
use matinee::domain::ticket::TicketCode;
use matinee::store::holds::{self, Wish};
use matinee::store::{payments, refunds};
use uuid::Uuid;

use super::steps::order_in;
use crate::support::{Cinema, DECLINED_CARD, GOOD_CARD, Visitor, an_attempt, numbers};

/// What is done twice. Commands and messages as they come from outside, then the statements beneath them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
    Hold,
    Release,
    Pay,
    PayDeclined,
    Resume,
    Reconcile,
    Return,
    HearOfCapture,
    HearOfDecline,
    HearOfRefund,
    StoreHold,
    StoreRelease,
    StoreStart,
    StoreNeedsAction,
    StoreConfirm,
    StoreGiveUp,
    StoreRefund,
}

impl Command {
    const ALL: [Self; 17] = [
        Self::Hold,
        Self::Release,
        Self::Pay,
        Self::PayDeclined,
        Self::Resume,
        Self::Reconcile,
        Self::Return,
        Self::HearOfCapture,
        Self::HearOfDecline,
        Self::HearOfRefund,
        Self::StoreHold,
        Self::StoreRelease,
        Self::StoreStart,
        Self::StoreNeedsAction,
        Self::StoreConfirm,
        Self::StoreGiveUp,
        Self::StoreRefund,
    ];

    /// Whether somebody outside hears the answer. Statements tell the second caller that it was the second, and
    /// a reconciliation counts what it did.
    fn is_answered(self) -> bool {
        !matches!(self, Self::Reconcile) && !format!("{self:?}").starts_with("Store")
    }
}

/// An order at a stage, and all that a command about it says.
#[derive(Clone)]
struct Stage {
    office: Arc<BoxOffice>,
    show: ShowId,
    order: OrderId,
    visitor: VisitorId,
    /// Its newest payment, or the spare one that was given up.
    payment: PaymentId,
    capture: Option<Capture>,
    attempt: Attempt,
    new_payment: PaymentId,
}

impl Stage {
    async fn prepare(cinema: &Cinema, phase: Phase, command: Command, newest: bool) -> Self {
        let (show, order, spare) = order_in(cinema, phase).await;
        let visitor = cinema.order(order).await.visitor;
        let payment = if newest { cinema.payments(order).await.last().unwrap().id } else { spare };
        let mut capture = None;
        if matches!(command, Command::HearOfCapture | Command::StoreConfirm) {
            capture = Some(cinema.captures(payment).await);
        }
        if matches!(command, Command::Resume | Command::Reconcile) {
            cinema.age_payments(order).await;
        }
        let (attempt, new_payment) = (an_attempt(), PaymentId(Uuid::new_v4()));
        Self { office: cinema.another_office(), show, order, visitor, payment, capture, attempt, new_payment }
    }

    /// Does it; the answer.
    async fn does(self, command: Command) -> String {
        let (office, pool) = (&self.office, &self.office.pool);
        let visitor = Visitor { office: Arc::clone(office), id: self.visitor };
        let pay = async |card| {
            let card = Card::parse(card).unwrap();
            box_office::pay(office, self.visitor, self.order, self.attempt, card, None).await
        };
        match command {
            Command::Hold => format!("{:?}", visitor.hold_as(self.attempt, self.show, &[1]).await),
            Command::Release => format!("{:?}", visitor.release(self.order).await),
            Command::Pay => format!("{:?}", pay(GOOD_CARD).await),
            Command::PayDeclined => format!("{:?}", pay(DECLINED_CARD).await),
            Command::Resume => format!("{:?}", box_office::resume(office, self.order).await),
            Command::Reconcile => format!("{:?}", box_office::reconcile(office).await),
            Command::Return => format!("{:?}", box_office::returned(office, self.order).await),
            Command::HearOfCapture => {
                format!("{:?}", box_office::learn(office, self.payment, Charge::Captured(self.capture.unwrap())).await)
            }
            Command::HearOfDecline => {
                let declined = Charge::Declined { reason: "no".to_owned() };
                format!("{:?}", box_office::learn(office, self.payment, declined).await)
            }
            Command::HearOfRefund => {
                let mut told = Vec::new();
                for payment in payments::of_order(pool, self.order).await.unwrap() {
                    if let PaymentState::Captured { reference, bought: false, .. } = &payment.state {
                        let refund = office.gateway.refund(payment.id, reference, payment.amount).await.unwrap();
                        told.push((refund_made(office, reference, &refund).await, refund));
                    }
                }
                format!("{told:?}")
            }
            Command::StoreHold => {
                let seats = Selection::new(numbers(&[1])).unwrap();
                let wish = Wish { show: self.show, seats, visitor: self.visitor, order: self.order, place: None };
                format!("{:?}", holds::hold(pool, &wish).await)
            }
            Command::StoreRelease => format!("{:?}", holds::release(pool, self.order).await),
            Command::StoreStart => {
                let started =
                    payments::start(pool, self.visitor, self.order, self.new_payment, self.attempt, "4242", None).await;
                format!("{started:?}")
            }
            Command::StoreNeedsAction => {
                format!("{:?}", payments::needs_action(pool, self.payment, "http://gateway.example/pay/x").await)
            }
            Command::StoreConfirm => {
                let codes = std::array::from_fn(|_| TicketCode::from_random(Uuid::new_v4().as_u128()));
                let (capture, said) =
                    (self.capture.unwrap(), Evidence { source: Source::Reading, text: String::new() });
                format!("{:?}", payments::confirm(pool, self.payment, &capture, &said, &codes, Actor::Gateway).await)
            }
            Command::StoreGiveUp => format!("{:?}", payments::give_up(pool, self.payment, None, Actor::Recovery).await),
            Command::StoreRefund => {
                for refund in refunds::of_order(pool, self.order).await.unwrap() {
                    let reference = office.gateway.refund(refund.payment, &refund.charge, refund.amount).await.unwrap();
                    refunds::made(pool, refund.payment, &reference, Actor::Recovery).await.unwrap();
                }
                String::new()
            }
        }
    }

    /// Every row about the show, here and at the gateway; without ids and times when only their kinds are asked for.
    async fn rows(&self, cinema: &Cinema, kinds: bool) -> Vec<String> {
        let rows: Vec<(String, String)> = sqlx::query_as(
            "with o as (select * from orders where show_id = $1), p as (select p.* from payments p join o on o.id = order_id)
             select 'order ' || state::text, to_jsonb(o)::text from o
             union all select format('payment %s %s', state, bought), (to_jsonb(p) - 'asked_at')::text from p
             union all select format('refund %s %s', r.reason, r.refunded_at is not null), (to_jsonb(r) - 'asked_at')::text
                       from refunds r join p on p.id = r.payment_id
             union all select 'ticket', to_jsonb(t)::text from tickets t where show_id = $1
             union all select 'seat ' || status::text, to_jsonb(s)::text from seats s where show_id = $1
             union all select format('event %s %s', event, actor), to_jsonb(e)::text from order_events e join o on o.id = order_id
             union all select format('charge %s %s', c.status, c.refunded_minor), to_jsonb(c)::text
                       from gateway.charges c join p on p.id::text = c.idempotency_key
             union all select 'refund there', to_jsonb(r)::text from gateway.refunds r
                       join gateway.charges c on c.id = r.charge_id join p on p.id::text = c.idempotency_key
             union all select 'incident', to_jsonb(i)::text from incidents i
             order by 1, 2",
        )
        .bind(self.show.0)
        .fetch_all(&cinema.db)
        .await
        .unwrap();
        rows.into_iter().map(|(kind, row)| if kinds { kind } else { row }).collect()
    }
}

/// Orders, shows and refunds have names with digits in them; what is said of two of a kind differs in nothing else.
fn without_names(said: &str) -> String {
    let words = said.split_inclusive(|char: char| !char.is_ascii_alphanumeric() && !"-_".contains(char));
    words.filter(|word| !word.contains(|char: char| char.is_ascii_digit())).collect()
}

/// Once and once more, then (at another order like it) both at once and once more.
async fn twice(cinema: &Cinema, phase: Phase, command: Command, newest: bool) {
    let what = format!("{command:?} of {phase:?}, newest payment: {newest}");
    let stage = Stage::prepare(cinema, phase, command, newest).await;
    let first = stage.clone().does(command).await;
    let (rows, kinds) = (stage.rows(cinema, false).await, stage.rows(cinema, true).await);
    let second = stage.clone().does(command).await;
    assert_eq!(stage.rows(cinema, false).await, rows, "{what}: the second changed something");
    if command.is_answered() {
        assert_eq!(second, first, "{what}");
    }

    let twin = Stage::prepare(cinema, phase, command, newest).await;
    let (one, other) = (tokio::spawn(twin.clone().does(command)), tokio::spawn(twin.clone().does(command)));
    let (one, other) = (one.await.unwrap(), other.await.unwrap());
    assert_eq!(twin.rows(cinema, true).await, kinds, "{what}: two at once did something else than one");
    let rows = twin.rows(cinema, false).await;
    twin.clone().does(command).await;
    assert_eq!(twin.rows(cinema, false).await, rows, "{what}: the third changed something");
    if command.is_answered() {
        assert_eq!(one, other, "{what}");
        assert_eq!(without_names(&one), without_names(&first), "{what}");
    }
    for stage in [stage, twin] {
        cinema.age_payments(stage.order).await;
        box_office::resume(&cinema.office, stage.order).await.unwrap();
        stage.office.pool.close().await;
    }
}

async fn everything_twice(phases: &[Phase]) {
    let cinema = Cinema::open().await;
    for &phase in phases {
        for command in Command::ALL {
            for newest in [false, true] {
                twice(&cinema, phase, command, newest).await;
            }
        }
    }
    println!("{} commands, each of two payments, at {phases:?}", Command::ALL.len());
    cinema.proves().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_twice_while_an_order_is_open() {
    everything_twice(&[Phase::Held, Phase::Paying, Phase::RefundOwed]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_twice_when_an_order_has_ended() {
    everything_twice(&[Phase::Sold, Phase::Released, Phase::Refunded]).await;
}
