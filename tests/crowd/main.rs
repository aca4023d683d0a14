//! The crowd of `matinee rush`: that it plays whole sales over HTTP, and that its verdict notices what is broken.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop right there and say where")]

#[path = "../support/mod.rs"]
mod support;

mod broken;
mod program;

/// A small sale: more people than seats, on two servers, until everything is sold.
const SMALL_SALE: &str = r#"
seed = 11

[show]
seats = 20
hold_window_s = 2

[people]
number = 120
arrive_s = 1
curve = "rush"
opens_page = 0.1
opens_map = 1.0
pick_s = [0.0, 0.4]
parties = [2, 2, 1]
tries = 500
patience_s = 60

[holders]
think_s = [0.1, 0.5]
never_pay = 0.3
goes_back = 0.1
declined_once = 0.1

[stage]
servers = 2
connections = 16
watchers = 4

[expect]
all_sold = true
"#;
