//! How people reach the servers: kept-alive connections, as a proxy in front would have them, shared by all who come.

use std::borrow::Cow;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{COOKIE, HeaderName, HeaderValue};
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// A browser gives up later than this, a person earlier.
const ANSWERED_WITHIN: Duration = Duration::from_secs(60);

/// A request, as far as the crowd's differ.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// Its path.
    pub path: &'a str,
    /// The form of a command; `None` to read.
    pub form: Option<String>,
    /// Who asks, as a proxy says it.
    pub from: Ipv4Addr,
    /// The visitor's cookie.
    pub cookie: Option<&'a str>,
    /// What is accepted: JSON, or a page as browsers ask for it.
    pub page: bool,
}

/// What was answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Where it leads to.
    pub location: Option<String>,
    /// The cookie that it sets, as it is sent back.
    pub cookie: Option<String>,
    /// After how long to come again.
    pub retry_after: Option<Duration>,
    /// The version of what it shows.
    pub tag: Option<String>,
    /// Its body.
    pub body: Bytes,
    /// Whether that is compressed with brotli, the only way that is asked for.
    pub packed: bool,
}

impl Answer {
    /// Whether what was asked for was done.
    pub fn is_yes(&self) -> bool {
        self.status.is_success() || self.status.is_redirection()
    }

    /// The body as it was before it was compressed; `None` for one that never was.
    pub fn unpacked(&self) -> Option<Cow<'_, [u8]>> {
        if !self.packed {
            return Some(Cow::Borrowed(&self.body));
        }
        let mut plain = Vec::new();
        brotli::BrotliDecompress(&mut &self.body[..], &mut plain).ok()?;
        Some(Cow::Owned(plain))
    }
}

/// Why there was no answer.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The connection.
    #[error("no connection: {0}")]
    Io(#[from] std::io::Error),
    /// What came over it.
    #[error("no answer: {0}")]
    Http(#[from] hyper::Error),
    /// What was to be sent.
    #[error("no request: {0}")]
    Request(#[from] http::Error),
    /// It took too long.
    #[error("no answer within {} s", ANSWERED_WITHIN.as_secs())]
    TooLong,
}

/// Connections to one server.
#[derive(Debug)]
pub struct Links {
    /// Where it is.
    pub address: SocketAddr,
    idle: Mutex<Vec<SendRequest<Full<Bytes>>>>,
    permits: Semaphore,
}

impl Links {
    /// At most so many connections, opened when they are first needed.
    pub fn new(address: SocketAddr, connections: usize) -> Self {
        Self { address, idle: Mutex::default(), permits: Semaphore::new(connections) }
    }

    /// Asks over the next free connection.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn ask(&self, question: &Question<'_>) -> Result<Answer, Broken> {
        let request = request(question)?;
        let Ok(_permit) = self.permits.acquire().await else { return Err(Broken::TooLong) };
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut sender = match idle {
            Some(sender) if sender.is_ready() => sender,
            _ => connect(self.address).await?,
        };
        let answer = tokio::time::timeout(ANSWERED_WITHIN, send(&mut sender, request)).await;
        let answer = answer.map_err(|_| Broken::TooLong)??;
        // Its last byte was read: the next may have it.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        Ok(answer)
    }

    /// Opens a connection of its own for what never ends.
    ///
    /// # Errors
    /// When it is not answered.
    pub async fn stream(&self, path: &str) -> Result<http::Response<Incoming>, Broken> {
        let mut sender = connect(self.address).await?;
        let request = Request::get(path).header(header::HOST, "rush.example").body(Full::default())?;
        Ok(sender.send_request(request).await?)
    }
}

async fn connect(address: SocketAddr) -> Result<SendRequest<Full<Bytes>>, Broken> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // Ends with the connection.
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection of the crowd");
        }
    });
    sender.ready().await?;
    Ok(sender)
}

async fn send(sender: &mut SendRequest<Full<Bytes>>, request: Request<Full<Bytes>>) -> Result<Answer, Broken> {
    let response = sender.send_request(request).await?;
    let (head, body) = response.into_parts();
    let text = |name: HeaderName| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let answer = Answer {
        status: head.status,
        location: text(header::LOCATION),
        cookie: text(header::SET_COOKIE).and_then(|cookie| cookie.split(';').next().map(str::to_owned)),
        retry_after: text(header::RETRY_AFTER).and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs),
        tag: text(header::ETAG),
        packed: head.headers.contains_key(header::CONTENT_ENCODING),
        body: body.collect().await?.to_bytes(),
    };
    sender.ready().await?;
    Ok(answer)
}

fn request(question: &Question<'_>) -> Result<Request<Full<Bytes>>, http::Error> {
    let accept = if question.page { "text/html,application/xhtml+xml" } else { "application/json" };
    let mut request = Request::builder()
        .method(if question.form.is_some() { Method::POST } else { Method::GET })
        .uri(question.path)
        .header(header::HOST, "rush.example")
        .header(header::ACCEPT, accept)
        .header(header::ACCEPT_ENCODING, "br")
        .header("x-forwarded-for", question.from.to_string());
    if let Some(cookie) = question.cookie {
        request = request.header(COOKIE, cookie);
    }
    match &question.form {
        None => request.body(Full::default()),
        Some(form) => request
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"))
            .body(Full::from(form.clone())),
    }
}
