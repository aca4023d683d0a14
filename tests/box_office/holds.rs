//! Holding: all or none, by whoever comes first.

use std::collections::BTreeSet;

use matinee::domain::Error;
use matinee::domain::ids::ShowId;
use matinee::domain::order::Standing;
use matinee::store::orders;
use uuid::Uuid;

use crate::support::{Cinema, GOOD_CARD, Visitor, all_at_once, an_attempt, numbers, taken};

/// H1.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_hundred_visitors_who_want_the_same_seat_one_gets_it() {
    const VISITORS: usize = 100;
    const ROUNDS: i16 = 50;
    let cinema = Cinema::open().await;
    let show = cinema.show_of(50).await;
    // Several servers, so that more of them meet inside the database than one server has connections.
    let offices: Vec<_> = (0..3).map(|_| cinema.another_office()).collect();
    for seat in 1..=ROUNDS {
        let outcomes = all_at_once((0..VISITORS).map(|nth| {
            let visitor = Visitor::at(&offices[nth % offices.len()]);
            async move { visitor.hold(show, &[seat]).await }
        }))
        .await;
        let conflicts = outcomes.iter().filter(|outcome| **outcome == Err(taken(&[seat], &[]))).count();
        let winners: Vec<_> = outcomes.into_iter().filter_map(Result::ok).collect();
        assert_eq!((winners.len(), conflicts), (1, VISITORS - 1), "seat {seat}");
    }
    let held: i64 = sqlx::query_scalar("select count(*) from orders").fetch_one(&cinema.db).await.unwrap();
    assert_eq!((held, cinema.free(show).await.len()), (ROUNDS.into(), 0));
    cinema.proves().await;
}

/// The state of a crowd after everything: whoever was told "held" holds exactly that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overlapping_wishes_of_a_crowd_end_whole() {
    const SEATS: i16 = 40;
    let cinema = Cinema::open().await;
    let show = cinema.show_of(SEATS.unsigned_abs().into()).await;
    let offices: Vec<_> = (0..2).map(|_| cinema.another_office()).collect();
    let outcomes = all_at_once((0..400_i16).map(|nth| {
        let visitor = Visitor::at(&offices[usize::from(nth.unsigned_abs()) % 2]);
        let wanted: Vec<i16> = (0..4).map(|step| (nth * 7 + step * (nth % 5 + 1)) % SEATS + 1).collect();
        async move { (visitor.hold(show, &wanted).await, wanted) }
    }))
    .await;
    let mut held = BTreeSet::new();
    for (outcome, wanted) in outcomes {
        match outcome {
            Ok(order) => {
                let order = cinema.order(order).await;
                let wanted: BTreeSet<i16> = wanted.into_iter().collect();
                assert_eq!(order.seats.seats(), numbers(&wanted.iter().copied().collect::<Vec<_>>()));
                assert!(held.is_disjoint(&wanted), "a seat was promised twice");
                held.extend(wanted);
            }
            Err(Error::SeatTaken { seats, .. }) => assert!(!seats.is_empty()),
            Err(other) => panic!("unexpected: {other}"),
        }
    }
    let free: BTreeSet<i16> = cinema.free(show).await.into_iter().collect();
    assert!(!held.is_empty() && held.is_disjoint(&free));
    assert_eq!(held.len() + free.len(), usize::from(SEATS.unsigned_abs()));
    cinema.proves().await;
}

#[tokio::test]
async fn a_conflict_names_the_taken_seats_and_leaves_the_others_free() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(4).await;
    let (ada, bert) = (cinema.visitor(), cinema.visitor());
    let sold = bert.hold(show, &[2]).await.unwrap();
    bert.pay(sold, GOOD_CARD).await.unwrap();
    bert.hold(show, &[4]).await.unwrap();

    assert_eq!(ada.hold(show, &[1, 2]).await, Err(taken(&[2], &[1])));
    assert_eq!(ada.hold(show, &[4, 3, 2, 1]).await, Err(taken(&[2, 4], &[1, 3])));
    assert_eq!(cinema.free(show).await, [1, 3]);
    let of_ada = orders::of_visitor(&cinema.db, ada.id).await.unwrap();
    assert!(of_ada.is_empty(), "a refused hold leaves no order: {of_ada:?}");
    ada.hold(show, &[1, 3]).await.unwrap();
    cinema.proves().await;
}

