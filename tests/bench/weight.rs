//! What a browser downloads before the seat map is live, as `make build` left it.

use std::path::{Path, PathBuf};

use crate::Result;
use crate::report::{Goal, Row};
use crate::rounds::number;

/// The folder of the built assets.
pub fn site() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/site");
    std::env::var_os("MATINEE_SITE").filter(|site| !site.is_empty()).map_or(built, PathBuf::from)
}

/// Sizes of the brotli files.
pub fn measure() -> Result<Vec<Row>> {
    let [wasm, js, css] = [size(".wasm.br")?, size(".js.br")?, size(".css.br")?];
    let code = wasm + js;
    let words = |bytes: f64| format!("{:.1} KB ({} bytes)", bytes / 1000.0, number(bytes));
    Ok(vec![
        Row::new("WASM + JavaScript, brotli", words(code)).judged(code / 1000.0, Goal::Below(120.0, 95.0), "KB"),
        Row::new("of which JavaScript", words(js)),
        Row::new("CSS, brotli", words(css)),
    ])
}

fn size(ending: &str) -> Result<f64> {
    let folder = site().join("pkg");
    let files = std::fs::read_dir(&folder).map_err(|_absent| "target/site is not built: run `make site`")?;
    let mut bytes = 0.0;
    for file in files {
        let file = file?;
        if file.file_name().to_string_lossy().ends_with(ending) {
            bytes += file.metadata()?.len() as f64;
        }
    }
    if bytes == 0.0 { Err(format!("no *{ending} in {}", folder.display()).into()) } else { Ok(bytes) }
}
