//! Fair shares: how much one visitor and one address may ask for, and how much the server takes on at all. Whoever is over is
//! told so at once, with the time after which it is worth trying again; nobody waits without an end.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use ipnet::{IpNet, Ipv6Net};
use server_fn::ServerFn;
use tokio::sync::Semaphore;
use tower_sessions::Session;
use tower_sessions::session::Id;

use super::seats::refused;
use crate::api::Pay;
use crate::domain::Error;

/// How many seconds' worth may come at once: a person who comes back to a page with ten pictures is no flood.
const BURST_S: u32 = 5;
/// How many times as much an address may read as command: a page brings its assets, its map and its stream.
const READS: u32 = 10;
/// Requests that are at work or wait for a connection to the database, of all addresses together. At three thousand a second
/// that is a second's work: whoever came behind it would wait longer than people do.
pub const MOST_AT_ONCE: usize = 4_096;
/// Commands a second from one address that is not yet asked to wait behind others; five times as many at once. A person who picks
/// and goes back has less.
const SELDOM: u32 = 2;
/// Commands of those who ask more often that are at work at the same time: enough for what their shares allow, and so few that
/// whoever asks seldom waits for a few of them at most, and not for the whole storm.
const LANE: usize = 8;
/// Longer than a storm of a thousand takes to pass; whoever has waited so long is told to come again.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// How often what is known of addresses and visitors who have gone is forgotten.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

static FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// How much a second, as the operator says.
#[derive(Clone, Debug)]
pub struct Shares {
    /// Commands (holds, releases, payments, places) of one visitor; `None`: any number.
    pub by_visitor: Option<NonZeroU32>,
    /// Commands from one address; ten times as many reads.
    pub by_address: Option<NonZeroU32>,
    /// Whose word for another address is believed.
    pub trusted: Vec<IpNet>,
}

/// Who has had how much, on this server.
#[derive(Debug)]
pub struct Limits {
    visitors: Option<DefaultKeyedRateLimiter<Id>>,
    commands: Option<DefaultKeyedRateLimiter<IpNet>>,
    reads: Option<DefaultKeyedRateLimiter<IpNet>>,
    seldom: Option<DefaultKeyedRateLimiter<IpNet>>,
    lane: Semaphore,
    trusted: Vec<IpNet>,
    swept: Mutex<Instant>,
}

impl Limits {
    /// Nobody has had anything.
    pub fn new(shares: &Shares) -> Arc<Self> {
        let quota = |a_second: NonZeroU32| {
            Quota::per_second(a_second)
                .allow_burst(a_second.saturating_mul(NonZeroU32::MIN.saturating_add(BURST_S - 1)))
        };
        let of_address = shares.by_address;
        Arc::new(Self {
            visitors: shares.by_visitor.map(|share| RateLimiter::keyed(quota(share))),
            commands: of_address.map(|share| RateLimiter::keyed(quota(share))),
            reads: of_address.map(|share| {
                RateLimiter::keyed(quota(share.saturating_mul(NonZeroU32::MIN.saturating_add(READS - 1))))
            }),
            seldom: of_address.and(NonZeroU32::new(SELDOM)).map(|share| RateLimiter::keyed(quota(share))),
            lane: Semaphore::new(LANE),
            trusted: shares.trusted.clone(),
            swept: Mutex::new(Instant::now()),
        })
    }

