//! Connections: each is accepted, served until it ends, and ended in order when the server stops.
//!
//! By hand, because `axum::serve` lets nobody say how: it guesses the protocol of every connection, for which hyper's buffer doubles
//! (8 KiB for as long as somebody watches a map), and it waits without end for a request that is begun and never completed.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use axum::serve::Listener;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tower::Service;

/// How long a connection may wait for its next request, and a request for its last line. Longer than proxies keep a connection that
/// nobody uses (nginx: 60 s), so that it is the proxy which closes it and never in the midst of a request.
const LONGEST_SILENCE: Duration = Duration::from_secs(75);

/// Serves every connection, until `stop`; then those that are at work are served to the end of their answers.
pub async fn serve(listener: TcpListener, app: Router, stop: impl Future<Output = ()>) {
    serve_patiently(listener, app, stop, LONGEST_SILENCE).await;
}

async fn serve_patiently(
    mut listener: TcpListener,
    app: Router,
    stop: impl Future<Output = ()>,
    longest_silence: Duration,
) {
    let open = GracefulShutdown::new();
    let mut protocol = http1::Builder::new();
    protocol.timer(TokioTimer::new()).header_read_timeout(longest_silence);
    tokio::pin!(stop);
    loop {
        let (stream, peer) = tokio::select! {
            accepted = Listener::accept(&mut listener) => accepted,
            () = &mut stop => break,
        };
        let connection = protocol.serve_connection(TokioIo::new(at_once(stream)), visit(app.clone(), peer));
        let connection = open.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%peer, %error, "a connection ended");
            }
        });
    }
    drop(listener);
    open.shutdown().await;
}

/// What changed on a map is smaller than a packet, and must not wait for the one before to be acknowledged.
fn at_once(stream: TcpStream) -> TcpStream {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection sends its packets when the system likes");
    }
    stream
}

/// Every request of a connection, with where it comes from.
fn visit(
    app: Router,
    peer: SocketAddr,
) -> impl hyper::service::Service<Request<Incoming>, Response = axum::response::Response, Error = Infallible, Future: Send>
{
    service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        // A router is always ready, and cheap to clone.
        app.clone().call(request)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::{Notify, oneshot};

    use super::*;

    async fn read_to_end(mut stream: TcpStream) -> String {
        let mut text = String::new();
        let read = stream.read_to_string(&mut text);
        tokio::time::timeout(Duration::from_secs(10), read).await.unwrap().unwrap();
        text
    }

    async fn ask(address: SocketAddr, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    #[tokio::test]
    async fn who_begins_a_request_and_never_ends_it_is_let_go() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app =
            Router::new().route("/", get(|ConnectInfo(peer): ConnectInfo<SocketAddr>| async move { peer.to_string() }));
        tokio::spawn(serve_patiently(listener, app, std::future::pending(), Duration::from_millis(300)));
        let slow = ask(address, "GET / HTTP/1.1\r\nhost: a\r\nx-slow: ").await;
        let silent = ask(address, "").await;
        let quick = ask(address, "GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
        let from = quick.local_addr().unwrap();
        // Answered, and let go later, when it asks nothing more.
        let answer = read_to_end(quick).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with(&from.to_string()), "{answer}");
        assert!(!read_to_end(slow).await.contains("200 OK"));
        assert_eq!(read_to_end(silent).await, "");
    }

    #[tokio::test]
    async fn a_stop_waits_for_what_is_being_answered_and_takes_nothing_new() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let slow = {
            let (asked, go_on) = (Arc::clone(&asked), Arc::clone(&go_on));
            async move || {
                asked.notify_one();
                go_on.notified().await;
                "at last"
            }
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let app = Router::new().route("/", get(slow));
        let serving = tokio::spawn(serve(listener, app, async move { stopped.await.unwrap() }));
        let waits = ask(address, "GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
        let idle = ask(address, "").await;
        asked.notified().await;
        stop.send(()).unwrap();
        assert_eq!(read_to_end(idle).await, "");
        assert!(TcpStream::connect(address).await.is_err(), "nothing new is taken");
        assert!(!serving.is_finished(), "somebody is still being answered");
        go_on.notify_one();
        assert!(read_to_end(waits).await.ends_with("at last"));
        tokio::time::timeout(Duration::from_secs(10), serving).await.unwrap().unwrap();
    }
}
