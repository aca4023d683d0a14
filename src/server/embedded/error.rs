//! What can go wrong with the private Postgres, each cause in one line that says what to do.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

/// Why the private Postgres is not there. Printed as it is, so each text speaks to the cinema's technician.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "a field is what the message beside it says about it")]
pub enum EmbeddedError {
    /// No server programs are installed, or not where `MATINEE_PG_BIN` says.
    #[error(
        "no Postgres server was found{}: install Debian's `postgresql`, set MATINEE_PG_BIN to the folder that holds \
         `initdb`, or set DATABASE_URL", .looked_in.as_ref().map(|dir| format!(" in {}", dir.display())).unwrap_or_default()
    )]
    NotFound {
        /// Set when `MATINEE_PG_BIN` named the only folder to look in.
        looked_in: Option<PathBuf>,
    },
    /// The cluster needs a Postgres version that is not installed.
    #[error(
        "the data in {} was made by Postgres {made_by}, but only Postgres {found} is installed: install Postgres \
         {made_by}, or move the data with pg_upgrade", .cluster.display()
    )]
    OtherMajorVersion { cluster: PathBuf, made_by: u32, found: String },
    /// A live matinee holds the lock of this data folder.
    #[error("another matinee{} is using the data folder {}: stop it first, or give this one its own --data-dir",
        .pid.map(|pid| format!(" (process {pid})")).unwrap_or_default(), .data_dir.display())]
    InUse { data_dir: PathBuf, pid: Option<u32> },
    /// The data folder cannot be made, or nothing can be written in it.
    #[error("cannot write to the data folder {}: {source}", .data_dir.display())]
    NotWritable { data_dir: PathBuf, source: io::Error },
    /// Run as root, with the data folder below one that only root may enter.
    #[error(
        "Postgres must not run as root, and the user it runs as instead ({user}) may not enter {}: choose a --data-dir \
         outside of it, such as /var/lib/matinee, or start matinee as an ordinary user", .folder.display()
    )]
    OutOfReach { folder: PathBuf, user: String },
    /// Somebody else made the folder that the socket belongs in.
    #[error("the socket folder {} belongs to somebody else: remove it, or set TMPDIR to a folder of your own", .dir.display())]
    ForeignSocketDir { dir: PathBuf },
    /// `initdb` failed.
    #[error("making the database cluster failed: {log}")]
    InitDb { log: String },
    /// The server gave up while starting.
    #[error("Postgres ended while starting ({status}); its log says: {log}")]
    Exited { status: ExitStatus, log: String },
    /// The server runs but does not answer in time.
    #[error("Postgres did not start within {} s; its log says: {log}", .limit.as_secs())]
    Slow { limit: Duration, log: String },
    /// An orphaned server is neither usable nor gone.
    #[error("the Postgres that an earlier matinee left behind (process {pid}) neither answered nor ended within {} s: end it by hand", .limit.as_secs())]
    Stuck { pid: u32, limit: Duration },
    /// The server is still there after it was told to stop.
    #[error("Postgres did not stop: {log}")]
    Stop { log: String },
    /// The server runs, but a connection or making the database failed.
    #[error("the embedded Postgres refused a connection: {0}")]
    Connect(#[source] sqlx::Error),
    /// A server program is there but cannot be run.
    #[error("cannot run {}: {source}", .program.display())]
    Program { program: PathBuf, source: io::Error },
    /// Any other file or folder that could not be used.
    #[error("{}: {source}", .path.display())]
    File { path: PathBuf, source: io::Error },
    /// The template of a copy has a server running on it.
    #[error("{} is in use: a cluster can be copied only while its server is stopped", .cluster.display())]
    CopyOfRunning { cluster: PathBuf },
}

impl EmbeddedError {
    pub(super) fn file(path: &Path, source: io::Error) -> Self {
        EmbeddedError::File { path: path.to_path_buf(), source }
    }

    pub(super) fn program(program: &Path, source: io::Error) -> Self {
        EmbeddedError::Program { program: program.to_path_buf(), source }
    }
}

/// The last lines of a log on one line, because an error is one line.
pub(super) fn last_lines(log: &str) -> String {
    const LINES: usize = 4;
    let lines: Vec<&str> = log.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { "(nothing)".to_owned() } else { lines[lines.len().saturating_sub(LINES)..].join(" | ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_becomes_one_line_of_its_end() {
        assert_eq!(last_lines("a\nb\n\nc\nd\ne\n"), "b | c | d | e");
        assert_eq!(last_lines(" \n"), "(nothing)");
    }

    #[test]
    fn a_missing_server_says_what_to_do() {
        let said = EmbeddedError::NotFound { looked_in: Some("/opt/none".into()) }.to_string();
        assert!(said.starts_with("no Postgres server was found in /opt/none: install Debian's `postgresql`"), "{said}");
    }
}
