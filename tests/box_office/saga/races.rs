//! The end of a hold, the success of its payment and somebody who takes the seat over, all within a few milliseconds, by
//! the database's real clock: tickets or one refund, never both, never neither.

use std::collections::HashMap;
use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use matinee::box_office::gateway::Charge;
use matinee::box_office::{self, BoxOffice};
use matinee::domain::Error;
use matinee::domain::ids::{OrderId, PaymentId, ShowId};
use matinee::domain::payment::Capture;
use matinee::store::payments;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use uuid::Uuid;

use crate::support::{Books, Cinema, PRICE, QUARTER_HOUR_S, Visitor, all_at_once, an_attempt, taken};

/// How many races; `MATINEE_RACES` says otherwise.
const RACES: usize = 10_000;
/// How many run at once.
const LANES: usize = 2;
const WAVE: usize = 50;
/// Within how many milliseconds the holds of a wave end: a machine that is busy with all of them at once meets none in time.
const SPREAD_MS: i64 = 150;
/// How far from the hold's end the payment succeeds, at most, in milliseconds.
const NEAR_MS: i64 = 50;

/// How races ended.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    sold_in_time: usize,
    sold_late: usize,
    refunded: usize,
    /// The payment's success and the end of the hold were less than 2 ms apart.
    close: usize,
    /// How much later than it was sent off the success was written, all payments together.
    slow: TimeDelta,
}

impl AddAssign for Ends {
    fn add_assign(&mut self, more: Self) {
        self.sold_in_time += more.sold_in_time;
        self.sold_late += more.sold_late;
        self.refunded += more.refunded;
        self.close += more.close;
        self.slow += more.slow;
    }
}

/// A payment whose money was taken, of which nobody has heard yet.
struct Runner {
    order: OrderId,
    payment: PaymentId,
    capture: Capture,
}

async fn runner(office: Arc<BoxOffice>, show: ShowId, seat: i16) -> Runner {
    let runner = Visitor::at(&office);
    let order = runner.hold(show, &[seat]).await.unwrap();
    let payment = PaymentId(Uuid::new_v4());
    let amount =
        payments::start(&office.pool, runner.id, order, payment, an_attempt(), "4242", None).await.unwrap().unwrap();
    Runner {
        order,
        payment,
        capture: Capture { reference: format!("ch_{}", payment.0.simple()), amount, evidence: None },
    }
}

/// The gateway's books of these payments, written at once: asking it ten thousand times would take most of the time.
async fn capture_all(cinema: &Cinema, runners: &[Runner]) {
    let payments: Vec<Uuid> = runners.iter().map(|runner| runner.payment.0).collect();
    let references: Vec<&str> = runners.iter().map(|runner| runner.capture.reference.as_str()).collect();
    sqlx::query(
        "insert into gateway.charges (id, idempotency_key, amount_minor, currency, status, captured_at, metadata)
         select reference, payment::text, $3, 'EUR', 'captured', clock_timestamp(), jsonb_build_object('payment', payment)
         from unnest($1::uuid[], $2::text[]) as t (payment, reference)",
    )
    .bind(payments)
    .bind(references)
    .bind(PRICE)
    .execute(&cinema.db)
    .await
    .unwrap();
}

/// Makes each hold end at its instant.
async fn end_at(cinema: &Cinema, runners: &[Runner], instants: &[DateTime<Utc>]) {
    let window = TimeDelta::seconds(QUARTER_HOUR_S.into());
    let (orders, locked): (Vec<Uuid>, Vec<DateTime<Utc>>) =
        runners.iter().zip(instants).map(|(runner, end)| (runner.order.0, *end - window)).unzip();
    sqlx::query(
        "with ends as (select * from unnest($1::uuid[], $2::timestamptz[]) as t (id, locked)), aged as (
             update orders o set held_at = locked, locked_at = locked, renewed_at = locked from ends where o.id = ends.id
         )
         update seats set locked_at = locked from ends where order_id = ends.id",
    )
    .bind(orders)
    .bind(locked)
    .execute(&cinema.db)
    .await
    .unwrap();
}

async fn sleep_until(instant: DateTime<Utc>) {
    tokio::time::sleep((instant - Utc::now()).to_std().unwrap_or(Duration::ZERO)).await;
}

