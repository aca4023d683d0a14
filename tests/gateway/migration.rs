//! What an old database has in the gateway's books is still there after the migration.

use sqlx::Row;
use sqlx::postgres::PgPool;

use crate::merchant::Merchant;

const OLD_SCHEMA: [&str; 6] = [
    include_str!("../../migrations/0001_the_rule.sql"),
    include_str!("../../migrations/0002_cinema.sql"),
    include_str!("../../migrations/0003_seats_and_orders.sql"),
    include_str!("../../migrations/0004_payments.sql"),
    include_str!("../../migrations/0005_visitors.sql"),
    include_str!("../../migrations/0006_lighter_holds.sql"),
];

const OLD_ROWS: &str = "
    insert into gateway.charges (idempotency_key, reference, amount_minor, currency, captured, reason, refund_reference,
                                 refunded_at, created_at) values
    ('00000000-0000-0000-0000-000000000001', 'ch_kept', 2500, 'EUR', true, null, null, null, '2026-01-01Z'),
    ('00000000-0000-0000-0000-000000000002', 'ch_given_back', 1250, 'EUR', true, null, 're_1', '2026-01-03Z', '2026-01-02Z'),
    ('00000000-0000-0000-0000-000000000003', 'ch_declined', 1250, 'JPY', false, 'no', null, null, '2026-01-03Z'),
    ('00000000-0000-0000-0000-000000000004', 'closed_4', 0, '', false, null, null, null, '2026-01-04Z')";

#[tokio::test]
async fn old_charges_refunds_and_closed_keys_are_converted() {
    let merchant = Merchant::open().await;
    merchant.sql("create database old").await;
    let old = PgPool::connect(&merchant.url_of("old")).await.unwrap();
    let start_over = "drop schema gateway cascade; drop schema public cascade; create schema public";
    sqlx::raw_sql(start_over).execute(&old).await.unwrap();
    for migration in OLD_SCHEMA {
        sqlx::raw_sql(migration).execute(&old).await.unwrap();
    }
    sqlx::raw_sql(OLD_ROWS).execute(&old).await.unwrap();
    sqlx::raw_sql(include_str!("../../migrations/0007_gateway.sql")).execute(&old).await.unwrap();

    let lines = async |sql: &'static str| -> Vec<String> {
        sqlx::query(sql).fetch_all(&old).await.unwrap().iter().map(|row| row.get(0)).collect()
    };
    let charges = "select concat_ws(' ', id, right(idempotency_key, 1), amount_minor, currency, status, refunded_minor,
                                    decline_reason, captured_at::date) from gateway.charges order by nth";
    assert_eq!(
        lines(charges).await,
        [
            "ch_kept 1 2500 EUR captured 0 2026-01-01",
            "ch_given_back 2 1250 EUR captured 1250 2026-01-02",
            "ch_declined 3 1250 JPY declined 0 no",
        ]
    );
    let refunds = "select concat_ws(' ', id, charge_id, right(idempotency_key, 1), amount_minor, created_at::date)
                   from gateway.refunds";
    assert_eq!(lines(refunds).await, ["re_1 ch_given_back 2 1250 2026-01-03"]);
    let keys = "select concat_ws(' ', right(key, 1), charge_id, closed_at::date) from gateway.keys order by key";
    assert_eq!(lines(keys).await, ["1 ch_kept", "2 ch_given_back", "3 ch_declined", "4 2026-01-04"]);
    let tables = "select table_name::text from information_schema.tables where table_schema = 'gateway' order by 1";
    assert_eq!(lines(tables).await, ["charges", "events", "keys", "refunds"]);
}
