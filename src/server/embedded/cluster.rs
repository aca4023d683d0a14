//! One cluster on disk: where its files are, how it is made and copied, and what its pid file says.

use std::fs::{DirBuilder, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use super::binaries::Binaries;
use super::error::{EmbeddedError, last_lines};
use super::owner::ServerUser;
use super::{PORT, ROLE};

/// A unix socket's path may have 103 bytes (macOS) or 107 (Linux); `/.s.PGSQL.5432` is 14 of them.
const SOCKET_DIR_LIMIT_BYTES: usize = 86;
/// What half-made clusters are called, followed by the process that makes them.
const MAKING: &str = "postgres.making-";

/// The cluster of one data folder, whether or not it has been made yet.
#[derive(Debug)]
pub(super) struct Cluster {
    data_dir: PathBuf,
    dir: PathBuf,
}

impl Cluster {
    pub(super) fn at(data_dir: &Path) -> Cluster {
        Cluster { dir: data_dir.join("postgres"), data_dir: data_dir.to_path_buf() }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn log(&self) -> PathBuf {
        self.data_dir.join("postgres.log")
    }

    pub(super) fn exists(&self) -> bool {
        self.dir.is_dir()
    }

    /// The major version that made this cluster, if it has been made.
    pub(super) fn major_version(&self) -> Result<Option<u32>, EmbeddedError> {
        if !self.exists() {
            return Ok(None);
        }
        let path = self.dir.join("PG_VERSION");
        let text = std::fs::read_to_string(&path).map_err(|source| EmbeddedError::file(&path, source))?;
        let major = text
            .trim()
            .parse()
            .map_err(|error| EmbeddedError::file(&path, std::io::Error::new(ErrorKind::InvalidData, error)))?;
        Ok(Some(major))
    }

    /// Runs `initdb` under another name and renames at the end, so that a killed one leaves nothing half-made in place.
    pub(super) async fn make(&self, binaries: &Binaries, user: &ServerUser) -> Result<(), EmbeddedError> {
        tracing::info!(data_dir = %self.data_dir.display(), "making a database cluster, once; this takes a few seconds");
        self.sweep_half_made();
        let making = self.data_dir.join(format!("{MAKING}{}", std::process::id()));
        make_private_dir(&making, user)?;
        let program = binaries.initdb();
        let mut command = user.command(&program);
        command.arg("-D").arg(&making).args([
            "-U",
            ROLE,
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-instructions",
        ]);
        let output = tokio::process::Command::from(command).kill_on_drop(true).output().await;
        let output = output.map_err(|source| EmbeddedError::program(&program, source))?;
        if !output.status.success() {
            self.sweep_half_made();
            return Err(EmbeddedError::InitDb { log: last_lines(&String::from_utf8_lossy(&output.stderr)) });
        }
        std::fs::rename(&making, &self.dir).map_err(|source| EmbeddedError::file(&self.dir, source))
    }

    /// What killed makers left. An orphaned `initdb` may still write into one; it fails alone, under its own name.
    fn sweep_half_made(&self) {
        let Ok(entries) = std::fs::read_dir(&self.data_dir) else { return };
        for entry in entries.flatten().filter(|entry| entry.file_name().as_bytes().starts_with(MAKING.as_bytes())) {
            if let Err(error) = std::fs::remove_dir_all(entry.path()) {
                tracing::warn!(%error, path = %entry.path().display(), "could not remove a half-made cluster");
            }
        }
    }

    /// The folder of the socket, made if need be: in the data folder, or under the temporary one when that is too deep.
    pub(super) fn socket_dir(&self, user: &ServerUser) -> Result<PathBuf, EmbeddedError> {
        let dir = place_socket(&self.data_dir, &std::env::temp_dir());
        make_private_dir(&dir, user)?;
        Ok(dir)
    }

    /// What the pid file says, if there is a complete one.
    pub(super) fn pid_file(&self) -> Option<PidFile> {
        PidFile::parse(&std::fs::read_to_string(self.dir.join("postmaster.pid")).ok()?)
    }

    pub(super) fn remove_pid_file(&self) -> Result<(), EmbeddedError> {
        remove_if_there(&self.dir.join("postmaster.pid"))
    }

    /// Whether the last start used exactly this program and these arguments, as Postgres itself wrote down.
    pub(super) fn started_as(&self, program: &Path, arguments: &[String]) -> bool {
        let quoted: String = arguments.iter().map(|argument| format!(" \"{argument}\"")).collect();
        let wanted = format!("{}{quoted}", program.display());
        std::fs::read_to_string(self.dir.join("postmaster.opts")).is_ok_and(|used| used.trim_end() == wanted)
    }
}

/// The socket's own lock names the same process as the pid file, and goes stale with it.
pub(super) fn remove_socket_lock(socket_dir: &Path) -> Result<(), EmbeddedError> {
    remove_if_there(&socket_dir.join(format!(".s.PGSQL.{PORT}.lock")))
}

fn remove_if_there(path: &Path) -> Result<(), EmbeddedError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(EmbeddedError::file(path, error)),
        _ => Ok(()),
    }
}

