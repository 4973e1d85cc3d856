//! How text, numbers and colours look in all pictures.

/// Escapes text for use in HTML, also within attributes.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Formats a number: from 1000 on as a whole number, below 1 with four decimals, otherwise with
/// three or four significant digits. Zeroes at the end are left out.
pub fn number(value: f64) -> String {
    let text = match value.abs() {
        a if a >= 1000.0 => format!("{value:.0}"),
        a if a >= 100.0 => format!("{value:.1}"),
        a if a >= 1.0 || a == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    };
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Formats a round number for a tick label: `20k`, `100M`.
pub fn short(value: f64) -> String {
    let (unit, name) = match value.abs() {
        a if a >= 1e9 => (1e9, "G"),
        a if a >= 1e6 => (1e6, "M"),
        a if a >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    number(value / unit) + name
}

/// The approximate width of a text in pixels.
pub(crate) fn width(text: &str) -> f64 {
    6.6 * text.chars().count() as f64
}

/// Colours that most readers can tell apart (Okabe and Ito).
pub const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"];

/// The colour of a series, by its index.
pub fn colour(series: usize) -> &'static str {
    COLOURS[series % COLOURS.len()]
}

macro_rules! palette {
    () => {
        ":root{color-scheme:light dark;--ink:#1b1f24;--dim:#59636e;--soft:#d0d7de;--paper:#fff;--low:#eef4fb;--high:#0b4f9e}\
         @media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9aa4af;--soft:#3a424c;--paper:#0d1117;--low:#16202c;--high:#79b8ff}}"
    };
}

macro_rules! parts {
    () => {
        "svg text{font-size:12px;fill:var(--ink)}svg .dim,svg .dim text{fill:var(--dim)}\
         .grid{stroke:var(--soft)}.zero{stroke:var(--dim)}.whisker{stroke:var(--ink);stroke-width:1.2;fill:none}\
         .theirs{fill:var(--paper);stroke:var(--ink);stroke-width:1.4}polyline{fill:none;stroke-width:2}"
    };
}

/// The colours as CSS, for light and dark pages.
pub(crate) const PALETTE: &str = palette!();

/// How the parts of a picture look, as CSS.
pub(crate) const PARTS: &str = parts!();

/// The CSS with which every page that contains these pictures begins.
pub const STYLE: &str = concat!(
    palette!(),
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:2rem auto;padding:0 1rem}\
     svg{width:100%;height:auto}",
    parts!(),
    "table{border-collapse:collapse}td,th{text-align:left;vertical-align:top;padding:.15rem .6rem;border-bottom:1px solid var(--soft)}\
     td.n,th.n{text-align:right}td.n,.scroll td:first-child{white-space:nowrap}pre{overflow-x:auto}.scroll{overflow-x:auto}"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [39.9, 0.0, -0.00001, 1234.5, 2.0, 0.0123, 102.5].map(number),
            ["39.9", "0", "0", "1234", "2", "0.0123", "102.5"].map(str::to_owned)
        );
    }

    #[test]
    fn ticks_fit_beside_an_axis() {
        assert_eq!([500.0, 20_000.0, 1e8, 2.5e9].map(short), ["500", "20k", "100M", "2.5G"].map(str::to_owned));
    }

    #[test]
    fn text_stays_text() {
        assert_eq!(escape("<a b=\"c\">&"), "&lt;a b=&quot;c&quot;&gt;&amp;");
    }
}
