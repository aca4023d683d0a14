//! The strategy laboratory: each strategy keeps its promises under a seeded crowd, those that are meant to fail are caught,
//! and the checker knows every fault on a record made by hand. A checker that catches nothing proves nothing.
//!
//! `LABORATORY_SEED=..` runs the crowds with that seed alone.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop right there and say where")]

#[path = "../support/mod.rs"]
mod support;

mod advice;
mod caught;
mod checker;
mod place;
mod program;
mod right;
mod story;
