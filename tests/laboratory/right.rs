//! Every strategy that is meant to be right, alone and under seeded crowds.

use matinee::rush::laboratory::Name;
use matinee::rush::laboratory::strategies::redis_lock;

use crate::place::{Place, run, seeds};
use crate::story;

/// The story, then the crowds: no fault, and not for want of anything that could have gone wrong.
async fn keeps_its_promises(name: Name) {
    let Some(place) = Place::open(name.needs_redis()).await else { return };
    story::holds_all_or_none(&place, name).await;
    story::lapses(&place, name).await;
    for seed in seeds(1..3) {
        let trial = place.trial(name, seed).await;
        println!("LABORATORY_SEED={seed}: {}", told(&trial));
        assert!(trial.faults.is_empty(), "LABORATORY_SEED={seed}: {:#?}", trial.faults);
        assert!(trial.won > 0 && trial.lost > 0 && trial.sold > 0, "LABORATORY_SEED={seed}: {}", told(&trial));
        let error = trial.first_error.clone().unwrap_or_default();
        assert!(error.is_empty() || error.starts_with("gave up after"), "LABORATORY_SEED={seed}: {error}");
    }
}

fn told(trial: &matinee::rush::laboratory::Trial) -> String {
    format!(
        "{} attempts: {} won, {} lost, {} failed; {} seats sold, {} retries, {} deadlocks",
        trial.attempts, trial.won, trial.lost, trial.failed, trial.sold, trial.retries, trial.deadlocks
    )
}

macro_rules! right {
    ($($test:ident: $name:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                keeps_its_promises(Name::$name).await;
            }
        )+

        #[test]
        fn none_is_left_out() {
            let tested = [$(Name::$name),+];
            assert!(Name::ALL.iter().all(|name| tested.contains(name) == name.is_right()), "{tested:?}");
        }
    };
}

right! {
    conditional: Conditional,
    pessimistic: Pessimistic,
    optimistic: Optimistic,
    unique: Unique,
    serializable: Serializable,
    advisory: Advisory,
    queue: Queue,
    process_mutex_on_one_server: ProcessMutex,
    counter: Counter,
    document: Document,
    redis_lock_with_time_enough: RedisLock,
    redis_cas: RedisCas,
}

/// The lock is another's long before the work is done: what remains is the fence.
#[tokio::test(flavor = "multi_thread")]
async fn redis_lock_that_expires_at_once_is_right_by_its_fence() {
    let Some(place) = Place::open(true).await else { return };
    for seed in seeds(1..3) {
        let bench = place.bench(1, crate::place::contention(seed)).await;
        let strategy = redis_lock::open(&bench, crate::caught::AT_ONCE, true).await.unwrap();
        let trial = run(bench, std::sync::Arc::new(strategy), seed).await;
        println!("LABORATORY_SEED={seed}: {}", told(&trial));
        assert!(trial.faults.is_empty(), "LABORATORY_SEED={seed}: {:#?}", trial.faults);
        assert!(trial.won > 0 && trial.sold > 0);
    }
}
