//! A study from a program of one's own: `cargo run --release -p baton-studies --example conduct -- [DIR [PROFILES [full]]]`.

use baton_studies::ocor::Ocor;
use baton_studies::{Extent, Progress, conduct, page};
use std::path::PathBuf;

/// Says on standard error what was done.
struct Said;

impl Progress for Said {
    fn begin(&self, runs: usize, cached: usize) {
        eprintln!("{runs} runs, {cached} in the cache");
    }
    fn done(&self, name: &str) {
        eprintln!("{name}");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let folder = PathBuf::from(words.next().unwrap_or_else(|| "study-ocor".to_owned()));
    let profiles = PathBuf::from(words.next().unwrap_or_else(|| "profiles/ocor".to_owned()));
    let extent = if words.next().is_some() { Extent::Full } else { Extent::Quick };
    let study = Ocor::open("chips/ocor64.toml".as_ref(), &profiles)?;
    let (findings, work) = conduct(&study, extent, &folder, &Said)?;
    std::fs::write(folder.join("report.html"), page::html(&findings))?;
    let page = page::markdown(&findings, "");
    for (name, text) in page.pictures.iter().chain([&("report.md".to_owned(), page.page.clone())]) {
        std::fs::write(folder.join(name), text)?;
    }
    println!("{}", serde_json::to_string_pretty(&findings)?);
    eprintln!("{work:?}");
    Ok(())
}
