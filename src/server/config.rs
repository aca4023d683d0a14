//! The command line and the environment. Every flag has a variable of the same meaning; the flag wins.
//!
//! The doc comments below are the text of `matinee --help`, read by a cinema's technician.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use ipnet::IpNet;
use leptos::config::LeptosOptions;

use super::commands::Command;
use super::limits::Shares;
use crate::box_office::mails::Mailer;
use crate::gateway::{self, Settings};

/// Where `make build` puts the pages' assets, seen from the folder of the source.
const BUILT_SITE: &str = "target/site";
/// Beside the assets: which hash is part of which asset's name.
const HASH_FILE: &str = "hash.txt";

/// Sells cinema seats: a live seat map, holds, payment, tickets.
///
/// Without a command it serves the site. Without a database URL it runs a private Postgres of its own in the data folder.
// `main` knows commands of rooms that this one must not know.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "matinee",
    version,
    after_help = "MATINEE_PG_BIN names the folder of Postgres' server programs (initdb), if they are not found by themselves."
)]
pub struct Cli<C: Subcommand = Command> {
    /// What to do; serves when absent.
    #[command(subcommand)]
    pub command: Option<C>,
    /// The flags that every command shares.
    #[command(flatten)]
    pub options: Options,
}

/// Flags that every command accepts, before or after its name.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Address and port to serve on. Use 0.0.0.0:3000 to be reachable from other machines.
    #[arg(long, env = "MATINEE_LISTEN", value_name = "ADDRESS:PORT", default_value = "127.0.0.1:3000", global = true)]
    pub listen: SocketAddr,

    /// Postgres to use, such as postgres://user:password@host/name. Absent or empty: a private Postgres in the data
    /// folder, started and stopped with this program.
    #[arg(long, env = "DATABASE_URL", value_name = "URL", hide_env_values = true, global = true)]
    database_url: Option<String>,

    /// Folder of the private Postgres. Made if need be; back it up while the program is stopped.
    #[arg(long, env = "MATINEE_DATA_DIR", value_name = "FOLDER", default_value = ".matinee", global = true)]
    pub data_dir: PathBuf,

    /// How to write the log: text for people, json (one object a line) for a log collector.
    #[arg(long, env = "MATINEE_LOG_FORMAT", value_name = "FORMAT", default_value = "text", global = true)]
    pub log_format: LogFormat,

    /// Send the visitors' cookie over HTTPS only. Set it when the site is served through a proxy with HTTPS.
    #[arg(long, env = "MATINEE_SECURE_COOKIE", global = true)]
    pub secure_cookie: bool,

    /// How many commands (holds, payments, ..) a second one visitor may send, five times as many at once; 0 for any number.
    #[arg(long, env = "MATINEE_VISITOR_SHARE", value_name = "NUMBER", default_value_t = 10, global = true)]
    visitor_share: u32,

    /// How many commands a second may come from one address, and ten times as many reads; 0 for any number. An address of this
    /// very machine has no limit.
    #[arg(long, env = "MATINEE_ADDRESS_SHARE", value_name = "NUMBER", default_value_t = 50, global = true)]
    address_share: u32,

    /// Proxies that are believed when they say for whom they ask (X-Forwarded-For), such as 10.0.0.0/8,127.0.0.1.
    #[arg(long, env = "MATINEE_TRUSTED_PROXY", value_name = "NETWORKS", value_delimiter = ',', value_parser = network, global = true)]
    trusted_proxy: Vec<IpNet>,

    /// Card processor to use. Absent: the simulated one, run within this program.
    #[arg(long, env = "MATINEE_GATEWAY_URL", value_name = "URL", global = true)]
    gateway_url: Option<String>,

    /// The key that the card processor knows us by.
    #[arg(long, env = "MATINEE_GATEWAY_KEY", value_name = "KEY", hide_env_values = true, global = true)]
    gateway_key: Option<String>,

    /// The secret that the card processor signs its messages with; two, with a comma between, while one is being replaced.
    #[arg(long, env = "MATINEE_WEBHOOK_SECRET", value_name = "SECRET[,SECRET]", hide_env_values = true, global = true)]
    webhook_secret: Option<String>,

    /// For the command `gateway`: where its messages go, such as https://cinema.example/webhooks/gateway.
    #[arg(long, env = "MATINEE_WEBHOOK_URL", value_name = "URL", global = true)]
    webhook_url: Option<String>,

    /// Where mails to visitors go: smtp://name:password@host:587 (or smtps://), or a folder to put them in as files.
    /// Absent: the folder `mails` in the data folder, or no mails at all when a database URL is given.
    #[arg(long, env = "MATINEE_MAIL", value_name = "URL|FOLDER", hide_env_values = true, global = true)]
    mail: Option<String>,

    /// The address that mails are from.
    #[arg(long, env = "MATINEE_MAIL_FROM", value_name = "ADDRESS", default_value = "tickets@localhost", global = true)]
    mail_from: String,

    /// Where visitors find the site, for links in mails. Absent: http:// and the address that is listened on.
    #[arg(long, env = "MATINEE_SITE_URL", value_name = "URL", global = true)]
    site_url: Option<String>,

    /// Folder of the built assets. Absent: target/site, or else the folder `site` beside the program.
    #[arg(long, env = "MATINEE_SITE", value_name = "FOLDER", global = true)]
    site: Option<PathBuf>,
}

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

