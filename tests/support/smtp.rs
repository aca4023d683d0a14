//! A mail server on a port of its own that does what the test says. It speaks as much SMTP as a mail needs.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What the server does with the next mail to somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Answers the recipient like this, such as `550 5.1.1 nobody here`.
    Recipient(&'static str),
    /// Takes all of the mail, and answers it like this.
    Mail(&'static str),
    /// Hangs up in the middle of it.
    HangsUp,
    /// Takes it, and is silent for ever.
    FallsSilent,
}

/// A mail that the server took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub from: String,
    pub to: String,
    /// Its headers and its body.
    pub text: String,
}

#[derive(Debug, Default)]
struct Told {
    taken: Vec<Taken>,
    next: HashMap<String, VecDeque<Reaction>>,
    connections: usize,
}

/// The server.
#[derive(Clone, Debug)]
pub struct MailServer {
    pub address: SocketAddr,
    login: Option<&'static str>,
    told: Arc<Mutex<Told>>,
}

impl MailServer {
    /// Takes mails from everybody.
    pub async fn open() -> Self {
        Self::with_login(None).await
    }

    /// Takes mails from whoever gives this as `AUTH PLAIN`, in base64.
    pub async fn with_login(login: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self { address: listener.local_addr().unwrap(), login, told: Arc::default() };
        let serving = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = serving.clone();
                // Whoever hangs up on us is none of our business.
                tokio::spawn(async move { drop(server.serve(stream).await) });
            }
        });
        server
    }

    /// What becomes of the next mails to this address; after these, mails are taken.
    pub fn next(&self, to: &str, reactions: &[Reaction]) {
        self.told.lock().unwrap().next.insert(to.to_owned(), reactions.iter().copied().collect());
    }

    /// What it took so far.
    pub fn taken(&self) -> Vec<Taken> {
        self.told.lock().unwrap().taken.clone()
    }

    /// What it took for somebody.
    pub fn taken_for(&self, to: &str) -> Vec<Taken> {
        self.taken().into_iter().filter(|taken| taken.to == to).collect()
    }

    /// How often somebody connected.
    pub fn connections(&self) -> usize {
        self.told.lock().unwrap().connections
    }

    fn reaction(&self, to: &str) -> Option<Reaction> {
        self.told.lock().unwrap().next.get_mut(to)?.pop_front()
    }

    async fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        self.told.lock().unwrap().connections += 1;
        let (reading, mut writing) = stream.into_split();
        let mut lines = BufReader::new(reading).lines();
        let (mut from, mut to, mut reaction) = (String::new(), String::new(), None);
        let mut known = self.login.is_none();
        writing.write_all(b"220 mail.test\r\n").await?;
        while let Some(line) = lines.next_line().await? {
            let address = || line.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
            let answer = match line.split([' ', ':']).next().unwrap_or_default().to_uppercase().as_str() {
                "EHLO" => "250-mail.test\r\n250-8BITMIME\r\n250 AUTH PLAIN",
                "AUTH" => {
                    known = self.login.is_some_and(|login| line == format!("AUTH PLAIN {login}"));
                    if known { "235 welcome" } else { "535 5.7.8 who are you" }
                }
                "NOOP" | "RSET" => "250 as you like",
                "MAIL" if !known => "530 5.7.0 authenticate first",
                "MAIL" => {
                    from = address();
                    "250 go on"
                }
                "RCPT" => {
                    to = address();
                    reaction = self.reaction(&to);
                    match reaction {
                        Some(Reaction::Recipient(answer)) => answer,
                        _ => "250 go on",
                    }
                }
                "DATA" => {
                    writing.write_all(b"354 go on\r\n").await?;
                    let mut text = String::new();
                    loop {
                        let Some(line) = lines.next_line().await? else { return Ok(()) };
                        if reaction == Some(Reaction::HangsUp) {
                            return Ok(());
                        }
                        if line == "." {
                            break;
                        }
                        text.push_str(line.strip_prefix('.').unwrap_or(&line));
                        text.push_str("\r\n");
                    }
                    let mail = Taken { from: from.clone(), to: to.clone(), text };
                    match reaction {
                        Some(Reaction::Mail(answer)) => answer,
                        Some(Reaction::FallsSilent) => {
                            self.told.lock().unwrap().taken.push(mail);
                            std::future::pending::<()>().await;
                            return Ok(());
                        }
                        _ => {
                            self.told.lock().unwrap().taken.push(mail);
                            "250 taken"
                        }
                    }
                }
                "QUIT" => {
                    writing.write_all(b"221 bye\r\n").await?;
                    return Ok(());
                }
                _ => "500 what",
            };
            writing.write_all(format!("{answer}\r\n").as_bytes()).await?;
        }
        Ok(())
    }
}
