//! An order's page, as far as somebody must understand it.

/// What it tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Held,
    /// The last card did not work; nothing was charged, and the hold goes on.
    Declined,
    /// Asked to wait, or to confirm.
    UnderWay,
    Sold,
    Refunded,
    /// Lapsed, or released: nothing was charged.
    Ended,
    /// No page of an order.
    None,
}

pub struct Page {
    pub kind: Kind,
    /// On its tickets.
    pub codes: Vec<String>,
}

impl Page {
    pub fn read(html: &str) -> Self {
        let word = between(html, "<header data-o=\"", "\"");
        let must_confirm = html.contains("Your card must be confirmed");
        let kind = match word.unwrap_or_default() {
            "held" if must_confirm => Kind::UnderWay,
            "held" => Kind::Held,
            "declined" => Kind::Declined,
            "paying" => Kind::UnderWay,
            "sold" => Kind::Sold,
            "refunded" => Kind::Refunded,
            "lapsed" | "released" => Kind::Ended,
            _ => Kind::None,
        };
        let stubs = html.split("class=\"stub\"").skip(1);
        let mut codes: Vec<String> =
            stubs.filter_map(|stub| between(stub, "<code>", "</code>")).map(str::to_owned).collect();
        codes.sort();
        Self { kind, codes }
    }
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split_once(after).map(|(found, _)| found)
}
