//! Mails by a mail server: what arrives, and what becomes of a mail when the server refuses it, puts it off, hangs up, or
//! loses its answer.

use std::time::Duration;

use mailparse::{MailHeaderMap, ParsedMail, parse_mail};
use matinee::box_office::mails::{self, Mailer};
use matinee::box_office::{self, Progress};
use matinee::domain::ids::{OrderId, ShowId};
use matinee::domain::payment::{Card, Email};

use crate::support::smtp::{MailServer, Reaction};
use crate::support::{Cinema, GOOD_CARD, an_attempt};

const FROM: &str = "tickets@meridian.example";

/// `AUTH PLAIN` of the name `matinee` and the password `secret`.
const LOGIN: &str = "AG1hdGluZWUAc2VjcmV0";

fn mailer(server: &MailServer, login: &str) -> Mailer {
    Mailer::new(&format!("smtp://{login}{}", server.address), FROM, "https://meridian.example").unwrap()
}

/// Somebody buys a seat and wants the ticket there.
async fn sold_to(cinema: &Cinema, show: ShowId, seat: i16, to: &str) -> OrderId {
    let visitor = cinema.visitor();
    let order = visitor.hold(show, &[seat]).await.unwrap();
    let (card, email) = (Card::parse(GOOD_CARD).unwrap(), Email::parse(to).unwrap());
    let paid = box_office::pay(&visitor.office, visitor.id, order, an_attempt(), card, email).await;
    assert_eq!(paid, Ok(Progress::Told));
    order
}

/// As if all mails that wait had waited long enough.
async fn time_passes(cinema: &Cinema) {
    cinema.sql("update mails set next_try_at = '-infinity' where sent_at is null and refused is null").await;
}

/// What our row says of a mail: whether it has left, why it was written off, how often it was put off.
async fn noted(cinema: &Cinema, order: OrderId) -> (bool, Option<String>, i32) {
    sqlx::query_as("select sent_at is not null, refused, tries from mails where order_id = $1")
        .bind(order.0)
        .fetch_one(&cinema.db)
        .await
        .unwrap()
}

fn header(mail: &ParsedMail<'_>, name: &str) -> String {
    let values = mail.headers.get_all_values(name);
    assert_eq!(values.len(), 1, "{name}: {values:?}");
    values[0].clone()
}

/// What a reader sees of it; the date differs with every try.
fn read(text: &str) -> (Vec<String>, String) {
    let mail = parse_mail(text.as_bytes()).unwrap();
    let headers = ["From", "To", "Subject", "Message-ID", "Content-Type", "Content-Transfer-Encoding"]
        .map(|name| header(&mail, name));
    (headers.to_vec(), mail.get_body().unwrap())
}

#[tokio::test]
async fn a_ticket_arrives_once_as_it_was_written_and_as_it_lies_in_a_folder() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(2).await;
    // Words that no header and no line of seven bits can carry as they are; a line that begins with a full stop.
    cinema.sql("update films set title = E'Die K\\u00e4lte \\u2013 \\u6620\\u753b\\n.\\nBcc: x@example.org'").await;
    let server = MailServer::with_login(Some(LOGIN)).await;
    let order = sold_to(&cinema, show, 1, "ada@example.org").await;
    let mailer = mailer(&server, "matinee:secret@");
    assert_eq!(mails::deliver(&cinema.office, &mailer).await, Ok(1));
    for _ in 0..2 {
        assert_eq!(mails::deliver(&cinema.office, &mailer).await, Ok(0));
    }
    cinema.sql("delete from consumers").await;
    assert_eq!(mails::deliver(&cinema.office, &mailer).await, Ok(0));

    let taken = server.taken();
    assert_eq!(taken.len(), 1, "{taken:?}");
    assert_eq!((&*taken[0].from, &*taken[0].to), (FROM, "ada@example.org"));
    assert!(taken[0].text.is_ascii(), "{:?}", taken[0].text);
    let (headers, body) = read(&taken[0].text);
    assert_eq!(headers[0], "\"The Meridian\" <tickets@meridian.example>");
    assert_eq!(headers[1], "ada@example.org");
    assert!(headers[2].starts_with("Your tickets: Die Kälte – 映画"), "{}", headers[2]);
    assert_eq!(headers[4], "text/plain; charset=utf-8", "or every umlaut is two letters");
    let name = order.to_string().replace('-', ".");
    assert_eq!(headers[3], format!("<{name}.tickets@meridian.example>"));
    let code: String = sqlx::query_scalar("select code from tickets").fetch_one(&cinema.db).await.unwrap();
    let order_address = format!("https://meridian.example/orders/{order}");
    for words in
        ["Die Kälte – 映画", "\n.\r\nBcc: x@example.org", "Lantern Room", "Total: EUR 12.50", &code, &order_address]
    {
        let plain = body.replace("\r\n", "\n");
        assert!(plain.contains(&words.replace("\r\n", "\n")), "{words}: {body}");
    }

    // The same, as a file.
    let folder = tempfile::tempdir().unwrap();
    cinema.sql("delete from consumers; delete from mails").await;
    let to_folder = Mailer::new(folder.path().to_str().unwrap(), FROM, "https://meridian.example").unwrap();
    assert_eq!(mails::deliver(&cinema.office, &to_folder).await, Ok(1));
    let file = std::fs::read_to_string(folder.path().join(format!("{order}-tickets.eml"))).unwrap();
    let (file_headers, file_body) = read(&file);
    assert_eq!((file_headers, file_body.trim_end()), (headers, body.trim_end()));
    cinema.proves().await;
}

