//! The promises as questions to the database. Each finds the rows that break one; none found means kept.

use std::collections::HashSet;

use sqlx::postgres::{PgConnection, PgPool};
use uuid::Uuid;

use super::plans::Plans;
use super::{StoreError, StoreResult};
use crate::domain::ids::{PaymentId, PlanId};
use crate::domain::money::Money;

/// A broken promise, with the row that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// Which question found it.
    pub question: &'static str,
    /// The row.
    pub row: String,
}

/// A question: what must never be, and the statement that lists where it is, one text a row.
struct Question {
    name: &'static str,
    sql: &'static str,
}

/// A statement each, so that each judges one snapshot; together they hold while the cinema sells on.
const QUESTIONS: &[Question] = &[
    Question {
        name: "P1: a seat of a show was sold twice",
        sql: "-- prove_sold_twice
              select format('show %s seat %s: %s tickets', show_id, seat_no, count(*)) from tickets
              group by show_id, seat_no having count(*) > 1",
    },
    Question {
        name: "P1: a booked seat has no ticket of its order",
        sql: "-- prove_booked_without_ticket
              select format('show %s seat %s order %s', s.show_id, s.seat_no, s.order_id) from seats s
              where s.status = 'booked' and not exists (
                  select from tickets t
                  where t.show_id = s.show_id and t.seat_no = s.seat_no and t.order_id = s.order_id)",
    },
    Question {
        name: "P1: a ticket's seat is not booked for its order",
        sql: "-- prove_ticket_without_seat
              select format('ticket %s show %s seat %s', t.code, t.show_id, t.seat_no) from tickets t
              left join seats s on s.show_id = t.show_id and s.seat_no = t.seat_no
              where s.status is distinct from 'booked' or s.order_id is distinct from t.order_id",
    },
    Question {
        name: "P2: a hold that has not lapsed lacks some of its seats",
        sql: "-- prove_partial_hold
              select format('order %s: %s of %s seats', o.id, count(s.*), cardinality(o.seat_nos)) from orders o
              left join seats s on s.show_id = o.show_id and s.seat_no = any (o.seat_nos) and s.order_id = o.id
                               and s.status = 'locked'
              join shows on shows.id = o.show_id
              where o.state in ('held', 'paying')
                and not is_available('locked', o.locked_at, shows.hold_window_s, statement_timestamp())
              group by o.id having count(s.*) <> cardinality(o.seat_nos)",
    },
    Question {
        name: "P2: a visitor holds more than ten seats of a show",
        sql: "-- prove_too_many
              select format('a visitor holds %s seats of show %s', sum(cardinality(seat_nos)), show_id) from orders
              join shows on shows.id = show_id
              where state in ('held', 'paying')
                and not is_available('locked', locked_at, hold_window_s, statement_timestamp())
              group by visitor_id, show_id having sum(cardinality(seat_nos)) > 10",
    },
    Question {
        name: "P2: a locked seat points at an order that does not hold it",
        sql: "-- prove_dead_order
              select format('show %s seat %s order %s', s.show_id, s.seat_no, s.order_id) from seats s
              left join orders o on o.id = s.order_id
              where s.status = 'locked' and (o.id is null or o.state not in ('held', 'paying') or o.show_id <> s.show_id
                  or s.seat_no <> all (o.seat_nos) or s.locked_at <> o.locked_at)",
    },
    Question {
        name: "P3: a hold was stretched beyond two windows, or renewed at another time than it says",
        sql: "-- prove_stretched
              select format('order %s held since %s, locked at %s', id, held_at, locked_at) from orders
              where locked_at - held_at > window_s * interval '1 second' or locked_at < held_at
                 or renewed_at <> locked_at",
    },
    Question {
        name: "P2: an order is of no show, or has no number",
        sql: "-- prove_order_of_nothing
              select format('order %s, number %s, show %s', o.id, nth, show_id) from orders o
              left join shows on shows.id = o.show_id where shows.id is null or nth < 1",
    },
    Question {
        name: "P2: an order has more than ten seats, or none, or one twice",
        sql: "-- prove_seats_of_order
              select format('order %s: seats %s', id, seat_nos) from orders
              where cardinality(seat_nos) not between 1 and 10
                 or cardinality(seat_nos) <> (select count(distinct no) from unnest(seat_nos) no)",
    },
    Question {
        name: "P6: an order has tickets for other seats than it bought",
        sql: "-- prove_tickets_of_order
              select format('order %s is %s: %s tickets, %s seats', o.id, o.state, count(t.*), cardinality(o.seat_nos))
              from orders o left join tickets t on t.order_id = o.id
              group by o.id
              having count(t.*) <> case when o.state = 'sold' then cardinality(o.seat_nos) else 0 end
                  or count(t.*) filter (where t.show_id <> o.show_id or t.seat_no <> all (o.seat_nos)) > 0",
    },
    Question {
        name: "P6: tickets without a captured payment of the right amount",
        sql: "-- prove_tickets_without_money
              select format('order %s', o.id) from orders o
              where o.state = 'sold' and not exists (
                  select from payments p where p.order_id = o.id and p.bought and p.captured_currency = o.currency
                  and p.captured_minor = (select sum(price) from unnest(o.prices) price))",
    },
    Question {
        name: "P6: a captured payment without exactly one of tickets or refund",
        sql: "-- prove_money_without_end
              select format('payment %s of order %s (%s)', p.id, o.id, o.state) from payments p
              join orders o on o.id = p.order_id left join refunds r on r.payment_id = p.id
              where p.state = 'captured'
                and not ((p.bought and o.state = 'sold' and r.payment_id is null) or (not p.bought and r.payment_id is not null))",
    },
    Question {
        name: "P6: an order ended with a refund that there is not",
        sql: "-- prove_refund_of_order
              select format('order %s is %s', o.id, o.state) from orders o
              left join lateral (select count(*) as all, count(refunded_at) as made from payments p
                                 join refunds r on r.payment_id = p.id where p.order_id = o.id) refunds on true
              where (o.state = 'refund_owed' and refunds.made = refunds.all)
                 or (o.state = 'refunded' and (refunds.all = 0 or refunds.made < refunds.all))",
    },
    Question {
        name: "P6: an order's story does not tell how it ended",
        sql: "-- prove_story
              select format('order %s is %s: told %s times, %s captures of %s told', o.id, o.state, told.ends, told.captures,
                            paid.captures)
              from orders o,
                   lateral (select count(*) filter (where event = 'held') as begins,
                                   count(*) filter (where event::text = o.state::text) as ends,
                                   count(*) filter (where event = 'payment_captured') as captures
                            from order_events where order_id = o.id) told,
                   lateral (select count(*) as captures from payments where order_id = o.id and state = 'captured') paid
              where told.begins > 0 and (told.captures <> paid.captures
                    or told.ends <> 1 and o.state in ('sold', 'released', 'refund_owed'))",
    },
    Question {
        name: "P6: a refund of another amount than was paid, or of nothing",
        sql: "-- prove_refund_amount
              select format('payment %s', r.payment_id) from refunds r join payments p on p.id = r.payment_id
              where p.state <> 'captured' or p.bought or p.captured_minor <> r.amount_minor
                 or p.captured_currency <> r.currency",
    },
    Question {
        name: "P6: a paying order has no payment under way, or a held one has",
        sql: "-- prove_paying
              select format('order %s is %s with %s payments under way', o.id, o.state, count(p.*)) from orders o
              left join payments p on p.order_id = o.id and p.state = 'started'
              where o.state in ('held', 'paying')
              group by o.id having count(p.*) <> case when o.state = 'paying' then 1 else 0 end",
    },
];

