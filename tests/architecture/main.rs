//! Promises about the code itself, checked on its text: who imports whom, where SQL, writes and features stand, which words
//! are used. Each check is tried on small faulty samples first, so that none of them is one that cannot fail.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop right there and say where")]

mod layers;
mod source;
mod words;
mod writes;

use std::collections::BTreeMap;
use std::path::PathBuf;

use source::Source;

/// Longer files, and why. Tests within a file do not count.
const LONG_FILES: &[(&str, &str)] = &[];
const LONGEST_FILE_LINES: usize = 300;

/// Features are looked at in one file.
fn wrong_features(path: &str, source: &Source) -> Vec<String> {
    let code: String = source.code.split_whitespace().collect();
    if path != "src/lib.rs" && code.contains("feature=") { vec![format!("{path} looks at a feature")] } else { vec![] }
}

/// A panic in a request path is an answer that nobody gets.
fn wrong_panics(path: &str, source: &Source) -> Vec<String> {
    let code: String = source.before_tests().split_whitespace().collect();
    [".unwrap()", ".expect("]
        .into_iter()
        .filter(|call| code.contains(call))
        .map(|call| format!("{path} has {call}"))
        .collect()
}

fn wrong_length(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().take_while(|line| *line != "#[cfg(test)]").count();
    let excepted = LONG_FILES.iter().any(|(file, _)| *file == path);
    if lines > LONGEST_FILE_LINES && !excepted { vec![format!("{path} has {lines} lines")] } else { vec![] }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All files below a folder with one of these endings, by their path from the root.
fn files(folder: &str, ending: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

fn none(faults: impl IntoIterator<Item = String>) {
    let faults: Vec<String> = faults.into_iter().collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

fn check(fault: impl Fn(&str, &Source) -> Vec<String>) {
    let sources = files("src", "rs");
    assert!(sources.len() > 40, "the source is there");
    none(sources.iter().flat_map(|(path, text)| fault(path, &Source::of(text))));
}

#[test]
fn features_are_looked_at_in_one_place() {
    check(wrong_features);
    let found = |path: &str, text: &str| wrong_features(path, &Source::of(text)).len();
    for faulty in [
        "#[cfg(feature = \"ssr\")]\nfn f() {}",
        "#[cfg_attr(not(feature=\"ssr\"), expect(x))] fn f() {}",
        "if cfg!(feature = \"a\") {}",
    ] {
        assert_eq!((found("src/api/mod.rs", faulty), found("src/lib.rs", faulty)), (1, 0), "{faulty}");
    }
    assert_eq!(found("src/api/mod.rs", "// cfg(feature = \"ssr\")\n#[cfg(test)] mod tests {}"), 0);
}

#[test]
fn nothing_panics_on_a_whim() {
    check(wrong_panics);
    let found = |text: &str| wrong_panics("src/api/mod.rs", &Source::of(text)).len();
    assert_eq!(found("fn f() { a.unwrap() }"), 1);
    assert_eq!(found("fn f() { a\n.expect(\"is there\") }"), 1);
    assert_eq!(
        found(
            "#[expect(dead_code)]\nfn f() { a.unwrap_or(1) } // .unwrap()\n#[cfg(test)]\nmod tests { fn f() { a.unwrap() } }"
        ),
        0
    );
}

#[test]
fn files_are_of_a_size_that_people_enjoy() {
    none(
        ["src", "tests"]
            .into_iter()
            .flat_map(|folder| files(folder, "rs"))
            .flat_map(|(path, text)| wrong_length(&path, &text)),
    );
    assert_eq!(wrong_length("src/a.rs", &"\n".repeat(LONGEST_FILE_LINES + 1)).len(), 1);
    assert_eq!(wrong_length("src/a.rs", &format!("fn f() {{}}\n#[cfg(test)]\n{}", "\n".repeat(999))).len(), 0);
    for (file, _) in LONG_FILES {
        let length = std::fs::read_to_string(root().join(file)).unwrap().lines().count();
        assert!(length > LONGEST_FILE_LINES, "{file} needs no exception any more");
    }
}
