//! `matinee rush` at its command line.

use std::process::{Command, Output};

/// Runs it to its end.
pub fn rush(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_matinee"))
        .arg("rush")
        .args(arguments)
        .env_remove("DATABASE_URL")
        .env("RUST_LOG", "error")
        .output()
        .unwrap()
}

/// All that it said.
pub fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
