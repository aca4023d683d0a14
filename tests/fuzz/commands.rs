//! The forms: hold, release, pay.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::dice::Dice;
use crate::input::{FORM, Fields, Input, bent, encoded};
use crate::run::{Answer, COMMANDS, Door, count, run};
use crate::support::GOOD_CARD;
use crate::world::World;

const PATHS: [&str; 4] = ["/api/hold_seats", "/api/release_hold", "/api/pay", "/api/join_queue"];

fn hold(world: &World, dice: &mut Dice) -> Fields {
    let tried = *dice.any(&[world.sold, world.released, world.lapsed, world.refunded]);
    let show = match dice.below(10) {
        0 => dice.uuid(),
        1 => world.closed.0,
        _ => world.show.0,
    };
    let mut fields = vec![("show".to_owned(), show.to_string())];
    let attempt = if dice.percent(40) {
        fields.extend(tried.seats.map(|seat| ("seats[]".to_owned(), seat.to_string())));
        tried.attempt
    } else {
        let most = if dice.percent(90) { 11 } else { 40 };
        fields.extend(
            (0..dice.below(most))
                .map(|_| ("seats[]".to_owned(), (1 + dice.below(most + 2)).to_string()))
                .collect::<Vec<_>>(),
        );
        dice.uuid()
    };
    fields.push(("attempt".to_owned(), attempt.to_string()));
    fields
}

/// Not of a hold that has lapsed: to give that back is still a change.
fn release(world: &World, dice: &mut Dice) -> Fields {
    let order = match dice.below(10) {
        0 => dice.uuid(),
        1..4 => world.others.0,
        _ => dice.any(&world.done()).order.0,
    };
    vec![("order".to_owned(), order.to_string())]
}

fn pay(world: &World, dice: &mut Dice) -> Fields {
    let mut orders = world.done().map(|tried| tried.order.0).to_vec();
    orders.extend([world.lapsed.order.0, world.others.0, dice.uuid()]);
    let order = *dice.any(&orders);
    let attempt = if dice.percent(40) { world.paid_with } else { dice.uuid() };
    let card =
        dice.of(&[GOOD_CARD, "4242424242424242", "4000000000000002", "4000000000003220", "4000-0000-0000-0341", "1"]);
    let mut fields = vec![("order", order.to_string()), ("attempt", attempt.to_string()), ("card", card.to_owned())];
    if dice.percent(50) {
        fields.push(("email", dice.of(&["ada@example.org", "", "ä@kino.example", "ada", "a@b@c", "a b@c"]).to_owned()));
    }
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn make(world: &World, dice: &mut Dice) -> Input {
    let (path, fields) = match dice.below(10) {
        0..5 => (PATHS[0], hold(world, dice)),
        5 => (PATHS[1], release(world, dice)),
        // The show has no waiting room, so that nothing comes of it.
        6 => (PATHS[3], hold(world, dice)),
        _ => (PATHS[2], pay(world, dice)),
    };
    let fields = bent(dice, fields);
    let body = encoded(dice, &fields);
    let method = if dice.percent(95) {
        "POST"
    } else {
        dice.of(&["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "X"])
    };
    let address = match dice.below(30) {
        0 => format!("{path}/"),
        1 => {
            format!("{path}?{}", String::from_utf8_lossy(&body).replace(|letter: char| !letter.is_ascii_graphic(), ""))
        }
        2 => dice
            .of(&[
                "/api",
                "/api/",
                "/api/nothing",
                "/API/PAY",
                "/api//pay",
                "/api/pay%00",
                "/api/%ff",
                "/api/hold_seats1",
            ])
            .to_owned(),
        _ => path.to_owned(),
    };
    let mut input = Input::new(method, address).body(body);
    input = match dice.below(20) {
        0 => input.with(
            "content-type",
            dice.of(&["application/json", "text/plain", "multipart/form-data; boundary=x", "", "x"]),
        ),
        1 => input,
        2 => input.with("content-type", "Application/X-WWW-Form-Urlencoded;charset=UTF-8"),
        _ => input.with("content-type", FORM),
    };
    input = match dice.below(10) {
        0..6 => input.with("cookie", world.ada.clone()),
        6 => input.with("cookie", dice.bent(&world.ada).replace(|letter: char| !letter.is_ascii_graphic(), "")),
        _ => input,
    };
    if dice.percent(60) { input.with("accept", "application/json") } else { input.with_odd_headers(dice) }
}

/// What a command refuses, it refuses in JSON, with a code and with words; forms without JavaScript are sent back instead.
fn wrong(input: &Input, answer: &Answer) -> Option<String> {
    let is_command = input.method == "POST" && PATHS.contains(&input.path());
    let refused_by_command = matches!(answer.status.as_u16(), 404 | 409 | 422);
    if is_command && refused_by_command && !answer.headers.contains_key("content-encoding") && answer.error().is_none()
    {
        return Some("a refusal without code and words".to_owned());
    }
    (!is_command && answer.status.is_success() && answer.headers.contains_key("location"))
        .then(|| "something else than a command did something".to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_refuse_whatever_they_are_sent_and_nothing_changes() {
    let world = Arc::new(World::new().await);
    let door = Door { name: "commands", inputs: COMMANDS, make, wrong, grows: None };
    let codes: Arc<Mutex<BTreeMap<String, u64>>> = Arc::default();
    let seen = Arc::clone(&codes);
    let tally = run(&world, &Arc::new(door), move |_, answer| {
        let code = answer.error().map_or_else(|| answer.status.as_u16().to_string(), |(code, _)| code);
        *seen.lock().unwrap().entry(code).or_default() += 1;
    })
    .await;
    let codes = codes.lock().unwrap().clone();
    println!("{codes:?}");
    // Or the dice would have met nothing worth checking: every refusal was reached, and many inputs were right.
    if count(COMMANDS) >= 10_000 {
        for code in [
            "seat_taken",
            "no_seats",
            "too_many_seats",
            "unknown_seat",
            "unknown_show",
            "sales_closed",
            "unknown_order",
            "hold_lapsed",
            "already_released",
            "already_sold",
            "attempt_reused",
            "not_a_card",
            "not_an_address",
            "bad_input",
            "403",
            "413",
            "200",
            "302",
        ] {
            assert!(codes.contains_key(code), "{code} was not reached: {codes:?}");
        }
        assert!(tally.accepted.into_inner() > count(COMMANDS) / 20);
    }
    world.cinema.proves().await;
}
