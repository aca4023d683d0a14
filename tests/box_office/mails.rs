//! The outbox and its consumer: nothing is skipped, and a mail is sent once.

use std::collections::BTreeSet;
use std::path::Path;

use chrono::TimeDelta;
use matinee::box_office::mails::{self, Mailer};
use matinee::box_office::{self, Progress};
use matinee::domain::ids::OrderId;
use matinee::domain::payment::{Card, Email};
use matinee::store::outbox::{self, Position};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::support::{Cinema, GOOD_CARD, Visitor, all_at_once, an_attempt};

const OUTBOX: &str = include_str!("../../src/store/sql/outbox.sql");
const BARRIER: &str = "\n  and xid < pg_snapshot_xmin(pg_current_snapshot())";

async fn pays_with_mail(visitor: &Visitor, order: OrderId, to: &str) {
    let (card, email) = (Card::parse(GOOD_CARD).unwrap(), Email::parse(to).unwrap());
    let paid = box_office::pay(&visitor.office, visitor.id, order, an_attempt(), card, email).await;
    assert_eq!(paid, Ok(Progress::Told));
}

fn mailer(folder: &Path) -> Mailer {
    Mailer::new(folder.to_str().unwrap(), "tickets@meridian.example", "https://meridian.example/").unwrap()
}

fn files(folder: &Path) -> BTreeSet<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return BTreeSet::new() };
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The order of the events as a consumer gets them that reads whenever it can, by this statement.
async fn read_by(cinema: &Cinema, statement: &str, position: &mut (String, Uuid, String)) -> Vec<Uuid> {
    let rows: Vec<(String, Uuid, String)> =
        sqlx::query_as(AssertSqlSafe(format!("select \"xid!\", order_id, \"event!\" from ({statement}) read")))
            .bind(&position.0)
            .bind(position.1)
            .bind(&position.2)
            .bind(100_i64)
            .fetch_all(&cinema.db)
            .await
            .unwrap();
    if let Some(last) = rows.last() {
        *position = last.clone();
    }
    rows.into_iter().map(|row| row.1).collect()
}

/// A slow transaction writes its event first and commits it last. Without the barrier it is skipped for ever.
#[tokio::test]
async fn an_event_that_a_slow_transaction_commits_late_is_not_skipped() {
    let without = OUTBOX.replace(BARRIER, "");
    assert_ne!(without, OUTBOX);
    for (statement, skips) in [(OUTBOX, false), (&*without, true)] {
        let cinema = Cinema::open().await;
        let tell =
            "insert into order_events (order_id, at, event, actor) values ($1, clock_timestamp(), 'held', 'visitor')";
        let (slow, quick, later) = (Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4());
        let mut position = ("0".to_owned(), Uuid::nil(), "held".to_owned());
        let mut read = Vec::new();
        let mut transaction = cinema.db.begin().await.unwrap();
        sqlx::query(tell).bind(slow).execute(&mut *transaction).await.unwrap();
        sqlx::query(tell).bind(quick).execute(&cinema.db).await.unwrap();
        read.extend(read_by(&cinema, statement, &mut position).await);
        transaction.commit().await.unwrap();
        sqlx::query(tell).bind(later).execute(&cinema.db).await.unwrap();
        read.extend(read_by(&cinema, statement, &mut position).await);
        read.extend(read_by(&cinema, statement, &mut position).await);
        let expected = if skips { vec![quick, later] } else { vec![slow, quick, later] };
        assert_eq!(read, expected);
        cinema.is_broken_on_purpose();
    }
}

