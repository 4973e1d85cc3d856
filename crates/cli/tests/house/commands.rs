//! Every test that a page names by its command is there: `cargo test -p CRATE --test PROGRAM FILTER`.

use crate::docs_links::{files, pages, text};
use crate::root;

/// Modules whose tests a registry generates.
const GENERATED: [&str; 1] = ["locks::"];

/// A command's crate, test programs and filters.
struct Command<'a> {
    package: &'a str,
    programs: Vec<&'a str>,
    filters: Vec<&'a str>,
}

/// Reads what follows `cargo test`; none where no crate is named.
fn command(words: &str) -> Option<Command<'_>> {
    let mut read = Command { package: "", programs: Vec::new(), filters: Vec::new() };
    let mut words = words.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "-p" => read.package = words.next()?.strip_prefix("baton-")?,
            "--test" => read.programs.push(words.next()?),
            _ if word.starts_with('-') => (),
            _ => read.filters.push(word),
        }
    }
    (!read.package.is_empty()).then_some(read)
}

/// Returns the sources of a crate's tests: those of the named test programs, or all of the crate's
/// if the command names no program.
fn sources(command: &Command<'_>) -> Result<Vec<String>, String> {
    let folder = format!("crates/{}", command.package);
    if command.programs.is_empty() {
        return Ok(files(&folder).into_iter().filter(|f| f.ends_with(".rs")).collect());
    }
    let mut sources = Vec::new();
    for program in &command.programs {
        let (file, many) = (format!("{folder}/tests/{program}.rs"), format!("{folder}/tests/{program}"));
        match (root().join(&file).exists(), root().join(&many).join("main.rs").exists()) {
            (true, _) => sources.push(file),
            (_, true) => sources.extend(files(&many)),
            _ => return Err(format!("no test program {program} in {folder}/tests")),
        }
    }
    Ok(sources)
}

/// Whether the path of a test in `file` can contain `filter`: a part is a module, or stands in a function's name. The checkers'
/// modules have a test for each entry of a registry.
fn holds(file: &str, filter: &str) -> bool {
    let path = file.trim_end_matches(".rs");
    let source = text(file);
    let function = |part: &str| source.split("fn ").skip(1).any(|f| f.split(['(', '<']).next().unwrap().contains(part));
    let module = |part: &str| path.contains(part) || source.contains(&format!("mod {part} "));
    let listed = GENERATED.iter().any(|module| filter.starts_with(module));
    filter.split("::").all(|part| module(part) || function(part) || (listed && file.contains("/check/")))
}

#[test]
fn every_test_that_a_page_names_is_there() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for page in pages() {
        let text = text(&page);
        // Commands stand in backquotes or are lines of a block, where two spaces set off what they do.
        for rest in text.split("cargo test ").skip(1) {
            let words = rest.split(['`', '\n', '|', '#', ';', '&']).next().unwrap().split("  ").next().unwrap();
            let Some(command) = command(words).filter(|c| !c.filters.iter().any(|f| f.contains("NAME"))) else {
                continue;
            };
            seen += 1;
            match sources(&command) {
                Err(error) => wrong.push(format!("{page}: cargo test {words}: {error}")),
                Ok(sources) => wrong.extend(
                    command
                        .filters
                        .iter()
                        .filter(|filter| !sources.iter().any(|file| holds(file, filter)))
                        .map(|filter| format!("{page}: cargo test {words}: no test has {filter} in its name")),
                ),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen > 100, "{seen} commands found: the search is broken");
}
