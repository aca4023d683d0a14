//! Where the rush keeps what it needs: a private Postgres in a temporary folder, or an empty database that it was given.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::str::FromStr;
use std::time::Instant;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};
use tempfile::TempDir;

use super::command::Failure;
use crate::server::embedded::Postgres;

/// Commits that are timed to say how quick the disk is.
const COMMITS: usize = 51;

/// A database that nobody else uses.
#[derive(Debug)]
pub(super) struct Place {
    /// Where it is.
    pub(super) url: String,
    // Dropped in this order: first the server stops, then its folder goes.
    postgres: Option<Postgres>,
    _folder: Option<TempDir>,
}

impl Place {
    /// Starts a private Postgres, which waits for the disk as a cinema's does, or looks whether the given database is empty.
    pub(super) async fn open(url: Option<&str>) -> Result<Self, Failure> {
        if let Some(url) = url {
            let mut connection = PgConnectOptions::from_str(url)?.connect().await?;
            let empty = is_empty(&mut connection).await?;
            connection.close().await?;
            return if empty {
                Ok(Self { url: url.to_owned(), postgres: None, _folder: None })
            } else {
                Err(Failure::NotEmpty)
            };
        }
        let folder = tempfile::Builder::new()
            .prefix("matinee-rush-")
            // The server may run as another account, who must be able to enter.
            .permissions(Permissions::from_mode(0o755))
            .tempdir()?;
        let postgres = Postgres::start(folder.path(), &[]).await?;
        Ok(Self { url: postgres.url(), postgres: Some(postgres), _folder: Some(folder) })
    }

    /// Ends what was started.
    pub(super) async fn close(self) -> Result<(), Failure> {
        if let Some(postgres) = self.postgres {
            postgres.stop().await?;
        }
        Ok(())
    }

    /// Leaves a database that was given as empty as it was. What is private goes with its folder.
    pub(super) async fn clear(&self) -> Result<(), Failure> {
        if self.postgres.is_none() {
            let mut connection = PgConnectOptions::from_str(&self.url)?.connect().await?;
            sqlx::raw_sql(
                "drop schema if exists gateway cascade; drop schema if exists public cascade; create schema public",
            )
            .execute(&mut connection)
            .await?;
            connection.close().await?;
        }
        Ok(())
    }

    /// What the figures depend on, in a sentence.
    pub(super) async fn machine(&self) -> Result<String, Failure> {
        let mut connection = PgConnectOptions::from_str(&self.url)?.connect().await?;
        let (version, fsync, commit): (String, String, String) = sqlx::query_as(
            "-- machine
             select current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit')",
        )
        .fetch_one(&mut connection)
        .await?;
        let commit_ms = commit_ms(&mut connection).await?;
        connection.close().await?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split(' ').next().filter(|load| !load.is_empty()).unwrap_or("unknown");
        let version = version.split(' ').next().unwrap_or_default();
        Ok(format!(
            "{cores} cores, shared by the crowd and Postgres {version} (fsync {fsync}, synchronous_commit {commit}; one \
             committed row takes {commit_ms:.2} ms); load {load} before the start."
        ))
    }
}

/// Nothing that could be somebody's: no table outside of Postgres' own, and no schema of our name.
async fn is_empty(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar(
        "-- is_empty
         select not exists (
             select from pg_class c join pg_namespace n on n.oid = c.relnamespace
             where c.relkind in ('r', 'p') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
         ) and not exists (select from pg_namespace where nspname = 'laboratory')",
    )
    .fetch_one(connection)
    .await
}

/// The median of some commits of one row each, in milliseconds.
async fn commit_ms(connection: &mut PgConnection) -> Result<f64, sqlx::Error> {
    sqlx::raw_sql("create schema laboratory; create table laboratory.commits (nth integer)")
        .execute(&mut *connection)
        .await?;
    let mut times = Vec::with_capacity(COMMITS);
    for _ in 0..COMMITS {
        let start = Instant::now();
        sqlx::query("insert into laboratory.commits values (1)").execute(&mut *connection).await?;
        times.push(start.elapsed());
    }
    sqlx::raw_sql("drop schema laboratory cascade").execute(connection).await?;
    times.sort_unstable();
    Ok(times[COMMITS / 2].as_secs_f64() * 1000.0)
}
