//! Links and paths in the documentation: each one leads somewhere, `docs/SUMMARY.md` lists every page of the book once, and the
//! pages that code and scripts name exist.

use crate::root;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The top folders whose files a page may name in backquotes.
const NAMED: [&str; 6] = ["docs/", "crates/", "scripts/", "chips/", "examples/", "profiles/"];

/// Files that a run or the reader of a recipe makes.
const MADE: [&str; 2] = ["chips/this-host.toml", "crates/chipfile/src/peripheral/mine.rs"];

pub(crate) fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// All files below a folder of the tree, as paths from its root.
pub(crate) fn files(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned()),
            }
        }
    }
    found.sort();
    found
}

/// Every page of the documentation.
pub(crate) fn pages() -> Vec<String> {
    let mut pages: Vec<String> = files("docs").into_iter().filter(|f| f.ends_with(".md")).collect();
    let top = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    pages.extend(top.filter(|file| file.ends_with(".md")));
    pages.extend(crates().into_iter().map(|name| format!("crates/{name}/README.md")));
    pages
}

/// The folders of the crates.
fn crates() -> Vec<String> {
    let all = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap());
    let crates = all.filter(|entry| entry.path().join("Cargo.toml").exists());
    crates.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn every_crate_has_a_readme_of_six_lines() {
    for name in crates() {
        let page = text(&format!("crates/{name}/README.md"));
        let lines: Vec<&str> = page.lines().collect();
        assert_eq!(lines[0], format!("# baton-{name}"), "the heading of crates/{name}/README.md");
        assert_eq!(
            lines.len(),
            6,
            "lines of crates/{name}/README.md: heading, what it is, where to begin, how to test"
        );
    }
}

/// A page without its blocks of code.
fn prose(page: &str) -> String {
    let mut code = false;
    let lines = page.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The targets of a page's relative links: file and heading.
fn links(page: &str) -> Vec<(String, Option<String>)> {
    let page = prose(page);
    let targets = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let relative = targets.filter(|t| !t.contains("://"));
    let split = |t: &str| match t.split_once('#') {
        Some((file, heading)) => (file.to_owned(), Some(heading.to_owned())),
        None => (t.to_owned(), None),
    };
    relative.map(split).collect()
}

/// The anchors of a page's headings, as code hosts make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = prose(page);
    let headings = headings.lines().filter(|l| l.starts_with('#')).map(|l| l.trim_start_matches('#').trim());
    let anchor = |heading: &str| {
        let kept = heading.to_lowercase().replace(' ', "-");
        kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
    };
    headings.map(anchor).collect()
}

/// `folder` joined with a relative target, `..` resolved.
fn joined(folder: &Path, target: &str) -> String {
    let mut parts: Vec<&str> = folder.iter().map(|p| p.to_str().unwrap()).collect();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "" | "." => (),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn every_relative_link_leads_to_a_file_and_a_heading() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for page in pages() {
        for (file, heading) in links(&text(&page)) {
            let folder = Path::new(&page).parent().unwrap();
            let target = if file.is_empty() { page.clone() } else { joined(folder, &file) };
            if !root().join(&target).exists() {
                wrong.push(format!("{page} links to {file}, which is not there"));
            } else if heading.as_ref().is_some_and(|heading| !anchors(&text(&target)).contains(heading)) {
                wrong.push(format!("{page} links to the heading {heading:?} of {target}, which has none such"));
            }
            seen += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen > 100, "{seen} links found: the search is broken");
}

#[test]
fn the_summary_lists_every_page_once() {
    let mut listed: Vec<String> =
        links(&text("docs/SUMMARY.md")).into_iter().map(|(file, _)| format!("docs/{file}")).collect();
    listed.sort();
    let pages = files("docs").into_iter().filter(|f| f.ends_with(".md") && f != "docs/SUMMARY.md");
    assert_eq!(listed, pages.collect::<Vec<_>>(), "left: docs/SUMMARY.md; right: the pages below docs");
}

/// The book has the files below `docs` alone. A page names other files by their path in backquotes. The first page has another name
/// in the book, so no page but the summary links to it.
#[test]
fn links_of_the_book_stay_in_the_book() {
    for page in pages().into_iter().filter(|page| page.starts_with("docs/")) {
        for (file, _) in links(&text(&page)).into_iter().filter(|(file, _)| !file.is_empty()) {
            let target = joined(Path::new(&page).parent().unwrap(), &file);
            assert!(
                target.starts_with("docs/"),
                "{page} links to {file}, which is outside of docs: name `{target}` instead"
            );
            let first = target == "docs/README.md" && page != "docs/SUMMARY.md";
            assert!(!first, "{page} links to {file}, which is index.html in the book");
        }
    }
}

/// The start of a word that can be a path: what stands before a placeholder (`NAME` is one, too).
fn plain(word: &str) -> &str {
    let start = word.split([' ', '{', '<', '*', '…', ':', '[']).next().unwrap();
    start.split_once("NAME").map_or(start, |(before, _)| before)
}

#[test]
fn every_path_that_a_page_names_is_there() {
    let (mut seen, mut wrong) = (0, Vec::new());
    // The changelog also names what is gone.
    for page in pages().into_iter().filter(|page| page != "CHANGELOG.md") {
        let text = prose(&text(&page));
        for word in text.split('`').skip(1).step_by(2) {
            let path = plain(word);
            if NAMED.iter().any(|top| path.starts_with(top)) && !MADE.contains(&path) {
                if !root().join(path).exists() {
                    wrong.push(format!("{page} names {path}, which is not there"));
                }
                seen += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen > 100, "{seen} paths found: the search is broken");
}

/// The pages that a text names by their path from the tree's root.
fn named_pages(text: &str) -> Vec<String> {
    let starts = text.match_indices("docs/").map(|(at, _)| at);
    let path = |at: usize| {
        let end = text[at..].find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.')));
        text[at..at + end.unwrap_or(text.len() - at)].trim_end_matches('.').to_owned()
    };
    starts.map(path).filter(|p| [".md", ".json", ".svg", ".png"].iter().any(|end| p.ends_with(end))).collect()
}

#[test]
fn every_page_that_code_and_scripts_name_is_there() {
    let (mut seen, mut wrong) = (0, Vec::new());
    let folders = ["crates", "scripts", "chips", "profiles", "examples"];
    let sources = folders.iter().flat_map(|folder| files(folder));
    for file in sources.chain(["Makefile".to_owned(), "Cargo.toml".to_owned()]) {
        // A file that is not UTF-8 names no page.
        let Ok(text) = fs::read_to_string(root().join(&file)) else { continue };
        // The tests in the first of these files use made-up paths of pages; the second is this file.
        if ["crates/cli/src/cmd/study.rs", "crates/cli/tests/house/docs_links.rs"].contains(&file.as_str()) {
            continue;
        }
        for page in named_pages(&text) {
            if !root().join(&page).exists() {
                wrong.push(format!("{file} names {page}, which is not there"));
            }
            seen += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen > 50, "{seen} names of pages found: the search is broken");
}
