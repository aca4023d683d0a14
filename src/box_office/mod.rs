//! The box office: one public function for one thing a person does. Nobody else writes to the store.
//!
//! What belongs here: use cases, the checkout saga, the gateway trait. What never does: HTTP, HTML, SQL.

pub mod checkout;
pub mod demo;
pub mod fault;
pub mod gateway;
pub mod hold;
mod incidents;
pub mod mails;
pub mod prove;
pub mod queue;
pub mod recover;
pub mod refusal;
pub mod rehearsal;
pub mod release;
pub mod seed;

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgPool;

use crate::domain::cinema::Cinema;
use crate::store::plans::Plans;
use crate::store::programme::Programme;
use crate::store::snapshots::Snapshots;
use gateway::Gateway;

pub use checkout::{Progress, pay};
pub use fault::fault;
pub use hold::{hold, refuse_early};
pub use incidents::{nobodys, settle};
pub use prove::{prove, questions};
pub use recover::{learn, reconcile, resume, returned};
pub use refusal::with_choice;
pub use release::release;
pub use seed::seed;

/// What a server needs to sell: its way to the database, the cinema it works for, the gateway it charges with. It holds
/// no state that another server needs; what it remembers is immutable (plans) or may be old (the programme, the snapshots).
#[derive(Debug)]
pub struct BoxOffice {
    /// Connections.
    pub pool: PgPool,
    /// The cinema.
    pub cinema: Cinema,
    /// Plans read so far.
    pub plans: Arc<Plans>,
    /// What was last read of each show's seats.
    pub snapshots: Snapshots,
    /// What's on.
    pub programme: Programme,
    /// Who takes the money.
    pub gateway: Arc<dyn Gateway>,
    /// How long an answer of the gateway is waited for: a charge's fate is asked for then, everything else stays open.
    pub patience: Duration,
    /// Cards to try things out with, and what each does; none where cards are real.
    pub test_cards: Vec<(&'static str, &'static str)>,
    /// Of the cinema, the same on every server of its database: draws places in waiting rooms and signs passes.
    pub secret: [u8; 32],
}

impl BoxOffice {
    /// A box office for this cinema.
    pub fn new(pool: PgPool, cinema: Cinema, gateway: Arc<dyn Gateway>) -> Self {
        let plans = Arc::<Plans>::default();
        Self {
            snapshots: Snapshots::new(&pool, Arc::clone(&plans)),
            pool,
            cinema,
            plans,
            programme: Programme::default(),
            gateway,
            patience: checkout::PATIENCE,
            test_cards: Vec::new(),
            // Until it is told the cinema's own: passes of this process alone.
            secret: rand::random(),
        }
    }
}
