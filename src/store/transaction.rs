//! The one place where a transaction begins.

use std::future::Future;
use std::pin::Pin;

use sqlx::postgres::{PgConnection, PgPool};

use super::{StoreError, StoreResult};

/// What runs inside a transaction. It may run more than once, so it must do nothing but SQL.
pub type Work<T> =
    Box<dyn for<'c> Fn(&'c mut PgConnection) -> Pin<Box<dyn Future<Output = StoreResult<T>> + Send + 'c>> + Send>;

/// Runs `work` in a transaction inside a task of its own, so that no client that hangs up can drop it halfway: in sqlx
/// 0.8.4 to 0.9.0 a dropped `begin()` leaves a pooled connection inside an open transaction (public issues 4385 and 4393),
/// and later statements on it are lost. Serialization failures and deadlocks are tried again, five times in all.
///
/// # Errors
/// The work's own error; everything it did is rolled back.
pub async fn run<T: Send + 'static>(pool: &PgPool, work: Work<T>) -> StoreResult<T> {
    let pool = pool.clone();
    let task = tokio::spawn(async move {
        let mut tries = 0;
        loop {
            tries += 1;
            let mut transaction = pool.begin().await?;
            match work(&mut transaction).await {
                Ok(value) => {
                    transaction.commit().await?;
                    return Ok(value);
                }
                Err(error) => {
                    transaction.rollback().await?;
                    if tries == 5 || !matches!(error.sqlstate(), Some("40001" | "40P01")) {
                        return Err(error);
                    }
                }
            }
        }
    });
    task.await.map_err(|panic| StoreError::Database(sqlx::Error::Io(std::io::Error::other(panic))))?
}