impl Options {
    /// The database to use, or `None` for the private one. An empty value counts as none: `DATABASE_URL= matinee` works.
    pub fn database_url(&self) -> Option<&str> {
        self.database_url.as_deref().map(str::trim).filter(|url| !url.is_empty())
    }

    /// Who sends the mails; `None` when nobody shall.
    ///
    /// # Errors
    /// What is wrong with the flags, in one line.
    pub fn mailer(&self, address: SocketAddr) -> Result<Option<Mailer>, String> {
        let private =
            || self.database_url().is_none().then(|| self.data_dir.join("mails").to_string_lossy().into_owned());
        let chosen = self.mail.clone().filter(|mail| !mail.trim().is_empty());
        let Some(post) = chosen.or_else(private) else { return Ok(None) };
        Mailer::new(&post, &self.mail_from, &self.site_url(address)).map(Some)
    }

    /// Where visitors find the site that listens on this address.
    pub fn site_url(&self, address: SocketAddr) -> String {
        let url = self.site_url.clone().unwrap_or_else(|| format!("http://{}", reachable(address)));
        url.trim_end_matches('/').to_owned()
    }

    /// Whether somebody said where visitors find the site.
    pub const fn has_site_url(&self) -> bool {
        self.site_url.is_some()
    }

    /// The card processor to use, and the key it knows us by; `None` for the one within this program.
    ///
    /// # Errors
    /// Which flag is missing or wrong, in one line: a cinema must not find out at its first payment.
    pub fn gateway(&self) -> Result<Option<(&str, &str)>, String> {
        let Some(url) = self.gateway_url.as_deref().filter(|url| !url.trim().is_empty()) else { return Ok(None) };
        let known =
            reqwest::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if !known {
            return Err(format!("--gateway-url {url} is not an address: it begins with http:// or https://"));
        }
        let key = self.gateway_key.as_deref().filter(|key| !key.is_empty());
        Ok(Some((url, key.ok_or("--gateway-url needs --gateway-key")?)))
    }

    /// What one visitor and one address may ask for.
    pub fn shares(&self) -> Shares {
        Shares {
            by_visitor: NonZeroU32::new(self.visitor_share),
            by_address: NonZeroU32::new(self.address_share),
            trusted: self.trusted_proxy.clone(),
        }
    }

    /// Secrets of the card processor's messages.
    pub fn webhook_secrets(&self) -> Vec<String> {
        let secrets = self.webhook_secret.as_deref().unwrap_or_default().split(',').map(str::trim);
        secrets.filter(|secret| !secret.is_empty()).map(str::to_owned).collect()
    }

