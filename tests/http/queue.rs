//! The waiting room at the door, without a script: the map leads there, the page leads back when it is one's turn.

use matinee::domain::ids::ShowId;
use reqwest::StatusCode;
use uuid::Uuid;

use crate::browser::{Answer, Browser, serve};
use crate::support::Cinema;

async fn joins(browser: &Browser, show: ShowId) -> Answer {
    let form = [("show", show.to_string()), ("attempt", Uuid::new_v4().to_string())];
    browser.submit("/api/join_queue", &format!("/shows/{show}/queue"), &form).await
}

#[tokio::test]
async fn a_visitor_waits_is_let_in_and_holds() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(5).await;
    let (map, room) = (format!("/shows/{show}"), format!("/shows/{show}/queue"));
    let browser = Browser::at(serve(&cinema.office).await);
    assert_eq!(browser.get(&room).await.location, Some(map.clone()), "there is nothing to wait for");

    cinema.opens_in(show, 3600.0, Some(600)).await;
    let sent = browser.get(&map).await;
    assert_eq!((sent.status, sent.location), (StatusCode::FOUND, Some(room.clone())));
    let page = browser.get(&room).await;
    assert_eq!((page.status, page.refresh, page.sets_cookie), (StatusCode::OK, None, false));
    assert!(page.body.contains("The sale has not opened yet") && page.body.contains("data-testid=\"join\""));

    let joined = joins(&browser, show).await;
    assert_eq!((joined.location, joined.sets_cookie), (Some(room.clone()), true));
    let page = browser.get(&room).await;
    assert!(page.body.contains("You are in the waiting room"), "{}", page.body);
    assert_eq!(page.refresh.as_deref(), Some("30"));
    assert_eq!(browser.hold(show, &[1]).await.json()["error"], "not_open_yet");

    // Ten a second: after 50 ms it is not yet the turn of the first.
    cinema.opens_in(show, -0.05, Some(600)).await;
    let early = browser.hold(show, &[1]).await;
    assert_eq!((early.status, early.json()["error"].as_str()), (StatusCode::FORBIDDEN, Some("not_your_turn")));
    cinema.opens_in(show, -0.1, Some(600)).await;
    let sent = browser.get(&room).await;
    assert_eq!((sent.status, sent.location), (StatusCode::FOUND, Some(map.clone())));
    assert_eq!(browser.get(&map).await.status, StatusCode::OK);
    browser.hold(show, &[1, 2]).await.order();

    // When the turn is over: whoever holds seats still sees them, whoever has none waits anew.
    cinema.opens_in(show, -0.1 - 900.0, Some(600)).await;
    assert!(browser.get(&map).await.body.contains("data-testid=\"held-notice\""));
    assert!(browser.get(&room).await.body.contains("Your turn is over"));
    assert_eq!(browser.hold(show, &[3]).await.status, StatusCode::FORBIDDEN);
    joins(&browser, show).await;
    assert_eq!(browser.get(&room).await.location, Some(map), "nobody else waits");
    browser.hold(show, &[3]).await.order();
    cinema.proves().await;
}

/// Forged, stolen, from another show: the map sends whoever carries such a pass to the waiting room, and the hold refuses.
#[tokio::test]
async fn a_forged_or_shared_pass_is_refused() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(5).await;
    cinema.opens_in(show, -60.0, Some(600)).await;
    let site = serve(&cinema.office).await;
    let ada = Browser::at(site);
    joins(&ada, show).await;
    ada.get(&format!("/shows/{show}/queue")).await;
    let name = format!("matinee-pass-{show}");
    let pass = ada.cookie(&name).unwrap();
    let friend = Browser::at(site);
    let other_show = cinema.show_of(2).await;
    // The friend is a visitor of the house, too.
    friend.hold(other_show, &[1]).await.order();
    let (_, seal) = pass.split_once('.').unwrap();
    for carried in
        [pass.clone(), format!("2.{seal}"), format!("1.{}", "ab".repeat(32)), "1".to_owned(), "%00".to_owned()]
    {
        friend.carries(&name, &carried);
        let refused = friend.hold(show, &[1]).await;
        assert_eq!(
            (refused.status, &refused.json()["error"]),
            (StatusCode::FORBIDDEN, &"not_your_turn".into()),
            "{carried}"
        );
        let sent = friend.get(&format!("/shows/{show}")).await;
        assert_eq!(sent.location, Some(format!("/shows/{show}/queue")), "{carried}");
    }
    ada.hold(show, &[1]).await.order();
    cinema.proves().await;
}