/// Asks every question.
///
/// # Errors
/// When the database does.
pub async fn breaches(pool: &PgPool, plans: &Plans) -> StoreResult<Vec<Breach>> {
    // A connection of its own, closed at the end: these statements read whole tables, and may take as long as that takes.
    let mut connection = pool.acquire().await?.detach();
    sqlx::raw_sql("set statement_timeout = 0; set enable_seqscan = on; set enable_bitmapscan = on")
        .execute(&mut connection)
        .await?;
    let mut found = Vec::new();
    for question in QUESTIONS {
        let rows: Vec<String> = sqlx::query_scalar(question.sql).fetch_all(&mut connection).await?;
        found.extend(rows.into_iter().map(|row| Breach { question: question.name, row }));
    }
    found.extend(wrong_counts(&mut connection, pool, plans).await?);
    sqlx::Connection::close(connection).await?;
    Ok(found)
}

/// How many questions there are.
pub const fn questions() -> usize {
    QUESTIONS.len() + 1
}

/// A payment as our books have it, for a comparison with the gateway's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Booked {
    /// Which.
    pub id: PaymentId,
    /// Its fate is not known yet.
    pub open: bool,
    /// The gateway's reference, once it took money.
    pub charge: Option<String>,
    /// What it took.
    pub captured: Option<Money>,
    /// What was given back.
    pub refunded: Option<Money>,
    /// A refund of it is recorded and not made.
    pub refund_owed: bool,
}

