//! `report.html`: claims, falsifiers, what is left open, and the paper's figures redrawn beside ours. One file, no script, no
//! network; light and dark.

mod bars;
mod lines;
mod tables;

pub use bars::Bars;
pub use lines::{Line, Lines};

use crate::Findings;
use std::fmt::Write;

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// Groups of bars, or bars around 0: a tornado.
    Bars(Bars),
    /// Series over an axis.
    Lines(Lines),
}

impl Figure {
    /// What stands over it.
    pub fn title(&self) -> &str {
        match self {
            Figure::Bars(bars) => &bars.title,
            Figure::Lines(lines) => &lines.title,
        }
    }

    /// The picture itself.
    pub fn svg(&self) -> String {
        match self {
            Figure::Bars(bars) => bars.svg(),
            Figure::Lines(lines) => lines.svg(),
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
    body += &tables::unspecified(findings);
    body += &tables::claims(findings);
    body += &tables::falsifiers(findings);
    for figure in &findings.figures {
        let _ = write!(body, "<h2>{}</h2>{}", escape(figure.title()), figure.svg());
    }
    body += &tables::frozen(findings);
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style><h1>{title}</h1>{body}</html>\n"
    )
}

/// Text inside of HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A number as people read it.
pub(crate) fn number(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 || v == 0.0 => 2,
        _ => 4,
    };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Colours that stay apart for most readers (Okabe and Ito).
pub(crate) const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"];

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#d0d7de;--good:#116329;--bad:#a40e26}\
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#3a424c;--good:#57c06f;--bad:#ff8182}}\
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);max-width:1000px;margin:2rem auto;padding:0 1rem}\
svg{width:100%;height:auto}svg text{font-size:12px;fill:var(--ink)}.grid{stroke:var(--soft)}\
polyline{fill:none;stroke-width:2}table{border-collapse:collapse;width:100%;font-size:14px}\
td,th{text-align:left;vertical-align:top;padding:.2rem .6rem;border-bottom:1px solid var(--soft)}\
td.n{text-align:right;white-space:nowrap}.yes{color:var(--good)}.no{color:var(--bad)}.note{border-left:4px solid var(--bad);padding-left:.8rem}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [39.9, 0.0, -0.00001, 1234.5, 2.0, 0.0123].map(number),
            ["39.9", "0", "0", "1234", "2", "0.0123"].map(str::to_owned)
        );
    }
}
