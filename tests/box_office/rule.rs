//! The one rule: the same in Rust and in SQL, at every boundary, and never both "free" and "confirmable".

use chrono::{DateTime, TimeDelta, Utc};
use matinee::domain::Error;
use matinee::domain::order::{Order, OrderState, Standing};
use matinee::domain::seat::{HoldWindow, Status};

use crate::support::clock::Clock;
use crate::support::{Cinema, GOOD_CARD, PRICE, layout_of, taken};

/// A second (the shortest), two odd ones, the usual one, and a day (the longest).
const WINDOWS_S: [i32; 6] = [1, 37, 660, 900, 901, 86_400];
const MICROSECOND: TimeDelta = TimeDelta::microseconds(1);

/// One question to the rule.
#[derive(Clone, Debug)]
struct Asked {
    status: Status,
    locked_at: Option<DateTime<Utc>>,
    window: HoldWindow,
    now: DateTime<Utc>,
}

/// Every status and window with every instant at which an implementation could go wrong.
fn all_questions() -> Vec<Asked> {
    let nights_of_changing_clocks = ["2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"];
    let leap_day = "2028-02-29T23:59:59.999999Z";
    let mut asked = Vec::new();
    for now in nights_of_changing_clocks.into_iter().chain([leap_day, "2026-12-31T23:59:59Z"]) {
        let now: DateTime<Utc> = now.parse().unwrap();
        for window in WINDOWS_S.map(|seconds| HoldWindow::from_seconds(seconds).unwrap()) {
            let length = TimeDelta::seconds(window.seconds().into());
            let ages = [
                TimeDelta::zero(),
                MICROSECOND,
                length - TimeDelta::seconds(1),
                length - MICROSECOND,
                length,
                length + MICROSECOND,
                length + TimeDelta::seconds(1),
                length * 2,
                TimeDelta::days(366 * 50),
                // From the future: a clock that was set back.
                -MICROSECOND,
                -length,
                -TimeDelta::days(366),
            ];
            for status in Status::ALL {
                asked.extend(ages.map(|age| Asked { status, locked_at: Some(now - age), window, now }));
                asked.push(Asked { status, locked_at: None, window, now });
            }
        }
    }
    asked
}

#[tokio::test]
async fn rust_and_sql_give_the_same_answer_at_every_boundary() {
    let cinema = Cinema::open().await;
    let asked = all_questions();
    let answers: Vec<bool> = sqlx::query_scalar(
        "select is_available(status::seat_status, locked_at, window_s, now) is true
         from unnest($1::text[], $2::timestamptz[], $3::integer[], $4::timestamptz[]) with ordinality
              as asked (status, locked_at, window_s, now, nth)
         order by nth",
    )
    .bind(asked.iter().map(|asked| asked.status.as_str()).collect::<Vec<_>>())
    .bind(asked.iter().map(|asked| asked.locked_at).collect::<Vec<_>>())
    .bind(asked.iter().map(|asked| asked.window.seconds()).collect::<Vec<_>>())
    .bind(asked.iter().map(|asked| asked.now).collect::<Vec<_>>())
    .fetch_all(&cinema.db)
    .await
    .unwrap();
    assert_eq!(answers.len(), asked.len());
    for (asked, sql) in asked.iter().zip(&answers) {
        assert_eq!(asked.window.is_available(asked.status, asked.locked_at, asked.now), *sql, "{asked:?}");
    }
    let yes = answers.iter().filter(|yes| **yes).count();
    assert!(yes > 100 && yes < answers.len() - 100, "the questions probe both answers: {yes} of {}", answers.len());
    cinema.proves().await;
}

#[tokio::test]
async fn an_order_can_be_paid_exactly_while_its_seats_are_not_free() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(1).await;
    let order = cinema.visitor().hold(show, &[1]).await.unwrap();
    let held = cinema.order(order).await;
    for asked in all_questions().into_iter().filter(|asked| asked.status == Status::Locked) {
        let Some(locked_at) = asked.locked_at else { continue };
        let order =
            Order { locked_at, held_at: locked_at, hold_window: asked.window, state: OrderState::Held, ..held.clone() };
        let payable = matches!(order.standing(asked.now), Standing::Held { .. });
        let free = asked.window.is_available(asked.status, asked.locked_at, asked.now);
        assert!(payable != free, "{asked:?}: payable {payable}, free {free}");
    }
    cinema.proves().await;
}

