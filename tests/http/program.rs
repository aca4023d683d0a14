//! The program at its command line: each fault of its surroundings is one clear line and an exit with an error.

use std::process::{Command, Output};

use crate::support::{Cinema, GOOD_CARD, Visitor};

fn matinee(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_matinee"))
        .args(arguments)
        .env_remove("DATABASE_URL")
        .env("RUST_LOG", "error")
        .output()
        .unwrap()
}

/// One line on standard error that says this, and an error code.
fn fails_with(output: &Output, words: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains(words), "{words:?} is not in {said:?}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn no_postgres_to_be_found() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_matinee"))
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(folder.path())
        .env_remove("DATABASE_URL")
        .env("MATINEE_PG_BIN", folder.path())
        .env("RUST_LOG", "error")
        .output()
        .unwrap();
    fails_with(&output, "install Debian's `postgresql`, set MATINEE_PG_BIN");
}

#[test]
fn a_taken_port() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    fails_with(&matinee(&["serve", "--listen", &address]), "choose another address with --listen");
}

#[test]
fn a_data_folder_that_cannot_be_written() {
    fails_with(
        &matinee(&["serve", "--listen", "127.0.0.1:0", "--data-dir", "/proc/matinee"]),
        "cannot write to the data folder",
    );
}

#[test]
fn a_database_that_is_not_there() {
    let output = matinee(&["serve", "--listen", "127.0.0.1:0", "--database-url", "postgres://nobody@127.0.0.1:1/none"]);
    fails_with(&output, "the database cannot be reached");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_a_newer_version() {
    let cinema = Cinema::open().await;
    cinema.sql("insert into _sqlx_migrations values (9999, 'from the future', now(), true, 'x', 1)").await;
    let output = matinee(&["serve", "--listen", "127.0.0.1:0", "--database-url", &cinema.url()]);
    fails_with(&output, "it was used by a newer version");
    cinema.is_broken_on_purpose();
}

/// The demo's sold seats are paid for in the books of the simulated card processor; with another one there are none.
#[tokio::test(flavor = "multi_thread")]
async fn seed_says_what_is_sold_and_why_nothing_is() {
    let cinema = Cinema::open().await;
    for (another, says) in [(true, "0 of them sold.\nNone is sold: that would need charges"), (false, " 0 new shows ")]
    {
        let url = cinema.url();
        let mut arguments = vec!["seed", "--database-url", &url];
        if another {
            arguments.extend(["--gateway-url", "http://127.0.0.1:1", "--gateway-key", "another"]);
        }
        let output = matinee(&arguments);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && said.contains(says), "{output:?}");
    }
    let within = cinema.next_door().await;
    let output = matinee(&["seed", "--database-url", &within.url()]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && !said.contains(" 0 of them sold"), "{output:?}");
    cinema.proves().await;
    within.proves().await;
}

/// Not found out at the first payment.
#[tokio::test(flavor = "multi_thread")]
async fn a_card_processor_that_cannot_be_used_is_said_at_the_start() {
    let cinema = Cinema::open().await;
    let url = cinema.url();
    for (flags, why) in [
        (&["--gateway-url", "http://127.0.0.1:9"][..], "--gateway-url needs --gateway-key"),
        (&["--gateway-url", "nonsense", "--gateway-key", "k"], "--gateway-url nonsense is not an address"),
        (&["--gateway-url", "ftp://h", "--gateway-key", "k"], "--gateway-url ftp://h is not an address"),
    ] {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--database-url", &url];
        fails_with(&matinee(&[&serve[..], flags].concat()), why);
    }
    cinema.proves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prove_names_each_breach_and_exits_with_an_error() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(8).await;
    let kept = matinee(&["prove", "--database-url", &cinema.url()]);
    assert!(kept.status.success(), "{kept:?}");
    let order = cinema.visitor().hold(show, &[1]).await.unwrap();
    sqlx::query("update seats set status = 'booked', locked_at = null where order_id = $1")
        .bind(order.0)
        .execute(&cinema.db)
        .await
        .unwrap();
    let broken = matinee(&["prove", "--database-url", &cinema.url()]);
    fails_with(&broken, "breaches found");
    let named = String::from_utf8_lossy(&broken.stdout).into_owned();
    assert!(
        named.contains("BREACH P1: a booked seat has no ticket of its order") && named.contains(&show.to_string()),
        "{named}"
    );
    cinema.is_broken_on_purpose();
}

#[tokio::test(flavor = "multi_thread")]
async fn reconcile_finishes_what_a_crash_left_open() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(1).await;
    let (office, gateway) = cinema.scripted_office();
    let ada = Visitor::at(&office);
    let order = ada.hold(show, &[1]).await.unwrap();
    gateway.next_charge_loses_its_answer();
    gateway.next_finds_are_silent(1);
    ada.pay(order, GOOD_CARD).await.unwrap();
    cinema.age_payments(order).await;
    for said in ["1 payments settled, 0 refunds made.", "0 payments settled, 0 refunds made."] {
        let url = cinema.url();
        let output =
            tokio::task::spawn_blocking(move || matinee(&["reconcile", "--database-url", &url])).await.unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), said);
    }
    assert!(cinema.is_sold(order).await);
    cinema.proves().await;
}
