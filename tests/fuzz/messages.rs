//! The gateway's messages: not signed, signed and nonsense, signed and old news; and signed and true.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

use chrono::Utc;
use matinee::domain::incident::Source;
use matinee::gateway::signature;
use matinee::store::incidents;
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::input::Input;
use crate::json;
use crate::run::{Answer, Door, HONEST_MONEY, MESSAGES, count, run};
use crate::world::{SECRETS, World};

const DOOR: &str = "/webhooks/gateway";

fn charge(kind: &str, id: &str, payment: Value, amount_minor: i64, currency: &str) -> Value {
    let (status, reason) = if kind == "charge.captured" { ("captured", None) } else { ("declined", Some("late news")) };
    json!({ "id": "evt_1", "type": kind, "created_at": "2026-12-01T19:00:00Z", "data": {
        "id": id, "status": status, "amount_minor": amount_minor, "currency": currency, "decline_reason": reason,
        "action_url": null, "captured_at": null, "refunded_minor": 0, "metadata": { "payment": payment } } })
}

/// Old news, which change nothing; all of what they name is known and at its end.
fn old_news(world: &World, dice: &mut Dice) -> Value {
    let (payment, reference) = dice.any(&[&world.paid, &world.given_back]);
    match dice.below(8) {
        0..3 => charge("charge.captured", reference, json!(payment), 2500, "EUR"),
        3 => charge("charge.declined", reference, json!(payment), 2500, "EUR"),
        4 => charge("charge.declined", "ch_1", json!(dice.uuid()), 2500, "EUR"),
        5 => json!({ "id": "evt_1", "type": "refund.succeeded", "data": { "id": "re_1", "status": "succeeded",
            "amount_minor": 2500, "charge": reference, "created_at": "2026-12-01T19:00:00Z" } }),
        6 => json!({ "id": "evt_1", "type": "charge.canceled", "data": { "id": reference } }),
        _ => json!({ "id": "evt_1", "type": "payout.made", "data": [1, 2, { "id": reference }] }),
    }
}

/// A right signature half of the time; else one that is wrong in one of many ways.
fn signed(dice: &mut Dice, body: Vec<u8>) -> Input {
    let now = Utc::now().timestamp();
    let secret = *dice.any(&SECRETS);
    let right = signature::sign(&[secret], &body, now);
    let header = match dice.below(30) {
        0 => None,
        1 => Some(signature::sign(&["another secret"], &body, now)),
        2 => Some(signature::sign(&[secret], b"another body", now)),
        3 => Some(signature::sign(&[secret], &body, now - 301 - 60)),
        4 => Some(signature::sign(&[secret], &body, now + 301 + 60)),
        5 => Some(signature::sign(&["another secret", secret], &body, now)),
        6 => Some(signature::sign(&[&["x"; 9][..], &[secret]].concat(), &body, now)),
        7 => Some(right.replace("v1=", "v1=00")),
        8 => Some(right.replace("t=", "t=0")),
        9 => Some(format!("{right},t={now}")),
        10 => Some(right.to_uppercase()),
        11 => Some(right.replace("v1", "v0")),
        12 => Some(format!("t={}", dice.odd_number())),
        13 => Some(dice.bent(&right)),
        14 => Some(dice.odd()),
        15 => Some(signature::sign(&[""], &body, now)),
        _ => Some(right),
    };
    // What cannot stand in a header comes no further than the HTTP library.
    let header = header
        .map(|header| header.bytes().filter(|byte| *byte >= b' ' && *byte != 0x7f).take(8_000).collect::<Vec<_>>());
    let input = Input::new("POST", DOOR).body(body);
    header.into_iter().fold(input, |input, header| input.with("matinee-signature", header))
}

fn make(world: &World, dice: &mut Dice) -> Input {
    let news = old_news(world, dice);
    let news = json::bent(dice, news);
    let body = json::text(dice, &news);
    let mut input = signed(dice, body);
    if dice.percent(5) {
        input.method = dice.of(&["GET", "PUT", "DELETE", "HEAD", "OPTIONS"]).to_owned();
    }
    if dice.percent(5) {
        input.address =
            dice.of(&["/webhooks/gateway/", "/webhooks", "/webhooks/gateway?x=%00", "/webhooks/other"]).to_owned();
    }
    if dice.percent(50) { input.with("content-type", "application/json") } else { input.with_odd_headers(dice) }
}

/// Judged once more here, with the library that the gateway's customers have.
fn is_signed(input: &Input) -> bool {
    let header = input.header("matinee-signature").and_then(|header| str::from_utf8(header).ok());
    signature::verify(&SECRETS, header, &input.body, Utc::now().timestamp(), signature::TOLERANCE_S).is_ok()
}

fn wrong(input: &Input, answer: &Answer) -> Option<String> {
    let is_message = input.method == "POST" && input.path() == DOOR;
    match (is_message, is_signed(input), answer.status.as_u16()) {
        (false, ..)
            if answer.status.is_success() && input.method != "OPTIONS" && input.address.starts_with("/webhooks") =>
        {
            Some("heard elsewhere".to_owned())
        }
        (true, false, status) if status != 400 => Some("believed without a signature".to_owned()),
        (true, true, status) if ![204, 400].contains(&status) => Some("neither heard nor refused".to_owned()),
        _ => None,
    }
}

