//! Waits until nothing is under way any more: no payment, no refund, no message, no mail.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::plan::Plan;
use crate::site::Site;
use crate::time;

/// Leases of a minute may follow each other. What takes longer is stuck; sooner in the short run, whose minutes are short.
const LONGEST: Duration = Duration::from_secs(240);
const LONGEST_IN_SHORT: Duration = Duration::from_secs(100);
/// How often a minute passes in the short run.
const MINUTE: Duration = Duration::from_secs(3);
/// How often is said what is still open.
const WORD: Duration = Duration::from_secs(30);

/// What is open, in words.
const OPEN: &str = "
    select format('payment %s of order %s since %s, asked %s', id, order_id, started_at, asked_at) from payments
    where state = 'started'
    union all select format('refund of payment %s since %s, asked %s', payment_id, owed_since, asked_at) from refunds
    where refunded_at is null
    union all select format('order %s is %s since %s', id, state, state_at) from orders
    where state in ('paying', 'refund_owed')
    union all select format('mail %s of order %s, claimed %s', kind, order_id, claimed_at) from mails
    where sent_at is null and refused is null
    union all select format('event %s of order %s is not read', e.event, e.order_id) from order_events e
    left join consumers c on c.name = 'mails' where (e.xid, e.order_id, e.event) > (c.xid, c.order_id, c.event)
    union all select format('webhook %s about %s, next at %s', type, about, next_try_at) from gateway.events
    where deliveries_left > 0";

/// How long it took; panics with what is left when it takes too long.
pub async fn comes(site: &Site, plan: &Plan) -> Duration {
    let start = Instant::now();
    let longest = if plan.is_short { LONGEST_IN_SHORT } else { LONGEST };
    let mut next_minute = start + MINUTE;
    let mut next_word = start + WORD;
    loop {
        let open = open(site).await;
        if open.is_empty() && site.shuffler.is_empty() {
            return start.elapsed();
        }
        if Instant::now() > next_word {
            println!("open for {:.0?}: {open:#?}", start.elapsed());
            next_word += WORD;
        }
        assert!(start.elapsed() < longest, "seed {}: still open: {open:#?}", plan.seed);
        if plan.is_short && Instant::now() > next_minute {
            // Should it find a lock in its way, there is a next time.
            let _ = time::a_minute_passes(&site.cinema.db).await;
            next_minute = Instant::now() + MINUTE;
        }
        sleep(Duration::from_millis(200)).await;
    }
}

async fn open(site: &Site) -> Vec<String> {
    sqlx::query_scalar(OPEN).fetch_all(&site.cinema.db).await.unwrap()
}
