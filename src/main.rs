//! The program: reads the command line, runs the command, and ends with one clear line if it cannot.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use matinee::rush;
use matinee::server::commands::Command;
use matinee::server::config::{Cli, Options};
use matinee::server::{run, telemetry};
use mimalloc::MiMalloc;

/// A page of 1,200 seats is tens of thousands of small allocations: measured, 1.2 to 1.6 times as many pages a second.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// What can be asked of the program.
#[derive(Debug, Clone, Subcommand)]
enum Asked {
    #[command(flatten)]
    Cinema(Command),
    /// Let a crowd loose, away from any cinema, and measure: compares ways to keep a seat from being sold twice.
    Rush(rush::Flags),
}

async fn answer(asked: Option<Asked>, options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    match asked {
        None => run(Command::default(), options).await?,
        Some(Asked::Cinema(command)) => run(command, options).await?,
        Some(Asked::Rush(flags)) => rush::run(&flags, options.database_url()).await?,
    }
    Ok(())
}

fn main() -> ExitCode {
    let cli = Cli::<Asked>::parse();
    if let Err(error) = telemetry::init(cli.options.log_format) {
        eprintln!("matinee: {error}");
        return ExitCode::FAILURE;
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("matinee: {error}");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(answer(cli.command, &cli.options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("matinee: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::<Asked>::command().debug_assert();
    }
}