/// Every payment, and the charges that were set aside as nobody's.
///
/// # Errors
/// When the database does, or a row cannot be.
pub async fn money(pool: &PgPool) -> StoreResult<(Vec<Booked>, HashSet<String>)> {
    let rows = sqlx::query!(
        r#"-- prove_money
        select p.id as "id!", p.state = 'started' as "open!", p.gateway_reference, p.captured_minor, p.captured_currency,
               r.amount_minor as "refund_minor?", r.currency as "refund_currency?", r.refunded_at as "refunded_at?"
        from payments p left join refunds r on r.payment_id = p.id"#
    )
    .fetch_all(pool)
    .await?;
    let money = |minor: Option<i64>, currency: Option<String>, id: Uuid| match (minor, currency) {
        (Some(minor), Some(currency)) => {
            let currency =
                currency.parse().map_err(|error: String| StoreError::corrupt("payments", "currency", id, error))?;
            Ok::<_, StoreError>(Some(Money::new(minor, currency)))
        }
        _ => Ok(None),
    };
    let mut ours = Vec::with_capacity(rows.len());
    for row in rows {
        let refund = money(row.refund_minor, row.refund_currency, row.id)?;
        ours.push(Booked {
            id: PaymentId(row.id),
            open: row.open,
            charge: row.gateway_reference,
            captured: money(row.captured_minor, row.captured_currency, row.id)?,
            refunded: refund.filter(|_| row.refunded_at.is_some()),
            refund_owed: refund.is_some() && row.refunded_at.is_none(),
        });
    }
    let set_aside =
        sqlx::query_scalar!("-- prove_set_aside\nselect charge from incidents where kind = 'unknown_charge'")
            .fetch_all(pool)
            .await?;
    Ok((ours, set_aside.into_iter().collect()))
}

/// The seats of a show are exactly its plan's places. Asked here, because only Rust reads plans.
async fn wrong_counts(connection: &mut PgConnection, pool: &PgPool, plans: &Plans) -> StoreResult<Vec<Breach>> {
    struct Count {
        id: Uuid,
        plan_id: Uuid,
        seats: i64,
        last: i16,
    }
    let counts = sqlx::query_as!(
        Count,
        r#"-- prove_counts
        select shows.id, plan_id, count(s.*) as "seats!", coalesce(max(s.seat_no), 0::smallint) as "last!"
        from shows left join seats s on s.show_id = shows.id group by shows.id"#
    )
    .fetch_all(connection)
    .await?;
    let mut found = Vec::new();
    for count in counts {
        let places = plans.get(pool, PlanId(count.plan_id)).await?.places().len() as i64;
        if count.seats != places || i64::from(count.last) != places {
            let row = format!(
                "show {}: {} seats up to number {}, {places} places in its plan",
                count.id, count.seats, count.last
            );
            found.push(Breach { question: "counts: a show has other seats than its plan", row });
        }
    }
    Ok(found)
}
