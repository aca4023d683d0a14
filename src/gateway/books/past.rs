//! Charges of a past that was not lived here.

use sqlx::types::Json;

use super::{Books, BooksResult, a_name, statements};
use crate::gateway::past::PastCharge;

impl Books {
    /// Writes captured charges down, each once for its key, and answers with their names in the order given. Nothing is
    /// told of them: whoever asks knows.
    pub async fn write_past(&self, charges: &[PastCharge]) -> BooksResult<Vec<String>> {
        let keys: Vec<&str> = charges.iter().map(|charge| charge.key.as_str()).collect();
        let names: Vec<String> = charges.iter().map(|_| a_name("ch")).collect();
        let amounts: Vec<i64> = charges.iter().map(|charge| charge.amount.minor).collect();
        let currencies: Vec<&str> = charges.iter().map(|charge| charge.amount.currency.code()).collect();
        let metadata: Vec<_> = charges.iter().map(|charge| Json(&charge.metadata)).collect();
        let mut transaction = self.pool.begin().await?;
        statements::announce_charge(&mut transaction).await?;
        sqlx::query(
            "-- write_past
             with keyed as (
                 insert into gateway.keys (key, charge_id, tries)
                 select key, name, 1 from unnest($1::text[], $2::text[]) as past (key, name) order by key
                 on conflict (key) do nothing
                 returning key, charge_id
             )
             insert into gateway.charges (id, idempotency_key, amount_minor, currency, status, captured_at, metadata)
             select keyed.charge_id, keyed.key, amount_minor, currency, 'captured', clock_timestamp(), metadata
             from unnest($1::text[], $3::bigint[], $4::text[], $5::jsonb[])
                  with ordinality as past (key, amount_minor, currency, metadata, nth)
             join keyed using (key) order by nth",
        )
        .bind(&keys)
        .bind(&names)
        .bind(&amounts)
        .bind(&currencies)
        .bind(&metadata)
        .execute(&mut *transaction)
        .await?;
        let written = sqlx::query_scalar(
            "-- past_by_key
             select k.charge_id from unnest($1::text[]) with ordinality as past (key, nth)
             join gateway.keys k using (key) where k.charge_id is not null order by nth",
        )
        .bind(&keys)
        .fetch_all(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(written)
    }
}
