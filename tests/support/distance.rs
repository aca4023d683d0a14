//! A database that is far away: every byte to it and from it takes its time.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use matinee::box_office::BoxOffice;
use matinee::store::pool;
use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{Cinema, here};

impl Cinema {
    /// Another server on the same database, whose every message takes so long each way. More connections than a pool has
    /// work side by side, and none waits for another.
    pub async fn office_far_away(&self, away: Duration) -> Arc<BoxOffice> {
        let direct = PgConnectOptions::from_str(&self.url()).unwrap();
        let near = direct.get_socket().unwrap().join(format!(".s.PGSQL.{}", direct.get_port()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((far, _)) = listener.accept().await {
                let near = UnixStream::connect(&near).await.unwrap();
                far.set_nodelay(true).unwrap();
                let ((far_read, far_write), (near_read, near_write)) = (far.into_split(), near.into_split());
                tokio::spawn(carry(far_read, near_write, away));
                tokio::spawn(carry(near_read, far_write, away));
            }
        });
        let (role, database) = (direct.get_username(), direct.get_database().unwrap());
        let pool = pool::connect(&format!("postgres://{role}@127.0.0.1:{port}/{database}?sslmode=disable")).unwrap();
        Arc::new(BoxOffice::new(pool, here(), Arc::new(self.gateway.clone())))
    }
}

/// Passes on what comes, each piece so much later, in order; the end too.
async fn carry(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Send + Unpin + 'static, away: Duration) {
    let (send, mut pieces) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    tokio::spawn(async move {
        while let Some((due, piece)) = pieces.recv().await {
            tokio::time::sleep_until(due).await;
            if to.write_all(&piece).await.is_err() {
                return;
            }
        }
        let _ = to.shutdown().await;
    });
    let mut piece = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut piece).await {
        if send.send((Instant::now() + away, piece[..read].to_vec())).is_err() {
            return;
        }
    }
}
