//! `matinee prove` can fail: for each of its questions a database is broken by hand, and exactly this question finds it.

use std::collections::BTreeSet;

use matinee::box_office;
use matinee::domain::order::OrderState;
use matinee::store::plans::Plans;
use matinee::store::proof;
use sqlx::postgres::{PgPool, PgPoolOptions};

use crate::support::{Cinema, DECLINED_CARD, GOOD_CARD, Visitor};

/// The beginning of the question that finds it, and how it comes about. One order is sold (seats 1, 2), one refunded
/// (20), one being paid (21), one released (22); Bert holds 3 to 8, Cleo 9 to 13, Dora 20.
const BREAKAGES: &[(&str, &str)] = &[
    (
        "P1: a seat of a show was sold twice",
        "alter table tickets drop constraint tickets_one_per_seat;
         update seats set status = 'available', order_id = null where seat_no = 2;
         update tickets set seat_no = 1;",
    ),
    (
        "P1: a booked seat has no ticket of its order",
        "update seats set status = 'booked', order_id = (select id from orders where state = 'sold') where seat_no = 30",
    ),
    (
        "P1: a booked seat has no ticket of its order",
        "update seats set status = 'booked', order_id = gen_random_uuid() where seat_no = 30",
    ),
    (
        "P1: a ticket's seat is not booked for its order",
        "update seats set status = 'available', order_id = null where seat_no = 2",
    ),
    (
        "P1: a ticket's seat is not booked for its order",
        "delete from seats where seat_no = 2;
         insert into seats select show_id, 41, zone, status, locked_at, order_id from seats where seat_no = 30;
         update seats set seat_no = 2, zone = 0, status = 'available', order_id = null where seat_no = 41;",
    ),
    (
        "P2: a hold that has not lapsed lacks some of its seats",
        "update seats set status = 'available', locked_at = null, order_id = null where seat_no = 4",
    ),
    (
        "P2: a visitor holds more than ten seats of a show",
        "update orders set nth = 2, visitor_id = (select visitor_id from orders where 9 = any (seat_nos))
         where 3 = any (seat_nos)",
    ),
    ("P2: an order has more than ten seats", "update orders set seat_nos = '{}', prices = '{}' where state = 'released'"),
    (
        "P2: an order has more than ten seats",
        "update orders set seat_nos = '{22, 22}', prices = prices || prices where state = 'released'",
    ),
    (
        "P2: an order has more than ten seats",
        "update orders set seat_nos = '{22,23,24,25,26,27,28,29,30,31,32}',
                           prices = array_fill(prices[1], '{11}') where state = 'released'",
    ),
    (
        "P2: a locked seat points at an order that does not hold it",
        "update seats set status = 'locked', locked_at = clock_timestamp(), order_id = gen_random_uuid() where seat_no = 30",
    ),
    (
        "P2: a locked seat points at an order that does not hold it",
        "update seats set status = 'locked', locked_at = clock_timestamp(),
                          order_id = (select id from orders where state = 'released') where seat_no = 22",
    ),
    (
        "P2: a locked seat points at an order that does not hold it",
        "update seats set status = 'locked', (locked_at, order_id) =
             (select locked_at, id from orders where 9 = any (seat_nos)) where seat_no = 30",
    ),
    (
        "P2: a locked seat points at an order that does not hold it",
        "update seats set locked_at = locked_at + interval '1 microsecond' where seat_no = 9",
    ),
    ("P2: an order is of no show, or has no number", "update orders set nth = 0 where state = 'sold'"),
    (
        "P2: an order is of no show, or has no number",
        "update orders set show_id = gen_random_uuid() where state = 'released'",
    ),
    (
        "P3: a hold was stretched beyond two windows",
        "update orders set locked_at = held_at - interval '1 second' where state = 'released'",
    ),
    ("P3: a hold was stretched beyond two windows", "update orders set renewed_at = held_at where state = 'sold'"),
    (
        "P3: a hold was stretched beyond two windows",
        "update orders set locked_at = held_at + window_s * interval '1 second' + interval '1 microsecond',
                           renewed_at = held_at + window_s * interval '1 second' + interval '1 microsecond'
         where state = 'sold'",
    ),
    (
        "P6: an order has tickets for other seats than it bought",
        "update orders set seat_nos = '{1, 30}' where state = 'sold'",
    ),
    (
        "P6: tickets without a captured payment of the right amount",
        "update orders set prices = '{1250, 1251}' where state = 'sold'",
    ),
    (
        "P6: tickets without a captured payment of the right amount",
        "update orders set currency = 'JPY' where state = 'sold'",
    ),
    (
        "P6: a captured payment without exactly one of tickets or refund",
        "with paid as (
             insert into payments (id, order_id, attempt, amount_minor, currency, state, started_at, settled_at,
                                   gateway_reference, captured_minor, captured_currency)
             select gen_random_uuid(), id, gen_random_uuid(), 1250, 'EUR', 'captured', now(), now(), 'ch_x', 1250, 'EUR'
             from orders where state = 'sold' returning id, order_id
         ), charged as (
             insert into gateway.charges (id, idempotency_key, amount_minor, currency, status, captured_at)
             select 'ch_x', id::text, 1250, 'EUR', 'captured', now() from paid
         )
         insert into order_events (order_id, at, event, actor) select order_id, now(), 'payment_captured', 'visitor' from paid",
    ),
    (
        "P6: an order ended with a refund that there is not",
        "update orders set state = 'refund_owed' where state = 'refunded'",
    ),
    (
        "P6: an order ended with a refund that there is not",
        "update gateway.charges set refunded_minor = 0;
         delete from gateway.refunds;
         update refunds set refunded_at = null, gateway_reference = null",
    ),
    (
        "P6: an order ended with a refund that there is not",
        "update orders set state = 'refunded' where state = 'released'",
    ),
    (
        "P6: an order's story does not tell how it ended",
        "insert into order_events (order_id, at, event, actor) select id, now(), 'sold', 'visitor' from orders
         where state = 'sold'",
    ),
    (
        "P6: an order's story does not tell how it ended",
        "insert into order_events (order_id, at, event, actor) select id, now(), 'payment_captured', 'gateway' from orders
         where state = 'sold'",
    ),
    (
        "P6: an order's story does not tell how it ended",
        "update orders set state = 'released', state_at = now() where 9 = any (seat_nos);
         update seats set status = 'available', locked_at = null, order_id = null where seat_no between 9 and 13",
    ),
    (
        "P6: a refund of another amount than was paid, or of nothing",
        "update refunds set amount_minor = amount_minor - 1",
    ),
    ("P6: a paying order has no payment under way", "update orders set state = 'paying' where 9 = any (seat_nos)"),
    ("P6: a paying order has no payment under way", "update orders set state = 'held' where state = 'paying'"),
    ("counts: a show has other seats than its plan", "delete from seats where seat_no = 30"),
    ("counts: a show has other seats than its plan", "update seats set seat_no = 41 where seat_no = 40"),
    ("counts: a show has other seats than its plan", "delete from seats where seat_no = 40"),
    (
        "counts: a show has other seats than its plan",
        "insert into seats select show_id, 41, zone, status from seats where seat_no = 40",
    ),
];

