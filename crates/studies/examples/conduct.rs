//! Conducts a study from a program outside of the command line of Baton:
//! `cargo run --release -p baton-studies --example conduct -- [NAME [DIR [full]]]`.

use baton_studies::{Extent, Progress, STUDIES, page};
use std::path::PathBuf;

/// Prints the progress of the study to standard error.
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
    let name = words.next().unwrap_or_else(|| "ocor".to_owned());
    let folder = words.next().map_or_else(|| PathBuf::from(format!("study-{name}")), PathBuf::from);
    let extent = if words.next().is_some() { Extent::Full } else { Extent::Quick };
    let study = STUDIES.find(&name).ok_or_else(|| format!("no study is called `{name}`"))?.open(&[], &[])?;
    let (findings, work) = study.conduct(extent, &folder, &Said)?;
    std::fs::write(folder.join("report.html"), page::html(&findings))?;
    let page = page::markdown(&findings, "");
    for (name, text) in page.pictures.iter().chain([&("report.md".to_owned(), page.page.clone())]) {
        std::fs::write(folder.join(name), text)?;
    }
    println!("{}", serde_json::to_string_pretty(&findings)?);
    eprintln!("{work:?}");
    Ok(())
}
