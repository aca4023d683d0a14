//! Incidents from the door to the operator: kept word for word, told once, settled once.

use std::process::{Command, Output, Stdio};

use axum::Router;
use axum::routing::post;
use chrono::Utc;
use matinee::box_office::gateway::http::HttpGateway;
use matinee::box_office::gateway::{Charge, Gateway};
use matinee::domain::ids::{OrderId, PaymentId};
use matinee::domain::incident::{Evidence, Incident, Kind, Source};
use matinee::domain::money::Money;
use matinee::domain::payment::Card;
use matinee::gateway::signature;
use matinee::store::incidents;
use reqwest::StatusCode;
use reqwest::header::CONTENT_TYPE;
use uuid::Uuid;

use crate::browser::{Browser, WEBHOOK_SECRET, serve};
use crate::support::{Books, Cinema, GOOD_CARD, PRICE};

/// Says something, signed.
async fn says(site: &Browser, body: &str) -> StatusCode {
    let signed = signature::sign(&[WEBHOOK_SECRET], body.as_bytes(), Utc::now().timestamp());
    let request = site.raw_post("/webhooks/gateway", body.to_owned()).header(CONTENT_TYPE, "application/json");
    site.send(request.header(signature::HEADER, signed)).await.status
}

/// Not as any library would write it: what is kept must be this, and not what it means.
fn captured(reference: &str, metadata: &str, amount_minor: i64) -> String {
    format!(
        "{{\"type\" : \"charge.captured\",\n\t\"data\":{{\"status\":\"captured\", \"currency\":\"EUR\", \"id\":\"{reference}\", \
         \"amount_minor\":  {amount_minor}, \"fee\": 1.50e0, \"note\":\"Gr\\u00fc\u{df}e\", \"metadata\":{metadata} }} }} "
    )
}

async fn all(cinema: &Cinema) -> Vec<Incident> {
    incidents::list(&cinema.db, true).await.unwrap()
}

/// Told three times, at once and later: one row, whose evidence is the message that was signed, byte for byte.
#[tokio::test(flavor = "multi_thread")]
async fn money_that_is_nobodys_is_kept_word_for_word() {
    let cinema = Cinema::open().await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let unknown = PaymentId(Uuid::new_v4());
    let cases = [
        ("ch_unknown", format!("{{\"payment\":\"{unknown}\"}}"), Some(unknown)),
        ("ch_unnamed", "{}".to_owned(), None),
        ("ch_elsewhere", "{\"payment\":\"invoice 7\"}".to_owned(), None),
        ("ch_odd", "{\"payment\":7}".to_owned(), None),
        ("ch_none", "null".to_owned(), None),
    ];
    for (reference, metadata, payment) in cases {
        let body = captured(reference, &metadata, PRICE);
        for _ in 0..3 {
            assert_eq!(says(&visitor, &body).await, StatusCode::NO_CONTENT, "{reference}");
        }
        let kept = all(&cinema).await.into_iter().filter(|incident| incident.charge == reference).collect::<Vec<_>>();
        assert_eq!(kept.len(), 1, "{kept:?}");
        assert_eq!((kept[0].kind, kept[0].payment), (Kind::UnknownCharge, payment));
        assert_eq!(kept[0].amount, Money::new(PRICE, "EUR".parse().unwrap()));
        assert_eq!(kept[0].evidence, Evidence::message(body));
    }
    assert_eq!(all(&cinema).await.len(), 5);
    cinema.proves().await;
}

