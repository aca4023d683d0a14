//! The schema: brought up to date by whoever comes first, refused when it is newer, and immutable where it says so.

use matinee::store::{StoreError, pool};
use sqlx::postgres::PgPool;

use crate::support::Cinema;

#[tokio::test]
async fn migrating_again_changes_nothing() {
    let cinema = Cinema::open().await;
    let applied = "select version, checksum, installed_on::text from _sqlx_migrations order by version";
    let before: Vec<(i64, Vec<u8>, String)> = sqlx::query_as(applied).fetch_all(&cinema.db).await.unwrap();
    assert!(before.len() >= 5);
    pool::migrate(&cinema.url()).await.unwrap();
    let after: Vec<(i64, Vec<u8>, String)> = sqlx::query_as(applied).fetch_all(&cinema.db).await.unwrap();
    assert_eq!(after, before);
    assert!(pool::is_ready(&cinema.office.pool).await.unwrap());
    cinema.proves().await;
}

/// A database that has never seen this program.
async fn make_empty_database(cinema: &Cinema) {
    cinema.sql("create database empty").await;
    let empty = PgPool::connect(&cinema.url_of("empty")).await.unwrap();
    let start_over = "drop schema gateway cascade; drop schema public cascade; create schema public";
    sqlx::raw_sql(start_over).execute(&empty).await.unwrap();
    empty.close().await;
}

#[tokio::test]
async fn servers_that_start_together_migrate_once() {
    let cinema = Cinema::open().await;
    make_empty_database(&cinema).await;
    let url = cinema.url_of("empty");
    let (one, two, three) = tokio::join!(pool::migrate(&url), pool::migrate(&url), pool::migrate(&url));
    assert!(one.is_ok() && two.is_ok() && three.is_ok(), "{one:?} {two:?} {three:?}");
    assert!(pool::is_ready(&pool::connect(&url).unwrap()).await.unwrap());
    cinema.proves().await;
}

#[tokio::test]
async fn a_newer_or_foreign_schema_is_refused_in_one_clear_line() {
    let cinema = Cinema::open().await;
    let refusal = || async {
        match pool::migrate(&cinema.url()).await {
            Err(StoreError::Schema(line)) => line,
            other => panic!("not refused as a schema: {other:?}"),
        }
    };
    cinema
        .sql(
            "insert into _sqlx_migrations (version, description, success, checksum, execution_time)
             values (9999, 'from the future', true, '\\x00', 0)",
        )
        .await;
    let line = refusal().await;
    assert!(line.contains("9999") && line.contains("newer version") && !line.contains('\n'), "{line}");
    assert!(!pool::is_ready(&cinema.office.pool).await.unwrap());

    cinema.sql("delete from _sqlx_migrations where version = 9999; update _sqlx_migrations set checksum = '\\x01' where version = 2").await;
    let line = refusal().await;
    assert!(line.contains("migration 2") && line.contains("another build") && !line.contains('\n'), "{line}");
    cinema.proves().await;
}

#[tokio::test]
async fn a_database_without_our_tables_is_not_ready() {
    let cinema = Cinema::open().await;
    make_empty_database(&cinema).await;
    let pool = pool::connect(&cinema.url_of("empty")).unwrap();
    assert!(pool::is_ready(&pool).await.is_err());
    let nowhere = pool::connect(&cinema.url_of("nowhere")).unwrap();
    assert!(pool::is_ready(&nowhere).await.is_err());
    cinema.proves().await;
}

#[tokio::test]
async fn a_plan_cannot_be_changed() {
    let cinema = Cinema::open().await;
    cinema.show_of(3).await;
    let refused =
        sqlx::query("update plans set layout = 'zone s S'").execute(&cinema.db).await.map_err(StoreError::from);
    assert_eq!(refused.unwrap_err().sqlstate(), Some("MT002"));
    cinema.proves().await;
}

/// The database refuses by itself what no statement of ours would write.
#[tokio::test]
async fn impossible_mixtures_are_refused_by_the_database() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(2).await;
    cinema.visitor().hold(show, &[1]).await.unwrap();
    const CHECK: &str = "23514";
    const UNIQUE: &str = "23505";
    for (refusal, statement) in [
        (CHECK, "update seats set locked_at = null where seat_no = 1"),
        (CHECK, "update seats set order_id = null where seat_no = 1"),
        (CHECK, "update seats set status = 'booked' where seat_no = 1"),
        (CHECK, "update seats set status = 'locked' where seat_no = 2"),
        (CHECK, "update seats set locked_at = clock_timestamp() where seat_no = 2"),
        (UNIQUE, "insert into seats select * from seats where seat_no = 2"),
        (CHECK, "update orders set prices = prices || prices"),
        (CHECK, "update shows set hold_window_s = 0"),
        (CHECK, "update shows set hold_window_s = 86401"),
    ] {
        let refused = sqlx::query(statement).execute(&cinema.db).await.map_err(StoreError::from).unwrap_err();
        assert_eq!(refused.sqlstate(), Some(refusal), "{statement}: {refused}");
    }
    cinema.proves().await;
}

/// Settings that the promises lean on, as the product's own connections have them.
#[tokio::test]
async fn the_offices_connections_are_set_up() {
    let cinema = Cinema::open().await;
    for (setting, value) in [
        ("plan_cache_mode", "force_generic_plan"),
        ("enable_seqscan", "off"),
        ("enable_bitmapscan", "off"),
        ("lock_timeout", "2s"),
        ("statement_timeout", "10s"),
        ("idle_in_transaction_session_timeout", "10s"),
        ("transaction_isolation", "read committed"),
        ("synchronous_commit", "on"),
    ] {
        let set: String = sqlx::query_scalar("select current_setting($1)")
            .bind(setting)
            .fetch_one(&cinema.office.pool)
            .await
            .unwrap();
        assert_eq!(set, value, "{setting}");
    }
    cinema.proves().await;
}

/// A generic plan is made once a connection, perhaps while the tables are nearly empty, and must be right when they are not.
#[tokio::test]
async fn a_plan_made_on_an_empty_database_reads_no_whole_table() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(4).await;
    cinema.visitor().hold(show, &[1]).await.unwrap();
    cinema.sql("analyze").await;
    let statement = include_str!("../../src/store/sql/hold_seats.sql").replace(['!', '?'], "");
    let explain = format!(
        "prepare hold (uuid, smallint[], uuid, uuid, bigint, bigint) as {statement};
         explain execute hold (gen_random_uuid(), '{{1}}', gen_random_uuid(), gen_random_uuid(), 10, null)"
    );
    let rows = sqlx::raw_sql(sqlx::AssertSqlSafe(explain)).fetch_all(&cinema.office.pool).await.unwrap();
    let plan: Vec<String> = rows.iter().map(|row| sqlx::Row::get(row, 0)).collect();
    assert!(plan.len() > 10, "{plan:?}");
    assert!(!plan.iter().any(|line| line.contains("Seq Scan")), "{}", plan.join("\n"));
    cinema.proves().await;
}
