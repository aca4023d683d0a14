//! The simulated card processor as its merchant, its card holders and its webhooks' receiver meet it: over HTTP.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop right there and say where")]

#[path = "../support/mod.rs"]
mod support;

mod cards;
mod charges;
mod hosted;
mod keys;
mod list;
mod merchant;
mod migration;
mod refunds;
mod signature;
mod webhooks;
