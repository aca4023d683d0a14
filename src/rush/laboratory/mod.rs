//! The strategy laboratory: the same seats, the same crowd, other ways to keep a seat from being sold twice.
//!
//! Each way is a [`Strategy`], used nowhere else. A [`trial`] lets a seeded [`crowd`] loose on one of them, keeps what
//! every visitor was told and when, and the [`checker`] compares that with what the database holds at the end. No strategy
//! is asked whether it was right.
//!
//! The tables are the laboratory's own and have fewer guards than the cinema's: tickets lack their unique constraint, so
//! that a strategy stands alone. The rule is the product's, word for word: migration 1 and `domain::seat`.

pub mod advice;
pub mod bench;
pub mod checker;
pub mod command;
pub mod crowd;
pub mod page;
pub mod record;
pub mod redis_server;
pub mod strategies;
pub mod summary;
pub mod trial;

pub use bench::Bench;
pub use strategies::{Name, Strategy};
pub use trial::Trial;
