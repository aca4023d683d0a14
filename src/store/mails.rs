//! Which mails were sent: one of a kind for an order.

use chrono::TimeDelta;
use sqlx::postgres::PgPool;

use super::StoreResult;
use super::pool::resilient;
use crate::domain::ids::OrderId;

/// What a mail brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Tickets.
    Tickets,
    /// News of a refund.
    Refund,
}

impl Kind {
    /// The word used in SQL and in file names.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tickets => "tickets",
            Self::Refund => "refund",
        }
    }
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is the caller's to send, to this recipient.
    Ours(String),
    /// Nothing to do: it was sent or refused before, or the order names no recipient.
    Done,
    /// Somebody else claimed it a moment ago, and may be sending it.
    Theirs,
}

/// Claims a mail. A claim that came to nothing lapses after `lease`.
///
/// # Errors
/// When the database does.
pub async fn claim(pool: &PgPool, order: OrderId, kind: Kind, lease: TimeDelta) -> StoreResult<Claim> {
    let seconds = lease.num_seconds() as f64;
    resilient(|| async {
        let row = sqlx::query!(
            r#"-- claim_mail
            with claimed as (
                insert into mails (order_id, kind, recipient, claimed_at)
                select id, $2::text::mail_kind, email, clock_timestamp() from orders where id = $1 and email is not null
                on conflict (order_id, kind) do update set claimed_at = clock_timestamp()
                where mails.sent_at is null and mails.refused is null
                  and mails.claimed_at < clock_timestamp() - $3 * interval '1 second'
                returning recipient
            )
            select (select recipient from claimed) as recipient,
                   exists (select from mails where order_id = $1 and kind = $2::text::mail_kind
                           and sent_at is null and refused is null) as "open!""#,
            order.0,
            kind.as_str(),
            seconds
        )
        .fetch_one(pool)
        .await?;
        Ok(match row.recipient {
            Some(recipient) => Claim::Ours(recipient),
            None if row.open => Claim::Theirs,
            None => Claim::Done,
        })
    })
    .await
}

/// No mail can leave now: whoever comes next may try this one at once.
///
/// # Errors
/// When the database does.
pub async fn unclaim(pool: &PgPool, order: OrderId, kind: Kind) -> StoreResult<()> {
    resilient(|| async {
        sqlx::query!(
            "-- unclaim_mail
            update mails set claimed_at = '-infinity'
            where order_id = $1 and kind = $2::text::mail_kind and sent_at is null",
            order.0,
            kind.as_str()
        )
        .execute(pool)
        .await?;
        Ok(())
    })
    .await
}

/// Mails that have neither left nor been refused for good, whose next try has come and which nobody has claimed within
/// `lease`; those waiting longest first.
///
/// # Errors
/// When the database does.
pub async fn due(pool: &PgPool, lease: TimeDelta, most: i64) -> StoreResult<Vec<(OrderId, Kind)>> {
    let seconds = lease.num_seconds() as f64;
    let rows = resilient(|| async {
        Ok(sqlx::query!(
            r#"-- due_mails
            select order_id, kind = 'tickets' as "tickets!" from mails
            where sent_at is null and refused is null and next_try_at <= clock_timestamp()
              and claimed_at < clock_timestamp() - $1 * interval '1 second'
            order by next_try_at limit $2"#,
            seconds,
            most
        )
        .fetch_all(pool)
        .await?)
    })
    .await?;
    let kind = |tickets| if tickets { Kind::Tickets } else { Kind::Refund };
    Ok(rows.into_iter().map(|row| (OrderId(row.order_id), kind(row.tickets))).collect())
}

/// The mail server does not take it now: it is tried again after 1, 2, 4, .. minutes, an hour at most; and written off
/// when that has gone on for longer than `perseverance` since the order asked for it.
///
/// # Errors
/// When the database does.
pub async fn put_off(pool: &PgPool, order: OrderId, kind: Kind, why: &str, perseverance: TimeDelta) -> StoreResult<()> {
    let seconds = perseverance.num_seconds() as f64;
    resilient(|| async {
        sqlx::query!(
            "-- put_off_mail
            update mails set claimed_at = '-infinity', tries = tries + 1,
                   next_try_at = clock_timestamp() + least(power(2, least(tries, 6)), 60) * interval '1 minute',
                   refused = case when asked_at < clock_timestamp() - $4 * interval '1 second' then $3 end
            where order_id = $1 and kind = $2::text::mail_kind and sent_at is null",
            order.0,
            kind.as_str(),
            why,
            seconds
        )
        .execute(pool)
        .await?;
        Ok(())
    })
    .await
}

/// The mail server refused it for good.
///
/// # Errors
/// When the database does.
pub async fn refused(pool: &PgPool, order: OrderId, kind: Kind, why: &str) -> StoreResult<()> {
    resilient(|| async {
        sqlx::query!(
            "-- mail_refused
            update mails set refused = $3 where order_id = $1 and kind = $2::text::mail_kind and sent_at is null",
            order.0,
            kind.as_str(),
            why
        )
        .execute(pool)
        .await?;
        Ok(())
    })
    .await
}

/// The mail has left.
///
/// # Errors
/// When the database does.
pub async fn sent(pool: &PgPool, order: OrderId, kind: Kind) -> StoreResult<()> {
    resilient(|| async {
        sqlx::query!(
            "-- mail_sent
            update mails set sent_at = clock_timestamp()
            where order_id = $1 and kind = $2::text::mail_kind and sent_at is null",
            order.0,
            kind.as_str()
        )
        .execute(pool)
        .await?;
        Ok(())
    })
    .await
}
