//! The rush: `matinee rush`, which lets a crowd loose and measures: a [`crowd`] of people over HTTP on the real program, or
//! the [`laboratory`], which compares other ways to keep a seat.
//!
//! A room at the end of the corridor: it may start servers and databases of its own, and nobody but `main` enters it. What
//! it keeps lies in a database of its own, never in a cinema's; nothing of it runs while a cinema sells. [`chart`] and [`report`] draw what any part of the rush has measured.

pub mod chart;
mod command;
pub mod crowd;
pub mod figure;
pub mod laboratory;
mod place;
pub mod report;

pub use command::{Failure, Flags, run};
