//! What the user types to name locks. Recordings ([`super::recorded`]) and programs
//! ([`super::program`]) read a name in the same way, so that a name stands for the same locks in
//! both.
//!
//! | typed | stands for |
//! | --- | --- |
//! | `cache_lock`, `svc::cache_lock` | the global variable of this name, and locks that begin in a function of this name |
//! | `shards+0x28` | the lock at this offset in a global variable |
//! | `Cache::Cache`, `svc.cpp:12`, `from Cache::Cache (svc.cpp:12)` | locks that begin on a way through this function, or line |
//! | `from Cache::Cache (svc.cpp:12 at app+0x1234)`, `app+0x1234` | locks that begin on a way through this call |
//! | `app+0x1000-0x1040` | locks that lie at these addresses, or begin on a way through a call at them |
//! | NAME` #3` | of the locks called NAME, the third one that is initialised |
//! | NAME` except #3 and #5`, NAME` except `OTHER | the locks called NAME, without the third and the fifth, or without the locks called OTHER |
//! | `hot one of 64 locks `NAME | NAME: a report puts the words before it |

use baton_sync::lock::assign::ObjectRange;

/// A name that stands for locks, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// The name without a number and exceptions, as it was typed.
    pub(super) text: String,
    pub(super) base: Base,
    /// Only the n-th lock with this name that is initialised, counted from 1.
    pub(super) nth: Option<u32>,
    pub(super) except: Vec<Name>,
    /// Whether a report says that these locks were not initialised by a call.
    pub(super) is_taken: bool,
}

/// The part of a name that says where its locks lie or begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// Addresses of an object file.
    Range(ObjectRange),
    /// An address of an object file, or an offset in a global variable.
    Offset { of: String, offset: u64 },
    /// A line of the source, `svc.cpp:12`.
    Line(String),
    /// A function, a global variable or a line.
    Text(String),
}

impl Name {
    /// Reads a name.
    pub(super) fn parse(typed: &str) -> Name {
        let text = without_heat(typed.trim());
        if let Some((name, others)) = text.split_once(" except ") {
            let name = Name::parse(name);
            let other = |other: &str| match other.trim().strip_prefix('#').and_then(|nth| nth.parse().ok()) {
                Some(nth) => Name { nth: Some(nth), ..name.clone() },
                None => Name::parse(other),
            };
            return Name { except: others.split(" and ").map(other).collect(), ..name };
        }
        if let Some((name, nth)) = text.rsplit_once(" #")
            && let Ok(nth) = nth.parse()
        {
            return Name { nth: Some(nth), ..Name::parse(name) };
        }
        let is_taken = text.starts_with("in ");
        Name { text: text.to_owned(), base: base(bare(text)), nth: None, except: Vec::new(), is_taken }
    }

    /// Whether a number in the name counts locks that no call has initialised: such numbers hold
    /// for one run only, because they follow the order in which that run took the locks.
    pub(super) fn counts_takers(&self) -> bool {
        (self.is_taken && self.nth.is_some()) || self.except.iter().any(Name::counts_takers)
    }
}

/// Returns the name without the words by which a report says that one of many locks has the
/// waiting.
fn without_heat(text: &str) -> &str {
    let name = text.strip_prefix("hot one of ").and_then(|rest| rest.split_once(" locks "));
    match name {
        Some((count, name)) if count.parse::<u64>().is_ok() => name,
        _ => text,
    }
}

fn base(text: &str) -> Base {
    if let (_, Some(inner)) = place(text) {
        let at = inner.rsplit_once(" at ").map_or(inner, |(_, at)| at);
        return address(at).unwrap_or_else(|| Base::Line(inner.to_owned()));
    }
    address(text).unwrap_or_else(|| Base::Text(text.to_owned()))
}

/// `app+0x1000-0x1040`, or `app+0x1234`.
fn address(text: &str) -> Option<Base> {
    let range: ObjectRange = text.parse().ok()?;
    let (of, numbers) = text.rsplit_once('+')?;
    Some(match numbers.contains('-') {
        true => Base::Range(range),
        false => Base::Offset { of: of.to_owned(), offset: range.range.start },
    })
}

/// Returns the two bytes for which an address in a name stands: the byte at the address, where a
/// mutex may lie, and the byte before, which is the last one of a call that returns to the address.
pub(super) fn around(module: &str, address: u64) -> ObjectRange {
    ObjectRange { module: module.to_owned(), range: address.saturating_sub(1)..address + 1 }
}