/// Sixty wait, and are let in by nothing but the clock, at the stated rate and not faster.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clock_lets_people_in_at_the_stated_rate() {
    const PEOPLE: usize = 60;
    let cinema = Cinema::open().await;
    let show = cinema.show_of(PEOPLE).await;
    let sites = [serve(&cinema.office).await, serve(&cinema.another_office()).await];
    cinema.opens_in(show, 3600.0, Some(1200)).await;
    let people: Vec<Browser> = (0..PEOPLE).map(|nth| Browser::at(sites[nth % 2])).collect();
    for person in &people {
        joins(person, show).await;
    }
    // Twenty a second, from half a second ago: ten are in already.
    cinema.opens_in(show, -0.5, Some(1200)).await;
    let room = format!("/shows/{show}/queue");
    let mut inside = [false; PEOPLE];
    let mut rounds = 0;
    while inside.iter().any(|inside| !inside) {
        rounds += 1;
        for (nth, person) in people.iter().enumerate() {
            if !inside[nth] {
                inside[nth] = person.get(&room).await.location.is_some();
            }
        }
        let admitted: f64 = sqlx::query_scalar(
            "select extract(epoch from clock_timestamp() - sales_open_at)::float8 * 20 from shows where id = $1",
        )
        .bind(show.0)
        .fetch_one(&cinema.db)
        .await
        .unwrap();
        let count = inside.iter().filter(|inside| **inside).count();
        assert!(count as f64 <= admitted, "{count} are in, and the clock let in {admitted}");
    }
    assert!(rounds > 1, "not all at once");
    for (nth, person) in people.iter().enumerate() {
        person.hold(show, &[i16::try_from(nth + 1).unwrap()]).await.order();
    }
    cinema.proves().await;
}

/// What an operator says on the command line, by the cinema's clock; twice is as good as once.
#[tokio::test]
async fn an_operator_opens_a_sale() {
    let cinema = Cinema::open().await;
    let show = cinema.show_of(3).await;
    let say = |arguments: &[&str]| {
        let said = std::process::Command::new(env!("CARGO_BIN_EXE_matinee"))
            .args(["opening", "--database-url", &cinema.url()])
            .args(arguments)
            .output()
            .unwrap();
        let words = [said.stdout, said.stderr].map(|words| String::from_utf8(words).unwrap()).concat();
        (said.status.success(), words)
    };
    let id = show.to_string();
    for _ in 0..2 {
        let (done, words) = say(&[&id, "--at", "2031-07-04 19:00", "--per-minute", "600"]);
        assert!(done && words.contains("Fri 4 July 2031, 19:00 CEST, 600 people a minute"), "{words}");
    }
    let browser = Browser::at(serve(&cinema.office).await);
    assert_eq!(browser.get(&format!("/shows/{id}")).await.location, Some(format!("/shows/{id}/queue")));
    let (done, words) = say(&[&id, "--now"]);
    assert!(done && words.contains("is on sale"), "{words}");
    browser.hold(show, &[1]).await.order();
    // Half past two does not come on that night.
    let nonsense: [&[&str]; 5] = [
        &[&id, "--at", "2031-03-30 02:30"],
        &[&id, "--at", "tomorrow"],
        &[&id, "--now", "--per-minute", "5"],
        &[&id, "--at", "2031-07-04 19:00", "--per-minute", "0"],
        &["6f9619ff-8b86-4d01-b42d-00cf4fc964ff", "--now"],
    ];
    for arguments in nonsense {
        let (done, words) = say(arguments);
        assert!(!done && words.contains("matinee:") | words.contains("error:"), "{arguments:?}: {words}");
    }
    cinema.proves().await;
}
