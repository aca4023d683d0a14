//! The promises at the HTTP door: what a browser, a script, or somebody with bad intentions can send.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop right there and say where")]

#[path = "../support/mod.rs"]
mod support;

mod attempts;
mod bad_input;
mod browser;
mod commands;
mod cross_site;
mod early;
mod hangs_up;
mod incidents;
mod killed;
mod limits;
mod live;
mod pages;
mod processor;
mod program;
mod queue;
mod sessions;
mod storm;
mod two_servers;
