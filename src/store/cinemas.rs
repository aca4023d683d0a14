//! The cinema's own row.

use sqlx::postgres::PgPool;

use super::{StoreError, StoreResult};
use crate::domain::cinema::Cinema;

/// The cinema and the key that signs its cookies; `None` before the database was set up.
///
/// # Errors
/// When the zone is not an IANA name.
pub async fn get(pool: &PgPool) -> StoreResult<Option<(Cinema, Vec<u8>)>> {
    let row = sqlx::query!(
        "-- cinema
         select name, zone, cookie_key from cinema"
    )
    .fetch_optional(pool)
    .await?;
    row.map(|row| {
        let zone = row.zone.parse().map_err(|_| StoreError::corrupt("cinema", "zone", &row.name, &row.zone))?;
        Ok((Cinema { name: row.name, zone }, row.cookie_key))
    })
    .transpose()
}

/// Makes the cinema if there is none: its name, its zone, a new key.
///
/// # Errors
/// When the database refuses.
pub async fn create(pool: &PgPool, cinema: &Cinema, cookie_key: &[u8]) -> StoreResult<()> {
    sqlx::query!(
        "-- create_cinema
         insert into cinema (name, zone, cookie_key) values ($1, $2, $3) on conflict (id) do nothing",
        cinema.name,
        cinema.zone.name(),
        cookie_key
    )
    .execute(pool)
    .await?;
    Ok(())
}
