//! A fuzz of every door: forms, the gateway's messages, its API and hosted pages, and all addresses, through the router and
//! the layers as they are served, on a real database.
//!
//! An input is a valid one with things done to it: fields dropped, doubled, renamed and filled with oddities, percent signs
//! broken, types, keys, signatures and cookies exchanged, bodies cut off. Each is made by dice from the seed and its own
//! number. The cinema is such that even a valid input changes nothing: what could be bought is sold, what could be given
//! back is given back. So for each input the answer must be no fault of ours (nothing above 499), nothing may panic, an
//! answer that promises JSON must be JSON, nothing of what was sent may come back as markup; and after each batch every row
//! of every table must be what it was. Money of which the gateway truly says that nobody asked for it has an
//! expectation of its own: an incident, once, word for word, and nothing else.
//!
//! `MATINEE_FUZZ=1000000 cargo test --test fuzz` sends more inputs, `MATINEE_FUZZ_SEED=7` others. A failure prints its input
//! in full and the number that makes it again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop right there and say where")]

#[path = "../support/mod.rs"]
mod support;

mod commands;
mod dice;
mod gateway;
mod input;
mod json;
mod messages;
mod pages;
mod run;
mod world;
