//! The pages: rendered on the server, each with one question to the store, whole before its first byte leaves, so that
//! statuses, redirects and cookies are real ones.

mod frame;
mod my_orders;
mod order;
mod parts;
mod payment;
mod problem;
mod queue;
mod seat_picker;
mod seat_rows;
mod story;
mod ticket;
mod whats_on;

pub use frame::{App, shell};
pub use problem::problem_page;
