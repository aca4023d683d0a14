//! The statements about charges and their keys, one a function.

use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::types::Json;

use super::rows::{ChargeRow, charge_columns, read};
use super::{BooksResult, a_name};
use crate::gateway::charge::{Charge, NewCharge};

/// What a key was used for.
#[derive(sqlx::FromRow)]
pub(super) struct Key {
    pub fingerprint: Option<String>,
    pub charge_id: Option<String>,
    pub tries: i32,
    pub is_closed: bool,
    pub has_lapsed: bool,
}

/// Says, until the transaction ends, that a charge is about to get its number. Shared: charges do not wait for each other.
pub(super) async fn announce_charge(connection: &mut PgConnection) -> BooksResult<()> {
    sqlx::query(
        "-- announce_charge
         select pg_advisory_xact_lock_shared(hashtext('gateway.charges.nth'))",
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Waits for every charge that has its number and is not committed. Without this a reader could see number 7, go on behind
/// it, and never see number 6.
pub(super) async fn await_announced(connection: &mut PgConnection) -> BooksResult<()> {
    sqlx::query(
        "-- await_announced
         select pg_advisory_xact_lock(hashtext('gateway.charges.nth'))",
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Takes the key, or finds what it was used for; nobody else can use it until the transaction ends.
pub(super) async fn claim_key(connection: &mut PgConnection, key: &str, fingerprint: &str) -> BooksResult<Key> {
    sqlx::query_as(
        "-- claim_key
         insert into gateway.keys as k (key, fingerprint) values ($1, $2)
         on conflict (key) do update set tries = k.tries
         returning k.fingerprint, k.charge_id, k.tries, k.closed_at is not null as is_closed,
                   clock_timestamp() - k.used_at >= interval '24 hours' as has_lapsed",
    )
    .bind(key)
    .bind(fingerprint)
    .fetch_one(connection)
    .await
}

/// Writes down what the key is used for from now on.
pub(super) async fn use_key(
    connection: &mut PgConnection,
    key: &str,
    fingerprint: &str,
    charge: Option<&str>,
    tries: i32,
) -> BooksResult<()> {
    sqlx::query(
        "-- use_key
         update gateway.keys set fingerprint = $2, charge_id = $3, tries = $4, used_at = clock_timestamp() where key = $1",
    )
    .bind(key)
    .bind(fingerprint)
    .bind(charge)
    .bind(tries)
    .execute(connection)
    .await?;
    Ok(())
}

/// From now on the key starts no charge.
pub(super) async fn close_key(connection: &mut PgConnection, key: &str) -> BooksResult<()> {
    sqlx::query(
        "-- close_key
         insert into gateway.keys as k (key, closed_at) values ($1, clock_timestamp())
         on conflict (key) do update set closed_at = coalesce(k.closed_at, excluded.closed_at)",
    )
    .bind(key)
    .execute(connection)
    .await?;
    Ok(())
}

/// The last charge that ever used the key, lapsed or not.
pub(super) async fn newest_of_key(connection: &mut PgConnection, key: &str) -> BooksResult<Option<Charge>> {
    let row: Option<ChargeRow> = sqlx::query_as(concat!(
        "-- newest_of_key\nselect ",
        charge_columns!(),
        " from gateway.charges c where c.idempotency_key = $1 order by c.nth desc limit 1"
    ))
    .bind(key)
    .fetch_optional(connection)
    .await?;
    read(row)
}

/// A new charge. One that the bank thinks about is due after so long.
pub(super) async fn insert_charge(
    connection: &mut PgConnection,
    key: &str,
    asked: &NewCharge,
    status: &str,
    reason: Option<&str>,
    thinks: Duration,
    refund_failures: i16,
) -> BooksResult<Charge> {
    let row: ChargeRow = sqlx::query_as(concat!(
        "-- insert_charge
         insert into gateway.charges as c (id, idempotency_key, amount_minor, currency, last4, status, decline_reason,
                                           captured_at, decides_at, action_token, return_url, metadata, refund_failures)
         values ($1, $2, $3, $4, $5, $6::gateway.charge_status, $7,
                 case when $6 = 'captured' then clock_timestamp() end,
                 case when $6 = 'processing' then clock_timestamp() + $8 * interval '1 second' end,
                 case when $6 = 'requires_action' then $9 end, $10, $11, $12)
         returning ",
        charge_columns!()
    ))
    .bind(a_name("ch"))
    .bind(key)
    .bind(asked.amount.minor)
    .bind(asked.amount.currency.code())
    .bind(asked.last4())
    .bind(status)
    .bind(reason)
    .bind(thinks.as_secs_f64())
    .bind(a_name("pay"))
    .bind(&asked.return_url)
    .bind(Json(&asked.metadata))
    .bind(refund_failures)
    .fetch_one(connection)
    .await?;
    row.read()
}

/// A charge.
pub(super) async fn find_charge(connection: &mut PgConnection, id: &str) -> BooksResult<Option<Charge>> {
    let row: Option<ChargeRow> = sqlx::query_as(concat!(
        "-- find_charge\nselect ",
        charge_columns!(),
        " from gateway.charges c where c.id = $1"
    ))
    .bind(id)
    .fetch_optional(connection)
    .await?;
    read(row)
}

/// The charge that a hosted page is about.
pub(super) async fn charge_of_page(connection: &mut PgConnection, token: &str) -> BooksResult<Option<Charge>> {
    let row: Option<ChargeRow> = sqlx::query_as(concat!(
        "-- charge_of_page\nselect ",
        charge_columns!(),
        " from gateway.charges c where c.action_token = $1"
    ))
    .bind(token)
    .fetch_optional(connection)
    .await?;
    read(row)
}

/// Takes the money of a charge that is still processing.
pub(super) async fn capture_processing(connection: &mut PgConnection, id: &str) -> BooksResult<Option<Charge>> {
    let row: Option<ChargeRow> = sqlx::query_as(concat!(
        "-- capture_processing
         update gateway.charges c set status = 'captured', captured_at = clock_timestamp()
         where c.id = $1 and c.status = 'processing' returning ",
        charge_columns!()
    ))
    .bind(id)
    .fetch_optional(connection)
    .await?;
    read(row)
}

/// Cancels a charge that is still processing, and one that waits for its page if that is wanted.
pub(super) async fn cancel(
    connection: &mut PgConnection,
    id: &str,
    cancels_action: bool,
) -> BooksResult<Option<Charge>> {
    let row: Option<ChargeRow> = sqlx::query_as(concat!(
        "-- cancel
         update gateway.charges c set status = 'canceled'
         where c.id = $1 and (c.status = 'processing' or (c.status = 'requires_action' and $2)) returning ",
        charge_columns!()
    ))
    .bind(id)
    .bind(cancels_action)
    .fetch_optional(connection)
    .await?;
    read(row)
}

/// Decides a charge that still waits for its page.
pub(super) async fn decide_by_token(
    connection: &mut PgConnection,
    token: &str,
    confirms: bool,
) -> BooksResult<Option<Charge>> {
    let row: Option<ChargeRow> = sqlx::query_as(concat!(
        "-- decide_by_token
         update gateway.charges c
         set status = case when $2 then 'captured' else 'declined' end::gateway.charge_status,
             captured_at = case when $2 then clock_timestamp() end,
             decline_reason = case when not $2 then 'the card''s holder refused' end
         where c.action_token = $1 and c.status = 'requires_action' returning ",
        charge_columns!()
    ))
    .bind(token)
    .bind(confirms)
    .fetch_optional(connection)
    .await?;
    read(row)
}

/// Which one a charge is, in the order of creation.
pub(super) async fn number_of(connection: &mut PgConnection, id: &str) -> BooksResult<Option<i64>> {
    sqlx::query_scalar(
        "-- number_of
         select nth from gateway.charges where id = $1",
    )
    .bind(id)
    .fetch_optional(connection)
    .await
}

/// The next charges behind a number.
pub(super) async fn list_behind(connection: &mut PgConnection, number: i64, most: i64) -> BooksResult<Vec<Charge>> {
    let rows: Vec<ChargeRow> = sqlx::query_as(concat!(
        "-- list_behind\nselect ",
        charge_columns!(),
        " from gateway.charges c where c.nth > $1 order by c.nth limit $2"
    ))
    .bind(number)
    .bind(most)
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(ChargeRow::read).collect()
}
