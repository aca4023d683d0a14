//! The pass: a place that its visitor carries, signed, so that a hold can be let in without another question.
//!
//! It says who, which show and which place, and nothing of time: when a place is admitted and when it is over is the clock's
//! to say. Given to somebody else it is of no use, for it names its visitor.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::domain::ids::{ShowId, VisitorId};
use crate::domain::queue::Place;

/// A place that was verified to be the visitor's own: only this module makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    show: ShowId,
    visitor: VisitorId,
    place: Place,
}

impl Pass {
    pub(super) const fn new(show: ShowId, visitor: VisitorId, place: Place) -> Self {
        Self { show, visitor, place }
    }

    /// The place, if this pass is for that show and visitor.
    pub fn place_for(self, show: ShowId, visitor: VisitorId) -> Option<Place> {
        (self.show == show && self.visitor == visitor).then_some(self.place)
    }

    /// What its visitor carries.
    pub(super) fn sign(self, secret: &[u8; 32]) -> Option<String> {
        let seal = hex::encode(self.mac(secret)?.finalize().into_bytes());
        Some(format!("{}.{seal}", self.place.0))
    }

    /// Reads what somebody carries; `None` when it was not signed here, for this visitor and this show.
    pub(super) fn read(secret: &[u8; 32], show: ShowId, visitor: VisitorId, carried: &str) -> Option<Self> {
        let (place, seal) = carried.split_once('.')?;
        let pass = Self { show, visitor, place: Place(place.parse().ok()?) };
        let seal = hex::decode(seal).ok()?;
        // In constant time.
        pass.mac(secret)?.verify_slice(&seal).ok()?;
        Some(pass)
    }

    fn mac(self, secret: &[u8; 32]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
        mac.update(b"pass");
        mac.update(self.show.0.as_bytes());
        mac.update(self.visitor.0.as_bytes());
        mac.update(&self.place.0.to_be_bytes());
        Some(mac)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_pass_is_its_own_visitors_and_as_it_was_signed() {
        let (secret, show, visitor) = ([7; 32], ShowId(Uuid::from_u128(1)), VisitorId(Uuid::from_u128(2)));
        let pass = Pass::new(show, visitor, Place(41));
        let carried = pass.sign(&secret).unwrap();
        assert_eq!(Pass::read(&secret, show, visitor, &carried), Some(pass));
        assert_eq!(pass.place_for(show, visitor), Some(Place(41)));
        let (other_show, other) = (ShowId(Uuid::from_u128(3)), VisitorId(Uuid::from_u128(4)));
        assert_eq!((pass.place_for(other_show, visitor), pass.place_for(show, other)), (None, None));
        for (secret, show, visitor, carried) in [
            (secret, show, other, carried.clone()),
            (secret, other_show, visitor, carried.clone()),
            ([8; 32], show, visitor, carried.clone()),
            (secret, show, visitor, carried.replacen("41", "1", 1)),
            (secret, show, visitor, format!("0{carried}0")),
            (secret, show, visitor, carried[..20].to_owned()),
            (secret, show, visitor, "41.".to_owned()),
            (secret, show, visitor, String::new()),
        ] {
            assert_eq!(Pass::read(&secret, show, visitor, &carried), None, "{carried}");
        }
    }
}
