//! What a show says: its plan, its prices, its window, its end of sales; and that looking at it writes nothing.

use chrono::TimeDelta;
use matinee::domain::Error;
use matinee::domain::ids::PlanId;
use matinee::domain::order::Standing;
use matinee::domain::plan::Plan;
use matinee::domain::seat::Status;
use matinee::store::{maps, orders, setup};
use uuid::Uuid;

use crate::support::{Books, Cinema, GOOD_CARD, PRICE, QUARTER_HOUR_S, all_at_once, layout_of, numbers, taken};

#[tokio::test]
async fn a_hall_that_changes_leaves_what_was_held_as_it_was() {
    let cinema = Cinema::open().await;
    let show =
        cinema.show("zone s Stalls\nzone p Premium\nrow A | ss\nrow B | pp", &[1000, 1500], QUARTER_HOUR_S).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[2, 3]).await.unwrap();
    let on_the_payment_page = cinema.seats(show).await.show.plan.names(cinema.order(order).await.seats.seats());

    let rebuilt = "zone p Premium\nzone s Stalls\nnumbers right-to-left\nrow X | p.p\nrow Y | s.s\nrow Z | ss";
    let plan = PlanId(Uuid::new_v4());
    let mut connection = cinema.db.acquire().await.unwrap();
    let (hall, name): (Uuid, String) =
        sqlx::query_as("select id, name from halls").fetch_one(&mut *connection).await.unwrap();
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

/// An operator changes the window while seats are held: seats and orders go by the same, new one, at once.
#[tokio::test]
async fn a_changed_window_is_the_same_for_seats_and_orders() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    let (ada, bert) = (cinema.visitor(), cinema.visitor());
    let order = ada.hold(show, &[1, 2]).await.unwrap();
    cinema.age(order, TimeDelta::seconds(60)).await;
    cinema.sql("update shows set hold_window_s = 37").await;
    assert!(matches!(cinema.standing(order).await, Standing::Lapsed { .. }));
    assert_eq!(cinema.free(show).await, [1, 2, 3]);
    assert_eq!(ada.pay(order, GOOD_CARD).await, Err(Error::HoldLapsed));
    cinema.proves().await;

    cinema.sql("update shows set hold_window_s = 900").await;
    assert!(matches!(cinema.standing(order).await, Standing::Held { .. }));
    assert_eq!(bert.hold(show, &[1]).await, Err(taken(&[1], &[])));
    ada.pay(order, GOOD_CARD).await.unwrap();
    assert_eq!(cinema.ticketed(order).await, [1, 2]);
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

#[tokio::test]
async fn looking_writes_nothing() {
    const LAPSED: usize = 200;
    let mut cinema = Cinema::open().await;
    let show = cinema.show_of(LAPSED + 100).await;
    let mut held = Vec::new();
    for seat in 1..=LAPSED {
        let order = cinema.visitor().hold(show, &[i16::try_from(seat).unwrap()]).await.unwrap();
        cinema.expire(order).await;
        held.push(order);
    }
    cinema.ends(&[]).await;
    let before = writes(&cinema).await;
    assert!(before.contains(&("public.seats".to_owned(), 700)), "300 made, 200 held, 200 expired: {before:?}");
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
    cinema.ends(&readers).await;
    assert_eq!(writes(&cinema).await, before);
    cinema.proves().await;
}

/// Rows written so far, table by table.
async fn writes(cinema: &Cinema) -> Vec<(String, i64)> {
    sqlx::query_as(
        "select schemaname || '.' || relname, n_tup_ins + n_tup_upd + n_tup_del from pg_stat_user_tables order by 1",
    )
    .fetch_all(&cinema.db)
    .await
    .unwrap()
}
