//! Where a failure of ours becomes an answer: logged once with its chain, told to the visitor by reference alone.

use std::error::Error as StdError;

use crate::domain::Error;
use crate::store::StoreError;

/// Turns a store's failure into what a visitor may know about it.
pub fn fault(error: impl std::borrow::Borrow<StoreError>) -> Error {
    let error = error.borrow();
    if error.is_unavailable() {
        tracing::warn!(error = chain(error), "database not available");
        return Error::Unavailable;
    }
    let reference = uuid::Uuid::new_v4().simple().to_string()[..12].to_owned();
    tracing::error!(reference, error = chain(error), "internal error");
    Error::Internal { reference }
}

fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}
