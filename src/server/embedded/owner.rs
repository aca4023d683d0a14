//! Who may use a data folder, and as which user the server programs run.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::error::EmbeddedError;

/// Proof that this process, and no other live matinee, uses the data folder.
#[derive(Debug)]
pub(super) struct Owner {
    data_dir: PathBuf,
    uid: u32,
    /// The lock lives as long as the open file; a killed process loses it at once.
    _lock: File,
}

impl Owner {
    /// Makes the folder if need be and claims it. The pid inside is for the message only; the lock decides.
    pub(super) fn claim(data_dir: &Path) -> Result<Owner, EmbeddedError> {
        let not_writable = |source| EmbeddedError::NotWritable { data_dir: data_dir.to_path_buf(), source };
        std::fs::create_dir_all(data_dir).map_err(not_writable)?;
        let data_dir = data_dir.canonicalize().map_err(not_writable)?;
        let not_writable = |source| EmbeddedError::NotWritable { data_dir: data_dir.clone(), source };
        let uid = effective_uid(&data_dir).map_err(not_writable)?;
        let path = data_dir.join("lock");
        let mut lock =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path).map_err(not_writable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                let pid = lock.read_to_string(&mut pid).ok().and_then(|_| pid.trim().parse().ok());
                return Err(EmbeddedError::InUse { data_dir, pid });
            }
            Err(TryLockError::Error(source)) => return Err(not_writable(source)),
        }
        let note = |lock: &mut File| -> io::Result<()> {
            lock.set_len(0)?;
            lock.rewind()?;
            writeln!(lock, "{}", std::process::id())
        };
        note(&mut lock).map_err(not_writable)?;
        Ok(Owner { uid, _lock: lock, data_dir })
    }

    /// The folder's real path: links resolved, so that every start derives the same socket folder from it.
    pub(super) fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    pub(super) fn uid(&self) -> u32 {
        self.uid
    }
}

/// The user this process acts as: whoever owns a file it has just made. Proves on the way that the folder is writable.
fn effective_uid(data_dir: &Path) -> io::Result<u32> {
    let probe = data_dir.join(format!(".probe-{}", std::process::id()));
    match std::fs::remove_file(&probe) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let uid = OpenOptions::new().write(true).create_new(true).open(&probe)?.metadata()?.uid();
    std::fs::remove_file(&probe)?;
    Ok(uid)
}

/// The user that the server programs run as: oneself, or an unprivileged one when oneself is root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerUser {
    name: String,
    uid: u32,
    /// Present when the server programs must change to this user's group, and with it to the user.
    gid: Option<u32>,
}

impl ServerUser {
    /// Postgres refuses to run as root. Root therefore hands the server to whoever owns the cluster already (so that a
    /// folder first used by an ordinary user stays theirs), else to `postgres`, else to `nobody`.
    pub(super) fn choose(data_dir: &Path, uid: u32) -> Result<ServerUser, EmbeddedError> {
        if uid != 0 {
            return Ok(ServerUser { name: format!("user {uid}"), uid, gid: None });
        }
        let user = match std::fs::metadata(data_dir.join("postgres")).ok().filter(|cluster| cluster.uid() != 0) {
            Some(cluster) => {
                ServerUser { name: format!("user {}", cluster.uid()), uid: cluster.uid(), gid: Some(cluster.gid()) }
            }
            None => unprivileged(&std::fs::read_to_string("/etc/passwd").unwrap_or_default()),
        };
        user.own(&data_dir.join("lock"))?;
        Ok(user)
    }

    /// Hands a file to this user, where that is somebody else than oneself.
    pub(super) fn own(&self, path: &Path) -> Result<(), EmbeddedError> {
        match self.gid {
            Some(gid) => chown(path, Some(self.uid), Some(gid)).map_err(|source| EmbeddedError::file(path, source)),
            None => Ok(()),
        }
    }