/// The parts of `postmaster.pid` that matter here.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PidFile {
    pub(super) pid: u32,
    pub(super) socket_dir: PathBuf,
    status: String,
}

impl PidFile {
    /// By line: 1 the process, 5 the socket's folder, 8 the status. A young file may still be short.
    fn parse(text: &str) -> Option<PidFile> {
        let mut lines = text.lines();
        let pid = lines.next()?.trim().parse().ok()?;
        let socket_dir = PathBuf::from(lines.nth(3).unwrap_or_default().trim());
        let status = lines.nth(2).unwrap_or_default().trim().to_owned();
        Some(PidFile { pid, socket_dir, status })
    }

    pub(super) fn is_ready(&self) -> bool {
        self.status == "ready"
    }

    /// Who has the process number now. Where there is no `/proc` to tell, it is taken for the server.
    pub(super) fn holder(&self, cluster: &Cluster) -> Holder {
        if !Path::new("/proc/self").exists() {
            return Holder::Server;
        }
        let process = PathBuf::from(format!("/proc/{}", self.pid));
        let (Ok(found), Ok(own)) = (std::fs::metadata(&process), std::fs::metadata(&cluster.dir)) else {
            return Holder::Nobody;
        };
        if found.uid() != own.uid() {
            return Holder::Stranger;
        }
        // Postgres works inside its cluster's folder; comparing identities survives links and renamed parents.
        match std::fs::metadata(process.join("cwd")) {
            Ok(at) if (at.dev(), at.ino()) == (own.dev(), own.ino()) => Holder::Server,
            Ok(_) => Holder::Stranger,
            // A dead process that its parent has not collected yet is nowhere.
            Err(error) if error.kind() == ErrorKind::NotFound => Holder::Stranger,
            Err(_) => Holder::Server,
        }
    }
}

/// What a process number in a pid file stands for today.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// The server that wrote the file.
    Server,
    /// Another process that was given the same number since, as happens after a reboot, or the server's own corpse.
    Stranger,
    /// No process.
    Nobody,
}

/// Copies a stopped cluster, so that each test can have its own server without the seconds that `initdb` takes.
///
/// `new_data_dir` must not hold a cluster yet. Owners and modes are kept: Postgres insists on both.
pub fn clone_cluster(template_data_dir: &Path, new_data_dir: &Path) -> Result<(), EmbeddedError> {
    let from = Cluster::at(template_data_dir);
    let to = Cluster::at(new_data_dir);
    if from.dir.join("postmaster.pid").exists() {
        return Err(EmbeddedError::CopyOfRunning { cluster: from.dir });
    }
    std::fs::create_dir_all(new_data_dir).map_err(|source| EmbeddedError::file(new_data_dir, source))?;
    copy_tree(&from.dir, &to.dir)
}

fn copy_tree(from: &Path, to: &Path) -> Result<(), EmbeddedError> {
    let folder = std::fs::metadata(from).map_err(|source| EmbeddedError::file(from, source))?;
    let entries = std::fs::read_dir(from).map_err(|source| EmbeddedError::file(from, source))?;
    std::fs::create_dir(to).map_err(|source| EmbeddedError::file(to, source))?;
    keep_owner(to, &folder)?;
    for entry in entries {
        let entry = entry.map_err(|source| EmbeddedError::file(from, source))?;
        let (source_path, target) = (entry.path(), to.join(entry.file_name()));
        let metadata = entry.metadata().map_err(|source| EmbeddedError::file(&source_path, source))?;
        if metadata.is_dir() {
            copy_tree(&source_path, &target)?;
        } else {
            std::fs::copy(&source_path, &target).map_err(|source| EmbeddedError::file(&target, source))?;
            keep_owner(&target, &metadata)?;
        }
    }
    Ok(())
}

