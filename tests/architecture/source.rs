//! Just enough of a reader of Rust to tell code, comments and strings apart.

/// A file's text, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The code, with comments left out and strings emptied.
    pub code: String,
    /// The contents of its strings, in order.
    pub strings: Vec<String>,
}

impl Source {
    /// Reads a file's text.
    pub fn of(text: &str) -> Self {
        let mut source = Self::default();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if rest.starts_with("//") {
                rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            } else if rest.starts_with("/*") {
                rest = &rest[end_of_comment(rest)..];
            } else if let Some((content, length)) = string(rest, source.code.chars().next_back()) {
                source.strings.push(content.to_owned());
                source.code.push_str("\"\"");
                rest = &rest[length..];
            } else if let Some(length) = character(rest) {
                source.code.push_str("' '");
                rest = &rest[length..];
            } else {
                source.code.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        source
    }

    /// The code above its tests.
    pub fn before_tests(&self) -> &str {
        self.code.split("#[cfg(test)]").next().unwrap_or_default()
    }

    /// Its public asynchronous functions, each with the strings in it.
    pub fn functions(&self) -> Vec<(String, Vec<String>)> {
        const BEGINNING: &str = "pub async fn ";
        let mut strings = self.strings.iter();
        let mut parts = self.code.split(BEGINNING);
        let mut take = |part: &str| strings.by_ref().take(part.matches("\"\"").count()).cloned().collect::<Vec<_>>();
        let _before = parts.next().map(&mut take);
        parts
            .map(|part| {
                // What stands behind the function belongs to nobody.
                let end = part.find("\n}").unwrap_or(part.len());
                let inside = take(&part[..end]);
                let _behind = take(&part[end..]);
                (part.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect(), inside)
            })
            .collect()
    }
}

fn end_of_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// A string at the beginning of the text: its content and its whole length.
fn string(text: &str, before: Option<char>) -> Option<(&str, usize)> {
    if before.is_some_and(|before| before.is_alphanumeric() || before == '_') {
        return None;
    }
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| {
        text.strip_prefix(prefix).is_some_and(|rest| {
            rest.trim_start_matches('#').starts_with('"') && (rest.starts_with('"') || prefix.ends_with('r'))
        })
    })?;
    let hashes = text[prefix.len()..].chars().take_while(|letter| *letter == '#').count();
    let start = prefix.len() + hashes + 1;
    if prefix.ends_with('r') {
        let end = format!("\"{}", "#".repeat(hashes));
        let length = text[start..].find(&end)?;
        return Some((&text[start..start + length], start + length + end.len()));
    }
    let mut escaped = false;
    for (at, letter) in text[start..].char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some((&text[start..start + at], start + at + 1)),
            _ => {}
        }
    }
    None
}

/// The length of a character literal at the beginning of the text; a lifetime is none.
fn character(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('\'')?;
    let mut letters = inside.char_indices();
    let (_, first) = letters.next()?;
    let end = if first == '\\' {
        letters.next()?;
        inside[2..].find('\'')? + 2
    } else {
        letters.next()?.0
    };
    inside[end..].starts_with('\'').then_some(end + 2)
}

/// All paths in the code, groups expanded: `a::{b, c::d}` is `a::b` and `a::c::d`.
pub fn paths(code: &str) -> Vec<Vec<String>> {
    let tokens = tokens(code);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if is_name(tokens[at]) {
            at = path(&tokens, at, &[], &mut found);
        } else {
            at += 1;
        }
    }
    found
}

fn is_name(token: &str) -> bool {
    token.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
}

fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let name = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
        let length = match name {
            0 if rest.starts_with("::") => 2,
            0 => first.len_utf8(),
            _ => name,
        };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

/// Reads one path that begins at a token; where it ends.
fn path(tokens: &[&str], mut at: usize, before: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut segments = before.to_vec();
    loop {
        match tokens.get(at) {
            Some(name) if is_name(name) => {
                segments.push((*name).to_owned());
                at += 1;
            }
            Some(&"{") => {
                at += 1;
                while tokens.get(at).is_some_and(|token| *token != "}") {
                    if is_name(tokens[at]) { at = path(tokens, at, &segments, found) } else { at += 1 }
                }
                return at + 1;
            }
            _ => break,
        }
        if tokens.get(at) != Some(&"::") {
            break;
        }
        at += 1;
    }
    found.push(segments);
    at
}

/// SQL without its comments.
pub fn without_sql_comments(text: &str) -> String {
    text.lines().map(|line| line.split("--").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

#[test]
fn code_comments_and_strings_are_told_apart() {
    let text = r###"fn f<'a>(x: &'a str) { // "no"
        let a = "one \" // still"; /* /* "no" */ */ let b = r#"two "quoted""#; let c = '"'; let d = b"three"; let e = '\''; br"" }"###;
    let source = Source::of(text);
    assert_eq!(source.strings, ["one \\\" // still", "two \"quoted\"", "three", ""]);
    assert!(
        !source.code.contains("no") && source.code.contains("let d") && source.code.contains("&'a str"),
        "{}",
        source.code
    );
}

#[test]
fn paths_are_expanded() {
    let found = paths("use a::{self, b, c::{d, e as f}, g::*}; h::i::<J>(k)");
    let found: Vec<String> = found.iter().map(|path| path.join("::")).collect();
    for wanted in ["a::self", "a::b", "a::c::d", "a::c::e", "h::i", "J", "k"] {
        assert!(found.iter().any(|path| path == wanted), "{wanted} in {found:?}");
    }
}

#[test]
fn functions_keep_their_strings() {
    let source = Source::of(
        "const A: &str = \"0\";\npub async fn a() {\n    f(\"1\", \"2\");\n}\nfn b() { \"3\" }\npub async fn c() { \"4\" \n}\n",
    );
    let wanted = [("a".to_owned(), vec!["1".to_owned(), "2".to_owned()]), ("c".to_owned(), vec!["4".to_owned()])];
    assert_eq!(source.functions(), wanted);
}
