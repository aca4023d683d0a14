//! The program killed with kill -9 between charge and confirmation, and started again: tickets, or one refund when the
//! seats have gone meanwhile, and nothing charged when the charge never arrived.

use std::net::SocketAddr;
use std::process::Stdio;

use matinee::domain::ids::OrderId;
use matinee::domain::order::OrderState;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::browser::Browser;
use crate::support::wires::{Exchange, Side, Wires};
use crate::support::{Books, Cinema, GATEWAY_KEY, GOOD_CARD, PRICE, until};

/// Is accepted after five seconds.
const SLOW_CARD: &str = "4000000000000341";

/// The program, speaking to the cinema's database and card processor over these wires.
async fn start(wires: &Wires) -> (Child, SocketAddr) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_matinee"))
        .args(["serve", "--listen", "127.0.0.1:0", "--database-url", &wires.database_url])
        .args(["--gateway-url", &wires.gateway_url, "--gateway-key", GATEWAY_KEY])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap();
    (process, line.split("http://").nth(1).unwrap().trim().parse().unwrap())
}

/// Where it is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// The charge is on its way and never arrives.
    BeforeCharge,
    /// The money is taken, the answer on its way.
    AfterCharge,
    /// The answer is there, the confirmation on its way.
    BeforeConfirm,
}

/// What happens before it is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meanwhile {
    Nothing,
    /// The hold lapses.
    Lapse,
    /// It lapses, and somebody else takes a seat.
    TakeOver,
}

async fn is_at_rest(cinema: &Cinema, order: OrderId) -> bool {
    !matches!(cinema.order(order).await.state, OrderState::Paying | OrderState::RefundOwed { .. })
}

async fn kill_and_start_again(moment: Moment) {
    let cinema = Cinema::open().await;
    for meanwhile in [Meanwhile::Nothing, Meanwhile::Lapse, Meanwhile::TakeOver] {
        let told = format!("{moment:?}, {meanwhile:?}");
        let show = cinema.show_of(2).await;
        let wires = cinema.wires().await;
        let (mut process, address) = start(&wires).await;
        let visitor = Browser::at(address);
        let order = visitor.hold(show, &[1, 2]).await.order();
        let (exchange, side) = match moment {
            Moment::BeforeCharge => ("POST /v1/charges HTTP", Side::Before),
            Moment::AfterCharge => ("POST /v1/charges HTTP", Side::After),
            Moment::BeforeConfirm => ("-- confirm\n", Side::Before),
        };
        wires.stop_at(Exchange::Saying(exchange), side);
        tokio::select! {
            answer = visitor.pay(order, GOOD_CARD) => panic!("{told}: {answer:?}"),
            () = wires.stopped() => {}
        }
        process.kill().await.unwrap();
        wires.cut();
        assert_eq!(cinema.order(order).await.state, OrderState::Paying, "{told}");
        let taken = if moment == Moment::BeforeCharge { Books::EMPTY } else { Books::sold_for(2 * PRICE) };
        assert_eq!(cinema.books(order).await, taken, "{told}");
        cinema.proves().await;

        cinema.age_payments(order).await;
        if meanwhile != Meanwhile::Nothing {
            cinema.expire(order).await;
        }
        if meanwhile == Meanwhile::TakeOver {
            cinema.visitor().hold(show, &[2]).await.unwrap();
        }
        // Nobody looks: starting is enough.
        let wires = cinema.wires().await;
        let (_process, address) = start(&wires).await;
        until("the order has ended", || is_at_rest(&cinema, order)).await;
        let visitor = visitor.goes_to(address);
        let page = visitor.get(&format!("/orders/{order}")).await.body;
        let sold = || page.matches("data-testid=\"ticket\"").count() == 2;
        match (moment, meanwhile) {
            (Moment::BeforeCharge, Meanwhile::Nothing) => {
                assert_eq!(cinema.books(order).await, Books::EMPTY, "{told}");
                visitor.pay(order, GOOD_CARD).await;
                assert_eq!(cinema.books(order).await, Books::sold_for(2 * PRICE), "{told}");
                assert_eq!(cinema.ticketed(order).await, [1, 2], "{told}");
            }
            (Moment::BeforeCharge, _) => {
                assert_eq!(cinema.books(order).await, Books::EMPTY, "{told}");
                assert!(page.contains("data-testid=\"lapsed-notice\""), "{told}: {page}");
            }
            (_, Meanwhile::Nothing | Meanwhile::Lapse) => {
                assert_eq!(cinema.books(order).await, Books::sold_for(2 * PRICE), "{told}");
                assert_eq!(cinema.ticketed(order).await, [1, 2], "{told}");
                assert!(sold(), "{told}: {page}");
            }
            (_, Meanwhile::TakeOver) => {
                assert!(cinema.is_refunded(order).await, "{told}");
                assert_eq!(cinema.books(order).await, Books::refunded(2 * PRICE), "{told}");
                assert!(!sold(), "{told}: {page}");
            }
        }
        cinema.proves().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_the_charge_arrives() {
    kill_and_start_again(Moment::BeforeCharge).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_charge() {
    kill_and_start_again(Moment::AfterCharge).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_the_confirmation() {
    kill_and_start_again(Moment::BeforeConfirm).await;
}

/// How the slow bank's charge stands.
async fn charge_is(cinema: &Cinema, expected: &str) -> bool {
    let status: Option<String> = sqlx::query_scalar("select status::text from gateway.charges order by nth desc")
        .fetch_optional(&cinema.db)
        .await
        .unwrap();
    status.as_deref() == Some(expected)
}

/// Killed while the bank thinks. Started again after the bank has decided, it finds the money; started before, it is told
/// that there is none, and then there never will be.
#[tokio::test(flavor = "multi_thread")]
async fn killed_while_the_bank_thinks() {
    for decided in [true, false] {
        let cinema = Cinema::open().await;
        let show = cinema.show_of(1).await;
        let wires = cinema.wires().await;
        let (mut process, address) = start(&wires).await;
        let visitor = Browser::at(address);
        let order = visitor.hold(show, &[1]).await.order();
        tokio::select! {
            answer = visitor.pay(order, SLOW_CARD) => panic!("{answer:?}"),
            () = until("the bank thinks", || charge_is(&cinema, "processing")) => {}
        }
        process.kill().await.unwrap();
        if decided {
            until("the bank has decided", || charge_is(&cinema, "captured")).await;
        }
        cinema.age_payments(order).await;
        let (_process, address) = start(&wires).await;
        until("the order has ended", || is_at_rest(&cinema, order)).await;
        if decided {
            assert_eq!(cinema.books(order).await, Books::sold_for(PRICE));
        } else {
            until("the bank would have decided", || async {
                let asked =
                    "select bool_and(decides_at + interval '1 second' < clock_timestamp()) from gateway.charges";
                sqlx::query_scalar::<_, bool>(asked).fetch_one(&cinema.db).await.unwrap()
            })
            .await;
            assert_eq!(cinema.books(order).await, Books::EMPTY);
            visitor.goes_to(address).pay(order, GOOD_CARD).await;
            assert_eq!(cinema.books(order).await, Books::sold_for(PRICE));
        }
        assert_eq!(cinema.ticketed(order).await, [1]);
        cinema.proves().await;
    }
}
