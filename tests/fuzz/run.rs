//! Sends inputs by the thousand and looks at each answer, and at the whole database after each batch.

use std::panic::{set_hook, take_hook};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

use axum::body::{Bytes, to_bytes};
use axum::http::{HeaderMap, StatusCode, header};
use serde_json::Value;
use tower::ServiceExt;

use crate::dice::{CANARY, Dice};
use crate::input::Input;
use crate::world::World;

/// How many inputs a normal run sends, and where.
pub const COMMANDS: u64 = 35_000;
pub const MESSAGES: u64 = 30_000;
pub const HONEST_MONEY: u64 = 3_000;
pub const GATEWAY: u64 = 20_000;
pub const PAGES: u64 = 15_000;
const NORMALLY: u64 = COMMANDS + MESSAGES + HONEST_MONEY + GATEWAY + PAGES;
const _: () = assert!(NORMALLY >= 100_000);

/// As many requests are under way at once.
const AT_ONCE: u64 = 8;
/// So many inputs, then the database is looked at.
const BATCH: u64 = 3_000;
/// No input here leads to anything that takes long; only a failing test ever waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many there shall be instead of so many in a normal run.
pub fn count(normally: u64) -> u64 {
    let all = from_environment("MATINEE_FUZZ").unwrap_or(NORMALLY);
    (all * normally).div_ceil(NORMALLY)
}

pub fn seed() -> u64 {
    from_environment("MATINEE_FUZZ_SEED").unwrap_or(20_261_201)
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

static PANICS: AtomicUsize = AtomicUsize::new(0);
/// Something was found: what the others find after it is of no use.
static FAILED: AtomicBool = AtomicBool::new(false);

/// Counts panics wherever they happen: some become an answer, some are caught with a task.
fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            // All but our own, which are failures of the test.
            if !FAILED.load(Ordering::SeqCst) {
                PANICS.fetch_add(1, Ordering::SeqCst);
            }
            before(panic);
        }));
    });
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    fn is(&self, kind: &str) -> bool {
        self.headers
            .get(header::CONTENT_TYPE)
            .is_some_and(|known| known.to_str().is_ok_and(|known| known.starts_with(kind)))
    }

    /// Its error as JSON, with a code and with words; `None` when it is none.
    pub fn error(&self) -> Option<(String, String)> {
        let body: Value = serde_json::from_slice(&self.body).ok()?;
        let text = |name| body.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        Some((text("error")?, text("message")?))
    }
}

/// Sends an input; `None` when no HTTP library would have let it through.
pub async fn send(world: &World, input: &Input) -> Option<Answer> {
    let answer = world.site.clone().oneshot(input.request()?).await.unwrap();
    let (parts, body) = answer.into_parts();
    Some(Answer { status: parts.status, headers: parts.headers, body: to_bytes(body, usize::MAX).await.unwrap() })
}

/// What is wrong with any answer to any input.
fn fault(answer: &Answer) -> Option<String> {
    if answer.status.as_u16() >= 500 {
        return Some("a fault of ours".to_owned());
    }
    if answer.headers.contains_key(header::SET_COOKIE) {
        return Some("a session, and nothing to keep".to_owned());
    }
    let compressed = answer.headers.contains_key(header::CONTENT_ENCODING);
    if !compressed && answer.is("application/json") && serde_json::from_slice::<Value>(&answer.body).is_err() {
        // A HEAD has no body to be anything.
        return (!answer.body.is_empty()).then(|| "it says JSON and is none".to_owned());
    }
    let body = String::from_utf8_lossy(&answer.body);
    (answer.is("text/html") && body.contains(CANARY)).then(|| "it mirrors what was sent, unescaped".to_owned())
}

/// A door: what is sent there, and what its answers must be besides.
pub struct Door {
    pub name: &'static str,
    pub inputs: u64,
    pub make: fn(&World, &mut Dice) -> Input,
    /// What is wrong with this answer.
    pub wrong: fn(&Input, &Answer) -> Option<String>,
    /// A table that may grow; whoever says so looks at its new rows.
    pub grows: Option<&'static str>,
}

