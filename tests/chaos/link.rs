//! A wire that can be cut, and that can fall silent. Whoever uses it keeps its address, whatever becomes of the other end.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// Where a wire leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Nowhere,
    Port(SocketAddr),
    Socket(PathBuf),
}

/// The wire; it lies there as long as the test runs.
#[derive(Debug)]
pub struct Link {
    /// This end of it.
    pub address: SocketAddr,
    far: Mutex<End>,
    cuts: watch::Sender<u64>,
    silent: watch::Sender<bool>,
}

impl Link {
    pub async fn to(far: End) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let link = Arc::new(Self {
            address: listener.local_addr().unwrap(),
            far: Mutex::new(far),
            cuts: watch::Sender::new(0),
            silent: watch::Sender::new(false),
        });
        let accepting = Arc::clone(&link);
        tokio::spawn(async move {
            loop {
                // It fails only for want of something that will be there again in a moment.
                match listener.accept().await {
                    Ok((near, _)) => drop(tokio::spawn(Arc::clone(&accepting).connection(near))),
                    Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        });
        link
    }

    /// From now on new connections lead there.
    pub fn leads_to(&self, far: End) {
        *self.far.lock().unwrap() = far;
    }

    /// Every connection ends at once, with whatever is on its way.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Connections are accepted and kept, and nothing goes through. What was sent meanwhile arrives afterwards, even if its
    /// sender has given up.
    pub async fn is_silent_for(&self, time: Duration) {
        self.silent.send_replace(true);
        tokio::time::sleep(time).await;
        self.silent.send_replace(false);
    }

    async fn connection(self: Arc<Self>, near: TcpStream) {
        let (mut cuts, mut silent) = (self.cuts.subscribe(), self.silent.subscribe());
        cuts.mark_unchanged();
        let _ = near.set_nodelay(true);
        let carrying = async {
            let _ = silent.wait_for(|silent| !*silent).await;
            let far = self.far.lock().unwrap().clone();
            match far {
                End::Nowhere => {}
                End::Port(address) => {
                    if let Ok(far) = TcpStream::connect(address).await {
                        let _ = far.set_nodelay(true);
                        self.both_ways(near, far.into_split()).await;
                    }
                }
                End::Socket(path) => {
                    if let Ok(far) = UnixStream::connect(path).await {
                        self.both_ways(near, far.into_split()).await;
                    }
                }
            }
        };
        tokio::select! {
            () = carrying => {}
            _ = cuts.changed() => {}
        }
    }

    async fn both_ways<R, W>(&self, near: TcpStream, far: (R, W))
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let (near_read, near_write) = near.into_split();
        tokio::join!(
            carry(near_read, far.1, self.silent.subscribe()),
            carry(far.0, near_write, self.silent.subscribe())
        );
    }
}

async fn carry(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, mut silent: watch::Receiver<bool>) {
    let mut piece = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut piece).await {
        let _ = silent.wait_for(|silent| !*silent).await;
        if to.write_all(&piece[..read]).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}
