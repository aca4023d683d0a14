//! The gateway's books: all its SQL, on a pool of its own, in the schema `gateway` alone. Its clock is the database's.
//!
//! Transactions lock in one order, an idempotency key before its charge. They are short: no transaction, no lock and no
//! connection is kept while the simulated bank thinks or the merchant is called. The router runs each request in a task of
//! its own, so that a client who hangs up can not drop one in its middle.

mod charges;
mod events;
mod past;
mod refunds;
mod rows;
mod statements;

use sqlx::postgres::PgPool;

pub(super) use charges::{Claim, Decision};
pub(super) use events::Due;
pub(super) use refunds::Refunding;

/// What goes wrong here is a fault of the books, never of the one who asks.
pub(super) type BooksResult<T> = Result<T, sqlx::Error>;

/// The books.
#[derive(Clone, Debug)]
pub(super) struct Books {
    pool: PgPool,
}

impl Books {
    /// The books in this database.
    pub const fn new(pool: PgPool) -> Self {
        Self { pool }
    }
}

/// A name that nobody can guess.
fn a_name(kind: &str) -> String {
    format!("{kind}_{}", uuid::Uuid::new_v4().simple())
}
