//! Mails to visitors: a consumer of the outbox. Tickets when an order is sold, news when money has gone back.
//!
//! What is promised: each mail leaves at least once, nearly always exactly once, and none keeps others waiting.
//! - One mail of a kind for an order, whatever is repeated: it is claimed in the database before it leaves, and noted as
//!   sent when the mail server has said that it has it.
//! - Between these two lies the mail server's answer. When that is lost (it hangs up or falls silent after the last line, or
//!   we crash before our note) nobody knows whether it has the mail, and it is sent again: better twice than never. Both
//!   then have the same Message-ID, by which mailboxes know them for one. As files, which are named for the order, not even
//!   that.
//! - A mail that the server puts off, or that makes it hang up, waits for itself and is tried again, after a minute first
//!   and an hour at last, for three days. One that is refused for good is written off at once, with the server's words in
//!   its row. The others go on meanwhile.
//! - When no mail can leave (the server is away, or does not know our password), nothing is written off: the outbox waits.

mod post;

use std::time::Duration;

use chrono::TimeDelta;

use super::{BoxOffice, fault};
use crate::domain::Error;
use crate::domain::ids::OrderId;
use crate::domain::order::Order;
use crate::domain::saga::Happening;
use crate::domain::show::Show;
use crate::store::mails::{self, Claim, Kind};
use crate::store::{maps, orders, outbox, refunds, tickets};
use post::{Letter, Trouble};

pub use post::{Mailer, Post};

/// The consumer's name, under which its position is kept.
const CONSUMER: &str = "mails";

/// How long a reader, or a claim on a mail, is left alone; longer than any mail takes.
const LEASE: TimeDelta = TimeDelta::seconds(60);

/// How many events, or mails that wait, are read at once.
const HANDFUL: i64 = 100;

/// For how long a mail that is put off is tried again.
const PERSEVERANCE: TimeDelta = TimeDelta::days(3);

