//! How mails leave: to a mail server, or as files; and whose trouble it is when one does not.

use std::path::PathBuf;
use std::time::Duration;

use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::response::{Category, Severity};
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use reqwest::Url;
use uuid::Uuid;

/// How mails leave.
#[derive(Debug)]
pub enum Post {
    /// As files of this folder, one a mail.
    Folder(PathBuf),
    /// To a mail server.
    Smtp(Box<AsyncSmtpTransport<Tokio1Executor>>),
}

/// Sends the mails of a cinema.
#[derive(Debug)]
pub struct Mailer {
    /// How they leave.
    pub post: Post,
    /// Who they are from.
    pub from: Address,
    /// Where the site is for its visitors, such as `https://cinema.example`; the links begin with it.
    pub site: String,
    /// How long a mail server may take over one mail. Twice this, for the mail and for the question after it, is less than
    /// a claim on a mail lasts.
    pub patience: Duration,
}

/// Longer than any mail server takes that works.
const PATIENCE: Duration = Duration::from_secs(25);

/// A mail, as it leaves.
pub struct Letter<'a> {
    /// The same for the same mail, however often it is sent: mailboxes know it again.
    pub name: String,
    /// The cinema's name, for the reader.
    pub sender: &'a str,
    pub to: &'a str,
    pub subject: String,
    pub text: String,
}

/// Why a mail did not leave.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// None can: the server is not there, does not know us, or is silent; the disk is full.
    #[error("{0}")]
    All(String),
    /// This one cannot now, and others may.
    #[error("{0}")]
    Now(String),
    /// This one never will: nobody lives at that address.
    #[error("{0}")]
    Ever(String),
}

impl Mailer {
    /// Mails leave as this text says: `smtp://name:password@host:587`, `smtps://..`, or a folder's path. A password travels
    /// encrypted, unless the server is this machine or `?tls=opportunistic` leaves that to the server.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub fn new(post: &str, from: &str, site: &str) -> Result<Self, String> {
        let post = if post.starts_with("smtp://") || post.starts_with("smtps://") {
            let url = encrypted(post)?;
            let server =
                AsyncSmtpTransport::<Tokio1Executor>::from_url(url.as_str()).map_err(|error| error.to_string())?;
            Post::Smtp(Box::new(server.timeout(Some(PATIENCE)).build()))
        } else {
            Post::Folder(PathBuf::from(post))
        };
        let from = from.parse().map_err(|error| format!("{from} is not a mail address: {error}"))?;
        Ok(Self { post, from, site: site.trim_end_matches('/').to_owned(), patience: PATIENCE })
    }

    /// Sends it.
    ///
    /// # Errors
    /// Why it did not leave, as far as we know: a server whose answer is lost may have taken it.
    pub async fn send(&self, letter: Letter<'_>) -> Result<(), Trouble> {
        let to: Address = letter.to.parse().map_err(|error| Trouble::Ever(format!("{}: {error}", letter.to)))?;
        let message = Message::builder()
            .from(Mailbox::new(Some(letter.sender.to_owned()), self.from.clone()))
            .to(Mailbox::new(None, to))
            .message_id(Some(format!("<{}@{}>", letter.name.replace('-', "."), self.from.domain())))
            .subject(letter.subject)
            .header(ContentType::TEXT_PLAIN)
            .body(letter.text)
            .map_err(|error| Trouble::Ever(error.to_string()))?;
        match &self.post {
            Post::Smtp(server) => self.send_to(server, message).await,
            Post::Folder(folder) => {
                // Written beside its place and moved there when it is whole: whoever collects mails finds no half ones.
                let name = format!("{}.eml", letter.name);
                let half = folder.join(format!(".{name}.{}", Uuid::new_v4().simple()));
                let written = async {
                    tokio::fs::create_dir_all(folder).await?;
                    tokio::fs::write(&half, message.formatted()).await?;
                    tokio::fs::rename(&half, folder.join(&name)).await
                };
                written.await.map_err(|error| Trouble::All(format!("{}: {error}", folder.display())))
            }
        }
    }

    async fn send_to(&self, server: &AsyncSmtpTransport<Tokio1Executor>, message: Message) -> Result<(), Trouble> {
        let (why, error) = match tokio::time::timeout(self.patience, server.send(message)).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => (error.to_string(), Some(error)),
            Err(_) => (format!("no answer within {:?}", self.patience), None),
        };
        // Whose trouble was it? A server that is away, or wants another password, says nothing about the mail. So it is
        // asked once more, without the mail.
        let is_there = tokio::time::timeout(self.patience, server.test_connection()).await;
        match error.as_ref().map(about_the_mail) {
            _ if !matches!(is_there, Ok(Ok(true))) => Err(Trouble::All(why)),
            Some(Some(Verdict::No)) => Err(Trouble::Ever(why)),
            Some(None) => Err(Trouble::All(why)),
            Some(Some(Verdict::NotNow)) | None => Err(Trouble::Now(why)),
        }
    }
}

/// What a server says about a mail.
enum Verdict {
    No,
    NotNow,
}

/// `None` when it speaks of something else: 5yz is for good, and 55z alone is about a mailbox or its mail; 53z wants a
/// password, 50z does not understand us.
fn about_the_mail(error: &lettre::transport::smtp::Error) -> Option<Verdict> {
    match error.status() {
        Some(code) if code.severity != Severity::PermanentNegativeCompletion => Some(Verdict::NotNow),
        Some(code) => (code.category == Category::MailSystem).then_some(Verdict::No),
        // Such as an address that this server cannot be told.
        None if error.is_client() => Some(Verdict::No),
        // It hung up, perhaps because of this mail.
        None => Some(Verdict::NotNow),
    }
}

/// The server's address; with a password in it, one to which it travels encrypted.
fn encrypted(address: &str) -> Result<Url, String> {
    let mut url = Url::parse(address).map_err(|error| error.to_string())?;
    let is_here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let says = url.query_pairs().any(|(name, _)| name == "tls");
    if url.scheme() == "smtp" && url.password().is_some() && !is_here && !says {
        url.query_pairs_mut().append_pair("tls", "required");
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_travels_encrypted() {
        for (address, tls) in [
            ("smtp://a:b@mail.example:587", Some("required")),
            ("smtp://a:b@mail.example?tls=opportunistic", Some("opportunistic")),
            ("smtps://a:b@mail.example", None),
            ("smtp://mail.example", None),
            ("smtp://a:b@127.0.0.1:2525", None),
            ("smtp://a:b@[::1]:2525", None),
        ] {
            let url = encrypted(address).unwrap();
            let said = url.query_pairs().find(|(name, _)| name == "tls").map(|(_, value)| value.into_owned());
            assert_eq!(said.as_deref(), tls, "{address}");
        }
    }

    #[test]
    fn what_is_no_mail_server_is_refused_in_words() {
        for address in ["smtp://", "smtp://a b", "smtp://host?tls=no"] {
            assert!(Mailer::new(address, "tickets@localhost", "http://x").is_err(), "{address}");
        }
        assert!(Mailer::new("mails", "nobody", "http://x").is_err());
    }
}
