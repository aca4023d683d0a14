//! The statements of a payment by themselves: how long Postgres executes its start and its confirmation, beside what they
//! would be without the saga, and how often a whole sale asks the database.

use std::sync::Arc;

use matinee::box_office::gateway::Charge;
use matinee::box_office::gateway::http::HttpGateway;
use matinee::box_office::{self, BoxOffice};
use matinee::domain::hold::Selection;
use matinee::domain::ids::{Attempt, ShowId, VisitorId};
use matinee::domain::payment::{Capture, Card, PaymentState};
use matinee::domain::seat::SeatNo;
use matinee::domain::ticket::TicketCode;
use matinee::gateway::{self, Settings};
use matinee::store::{cinemas, payments, pool};
use rand::seq::SliceRandom;
use rand::{Rng, rng};
use serde_json::Value;
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;
use sqlx::types::Json;
use tokio::net::TcpListener;
use uuid::Uuid;

use crate::cinema::{Cinema, SEATS, show_id};
use crate::report::Row;
use crate::rounds::{Spread, percentile};
use crate::statement::{HOLD, without_story};
use crate::trips::Trips;
use crate::{Options, Result};

/// The product's own texts.
const START: &str = include_str!("../../src/store/sql/start_payment.sql");
const CONFIRM: &str = include_str!("../../src/store/sql/confirm.sql");
/// The confirmation of before, to know what the saga costs on this machine today.
const CONFIRM_BEFORE: &str = include_str!("confirm_before.sql");

const SHOWS: usize = 34;
/// Sales of one kind before it is the other's turn.
const TURN: usize = 30;

/// Execution times of a payment's statements, and the questions of a sale.
pub async fn measure(cinema: &Cinema, options: &Options) -> Result<Vec<Row>> {
    let (rounds, sales) = if options.quick { (3, 60) } else { (7, 150) };
    // A round of sales with the saga and without it: medians of the start, medians of the confirmation.
    let (mut starts, mut confirms) = ([vec![], vec![]], [vec![], vec![]]);
    for round in 0..=rounds {
        let mut till = Till::open(cinema).await?;
        let (mut start_ms, mut confirm_ms) = ([vec![], vec![]], [vec![], vec![]]);
        for turn in 0..2 * sales / TURN {
            for _ in 0..TURN {
                let (start, confirm) = till.sell(turn % 2 == 0).await?;
                start_ms[turn % 2].push(start);
                confirm_ms[turn % 2].push(confirm);
            }
        }
        till.check().await?;
        // The first round warms everything up.
        if round > 0 {
            for kind in 0..2 {
                starts[kind].push(percentile(&mut start_ms[kind], 0.5));
                confirms[kind].push(percentile(&mut confirm_ms[kind], 0.5));
            }
        }
    }
    let mut rows = Vec::new();
    for (statement, before, [with, without]) in [
        ("Start of a payment of 4 seats", "without the story’s row", starts),
        ("Confirmation of 4 seats", "before the saga (no story, no amounts, no incident)", confirms),
    ] {
        let ratios: Vec<f64> = with.iter().zip(&without).map(|(with, without)| with / without).collect();
        rows.push(Row::spread(format!("{statement}, execution"), Spread::of(&with), "ms"));
        rows.push(Row::new(
            format!("The same {before}; the product’s / that"),
            format!("{}; {} times", Spread::of(&without).show("ms"), Spread::of(&ratios).show("")),
        ));
    }
    rows.push(count_the_questions(cinema).await?);
    Ok(rows)
}

/// A connection that sells, and the places that are left.
struct Till<'a> {
    cinema: &'a Cinema,
    connection: PgConnection,
    places: Vec<(usize, usize)>,
    sold: i64,
}

impl<'a> Till<'a> {
    async fn open(cinema: &'a Cinema) -> Result<Self> {
        cinema.fill(SHOWS, SEATS).await?;
        // Payments from before: a cinema that has never sold would have its statements planned for an empty table.
        cinema
            .run(
                "truncate order_events;
                 insert into payments (id, order_id, attempt, amount_minor, currency, state, started_at, settled_at, reason)
                 select gen_random_uuid(), id, gen_random_uuid(), 1250, 'EUR', 'declined', now(), now(), 'no' from orders",
            )
            .await?;
        for table in ["payments", "order_events"] {
            cinema.run(&format!("vacuum analyze {table}")).await?;
        }
        let mut connection = cinema.connect().await?;
        for (name, parameters, text) in [
            ("hold", "uuid, smallint[], uuid, uuid, bigint, bigint", HOLD.to_owned()),
            ("start", "uuid, uuid, uuid, text, text, uuid", START.to_owned()),
            ("start_before", "uuid, uuid, uuid, text, text, uuid", without_story(START)?),
            ("confirm", "uuid, text, bigint, text, text[], text, text, text", CONFIRM.to_owned()),
            ("confirm_before", "uuid, uuid, text, text[]", CONFIRM_BEFORE.to_owned()),
        ] {
            let prepare = format!("prepare {name} ({parameters}) as\n{text}");
            sqlx::raw_sql(AssertSqlSafe(prepare)).execute(&mut connection).await?;
        }
        let mut places: Vec<_> =
            (0..SHOWS).flat_map(|show| (0..SEATS / 4).map(move |nth| (show, nth * 4 + 1))).collect();
        places.shuffle(&mut rng());
        Ok(Self { cinema, connection, places, sold: 0 })
    }