/// "Taken" is what others do. What the visitor holds by another tab is the visitor's, as long as it is held.
#[tokio::test]
async fn what_the_visitor_holds_already_is_not_called_taken() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(6).await;
    let (ada, bert) = (cinema.visitor(), cinema.visitor());
    let order = ada.hold(show, &[1, 2]).await.unwrap();
    bert.hold(show, &[4]).await.unwrap();
    let already = |seats: &[i16], kept: &[i16]| Err(Error::AlreadyYours { seats: numbers(seats), kept: numbers(kept) });

    assert_eq!(ada.hold(show, &[1, 2]).await, already(&[1, 2], &[]));
    assert_eq!(ada.hold(show, &[2, 3]).await, already(&[2], &[3]));
    // Somebody else's seat is what stands in the way; one's own is neither taken nor to be picked again.
    assert_eq!(ada.hold(show, &[2, 3, 4]).await, Err(taken(&[4], &[3])));
    assert_eq!(bert.hold(show, &[1, 3]).await, Err(taken(&[1], &[3])));
    ada.release(order).await.unwrap();
    ada.hold(show, &[1, 2]).await.unwrap();
    cinema.proves().await;
}

#[tokio::test]
async fn what_cannot_be_held_is_refused_and_changes_nothing() {
    let cinema = Cinema::open().await;
    let (show, small) = (cinema.show_of(700).await, cinema.show_of(5).await);
    let ada = cinema.visitor();
    let too_many = |seats: &[i16]| Err(Error::too_many_seats(&numbers(seats), 0));
    let unknown = |seats: &[i16]| Err(Error::UnknownSeat { seats: numbers(seats) });
    let first = |count: i16| (1..=count).collect::<Vec<_>>();

    assert_eq!(ada.hold(show, &[]).await, Err(Error::NoSeats));
    for count in [11, 12, 600] {
        assert_eq!(ada.hold(show, &first(count)).await, too_many(&first(count)));
    }
    // A seat of the great hall is nobody's seat in the small one.
    assert_eq!(ada.hold(small, &[5, 6, 700]).await, unknown(&[6, 700]));
    assert_eq!(ada.hold(show, &[0, -1, i16::MIN, i16::MAX, 1]).await, unknown(&[i16::MIN, -1, 0, i16::MAX]));
    assert_eq!(ada.hold(ShowId(Uuid::new_v4()), &[1]).await, Err(Error::UnknownShow));
    assert_eq!((cinema.free(show).await.len(), cinema.free(small).await.len()), (700, 5));

    // One seat eleven times is one seat.
    let folded = ada.hold(show, &[7; 11]).await.unwrap();
    assert_eq!(cinema.order(folded).await.seats.seats(), numbers(&[7]));
    cinema.proves().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_attempt_is_the_same_order_however_often_it_is_sent() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(60).await;
    let elsewhere = cinema.another_office();
    for round in 0..20_i16 {
        let ada = cinema.visitor();
        let (attempt, seats) = (an_attempt(), [round * 3 + 1, round * 3 + 2, round * 3 + 3]);
        let answers = all_at_once((0..20).map(|nth| {
            let ada = if nth % 2 == 0 { ada.clone() } else { ada.goes_to(&elsewhere) };
            async move { ada.hold_as(attempt, show, &seats).await }
        }))
        .await;
        let order = answers[0].clone().unwrap();
        assert_eq!(answers, vec![Ok(order); 20]);
        let before = cinema.order(order).await;
        assert_eq!(ada.hold_as(attempt, show, &seats).await, Ok(order));
        assert_eq!(cinema.order(order).await, before);
        assert_eq!(orders::of_visitor(&cinema.db, ada.id).await.unwrap().len(), 1);
    }
    cinema.proves().await;
}

#[tokio::test]
async fn an_attempt_stands_for_one_choice_of_one_visitor() {
    let cinema = Cinema::open().await;
    let (show, other) = (cinema.show_of(4).await, cinema.show_of(4).await);
    let (ada, bert) = (cinema.visitor(), cinema.visitor());
    let attempt = an_attempt();
    let order = ada.hold_as(attempt, show, &[1, 2]).await.unwrap();
    assert_eq!(ada.hold_as(attempt, show, &[1]).await, Err(Error::AttemptReused));
    assert_eq!(ada.hold_as(attempt, show, &[3, 4]).await, Err(Error::AttemptReused));
    assert_eq!(ada.hold_as(attempt, other, &[1, 2]).await, Err(Error::AttemptReused));
    assert_eq!(cinema.free(show).await, [3, 4]);
    // Somebody else's attempt of the same name is another order.
    let of_bert = bert.hold_as(attempt, show, &[3]).await.unwrap();
    assert_ne!(of_bert, order);
    // Also after its end: the form of a released order holds nothing.
    ada.release(order).await.unwrap();
    assert_eq!(ada.hold_as(attempt, show, &[1, 2]).await, Ok(order));
    assert!(matches!(cinema.standing(order).await, Standing::Released { .. }));
    assert_eq!(cinema.free(show).await, [1, 2, 4]);
    cinema.proves().await;
}
