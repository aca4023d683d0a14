//! The rules of selling seats: pure types and functions, the same in the browser and on the server.
//!
//! What belongs here: what a seat, a hold, an order, a payment, a plan *is*, and every decision about them. What never
//! does: reading a clock, a database, the network, or anything asynchronous. A time is always an argument.

pub mod cinema;
pub mod error;
pub mod hold;
pub mod ids;
pub mod incident;
pub mod local_time;
pub mod money;
pub mod nearest;
pub mod order;
pub mod payment;
pub mod plan;
pub mod queue;
pub mod saga;
pub mod seat;
pub mod show;
pub mod ticket;

pub use error::Error;
