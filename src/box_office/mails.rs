//! Mails to visitors: a consumer of the outbox. Tickets when an order is sold, news when money has gone back.
//!
//! One mail of a kind for an order, whatever is repeated: it is claimed in the database before it leaves. Only a crash
//! between the mail server's "accepted" and our note of it can send one twice; both then have the same Message-ID. As files,
//! which are named for the order, not even that.

use std::path::PathBuf;
use std::time::Duration;

use chrono::TimeDelta;
use lettre::message::Mailbox;
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use uuid::Uuid;

use super::{BoxOffice, fault};
use crate::domain::Error;
use crate::domain::ids::OrderId;
use crate::domain::order::Order;
use crate::domain::saga::Happening;
use crate::domain::show::Show;
use crate::store::mails::{self, Claim, Kind};
use crate::store::{maps, orders, outbox, refunds, tickets};

/// The consumer's name, under which its position is kept.
const CONSUMER: &str = "mails";

/// How long a reader, or a claim on a mail, is left alone; longer than any mail takes.
const LEASE: TimeDelta = TimeDelta::seconds(60);

/// How many events are read at once.
const HANDFUL: i64 = 100;

/// How mails leave.
#[derive(Debug)]
pub enum Post {
    /// As files of this folder, one a mail.
    Folder(PathBuf),
    /// To a mail server.
    Smtp(Box<AsyncSmtpTransport<Tokio1Executor>>),
}

/// Writes and sends the mails of a cinema.
#[derive(Debug)]
pub struct Mailer {
    /// How they leave.
    pub post: Post,
    /// Who they are from.
    pub from: Address,
    /// Where the site is for its visitors, such as `https://cinema.example`; the links begin with it.
    pub site: String,
}

impl Mailer {
    /// Mails leave as this text says: `smtp://name:password@host:587`, `smtps://..`, or a folder's path.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub fn new(post: &str, from: &str, site: &str) -> Result<Self, String> {
        let post = if post.starts_with("smtp://") || post.starts_with("smtps://") {
            let server = AsyncSmtpTransport::<Tokio1Executor>::from_url(post).map_err(|error| error.to_string())?;
            Post::Smtp(Box::new(server.build()))
        } else {
            Post::Folder(PathBuf::from(post))
        };
        let from = from.parse().map_err(|error| format!("{from} is not a mail address: {error}"))?;
        Ok(Self { post, from, site: site.trim_end_matches('/').to_owned() })
    }
}

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

/// Why a mail did not leave.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    /// It may leave later: the server is not there, the disk is full.
    #[error("{0}")]
    Now(String),
    /// It never will: nobody lives at that address.
    #[error("{0}")]
    Ever(String),
}

/// Reads on in the outbox and sends what it asks for, until nothing is left or a mail cannot leave. How many left.
///
/// # Errors
/// When the database does.
pub async fn deliver(office: &BoxOffice, mailer: &Mailer) -> Result<usize, Error> {
    let mut left = 0;
    while let Some(from) = outbox::take(&office.pool, CONSUMER, LEASE).await.map_err(fault)? {
        let batch = outbox::after(&office.pool, &from, HANDFUL).await.map_err(fault)?;
        let mut reached = from.clone();
        let mut stuck = false;
        for delivery in &batch {
            match one(office, mailer, delivery.event.order, delivery.event.what).await? {
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

async fn one(office: &BoxOffice, mailer: &Mailer, id: OrderId, what: Happening) -> Result<Progress, Error> {
    let kind = match what {
        Happening::Sold => Kind::Tickets,
        Happening::Refunded => Kind::Refund,
        _ => return Ok(Progress::NothingToSend),
    };
    let recipient = match mails::claim(&office.pool, id, kind, LEASE).await.map_err(fault)? {
        Claim::Ours(recipient) => recipient,
        Claim::Done => return Ok(Progress::NothingToSend),
        Claim::Theirs => return Ok(Progress::Stuck),
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
    match mailer.send(office, &order, kind, &recipient, subject, text).await {
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
            tracing::warn!(order = %id, why, "a mail could not leave; it will be tried again");
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

impl Mailer {
    async fn send(
        &self,
        office: &BoxOffice,
        order: &Order,
        kind: Kind,
        to: &str,
        subject: String,
        text: String,
    ) -> Result<(), Trouble> {
        let to: Address = to.parse().map_err(|error| Trouble::Ever(format!("{to}: {error}")))?;
        let message = Message::builder()
            .from(Mailbox::new(Some(office.cinema.name.clone()), self.from.clone()))
            .to(Mailbox::new(None, to))
            .message_id(Some(format!("<{}.{}@{}>", order.id, kind.as_str(), self.from.domain())))
            .subject(subject)
            .body(text)
            .map_err(|error| Trouble::Ever(error.to_string()))?;
        match &self.post {
            Post::Smtp(server) => match server.send(message).await {
                Ok(_) => Ok(()),
                Err(error) if error.is_permanent() => Err(Trouble::Ever(error.to_string())),
                Err(error) => Err(Trouble::Now(error.to_string())),
            },
            Post::Folder(folder) => {
                // Written beside its place and moved there when it is whole: whoever collects mails finds no half ones.
                let name = format!("{}-{}.eml", order.id, kind.as_str());
                let half = folder.join(format!(".{name}.{}", Uuid::new_v4().simple()));
                let written = async {
                    tokio::fs::create_dir_all(folder).await?;
                    tokio::fs::write(&half, message.formatted()).await?;
                    tokio::fs::rename(&half, folder.join(&name)).await
                };
                written.await.map_err(|error| Trouble::Now(format!("{}: {error}", folder.display())))
            }
        }
    }
}
