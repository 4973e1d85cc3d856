//! Writes `report.html`: claims, falsifiers, details that the paper leaves open, and the paper's
//! figures redrawn beside ours. The page is one file without scripts or network access, in light
//! and dark. [`markdown()`] writes the same content as Markdown, with a file for each picture.

mod markdown;
mod tables;
#[cfg(test)]
mod tests;

use crate::Findings;
pub use crate::figure::{Drawing, Figure, cell};
use baton_plot::STYLE;
pub use baton_plot::{escape, number};
pub use markdown::{Markdown, markdown};
use std::fmt::Write;

/// The whole page.
pub fn html(findings: &Findings) -> String {
    let title = escape(&format!("baton study {}", findings.study));
    let mut body = String::new();
    for note in &findings.notes {
        let _ = write!(body, "<p class=note>{}</p>", escape(note));
    }
    body += &tables::summary(findings);
    body += &contents(findings);
    let [open, claims] = [tables::unspecified(findings), tables::claims(findings)];
    let shown = [Some(open), Some(claims), tables::oracles(findings), Some(tables::falsifiers(findings))];
    for table in shown.into_iter().flatten() {
        body += &tables::html(&table);
    }
    for (i, figure) in findings.figures.iter().enumerate() {
        let note = if figure.note.is_empty() { String::new() } else { format!("<p>{}</p>", escape(&figure.note)) };
        let _ = write!(body, "<h2 id=f{i}>{}</h2>{note}{}", escape(figure.title()), figure.html());
    }
    body += &tables::frozen(findings);
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}{OWN_STYLE}</style><h1>{title}</h1>{body}</html>\n"
    )
}

/// Returns the list of contents: a link to each figure.
fn contents(findings: &Findings) -> String {
    let mut out = String::from("<details><summary>Figures and tables</summary><ol>");
    for (i, figure) in findings.figures.iter().enumerate() {
        let _ = write!(out, "<li><a href=#f{i}>{}</a>", escape(figure.title()));
    }
    out + "</ol></details>"
}

const OWN_STYLE: &str = "\
:root{--good:#116329;--bad:#a40e26}@media(prefers-color-scheme:dark){:root{--good:#57c06f;--bad:#ff8182}}\
body{max-width:1000px}h2{margin-top:2.2rem}table{width:100%;font-size:14px}a{color:inherit}\
.yes{color:var(--good)}.no{color:var(--bad)}.note{border-left:4px solid var(--bad);padding-left:.8rem}";
