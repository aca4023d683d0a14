//! Every step broken, at every point where it waits: the saga speaks to its database and to its gateway, and to nobody
//! else, so each exchange of a story is stopped in turn, before and after its effect. What breaks there is one of
//! [`Fault`]; whoever comes next brings the order to its end.

mod ends;
mod process;
mod scene;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use matinee::box_office::{self, BoxOffice};
use matinee::domain::Error;
use matinee::domain::saga::Phase;
use tokio::task::JoinHandle;

use self::ends::Next;
use self::process::Process;
use self::scene::{Scene, Story};
use crate::support::wires::{Exchange, Side, Wires};
use crate::support::{Cinema, all_at_once};

/// What breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The connection is lost; the server goes on.
    Error,
    /// The server is killed, all of it, while it waits there.
    Killed,
    /// The server is killed, and what it had sent arrives when others have finished the order.
    KilledAndLate,
    /// What was sent, or its answer, comes when others have finished the order; the server waits until then.
    Timeout,
    /// The gateway says nothing, the server loses its patience and asks; what it had sent arrives afterwards.
    Silence,
    /// The visitor closes the page while the server waits there.
    HungUp,
}

const FAULTS: [(Fault, Side); 11] = [
    (Fault::Error, Side::Before),
    (Fault::Error, Side::After),
    (Fault::Killed, Side::Before),
    (Fault::Killed, Side::After),
    // What has arrived cannot come late.
    (Fault::KilledAndLate, Side::Before),
    (Fault::Timeout, Side::Before),
    (Fault::Timeout, Side::After),
    (Fault::Silence, Side::Before),
    (Fault::Silence, Side::After),
    (Fault::HungUp, Side::Before),
    (Fault::HungUp, Side::After),
];

/// Short enough to be awaited.
const SHORT: Duration = Duration::from_millis(60);

/// Where stories are told.
struct Stage {
    cinema: Arc<Cinema>,
    /// Servers that nothing breaks.
    others: [Arc<BoxOffice>; 2],
}

/// A story that is broken, and what it waits for.
struct Broken {
    /// Which, for people.
    told: String,
    scene: Scene,
    wires: Arc<Wires>,
    process: Process,
    fault: Fault,
    /// What still waits for what was stopped.
    waits: Option<JoinHandle<Result<(), Error>>>,
}

impl Stage {
    /// Tells the story and breaks it there, or not at all.
    async fn breaks(&self, story: Story, at: Exchange, side: Side, fault: Fault) -> Broken {
        let scene = Scene::prepare(&self.cinema, story).await;
        let told = format!("{story:?}, order {}: {fault:?} {side:?} {at:?}", scene.order);
        let wires = Arc::new(self.cinema.wires().await);
        let patience = (fault == Fault::Silence).then_some(SHORT);
        let mut process = Process::start(&wires, patience).await;
        wires.stop_at(at, side);
        scene.script(&wires);
        let mut act = process.does(|office| scene.clone().act(office));
        tokio::select! {
            biased;
            () = wires.stopped() => {}
            done = &mut act => {
                assert!(matches!(at, Exchange::Never), "it never came to that: {told}");
                assert_eq!(done.unwrap(), Ok(()), "{told}");
                return Broken { told, scene, wires, process, fault, waits: None };
            }
        }
        let mut waits = None;
        match fault {
            Fault::Error => {
                wires.cut();
                is_no_fault_of_ours(&act.await.unwrap(), &told);
            }
            Fault::Killed => {
                process.kill();
                wires.cut();
            }
            Fault::KilledAndLate => process.kill(),
            Fault::Silence => is_no_fault_of_ours(&act.await.unwrap(), &told),
            Fault::HungUp => {
                act.abort();
                wires.go_on();
            }
            Fault::Timeout => waits = Some(act),
        }
        if waits.is_none() {
            process.is_idle().await;
        }
        Broken { told, scene, wires, process, fault, waits }
    }

