//! The hook of the mutation check: weakens the ordering at one place in the source, or leaves out a
//! fence or a wake-up there. Some test must need every ordering; otherwise the ordering is stronger
//! than necessary.
//!
//! The place is that of the call ([`Location`]), so nothing is recompiled for a mutant:
//! `scripts/mutate/mutate orderings` runs the built tests once for each mutant, which
//! `BATON_MUTANT` names. Without that variable nothing is changed.

use baton_machine::Ordering;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::panic::Location;
use std::sync::{Mutex, OnceLock};

/// Environment variable that names the mutant: `FILE:LINE:COLUMN:ARGUMENT=VALUE`, for instance
/// `ticket.rs:52:22:order=Relaxed`. The argument is `order`, `ok` or `fail` for an ordering,
/// `fence` or `wake` for one that is left out (with the value `none`).
pub const MUTANT: &str = "BATON_MUTANT";
/// Environment variable that names a file. Each place that passes an ordering, has a fence or sends
/// a wake-up is written to that file once, when it is first reached: `FILE:LINE:COLUMN KIND
/// ARGUMENT=VALUE...`.
pub const SITES: &str = "BATON_SITES";

struct Mutant {
    file: String,
    line: u32,
    column: u32,
    argument: String,
    /// The weaker ordering; `None` if the fence or wake-up is left out.
    order: Option<Ordering>,
}

fn parse(text: &str) -> Option<Mutant> {
    let (place, change) = text.rsplit_once(':')?;
    let (argument, value) = change.split_once('=')?;
    let (place, column) = place.rsplit_once(':')?;
    let (file, line) = place.rsplit_once(':')?;
    let order = match value {
        "none" => None,
        "Relaxed" => Some(Ordering::Relaxed),
        "Acquire" => Some(Ordering::Acquire),
        "Release" => Some(Ordering::Release),
        "AcqRel" => Some(Ordering::AcqRel),
        _ => return None,
    };
    let (line, column) = (line.parse().ok()?, column.parse().ok()?);
    Some(Mutant { file: file.to_owned(), line, column, argument: argument.to_owned(), order })
}

fn mutant() -> Option<&'static Mutant> {
    static MUTANT_HERE: OnceLock<Option<Mutant>> = OnceLock::new();
    MUTANT_HERE
        .get_or_init(|| {
            let text = std::env::var(MUTANT).ok()?;
            Some(parse(&text).unwrap_or_else(|| panic!("{MUTANT}={text}: expected FILE:LINE:COLUMN:ARGUMENT=VALUE")))
        })
        .as_ref()
}

fn at(site: &Location<'_>, argument: &str) -> Option<&'static Mutant> {
    mutant().filter(|m| {
        m.line == site.line() && m.column == site.column() && m.argument == argument && site.file().ends_with(&m.file)
    })
}

/// Returns the ordering to use at `site` instead of `order`.
pub(crate) fn order(site: &Location<'_>, argument: &str, order: Ordering) -> Ordering {
    at(site, argument).and_then(|mutant| mutant.order).unwrap_or(order)
}

/// Returns the ordering of the fence at `site`, or `None` if the fence is left out.
pub(crate) fn fence(site: &Location<'_>, order: Ordering) -> Option<Ordering> {
    match at(site, "fence") {
        None => Some(order),
        Some(mutant) => mutant.order,
    }
}

/// Whether the wake-up at `site` is left out.
pub(crate) fn drops_wake(site: &Location<'_>) -> bool {
    at(site, "wake").is_some()
}

/// The file of places, and the lines written to it so far.
struct Log {
    file: std::fs::File,
    lines: BTreeSet<String>,
}

/// Records that `site` was reached.
pub(crate) fn note(site: &Location<'_>, kind: &str, arguments: &[(&str, Ordering)]) {
    static SITES_HERE: OnceLock<Option<Mutex<Log>>> = OnceLock::new();
    let sites = SITES_HERE.get_or_init(|| {
        let path = std::env::var_os(SITES)?;
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
        let file = file.unwrap_or_else(|e| panic!("{SITES}={}: {e}", path.display()));
        Some(Mutex::new(Log { file, lines: BTreeSet::new() }))
    });
    let Some(sites) = sites else { return };
    let mut line = format!("{}:{}:{} {kind}", site.file(), site.line(), site.column());
    for (argument, order) in arguments {
        write!(line, " {argument}={order:?}").expect("a string takes any text");
    }
    let mut sites = sites.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !sites.lines.contains(&line) {
        writeln!(sites.file, "{line}").unwrap_or_else(|e| panic!("{SITES}: {e}"));
        sites.lines.insert(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_is_read() {
        let mutant = parse("crates/sync/src/lock/ticket.rs:52:22:order=Relaxed").unwrap();
        assert_eq!((mutant.file.as_str(), mutant.line, mutant.column), ("crates/sync/src/lock/ticket.rs", 52, 22));
        assert_eq!((mutant.argument.as_str(), mutant.order), ("order", Some(Ordering::Relaxed)));
        assert_eq!(parse("mcs.rs:5:1:wake=none").unwrap().order, None);
        for bad in ["", "mcs.rs", "mcs.rs:1:order=Relaxed", "mcs.rs:1:2:order", "mcs.rs:1:2:order=relaxed"] {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }
}
