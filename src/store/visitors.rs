//! Visitors: the session store. A visitor is a session's id; its row appears when there is something to keep.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sqlx::postgres::PgPool;
use time::OffsetDateTime;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::{Error, Result, SessionStore};
use uuid::Uuid;

use super::pool::resilient;
use super::{StoreError, StoreResult};

/// Keeps sessions on the same pool as everything else.
#[derive(Clone, Debug)]
pub struct Visitors {
    pool: PgPool,
}

impl Visitors {
    /// On this pool.
    pub const fn new(pool: PgPool) -> Self {
        Self { pool }
    }

    /// Writes without waiting for the disk: whoever holds seats waits for one flush, the hold's own. The worst that a
    /// crash can take is a session a moment old; its order is still reached by its own link.
    async fn write(&self, record: &Record, overwrite: bool) -> Result<StoreResult<bool>> {
        let data = serde_json::to_value(&record.data).map_err(|error| Error::Encode(error.to_string()))?;
        let expires_at = DateTime::<Utc>::from_timestamp(record.expiry_date.unix_timestamp(), 0)
            .ok_or_else(|| Error::Encode("an expiry that is no time".to_owned()))?;
        let written = resilient(|| async {
            let done = sqlx::query!(
                "-- write_session
                with unflushed as materialized (select set_config('synchronous_commit', 'off', true))
                insert into sessions as mine (id, data, expires_at) select $1, $2, $3 from unflushed
                on conflict (id) do update set data = excluded.data, expires_at = excluded.expires_at where $4",
                uuid(record.id),
                data,
                expires_at,
                overwrite
            )
            .execute(&self.pool)
            .await?;
            Ok(done.rows_affected() == 1)
        });
        Ok(written.await)
    }
}

/// Name of the value that says under which id a new session is to be stored.
pub const ID: &str = "visitor";

/// The id as the database keeps it: the same 128 bits.
pub const fn uuid(id: Id) -> Uuid {
    Uuid::from_u128(id.0.cast_unsigned())
}

fn backend(error: StoreError) -> Error {
    Error::Backend(error.to_string())
}

#[async_trait]
impl SessionStore for Visitors {
    /// Never overwrites. A visitor's first order was made under the id that lies in the record, so that becomes the
    /// session's; if it is there already, the same attempt was sent twice and this is the same visitor.
    async fn create(&self, record: &mut Record) -> Result<()> {
        if let Some(id) = record.data.get(ID).and_then(|id| serde_json::from_value::<Uuid>(id.clone()).ok()) {
            record.id = Id(id.as_u128().cast_signed());
            return match self.write(record, false).await? {
                // The seats are held by now, and a visitor is known by the id in the cookie alone: a row that is missing
                // harms nobody, an answer without the cookie would.
                Err(error) if error.is_unavailable() => {
                    tracing::warn!(%error, "a session could not be written; its visitor has the cookie");
                    Ok(())
                }
                written => written.map(|_| ()).map_err(backend),
            };
        }
        while !self.write(record, false).await?.map_err(backend)? {
            record.id = Id::default();
        }
        Ok(())
    }

    async fn save(&self, record: &Record) -> Result<()> {
        self.write(record, true).await?.map(|_| ()).map_err(backend)
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let row = resilient(|| async {
            Ok(sqlx::query!(
                "-- load_session
                select data, expires_at from sessions where id = $1 and expires_at > clock_timestamp()",
                uuid(*id)
            )
            .fetch_optional(&self.pool)
            .await?)
        });
        row.await
            .map_err(backend)?
            .map(|row| {
                Ok(Record {
                    id: *id,
                    data: serde_json::from_value(row.data).map_err(|error| Error::Decode(error.to_string()))?,
                    expiry_date: OffsetDateTime::from_unix_timestamp(row.expires_at.timestamp())
                        .map_err(|error| Error::Decode(error.to_string()))?,
                })
            })
            .transpose()
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        let deleted = resilient(|| async {
            sqlx::query!(
                "-- delete_session
                delete from sessions where id = $1",
                uuid(*id)
            )
            .execute(&self.pool)
            .await?;
            Ok(())
        });
        deleted.await.map_err(backend)
    }
}
