//! `serializable`: looks and writes as if alone; Postgres finds out who was not and refuses all but one, who tries again.

use async_trait::async_trait;

use super::rows::{HoldRows, OnRows, Rows, all_free, look, write};
use super::{Answer, again};
use crate::rush::laboratory::bench::{Bench, Trouble};
use crate::rush::laboratory::crowd::Order;

#[derive(Debug)]
pub struct Serializable;

pub fn open(bench: &Bench) -> OnRows<Serializable> {
    OnRows::open(bench, Serializable)
}

#[async_trait]
impl HoldRows for Serializable {
    async fn hold(&self, rows: &Rows, order: &Order) -> Result<Answer, Trouble> {
        again(|| attempt(rows, order)).await
    }
}

async fn attempt(rows: &Rows, order: &Order) -> Result<Option<bool>, Trouble> {
    let mut transaction = rows.pool.begin_with("begin isolation level serializable").await?;
    let free = all_free(order, &look(&mut *transaction, rows, order).await?);
    if free {
        write(&mut *transaction, order).await?;
    }
    // What was read counts only once this has gone through: for losers too.
    transaction.commit().await?;
    Ok(Some(free))
}