/// So many races on a show of their own. Payments are sent off so much earlier than they shall succeed.
async fn wave(cinema: &Arc<Cinema>, offices: &[Arc<BoxOffice>; 2], size: usize, seed: u64, early: TimeDelta) -> Ends {
    let show = cinema.show_of(size).await;
    let seats: Vec<i16> = (1..).take(size).collect();
    let [office, elsewhere] = offices;
    let runners = all_at_once(seats.iter().map(|seat| runner(Arc::clone(office), show, *seat))).await;
    capture_all(cinema, &runners).await;
    let mut random = StdRng::seed_from_u64(seed);
    let mut within = |least: i64, most: i64| TimeDelta::microseconds(random.random_range(least * 1000..=most * 1000));
    let begin = Utc::now() + early + TimeDelta::milliseconds(NEAR_MS + 20);
    // Postgres keeps microseconds, and the clock of the test gives more.
    let ends: Vec<_> = seats
        .iter()
        .map(|_| DateTime::from_timestamp_micros((begin + within(0, SPREAD_MS)).timestamp_micros()).unwrap())
        .collect();
    end_at(cinema, &runners, &ends).await;
    let races = runners.into_iter().zip(&ends).zip(&seats).map(|((runner, end), seat)| {
        let (sent, taken_over) = (*end + within(-NEAR_MS, NEAR_MS) - early, *end + within(-10, 40));
        let (seat, office, taker) = (*seat, Arc::clone(office), Visitor::at(elsewhere));
        async move {
            let pays = async {
                sleep_until(sent).await;
                box_office::learn(&office, runner.payment, Charge::Captured(runner.capture)).await.unwrap();
            };
            let takes = async {
                sleep_until(taken_over).await;
                taker.hold(show, &[seat]).await
            };
            let ((), took) = tokio::join!(pays, takes);
            (runner.order, sent, took)
        }
    });
    let took = all_at_once(races).await;
    let known = known(cinema, show).await;
    let mut all = Ends::default();
    for (((order, sent, took), end), seat) in took.into_iter().zip(ends).zip(seats) {
        all += judge(&known, order, took, end, seat);
        all.slow += known[&order].settled_at.unwrap() - sent;
    }
    all
}

/// What the database says of an order.
#[derive(sqlx::FromRow)]
struct Known {
    id: Uuid,
    state: String,
    held_at: DateTime<Utc>,
    tickets: i64,
    refunds: i64,
    refunds_made: i64,
    settled_at: Option<DateTime<Utc>>,
}

async fn known(cinema: &Cinema, show: ShowId) -> HashMap<OrderId, Known> {
    let rows: Vec<Known> = sqlx::query_as(
        "select o.id, o.state::text, o.held_at, (select count(*) from tickets where order_id = o.id) as tickets,
                count(r.*) as refunds, count(r.refunded_at) as refunds_made, max(p.settled_at) as settled_at
         from orders o left join payments p on p.order_id = o.id left join refunds r on r.payment_id = p.id
         where o.show_id = $1 group by o.id",
    )
    .bind(show.0)
    .fetch_all(&cinema.db)
    .await
    .unwrap();
    rows.into_iter().map(|known| (OrderId(known.id), known)).collect()
}

/// Exactly one of tickets or refund, and the taker has what the payer has not.
fn judge(
    known: &HashMap<OrderId, Known>,
    order: OrderId,
    took: Result<OrderId, Error>,
    end: DateTime<Utc>,
    seat: i16,
) -> Ends {
    let payer = &known[&order];
    let settled_at = payer.settled_at.unwrap();
    let in_time = settled_at <= end;
    let close = usize::from((settled_at - end).abs() < TimeDelta::milliseconds(2));
    match (payer.state.as_str(), payer.tickets, payer.refunds, payer.refunds_made) {
        ("sold", 1, 0, 0) => {
            assert_eq!(took, Err(taken(&[seat], &[])), "sold twice");
            let (sold_in_time, sold_late) = (usize::from(in_time), usize::from(!in_time));
            Ends { sold_in_time, sold_late, close, ..Ends::default() }
        }
        ("refunded", 0, 1, 1) => {
            let taker = &known[&took.unwrap()];
            assert!(end < taker.held_at && taker.held_at <= settled_at, "{end} {} {settled_at}", taker.held_at);
            assert_eq!(taker.state, "held");
            Ends { refunded: 1, close, ..Ends::default() }
        }
        other => panic!("{order} ended as {other:?}, the taker with {took:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_at_the_end_of_its_hold_ends_as_tickets_or_as_one_refund() {
    let races = std::env::var("MATINEE_RACES").map_or(RACES, |races| races.parse().unwrap());
    let cinema = Arc::new(Cinema::open().await);
    let offices = [cinema.another_office(), cinema.another_office()];
    let waves = races.div_ceil(WAVE);
    let lanes = (0..LANES).map(|lane| {
        let (cinema, offices) = (Arc::clone(&cinema), offices.clone());
        async move {
            let (mut ends, mut early) = (Ends::default(), TimeDelta::milliseconds(5));
            for nth in (lane..waves).step_by(LANES) {
                let size = WAVE.min(races - nth * WAVE);
                let wave = wave(&cinema, &offices, size, nth as u64, early).await;
                // As late as this wave's were, the next one's will be.
                early = (early + wave.slow / i32::try_from(size).unwrap()) / 2;
                ends += wave;
            }
            ends
        }
    });
    let mut all = Ends::default();
    for ends in all_at_once(lanes).await {
        all += ends;
    }
    println!("{races} races: {all:?}");
    assert_eq!(all.sold_in_time + all.sold_late + all.refunded, races);
    assert!(all.sold_in_time > 0 && all.sold_late > 0 && all.refunded > 0, "each end was met: {all:?}");
    assert!(all.close > 0, "some met at the very end: {all:?}");
    let (captured, refunded): (i64, i64) =
        sqlx::query_as("select sum(amount_minor)::bigint, sum(refunded_minor)::bigint from gateway.charges")
            .fetch_one(&cinema.db)
            .await
            .unwrap();
    let count = |count: usize| i64::try_from(count).unwrap();
    let books = Books { captures: count(races), captured, refunded };
    let expected = Books { captured: PRICE * count(races), refunded: PRICE * count(all.refunded), ..books };
    assert_eq!(books, expected);
    cinema.proves().await;
}