/// One address that nobody lives at, one whose mail is not wanted, one that is put off for ever, one that makes the server
/// hang up: each is dealt with by itself, and those behind them have their tickets at once.
#[tokio::test]
async fn no_mail_keeps_the_others_waiting() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(6).await;
    let server = MailServer::open().await;
    let mailer = mailer(&server, "");
    let puts_off = [Reaction::Recipient("451 4.7.1 later"); 3];
    let cases: [(&str, &[Reaction]); 6] = [
        ("nobody@example.org", &[Reaction::Recipient("550 5.1.1 nobody here")]),
        // In the letters of no mail server that says nothing of SMTPUTF8.
        ("ä@example.org", &[]),
        ("unwanted@example.org", &[Reaction::Mail("554 5.7.1 no")]),
        ("grey@example.org", &puts_off),
        ("odd@example.org", &[Reaction::HangsUp, Reaction::HangsUp, Reaction::Mail("452 4.3.1 full")]),
        ("ada@example.org", &[]),
    ];
    let mut orders = Vec::new();
    for (seat, (to, reactions)) in (1..).zip(cases) {
        server.next(to, reactions);
        orders.push(sold_to(&cinema, show, seat, to).await);
    }
    assert_eq!(mails::deliver(&cinema.office, &mailer).await, Ok(1));
    assert_eq!(server.taken_for("ada@example.org").len(), 1, "behind all the others, and not kept");
    for (order, words) in [(orders[0], "nobody here"), (orders[1], ""), (orders[2], "5.7.1")] {
        let (left, refused, tries) = noted(&cinema, order).await;
        assert!(!left && tries == 0 && refused.as_ref().is_some_and(|why| why.contains(words)), "{refused:?}");
    }
    for order in &orders[3..5] {
        assert_eq!(noted(&cinema, *order).await, (false, None, 1));
    }
    // Not before their time; twice more in vain; then they leave.
    assert_eq!(mails::deliver(&cinema.office, &mailer).await, Ok(0));
    assert_eq!(noted(&cinema, orders[3]).await.2, 1);
    for tries in [2, 3] {
        time_passes(&cinema).await;
        assert_eq!(mails::deliver(&cinema.office, &mailer).await, Ok(0));
        assert_eq!((noted(&cinema, orders[3]).await.2, noted(&cinema, orders[4]).await.2), (tries, tries));
    }
    time_passes(&cinema).await;
    assert_eq!(mails::deliver(&cinema.office, &mailer).await, Ok(2));
    time_passes(&cinema).await;
    assert_eq!(mails::deliver(&cinema.office, &mailer).await, Ok(0));
    for (to, _) in &cases[3..] {
        assert_eq!(server.taken_for(to).len(), 1, "{to}");
    }
    assert_eq!(server.taken().len(), 3);
    cinema.proves().await;
}

