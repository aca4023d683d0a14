//! Holding and giving back: all or none, once per attempt, at the price of the moment.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use matinee::domain::Error;
use matinee::domain::ids::{PlanId, ShowId};
use matinee::domain::order::{OrderState, Standing};
use matinee::domain::plan::Plan;
use matinee::domain::seat::Status;
use matinee::store::{maps, orders, setup};
use uuid::Uuid;

use crate::support::{
    Books, Cinema, DECLINED_CARD, GOOD_CARD, PRICE, QUARTER_HOUR_S, Visitor, all_at_once, an_attempt, layout_of, numbers, taken,
};

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

#[tokio::test]
async fn nothing_but_starting_to_pay_renews_a_hold_and_that_only_once() {
    const A_SECOND: TimeDelta = TimeDelta::seconds(1);
    let window = TimeDelta::seconds(QUARTER_HOUR_S.into());
    let cinema = Cinema::open().await;
    let show = cinema.show_of(2).await;
    let ada = cinema.visitor();
    let attempt = an_attempt();
    let order = ada.hold_as(attempt, show, &[1]).await.unwrap();
    cinema.visitor().hold(show, &[2]).await.unwrap();
    cinema.age(order, window - A_SECOND).await;
    let before = cinema.order(order).await;

    assert_eq!(ada.hold(show, &[2]).await, Err(taken(&[2], &[])));
    assert_eq!(ada.hold(show, &[1]).await, Err(taken(&[1], &[])), "another attempt is another order");
    for _ in 0..20 {
        assert_eq!(ada.hold_as(attempt, show, &[1]).await, Ok(order));
    }
    assert_eq!(cinema.order(order).await, before);
    assert_eq!(cinema.seats(show).await.seats[0].locked_at, Some(before.locked_at));

    // The first payment gives a full window, the second does not.
    ada.pay(order, DECLINED_CARD).await.unwrap();
    let renewed = cinema.order(order).await;
    assert!(renewed.locked_at > before.locked_at);
    assert_eq!(cinema.seats(show).await.seats[0].locked_at, Some(renewed.locked_at));
    cinema.age(order, window - A_SECOND).await;
    ada.pay(order, DECLINED_CARD).await.unwrap();
    let last = cinema.order(order).await;
    assert_eq!(last.locked_at, renewed.locked_at - (window - A_SECOND));
    assert!(last.ends_at() <= last.held_at + window * 2, "two windows at most, from the first hold to the last lapse");
    cinema.age(order, A_SECOND * 2).await;
    assert_eq!(ada.pay(order, GOOD_CARD).await, Err(Error::HoldLapsed));
    cinema.proves().await;
}