/// A second charge in a paid payment's name is nobody's: the tickets stay, the money is not forgotten, and `prove` knows it.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_charge_for_a_paid_payment_is_set_aside() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(2).await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let order = visitor.hold(show, &[1]).await.order();
    visitor.pay(order, GOOD_CARD).await;
    let payment = cinema.payments(order).await[0].id;
    sqlx::query(
        "insert into gateway.charges (id, idempotency_key, amount_minor, currency, status, captured_at, metadata)
         values ('ch_second', 'another key', $1, 'EUR', 'captured', now(), jsonb_build_object('payment', $2::text))",
    )
    .bind(PRICE)
    .bind(payment.to_string())
    .execute(&cinema.db)
    .await
    .unwrap();
    let found = matinee::box_office::prove(&cinema.office).await.unwrap();
    assert!(found.iter().any(|breach| breach.row.contains("ch_second")), "{found:?}");
    let body = captured("ch_second", &format!("{{\"payment\":\"{payment}\"}}"), PRICE);
    for _ in 0..2 {
        assert_eq!(says(&visitor, &body).await, StatusCode::NO_CONTENT);
    }
    let kept = all(&cinema).await;
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!((kept[0].kind, kept[0].payment), (Kind::UnknownCharge, Some(payment)));
    assert_eq!(kept[0].evidence, Evidence::message(body));
    assert_eq!(cinema.ticketed(order).await, [1]);
    assert_eq!(cinema.books(order).await, Books::sold_for(PRICE));
    cinema.proves().await;
}

/// What could not be kept is refused, and not for ever half believed: a key of 3,000 letters, a NUL, less than nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_signed_message_that_no_row_could_keep_is_refused_whole() {
    let cinema = Cinema::open().await;
    let visitor = Browser::at(serve(&cinema.office).await);
    let long = "x".repeat(3_000);
    for reference in ["", "\\u0000", "ch 1", "ch_\\u202e", &long] {
        assert_eq!(says(&visitor, &captured(reference, "{}", PRICE)).await, StatusCode::BAD_REQUEST, "{reference}");
        let refund =
            format!("{{\"type\":\"refund.succeeded\",\"data\":{{\"id\":\"re_1\",\"charge\":\"{reference}\"}}}}");
        assert_eq!(says(&visitor, &refund).await, StatusCode::BAD_REQUEST, "{reference}");
    }
    assert_eq!(says(&visitor, &captured("ch_1", "{}", -1)).await, StatusCode::BAD_REQUEST);
    assert_eq!(all(&cinema).await, []);
    cinema.proves().await;
}

/// The gateway's answers are evidence too, as they came.
#[tokio::test]
async fn an_answer_is_kept_as_it_came() {
    const BODY: &str = "{ \"id\":\"ch_1\",\"status\":\"captured\",\n \"amount_minor\":7,\"currency\":\"JPY\" }\n";
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gateway =
        HttpGateway::new(&format!("http://{}", listener.local_addr().unwrap()), "key", "http://cinema.example")
            .unwrap();
    let answers = Router::new().route("/v1/charges", post(async || BODY));
    tokio::spawn(async move { axum::serve(listener, answers).await });
    let (payment, order) = (PaymentId(Uuid::new_v4()), OrderId(Uuid::new_v4()));
    let amount = Money::new(PRICE, "EUR".parse().unwrap());
    let charge = gateway.charge(payment, order, amount, &Card::parse(GOOD_CARD).unwrap()).await.unwrap();
    let Charge::Captured(capture) = charge else { panic!("{charge:?}") };
    assert_eq!(capture.evidence, Some(Evidence::answer(BODY.to_owned())));
}

