//! The box office: one public function for one thing a person does. Nobody else writes to the store.
//!
//! What belongs here: use cases, the checkout saga, the gateway trait. What never does: HTTP, HTML, SQL.

pub mod checkout;
pub mod demo;
pub mod fault;
pub mod gateway;
pub mod hold;
pub mod mails;
pub mod prove;
pub mod recover;
pub mod release;
pub mod seed;

use std::sync::Arc;

use sqlx::postgres::PgPool;
use tokio::sync::Notify;

use crate::domain::cinema::Cinema;
use crate::store::plans::Plans;
use crate::store::programme::Programme;
use gateway::Gateway;

pub use checkout::{Progress, pay};
pub use fault::fault;
pub use hold::hold;
pub use prove::{prove, questions};
pub use recover::{learn, reconcile, resume, returned};
pub use release::release;
pub use seed::seed;

/// What a server needs to sell: its way to the database, the cinema it works for, the gateway it charges with. It holds
/// no state that another server needs; what it remembers is immutable (plans) or may be old (the programme).
#[derive(Debug)]
pub struct BoxOffice {
    /// Connections.
    pub pool: PgPool,
    /// The cinema.
    pub cinema: Cinema,
    /// Plans read so far.
    pub plans: Plans,
    /// What's on.
    pub programme: Programme,
    /// Who takes the money.
    pub gateway: Arc<dyn Gateway>,
    /// Cards to try things out with, and what each does; none where cards are real.
    pub test_cards: Vec<(&'static str, &'static str)>,
    /// Rung when the gateway did not answer and something was left open.
    left_open: Notify,
}

impl BoxOffice {
    /// A box office for this cinema.
    pub fn new(pool: PgPool, cinema: Cinema, gateway: Arc<dyn Gateway>) -> Self {
        Self {
            pool,
            cinema,
            plans: Plans::default(),
            programme: Programme::default(),
            gateway,
            test_cards: Vec::new(),
            left_open: Notify::new(),
        }
    }
}
