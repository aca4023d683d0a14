//! The rush: `matinee rush`, which lets a crowd loose and measures. Today it is the strategy laboratory alone.
//!
//! A room at the end of the corridor: it may start servers and databases of its own, and nobody but `main` enters it. What
//! it keeps in a database lies in a schema of its own, never in the cinema's tables; nothing of it runs while the cinema
//! sells. [`chart`] and [`report`] draw what any part of the rush has measured.

pub mod chart;
mod command;
pub mod figure;
pub mod laboratory;
mod place;
pub mod report;

pub use command::{Failure, Flags, run};