async fn matinee(cinema: &Cinema, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_matinee"));
    command.args(arguments).args(["--database-url", &cinema.url()]).env("RUST_LOG", "error").env("USER", "olga");
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_lists_incidents_and_settles_each_once() {
    let cinema = Cinema::open().await;
    let visitor = Browser::at(serve(&cinema.office).await);
    assert_eq!(said(&matinee(&cinema, &["incidents"]).await), "No incident is open.\n");
    let unknown = Uuid::new_v4();
    let body = captured("ch_1", &format!("{{\"payment\":\"{unknown}\"}}"), PRICE).replace("fee", "\u{202e}fee");
    assert_eq!(says(&visitor, &body).await, StatusCode::NO_CONTENT);
    assert_eq!(says(&visitor, &captured("ch_2", "{}", 2 * PRICE)).await, StatusCode::NO_CONTENT);
    cinema
        .sql(
            "insert into incidents (charge, kind, amount_minor, currency, evidence)
             values ('ch_0', 'wrong_amount', 1, 'JPY', '{\"from\": \"long ago\"}')",
        )
        .await;

    let listed = said(&matinee(&cinema, &["incidents"]).await);
    for words in [
        "unknown_charge EUR 12.50, charge ch_1",
        &unknown.to_string(),
        "its message, word for word: {\"type\" : \"charge.captured\",\\n\\t\"data\"",
        "\\u{202e}fee",
        "unknown_charge EUR 25.00, charge ch_2 of no payment",
        "wrong_amount JPY 1, charge ch_0",
        "what was read in its words; these were not kept: {\"from\": \"long ago\"}",
        "3 incidents are open.",
    ] {
        assert!(listed.contains(words), "{words}: {listed}");
    }
    assert!(!listed.contains('\u{202e}'), "a terminal would turn it around");

    let number = all(&cinema).await[0].id;
    let settle = |note: &'static str| {
        let (cinema, number) = (&cinema, format!("#{number}"));
        async move { matinee(cinema, &["incidents", "--settle", &number, "--note", note]).await }
    };
    let first = said(&settle("given back by hand").await);
    assert!(first.contains(", by olga: given back by hand") && first.lines().count() == 1, "{first}");
    assert_eq!(said(&settle("given back by hand").await), first, "again: the same answer");
    let other = said(&settle("something else").await);
    assert!(other.starts_with(&first) && other.contains("noted before"), "{other}");
    let open = said(&matinee(&cinema, &["incidents"]).await);
    assert!(!open.contains("ch_1") && open.contains("2 incidents are open."), "{open}");
    let all_of_them = said(&matinee(&cinema, &["incidents", "--all"]).await);
    assert!(all_of_them.contains("by olga: given back by hand") && all_of_them.contains("fee"), "{all_of_them}");

    let settled = all(&cinema).await.remove(0);
    assert_eq!((settled.evidence.source, settled.evidence.text), (Source::Message, body), "nothing is dropped");
    for refused in [
        &["incidents", "--settle", "999", "--note", "x"][..],
        &["incidents", "--settle", "1"],
        &["incidents", "--note", "x"],
    ] {
        assert!(!matinee(&cinema, refused).await.status.success(), "{refused:?}");
    }
    for change in ["update incidents set evidence = ''", "delete from settlements", "delete from incidents"] {
        let refused = sqlx::query(change).execute(&cinema.db).await.unwrap_err();
        assert!(refused.to_string().contains("immutable"), "{change}: {refused}");
    }
    cinema.proves().await;
}

/// A server that starts says so in one line, and says nothing when there is nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_starts_warns_of_open_incidents() {
    let cinema = Cinema::open().await;
    let logged = async || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_matinee"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--database-url", &cinema.url()]);
        command.env("RUST_LOG", "matinee=warn").stdout(Stdio::piped()).stderr(Stdio::piped());
        tokio::task::spawn_blocking(move || {
            use std::io::{BufRead, BufReader, Read};
            let mut server = command.spawn().unwrap();
            let mut first = String::new();
            BufReader::new(server.stdout.take().unwrap()).read_line(&mut first).unwrap();
            assert!(first.starts_with("Matinee is open"), "{first}");
            server.kill().unwrap();
            let mut log = String::new();
            server.stderr.take().unwrap().read_to_string(&mut log).unwrap();
            server.wait().unwrap();
            log
        })
        .await
        .unwrap()
    };
    let about = |log: &str| log.lines().filter(|line| line.contains("`matinee incidents`")).count();
    assert_eq!(about(&logged().await), 0);
    let visitor = Browser::at(serve(&cinema.office).await);
    assert_eq!(says(&visitor, &captured("ch_1", "{}", PRICE)).await, StatusCode::NO_CONTENT);
    let log = logged().await;
    assert_eq!(about(&log), 1, "{log}");
    assert!(log.contains("open=1"), "{log}");
    cinema.proves().await;
}
