//! Each guard of the statements taken out once, to see that somebody notices. A trial runs one statement, as it is or
//! with a guard less, where that guard is needed, in a cinema of its own, and returns what the suite's checks find. As it
//! is, nothing is found.

mod checkout;
mod holds;
mod locks;

use matinee::domain::ids::ShowId;
use matinee::store::plans::Plans;
use matinee::store::{StoreError, proof};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Row};
use uuid::Uuid;

use crate::support::Cinema;

const HOLD: &str = include_str!("../../../src/store/sql/hold_seats.sql");
const RELEASE: &str = include_str!("../../../src/store/sql/release_hold.sql");
const START: &str = include_str!("../../../src/store/sql/start_payment.sql");
const CONFIRM: &str = include_str!("../../../src/store/sql/confirm.sql");

/// The statement with each of these texts replaced; each must be there exactly once, or the mutant would be none.
fn mutant(statement: &str, guards: &[(&str, &str)]) -> String {
    guards.iter().fold(statement.to_owned(), |text, (guard, instead)| {
        assert_eq!(text.matches(guard).count(), 1, "the statement has this guard once: {guard}");
        text.replace(guard, instead)
    })
}

/// What went wrong in a trial; nothing as long as the guards are in.
type Findings = Vec<String>;

fn finds(findings: &Findings, what: &str) {
    assert!(findings.iter().any(|finding| finding.contains(what)), "the mutant lives: {what} not in {findings:?}");
}

async fn breaches(cinema: &Cinema) -> Findings {
    let found = proof::breaches(&cinema.db, &Plans::default()).await.unwrap();
    found.into_iter().map(|breach| format!("{}: {}", breach.question, breach.row)).collect()
}

fn failure(error: sqlx::Error) -> String {
    let error = StoreError::from(error);
    format!("{}: {error}", error.sqlstate().unwrap_or("no SQLSTATE"))
}

/// Runs a hold's statement: whether it held.
async fn hold(
    connection: &mut PgConnection,
    statement: &str,
    show: ShowId,
    seats: &[i16],
    visitor: Uuid,
) -> Result<bool, String> {
    let row = sqlx::query(AssertSqlSafe(statement))
        .bind(show.0)
        .bind(seats)
        .bind(visitor)
        .bind(Uuid::new_v4())
        .bind(10_i64)
        .bind(None::<i64>)
        .fetch_one(connection)
        .await
        .map_err(failure)?;
    Ok(row.get("held!"))
}
