//! All SQL, one file an aggregate. A function is one statement, begins with its name as an SQL comment (it shows in
//! `pg_stat_activity`), and takes the pool; row structs are private and become domain types through checks that refuse
//! impossible mixtures.
//!
//! Writes are called by `box_office` alone. They are single statements: dropping the future of one (axum does that when a
//! client hangs up) can not leave a transaction open on a pooled connection. The few that need a transaction go through
//! [`transaction::run`].

pub mod cinemas;
pub mod error;
pub mod events;
pub mod holds;
pub mod incidents;
pub mod mails;
pub mod maps;
pub mod orders;
pub mod outbox;
pub mod payments;
pub mod plans;
pub mod pool;
pub mod programme;
pub mod proof;
pub mod queues;
pub mod refunds;
pub mod setup;
pub mod snapshots;
pub mod tickets;
pub mod transaction;
pub mod visitors;

pub use error::{StoreError, StoreResult};
