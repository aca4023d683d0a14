//! Finding the installed server programs. Postgres is never downloaded and never bundled.

use std::path::{Path, PathBuf};

use super::cluster::Cluster;
use super::error::EmbeddedError;
use super::owner::ServerUser;

/// Names the folder of the server programs, for machines where they are in an unusual place.
const FOLDER_VARIABLE: &str = "MATINEE_PG_BIN";

/// Where distributions keep one folder per version; `*` stands for one path segment or the rest of one.
const USUAL_FOLDERS: [&str; 8] = [
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/lib/postgresql*/bin",
    "/usr/lib64/postgresql*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
    "/usr/local/pgsql*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
];

/// The programs of one Postgres version, all in one folder.
#[derive(Debug)]
pub(super) struct Binaries {
    dir: PathBuf,
}

impl Binaries {
    /// The programs of the version that made the cluster, or the first and newest found if there is no cluster yet.
    pub(super) fn find(user: &ServerUser, cluster: &Cluster) -> Result<Binaries, EmbeddedError> {
        let wanted = cluster.major_version()?;
        let named = std::env::var_os(FOLDER_VARIABLE).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let folders = match &named {
            Some(dir) => vec![std::path::absolute(dir).unwrap_or_else(|_| dir.clone())],
            None => search_path().into_iter().chain(USUAL_FOLDERS.iter().flat_map(|pattern| expand(pattern))).collect(),
        };
        let mut unfit = Vec::new();
        for binaries in folders.iter().filter_map(|dir| Binaries::in_dir(dir)) {
            let major = binaries.major_version(user)?;
            if wanted.is_none_or(|wanted| wanted == major) {
                // The first on PATH is the technician's own choice; behind it the folders come newest first.
                return Ok(binaries);
            }
            unfit.push(major);
        }
        match wanted {
            Some(made_by) if !unfit.is_empty() => {
                unfit.sort_unstable();
                unfit.dedup();
                let found = unfit.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
                Err(EmbeddedError::OtherMajorVersion { cluster: cluster.dir().to_path_buf(), made_by, found })
            }
            _ => Err(EmbeddedError::NotFound { looked_in: named }),
        }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn postgres(&self) -> PathBuf {
        self.dir.join("postgres")
    }

    pub(super) fn pg_ctl(&self) -> PathBuf {
        self.dir.join("pg_ctl")
    }

    pub(super) fn initdb(&self) -> PathBuf {
        self.dir.join("initdb")
    }

    /// Links are followed: `initdb` on PATH is often a link, and its neighbours are where it really lives.
    fn in_dir(dir: &Path) -> Option<Binaries> {
        let dir = dir.join("initdb").canonicalize().ok()?.parent()?.to_path_buf();
        let complete = ["initdb", "pg_ctl", "postgres"].iter().all(|program| dir.join(program).is_file());
        complete.then_some(Binaries { dir })
    }

    fn major_version(&self, user: &ServerUser) -> Result<u32, EmbeddedError> {
        let program = self.postgres();
        let output = user.command(&program).arg("--version").output();
        let output = output.map_err(|source| EmbeddedError::program(&program, source))?;
        let said = String::from_utf8_lossy(&output.stdout);
        parse_major(&said).ok_or_else(|| {
            let source = std::io::Error::other(format!("unexpected version: {}", said.trim()));
            EmbeddedError::program(&program, source)
        })
    }
}

fn search_path() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

/// The existing folders that fit a pattern with one `*`, the highest version first.
fn expand(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else { return vec![PathBuf::from(pattern)] };
    let Some((parent, prefix)) = before.rsplit_once('/') else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(parent) else { return Vec::new() };
    let mut versions: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok()?.strip_prefix(prefix).map(str::to_owned))
        .collect();
    versions.sort_by_key(|version| std::cmp::Reverse(version_key(version)));
    versions.iter().map(|version| PathBuf::from(format!("{before}{version}{after}"))).collect()
}

/// Orders `9.6 < 15 < @16 < 17.2`: by its numbers, not by its letters.
fn version_key(version: &str) -> Vec<u32> {
    version.split(|letter: char| !letter.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

/// The major version out of `postgres (PostgreSQL) 15.18 (Debian ...)`.
fn parse_major(said: &str) -> Option<u32> {
    let version = said.split_once("(PostgreSQL) ")?.1;
    version.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_postgres_says() {
        assert_eq!(parse_major("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
        assert_eq!(parse_major("postgres (PostgreSQL) 18devel\n"), Some(18));
        assert_eq!(parse_major("something else 15.1"), None);
    }

    #[test]
    fn versions_are_ordered_by_number() {
        let mut versions = ["9.6", "17", "@16", "15"];
        versions.sort_by_key(|version| std::cmp::Reverse(version_key(version)));
        assert_eq!(versions, ["17", "@16", "15", "9.6"]);
    }

    #[test]
    fn a_pattern_in_a_missing_folder_finds_nothing() {
        assert!(expand("/no-such-folder/*/bin").is_empty());
    }
}
