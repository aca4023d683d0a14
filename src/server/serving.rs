//! Serving: from the first connection to the last, with all that runs beside the requests.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgPool;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::config::Options;
use super::opening::{Open, demo_cinema, office};
use super::run::Failure;
use super::{Site, connections, incidents, router};
use crate::box_office::{self, demo};
use crate::store::cinemas;

/// How long requests that are under way may take after the signal to stop.
const GRACE: Duration = Duration::from_secs(40);

/// Every watched map keeps a connection open; this is more than a server accepts of them.
const MOST_CONNECTIONS: u64 = 65_536;

/// Serves until a signal says to stop.
pub async fn serve(
    listener: TcpListener,
    database: PgPool,
    options: &Options,
    url: &str,
    private: bool,
) -> Result<(), Failure> {
    if private {
        top_up(&database, options, url).await?;
    }
    // Not more than the system allows, so a failure leaves what there was.
    match rlimit::increase_nofile_limit(MOST_CONNECTIONS) {
        Ok(most) => tracing::debug!(most, "open files"),
        Err(error) => tracing::warn!(%error, "the limit of open files stays as it is"),
    }
    let address = listener.local_addr()?;
    let Open { office, processor, cookie_key } = office(&database, options, url, Some(address)).await?;
    let closing = CancellationToken::new();
    let site = Site {
        leptos: options.leptos(),
        cookie_key,
        secure_cookie: options.secure_cookie,
        shares: options.shares(),
        closing: closing.clone(),
    };
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
    incidents::warn_of_open(&database).await?;
    println!("Matinee is open: http://{address}");
    tracing::info!(%address, "serving");
    // The signal is awaited twice: once to stop taking requests, once to bound what those under way may take.
    let stop = async move {
        stop_signal().await;
        // The live maps end first: no request of a person is cut off by that.
        closing.cancel();
    };
    tokio::select! {
        () = connections::serve(listener, app, stop) => {}
        () = async { stop_signal().await; tokio::time::sleep(GRACE).await } => tracing::warn!("requests were cut off after {GRACE:?}"),
        // Beside the requests, as long as there are any.
        () = box_office::recover::keep_recovering(&office) => {}
        () = office.snapshots.keep_watching() => {}
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
    office.snapshots.close().await;
    tracing::info!("closed");
    Ok(())
}

/// A private database is the demo cinema's: filled at the first start, and given the days that its week lacks at later
/// ones. A cinema of another name is left alone.
async fn top_up(database: &PgPool, options: &Options, url: &str) -> Result<(), Failure> {
    if cinemas::get(database).await?.is_none_or(|(cinema, _)| cinema.name == demo::CINEMA) {
        let seeded = demo_cinema(database, options, url).await?;
        tracing::info!(shows = seeded.shows, seats = seeded.seats, sold = seeded.sold, "demo cinema");
    }
    Ok(())
}

/// Ctrl-C, or the TERM signal of a service manager.
pub async fn stop_signal() {
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
