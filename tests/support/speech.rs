//! Where a request and its answer end, in what is spoken on a wire.

use tokio::io::{AsyncRead, AsyncReadExt};

/// What is spoken on a wire.
#[derive(Clone, Copy, Debug)]
pub enum Speech {
    /// Postgres.
    Database,
    /// HTTP/1.1, with bodies of a length that is said before.
    Http,
}

impl Speech {
    /// The next request; none when the connection is gone.
    pub async fn request(self, from: &mut (impl AsyncRead + Unpin), first: bool) -> Option<Vec<u8>> {
        match self {
            Self::Http => http_message(from).await,
            // The greeting has no name.
            Self::Database if first => {
                let mut message = vec![0; 4];
                from.read_exact(&mut message).await.ok()?;
                rest(from, &mut message, 0).await
            }
            // A statement ends with the wish to be synchronised; a farewell is no exchange.
            Self::Database => database_messages(from, b"SQ", Some(b'X')).await,
        }
    }

    /// The answer to it.
    pub async fn answer(self, from: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
        match self {
            Self::Http => http_message(from).await,
            Self::Database => database_messages(from, b"Z", None).await,
        }
    }

    /// Whether a request wants nothing but an answer.
    pub const fn asks_nothing(self, request: &[u8]) -> bool {
        matches!((self, request.first()), (Self::Database, Some(b'S')))
    }

    /// What a request is about, for people.
    pub fn words(self, request: &[u8]) -> String {
        let text = String::from_utf8_lossy(request);
        match self {
            Self::Http => text.split(" HTTP/").next().unwrap_or_default().to_owned(),
            Self::Database => match text.split_once("-- ") {
                Some((_, name)) => format!("prepare {}", name.lines().next().unwrap_or_default()),
                None => match request.first() {
                    Some(b'P') => "prepare another".to_owned(),
                    Some(b'B') => "run".to_owned(),
                    Some(b'Q') => "query".to_owned(),
                    _ => "connect".to_owned(),
                },
            },
        }
    }
}

/// Whether it says so.
pub fn contains(text: &[u8], what: &str) -> bool {
    text.windows(what.len()).any(|part| part == what.as_bytes())
}

/// Messages up to one of these kinds; nothing after a farewell, or when the connection is gone.
async fn database_messages(from: &mut (impl AsyncRead + Unpin), last: &[u8], farewell: Option<u8>) -> Option<Vec<u8>> {
    let mut messages = Vec::new();
    loop {
        let begin = messages.len();
        messages.resize(begin + 5, 0);
        from.read_exact(&mut messages[begin..]).await.ok()?;
        let kind = messages[begin];
        messages = rest(from, &mut messages, begin + 1).await?;
        if last.contains(&kind) {
            return Some(messages);
        }
        if farewell == Some(kind) {
            return None;
        }
    }
}

/// The rest of a message whose length stands there.
async fn rest(from: &mut (impl AsyncRead + Unpin), message: &mut Vec<u8>, length_at: usize) -> Option<Vec<u8>> {
    let length = u32::from_be_bytes(message[length_at..length_at + 4].try_into().unwrap());
    let begin = message.len();
    message.resize(length_at + usize::try_from(length).unwrap(), 0);
    from.read_exact(&mut message[begin..]).await.ok()?;
    Some(std::mem::take(message))
}

/// A head, and as much of a body as it announces.
async fn http_message(from: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let mut message = Vec::new();
    while !message.ends_with(b"\r\n\r\n") {
        message.push(from.read_u8().await.ok()?);
    }
    let head = String::from_utf8_lossy(&message).to_ascii_lowercase();
    assert!(!head.contains("transfer-encoding"), "a body of unknown length: {head}");
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .map_or(0, |length| length.trim().parse::<usize>().unwrap());
    let begin = message.len();
    message.resize(begin + length, 0);
    from.read_exact(&mut message[begin..]).await.ok()?;
    Some(message)
}