/// The same complement in the statements themselves: at each instant either the holder may start to pay or somebody else
/// may take the seats, and one of them always may.
#[tokio::test]
async fn at_every_instant_either_the_holder_may_pay_or_others_may_hold() {
    let (cinema, mut clock) = Clock::stopped().await;
    for window_s in WINDOWS_S {
        let length = TimeDelta::seconds(window_s.into());
        for (age, lapsed) in [
            (TimeDelta::zero(), false),
            (length - MICROSECOND, false),
            (length, false),
            (length + MICROSECOND, true),
            (length * 3, true),
        ] {
            let show = cinema.show(&layout_of(4), &[PRICE], window_s).await;
            cinema.sql("update shows set sales_close_at = '2999-01-01Z'").await;
            let (ada, bert) = (cinema.visitor(), cinema.visitor());
            // Two orders of the same instant: one is tried by its holder, the other by somebody else.
            let paid = ada.hold(show, &[1, 2]).await.unwrap();
            ada.hold(show, &[3, 4]).await.unwrap();
            clock.advance(age).await;
            let (pays, takes) = (ada.pay(paid, GOOD_CARD).await, bert.hold(show, &[3, 4]).await.map(|_| ()));
            if lapsed {
                assert_eq!((pays, takes), (Err(Error::HoldLapsed), Ok(())), "{window_s} s, after {age}");
            } else {
                assert_eq!((pays, takes), (Ok(()), Err(taken(&[3, 4], &[]))), "{window_s} s, after {age}");
            }
        }
    }
    cinema.proves().await;
}

#[tokio::test]
async fn a_lapsed_hold_is_free_for_everybody_in_the_same_instant() {
    let (cinema, mut clock) = Clock::stopped().await;
    let show = cinema.show_of(3).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[1, 2]).await.unwrap();

    let last = cinema.order(order).await.ends_at();
    clock.set(last).await;
    assert_eq!(cinema.free(show).await, [3]);
    assert_eq!(cinema.standing(order).await, Standing::Held { ends_at: last });
    assert_eq!(cinema.visitor().hold(show, &[2, 3]).await, Err(taken(&[2], &[3])));

    clock.set(last + MICROSECOND).await;
    assert_eq!(cinema.free(show).await, [1, 2, 3]);
    assert_eq!(cinema.standing(order).await, Standing::Lapsed { ended_at: last });
    // For the old holder too: the seats can be picked again at once, as a new order.
    let again = ada.hold(show, &[1]).await.unwrap();
    let bert = cinema.visitor().hold(show, &[2]).await.unwrap();
    assert_eq!(ada.pay(order, GOOD_CARD).await, Err(Error::HoldLapsed));
    for held in [again, bert] {
        assert_eq!(cinema.standing(held).await, Standing::Held { ends_at: clock.now() + TimeDelta::minutes(15) });
    }
    cinema.proves().await;
}

/// T4: a window is so many real seconds, also across the night when the clocks change and in whatever zone a session is.
#[tokio::test]
async fn a_hold_across_a_clock_change_lasts_its_window_in_real_seconds() {
    let cinema = Cinema::open().await;
    let mut connection = cinema.db.acquire().await.unwrap();
    let window = HoldWindow::from_seconds(3 * 3600).unwrap();
    for zone in ["Europe/Berlin", "America/New_York", "Asia/Tokyo", "UTC"] {
        sqlx::query("select set_config('timezone', $1, false)").bind(zone).execute(&mut *connection).await.unwrap();
        // An hour before Berlin's clocks go back and go forward, and before New York's.
        for change in ["2026-10-25T01:00:00Z", "2027-03-28T01:00:00Z", "2026-11-01T06:00:00Z", "2027-03-14T07:00:00Z"] {
            let locked_at = change.parse::<DateTime<Utc>>().unwrap() - TimeDelta::hours(1);
            let last = locked_at + TimeDelta::seconds(3 * 3600);
            for (now, free) in [(last, false), (last + TimeDelta::microseconds(1), true)] {
                let sql: bool = sqlx::query_scalar("select is_available('locked', $1, $2, $3)")
                    .bind(locked_at)
                    .bind(window.seconds())
                    .bind(now)
                    .fetch_one(&mut *connection)
                    .await
                    .unwrap();
                let rust = window.is_available(Status::Locked, Some(locked_at), now);
                assert_eq!((sql, rust), (free, free), "{zone}, {change}, {now}");
            }
        }
    }
    drop(connection);
    cinema.proves().await;
}
