//! The HTML page into which the pictures of a network go, and the texts of its numbers.

/// A figure without needless zeros.
pub(super) fn number(v: f64) -> String {
    let text = format!("{v:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The HTML page with this title, style and body.
pub(super) fn document(title: &str, style: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>{title}</title><style>{COMMON}{style}</style><h1>{title}</h1>{body}</html>\n"
    )
}

const COMMON: &str = "\
:root{color-scheme:light dark;--ink:#1b1f24;--dim:#57606a;--soft:#d0d7de;--back:#fff;--mark:#b3261e;\
--c0:#0b63c5;--c1:#c2410c;--c2:#0f7b53;--c3:#7c3aed;--c4:#8a6100;--c5:#be185d}\
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9aa4af;--soft:#3a424c;--back:#0d1117;--mark:#ff7b72;\
--c0:#58a6ff;--c1:#ff9b6a;--c2:#4cc38a;--c3:#b794f6;--c4:#e5b567;--c5:#f472b6}}\
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back);max-width:1100px;margin:2rem auto;\
padding:0 1rem}h1{font-size:1.4rem;margin:0 0 1rem}h2{font-size:1.1rem;margin:1.6rem 0 .5rem}\
svg{width:100%;height:auto;display:block}svg text{font-size:12px;fill:var(--ink)}\
.wide{overflow-x:auto}table{border-collapse:collapse}td,th{text-align:right;padding:.15rem .7rem;\
border-bottom:1px solid var(--soft);white-space:nowrap}th{font-weight:600}pre{overflow-x:auto;font-size:13px}\
summary{cursor:pointer;margin-top:1rem}";
