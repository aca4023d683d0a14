//! The crowd: a whole opening sale over real HTTP, against the real program in a process of its own.
//!
//! A [`scenario`] says who comes; each [`person`] is drawn from its seed. They come through shared connections as through a
//! proxy ([`link`]), each from an address of their own. What they were told is kept in the [`record`], and when the last one
//! has gone the [`verdict`] compares it with the database and with itself. Some only watch the live map ([`watch`]) and notice
//! how old a change is when they hear of it. [`play`] is all of it together; [`summary`] and [`page`] say what came out.

pub mod hall;
pub mod link;
pub mod page;
pub mod person;
pub mod play;
pub mod record;
pub mod scenario;
pub mod shown;
pub mod stage;
pub mod summary;
pub mod verdict;
pub mod visit;
pub mod watch;

pub use play::{Outcome, play};
pub use scenario::Scenario;
