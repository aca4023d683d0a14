//! The gateway's own API and its hosted pages, with right keys and wrong ones.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::dice::Dice;
use crate::input::{FORM, Input};
use crate::json;
use crate::run::{Answer, Door, GATEWAY, count, run, send};
use crate::support::PRICE;
use crate::world::{KEY, World};

/// Told apart by their keys; see `known`.
const ON_PAGE: &str = "4000000000003220";
/// Closed before anybody charged with it.
const CLOSED_KEY: &str = "closed";

/// The request that the paid order's charge was made with: asked again, it is answered as before.
fn asked_before(world: &World) -> Value {
    json!({
        "amount_minor": 2 * PRICE, "currency": "EUR", "card": "4242424242424242",
        "metadata": { "payment": world.paid.0, "order": world.sold.order },
        "return_url": format!("http://cinema.example/orders/{}/return", world.sold.order),
    })
}

fn on_page(nth: u8) -> Value {
    json!({"amount_minor": 2500, "currency": "EUR", "card": ON_PAGE, "metadata": {"page": nth.to_string()},
           "return_url": "http://cinema.example/"})
}

fn with_key(input: Input) -> Input {
    input.with("authorization", format!("Bearer {KEY}"))
}

/// Keys that are none, so that nothing new can be asked for with them.
fn bad_key(dice: &mut Dice) -> Vec<u8> {
    match dice.below(4) {
        0 => vec![],
        1 => vec![b'k'; 256 + dice.below(2_000)],
        2 => "schlüssel".as_bytes().to_vec(),
        _ => vec![b'k', b'\t', dice.byte() | 0x80],
    }
}

fn id(world: &World, dice: &mut Dice) -> String {
    match dice.below(3) {
        0 => dice.of(&[&*world.paid.1, &*world.given_back.1]).to_owned(),
        1 => escaped(&dice.odd()),
        _ => format!("{}_{}", dice.of(&["ch", "re", "pay"]), dice.uuid().simple()),
    }
}

/// As a part of a path; now and then as no browser writes it.
fn escaped(text: &str) -> String {
    text.bytes()
        .take(3_000)
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02x}") })
        .collect()
}

fn charge(world: &World, dice: &mut Dice) -> Input {
    let (mut key, mut asked) = match dice.below(3) {
        0 => ("page-1".to_owned().into_bytes(), on_page(1)),
        1 => (CLOSED_KEY.as_bytes().to_vec(), asked_before(world)),
        _ => (world.paid.0.to_string().into_bytes(), asked_before(world)),
    };
    if dice.percent(70) {
        asked = json::bent(dice, asked);
    }
    let body = json::text(dice, &asked);
    if dice.percent(15) {
        key = bad_key(dice);
    }
    let input = Input::new("POST", "/gateway/v1/charges").body(body);
    if dice.percent(5) { input } else { input.with("idempotency-key", key) }
}

/// With the key of the one refund there is: anything else is another request.
fn refund(world: &World, dice: &mut Dice) -> Input {
    let asked = json::bent(dice, json!({ "amount_minor": 2 * PRICE }));
    let key = if dice.percent(85) { world.given_back.0.to_string().into_bytes() } else { bad_key(dice) };
    let charge = if dice.percent(60) { world.given_back.1.clone() } else { id(world, dice) };
    let body = json::text(dice, &asked);
    Input::new("POST", format!("/gateway/v1/charges/{charge}/refunds")).with("idempotency-key", key).body(body)
}

fn close(world: &World, dice: &mut Dice) -> Input {
    let key = match dice.below(4) {
        0 => world.paid.0.to_string(),
        1 => CLOSED_KEY.to_owned(),
        2 => escaped("schl\u{fc}ssel\0"),
        _ => "k".repeat(256),
    };
    let query = dice.of(&[
        "",
        "?cancel=true",
        "?cancel=false",
        "?cancel=1",
        "?cancel",
        "?cancel=true&cancel=false",
        "?x=%ff",
        "?%",
    ]);
    Input::new("POST", format!("/gateway/v1/keys/{key}/close{query}"))
}

fn look(world: &World, dice: &mut Dice) -> Input {
    let id = id(world, dice);
    let address = match dice.below(4) {
        0 => format!("/gateway/v1/charges?limit={}&after={id}", escaped(&dice.odd_number())),
        1 => format!(
            "/gateway/v1/charges?{}",
            dice.of(&["limit=1", "limit=1000", "limit=1001", "limit=", "after=", "after=%00", "limit=1&limit=2"])
        ),
        2 => format!("/gateway/v1/charges/{id}"),
        _ => format!("/gateway/v1/refunds/{id}"),
    };
    Input::new("GET", address)
}

