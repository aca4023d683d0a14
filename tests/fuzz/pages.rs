//! All addresses that are looked at, and the way back from the gateway's page.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::dice::Dice;
use crate::input::Input;
use crate::run::{Answer, Door, PAGES, count, run};
use crate::world::World;

/// Addresses; `{}` is an id.
const ADDRESSES: &[&str] = &[
    "/",
    "/my",
    "/shows/{}",
    "/shows/{}/seats",
    "/shows/{}/mine",
    "/orders/{}",
    "/orders/{}/pay",
    "/orders/{}/clock",
    "/orders/{}/return",
    "/orders/{}/return",
    "/healthz",
    "/readyz",
    "/favicon.svg",
    "/favicon.ico",
    "/pkg/{}",
    "/posters/{}",
    "/{}",
    "/shows",
    "/orders",
    "/shows/{}/{}",
    "/orders/{}/{}",
    "//{}",
    "/./{}",
    "/shows/../{}",
];

const QUERIES: &[&str] = &[
    "day", "pick", "__path", "__err", "seats[]", "show", "attempt", "order", "card", "x", "pick[]", "day[]", "%00", "",
];

/// Refusals as a form that comes back carries them, right and wrong.
const ERRORS: &[&str] = &[
    r#"{"error":"seat_taken","seats":[1,2],"kept":[3],"message":"x"}"#,
    r#"{"error":"seat_taken","seats":[32767,-32768,0],"kept":[12,12,12]}"#,
    r#"{"error":"too_many_seats","asked":65535,"holding":0,"kept":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21]}"#,
    r#"{"error":"already_yours","seats":[],"kept":[]}"#,
    r#"{"error":"unknown_seat","seats":[99]}"#,
    r#"{"error":"internal","reference":"<fuzz a='\"'>"}"#,
    r#"{"error":"bad_input","what":"<fuzz a='\"'>"}"#,
    r#"{"error":"sales_closed","message":"<fuzz a='\"'>"}"#,
    r#"{"error":"seat_taken","seats":[99999]}"#,
    r#"{"error":7}"#,
    "[]",
    "\0",
    "{",
];

fn id(world: &World, dice: &mut Dice) -> String {
    let known = [
        world.show.0,
        world.closed.0,
        world.sold.order.0,
        world.released.order.0,
        world.lapsed.order.0,
        world.refunded.order.0,
        world.others.0,
    ];
    match dice.below(10) {
        0..5 => dice.any(&known).to_string(),
        5 => dice.uuid().to_string(),
        6 => escaped(dice, &known[0].to_string().to_uppercase()),
        7 => {
            let odd = dice.odd_uuid();
            escaped(dice, &odd)
        }
        _ => {
            let odd = dice.odd();
            escaped(dice, &odd)
        }
    }
}

fn escaped(dice: &mut Dice, text: &str) -> String {
    let raw = dice.percent(20);
    text.bytes()
        .take(3_000)
        .map(|byte| match byte {
            byte if byte.is_ascii_alphanumeric() || byte == b'-' => char::from(byte).to_string(),
            byte if raw && byte.is_ascii_graphic() && !b"?#<>\"".contains(&byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02x}"),
        })
        .collect()
}

/// As URL-safe base64, which is what a refused form's address carries.
fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut coded = String::new();
    for three in text.as_bytes().chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        let letters = (0..=three.len()).map(|nth| LETTERS[(bits >> (18 - 6 * nth)) as usize & 63]);
        coded.extend(letters.map(char::from));
        coded.extend(std::iter::repeat_n('=', 3 - three.len()));
    }
    coded
}

fn query(dice: &mut Dice) -> String {
    let name = dice.of(QUERIES);
    let value = match name {
        "__path" => dice.of(&["/api/hold_seats", "/api/pay", "/api/release_hold", "/api/x", ""]).to_owned(),
        "__err" if dice.percent(80) => {
            let error = dice.of(ERRORS);
            if dice.percent(80) {
                base64(error)
            } else {
                let error = base64(error);
                dice.bent(&error)
            }
        }
        "day" if dice.percent(60) => dice
            .of(&[
                "2026-12-01",
                "0001-01-01",
                "9999-12-31",
                "-262143-01-01",
                "2026-02-30",
                "tomorrow",
                "1970-01-01",
                "+10000-01-01",
            ])
            .to_owned(),
        "pick" if dice.percent(60) => dice.of(&["1,2", "1,,2", "-1,0,99999", "12,12,12", "1.5", "1 2", ","]).to_owned(),
        _ => dice.odd(),
    };
    format!("{}={}", escaped(dice, name), escaped(dice, &value))
}

fn make(world: &World, dice: &mut Dice) -> Input {
    let mut address = dice.of(ADDRESSES).to_owned();
    while address.contains("{}") {
        address = address.replacen("{}", &id(world, dice), 1);
    }
    let queries: Vec<String> = (0..dice.below(4)).map(|_| query(dice)).collect();
    if !queries.is_empty() {
        // A refusal is only read together with the form that it came from.
        let both = if dice.percent(30) { "__path=/api/hold_seats&" } else { "" };
        address = format!("{address}?{both}{}", queries.join("&"));
    }
    let back = address.contains("/return");
    let method = match dice.below(20) {
        0..16 if !back => "GET",
        0..16 => dice.of(&["GET", "POST"]),
        16 => "HEAD",
        _ => dice.of(&["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PROPFIND"]),
    };
    let mut input = Input::new(method, address);
    if method == "POST" {
        input = input.with("content-type", "application/x-www-form-urlencoded").body(dice.odd());
    }
    match dice.below(3) {
        0 => input.with_odd_headers(dice),
        1 => input.with("cookie", world.ada.clone()).with("accept", "text/html"),
        _ => input.with("accept", "text/html"),
    }
}

/// The data's refusals are JSON, with a code and with words.
fn wrong(input: &Input, answer: &Answer) -> Option<String> {
    let parts: Vec<&str> = input.path().split('/').collect();
    let is_data =
        matches!(parts[..], ["", "shows", _, "seats" | "mine"] | ["", "orders", _, "clock"]) && input.method == "GET";
    let compressed = answer.headers.contains_key("content-encoding");
    (is_data && answer.status == 404 && !compressed && answer.error().is_none())
        .then(|| "a refusal without code and words".to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_address_is_a_fault_of_ours_and_looking_writes_nothing() {
    let world = Arc::new(World::new().await);
    let door = Door { name: "pages", inputs: PAGES, make, wrong, grows: None };
    let statuses: Arc<Mutex<BTreeMap<u16, u64>>> = Arc::default();
    let seen = Arc::clone(&statuses);
    run(&world, &Arc::new(door), move |_, answer| {
        *seen.lock().unwrap().entry(answer.status.as_u16()).or_default() += 1;
    })
    .await;
    let statuses = statuses.lock().unwrap().clone();
    println!("{statuses:?}");
    if count(PAGES) >= 5_000 {
        for status in [200, 303, 400, 403, 404, 405] {
            assert!(statuses.contains_key(&status), "{status} was not reached: {statuses:?}");
        }
        assert!(statuses[&200] > count(PAGES) / 5);
    }
    world.cinema.proves().await;
}
