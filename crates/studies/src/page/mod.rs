//! `report.html`: claims, falsifiers, what is left open, and the paper's figures redrawn beside ours. One file, no script, no
//! network; light and dark. The same as Markdown with a file a picture: [`markdown()`].

mod markdown;
mod tables;

use crate::Findings;
use baton_plot::{Bars, Lines, STYLE, Spans, Table, Timeline};
pub use baton_plot::{escape, number};
pub use markdown::{Markdown, markdown};
use std::fmt::Write;

/// What a figure is drawn as.
#[derive(Clone, Debug, PartialEq)]
pub enum Drawing {
    /// Rows of bars, the paper's values as marks beside them.
    Bars(Bars),
    /// Series over an axis.
    Lines(Lines),
    /// Ranges around a value: a tornado.
    Spans(Spans),
    /// What each of several threads does over time.
    Timeline(Timeline),
    /// Rows of text and numbers.
    Table(Table),
}

/// A figure or a table of the page.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The drawing.
    pub drawing: Drawing,
    /// What must be known to read it; empty if nothing.
    pub note: String,
    /// Its file's name on a page of the documentation, without the ending; `None`: it is only on the HTML page.
    pub file: Option<&'static str>,
}

impl<T: Into<Drawing>> From<T> for Figure {
    fn from(drawing: T) -> Figure {
        Figure { drawing: drawing.into(), note: String::new(), file: None }
    }
}

macro_rules! drawings {
    ($($kind:ident),*) => { $(
        impl From<$kind> for Drawing {
            fn from(drawing: $kind) -> Drawing {
                Drawing::$kind(drawing)
            }
        }
    )* };
}
drawings!(Bars, Lines, Spans, Timeline, Table);

impl Figure {
    /// With what must be known to read it.
    #[must_use]
    pub fn noted(mut self, note: impl Into<String>) -> Figure {
        self.note = note.into();
        self
    }

    /// With a file on a page of the documentation.
    #[must_use]
    pub fn named(mut self, file: &'static str) -> Figure {
        self.file = Some(file);
        self
    }

    /// What stands over it.
    pub fn title(&self) -> &str {
        match &self.drawing {
            Drawing::Bars(drawing) => &drawing.title,
            Drawing::Lines(drawing) => &drawing.title,
            Drawing::Spans(drawing) => &drawing.title,
            Drawing::Timeline(drawing) => &drawing.title,
            Drawing::Table(drawing) => &drawing.title,
        }
    }

    /// The picture itself, for an HTML page.
    pub fn html(&self) -> String {
        match &self.drawing {
            Drawing::Bars(drawing) => drawing.svg(),
            Drawing::Lines(drawing) => drawing.svg(),
            Drawing::Spans(drawing) => drawing.svg(),
            Drawing::Timeline(drawing) => drawing.svg(),
            Drawing::Table(drawing) => drawing.html(),
        }
    }
}

/// The whole page.
pub fn html(findings: &Findings) -> String {
    let title = escape(&format!("baton study {}", findings.study));
    let mut body = String::new();
    for note in &findings.notes {
        let _ = write!(body, "<p class=note>{}</p>", escape(note));
    }
    body += &tables::summary(findings);
    body += &contents(findings);
    for table in [tables::unspecified(findings), tables::claims(findings), tables::falsifiers(findings)] {
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

/// A number of a table, if there is one.
pub fn cell(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), number)
}

/// Where the figures are.
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
