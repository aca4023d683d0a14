//! An input, and what is done to its address, its form and its headers.

use std::fmt;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Method, Request, Uri};

use crate::dice::Dice;

pub const FORM: &str = "application/x-www-form-urlencoded";

/// A request.
#[derive(Clone)]
pub struct Input {
    pub method: String,
    /// Path and query.
    pub address: String,
    pub headers: Vec<(&'static str, Vec<u8>)>,
    pub body: Vec<u8>,
}

impl fmt::Display for Input {
    /// In full: whoever reads it can send it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {}", self.method, self.address)?;
        for (name, value) in &self.headers {
            writeln!(f, "{name}: {}", value.escape_ascii())?;
        }
        write!(f, "\n{}", self.body.escape_ascii())
    }
}

impl Input {
    pub fn new(method: &str, address: impl Into<String>) -> Self {
        Self {
            method: method.to_owned(),
            address: address.into(),
            headers: vec![("host", b"cinema.example".to_vec())],
            body: vec![],
        }
    }

    pub fn with(mut self, name: &'static str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| &**value)
    }

    pub fn path(&self) -> &str {
        self.address.split('?').next().unwrap_or_default()
    }

    /// As the router gets it; `None` when no HTTP library would let it through.
    pub fn request(&self) -> Option<Request<Body>> {
        let mut request = Request::new(Body::from(self.body.clone()));
        *request.method_mut() = Method::from_bytes(self.method.as_bytes()).ok()?;
        *request.uri_mut() = self.address.parse::<Uri>().ok().filter(|uri| uri.path().starts_with('/'))?;
        for (name, value) in &self.headers {
            request.headers_mut().append(HeaderName::from_static(name), HeaderValue::from_bytes(value).ok()?);
        }
        Some(request)
    }

    /// Headers of all kinds, some of them lies.
    pub fn with_odd_headers(mut self, dice: &mut Dice) -> Self {
        self = match dice.below(20) {
            0 => self,
            1..12 => self.with("accept", "application/json"),
            12..18 => self.with("accept", "text/html,application/xhtml+xml"),
            _ => self.odd_header(dice, "accept"),
        };
        if dice.percent(30) {
            self = self.with(
                "referer",
                format!("http://cinema.example{}", dice.of(&["/", "/shows/x?pick=1", "/orders/1/pay", "/?__err=%00"])),
            );
        }
        for _ in 0..dice.below(3) {
            let name = dice.of(NAMES);
            self = self.odd_header(dice, name);
        }
        self
    }

    fn odd_header(self, dice: &mut Dice, name: &'static str) -> Self {
        let value: Vec<u8> = match dice.below(4) {
            0 => (0..dice.below(40)).map(|_| dice.byte()).collect(),
            1 => dice.odd().into_bytes(),
            _ => dice.of(VALUES).as_bytes().to_vec(),
        };
        // What cannot stand in a header is refused by the HTTP library, long before us.
        let value = value.into_iter().filter(|byte| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f));
        let value: Vec<u8> = value.take(8_000).collect();
        self.with(name, value)
    }
}

const NAMES: &[&str] = &[
    "accept-encoding",
    "accept-language",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "idempotency-key",
    "if-modified-since",
    "if-none-match",
    "matinee-signature",
    "origin",
    "range",
    "referer",
    "sec-fetch-site",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-http-method-override",
    "x-requested-with",
];

const VALUES: &[&str] = &[
    "",
    ",",
    ";",
    "*/*",
    "text/html",
    "application/json",
    "null",
    "gzip, br;q=0, identity",
    "br",
    "chunked",
    "-1",
    "0",
    "1",
    "99999999999999999999",
    "65536",
    "W/\"0\"",
    "*",
    "bytes=0-",
    "bytes=99999-1",
    "cross-site",
    "same-origin",
    "none",
    "http://cinema.example",
    "https://elsewhere.example",
    "http://cinema.example:99999",
    "cinema.example",
    "[::1]:3000",
    "matinee=",
    "matinee=x; matinee=y",
    "matinee=AAAAAAAAAAAAAAAAAAAAAA",
    "a=b",
    "Bearer ",
    "Bearer x",
    "Basic Og==",
    "t=1,v1=00",
    "100-continue",
    "multipart/form-data",
    "multipart/form-data; boundary=",
    "text/plain; charset=utf-16",
    "application/x-www-form-urlencoded; charset=latin1",
    "00000000-0000-0000-0000-000000000000",
    "POST",
    "DELETE",
];

/// The fields of a form.
pub type Fields = Vec<(String, String)>;

/// Fields with something done to them.
pub fn bent(dice: &mut Dice, mut fields: Fields) -> Fields {
    for _ in 0..dice.below(4) {
        if fields.is_empty() {
            fields.push((dice.odd(), dice.odd()));
        }
        let at = dice.below(fields.len());
        let (name, value) = fields[at].clone();
        match dice.below(11) {
            0 => drop(fields.remove(at)),
            1 => fields.push((name, value)),
            2 => fields.insert(0, (name, dice.odd())),
            3 => fields[at].1 = dice.odd(),
            4 => fields[at].1 = dice.bent(&value),
            5 => fields[at].1 = dice.odd_uuid(),
            6 => fields[at].1 = dice.odd_number(),
            7 => {
                let suffix = dice.of(&["[]", "[0]", "[99999999]", "[a][b]", "[", "]", ".x", "\0", "[][][]"]);
                fields[at].0 = format!("{}{suffix}", name.trim_end_matches("[]"));
            }
            8 => fields[at].0 = dice.bent(&name),
            9 => {
                let other = dice.below(fields.len());
                fields[at].1 = fields[other].1.clone();
            }
            _ => fields.extend((0..dice.below(600)).map(|nth| ("seats[]".to_owned(), nth.to_string()))),
        }
    }
    fields
}

/// A form's body; now and then in a way that no browser writes.
pub fn encoded(dice: &mut Dice, fields: &Fields) -> Vec<u8> {
    let how = dice.below(12);
    let escape = |text: &str| -> String {
        text.bytes()
            .map(|byte| match how {
                0 if byte != b'&' => char::from(byte).to_string(),
                1 => format!("%{byte:02x}"),
                2 if byte == b' ' => "+".to_owned(),
                _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
                _ => format!("%{byte:02X}"),
            })
            .collect()
    };
    let mut body =
        fields.iter().map(|(name, value)| format!("{}={}", escape(name), escape(value))).collect::<Vec<_>>().join("&");
    if dice.percent(10) {
        let part = dice.of(&["%", "%f", "%zz", "%ff", "%00", "%c0%80", "%ed%a0%80", "&&&", "===", "&=", "#", ";"]);
        // Every byte of it is a letter's beginning.
        let at = (0..=dice.below(body.len() + 1)).rev().find(|at| body.is_char_boundary(*at)).unwrap_or(0);
        body.insert_str(at, part);
    }
    let body = body.into_bytes();
    if dice.percent(8) { dice.damaged(body) } else { body }
}
