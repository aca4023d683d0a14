//! What the server is started with, and what it said when it did not start.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::cluster::Cluster;
use super::{PORT, error};

/// The server's command line; a later `-c` wins over an earlier one, so `settings` come last.
pub(super) fn arguments(cluster: &Cluster, socket_dir: &Path, settings: &[(&str, &str)]) -> Vec<String> {
    let socket_dir = socket_dir.to_string_lossy();
    let defaults = [
        ("listen_addresses", ""),
        ("unix_socket_directories", &*socket_dir),
        ("unix_socket_permissions", "0700"),
        ("port", PORT),
        ("max_connections", "100"),
        ("shared_buffers", "128MB"),
        // A hold that was answered "ok" must survive a power cut.
        ("synchronous_commit", "on"),
        ("timezone", "UTC"),
        ("log_timezone", "UTC"),
        ("logging_collector", "off"),
        ("log_destination", "stderr"),
    ];
    let mut arguments = vec!["-D".to_owned(), cluster.dir().to_string_lossy().into_owned()];
    for (name, value) in defaults.iter().chain(settings) {
        arguments.extend(["-c".to_owned(), format!("{name}={value}")]);
    }
    arguments
}

/// What the server wrote since `start`, cut to its last lines.
pub(super) fn tail(log: &Path, start: u64) -> String {
    let mut text = Vec::new();
    let read = File::open(log).and_then(|mut log| {
        log.seek(SeekFrom::Start(start))?;
        log.read_to_end(&mut text)
    });
    match read {
        Ok(_) => error::last_lines(&String::from_utf8_lossy(&text)),
        Err(source) => format!("(cannot read {}: {source})", log.display()),
    }
}
