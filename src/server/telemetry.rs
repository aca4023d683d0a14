//! The log: where it goes, how it looks and how much it says.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use super::config::LogFormat;

/// Everything that matters to a technician; sqlx would add a line for every statement.
const DEFAULT_FILTER: &str = "info,sqlx=warn";

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// `RUST_LOG` cannot be read as a filter.
    #[error("RUST_LOG is not a log filter (such as `info` or `matinee=debug`): {0}")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// Something has set up the log before.
    #[error("the log is set up already")]
    Again,
}

/// Starts the log on standard error, as loud as `RUST_LOG` says.
pub fn init(format: LogFormat) -> Result<(), TelemetryError> {
    let filter = std::env::var("RUST_LOG").ok().filter(|filter| !filter.trim().is_empty());
    let filter = EnvFilter::try_new(filter.as_deref().unwrap_or(DEFAULT_FILTER))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => {
            let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            log.with_ansi(colour).try_init()
        }
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
    started.map_err(|_already| TelemetryError::Again)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_filter_is_valid() {
        assert!(EnvFilter::try_new(DEFAULT_FILTER).is_ok());
    }
}
