//! What is meant to fail is caught by the same crowds and the same checker that find nothing in the others.

use std::sync::Arc;
use std::time::{Duration, Instant};

use matinee::rush::laboratory::checker::{Fault, Terms, faults};
use matinee::rush::laboratory::crowd::{Contention, Order};
use matinee::rush::laboratory::record::{Entry, Span, Told};
use matinee::rush::laboratory::strategies::redis_lock;
use matinee::rush::laboratory::{Name, Strategy, Trial};

use crate::place::{Place, contention, run, seeds};
use crate::support::until;

/// Seeds until one of these faults must have been found.
const ROUNDS: u64 = 12;
/// Shorter than the work that the lock is for.
pub const AT_ONCE: Duration = Duration::from_millis(1);

/// Whether one of the kinds was found; says where.
fn is_found(what: &str, seed: u64, kinds: &[&str], trial: &Trial) -> bool {
    let found = trial.faults.iter().find(|fault| kinds.contains(&fault.kind()));
    if let Some(fault) = found {
        println!("{what} is caught with LABORATORY_SEED={seed}: {fault} ({} faults)", trial.faults.len());
    }
    found.is_some()
}

/// One tiny show after the other, and this many of a thousand pay: what a show is left with is seen at the end.
async fn is_caught(name: Name, paid: u32, kinds: &[&str]) {
    let place = Place::open(false).await.unwrap();
    let tight = Contention { name: "test", shows: 200, seats: 8, attempts_a_show: Some(100), paid, left: 10, party: 4 };
    for seed in seeds(1..ROUNDS) {
        let bench = place.bench(1, tight).await;
        let strategy = name.open(&bench).await.unwrap();
        let trial = run(bench, strategy, seed).await;
        if is_found(&name.text(), seed, kinds, &trial) {
            return;
        }
    }
    panic!("{} lives: the checker found no {kinds:?}", name.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn naive_sells_twice() {
    is_caught(Name::Naive, 300, &["sold twice"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn naive_holds_what_another_holds() {
    is_caught(Name::Naive, 50, &["held twice"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn process_mutexes_of_two_servers_do_not_know_of_each_other() {
    is_caught(Name::ProcessMutexOnTwoServers, 200, &["sold twice", "held twice"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn look_alike_count_holds_in_part() {
    is_caught(Name::LookAlikeCount, 50, &["held in part"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn look_alike_ctid_holds_in_part() {
    is_caught(Name::LookAlikeCtid, 50, &["held in part"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_lock_without_its_fence_sells_what_is_another_s() {
    let Some(place) = Place::open(true).await else { return };
    for seed in seeds(1..ROUNDS) {
        let bench = place.bench(1, contention(seed)).await;
        let strategy = redis_lock::open(&bench, AT_ONCE, false).await.unwrap();
        let trial = run(bench, Arc::new(strategy), seed).await;
        if is_found("a lock without a fence", seed, &["sold twice", "held twice"], &trial) {
            return;
        }
    }
    panic!("a lock without a fence lives");
}

/// An interleaving by hand: a seat is held and given back by another while the statement waits for it.
async fn faults_beside_a_release(name: Name) -> Vec<&'static str> {
    let place = Place::open(false).await.unwrap();
    let small = Contention { name: "test", shows: 1, seats: 4, attempts_a_show: None, paid: 0, left: 0, party: 4 };
    let bench = place.bench(600, small).await;
    let strategy: Arc<dyn Strategy> = name.open(&bench).await.unwrap();
    let mut other = bench.pool.begin().await.unwrap();
    for change in [
        "update seats set status = 'locked', locked_at = clock_timestamp(), order_id = gen_random_uuid() where seat_no = 2",
        "update seats set status = 'available', locked_at = null, order_id = null where seat_no = 2",
    ] {
        sqlx::query(change).execute(&mut *other).await.unwrap();
    }
    let start = Instant::now();
    let order = Order::new(1, 1, &[1, 2, 3]);
    let waits = tokio::spawn({
        let (strategy, order) = (Arc::clone(&strategy), order.clone());
        async move { strategy.hold(&order).await.unwrap().won }
    });
    until("the hold waits for the seat", || async {
        let waiting: i64 = sqlx::query_scalar(
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        )
        .fetch_one(&bench.pool)
        .await
        .unwrap();
        waiting == 1
    })
    .await;
    other.commit().await.unwrap();
    let told = if waits.await.unwrap() { Told::Yes } else { Told::No };
    let span = Span { called: Duration::ZERO, answered: start.elapsed() };
    let books = strategy.books().await.unwrap();
    let looked = Span { called: span.answered, answered: start.elapsed() };
    drop(strategy);
    bench.close().await.unwrap();
    let terms = Terms { window: Duration::from_secs(600), unnumbered: None };
    let found = faults(terms, &[Entry { order, span, told, next: None }], &books, looked);
    println!("{}: told {told:?}, {found:?}", name.text());
    found.iter().map(Fault::kind).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn look_alike_ctid_misses_what_moved_while_it_waited() {
    assert_eq!(faults_beside_a_release(Name::LookAlikeCtid).await, ["held in part"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_product_s_form_finds_what_moved_while_it_waited() {
    assert_eq!(faults_beside_a_release(Name::Conditional).await, [""; 0]);
}