    pub(super) fn owns(&self, file: &Metadata) -> bool {
        file.uid() == self.uid
    }

    /// A server program under this user. As root, std also drops the supplementary groups when a user is set.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some(gid) = self.gid {
            command.gid(gid).uid(self.uid);
        }
        // The folder we were started in may be closed to this user, and Postgres insists on knowing where it is.
        command.current_dir("/").stdin(Stdio::null());
        // Messages are shown and searched in English; settings for clients must not steer the server.
        command.env("LC_ALL", "C");
        for name in ["PGDATA", "PGPORT", "PGOPTIONS", "PGCLIENTENCODING", "PGDATESTYLE", "PGTZ"] {
            command.env_remove(name);
        }
        command
    }

    /// Fails with the folder's name when this user cannot enter the data folder, as below `/root`.
    pub(super) fn check_reach(&self, program: &Path, data_dir: &Path) -> Result<(), EmbeddedError> {
        let Some(gid) = self.gid else { return Ok(()) };
        match self.command(program).arg("--version").current_dir(data_dir).stdout(Stdio::null()).status() {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                let closed = data_dir.ancestors().filter(|folder| !may_enter(folder, self.uid, gid)).last();
                let folder = closed.unwrap_or(data_dir).to_path_buf();
                Err(EmbeddedError::OutOfReach { folder, user: self.name.clone() })
            }
            Err(source) => Err(EmbeddedError::program(program, source)),
        }
    }
}

/// By the classic permission bits; only used to name the culprit once entering has failed.
fn may_enter(folder: &Path, uid: u32, gid: u32) -> bool {
    std::fs::metadata(folder).is_ok_and(|folder| {
        let bit = match (folder.uid() == uid, folder.gid() == gid) {
            (true, _) => 0o100,
            (false, true) => 0o010,
            (false, false) => 0o001,
        };
        folder.mode() & bit != 0
    })
}

fn unprivileged(accounts: &str) -> ServerUser {
    /// What `nobody` is on every Linux, for a system without an account file.
    const NOBODY: (u32, u32) = (65_534, 65_534);
    let found = ["postgres", "nobody"].into_iter().find_map(|name| Some((name, find_account(accounts, name)?)));
    let (name, (uid, gid)) = found.unwrap_or(("nobody", NOBODY));
    ServerUser { name: name.to_owned(), uid, gid: Some(gid) }
}

/// User and group of an account in the format of `/etc/passwd`; root's own is never an answer.
fn find_account(accounts: &str, name: &str) -> Option<(u32, u32)> {
    accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == name).then_some(())?;
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        (uid != 0).then_some((uid, gid))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNTS: &str = "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65533:nobody:/:/usr/sbin/nologin\n";

    #[test]
    fn root_hands_the_server_to_postgres_or_nobody() {
        let chosen = |accounts: &str| {
            let user = unprivileged(accounts);
            (user.name, user.uid, user.gid)
        };
        assert_eq!(chosen(ACCOUNTS), ("nobody".to_owned(), 65_534, Some(65_533)));
        let with_postgres = format!("{ACCOUNTS}postgres:x:101:104:admin,,,:/var/lib/postgresql:/bin/bash\n");
        assert_eq!(chosen(&with_postgres), ("postgres".to_owned(), 101, Some(104)));
        assert_eq!(chosen(""), ("nobody".to_owned(), 65_534, Some(65_534)));
    }

    #[test]
    fn an_account_that_is_root_in_disguise_is_not_used() {
        assert_eq!(find_account("postgres:x:0:0::/:/bin/sh", "postgres"), None);
        assert_eq!(find_account("postgres:x:oops", "postgres"), None);
    }

    #[test]
    fn an_ordinary_user_stays_itself() {
        let user = ServerUser::choose(Path::new("/nowhere"), 1000).map(|user| (user.uid, user.gid));
        assert!(matches!(user, Ok((1000, None))), "{user:?}");
    }
}
