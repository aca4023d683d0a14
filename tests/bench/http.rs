//! A browser's connection reduced to what a load needs: HTTP/1.1, kept alive, one request after the other. It shares the
//! cores with the server, so it does as little as it can.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Result;

/// Nothing that is measured takes nearly as long.
const PATIENCE: Duration = Duration::from_secs(30);

/// One connection.
#[derive(Debug)]
pub struct Connection {
    address: SocketAddr,
    stream: TcpStream,
    /// What has arrived of the answer, and perhaps of nothing else: requests are not pipelined.
    buffer: Vec<u8>,
}

/// What an answer said.
#[derive(Debug)]
pub struct Answer<'a> {
    /// Its status.
    pub status: u16,
    /// Its head, without the status line.
    pub head: &'a str,
    /// Its body as it travelled; parts of a chunked one still have their lengths between them.
    pub body: &'a [u8],
}

impl Answer<'_> {
    /// A header's value by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().filter_map(|line| line.split_once(": ")).find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

impl Connection {
    /// Opens one.
    pub async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { address, stream, buffer: Vec::with_capacity(1 << 18) })
    }

    /// The bytes of a GET; `more` are further header lines, each with its line end.
    pub fn get(&self, path: &str, more: &str) -> Vec<u8> {
        format!("GET {path} HTTP/1.1\r\nhost: {}\r\naccept: text/html,*/*\r\n{more}\r\n", self.address).into_bytes()
    }

    /// The bytes of a form that asks for JSON.
    pub fn post(&self, path: &str, more: &str, form: &str) -> Vec<u8> {
        self.send(path, "application/json", more, form)
    }

    /// The bytes of a form as a page without a script sends it.
    pub fn post_from_page(&self, path: &str, form: &str) -> Vec<u8> {
        self.send(path, "text/html", &format!("referer: http://{}/\r\n", self.address), form)
    }

    fn send(&self, path: &str, accept: &str, more: &str, form: &str) -> Vec<u8> {
        let (host, length) = (self.address, form.len());
        format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\naccept: {accept}\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {length}\r\n{more}\r\n{form}"
        )
        .into_bytes()
    }

    /// Sends a request and reads its answer.
    pub async fn ask(&mut self, request: &[u8]) -> Result<Answer<'_>> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let (mut head_end, mut end) = (None, None);
        while end.is_none_or(|end| self.buffer.len() < end) {
            let read = tokio::time::timeout(PATIENCE, self.stream.read_buf(&mut self.buffer)).await??;
            if read == 0 {
                return Err("the server hung up".into());
            }
            if head_end.is_none() {
                head_end = self.buffer.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
            }
            if let (Some(head_end), None) = (head_end, end) {
                end = body_end(&self.buffer, head_end)?;
            }
        }
        let head_end = head_end.unwrap_or_default();
        let head = std::str::from_utf8(&self.buffer[..head_end])?;
        let (first, head) = head.split_once("\r\n").unwrap_or((head, ""));
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or("not HTTP")?;
        Ok(Answer { status, head, body: &self.buffer[head_end..] })
    }
}

/// Where the answer ends, as soon as that can be known.
fn body_end(buffer: &[u8], head_end: usize) -> Result<Option<usize>> {
    let head = std::str::from_utf8(&buffer[..head_end])?;
    if let Some((_, length)) = head.split_once("content-length: ") {
        let length = length.split("\r\n").next().unwrap_or_default();
        return Ok(Some(head_end + length.parse::<usize>()?));
    }
    if !head.contains("transfer-encoding: chunked") {
        return Ok(Some(head_end));
    }
    let mut at = head_end;
    while let Some(line) = buffer[at..].windows(2).position(|two| two == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&buffer[at..at + line])?.trim(), 16)?;
        at += line + 2 + length + 2;
        if length == 0 {
            return Ok(Some(at));
        }
        if at >= buffer.len() {
            break;
        }
    }
    Ok(None)
}

/// What a load did.
#[derive(Debug, Default)]
pub struct Load {
    /// How long each answer took, in milliseconds.
    pub times: Vec<f64>,
    /// How long the whole load took, in seconds.
    pub seconds: f64,
}

impl Load {
    /// Answers a second.
    pub fn rate(&self) -> f64 {
        self.times.len() as f64 / self.seconds
    }
}

/// Asks over every connection until the time is up. `request` makes a connection's nth request, or ends it with `None`;
/// `is_right` judges each answer: a fast error is not a figure.
pub async fn load(
    address: SocketAddr,
    connections: usize,
    duration: Duration,
    request: impl Fn(&Connection, usize, usize) -> Option<Vec<u8>> + Clone + Send + 'static,
    is_right: impl Fn(&Answer<'_>) -> bool + Clone + Send + 'static,
) -> Result<Load> {
    let mut open = Vec::with_capacity(connections);
    for _ in 0..connections {
        open.push(Connection::open(address).await?);
    }
    let start = Instant::now();
    let tasks = open.into_iter().enumerate().map(|(number, mut connection)| {
        let (request, is_right) = (request.clone(), is_right.clone());
        tokio::spawn(async move {
            let mut times = Vec::with_capacity(1 << 12);
            while start.elapsed() < duration {
                let Some(bytes) = request(&connection, number, times.len()) else { break };
                let sent = Instant::now();
                let answer = connection.ask(&bytes).await?;
                if !is_right(&answer) {
                    let body = String::from_utf8_lossy(&answer.body[..answer.body.len().min(200)]);
                    return Err(format!("an answer of status {}: {body}", answer.status).into());
                }
                times.push(sent.elapsed().as_secs_f64() * 1000.0);
            }
            Result::Ok(times)
        })
    });
    let tasks: Vec<_> = tasks.collect();
    let mut load = Load::default();
    for task in tasks {
        load.times.extend(task.await??);
    }
    load.seconds = start.elapsed().as_secs_f64();
    Ok(load)
}
