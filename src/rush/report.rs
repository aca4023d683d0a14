//! The report: one HTML file that needs no other, for light and dark, on paper too.

use leptos::prelude::*;

/// A table whose first column names and whose others are figures.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Heads, each with what it says.
    pub columns: Vec<(String, String)>,
    /// Rows; true marks one as wrong.
    pub rows: Vec<(Vec<String>, bool)>,
}

/// A section under a heading.
pub fn section(heading: impl Into<String>, content: Vec<AnyView>) -> AnyView {
    view! { <section><h2>{heading.into()}</h2>{content}</section> }.into_any()
}

/// Sentences as one paragraph.
pub fn paragraph(sentences: &[String]) -> AnyView {
    view! { <p>{sentences.join(" ")}</p> }.into_any()
}

/// The sentence that is read first.
pub fn choice(sentence: String) -> AnyView {
    view! { <p class="choice">{sentence}</p> }.into_any()
}

/// A list of sentences.
pub fn items(sentences: Vec<String>) -> AnyView {
    let items: Vec<AnyView> = sentences.into_iter().map(|text| view! { <li>{text}</li> }.into_any()).collect();
    view! { <ul>{items}</ul> }.into_any()
}

/// A table; on a narrow screen it scrolls by itself.
pub fn table(figures: Figures) -> AnyView {
    let heads: Vec<AnyView> = figures
        .columns
        .into_iter()
        .map(|(name, about)| view! { <th scope="col" title=about>{name}</th> }.into_any())
        .collect();
    let row = |(cells, wrong): (Vec<String>, bool)| {
        let mut cells = cells.into_iter();
        let name = cells.next().unwrap_or_default();
        let cells: Vec<AnyView> = cells.map(|cell| view! { <td>{cell}</td> }.into_any()).collect();
        view! { <tr class=if wrong { "wrong" } else { "" }><th scope="row">{name}</th>{cells}</tr> }.into_any()
    };
    let rows: Vec<AnyView> = figures.rows.into_iter().map(row).collect();
    view! {
        <div class="scrolls" tabindex="0"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>
    }
    .into_any()
}

/// The whole file.
pub fn page(title: &str, lead: String, content: Vec<AnyView>) -> String {
    let heading = title.to_owned();
    let title = title.to_owned();
    let html = view! {
        <html lang="en">
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <title>{title}</title>
                <style inner_html=include_str!("report.css")></style>
            </head>
            <body><main><h1>{heading}</h1><p class="lead">{lead}</p>{content}</main></body>
        </html>
    };
    format!("<!doctype html>\n{}\n", html.to_html())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_stands_alone_and_escapes_what_it_shows() {
        let figures = Figures {
            columns: vec![("name".into(), "about \"names\"".into()), ("figure".into(), String::new())],
            rows: vec![(vec!["a & b".into(), "<1".into()], true)],
        };
        let html = page("A <title>", "lead".into(), vec![section("Part", vec![table(figures)])]);
        assert!(html.starts_with("<!doctype html>\n<html lang=\"en\">"), "{html}");
        assert!(html.contains("A &lt;title&gt;") && html.contains("a &amp; b") && html.contains("&lt;1"), "{html}");
        assert!(html.contains("prefers-color-scheme: dark"), "{html}");
        for outside in ["http://", "https://", "src=", "<script", "url("] {
            assert!(!html.contains(outside), "{outside}");
        }
    }
}
