//! A Postgres for each test, copied from one that was made once: making one takes seconds, copying it a blink.

use std::fs::{File, OpenOptions, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use matinee::server::embedded::{EmbeddedError, Postgres, clone_cluster};
use matinee::store::pool;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Executor};
use tempfile::TempDir;
use tokio::sync::Mutex;

/// A test's database need not survive a power cut, so nothing waits for the disk. Statistics and dead rows are left
/// alone, so that a plan does not change halfway through a story.
const SETTINGS: &[(&str, &str)] =
    &[("fsync", "off"), ("full_page_writes", "off"), ("autovacuum", "off"), ("shared_buffers", "32MB")];

/// The database that further ones are copied from.
const BLANK: &str = "template1";

/// A running server of one test; ends with it.
#[derive(Debug)]
pub struct Server {
    databases: AtomicUsize,
    maker: Mutex<Option<PgConnection>>,
    url: String,
    settings: Vec<(String, String)>,
    // Dropped in this order: first the server stops, then its folder goes.
    postgres: Mutex<Option<Postgres>>,
    folder: TempDir,
}

impl Server {
    /// Starts a server on a fresh copy of the template.
    pub async fn start(settings: &[(&str, &str)]) -> Self {
        let home = Home::find().await;
        // Shared with everybody who copies; whoever makes a template or tidies up waits for them.
        let _copying = home.lock(File::lock_shared);
        let folder = tempfile::Builder::new()
            .prefix("test-")
            // The server may run as another user, who must be able to enter.
            .permissions(Permissions::from_mode(0o755))
            .tempdir_in(&home.folder)
            .unwrap();
        clone_cluster(&home.template(), folder.path()).unwrap();
        let settings = SETTINGS.iter().chain(settings).map(|(name, value)| (String::from(*name), String::from(*value)));
        let settings: Vec<_> = settings.collect();
        let postgres = start(folder.path(), &settings).await;
        Self {
            databases: AtomicUsize::new(0),
            maker: Mutex::default(),
            url: postgres.url(),
            settings,
            postgres: Mutex::new(Some(postgres)),
            folder,
        }
    }

    /// What `pg_ctl restart -m immediate` does: every process of it is ended where it stands, and the next start recovers
    /// from the log.
    pub async fn restart_immediately(&self) {
        let home = Home::find().await;
        // Nobody else may take the folder for a leftover while it has no owner.
        let _copying = home.lock(File::lock_shared);
        let mut postgres = self.postgres.lock().await;
        let running = postgres.take();
        tokio::task::spawn_blocking(move || drop(running)).await.unwrap();
        *postgres = Some(start(self.folder.path(), &self.settings).await);
    }

    /// Where its database of this name is.
    pub fn url_of(&self, database: &str) -> String {
        in_url(&self.url, database)
    }

    /// Makes another database with the present schema and nothing in it.
    pub async fn another_database(&self) -> String {
        let name = format!("matinee_{}", self.databases.fetch_add(1, Ordering::Relaxed) + 1);
        // One at a time: a database can be copied only while nobody else does it, or is connected to it.
        let mut maker = self.maker.lock().await;
        if maker.is_none() {
            *maker = Some(PgConnection::connect(&self.url_of("matinee")).await.unwrap());
        }
        let create = format!("create database {name}");
        maker.as_mut().unwrap().execute(AssertSqlSafe(create)).await.unwrap();
        name
    }

    /// The lines of its log that contain this text.
    pub fn logged(&self, text: &str) -> Vec<String> {
        let log = std::fs::read_to_string(self.folder.path().join("postgres.log")).unwrap();
        log.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
    }
}

async fn start(folder: &Path, settings: &[(String, String)]) -> Postgres {
    let settings: Vec<_> = settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    Postgres::start(folder, &settings).await.unwrap()
}

fn in_url(url: &str, database: &str) -> String {
    url.replace("/matinee?", &format!("/{database}?"))
}

/// The folder that all tests' servers share.
struct Home {
    folder: PathBuf,
    schema: String,
}

impl Home {
    /// With a template of the present schema in it.
    async fn find() -> Self {
        let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cinemas");
        match Self::prepare(built.clone()).await {
            // As root with the sources below a folder that only root may enter.
            Err(EmbeddedError::OutOfReach { .. }) => {
                let elsewhere = std::env::temp_dir().join(format!("matinee-tests-{:016x}", hash(&built)));
                Self::prepare(elsewhere).await.unwrap()
            }
            prepared => prepared.unwrap(),
        }
    }

    async fn prepare(folder: PathBuf) -> Result<Self, EmbeddedError> {
        std::fs::create_dir_all(&folder).unwrap();
        let home = Self { folder, schema: schema() };
        if !home.template().exists() {
            let _alone = home.lock(File::lock);
            // Somebody else may have made it while we waited.
            if !home.template().exists() {
                home.make_template().await?;
            }
        }
        // Only when nobody is about to start: a folder without an owner is then a leftover, not a beginning.
        let lock = home.open_lock();
        if lock.try_lock().is_ok() {
            home.tidy().await;
        }
        Ok(home)
    }

    fn template(&self) -> PathBuf {
        self.folder.join(&self.schema)
    }

    /// Makes it beside its place and moves it there when it is whole.
    async fn make_template(&self) -> Result<(), EmbeddedError> {
        for entry in std::fs::read_dir(&self.folder).unwrap().flatten() {
            if entry.file_name().to_string_lossy().starts_with("schema-") {
                std::fs::remove_dir_all(entry.path()).unwrap();
            }
        }
        let making = self.folder.join(format!("{}-unfinished", self.schema));
        let postgres = Postgres::start(&making, SETTINGS).await?;
        pool::migrate(&in_url(&postgres.url(), BLANK)).await.unwrap();
        let mut maker = PgConnection::connect(&in_url(&postgres.url(), BLANK)).await.unwrap();
        maker.execute("drop database matinee").await.unwrap();
        // Nobody needs these two, and each test would copy them.
        maker.execute("alter database template0 is_template false").await.unwrap();
        maker.execute("drop database template0").await.unwrap();
        maker.execute("drop database postgres").await.unwrap();
        maker.execute("create database matinee").await.unwrap();
        maker.close().await.unwrap();
        postgres.stop().await?;
        std::fs::rename(&making, self.template()).unwrap();
        Ok(())
    }

    /// Ends the servers of tests that were killed, and removes their folders.
    async fn tidy(&self) {
        for entry in std::fs::read_dir(&self.folder).unwrap().flatten() {
            if !entry.file_name().to_string_lossy().starts_with("test-") {
                continue;
            }
            let owner = File::open(entry.path().join("lock")).map(|lock| lock.try_lock().is_err());
            if owner.unwrap_or(false) {
                continue;
            }
            // Starting adopts the orphan, so that it can be stopped in order.
            if entry.path().join("postgres/postmaster.pid").exists() {
                drop(Postgres::start(&entry.path(), SETTINGS).await);
            }
            // A test that ends at this very moment removes its own.
            let _gone = std::fs::remove_dir_all(entry.path());
        }
    }

    fn open_lock(&self) -> File {
        OpenOptions::new().create(true).truncate(false).write(true).open(self.folder.join("lock")).unwrap()
    }

    /// Held until the file is dropped; the kernel releases it however the process ends.
    fn lock(&self, how: fn(&File) -> std::io::Result<()>) -> File {
        let lock = self.open_lock();
        how(&lock).unwrap();
        lock
    }
}

/// A name for what a template made here and now would contain.
fn schema() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let texts: Vec<String> = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    format!("schema-{:016x}", hash(&(texts, include_str!("server.rs"))))
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
