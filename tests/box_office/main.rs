//! What the box office promises, told as stories on a real Postgres. Each test has a server of its own, runs beside the
//! others, and ends by proving the promises on its database.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop right there and say where")]

#[path = "../support/mod.rs"]
mod support;

mod checkout;
mod deadlocks;
mod holds;
mod late;
mod limit;
mod lost;
mod mails;
mod mutants;
mod prove;
mod queue;
mod refusals;
mod releases;
mod rule;
mod saga;
mod schema;
mod seed;
mod shows;
mod smtp;
mod trips;
mod waits;