    /// What the card processor runs with when it runs alone.
    ///
    /// # Errors
    /// Which flag is missing, in one line.
    pub fn gateway_settings(&self, database: &str, address: SocketAddr) -> Result<Settings, String> {
        let key = self.gateway_key.clone().filter(|key| !key.is_empty()).ok_or("it needs --gateway-key")?;
        let webhook_secrets = self.webhook_secrets();
        if self.webhook_url.is_some() && webhook_secrets.is_empty() {
            return Err("it needs --webhook-secret to sign the messages that go to --webhook-url".to_owned());
        }
        Ok(Settings {
            pool: gateway::connect(database).map_err(|error| error.to_string())?,
            api_keys: vec![key],
            webhook_secrets,
            webhook_url: self.webhook_url.clone(),
            public_url: self.site_url(address),
            merchant: "the cinema".to_owned(),
        })
    }

    /// The folder of the built assets, as an absolute path.
    pub fn site(&self) -> PathBuf {
        let chosen = self.site.clone().filter(|site| !site.as_os_str().is_empty()).unwrap_or_else(|| {
            let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.join("site")));
            first_folder(Path::new(BUILT_SITE), beside)
        });
        std::path::absolute(&chosen).unwrap_or(chosen)
    }

    /// What Leptos needs to name the assets in a page.
    ///
    /// The hashes lie with the assets, so that a copied site folder is complete; `cargo leptos` leaves them beside the
    /// program instead. Without either, pages work but stay without WASM and styles.
    pub fn leptos(&self) -> LeptosOptions {
        let site = self.site();
        let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.join(HASH_FILE)));
        let hashes = [Some(site.join(HASH_FILE)), beside].into_iter().flatten().find(|file| file.is_file());
        LeptosOptions::builder()
            .output_name("matinee")
            .site_root(site.to_string_lossy())
            .site_pkg_dir("pkg")
            .site_addr(self.listen)
            .hash_files(hashes.is_some())
            .hash_file(hashes.unwrap_or_default().to_string_lossy().into())
            .build()
    }
}

/// A network, or a single address.
fn network(text: &str) -> Result<IpNet, String> {
    let single = || text.parse::<IpAddr>().ok().map(IpNet::from);
    text.parse().ok().or_else(single).ok_or_else(|| "neither an address nor a network such as 10.0.0.0/8".to_owned())
}

/// Where a server that listens on this address is found from its own machine.
pub fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// The built folder, unless only the one beside the program is there.
fn first_folder(built: &Path, beside: Option<PathBuf>) -> PathBuf {
    match beside {
        Some(beside) if !built.is_dir() && beside.is_dir() => beside,
        _ => built.to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(arguments: &[&str]) -> Cli<Command> {
        Cli::try_parse_from([&["matinee"], arguments].concat()).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn the_command_line_is_sound() {
        Cli::<Command>::command().debug_assert();
    }

    #[test]
    fn flags_stand_before_or_after_the_command() {
        for arguments in [["--listen", "[::1]:80", "migrate"], ["migrate", "--listen", "[::1]:80"]] {
            let cli = parse(&arguments);
            assert_eq!(cli.command, Some(Command::Migrate));
            assert_eq!(cli.options.listen.port(), 80);
        }
        assert_eq!(parse(&[]).command.unwrap_or_default(), Command::Serve);
    }

    #[test]
    fn an_empty_database_url_is_none() {
        assert_eq!(parse(&["--database-url", ""]).options.database_url(), None);
        assert_eq!(parse(&["--database-url", "postgres:///m"]).options.database_url(), Some("postgres:///m"));
    }

    #[test]
    fn the_built_site_comes_first() {
        let here = std::env::temp_dir();
        let missing = Path::new("/no-such-folder");
        assert_eq!(first_folder(missing, Some(here.clone())), here);
        assert_eq!(first_folder(&here, Some(missing.into())), here);
        assert_eq!(first_folder(missing, None), missing);
    }
}
