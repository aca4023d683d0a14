//! Who may import whom.

use std::collections::BTreeSet;

use crate::check;
use crate::source::{Source, paths};

/// A room of the crate and whom it may import besides itself. The order is that of the arrows: leftwards only.
const LAYERS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    // Another company: it knows money, and nothing of Matinee.
    ("gateway", &["domain"]),
    ("store", &["domain"]),
    ("box_office", &["domain", "store"]),
    ("request", &["domain", "store", "box_office"]),
    ("api", &["domain", "store", "box_office", "request"]),
    // Goes to the browser, where there is neither a database nor a request.
    ("islands", &["domain", "api"]),
    ("pages", &["domain", "store", "box_office", "request", "api", "islands"]),
    ("server", &["domain", "gateway", "store", "box_office", "request", "api", "islands", "pages"]),
    // Away from any cinema: databases of its own, and the settings that the product's connections have.
    ("rush", &["domain", "store", "box_office", "server"]),
    ("main", &["domain", "gateway", "store", "box_office", "request", "api", "islands", "pages", "server", "rush"]),
];

pub fn layer_of(path: &str) -> &str {
    path.trim_start_matches("src/").split(['/', '.']).next().unwrap_or_default()
}

/// How deep the file's module lies below the crate's root.
fn depth_of(path: &str) -> usize {
    let module = path.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
    module.split('/').count()
}

/// Imports against the arrows.
fn wrong_imports(path: &str, source: &Source) -> Vec<String> {
    let layer = layer_of(path);
    if layer == "lib" {
        return vec![];
    }
    let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == layer) else {
        return vec![format!("{path} lies in no layer")];
    };
    let target = |segments: &[String]| -> Option<String> {
        match segments.first()?.as_str() {
            "crate" | "matinee" => segments.get(1).cloned(),
            "super" => {
                let ups = segments.iter().take_while(|segment| *segment == "super").count();
                segments.get(ups).filter(|_| ups >= depth_of(path)).cloned()
            }
            _ => None,
        }
    };
    let imported: BTreeSet<String> = paths(&source.code).iter().filter_map(|segments| target(segments)).collect();
    let is_layer = |name: &str| LAYERS.iter().any(|(layer, _)| *layer == name);
    imported
        .iter()
        .filter(|name| is_layer(name) && *name != layer && !allowed.contains(&name.as_str()))
        .map(|name| format!("{path}: {layer} imports {name}"))
        .collect()
}

#[test]
fn imports_follow_the_arrows() {
    check(wrong_imports);
    let found = |path: &str, text: &str| wrong_imports(path, &Source::of(text));
    assert_eq!(found("src/domain/seat.rs", "use crate::store::pool;"), ["src/domain/seat.rs: domain imports store"]);
    assert_eq!(
        found("src/domain/seat.rs", "fn f() { crate::server::run() }"),
        ["src/domain/seat.rs: domain imports server"]
    );
    assert_eq!(
        found(
            "src/islands/grid.rs",
            "use crate::{\n    api, domain::seat::{self, SeatNo},\n    store::{maps, orders}, request,\n};"
        ),
        ["src/islands/grid.rs: islands imports request", "src/islands/grid.rs: islands imports store"]
    );
    assert_eq!(found("src/request.rs", "use super::pages::frame;"), ["src/request.rs: request imports pages"]);
    assert_eq!(found("src/api/mod.rs", "mod a { use super::super::server; }"), ["src/api/mod.rs: api imports server"]);
    assert_eq!(found("src/elsewhere/mod.rs", ""), ["src/elsewhere/mod.rs lies in no layer"]);
    let innocent = "//! See crate::server.\nuse super::store_front;\nuse crate::domain::{api_words, Error};\nconst A: &str = \"crate::server\";";
    assert_eq!(found("src/islands/grid.rs", innocent), Vec::<String>::new());
    for (nth, (layer, allowed)) in LAYERS.iter().enumerate() {
        let left: Vec<&str> = LAYERS[..nth].iter().map(|(name, _)| *name).collect();
        assert!(allowed.iter().all(|name| left.contains(name)), "{layer} may only import what stands left of it");
    }
}
