//! Counts how often a database is asked: a way to it that lets everything pass and listens for questions.

use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, UnixStream};

/// A way to a database, and how many questions have gone along it.
#[derive(Clone, Debug)]
pub struct Trips {
    /// Where the way begins.
    pub url: String,
    asked: Arc<AtomicUsize>,
}

impl Trips {
    /// A way to the database of this address, which is reached by a socket in a folder.
    pub async fn to(url: &str) -> io::Result<Self> {
        let direct = PgConnectOptions::from_str(url).map_err(io::Error::other)?;
        let folder = direct.get_socket().cloned().unwrap_or_else(|| PathBuf::from(direct.get_host()));
        let near = folder.join(format!(".s.PGSQL.{}", direct.get_port()));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((far, _)) = listener.accept().await {
                let Ok(near) = UnixStream::connect(&near).await else { return };
                let ((mut far_read, mut far_write), (near_read, near_write)) = (far.into_split(), near.into_split());
                let counted = Arc::clone(&counted);
                tokio::spawn(async move { carry(&mut far_read, near_write, &counted).await });
                tokio::spawn(async move {
                    let mut near_read = near_read;
                    let _ended = copy(&mut near_read, &mut far_write).await;
                    let _closed = far_write.shutdown().await;
                });
            }
        });
        let (role, database) = (direct.get_username(), direct.get_database().unwrap_or("matinee"));
        Ok(Self { url: format!("postgres://{role}@127.0.0.1:{port}/{database}?sslmode=disable"), asked })
    }

    /// How many since the last time.
    pub fn since(&self) -> usize {
        self.asked.swap(0, Ordering::SeqCst)
    }
}

/// Passes messages on whole. A question is an Execute or a simple Query: whoever sends it waits for the answer. (Behind each,
/// when its connection goes back to the pool, the driver sends a bare Sync, for which nobody waits.)
async fn carry(
    from: &mut (impl AsyncReadExt + Unpin),
    mut to: impl AsyncWriteExt + Unpin,
    counted: &AtomicUsize,
) -> io::Result<()> {
    // The first message has no letter.
    let mut has_letter = false;
    loop {
        let letter = if has_letter { Some(from.read_u8().await?) } else { None };
        let length = from.read_u32().await?;
        let mut body = vec![0; (length as usize).saturating_sub(4)];
        from.read_exact(&mut body).await?;
        if matches!(letter, Some(b'E' | b'Q')) {
            counted.fetch_add(1, Ordering::SeqCst);
        }
        let mut message: Vec<u8> = letter.into_iter().collect();
        message.extend(length.to_be_bytes());
        message.extend(body);
        to.write_all(&message).await?;
        has_letter = true;
    }
}
