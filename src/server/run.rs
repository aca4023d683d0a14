//! How the program starts, what each command does, and how it ends.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgPool;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::config::{Cli, Command, Options};
use super::embedded::{EmbeddedError, Postgres};
use super::opening::{Open, office};
use super::{Site, router};
use crate::box_office::{self, demo};
use crate::store::{StoreError, cinemas, pool};

/// How long requests that are under way may take after the signal to stop.
const GRACE: Duration = Duration::from_secs(40);

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
pub async fn run(cli: Cli) -> Result<(), Failure> {
    let command = cli.command.unwrap_or_default();
    // Before anything is started: a taken port is the likeliest mistake, and should be told at once.
    let listener = match command {
        Command::Serve | Command::Gateway => Some(listen(cli.options.listen).await?),
        _ => None,
    };
    let (postgres, url) = database(command, &cli.options).await?;
    let work = with_database(command, listener, &cli.options, &url, postgres.is_some());
    let result = match &postgres {
        None => work.await,
        Some(postgres) => tokio::select! {
            result = work => result,
            () = postgres.ended() => Err(Failure::PostgresEnded(cli.options.data_dir.join("postgres.log"))),
        },
    };
    if let Some(postgres) = postgres {
        postgres.stop().await?;
    }
    result
}

/// The database to use; a private one is started unless one is given, or unless a running matinee has it and this command
/// only looks or adds.
async fn database(command: Command, options: &Options) -> Result<(Option<Postgres>, String), Failure> {
    if let Some(url) = options.database_url() {
        return Ok((None, url.to_owned()));
    }
    if matches!(command, Command::Prove | Command::Reconcile) && !options.data_dir.join("postgres").exists() {
        return Err(Failure::NothingThere(options.data_dir.clone()));
    }
    match Postgres::start(&options.data_dir, &[]).await {
        Ok(postgres) => {
            let url = postgres.url();
            Ok((Some(postgres), url))
        }
        Err(in_use @ EmbeddedError::InUse { .. }) if command != Command::Serve => {
            Postgres::url_of_running(&options.data_dir).map(|url| (None, url)).ok_or(Failure::Embedded(in_use))
        }
        Err(error) => Err(error.into()),
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|cause| Failure::Listen { address, cause })
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
        (Command::Seed, _) => seed(&database).await,
        (Command::Prove, _) => prove(&database, options, url).await,
        (Command::Reconcile, _) => reconcile(&database, options, url).await,
    };
    database.close().await;
    result
}

async fn seed(database: &PgPool) -> Result<(), Failure> {
    let seeded = box_office::seed(database).await?;
    println!("Demo cinema: {} new shows with {} seats, {} of them sold.", seeded.shows, seeded.seats, seeded.sold);
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

async fn serve(
    listener: TcpListener,
    database: PgPool,
    options: &Options,
    url: &str,
    private: bool,
) -> Result<(), Failure> {
    if private {
        top_up(&database).await?;
    }
    let address = listener.local_addr()?;
    let Open { office, processor, cookie_key } = office(&database, options, url, Some(address)).await?;
    let site = Site { leptos: options.leptos(), cookie_key, secure_cookie: options.secure_cookie };
    let app = router(Arc::clone(&office), &site, &processor);
    let mailer = options.mailer(address).map_err(Failure::Mail)?;
    let assets = options.site().join("pkg");
    if !assets.is_dir() {
        tracing::warn!(
            "there are no assets in {}: pages will have no styles and no live map. Run `make site`, or name the folder with --site.",
            assets.display()
        );
    }
    if address.ip().is_unspecified() && !options.has_site_url() {
        tracing::warn!(
            "links in mails, and the way back from the card processor's page, begin with {}: name the address that visitors use with --site-url.",
            options.site_url(address)
        );
    }
    println!("Matinee is open: http://{address}");
    tracing::info!(%address, "serving");
    // The signal is awaited twice: once to stop taking requests, once to bound what those under way may take.
    let server = axum::serve(listener, app).with_graceful_shutdown(stop_signal());
    tokio::select! {
        served = std::future::IntoFuture::into_future(server) => served?,
        () = async { stop_signal().await; tokio::time::sleep(GRACE).await } => tracing::warn!("requests were cut off after {GRACE:?}"),
        // Beside the requests, as long as there are any.
        () = box_office::recover::keep_recovering(&office) => {}
        () = async {
            match processor.own {
                Some(settings) => crate::gateway::deliver(settings).await,
                None => std::future::pending().await,
            }
        } => {}
        () = async {
            match &mailer {
                Some(mailer) => box_office::mails::keep_delivering(&office, mailer).await,
                None => std::future::pending().await,
            }
        } => {}
    }
    tracing::info!("closed");
    Ok(())
}

/// A private database is the demo cinema's: filled at the first start, and given the days that its week lacks at later
/// ones. A cinema of another name is left alone.
async fn top_up(database: &PgPool) -> Result<(), Failure> {
    if cinemas::get(database).await?.is_none_or(|(cinema, _)| cinema.name == demo::CINEMA) {
        let seeded = box_office::seed(database).await?;
        tracing::info!(shows = seeded.shows, seats = seeded.seats, "demo cinema");
    }
    Ok(())
}

/// Ctrl-C, or the TERM signal of a service manager.
async fn stop_signal() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let terminate = async {
        match signal(SignalKind::terminate()) {
            Ok(mut signals) => {
                signals.recv().await;
            }
            Err(_) => std::future::pending::<()>().await,
        }
    };
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}
