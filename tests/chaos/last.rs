//! The last visitor of the day: leaves the card processor's page undecided, and the server that took the payment is gone for
//! good. The other one, which had nothing to do with it and has nothing else to do, must bring it to an end.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use reqwest::StatusCode;
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;

use crate::client::Client;
use crate::history::Told;
use crate::plan::SERVERS;
use crate::site::Site;

/// Must be confirmed on the card processor's page.
const CONFIRMED_CARD: &str = "4000000000003220";
/// Longer than an idle server looks the other way.
const IDLE: Duration = Duration::from_secs(12);

pub async fn comes(site: &Arc<Site>, idle_since: Instant) {
    // Until nobody has a reason to look at payments any more.
    sleep_until(idle_since + IDLE).await;
    let mut dice = StdRng::seed_from_u64(0);
    let mut client = Client::at_only(site, SERVERS - 1);
    let attempt = Uuid::new_v4();
    let order = client.order(attempt);
    let held = client.hold(&mut dice, site.last_show, attempt, &[1, 2]).await.unwrap();
    assert_eq!(held.status, StatusCode::OK, "{held:?}");
    site.history.add(Told::Held { order });
    let form = [("order", order), ("attempt", Uuid::new_v4())].map(|(name, id)| (name, id.to_string()));
    let form: Vec<_> = form.into_iter().chain([("card", CONFIRMED_CARD.to_owned())]).collect();
    let asked = client.post(&mut dice, "/api/pay", &form).await.unwrap();
    assert!(asked.location.as_deref().is_some_and(|page| page.contains("/pay/pay_")), "{asked:?}");
    site.servers[SERVERS - 1].is_killed_for_good().await;
    site.counts.server_kills.fetch_add(1, Relaxed);
}