#[tokio::test]
async fn what_cannot_be_held_is_refused_and_changes_nothing() {
    let cinema = Cinema::open().await;
    let (show, small) = (cinema.show_of(700).await, cinema.show_of(5).await);
    let ada = cinema.visitor();
    let too_many = |asked| Err(Error::TooManySeats { asked, holding: 0 });
    let unknown = |seats: &[i16]| Err(Error::UnknownSeat { seats: numbers(seats) });
    let first = |count: i16| (1..=count).collect::<Vec<_>>();

    assert_eq!(ada.hold(show, &[]).await, Err(Error::NoSeats));
    for count in [11, 12, 600] {
        assert_eq!(ada.hold(show, &first(count)).await, too_many(count.unsigned_abs()));
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

#[tokio::test]
async fn sales_end_when_the_show_says_so() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    let ada = cinema.visitor();
    let before = ada.hold(show, &[1]).await.unwrap();
    cinema.sql("update shows set sales_close_at = clock_timestamp()").await;
    assert_eq!(ada.hold(show, &[2]).await, Err(Error::SalesClosed));
    // Who held in time may still pay.
    ada.pay(before, GOOD_CARD).await.unwrap();
    assert_eq!(cinema.ticketed(before).await, [1]);
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

#[tokio::test]
async fn what_is_released_is_free_at_once_and_only_once() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(9).await;
    let (ada, bert) = (cinema.visitor(), cinema.visitor());
    let order = ada.hold(show, &[1, 2, 3, 4, 5, 6, 7]).await.unwrap();
    ada.pay(order, DECLINED_CARD).await.unwrap();
    assert_eq!(cinema.free(show).await, [8, 9], "a decline keeps the hold");
    assert_eq!(bert.release(order).await, Err(Error::UnknownOrder), "not his");

    assert_eq!(ada.release(order).await, Ok(show));
    assert_eq!(cinema.free(show).await, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let of_bert = bert.hold(show, &[1, 2]).await.unwrap();
    assert_eq!(ada.release(order).await, Ok(show), "the second answer equals the first");
    assert_eq!(cinema.standing(of_bert).await, Standing::Held { ends_at: cinema.order(of_bert).await.ends_at() });
    assert_eq!(cinema.free(show).await, [3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(ada.pay(order, GOOD_CARD).await, Err(Error::AlreadyReleased));
    assert_eq!(cinema.books(order).await, Books::EMPTY);
    cinema.proves().await;
}

#[tokio::test]
async fn releasing_a_lapsed_hold_leaves_the_new_holders_alone() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    let (ada, bert, cleo) = (cinema.visitor(), cinema.visitor(), cinema.visitor());
    let order = ada.hold(show, &[1, 2, 3]).await.unwrap();
    cinema.expire(order).await;
    let held = bert.hold(show, &[1]).await.unwrap();
    let sold = cleo.hold(show, &[2]).await.unwrap();
    cleo.pay(sold, GOOD_CARD).await.unwrap();

    assert_eq!(ada.release(order).await, Ok(show));
    assert_eq!(cinema.free(show).await, [3]);
    assert_eq!(cinema.order(held).await.state, OrderState::Held);
    assert_eq!(cinema.ticketed(sold).await, [2]);
    bert.pay(held, GOOD_CARD).await.unwrap();
    assert_eq!(ada.release(sold).await, Err(Error::UnknownOrder));
    assert_eq!(cleo.release(sold).await, Err(Error::AlreadySold));
    cinema.proves().await;
}

#[tokio::test]
async fn looking_writes_nothing() {
    const LAPSED: usize = 200;
    let cinema = Cinema::open().await;
    let show = cinema.show_of(LAPSED + 100).await;
    let mut held = Vec::new();
    for seat in 1..=LAPSED {
        let order = cinema.visitor().hold(show, &[i16::try_from(seat).unwrap()]).await.unwrap();
        cinema.expire(order).await;
        held.push(order);
    }
    cinema.office.pool.close().await;
    let before = writes(&cinema).await;
    // Twice guarded: readers in a database that refuses to write, and the counters of all tables.
    cinema.sql("alter database matinee set default_transaction_read_only = on").await;
    let readers: Vec<_> = (0..3).map(|_| cinema.another_office()).collect();
    all_at_once((0..60).map(|nth| {
        let office = readers[nth % readers.len()].clone();
        let order = held[nth];
        async move {
            let map = maps::seat_map(&office.pool, &office.plans, show).await.unwrap().unwrap();
            assert_eq!(map.seats.iter().filter(|seat| seat.status == Status::Locked).count(), LAPSED);
            let day = office.programme.day(&office.pool, &office.cinema, None).await.unwrap();
            assert_eq!(day.listings.iter().map(|listing| listing.free).sum::<i64>(), map.seats.len() as i64);
            let (order, now) = orders::get(&office.pool, order).await.unwrap().unwrap();
            assert!(matches!(order.standing(now), Standing::Lapsed { .. }));
            assert!(orders::holding(&office.pool, show, order.visitor).await.unwrap().is_empty());
        }
    }))
    .await;
    for reader in &readers {
        reader.pool.close().await;
    }
    assert_eq!(writes(&cinema).await, before);
    cinema.proves().await;
}

/// Rows written so far, table by table. A connection reports its counts when it closes at the latest.
async fn writes(cinema: &Cinema) -> Vec<(String, i64)> {
    let mut connection = cinema.db.acquire().await.unwrap();
    sqlx::query("select pg_stat_force_next_flush()").execute(&mut *connection).await.unwrap();
    let counts: Vec<(String, i64)> = sqlx::query_as(
        "select schemaname || '.' || relname, n_tup_ins + n_tup_upd + n_tup_del from pg_stat_user_tables order by 1",
    )
    .fetch_all(&mut *connection)
    .await
    .unwrap();
    let seats = counts.iter().find(|(table, _)| table == "public.seats").unwrap();
    assert!(seats.1 >= 300, "the counters count: {counts:?}");
    counts
}

#[tokio::test]
async fn a_hall_that_changes_leaves_what_was_held_as_it_was() {
    let cinema = Cinema::open().await;
    let show = cinema.show("zone s Stalls\nzone p Premium\nrow A | ss\nrow B | pp", &[1000, 1500], QUARTER_HOUR_S).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[2, 3]).await.unwrap();
    let on_the_payment_page = cinema.seats(show).await.show.plan.names(cinema.order(order).await.seats.seats());

    let rebuilt = "zone p Premium\nzone s Stalls\nnumbers right-to-left\nrow X | p.p\nrow Y | s.s\nrow Z | ss";
    let plan = PlanId(Uuid::new_v4());
    let mut connection = cinema.db.acquire().await.unwrap();
    let (hall, name): (Uuid, String) = sqlx::query_as("select id, name from halls").fetch_one(&mut *connection).await.unwrap();
    setup::add_plan(&mut connection, plan, rebuilt).await.unwrap();
    setup::add_hall(&mut connection, hall, &name, plan).await.unwrap();
    assert_eq!(Plan::parse(rebuilt).unwrap().names(&numbers(&[2, 3])), "X1, Y2");

    // On a server that knew the old plan, and on one that reads it only now.
    let elsewhere = cinema.another_office();
    ada.goes_to(&elsewhere).pay(order, GOOD_CARD).await.unwrap();
    assert_eq!(cinema.ticketed(order).await, [2, 3]);
    for office in [&cinema.office, &elsewhere] {
        let map = maps::seat_map(&office.pool, &office.plans, show).await.unwrap().unwrap();
        assert_eq!(map.show.plan.names(&numbers(&[2, 3])), on_the_payment_page);
    }
    assert_eq!(on_the_payment_page, "A2, B1");
    assert_eq!(cinema.books(order).await, Books::sold_for(2500));
    cinema.proves().await;
}

#[tokio::test]
async fn the_price_is_fixed_when_the_seats_are_held() {
    let cinema = Cinema::open().await;
    let show = cinema.show("zone s Stalls\nzone p Premium\nrow A | spp", &[1999, 2500], QUARTER_HOUR_S).await;
    let (ada, bert) = (cinema.visitor(), cinema.visitor());
    let before = ada.hold(show, &[1, 2]).await.unwrap();
    cinema.sql("update shows set zone_prices = '{5000, 6000}'").await;
    let after = bert.hold(show, &[3]).await.unwrap();
    assert_eq!(cinema.order(before).await.prices, [1999, 2500]);
    for (visitor, order, total) in [(&ada, before, 4499), (&bert, after, 6000)] {
        let shown = cinema.order(order).await.total;
        visitor.pay(order, GOOD_CARD).await.unwrap();
        assert_eq!(shown.minor, total);
        assert_eq!(cinema.payments(order).await[0].amount, shown, "what is charged is what was shown");
        assert_eq!(cinema.books(order).await, Books::sold_for(total));
    }
    cinema.proves().await;
}

#[tokio::test]
async fn a_show_says_how_long_its_holds_last() {
    let cinema = Cinema::open().await;
    for window_s in [37, 660] {
        let show = cinema.show(&layout_of(2), &[PRICE], window_s).await;
        let (ada, bert) = (cinema.visitor(), cinema.visitor());
        let order = ada.hold(show, &[1]).await.unwrap();
        let held = cinema.order(order).await;
        assert_eq!(held.ends_at() - held.locked_at, TimeDelta::seconds(window_s.into()));
        cinema.age(order, TimeDelta::seconds(i64::from(window_s) - 5)).await;
        assert_eq!(bert.hold(show, &[1]).await, Err(taken(&[1], &[])));
        cinema.age(order, TimeDelta::seconds(6)).await;
        bert.hold(show, &[1]).await.unwrap();
    }
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
