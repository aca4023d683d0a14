//! JSON with something done to it.

use serde_json::{Map, Value, json};

use crate::dice::Dice;

/// Not what stood there before.
fn odd(dice: &mut Dice) -> Value {
    match dice.below(14) {
        0 => Value::Null,
        1 => json!(dice.percent(50)),
        2 => json!(-1),
        3 => json!(2500.5),
        4 => json!(u64::MAX),
        5 => json!(i64::MIN),
        6 => json!(1e300),
        7 => json!([]),
        8 => json!({}),
        9 => json!([dice.odd(), {"a": dice.odd()}]),
        10 => json!(dice.odd_uuid()),
        11 => (0..dice.below(60)).fold(json!(0), |inner, _| json!([inner])),
        12 => json!(dice.of(&[
            "EUR",
            "eur",
            "XXX",
            "JPY",
            "€",
            "EURO",
            "captured",
            "declined",
            "requires_action",
            "refunded"
        ])),
        _ => json!(dice.odd()),
    }
}

/// One place of it, chosen by dice.
fn place<'a>(dice: &mut Dice, value: &'a mut Value) -> &'a mut Value {
    let inside = match value {
        Value::Object(map) if !map.is_empty() => map.len(),
        Value::Array(list) if !list.is_empty() => list.len(),
        _ => return value,
    };
    if dice.percent(25) {
        return value;
    }
    let at = dice.below(inside);
    match value {
        Value::Object(map) => place(dice, map.values_mut().nth(at).unwrap()),
        Value::Array(list) => place(dice, &mut list[at]),
        other => other,
    }
}

/// Something is done to it up to four times.
pub fn bent(dice: &mut Dice, mut value: Value) -> Value {
    for _ in 0..dice.below(4) {
        let here = place(dice, &mut value);
        match here {
            Value::Object(map) if dice.percent(80) => bend_object(dice, map),
            Value::String(text) if dice.percent(60) => *text = dice.bent(text),
            Value::Number(number) if dice.percent(40) => *here = json!(number.to_string()),
            _ => *here = odd(dice),
        }
    }
    value
}

fn bend_object(dice: &mut Dice, map: &mut Map<String, Value>) {
    let names: Vec<String> = map.keys().cloned().collect();
    let name = if names.is_empty() { dice.odd() } else { dice.any(&names).clone() };
    match dice.below(4) {
        0 => drop(map.remove(&name)),
        1 => drop(map.insert(dice.odd(), odd(dice))),
        2 => {
            let value = map.remove(&name).unwrap_or_default();
            map.insert(dice.bent(&name), value);
        }
        _ => drop(map.insert(name, odd(dice))),
    }
}

/// As text; now and then no JSON any more, or JSON as only people write it.
pub fn text(dice: &mut Dice, value: &Value) -> Vec<u8> {
    let text = if dice.percent(80) { value.to_string() } else { serde_json::to_string_pretty(value).unwrap() };
    match dice.below(24) {
        0 => dice.damaged(text.into_bytes()),
        1 => format!("{text}{text}").into_bytes(),
        2 => format!("\u{feff}{text}").into_bytes(),
        3 => "[".repeat(1 << dice.below(17)).into_bytes(),
        4 => format!("{}{text}", "{\"a\":".repeat(dice.below(500))).into_bytes(),
        // A name twice, with two meanings.
        5 => text.replacen('{', "{\"type\":\"charge.captured\",\"id\":7,\"amount_minor\":1,", 1).into_bytes(),
        6 => text.replace("2500", "2500e0").into_bytes(),
        7 => text.replace("2500", "1e999").into_bytes(),
        8 => text.replace("ch_", "ch_\\u0000").into_bytes(),
        9 => text.replace("ch_", "\\ud800").into_bytes(),
        10 => dice.of(crate::dice::ODD).as_bytes().to_vec(),
        _ => text.into_bytes(),
    }
}
