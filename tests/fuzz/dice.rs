//! Dice, and the odd values that they choose from.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use uuid::Uuid;

/// Comes back in no page, unless something forgot to escape it.
pub const CANARY: &str = "<fuzz a='\"'>";

/// What decides.
pub struct Dice(StdRng);

impl Dice {
    /// The same for the same run, door and number.
    pub fn new(seed: u64, door: &str, nth: u64) -> Self {
        let door = door.bytes().fold(0_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ door.rotate_left(32) ^ nth;
        Self(StdRng::seed_from_u64(mixed))
    }

    /// Below `end`, which is not zero.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }

    /// True so often of a hundred times.
    pub fn percent(&mut self, percent: u8) -> bool {
        self.0.random_range(0..100) < percent
    }

    /// One of these.
    pub fn of<'a, T: ?Sized>(&mut self, these: &[&'a T]) -> &'a T {
        these[self.below(these.len())]
    }

    /// One of these.
    pub fn any<'a, T>(&mut self, these: &'a [T]) -> &'a T {
        &these[self.below(these.len())]
    }

    /// Whatever byte.
    pub fn byte(&mut self) -> u8 {
        self.0.random()
    }

    /// An id that nobody has.
    pub fn uuid(&mut self) -> Uuid {
        uuid::Builder::from_random_bytes(self.0.random()).into_uuid()
    }

    /// A value that a field is not meant for.
    pub fn odd(&mut self) -> String {
        let odd = self.of(ODD);
        match self.below(12) {
            0 => odd.repeat(1 + self.below(300)),
            1 => format!("{odd}{}", self.of(ODD)),
            2 => self.odd_uuid(),
            3 => self.odd_number(),
            4 => "x".repeat(1 << self.below(15)),
            _ => odd.to_owned(),
        }
    }

    /// Nearly a UUID, or one in another dress.
    pub fn odd_uuid(&mut self) -> String {
        let uuid = self.uuid();
        let text = uuid.to_string();
        match self.below(10) {
            0 => text.to_uppercase(),
            1 => format!("{{{text}}}"),
            2 => format!("urn:uuid:{text}"),
            3 => text[..self.below(36)].to_owned(),
            4 => text.replace('-', ""),
            5 => format!("{text}0"),
            6 => text.replacen(char::is_alphanumeric, "g", 1),
            7 => format!(" {text}\t"),
            8 => Uuid::nil().to_string(),
            _ => text.replace('-', "\u{2010}"),
        }
    }

    /// Nearly a number, or one that is too large for something.
    pub fn odd_number(&mut self) -> String {
        let near = [i128::from(i16::MAX), i128::from(i32::MAX), i128::from(i64::MAX), i128::from(u64::MAX), 0, 10];
        let value = *self.any(&near) + self.below(3) as i128 - 1;
        match self.below(8) {
            0 => (-value).to_string(),
            1 => format!("{value}.0"),
            2 => format!("+{value}"),
            3 => format!("0{value}"),
            4 => format!("{value}e{}", self.below(400)),
            5 => format!("0x{value:x}"),
            _ => value.to_string(),
        }
    }

    /// A text with something done to it.
    pub fn bent(&mut self, text: &str) -> String {
        let mut letters: Vec<char> = text.chars().collect();
        let at = self.below(letters.len() + 1);
        match self.below(7) {
            0 => letters.truncate(at),
            1 => letters.insert(at, *self.any(&['\0', '\n', ' ', '%', '\u{feff}', '\u{202e}', '\'', '0', 'é'])),
            2 if at < letters.len() => drop(letters.remove(at)),
            3 if at < letters.len() => letters[at] = letters[at].to_ascii_uppercase(),
            4 => letters.extend(text.chars()),
            5 => return format!(" {text} "),
            _ => return self.odd(),
        }
        letters.into_iter().collect()
    }

    /// Bytes with something done to them.
    pub fn damaged(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        let at = self.below(bytes.len() + 1);
        match self.below(6) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, self.byte()),
            2 if at < bytes.len() => bytes[at] = self.byte(),
            3 => drop(bytes.splice(at..at, *self.any(&[*b"\xff\xfe", *b"%\0", *b"\r\n", *b"&="]))),
            4 => bytes.extend_from_within(..at),
            _ => bytes.splice(at..at, (0..16).map(|_| 0)).for_each(drop),
        }
        bytes
    }
}

/// What people, scanners and broken programs send.
pub const ODD: &[&str] = &[
    "",
    " ",
    "\0",
    "a\0b",
    "null",
    "undefined",
    "true",
    "NaN",
    "-1",
    "0",
    "1e9",
    "99999999999999999999",
    "[]",
    "{}",
    "[object Object]",
    "'; drop table seats; --",
    "' or 1=1 --",
    CANARY,
    "\"><script>alert(1)</script>",
    "{{7*7}}${7*7}#{7*7}",
    "../../../../etc/passwd",
    "..\\..\\",
    "%00",
    "%",
    "%%%",
    "%c0%80",
    "\r\nSet-Cookie: a=b",
    "\r\n\r\n<html>",
    "\u{202e}\u{feff}\u{200d}",
    "é",
    "e\u{301}\u{301}\u{301}",
    "٣",
    "４２",
    "𝟜𝟚",
    "👩\u{200d}👩\u{200d}👧",
    "\u{10ffff}",
    "\u{fffd}",
    "İ",
    "ß",
    "a@b",
    "a@[127.0.0.1]",
    "a@b\r\nBcc: c@d",
    "4242 4242 4242 4242",
    "4242-4242-4242-4242",
    "4000000000000341",
    "javascript:alert(1)",
    "//elsewhere.example/",
    "https://elsewhere.example/",
    "&seats[]=1&",
    "a=b;c=d",
    "+",
    "++",
];