/// What came of it, for who asks whether the inputs reached anything.
#[derive(Debug, Default)]
pub struct Tally {
    pub sent: AtomicU64,
    pub accepted: AtomicU64,
    pub refused: AtomicU64,
    /// Not to be expressed in HTTP.
    pub impossible: AtomicU64,
}

/// Sends a door's inputs. Each sent input, in no order, is also told to `sees`.
pub async fn run(
    world: &Arc<World>,
    door: &Arc<Door>,
    sees: impl Fn(&Input, &Answer) + Send + Sync + 'static,
) -> Tally {
    count_panics();
    let (seed, inputs, start) = (seed(), count(door.inputs), Instant::now());
    let (tally, sees) = (Arc::new(Tally::default()), Arc::new(sees));
    let mut before = world.everything().await;
    for first in (0..inputs).step_by(BATCH as usize) {
        let accepted = Arc::new(Mutex::new(Vec::new()));
        let end = inputs.min(first + BATCH);
        let workers = (first..end.min(first + AT_ONCE)).map(|mine| {
            let (world, door, tally) = (Arc::clone(world), Arc::clone(door), Arc::clone(&tally));
            let (accepted, sees) = (Arc::clone(&accepted), Arc::clone(&sees));
            async move {
                for nth in (mine..end).step_by(AT_ONCE as usize).take_while(|_| !FAILED.load(Ordering::SeqCst)) {
                    let input = (door.make)(&world, &mut Dice::new(seed, door.name, nth));
                    let which = || format!("MATINEE_FUZZ_SEED={seed}, {} {nth}", door.name);
                    let answer = tokio::time::timeout(PATIENCE, send(&world, &input)).await;
                    let answer = answer.unwrap_or_else(|_| panic!("{}: no answer to\n{input}", which()));
                    let Some(answer) = answer else {
                        tally.impossible.fetch_add(1, Ordering::Relaxed);
                        continue;
                    };
                    let wrong = fault(&answer).or_else(|| (door.wrong)(&input, &answer));
                    if let Some(wrong) = wrong.filter(|_| !FAILED.swap(true, Ordering::SeqCst)) {
                        let (status, body) = (answer.status, answer.body.escape_ascii());
                        panic!("{}: {wrong}\n{input}\n\nanswer: {status} {:?}\n{body}", which(), answer.headers);
                    }
                    tally.sent.fetch_add(1, Ordering::Relaxed);
                    let counter = if answer.status.as_u16() < 400 { &tally.accepted } else { &tally.refused };
                    counter.fetch_add(1, Ordering::Relaxed);
                    sees(&input, &answer);
                    if answer.status.as_u16() < 400 {
                        accepted
                            .lock()
                            .unwrap()
                            .push(format!("{nth}: {}", input.to_string().chars().take(400).collect::<String>()));
                    }
                }
            }
        });
        crate::support::all_at_once(workers).await;
        // Of a panic that became an answer, the input was told above; this is for those that were caught with a task.
        assert_eq!(PANICS.load(Ordering::SeqCst), 0, "MATINEE_FUZZ_SEED={seed}, {} {first}..{end}: panics", door.name);
        let after = world.everything().await;
        let changed =
            before.iter().zip(&after).filter(|(before, after)| before != after && Some(&*before.0) != door.grows);
        let changed: Vec<_> = changed.collect();
        assert!(
            changed.is_empty(),
            "MATINEE_FUZZ_SEED={seed}, {} {first}..{end} changed {changed:#?}; accepted were\n{}",
            door.name,
            accepted.lock().unwrap().join("\n\n")
        );
        before = after;
    }
    println!("{}: {tally:?}, seed {seed}, {:.1} s", door.name, start.elapsed().as_secs_f64());
    Arc::into_inner(tally).unwrap()
}