/// Delivers whatever the outbox brings, looking once every other second. Never ends; a server runs it beside its requests.
pub async fn keep_delivering(office: &BoxOffice, mailer: &Mailer) {
    loop {
        match deliver(office, mailer).await {
            Ok(0) => {}
            Ok(left) => tracing::info!(left, "mails"),
            Err(error) => tracing::warn!(%error, "mails could not be delivered"),
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// How often the outbox is looked into.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Sends what waits and has come to its next try, then what the outbox asks for, until nothing is left or no mail can leave.
/// How many left.
///
/// # Errors
/// When the database does.
pub async fn deliver(office: &BoxOffice, mailer: &Mailer) -> Result<usize, Error> {
    let mut left = 0;
    for (order, kind) in mails::due(&office.pool, LEASE, HANDFUL).await.map_err(fault)? {
        match one(office, mailer, order, kind).await? {
            Progress::Sent => left += 1,
            Progress::NothingToSend => {}
            Progress::Stuck => return Ok(left),
        }
    }
    while let Some(from) = outbox::take(&office.pool, CONSUMER, LEASE).await.map_err(fault)? {
        let batch = outbox::after(&office.pool, &from, HANDFUL).await.map_err(fault)?;
        let mut reached = from.clone();
        let mut stuck = false;
        for delivery in &batch {
            let Some(kind) = kind_of(delivery.event.what) else {
                reached = delivery.position.clone();
                continue;
            };
            match one(office, mailer, delivery.event.order, kind).await? {
                Progress::Sent => left += 1,
                Progress::NothingToSend => {}
                Progress::Stuck => {
                    stuck = true;
                    break;
                }
            }
            reached = delivery.position.clone();
        }
        outbox::advance(&office.pool, CONSUMER, &from, &reached).await.map_err(fault)?;
        if stuck || batch.is_empty() {
            break;
        }
    }
    Ok(left)
}

enum Progress {
    Sent,
    NothingToSend,
    Stuck,
}

const fn kind_of(what: Happening) -> Option<Kind> {
    match what {
        Happening::Sold => Some(Kind::Tickets),
        Happening::Refunded => Some(Kind::Refund),
        _ => None,
    }
}

async fn one(office: &BoxOffice, mailer: &Mailer, id: OrderId, kind: Kind) -> Result<Progress, Error> {
    let recipient = match mails::claim(&office.pool, id, kind, LEASE).await.map_err(fault)? {
        Claim::Ours(recipient) => recipient,
        // Or another server has it: should that one die, the mail is found among those that wait.
        Claim::Done | Claim::Theirs => return Ok(Progress::NothingToSend),
    };
    let Some((order, _)) = orders::get(&office.pool, id).await.map_err(fault)? else {
        return Ok(Progress::NothingToSend);
    };
    let Some(show) = maps::show(&office.pool, &office.plans, order.show).await.map_err(fault)? else {
        return Ok(Progress::NothingToSend);
    };
    let (subject, text) = match kind {
        Kind::Tickets => tickets_text(office, mailer, &order, &show).await?,
        Kind::Refund => refund_text(office, mailer, &order, &show).await?,
    };
    let name = format!("{}-{}", order.id, kind.as_str());
    match mailer.send(Letter { name, sender: &office.cinema.name, to: &recipient, subject, text }).await {
        Ok(()) => {
            mails::sent(&office.pool, id, kind).await.map_err(fault)?;
            Ok(Progress::Sent)
        }
        Err(Trouble::Ever(why)) => {
            tracing::error!(order = %id, why, "a mail was refused for good");
            mails::refused(&office.pool, id, kind, &why).await.map_err(fault)?;
            Ok(Progress::NothingToSend)
        }
        Err(Trouble::Now(why)) => {
            tracing::warn!(order = %id, why, "a mail was put off; it will be tried again");
            mails::put_off(&office.pool, id, kind, &why, PERSEVERANCE).await.map_err(fault)?;
            Ok(Progress::NothingToSend)
        }
        Err(Trouble::All(why)) => {
            tracing::warn!(order = %id, why, "no mail can leave; they wait");
            mails::unclaim(&office.pool, id, kind).await.map_err(fault)?;
            Ok(Progress::Stuck)
        }
    }
}

async fn tickets_text(
    office: &BoxOffice,
    mailer: &Mailer,
    order: &Order,
    show: &Show,
) -> Result<(String, String), Error> {
    let cinema = &office.cinema;
    let tickets = tickets::of_order(&office.pool, order.id).await.map_err(fault)?;
    let seats = tickets.iter().map(|ticket| format!("  {}   {}\n", show.plan.name(ticket.seat), ticket.code));
    let text = format!(
        "{film}\n{when}\n{hall}\n\nYour seats and ticket codes:\n{seats}\nTotal: {total}\nOrder: {code}\n\n\
         The codes to show at the door: {site}/orders/{order}\n\n{name}\n",
        film = show.film.title,
        when = cinema.date_time(show.starts_at),
        hall = show.hall,
        seats = seats.collect::<String>(),
        total = order.total,
        code = order.code(),
        site = mailer.site,
        order = order.id,
        name = cinema.name,
    );
    Ok((format!("Your tickets: {}, {}", show.film.title, cinema.date_time(show.starts_at)), text))
}

async fn refund_text(
    office: &BoxOffice,
    mailer: &Mailer,
    order: &Order,
    show: &Show,
) -> Result<(String, String), Error> {
    let cinema = &office.cinema;
    let refunds = refunds::of_order(&office.pool, order.id).await.map_err(fault)?;
    let made = refunds.iter().filter_map(|refund| {
        let (at, reference) = refund.made.as_ref()?;
        Some(format!("  {} at {}, reference {reference}\n", refund.amount, cinema.to_the_second(*at)))
    });
    let text = format!(
        "Money for {film} ({when}) went back to your card:\n{made}\nWhat happened, and when: {site}/orders/{order}\n\
         Order: {code}\n\n{name}\n",
        film = show.film.title,
        when = cinema.date_time(show.starts_at),
        made = made.collect::<String>(),
        site = mailer.site,
        order = order.id,
        code = order.code(),
        name = cinema.name,
    );
    Ok((format!("Your refund: {}", show.film.title), text))
}
