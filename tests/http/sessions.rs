//! What becomes of a stranger's session when the database fails between the hold and the answer.

use reqwest::StatusCode;

use crate::browser::{Browser, serve};
use crate::support::{Cinema, GOOD_CARD};

/// How many sessions lie in the database.
async fn sessions(cinema: &Cinema) -> i64 {
    sqlx::query_scalar("select count(*) from sessions").fetch_one(&cinema.db).await.unwrap()
}

/// The first hold of somebody new is answered, with a cookie that pays.
async fn a_strangers_hold_is_answered_and_pays(cinema: &Cinema, visitor: &Browser) {
    let show = cinema.show_of(2).await;
    let held = visitor.hold(show, &[1, 2]).await;
    assert_eq!((held.status, held.sets_cookie), (StatusCode::OK, true), "{held:?}");
    let paid = visitor.goes_to(visitor.site).pay(held.order(), GOOD_CARD).await;
    assert_eq!(paid.status, StatusCode::OK, "{paid:?}");
    assert_eq!(cinema.ticketed(held.order()).await, [1, 2]);
}

/// As after a restart of Postgres: the connection has died meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_written_again_when_its_connection_was_dead() {
    let cinema = Cinema::open().await;
    let visitor = Browser::at(serve(&cinema.office).await);
    cinema
        .sql(
            "create sequence writes;
             create function dies_once() returns trigger language plpgsql as
             'begin if nextval(''writes'') = 1 then perform pg_terminate_backend(pg_backend_pid()); end if; return new; end';
             create trigger sessions_die_once before insert on sessions for each row execute function dies_once()",
        )
        .await;
    a_strangers_hold_is_answered_and_pays(&cinema, &visitor).await;
    let writes: i64 = sqlx::query_scalar("select last_value from writes").fetch_one(&cinema.db).await.unwrap();
    assert_eq!((writes, sessions(&cinema).await), (2, 1));
    cinema.proves().await;
}

/// The seats are held, so their visitor must get the cookie that pays for them.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_cannot_be_written_costs_nobody_a_hold() {
    let cinema = Cinema::open().await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let mut locked = cinema.db.begin().await.unwrap();
    sqlx::raw_sql("lock table sessions in access exclusive mode").execute(&mut *locked).await.unwrap();
    a_strangers_hold_is_answered_and_pays(&cinema, &visitor).await;
    locked.rollback().await.unwrap();
    assert_eq!(sessions(&cinema).await, 0);
    cinema.proves().await;
}