/// Three days later it is written off, with the server's last words.
#[tokio::test]
async fn a_mail_that_is_put_off_for_days_is_written_off() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(1).await;
    let server = MailServer::open().await;
    let order = sold_to(&cinema, show, 1, "grey@example.org").await;
    server.next("grey@example.org", &[Reaction::Recipient("451 4.7.1 later"); 2]);
    assert_eq!(mails::deliver(&cinema.office, &mailer(&server, "")).await, Ok(0));
    time_passes(&cinema).await;
    cinema.sql("update mails set asked_at = asked_at - interval '73 hours'").await;
    assert_eq!(mails::deliver(&cinema.office, &mailer(&server, "")).await, Ok(0));
    let (left, refused, _) = noted(&cinema, order).await;
    assert!(!left && refused.as_ref().is_some_and(|why| why.contains("later")), "{refused:?}");
    let before = server.connections();
    time_passes(&cinema).await;
    assert_eq!(mails::deliver(&cinema.office, &mailer(&server, "")).await, Ok(0));
    assert_eq!(server.connections(), before, "it is asked no more");
    cinema.proves().await;
}

/// A wrong password is refused "for good" by the server; it is no word about any mail.
#[tokio::test]
async fn a_server_that_does_not_know_us_costs_no_mail() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(2).await;
    let server = MailServer::with_login(Some(LOGIN)).await;
    let orders =
        [sold_to(&cinema, show, 1, "ada@example.org").await, sold_to(&cinema, show, 2, "bert@example.org").await];
    for login in ["matinee:wrong@", ""] {
        assert_eq!(mails::deliver(&cinema.office, &mailer(&server, login)).await, Ok(0), "{login}");
    }
    assert_eq!(server.taken(), []);
    assert_eq!(mails::deliver(&cinema.office, &mailer(&server, "matinee:secret@")).await, Ok(2));
    for order in orders {
        assert_eq!(noted(&cinema, order).await, (true, None, 0));
    }
    cinema.proves().await;
}

/// The server takes the mail and its answer is lost. Nobody knows, so it is sent again: at least once is what is promised of
/// the way to the mail server, and the two are one mail by their name.
#[tokio::test]
async fn a_mail_whose_answer_is_lost_is_sent_again_under_the_same_name() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(2).await;
    let server = MailServer::open().await;
    let order = sold_to(&cinema, show, 1, "ada@example.org").await;
    server.next("ada@example.org", &[Reaction::FallsSilent]);
    let hasty = Mailer { patience: Duration::from_secs(5), ..mailer(&server, "") };
    assert_eq!(mails::deliver(&cinema.office, &hasty).await, Ok(0));
    assert!(!noted(&cinema, order).await.0);
    time_passes(&cinema).await;
    let other = sold_to(&cinema, show, 2, "bert@example.org").await;
    assert_eq!(mails::deliver(&cinema.office, &mailer(&server, "")).await, Ok(2));
    time_passes(&cinema).await;
    assert_eq!(mails::deliver(&cinema.office, &mailer(&server, "")).await, Ok(0));
    let twice = server.taken_for("ada@example.org");
    assert_eq!(twice.len(), 2);
    assert_eq!(read(&twice[0].text), read(&twice[1].text));
    assert!(noted(&cinema, order).await.0 && noted(&cinema, other).await.0);
    cinema.proves().await;
}

/// Whoever claimed a mail and died is followed, though the outbox has been read on meanwhile.
#[tokio::test]
async fn a_mail_of_a_server_that_died_is_sent_by_another() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(2).await;
    let server = MailServer::open().await;
    let order = sold_to(&cinema, show, 1, "ada@example.org").await;
    cinema
        .sql("insert into mails (order_id, kind, recipient, claimed_at) select id, 'tickets', email, now() from orders")
        .await;
    sold_to(&cinema, show, 2, "bert@example.org").await;
    assert_eq!(mails::deliver(&cinema.office, &mailer(&server, "")).await, Ok(1));
    assert_eq!(server.taken_for("ada@example.org"), [], "somebody else may be sending it");
    cinema.sql("update mails set claimed_at = claimed_at - interval '61 seconds' where sent_at is null").await;
    assert_eq!(mails::deliver(&cinema.office, &mailer(&server, "")).await, Ok(1));
    assert_eq!(server.taken_for("ada@example.org").len(), 1);
    assert!(noted(&cinema, order).await.0);
    cinema.proves().await;
}