/// The page of a charge that waits for its holder, and of one that was refused there. What is sent to the first one is never
/// one of the two words that decide.
fn page(world: &World, dice: &mut Dice) -> Input {
    let (waits, refused) = world.pages.clone();
    let (token, decision) = match dice.below(3) {
        0 => (waits, dice.of(&["", "Confirm", "REFUSE", "\0", "yes", "c\u{f6}nfirm", crate::dice::CANARY]).to_owned()),
        1 => (refused, dice.of(&["confirm", "refuse", "", "\0", "Confirm"]).to_owned()),
        _ => (id(world, dice), "confirm".to_owned()),
    };
    let fields = [("decision".to_owned(), decision), (dice.odd(), dice.odd())];
    let kind = if dice.percent(85) { FORM } else { "text/plain" };
    // Whole, or a part of a word may be left that decides.
    let body = fields.iter().map(|field| encoded_whole(dice, field)).collect::<Vec<_>>().join("&");
    let method = dice.of(&["POST", "POST", "GET", "HEAD", "PUT"]);
    Input::new(method, format!("/gateway/pay/{token}")).with("content-type", kind).body(body)
}

fn encoded_whole(dice: &mut Dice, (name, value): &(String, String)) -> String {
    format!(
        "{}={}",
        escaped(name),
        if dice.percent(50) { escaped(value) } else { escaped(value).to_uppercase().replace("%C3%B6", "%f6") }
    )
}

fn make(world: &World, dice: &mut Dice) -> Input {
    let mut input = match dice.below(10) {
        0..4 => charge(world, dice),
        4..6 => refund(world, dice),
        6 => close(world, dice),
        7 => look(world, dice),
        _ => page(world, dice),
    };
    if input.address.starts_with("/gateway/v1/") {
        input = match dice.below(10) {
            0 => input,
            1 => input.with(
                "authorization",
                dice.of(&["Bearer", "Bearer ", "Bearer x", "bearer key-of-the-fuzz", "Basic a2V5", "key-of-the-fuzz"]),
            ),
            _ => with_key(input),
        };
        if dice.percent(4) {
            input.method = dice.of(&["PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"]).to_owned();
        }
    }
    if dice.percent(30) {
        let has_key = input.header("idempotency-key").is_some();
        input = input.with_odd_headers(dice);
        // One that is absent must not become a good one by chance.
        input.headers.retain(|(name, _)| has_key || *name != "idempotency-key");
    }
    input
}

fn wrong(input: &Input, answer: &Answer) -> Option<String> {
    let is_api = input.path().starts_with("/gateway/v1/") && ["GET", "POST"].contains(&&*input.method);
    // Refused in front of all doors.
    let has_host = !answer.body.starts_with(b"The Host header");
    let refuses = matches!(answer.status.as_u16(), 400 | 401 | 409 | 422);
    if is_api && has_host && refuses && answer.error().is_none() {
        return Some("a refusal without code and words".to_owned());
    }
    let has_key = input.header("authorization") == Some(format!("Bearer {KEY}").as_bytes());
    (is_api && !has_key && answer.status.is_success()).then(|| "let in without a key".to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_gateway_refuses_whatever_it_is_sent_and_its_books_stay() {
    let mut world = World::new().await;
    let mut pages = Vec::new();
    for (nth, decision) in [(1, None), (2, Some("refuse"))] {
        let asked = with_key(Input::new("POST", "/gateway/v1/charges")).with("idempotency-key", format!("page-{nth}"));
        let made = send(&world, &asked.body(on_page(nth).to_string())).await.unwrap();
        let made: Value = serde_json::from_slice(&made.body).unwrap();
        let page = made["action_url"].as_str().unwrap().trim_start_matches("http://cinema.example").to_owned();
        if let Some(decision) = decision {
            let decided =
                Input::new("POST", page.clone()).with("content-type", FORM).body(format!("decision={decision}"));
            assert_eq!(send(&world, &decided).await.unwrap().status, 303);
        }
        pages.push(page.rsplit('/').next().unwrap().to_owned());
    }
    world.pages = (pages.remove(0), pages.remove(0));
    for key in [CLOSED_KEY.to_owned(), world.paid.0.to_string()] {
        let closed =
            send(&world, &with_key(Input::new("POST", format!("/gateway/v1/keys/{key}/close")))).await.unwrap();
        assert_eq!(closed.status, 200);
    }
    // What the inputs begin with is right, and answered as before.
    let again = with_key(Input::new("POST", "/gateway/v1/charges")).with("idempotency-key", world.paid.0.to_string());
    let again = send(&world, &again.body(asked_before(&world).to_string())).await.unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&again.body).unwrap()["id"], world.paid.1.as_str(), "{again:?}");

    let world = Arc::new(world);
    let door = Door { name: "gateway", inputs: GATEWAY, make, wrong, grows: None };
    let codes: Arc<Mutex<BTreeMap<String, u64>>> = Arc::default();
    let seen = Arc::clone(&codes);
    let tally = run(&world, &Arc::new(door), move |_, answer| {
        let code = answer.error().map_or_else(|| answer.status.as_u16().to_string(), |(code, _)| code);
        *seen.lock().unwrap().entry(code).or_default() += 1;
    })
    .await;
    let codes = codes.lock().unwrap().clone();
    println!("{codes:?}");
    if count(GATEWAY) >= 10_000 {
        for code in [
            "unauthorized",
            "invalid_request",
            "idempotency_key_missing",
            "idempotency_key_reused",
            "key_closed",
            "not_found",
            "200",
            "303",
            "404",
            "405",
            "422",
        ] {
            assert!(codes.contains_key(code), "{code} was not reached: {codes:?}");
        }
        assert!(tally.accepted.into_inner() > count(GATEWAY) / 20);
    }
    world.cinema.proves().await;
}