fn keep_owner(path: &Path, like: &std::fs::Metadata) -> Result<(), EmbeddedError> {
    let keep = || -> std::io::Result<()> {
        let own = std::fs::metadata(path)?;
        if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
            chown(path, Some(like.uid()), Some(like.gid()))?;
        }
        std::fs::set_permissions(path, like.permissions())
    };
    keep().map_err(|source| EmbeddedError::file(path, source))
}

/// A folder that only the server's user may enter. One that was there already must be that user's own: under a shared
/// temporary folder anybody could have put it there to listen in the server's place.
fn make_private_dir(dir: &Path, user: &ServerUser) -> Result<(), EmbeddedError> {
    let failed = |source| EmbeddedError::file(dir, source);
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => user.own(dir)?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let found = std::fs::symlink_metadata(dir).map_err(failed)?;
            if !found.is_dir() || !user.owns(&found) {
                return Err(EmbeddedError::ForeignSocketDir { dir: dir.to_path_buf() });
            }
            std::fs::set_permissions(dir, Permissions::from_mode(0o700)).map_err(failed)?;
        }
        Err(error) => return Err(failed(error)),
    }
    Ok(())
}

/// The same data folder always gets the same socket folder, so that a restart or an adoption finds it again.
fn place_socket(data_dir: &Path, temp_dir: &Path) -> PathBuf {
    let fits = |dir: &Path| {
        let bytes = dir.as_os_str().as_bytes();
        // The server reads a list of folders here: a comma or a quote would split the name.
        bytes.len() <= SOCKET_DIR_LIMIT_BYTES && !bytes.iter().any(|byte| matches!(byte, b',' | b'"'))
    };
    let inside = data_dir.join("run");
    if fits(&inside) {
        return inside;
    }
    let mut hasher = DefaultHasher::new();
    data_dir.hash(&mut hasher);
    let name = format!("matinee-{:016x}", hasher.finish());
    let outside = temp_dir.join(&name);
    if fits(&outside) { outside } else { Path::new("/tmp").join(name) }
}

/// Everything but letters, digits and `-._~` is encoded, so that any path is one value of a URL's query.
pub(super) fn percent_encode(path: &Path) -> String {
    let mut encoded = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(*byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pid_file_is_read_by_line() {
        let text = "4711\n/data/postgres\n1760000000\n5432\n/data/run\n\n  1234 5\nready   \n";
        let found = PidFile::parse(text);
        let wanted = PidFile { pid: 4711, socket_dir: "/data/run".into(), status: "ready".to_owned() };
        assert_eq!(found, Some(wanted));
    }

    #[test]
    fn a_young_or_broken_pid_file_is_not_ready() {
        assert_eq!(PidFile::parse("4711\n/data/postgres\n").map(|found| found.is_ready()), Some(false));
        assert_eq!(PidFile::parse(""), None);
        assert_eq!(PidFile::parse("x\n"), None);
    }

    #[test]
    fn the_socket_stays_in_the_data_folder_while_its_path_is_short() {
        assert_eq!(place_socket(Path::new("/srv/matinee"), Path::new("/tmp")), Path::new("/srv/matinee/run"));
        for awkward in [format!("/{}", "long".repeat(30)), "/srv/a,b".to_owned(), "/srv/a\"b".to_owned()] {
            let dir = place_socket(Path::new(&awkward), Path::new("/tmp"));
            assert!(dir.starts_with("/tmp") && dir.as_os_str().len() <= SOCKET_DIR_LIMIT_BYTES, "{dir:?}");
            assert_eq!(dir, place_socket(Path::new(&awkward), Path::new("/tmp")), "the same folder again");
        }
        let deep = format!("/{}", "long".repeat(30));
        assert!(place_socket(Path::new(&deep), Path::new(&deep)).starts_with("/tmp"));
    }

    #[test]
    fn any_path_survives_a_url() {
        assert_eq!(percent_encode(Path::new("/srv/a b&c=d+é")), "%2Fsrv%2Fa%20b%26c%3Dd%2B%C3%A9");
    }
}
