//! Money in integer minor units, with the currency's own number of decimals.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An ISO 4217 currency code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Currency([u8; 3]);

impl Currency {
    /// The code, such as `EUR`.
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("???")
    }

    /// How many decimals its minor unit has (ISO 4217, list one): JPY 0, EUR 2, KWD 3.
    pub fn exponent(self) -> u32 {
        match &self.0 {
            b"BIF" | b"CLP" | b"DJF" | b"GNF" | b"ISK" | b"JPY" | b"KMF" | b"KRW" | b"PYG" | b"RWF" | b"UGX"
            | b"UYI" | b"VND" | b"VUV" | b"XAF" | b"XOF" | b"XPF" => 0,
            b"BHD" | b"IQD" | b"JOD" | b"KWD" | b"LYD" | b"OMR" | b"TND" => 3,
            _ => 2,
        }
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl FromStr for Currency {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        <[u8; 3]>::try_from(text.as_bytes())
            .ok()
            .filter(|code| code.iter().all(u8::is_ascii_uppercase))
            .map(Self)
            .ok_or_else(|| format!("`{text}` is not a currency code of three capital letters"))
    }
}

impl TryFrom<String> for Currency {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Currency> for String {
    fn from(currency: Currency) -> Self {
        currency.code().to_owned()
    }
}

/// An amount of one currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Money {
    /// In minor units: cents for EUR, yen for JPY, fils for KWD.
    pub minor: i64,
    /// Of this currency.
    pub currency: Currency,
}

impl Money {
    /// An amount from minor units.
    pub const fn new(minor: i64, currency: Currency) -> Self {
        Self { minor, currency }
    }

    /// The sum of prices of one currency; `None` when it does not fit.
    pub fn sum(prices: impl IntoIterator<Item = i64>, currency: Currency) -> Option<Self> {
        let minor = prices.into_iter().try_fold(0_i64, i64::checked_add)?;
        Some(Self { minor, currency })
    }
}

impl fmt::Display for Money {
    /// `EUR 12.50`, `JPY 1800`, `KWD 3.250`: the code first, a point, no grouping, the same everywhere.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exponent = self.currency.exponent();
        let unit = 10_u64.pow(exponent);
        let amount = self.minor.unsigned_abs();
        let sign = if self.minor < 0 { "-" } else { "" };
        write!(f, "{} {sign}{}", self.currency, amount / unit)?;
        if exponent > 0 {
            write!(f, ".{:0width$}", amount % unit, width = exponent as usize)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(minor: i64, code: &str) -> String {
        Money::new(minor, code.parse().unwrap()).to_string()
    }

    #[test]
    fn shown_with_the_currencys_own_decimals() {
        assert_eq!(shown(1250, "EUR"), "EUR 12.50");
        assert_eq!(shown(5, "EUR"), "EUR 0.05");
        assert_eq!(shown(1800, "JPY"), "JPY 1800");
        assert_eq!(shown(3250, "KWD"), "KWD 3.250");
        assert_eq!(shown(-7, "EUR"), "EUR -0.07");
        assert_eq!(shown(i64::MIN, "JPY"), "JPY -9223372036854775808");
    }

    #[test]
    fn seven_times_nineteen_ninety_nine() {
        let total = Money::sum([1999; 7], "EUR".parse().unwrap()).unwrap();
        assert_eq!(total.minor, 13_993);
        assert_eq!(total.to_string(), "EUR 139.93");
    }

    #[test]
    fn a_sum_that_does_not_fit_is_none_not_a_wrong_number() {
        assert_eq!(Money::sum([i64::MAX, 1], "EUR".parse().unwrap()), None);
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back_as_the_same_minor_units(minor in any::<i64>(), code in "(EUR|JPY|KWD|USD|TND)") {
            let text = shown(minor, &code);
            let digits: String = text.chars().filter(|c| c.is_ascii_digit() || *c == '-').collect();
            prop_assert_eq!(digits.parse::<i64>().unwrap(), minor);
        }

        #[test]
        fn only_three_capital_letters_are_a_currency(text in ".{0,5}") {
            let ok = text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase());
            prop_assert_eq!(text.parse::<Currency>().is_ok(), ok);
        }
    }
}
