//! `naive`: looks whether the seats are free, thinks for a while, writes. What a first version does everywhere; the gap is
//! what rendering, a slow network or a busy server put between the two. Whoever writes last has the seats, and everybody
//! was told yes.

use std::time::Duration;

use async_trait::async_trait;

use super::Answer;
use super::rows::{HoldRows, OnRows, Rows, all_free, look, write};
use crate::rush::laboratory::bench::{Bench, Trouble};
use crate::rush::laboratory::crowd::Order;

/// Between the look and the write.
const GAP: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct Naive;

pub fn open(bench: &Bench) -> OnRows<Naive> {
    OnRows::open(bench, Naive)
}

#[async_trait]
impl HoldRows for Naive {
    async fn hold(&self, rows: &Rows, order: &Order) -> Result<Answer, Trouble> {
        if !all_free(order, &look(&rows.pool, rows, order).await?) {
            return Ok(Answer::at_once(false));
        }
        tokio::time::sleep(GAP).await;
        write(&rows.pool, order).await?;
        Ok(Answer::at_once(true))
    }
}
