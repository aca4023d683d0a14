//! What can go wrong between Matinee and its database.

use sqlx::postgres::PgDatabaseError;

/// A failure of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database refused, or could not be reached.
    #[error("database: {0}")]
    Database(#[from] sqlx::Error),
    /// The schema could not be brought up to date.
    #[error("{0}")]
    Schema(String),
    /// A row that cannot be: written by something else than Matinee.
    #[error("{table}.{column} of {row} holds what cannot be: {what}")]
    Corrupt {
        /// Table.
        table: &'static str,
        /// Column.
        column: &'static str,
        /// The row's key.
        row: String,
        /// What is wrong with it.
        what: String,
    },
    /// A statement touched another number of rows than it must.
    #[error("{statement}: touched {touched} rows instead of {expected}")]
    Rows {
        /// Name of the statement.
        statement: &'static str,
        /// Rows touched.
        touched: u64,
        /// Rows that must be touched.
        expected: u64,
    },
}

/// The result of a statement.
pub type StoreResult<T> = Result<T, StoreError>;

impl StoreError {
    /// Shorthand for a broken row.
    pub fn corrupt(table: &'static str, column: &'static str, row: impl ToString, what: impl ToString) -> Self {
        Self::Corrupt { table, column, row: row.to_string(), what: what.to_string() }
    }

    /// Whether the database refused because of this named constraint.
    pub fn on_constraint(&self, name: &str) -> bool {
        matches!(self, Self::Database(sqlx::Error::Database(cause)) if cause.constraint() == Some(name))
    }

    /// SQLSTATE of a refusal.
    pub fn sqlstate(&self) -> Option<&str> {
        match self {
            Self::Database(sqlx::Error::Database(cause)) => {
                cause.try_downcast_ref::<PgDatabaseError>().map(PgDatabaseError::code)
            }
            _ => None,
        }
    }

    /// The connection was already dead (the database was restarted, a proxy cut it): a single statement that is sent
    /// again finds what it did before, if it did anything, because every command can be sent twice.
    pub fn is_dead_connection(&self) -> bool {
        match self {
            Self::Database(sqlx::Error::Io(_)) => true,
            // 57P01..57P03: the server shuts down, crashed, or is starting.
            _ => matches!(self.sqlstate(), Some("57P01" | "57P02" | "57P03")),
        }
    }

    /// The database is not there or does not answer in time, as opposed to a fault of ours.
    pub fn is_unavailable(&self) -> bool {
        match self {
            Self::Database(sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed) => true,
            // 55P03 lock_timeout, 57014 statement_timeout, 53300 too many connections.
            _ => self.is_dead_connection() || matches!(self.sqlstate(), Some("55P03" | "57014" | "53300")),
        }
    }
}
