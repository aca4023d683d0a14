//! Breaks what the plan says, when it says so.

use std::sync::atomic::Ordering::Relaxed;

use futures::future::join_all;
use tokio::time::{Instant, sleep_until};

use crate::plan::{Fault, Plan};
use crate::site::Site;

/// Faults of different kinds run into each other; the same thing is broken once at a time. Returns when all is mended.
pub async fn happen(site: &Site, plan: &Plan) {
    let start = Instant::now();
    join_all(plan.faults.iter().map(async |(at, fault)| {
        sleep_until(start + *at).await;
        happens(site, *fault).await;
    }))
    .await;
}

async fn happens(site: &Site, fault: Fault) {
    let counts = &site.counts;
    let counter = match fault {
        Fault::KillServer(..) => &counts.server_kills,
        Fault::KillGateway(_) => &counts.gateway_kills,
        Fault::CrashPostgres => &counts.postgres_crashes,
        Fault::CutDatabase | Fault::CutGateway | Fault::CutVisitors(_) => &counts.cuts,
        Fault::SilenceGateway(_) => &counts.silences,
    };
    match fault {
        Fault::KillServer(server, dead_for) => site.servers[server].is_killed(dead_for).await,
        Fault::KillGateway(dead_for) => site.gateway.is_killed(dead_for).await,
        Fault::CrashPostgres => site.cinema.crash_postgres().await,
        Fault::CutDatabase => site.to_postgres.cut(),
        Fault::CutGateway => site.gateway.door.cut(),
        Fault::CutVisitors(server) => site.servers[server].door.cut(),
        Fault::SilenceGateway(time) => site.gateway.door.is_silent_for(time).await,
    }
    counter.fetch_add(1, Relaxed);
}