    /// From where a request comes, as one share: an address, or the network that one house has of IPv6. `None` for this very
    /// machine: a proxy here that nobody named speaks for everybody, and nobody is to pay for the others.
    fn origin(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<IpNet> {
        let mut address = peer?.to_canonical();
        // From the last proxy backwards, as far as each was put there by one that is trusted; what stands before may be made up.
        let claims = headers.get_all(&FORWARDED_FOR).into_iter().filter_map(|claim| claim.to_str().ok());
        let claims: Vec<&str> = claims.flat_map(|claim| claim.split(',')).map(str::trim).collect();
        for claim in claims.into_iter().rev() {
            if !self.trusted.iter().any(|proxy| proxy.contains(&address)) {
                break;
            }
            let Some(claimed) = address_of(claim) else { break };
            address = claimed.to_canonical();
        }
        match address {
            address if address.is_loopback() => None,
            IpAddr::V4(_) => Some(address.into()),
            IpAddr::V6(address) => Ipv6Net::new(address, 64).ok().map(|network| network.trunc().into()),
        }
    }

    /// Whether an address has sent more commands of late than a person does.
    fn asks_often(&self, origin: IpNet) -> bool {
        self.seldom.as_ref().is_some_and(|seldom| seldom.check_key(&origin).is_err())
    }

    /// Forgets whoever has all of a share again. Nobody has to do this: whoever comes first after a while does.
    fn sweep(&self) {
        {
            let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
            if swept.elapsed() < SWEEP_EVERY {
                return;
            }
            *swept = Instant::now();
        }
        if let Some(visitors) = &self.visitors {
            visitors.retain_recent();
        }
        for addresses in self.commands.iter().chain(&self.reads).chain(&self.seldom) {
            addresses.retain_recent();
        }
    }
}

/// An address as proxies write it: with or without a port, IPv6 with or without brackets.
fn address_of(claim: &str) -> Option<IpAddr> {
    let bare = claim.trim_start_matches('[').trim_end_matches(']');
    bare.parse().ok().or_else(|| claim.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

fn is_command(request: &Request) -> bool {
    request.method() == Method::POST && request.uri().path().starts_with("/api/")
}

/// Takes one of a share; over it: the answer.
fn over<K: Clone + Eq + std::hash::Hash>(share: &DefaultKeyedRateLimiter<K>, key: &K) -> Option<Response> {
    let not_yet = share.check_key(key).err()?;
    let seconds = not_yet.wait_time_from(DefaultClock::default().now()).as_secs() + 1;
    Some(([(header::RETRY_AFTER, seconds.to_string())], refused(&Error::TooManyRequests)).into_response())
}

/// For everything: what one address may ask for. Outside of all that costs something. Within their share, those who ask often
/// wait in a lane of their own, so that a storm of them does not stand before whoever asks seldom.
pub async fn by_address(State(limits): State<Arc<Limits>>, request: Request, next: Next) -> Response {
    let share = if is_command(&request) { &limits.commands } else { &limits.reads };
    if let Some(share) = share {
        limits.sweep();
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
        if let Some(origin) = limits.origin(peer, request.headers()) {
            if let Some(refusal) = over(share, &origin) {
                return refusal;
            }
            if takes_turns(&request) && limits.asks_often(origin) {
                let Ok(Ok(_turn)) = tokio::time::timeout(LONGEST_WAIT, limits.lane.acquire()).await else {
                    return overloaded();
                };
                return next.run(request).await;
            }
        }
    }
    next.run(request).await
}

/// Commands that the database answers. A payment waits for the card processor, and would keep others waiting for that.
fn takes_turns(request: &Request) -> bool {
    is_command(request) && request.uri().path() != Pay::PATH
}

/// For commands, inside of the session: what one visitor may ask for. A stranger has no share yet, only an address.
pub async fn by_visitor(State(limits): State<Arc<Limits>>, request: Request, next: Next) -> Response {
    if let Some(share) = limits.visitors.as_ref().filter(|_| is_command(&request)) {
        limits.sweep();
        let visitor = request.extensions().get::<Session>().and_then(Session::id);
        if let Some(visitor) = visitor
            && let Some(refusal) = over(share, &visitor)
        {
            return refusal;
        }
    }
    next.run(request).await
}

/// What is said when the server has taken on all it can.
pub fn overloaded() -> Response {
    tracing::debug!("overloaded: a request was refused");
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "2")], refused(&Error::Unavailable)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(trusted: &[&str]) -> Arc<Limits> {
        let trusted = trusted.iter().map(|proxy| proxy.parse().unwrap()).collect();
        Limits::new(&Shares { by_visitor: None, by_address: None, trusted })
    }

    fn origin(limits: &Limits, peer: &str, claims: &[&str]) -> Option<String> {
        let headers = claims.iter().map(|claim| (FORWARDED_FOR.clone(), claim.parse().unwrap())).collect();
        limits.origin(Some(peer.parse().unwrap()), &headers).map(|origin| origin.to_string())
    }

    #[test]
    fn only_a_named_proxy_is_believed_and_only_about_whom_it_has_seen() {
        let nobody = limits(&[]);
        assert_eq!(origin(&nobody, "203.0.113.9", &["198.51.100.1"]).as_deref(), Some("203.0.113.9/32"));
        let house = limits(&["10.0.0.0/8", "127.0.0.1/32"]);
        assert_eq!(origin(&house, "203.0.113.9", &["198.51.100.1"]).as_deref(), Some("203.0.113.9/32"));
        assert_eq!(origin(&house, "10.1.2.3", &["198.51.100.1"]).as_deref(), Some("198.51.100.1/32"));
        // What the visitor wrote stands before what the proxy added.
        assert_eq!(origin(&house, "10.1.2.3", &["192.0.2.66, 198.51.100.1"]).as_deref(), Some("198.51.100.1/32"));
        assert_eq!(origin(&house, "10.1.2.3", &["192.0.2.66", "198.51.100.1"]).as_deref(), Some("198.51.100.1/32"));
        // Two proxies in a row.
        assert_eq!(origin(&house, "127.0.0.1", &["198.51.100.1, 10.9.9.9"]).as_deref(), Some("198.51.100.1/32"));
        for nonsense in ["", "unknown", "1.2.3", "::::", "198.51.100.1:x"] {
            assert_eq!(origin(&house, "10.1.2.3", &[nonsense]).as_deref(), Some("10.1.2.3/32"), "{nonsense}");
        }
        for written in ["198.51.100.1:4711", "198.51.100.1", "::ffff:198.51.100.1"] {
            assert_eq!(origin(&house, "10.1.2.3", &[written]).as_deref(), Some("198.51.100.1/32"), "{written}");
        }
    }

    #[test]
    fn a_house_is_one_share_and_this_machine_is_none() {
        let nobody = limits(&[]);
        assert_eq!(origin(&nobody, "2001:db8:1:2:3:4:5:6", &[]).as_deref(), Some("2001:db8:1:2::/64"));
        assert_eq!(origin(&nobody, "2001:db8:1:2:ffff::1", &[]).as_deref(), Some("2001:db8:1:2::/64"));
        assert_eq!(origin(&nobody, "127.0.0.1", &["198.51.100.1"]), None);
        assert_eq!(origin(&nobody, "::1", &[]), None);
        assert_eq!(nobody.origin(None, &HeaderMap::new()), None);
        let house = limits(&["127.0.0.1/32"]);
        assert_eq!(origin(&house, "127.0.0.1", &["[2001:db8:1:2::9]:443"]).as_deref(), Some("2001:db8:1:2::/64"));
    }
}
