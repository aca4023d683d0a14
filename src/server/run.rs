//! How the program starts, what each command does, and how it ends.

use std::net::SocketAddr;

use sqlx::postgres::PgPool;
use tokio::net::{TcpListener, TcpSocket};

use super::commands::Command;
use super::config::Options;
use super::embedded::{EmbeddedError, Postgres};
use super::incidents;
use super::opening::{Open, demo_cinema, office};
use super::openings;
use super::serving::{serve, stop_signal};
use crate::box_office;
use crate::domain::ids::{IncidentId, ShowId};
use crate::store::{StoreError, pool};

/// Connections that may wait to be accepted; the system may allow fewer. With the 128 that libraries ask for, a crowd that comes
/// at once finds the queue full, and whose first packet is dropped tries again after a second.
const CONNECTIONS_THAT_WAIT: u32 = 4_096;

/// Why the program ends with an error: one clear line.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The private Postgres.
    #[error("{0}")]
    Embedded(#[from] EmbeddedError),
    /// The database.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The database cannot be reached.
    #[error("the database cannot be reached: {0}. Check DATABASE_URL, or unset it to use a private Postgres.")]
    Unreachable(StoreError),
    /// The address.
    #[error("cannot listen on {address}: {cause}. Stop the other program, or choose another address with --listen.")]
    Listen {
        /// Asked for.
        address: SocketAddr,
        /// The system's words.
        cause: std::io::Error,
    },
    /// The private Postgres went away.
    #[error("the private Postgres has ended; {} says why. Start matinee again.", .0.display())]
    PostgresEnded(std::path::PathBuf),
    /// Nothing to prove.
    #[error("there is no cinema in the data folder {}", .0.display())]
    NothingThere(std::path::PathBuf),
    /// An empty database that is not ours to fill.
    #[error("this database has no cinema yet: run `matinee seed` to load the demo cinema.")]
    NoCinema,
    /// Promises were broken.
    #[error("{}", breaches_words(*.0))]
    Breaches(usize),
    /// Nothing to settle.
    #[error("there is no incident {0}: `matinee incidents --all` lists them all.")]
    NoIncident(IncidentId),
    /// No such show.
    #[error("there is no show {0}: its id is the last part of its address.")]
    NoShow(ShowId),
    /// No time.
    #[error("{0:?} is not a time on the cinema's clock: write it as 2026-12-24 19:00.")]
    NoTime(String),
    /// The gateway is silent.
    #[error("the card processor did not answer {0} times: run this again when it does.")]
    Unanswered(usize),
    /// The database went away, or a fault of ours.
    #[error("{0}")]
    Stopped(crate::domain::Error),
    /// The card processor.
    #[error("the card processor cannot be used like this: {0}")]
    Gateway(String),
    /// The flags about mails.
    #[error("mails cannot be sent like this: {0}. Check --mail and --mail-from.")]
    Mail(String),
    /// Anything of the system.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

fn breaches_words(breaches: usize) -> String {
    format!("{breaches} {} found", if breaches == 1 { "breach" } else { "breaches" })
}

/// Does what the command line says and returns when it is done.
///
/// # Errors
/// One clear line; the program then ends with an error.
pub async fn run(command: Command, options: &Options) -> Result<(), Failure> {
    // Before anything is started: a taken port is the likeliest mistake, and should be told at once.
    let listener = match &command {
        Command::Serve | Command::Gateway => Some(listen(options.listen)?),
        _ => None,
    };
    let (postgres, url) = database(&command, options).await?;
    let work = with_database(command, listener, options, &url, postgres.is_some());
    let result = match &postgres {
        None => work.await,
        Some(postgres) => tokio::select! {
            result = work => result,
            () = postgres.ended() => Err(Failure::PostgresEnded(options.data_dir.join("postgres.log"))),
        },
    };
    if let Some(postgres) = postgres {
        postgres.stop().await?;
    }
    result
}

/// The database to use; a private one is started unless one is given, or unless a running matinee has it and this command
/// only looks or adds.
async fn database(command: &Command, options: &Options) -> Result<(Option<Postgres>, String), Failure> {
    if let Some(url) = options.database_url() {
        return Ok((None, url.to_owned()));
    }
    let only_looks = matches!(command, Command::Prove | Command::Reconcile | Command::Incidents(_));
    if only_looks && !options.data_dir.join("postgres").exists() {
        return Err(Failure::NothingThere(options.data_dir.clone()));
    }
    match Postgres::start(&options.data_dir, &[]).await {
        Ok(postgres) => {
            let url = postgres.url();
            Ok((Some(postgres), url))
        }
        Err(in_use @ EmbeddedError::InUse { .. }) if *command != Command::Serve => {
            Postgres::url_of_running(&options.data_dir).map(|url| (None, url)).ok_or(Failure::Embedded(in_use))
        }
        Err(error) => Err(error.into()),
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    let listen = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // As `TcpListener::bind` does: a server that is started again need not wait for connections of the last one.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(CONNECTIONS_THAT_WAIT)
    };
    listen().map_err(|cause| Failure::Listen { address, cause })
}

async fn with_database(
    command: Command,
    listener: Option<TcpListener>,
    options: &Options,
    url: &str,
    private: bool,
) -> Result<(), Failure> {
    pool::migrate(url).await.map_err(|error| match error {
        StoreError::Schema(_) => Failure::Store(error),
        error if error.is_unavailable() => Failure::Unreachable(error),
        StoreError::Database(sqlx::Error::Database(_)) => Failure::Store(error),
        error => Failure::Unreachable(error),
    })?;
    let database = pool::connect(url)?;
    let result = match (command, listener) {
        (Command::Serve, Some(listener)) => serve(listener, database.clone(), options, url, private).await,
        (Command::Gateway, Some(listener)) => gateway_alone(listener, options, url).await,
        (Command::Serve | Command::Gateway | Command::Migrate, _) => {
            println!("The database is up to date.");
            Ok(())
        }
        (Command::Seed, _) => seed(&database, options, url).await,
        (Command::Prove, _) => prove(&database, options, url).await,
        (Command::Reconcile, _) => reconcile(&database, options, url).await,
        (Command::Incidents(asked), _) => incidents::run(&database, &asked).await,
        (Command::Opening(asked), _) => openings::run(&database, &asked).await,
    };
    database.close().await;
    result
}

async fn seed(database: &PgPool, options: &Options, url: &str) -> Result<(), Failure> {
    let seeded = demo_cinema(database, options, url).await?;
    println!("Demo cinema: {} new shows with {} seats, {} of them sold.", seeded.shows, seeded.seats, seeded.sold);
    if seeded.shows > 0 && options.gateway().map_err(Failure::Gateway)?.is_some() {
        println!(
            "None is sold: that would need charges in the books of the card processor, and those are not ours to write."
        );
    }
    Ok(())
}

async fn prove(database: &PgPool, options: &Options, url: &str) -> Result<(), Failure> {
    let Open { office, .. } = office(database, options, url, None).await?;
    let breaches = box_office::prove(&office).await.map_err(Failure::Stopped)?;
    for breach in &breaches {
        println!("BREACH {}: {}", breach.question, breach.row);
    }
    match breaches.len() {
        0 => {
            println!("All {} promises checked: no breach.", box_office::questions());
            Ok(())
        }
        breaches => Err(Failure::Breaches(breaches)),
    }
}

async fn reconcile(database: &PgPool, options: &Options, url: &str) -> Result<(), Failure> {
    let Open { office, .. } = office(database, options, url, None).await?;
    let done = box_office::reconcile(&office).await.map_err(Failure::Stopped)?;
    println!("{} payments settled, {} refunds made.", done.settled, done.refunded);
    match done.unanswered {
        0 => Ok(()),
        unanswered => Err(Failure::Unanswered(unanswered)),
    }
}

/// Runs the simulated card processor alone, as another company would.
async fn gateway_alone(listener: TcpListener, options: &Options, url: &str) -> Result<(), Failure> {
    let address = listener.local_addr()?;
    let settings = options.gateway_settings(url, address).map_err(Failure::Gateway)?;
    println!("The card processor is open: http://{address}");
    let service = crate::gateway::router(settings.clone());
    tokio::select! {
        served = std::future::IntoFuture::into_future(axum::serve(listener, service).with_graceful_shutdown(stop_signal())) => served?,
        () = crate::gateway::deliver(settings) => {}
    }
    Ok(())
}
