//! Pages with one picture each: one HTML file, no script, no network. `baton-plot` draws the
//! pictures.

use baton_plot::{STYLE, escape};

/// A page with a title, a picture, the text `after` below it, and what the picture was made from.
pub(crate) fn page(title: &str, svg: &str, after: &str, made_from: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}body{{max-width:900px}}table{{width:100%}}</style><h1>{title}</h1>{svg}{after}\
         <details><summary>Configuration</summary><pre>{}</pre></details></html>\n",
        escape(made_from)
    )
}