#[tokio::test]
async fn a_consumer_has_its_place_to_itself_and_is_followed_when_it_dies() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(2).await;
    cinema.visitor().hold(show, &[1]).await.unwrap();
    let lease = TimeDelta::seconds(60);
    let first = outbox::take(&cinema.db, "test", lease).await.unwrap().unwrap();
    assert_eq!(first, Position::start());
    assert_eq!(outbox::take(&cinema.db, "test", lease).await.unwrap(), None);
    let events = outbox::after(&cinema.db, &first, 10).await.unwrap();
    assert_eq!(events.len(), 1);
    // It dies; another takes over, does the same again, and remembers. The dead one's word comes too late.
    cinema.sql("update consumers set leased_until = '-infinity'").await;
    let second = outbox::take(&cinema.db, "test", lease).await.unwrap().unwrap();
    assert_eq!(second, first);
    assert!(outbox::advance(&cinema.db, "test", &second, &events[0].position).await.unwrap());
    assert!(!outbox::advance(&cinema.db, "test", &first, &events[0].position).await.unwrap());
    let third = outbox::take(&cinema.db, "test", lease).await.unwrap().unwrap();
    assert_eq!(outbox::after(&cinema.db, &third, 10).await.unwrap(), []);
    cinema.proves().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tickets_and_refunds_are_mailed_once_however_many_deliver() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(4).await;
    let folder = tempfile::tempdir().unwrap();
    let sold = cinema.visitor();
    let order = sold.hold(show, &[1, 2]).await.unwrap();
    pays_with_mail(&sold, order, "ada@example.org").await;
    let silent = cinema.visitor();
    let unmailed = silent.hold(show, &[3]).await.unwrap();
    silent.pay(unmailed, GOOD_CARD).await.unwrap();

    let late = cinema.visitor();
    let refunded = late.hold(show, &[4]).await.unwrap();
    let (office, gateway) = cinema.scripted_office();
    let late = late.goes_to(&office);
    let mut charge = gateway.next_charge_thinks();
    let payer = late.clone();
    let paying = tokio::spawn(async move { pays_with_mail(&payer, refunded, "bert@example.org").await });
    charge.began().await;
    cinema.expire(refunded).await;
    cinema.visitor().hold(show, &[4]).await.unwrap();
    charge.goes_on();
    paying.await.unwrap();

    let delivered: usize = all_at_once((0..4).map(|_| {
        let (office, mailer) = (cinema.another_office(), mailer(folder.path()));
        async move { mails::deliver(&office, &mailer).await.unwrap() }
    }))
    .await
    .into_iter()
    .sum();
    let again = mails::deliver(&cinema.office, &mailer(folder.path())).await.unwrap();
    assert_eq!(delivered + again, 2);
    let expected = BTreeSet::from([format!("{order}-tickets.eml"), format!("{refunded}-refund.eml")]);
    assert_eq!(files(folder.path()), expected);
    // Everything again, as after a restored position: nobody is mailed twice.
    cinema.sql("delete from consumers").await;
    assert_eq!(mails::deliver(&cinema.office, &mailer(folder.path())).await, Ok(0));

    let mail = std::fs::read_to_string(folder.path().join(format!("{order}-tickets.eml"))).unwrap();
    for words in [
        "To: ada@example.org",
        "From: \"The Meridian\" <tickets@meridian.example>",
        "Subject: Your tickets: Paper Comet",
        "Total: EUR 25.00",
    ] {
        assert!(mail.contains(words), "{words}: {mail}");
    }
    assert!(mail.replace("=\r\n", "").contains(&format!("https://meridian.example/orders/{order}")), "{mail}");
    let mail = std::fs::read_to_string(folder.path().join(format!("{refunded}-refund.eml"))).unwrap();
    assert!(mail.contains("EUR 12.50 at"), "{mail}");
    cinema.proves().await;
}

/// A disk that is full, a server that is away: nothing is skipped, and it leaves when it can.
#[tokio::test]
async fn a_mail_that_cannot_leave_waits_and_is_not_lost() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(2).await;
    let ada = cinema.visitor();
    let order = ada.hold(show, &[1]).await.unwrap();
    pays_with_mail(&ada, order, "ada@example.org").await;
    let folder = tempfile::tempdir().unwrap();
    let in_the_way = folder.path().join("mails");
    std::fs::write(&in_the_way, "a file where the folder should be").unwrap();
    for _ in 0..2 {
        assert_eq!(mails::deliver(&cinema.office, &mailer(&in_the_way)).await, Ok(0));
    }
    // Nobody listens there.
    let nowhere = Mailer::new("smtp://127.0.0.1:1", "tickets@meridian.example", "https://meridian.example").unwrap();
    assert_eq!(mails::deliver(&cinema.office, &nowhere).await, Ok(0));
    std::fs::remove_file(&in_the_way).unwrap();
    assert_eq!(mails::deliver(&cinema.office, &mailer(&in_the_way)).await, Ok(1));
    assert_eq!(files(&in_the_way), BTreeSet::from([format!("{order}-tickets.eml")]));
    cinema.proves().await;
}
