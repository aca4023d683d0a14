//! Plans: immutable, so a server may keep every one it has parsed.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use sqlx::postgres::PgPool;

use super::{StoreError, StoreResult};
use crate::domain::ids::PlanId;
use crate::domain::plan::Plan;

/// The plans this server has read so far. Nothing in here can go stale: the database refuses to change a plan.
#[derive(Debug, Default)]
pub struct Plans(RwLock<HashMap<PlanId, Arc<Plan>>>);

impl Plans {
    /// The plan, read and parsed at its first use.
    ///
    /// # Errors
    /// When there is none, or its text is not a plan.
    pub async fn get(&self, pool: &PgPool, id: PlanId) -> StoreResult<Arc<Plan>> {
        if let Some(plan) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
            return Ok(Arc::clone(plan));
        }
        let layout = sqlx::query_scalar!(
            "-- plan
             select layout from plans where id = $1",
            id.0
        )
        .fetch_one(pool)
        .await?;
        let plan = Plan::parse(&layout).map_err(|error| StoreError::corrupt("plans", "layout", id, error))?;
        let plan = Arc::new(plan);
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::clone(&plan));
        Ok(plan)
    }
}