/// Bent old news may come to say that money was taken which nobody asked for. Then that is what is kept of it: the message,
/// word for word. Nothing else ever changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_are_forged_or_nonsense_or_old_change_nothing() {
    let world = Arc::new(World::new().await);
    let door = Door { name: "messages", inputs: MESSAGES, make, wrong, grows: Some("public.incidents") };
    let heard: Arc<Mutex<HashSet<String>>> = Arc::default();
    let statuses: Arc<Mutex<BTreeMap<(bool, u16), u64>>> = Arc::default();
    let (hears, counts) = (Arc::clone(&heard), Arc::clone(&statuses));
    run(&world, &Arc::new(door), move |input, answer| {
        *counts.lock().unwrap().entry((is_signed(input), answer.status.as_u16())).or_default() += 1;
        if answer.status.as_u16() == 204 {
            hears.lock().unwrap().insert(String::from_utf8(input.body.clone()).unwrap());
        }
    })
    .await;
    let statuses = statuses.lock().unwrap().clone();
    let kept = incidents::list(&world.cinema.db, true).await.unwrap();
    println!("by signature and status {statuses:?}; {} incidents", kept.len());
    for incident in &kept {
        assert_eq!(incident.evidence.source, Source::Message);
        assert!(heard.lock().unwrap().contains(&incident.evidence.text), "nobody said {:?}", incident.evidence.text);
        let said: Value = serde_json::from_str(&incident.evidence.text).unwrap();
        assert_eq!((&said["data"]["status"], &said["data"]["id"]), (&json!("captured"), &json!(incident.charge)));
    }
    if count(MESSAGES) >= 10_000 {
        for reached in [(true, 204), (true, 400), (false, 400)] {
            assert!(statuses.get(&reached).is_some_and(|times| *times > count(MESSAGES) / 20), "{statuses:?}");
        }
        assert!(!kept.is_empty());
    }
    world.cinema.proves().await;
}

/// What nobody asked for, truly said: for a payment of nobody, for none, and once more for one that has its money.
fn honest(world: &World, dice: &mut Dice) -> Input {
    // A third as many charges as messages: each is told three times, by different words.
    let charges = (count(HONEST_MONEY) / 3).max(1);
    let nth = dice.below(usize::try_from(charges).unwrap());
    let payment = match nth % 4 {
        0 => json!(world.paid.0),
        1 => json!(null),
        2 => json!("invoice 7"),
        _ => json!(uuid::Uuid::from_u128(nth as u128)),
    };
    let currency = ["EUR", "JPY", "KWD", "XTS"][nth % 4];
    let amount = [1, 0, 2500, i64::MAX][nth / 4 % 4];
    let mut message = charge("charge.captured", &format!("ch_of_nobody_{nth}"), payment, amount, currency);
    message["data"][dice.odd()] = json!(dice.odd());
    message[format!("x{}", dice.odd())] = json!([dice.odd(), 1.5, null]);
    let text = if dice.percent(50) { message.to_string() } else { serde_json::to_string_pretty(&message).unwrap() };
    let now = Utc::now().timestamp() + [-100, 0, 100][dice.below(3)];
    let secrets: &[&str] = if dice.percent(50) { &SECRETS } else { &SECRETS[1..] };
    let signature = signature::sign(secrets, text.as_bytes(), now);
    Input::new("POST", DOOR).with("matinee-signature", signature).body(text)
}

fn not_heard(_: &Input, answer: &Answer) -> Option<String> {
    (answer.status.as_u16() != 204).then(|| "not heard".to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_that_nobody_asked_for_is_an_incident_once_and_changes_nothing_else() {
    let world = Arc::new(World::new().await);
    let door = Door {
        name: "honest money",
        inputs: HONEST_MONEY,
        make: honest,
        wrong: not_heard,
        grows: Some("public.incidents"),
    };
    let said: Arc<Mutex<BTreeMap<String, HashSet<String>>>> = Arc::default();
    let says = Arc::clone(&said);
    run(&world, &Arc::new(door), move |input, _| {
        let text = String::from_utf8(input.body.clone()).unwrap();
        let message: Value = serde_json::from_str(&text).unwrap();
        says.lock().unwrap().entry(message["data"]["id"].as_str().unwrap().to_owned()).or_default().insert(text);
    })
    .await;
    let said = said.lock().unwrap().clone();
    let kept = incidents::list(&world.cinema.db, true).await.unwrap();
    println!("{} messages about {} charges, {} incidents", count(HONEST_MONEY), said.len(), kept.len());
    assert_eq!(kept.len(), said.len(), "one each");
    for incident in &kept {
        assert!(said[&incident.charge].contains(&incident.evidence.text), "{incident:?}");
        let message: Value = serde_json::from_str(&incident.evidence.text).unwrap();
        assert_eq!(message["data"]["amount_minor"], json!(incident.amount.minor));
        assert_eq!(message["data"]["currency"], json!(incident.amount.currency));
    }
    world.cinema.proves().await;
}
