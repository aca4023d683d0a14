//! What there is at the end, by plain SQL, the card processor's own books, the folder of mails, and what visitors were told.

use std::collections::{BTreeMap, HashMap};

use matinee::domain::saga::Phase;
use uuid::Uuid;

use crate::history::Told;
use crate::site::Site;
use crate::support::verdict::{Ledger, MailKind, OrderLine, PaymentLine, Told as Words};

#[derive(sqlx::FromRow)]
struct PaymentRow {
    id: Uuid,
    order_id: Uuid,
    attempt: Option<Uuid>,
    is_open: bool,
    bought: bool,
    captured: i64,
    refunded: i64,
}

/// All of it. The database must be at rest.
pub async fn read(site: &Site) -> Ledger<Uuid> {
    let db = &site.cinema.db;
    let tickets: Vec<(Uuid, Uuid, i16, String)> =
        sqlx::query_as("select order_id, show_id, seat_no, code from tickets").fetch_all(db).await.unwrap();
    let orders: Vec<(Uuid, i32, String, Option<String>)> =
        sqlx::query_as("select id, cardinality(seat_nos), state::text, email from orders").fetch_all(db).await.unwrap();
    // The money is what the card processor says, also where we know of no payment.
    let payments: Vec<PaymentRow> = sqlx::query_as(
        "select coalesce(p.id, c.payment) as id, p.attempt,
                coalesce(p.order_id, '00000000-0000-0000-0000-000000000000') as order_id,
                coalesce(p.state = 'started' or exists (select from refunds r where r.payment_id = p.id
                                                        and r.refunded_at is null), false) as is_open,
                coalesce(p.bought, false) as bought, coalesce(c.captured, 0) as captured,
                coalesce(c.refunded, 0) as refunded
         from payments p
         full join (select idempotency_key::uuid as payment,
                           coalesce(sum(amount_minor) filter (where status = 'captured'), 0)::bigint as captured,
                           coalesce(sum((select sum(amount_minor) from gateway.refunds r where r.charge_id = c.id)), 0)::bigint
                               as refunded
                    from gateway.charges c group by idempotency_key) c on c.payment = p.id",
    )
    .fetch_all(db)
    .await
    .unwrap();

    let mut codes: HashMap<Uuid, Vec<String>> = HashMap::new();
    for (order, _, _, code) in &tickets {
        codes.entry(*order).or_default().push(code.clone());
    }
    codes.values_mut().for_each(|codes| codes.sort());
    let attempts: HashMap<_, _> = payments.iter().map(|row| ((row.order_id, row.attempt), row.id)).collect();
    let told = site.history.all().into_iter().filter_map(|told| match told {
        Told::Held { order } => Some(Words::Held(order)),
        Told::Taken { order } => Some(Words::Taken(order)),
        // Other codes than there are now are as good as none.
        Told::Sold { order, codes: seen } => {
            let same = codes.get(&order) == Some(&seen);
            Some(Words::Sold(order, if same { seen.len() } else { 0 }))
        }
        // An attempt that never began charged nothing.
        Told::NotCharged { order, attempt } => {
            attempts.get(&(order, Some(attempt))).map(|payment| Words::NotCharged(*payment))
        }
        Told::Ended { order } => Some(Words::Ended(order)),
        Told::Refunded { order } => Some(Words::Refunded(order)),
    });
    let addressed = site.history.addressed();
    Ledger {
        tickets: tickets.iter().map(|(order, show, seat, _)| (seat_of(*show, *seat), *order)).collect(),
        orders: orders
            .iter()
            .map(|(id, seats, state, email)| OrderLine {
                id: *id,
                seats: usize::try_from(*seats).unwrap(),
                phase: Phase::ALL.into_iter().find(|phase| phase.as_str() == state).unwrap(),
                has_address: email.is_some() || addressed.contains(id),
            })
            .collect(),
        payments: payments
            .iter()
            .map(|row| PaymentLine {
                id: row.id,
                order: row.order_id,
                is_open: row.is_open,
                bought: row.bought,
                captured: row.captured,
                refunded: row.refunded,
            })
            .collect(),
        mails: mails(site),
        told: told.collect(),
    }
}

fn seat_of(show: Uuid, seat: i16) -> Uuid {
    Uuid::new_v5(&show, &seat.to_be_bytes())
}

/// Those in the folder that are addressed to the visitor of their order. What a killed server had half written begins with a
/// dot, and is nothing that anybody collects.
fn mails(site: &Site) -> Vec<(Uuid, MailKind)> {
    let folder = std::fs::read_dir(site.mails()).into_iter().flatten();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut found = Vec::new();
    for name in names.filter(|name| !name.starts_with('.')) {
        let (order, kind) = name.strip_suffix(".eml").and_then(|name| name.rsplit_once('-')).unwrap();
        let (order, kind): (Uuid, _) = match kind {
            "tickets" => (order.parse().unwrap(), MailKind::Tickets),
            "refund" => (order.parse().unwrap(), MailKind::Refund),
            other => panic!("a mail of another kind: {other}"),
        };
        let text = std::fs::read_to_string(site.mails().join(&name)).unwrap();
        if text.contains(&format!("To: {}@example.org", order.simple())) {
            found.push((order, kind));
        }
    }
    found
}

/// How many orders ended how.
pub fn phases(ledger: &Ledger<Uuid>) -> BTreeMap<&'static str, usize> {
    let mut phases: BTreeMap<&'static str, usize> = BTreeMap::new();
    for order in &ledger.orders {
        *phases.entry(order.phase.as_str()).or_default() += 1;
    }
    phases
}