    /// Sells four seats: how long the payment's start and its confirmation took.
    async fn sell(&mut self, with_the_saga: bool) -> Result<(f64, f64)> {
        let (show, first) = self.places.pop().ok_or("the cinema is sold out")?;
        let show = show_id(show);
        let seats = (first..first + 4).map(|seat| seat.to_string()).collect::<Vec<_>>().join(",");
        let [visitor, order, payment, attempt] = std::array::from_fn(|_| Uuid::from_u128(rng().random()));
        // As many as the product brings; the form of before brought as many as there are seats.
        let codes = |count| {
            let codes: Vec<String> = (0..count).map(|_| TicketCode::from_random(rng().random()).to_string()).collect();
            codes.join(",")
        };
        let hold = format!("execute hold ('{show}', '{{{seats}}}', '{visitor}', '{order}', 10, null)");
        sqlx::raw_sql(AssertSqlSafe(hold)).execute(&mut self.connection).await?;
        let suffix = if with_the_saga { "" } else { "_before" };
        let start = format!("start{suffix} ('{order}', '{payment}', '{attempt}', '4242', null, '{visitor}')");
        let confirm = if with_the_saga {
            let evidence = format!(r#"{{"charge": "ch_{payment}", "amount_minor": 5000, "currency": "EUR"}}"#);
            format!(
                "confirm ('{payment}', 'ch_{payment}', 5000, 'EUR', '{{{}}}', 'visitor', '{evidence}', 'reading')",
                codes(10)
            )
        } else {
            format!("confirm_before ('{order}', '{payment}', 'ch_{payment}', '{{{}}}')", codes(4))
        };
        self.sold += 1;
        Ok((self.execution_ms(&start).await?, self.execution_ms(&confirm).await?))
    }

    async fn execution_ms(&mut self, call: &str) -> Result<f64> {
        let explain = format!("explain (analyze, timing off, format json) execute {call}");
        let Json(plan): Json<Value> =
            sqlx::query_scalar(AssertSqlSafe(explain)).fetch_one(&mut self.connection).await?;
        plan[0]["Execution Time"].as_f64().ok_or_else(|| "a plan without its time".into())
    }

    /// Every sale is in the database.
    async fn check(&self) -> Result<()> {
        all_sold(self.cinema, self.sold).await
    }
}

/// So many orders of four seats are sold, with a ticket a seat and a payment that bought it.
pub async fn all_sold(cinema: &Cinema, sales: i64) -> Result<()> {
    let orders =
        cinema.number("select count(*) from orders where state = 'sold' and cardinality(seat_nos) = 4").await?;
    let tickets = cinema.number("select count(*) from tickets").await?;
    let payments = cinema.number("select count(*) from payments where bought").await?;
    if (orders, tickets, payments) == (sales, sales * 4, sales) {
        Ok(())
    } else {
        Err(format!(
            "{sales} sales were counted; there are {orders} sold orders, {tickets} tickets, {payments} payments"
        )
        .into())
    }
}

/// Sells twice by a way that counts; the second time nothing needs to be prepared.
async fn count_the_questions(cinema: &Cinema) -> Result<Row> {
    let trips = Trips::to(&cinema.url()).await?;
    let (row, _) = cinemas::get(&cinema.db).await?.ok_or("there is no cinema")?;
    let office = Arc::new(BoxOffice::new(pool::connect(&trips.url)?, row, Arc::new(open_gateway(cinema).await?)));
    let (show, visitor) = (ShowId(show_id(0).parse()?), VisitorId(Uuid::from_u128(rng().random())));
    cinema.fill(1, SEATS).await?;
    let mut asked = [0; 3];
    for first in [1, 5] {
        trips.since();
        let seats = Selection::new((first..first + 4).map(SeatNo).collect())?;
        let order = box_office::hold(&office, visitor, show, seats, Attempt(Uuid::new_v4()), None).await?;
        let held = trips.since();
        let card = Card::parse("4242 4242 4242 4242")?;
        box_office::pay(&office, visitor, order, Attempt(Uuid::new_v4()), card, None).await?;
        let paid = trips.since();
        let payment = payments::of_order(&cinema.db, order).await?.pop().ok_or("no payment")?;
        let PaymentState::Captured { reference, .. } = payment.state else { return Err("not paid".into()) };
        let capture = Capture { reference, amount: payment.amount, evidence: None };
        box_office::learn(&office, payment.id, Charge::Captured(capture)).await?;
        asked = [held, paid, trips.since()];
    }
    let [held, paid, told] = asked;
    Ok(Row::new(
        "Round trips of a sale to the database",
        format!("{held} to hold, {paid} to pay, {told} for the card processor’s message about it"),
    ))
}

/// The card processor, on a port of this machine.
async fn open_gateway(cinema: &Cinema) -> Result<HttpGateway> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let settings = Settings {
        pool: gateway::connect(&cinema.url())?,
        api_keys: vec!["key".to_owned()],
        webhook_secrets: vec![],
        webhook_url: None,
        public_url: format!("http://{address}"),
        merchant: "The Meridian".to_owned(),
    };
    tokio::spawn(async move { axum::serve(listener, gateway::router(settings)).await });
    Ok(HttpGateway::new(&format!("http://{address}"), "key", "http://cinema.example")?)
}
