//! Events: what the merchant is told, from the moment it is true until it has been heard.

use std::time::Duration;

use serde_json::Value;
use sqlx::postgres::PgConnection;

use super::{Books, BooksResult, a_name};
use crate::gateway::cards;
use crate::gateway::charge::{Charge, Refund, State};

/// An event to be recorded.
#[derive(Debug)]
pub(super) struct Telling {
    id: String,
    kind: &'static str,
    about: String,
    data: Value,
    /// How long ago it says it happened.
    age: Duration,
    /// How long nobody tells it.
    wait: Duration,
    times: i16,
    after: Option<String>,
}

impl Telling {
    fn new(kind: &'static str, about: &str, data: Value) -> Self {
        let (id, about) = (a_name("evt"), about.to_owned());
        Self { id, kind, about, data, age: Duration::ZERO, wait: Duration::ZERO, times: 1, after: None }
    }

    /// That the charge is what it is; nothing as long as it is undecided.
    pub fn of_charge(charge: &Charge) -> Option<Self> {
        let kind = match charge.state {
            State::Captured { .. } => "charge.captured",
            State::Declined { .. } => "charge.declined",
            State::Canceled => "charge.canceled",
            State::Processing { .. } | State::RequiresAction { .. } => return None,
        };
        // A decided charge has no page any more.
        Some(Self::new(kind, &charge.id, charge.json("")))
    }

    /// That money was given back.
    pub fn of_refund(refund: &Refund) -> Self {
        Self::new("refund.succeeded", &refund.id, refund.json())
    }

    /// The same, told only after a while.
    pub fn late(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// The same, told so often.
    pub fn times(self, times: i16) -> Self {
        Self { times, ..self }
    }

    /// What an earlier try of the charge would have told, and is told after this one.
    pub fn a_stale_decline(&self, charge: &Charge) -> Self {
        let state = State::Declined { reason: cards::DECLINED.to_owned() };
        let earlier = Charge { state, ..charge.clone() };
        Self {
            age: Duration::from_secs(2),
            after: Some(self.id.clone()),
            ..Self::new("charge.declined", &charge.id, earlier.json(""))
        }
    }

    /// Records it; in the transaction of what it tells.
    pub async fn record(&self, connection: &mut PgConnection) -> BooksResult<()> {
        sqlx::query(
            r#"-- record_event
            insert into gateway.events (id, type, about, body, created_at, after_event, deliveries_left, next_try_at)
            select $1, $2, $8,
                   json_build_object(
                       'id', $1, 'type', $2,
                       'created_at', to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'data', $3::json
                   )::text,
                   at, $6, $7, clock_timestamp() + $5 * interval '1 second'
            from (select clock_timestamp() - $4 * interval '1 second' as at) as happened"#,
        )
        .bind(&self.id)
        .bind(self.kind)
        .bind(&self.data)
        .bind(self.age.as_secs_f64())
        .bind(self.wait.as_secs_f64())
        .bind(&self.after)
        .bind(self.times)
        .bind(&self.about)
        .execute(connection)
        .await?;
        Ok(())
    }
}

/// Records what there is to tell of a charge.
pub(super) async fn tell(connection: &mut PgConnection, charge: &Charge) -> BooksResult<()> {
    match Telling::of_charge(charge) {
        Some(tells) => tells.record(connection).await,
        None => Ok(()),
    }
}

/// An event whose time has come.
#[derive(Debug, sqlx::FromRow)]
pub(in crate::gateway) struct Due {
    /// Its identity.
    pub id: String,
    /// What is sent.
    pub body: String,
}

impl Books {
    /// Takes events whose time has come, those waiting longest first. Nobody else gets them for as long as the lease
    /// lasts; if whoever took them dies, they are due again after it. What nobody heard for three days is given up.
    pub async fn lease_events(&self, most: i64, lease: Duration) -> BooksResult<Vec<Due>> {
        sqlx::query_as(
            "-- lease_events
             update gateway.events set next_try_at = clock_timestamp() + $2 * interval '1 second'
             where id = any (array(
                 select e.id from gateway.events e
                 where e.deliveries_left > 0 and e.next_try_at <= clock_timestamp()
                   and e.created_at > clock_timestamp() - interval '3 days'
                   and not exists (
                       select from gateway.events first where first.id = e.after_event and first.delivered_at is null)
                 order by e.next_try_at limit $1 for update skip locked))
             returning id, body",
        )
        .bind(most)
        .bind(lease.as_secs_f64())
        .fetch_all(&self.pool)
        .await
    }

    /// The merchant has heard it.
    pub async fn heard(&self, event: &str) -> BooksResult<()> {
        sqlx::query(
            "-- event_heard
             update gateway.events set deliveries_left = deliveries_left - 1, tries = 0, next_try_at = clock_timestamp(),
                    delivered_at = coalesce(delivered_at, clock_timestamp())
             where id = $1 and deliveries_left > 0",
        )
        .bind(event)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// The merchant has not heard it: it is told again after 1, 2, 4, .. seconds, an hour at most.
    pub async fn not_heard(&self, event: &str) -> BooksResult<()> {
        sqlx::query(
            "-- event_not_heard
             update gateway.events set tries = tries + 1,
                    next_try_at = clock_timestamp() + least(power(2, least(tries, 20)), 3600) * interval '1 second'
             where id = $1 and deliveries_left > 0",
        )
        .bind(event)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Whether the merchant has heard all there is to tell of a charge.
    pub async fn all_heard(&self, charge: &str) -> BooksResult<bool> {
        sqlx::query_scalar(
            "-- all_heard
             select not exists (select from gateway.events where about = $1 and delivered_at is null)",
        )
        .bind(charge)
        .fetch_one(&self.pool)
        .await
    }
}