    async fn proves(&self) {
        assert_eq!(box_office::prove(&self.others[0]).await, Ok(vec![]));
    }
}

impl Broken {
    /// Brings it to its end; how it ended.
    async fn ends([one, other]: [Arc<BoxOffice>; 2], mut broken: Self, next: Next) -> (Option<Phase>, Self) {
        let told = format!("{}, then {next:?}", broken.told);
        println!("{told}");
        let waits = broken.waits.take();
        let Self { scene, wires, .. } = &broken;
        scene.finish(&one, next).await;
        if let Some(act) = waits {
            wires.go_on();
            is_no_fault_of_ours(&act.await.unwrap(), &told);
            broken.process.is_idle().await;
            scene.finish(&other, next).await;
        }
        if matches!(broken.fault, Fault::KilledAndLate | Fault::Silence) && wires.was_stopped() {
            wires.go_on();
            wires.arrived().await;
            scene.finish(&other, next).await;
        }
        let ended = scene.ended().await;
        scene.goes_on(&other).await;
        (ended, broken)
    }
}

/// Something broke around the server: it may say so, but must not take it for a mistake of its own.
fn is_no_fault_of_ours(answer: &Result<(), Error>, told: &str) {
    assert!(!matches!(answer, Err(Error::Internal { .. })), "{answer:?}: {told}");
}

/// Breaks the story at each of its points, in every way. `exchanges` is how often it speaks to others at least.
async fn break_everywhere(story: Story, exchanges: usize) {
    let cinema = Arc::new(Cinema::open().await);
    let others = [cinema.another_office(), cinema.another_office()];
    let stage = Stage { cinema: Arc::clone(&cinema), others };
    let unbroken = stage.breaks(story, Exchange::Never, Side::Before, Fault::Error).await;
    let seen = unbroken.wires.seen();
    let (ended, _) = Broken::ends(stage.others.clone(), unbroken, Next::Look).await;
    assert_eq!(ended.as_ref(), story.ends().first());
    assert!(seen.len() >= exchanges, "{story:?} has only {}: {seen:?}", seen.len());

    let (mut points, mut tally) = (0, BTreeMap::new());
    for (nth, words) in seen.iter().enumerate() {
        let mut all = Vec::new();
        for (fault, side) in FAULTS {
            // A database answers or is gone.
            if fault != Fault::Silence || words.starts_with("POST ") {
                all.push(stage.breaks(story, Exchange::Nth(nth + 1), side, fault).await);
            }
        }
        // Whatever lies about: no promise is broken meanwhile, nor when all of it has ended.
        stage.proves().await;
        let all: Vec<_> = all.into_iter().enumerate().collect();
        let ended =
            all_at_once(all.into_iter().map(|(way, broken)| {
                Broken::ends(stage.others.clone(), broken, Next::ALL[(nth + way) % Next::ALL.len()])
            }));
        for (ended, _) in ended.await {
            *tally.entry(ended.map_or("no order", Phase::as_str)).or_insert(0) += 1;
            points += 1;
        }
        stage.proves().await;
    }
    println!("{story:?}: {} exchanges, broken {points} times, ended {tally:?}", seen.len());
    cinema.proves().await;
}

macro_rules! stories {
    ($($name:ident: $story:ident, $at_least:literal;)+) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            break_everywhere(Story::$story, $at_least).await;
        })+
    };
}

stories! {
    hold: Hold, 3;
    release: Release, 5;
    good_card: GoodCard, 6;
    lost_answer: LostAnswer, 7;
    declined_then_good_card: DeclinedThenGood, 10;
    confirmed_card: Confirmed, 13;
    late_and_free: LateAndFree, 6;
    late_and_taken: LateAndTaken, 11;
    refund_fails_twice: RefundFailsTwice, 9;
    resumed_capture: ResumedCapture, 12;
    resumed_silence: ResumedSilence, 12;
    reconciled_late: ReconciledLate, 16;
    told_in_time: ToldInTime, 3;
    told_late: ToldLate, 8;
}
