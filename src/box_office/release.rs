//! Give a hold back.

use super::{BoxOffice, fault};
use crate::domain::Error;
use crate::domain::ids::{OrderId, ShowId, VisitorId};
use crate::domain::order::{Order, OrderState};
use crate::store::{holds, orders};

/// Releases the visitor's hold and says of which show it was. Releasing again changes nothing and answers the same;
/// a lapsed hold can be released too.
///
/// # Errors
/// [`Error::UnknownOrder`] when it is not this visitor's; [`Error::PaymentInProgress`] or [`Error::AlreadySold`] when it is
/// too late for that.
pub async fn release(office: &BoxOffice, visitor: VisitorId, order: OrderId) -> Result<ShowId, Error> {
    let before = owned(office, visitor, order).await?;
    if holds::release(&office.pool, order).await.map_err(fault)? {
        office.snapshots.freed(before.show);
        return Ok(before.show);
    }
    match owned(office, visitor, order).await?.state {
        OrderState::Released { .. } | OrderState::Refunded { .. } | OrderState::RefundOwed { .. } => Ok(before.show),
        OrderState::Paying => Err(Error::PaymentInProgress),
        OrderState::Sold { .. } => Err(Error::AlreadySold),
        // Held again between the two statements: a payment was declined at this very moment.
        OrderState::Held => Err(Error::PaymentInProgress),
    }
}

/// The visitor's own order.
///
/// # Errors
/// [`Error::UnknownOrder`] when there is none, or it is somebody else's: the two look alike on purpose.
pub async fn owned(office: &BoxOffice, visitor: VisitorId, order: OrderId) -> Result<Order, Error> {
    let found = orders::get(&office.pool, order).await.map_err(fault)?;
    found.map(|(order, _)| order).filter(|order| order.visitor == visitor).ok_or(Error::UnknownOrder)
}