/// How well a name that the user typed fits a name of the report, such as `svc::cache_lock`, `from
/// Cache::Cache (svc.cpp:12)`, `table+0x28`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// The typed name is the last part of a path, or a symbol without its offset.
    Part,
    /// The typed name is the whole name, or the function or the line of the place in it.
    Whole,
}

/// How well `typed` fits the report's name `known`; `None` if it does not.
pub(super) fn fit(typed: &str, known: &str) -> Option<Fit> {
    let (function, line) = place(known);
    if typed == known || typed == bare(known) || typed == function || line == Some(typed) {
        return Some(Fit::Whole);
    }
    let symbol = function.split("+0x").next().unwrap_or_default();
    let last = symbol.rsplit_once("::").map_or(symbol, |(_, last)| last);
    (typed == symbol || typed == last || symbol.ends_with(&format!("::{typed}"))).then_some(Fit::Part)
}

/// The place in a name, without the word before it that says what happened there.
fn bare(name: &str) -> &str {
    name.strip_prefix("from ").or_else(|| name.strip_prefix("in ")).unwrap_or(name)
}

/// The function and the line of a place such as `from Cache::Cache (svc.cpp:12)`.
pub(super) fn place(name: &str) -> (&str, Option<&str>) {
    let name = bare(name);
    match name.strip_suffix(')').and_then(|name| name.rsplit_once(" (")) {
        Some((function, line)) => (function, Some(line)),
        None => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_known_by_its_name_its_symbol_its_function_and_its_line() {
        let made = "from Cache::Cache (svc.cpp:12)";
        for (typed, known, fits) in [
            (made, made, Some(Fit::Whole)),
            ("Cache::Cache (svc.cpp:12)", made, Some(Fit::Whole)),
            ("svc.cpp:12", made, Some(Fit::Whole)),
            ("Cache::Cache", made, Some(Fit::Whole)),
            ("svc.cpp:1", made, None),
            ("Cache", made, Some(Fit::Part)),
            ("svc::cache_lock", "svc::cache_lock", Some(Fit::Whole)),
            ("cache_lock", "svc::cache_lock", Some(Fit::Part)),
            ("lock", "svc::cache_lock", None),
            ("table", "table+0x28", Some(Fit::Part)),
        ] {
            assert_eq!(fit(typed, known), fits, "{typed} for {known}");
        }
    }

    #[test]
    fn names_of_reports_are_read() {
        let line = || Base::Line("svc.cpp:12".into());
        for (typed, base, nth) in [
            ("from Cache::Cache (svc.cpp:12)", line(), None),
            ("hot one of 64 locks from Cache::Cache (svc.cpp:12) #8", line(), Some(8)),
            ("Cache::Cache (svc.cpp:12) #8", line(), Some(8)),
            ("cache_lock", Base::Text("cache_lock".into()), None),
            ("svc.cpp:12 #2", Base::Text("svc.cpp:12".into()), Some(2)),
            ("main::{lambda()#1}::operator()", Base::Text("main::{lambda()#1}::operator()".into()), None),
            ("table+0x28", Base::Offset { of: "table".into(), offset: 0x28 }, None),
            ("from DB::DB (db.cc:9 at app+0x1234)", Base::Offset { of: "app".into(), offset: 0x1234 }, None),
            ("from DB::DB (libdb.so.1+0x1234)", Base::Offset { of: "libdb.so.1".into(), offset: 0x1234 }, None),
            ("app+0x10-0x20", Base::Range("app+0x10-0x20".parse().unwrap()), None),
            ("(anonymous namespace)::quiet", Base::Text("(anonymous namespace)::quiet".into()), None),
        ] {
            let name = Name::parse(typed);
            assert_eq!((name.base, name.nth, name.except.len()), (base, nth, 0), "{typed}");
        }
    }

    #[test]
    fn exceptions_are_numbers_of_the_name_or_names() {
        let name = Name::parse("from Cache::Cache (svc.cpp:12) except #8 and #9");
        assert_eq!((&name.base, name.nth), (&Base::Line("svc.cpp:12".into()), None));
        let except: Vec<_> = name.except.iter().map(|one| (one.base.clone(), one.nth)).collect();
        assert_eq!(except, [(name.base.clone(), Some(8)), (name.base.clone(), Some(9))]);
        assert!(!name.counts_takers() && Name::parse("in take (svc.cpp:12) except #2").counts_takers());
        let name = Name::parse("shards except shards+0x140");
        assert_eq!(name.except[0].base, Base::Offset { of: "shards".into(), offset: 0x140 });
    }
}