/// A cinema in which everything has happened once.
async fn busy_cinema() -> Cinema {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(40).await;
    let sold = cinema.visitor();
    let order = sold.hold(show, &[1, 2]).await.unwrap();
    sold.pay(order, DECLINED_CARD).await.unwrap();
    sold.pay(order, GOOD_CARD).await.unwrap();
    cinema.visitor().hold(show, &[3, 4, 5, 6, 7, 8]).await.unwrap();
    cinema.visitor().hold(show, &[9, 10, 11, 12, 13]).await.unwrap();

    let (office, gateway) = cinema.scripted_office();
    let late = Visitor::at(&office);
    let refunded = late.hold(show, &[20]).await.unwrap();
    let mut charge = gateway.next_charge_thinks();
    let payment = tokio::spawn(async move { late.pay(refunded, GOOD_CARD).await });
    charge.began().await;
    cinema.expire(refunded).await;
    cinema.visitor().hold(show, &[20]).await.unwrap();
    charge.goes_on();
    payment.await.unwrap().unwrap();

    let waiting = Visitor::at(&office);
    let paying = waiting.hold(show, &[21]).await.unwrap();
    gateway.next_charge_loses_its_answer();
    gateway.next_finds_are_silent(1);
    waiting.pay(paying, GOOD_CARD).await.unwrap();

    let released = cinema.visitor();
    let given_back = released.hold(show, &[22]).await.unwrap();
    released.release(given_back).await.unwrap();

    assert!(matches!(cinema.order(order).await.state, OrderState::Sold { .. }));
    assert!(matches!(cinema.order(refunded).await.state, OrderState::Refunded { .. }));
    assert_eq!(cinema.order(paying).await.state, OrderState::Paying);
    cinema.proves().await;
    cinema
}

