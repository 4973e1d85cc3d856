//! Pages with one picture each: lines over an axis, or a matrix of colours. One HTML file, no script, no network.
//!
//! | file | holds |
//! | --- | --- |
//! | [`lines`] | series over an axis |
//! | [`matrix`] | a value for each pair |

mod lines;
mod matrix;

pub(crate) use lines::{Lines, Series};
pub(crate) use matrix::Matrix;

/// A page around a picture, with what it was made from below it.
fn page(title: &str, svg: &str, after: &str, made_from: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style><h1>{title}</h1>{svg}{after}\
         <details><summary>Configuration</summary><pre>{}</pre></details></html>\n",
        escape(made_from)
    )
}

/// Text inside of HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// A number with three or four digits that count.
fn number(v: f64) -> String {
    let text = match v.abs() {
        a if a >= 1000.0 || a == 0.0 => format!("{v:.0}"),
        a if a >= 1.0 => format!("{v:.2}"),
        _ => format!("{v:.4}"),
    };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#d0d7de;--low:#eef4fb;--high:#0b4f9e}\
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#3a424c;--low:#16202c;--high:#79b8ff}}\
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);max-width:900px;margin:2rem auto;padding:0 1rem}\
svg{width:100%;height:auto}svg text{font-size:12px;fill:var(--ink)}.grid{stroke:var(--soft)}\
polyline{fill:none;stroke-width:2}table{border-collapse:collapse;width:100%}\
td,th{text-align:right;padding:.15rem .6rem;border-bottom:1px solid var(--soft)}pre{overflow-x:auto}";