#[tokio::test]
async fn each_question_finds_what_it_asks_for_and_nothing_else() {
    let cinema = busy_cinema().await;
    // One connection, so that each breakage can be asked about inside a transaction that is then rolled back.
    let single = PgPoolOptions::new().max_connections(1).connect(&cinema.url()).await.unwrap();
    let mut asked = BTreeSet::new();
    let mut faults = Vec::new();
    for (question, breakage) in BREAKAGES {
        sqlx::raw_sql("begin").execute(&single).await.unwrap();
        sqlx::raw_sql(*breakage).execute(&single).await.unwrap();
        let found = ask(&single).await;
        sqlx::raw_sql("rollback").execute(&single).await.unwrap();
        if found.len() != 1 || !found.iter().all(|name| name.starts_with(question)) {
            faults.push(format!("{breakage}\n  should be found by: {question}\n  is found by: {found:?}"));
        }
        asked.extend(found);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(asked.len(), proof::questions(), "each question is tried: {asked:#?}");
    cinema.proves().await;
}

async fn ask(pool: &PgPool) -> BTreeSet<&'static str> {
    proof::breaches(pool, &Plans::default()).await.unwrap().into_iter().map(|breach| breach.question).collect()
}

/// What differs between the gateway's books and ours, and how it is put right again: these are two books, so each breakage
/// is real.
const DIFFERENCES: &[(&str, &str)] = &[
    (
        "insert into gateway.charges (id, idempotency_key, amount_minor, currency, status, captured_at)
         values ('ch_stray', 'stray', 1250, 'EUR', 'captured', now())",
        "delete from gateway.charges where id = 'ch_stray'",
    ),
    (
        "update gateway.charges set refunded_minor = 0 where refunded_minor > 0",
        "update gateway.charges c set refunded_minor = c.amount_minor from refunds r join payments p on p.id = r.payment_id
         where c.id = p.gateway_reference",
    ),
    (
        "update gateway.charges c set refunded_minor = 1 from payments p where p.bought and c.id = p.gateway_reference",
        "update gateway.charges c set refunded_minor = 0 from payments p where p.bought and c.id = p.gateway_reference",
    ),
    (
        "update gateway.charges set status = 'captured', captured_at = now(), decline_reason = null where status = 'declined'",
        "update gateway.charges set status = 'declined', captured_at = null, decline_reason = 'no'
         where idempotency_key in (select id::text from payments where state = 'declined')",
    ),
    (
        "update payments set captured_minor = captured_minor + 1 where bought",
        "update payments set captured_minor = captured_minor - 1 where bought",
    ),
    ("update payments set captured_currency = 'JPY' where bought", "update payments set captured_currency = 'EUR' where bought"),
    (
        "update payments set gateway_reference = 'x' || gateway_reference where bought",
        "update payments set gateway_reference = substr(gateway_reference, 2) where bought",
    ),
];

#[tokio::test]
async fn the_gateways_books_are_compared_with_ours() {
    const QUESTION: &str = "P6: the gateway's books differ from ours";
    let cinema = busy_cinema().await;
    for (breakage, repair) in DIFFERENCES {
        cinema.sql(breakage).await;
        let found = box_office::prove(&cinema.office).await.unwrap();
        let questions: BTreeSet<&str> = found.iter().map(|breach| breach.question).collect();
        assert!(questions.contains(QUESTION), "{breakage}: {found:?}");
        cinema.sql(repair).await;
        assert_eq!(box_office::prove(&cinema.office).await.unwrap(), [], "{repair}");
    }
    // Money that was set aside as nobody's is known.
    cinema.sql(DIFFERENCES[0].0).await;
    cinema
        .sql(
            "insert into incidents (charge, kind, amount_minor, currency, evidence)
             values ('ch_stray', 'unknown_charge', 1250, 'EUR', '{}')",
        )
        .await;
    cinema.proves().await;
}
