//! Locks by name, in options: `--lock cache_lock=mcs,default=glibc`, `--shrink`, `--split`, `--rw`.
//!
//! | file | holds |
//! | --- | --- |
//! | [`recorded`] | the locks of a profile by their names, and where a later run finds them |
//! | [`program`] | the same of a program that was not recorded, from its files |
//! | [`changes`] | the options as changes of a replay |

pub(super) mod changes;
pub(super) mod program;
pub(super) mod recorded;

/// How well a name that was typed fits one of the report's: `svc::cache_lock`, `from Cache::Cache (svc.cpp:12)`, `table+0x28`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// The last part of a path, or a symbol without the offset in it.
    Part,
    /// The name, or the function or the line of the place that it is made of.
    Whole,
}

/// Whether `typed` names what the report calls `known`.
fn fit(typed: &str, known: &str) -> Option<Fit> {
    let (function, line) = place(known);
    if typed == known || typed == bare(known) || typed == function || line == Some(typed) {
        return Some(Fit::Whole);
    }
    let symbol = function.split("+0x").next().unwrap_or_default();
    let last = symbol.rsplit_once("::").map_or(symbol, |(_, last)| last);
    (typed == symbol || typed == last || symbol.ends_with(&format!("::{typed}"))).then_some(Fit::Part)
}

/// A place without the word before it that says what happened there.
fn bare(name: &str) -> &str {
    name.strip_prefix("from ").or_else(|| name.strip_prefix("in ")).unwrap_or(name)
}

/// The function and the line of `from Cache::Cache (svc.cpp:12)`.
fn place(name: &str) -> (&str, Option<&str>) {
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
            ("shards #3", "shards #3", Some(Fit::Whole)),
        ] {
            assert_eq!(fit(typed, known), fits, "{typed} for {known}");
        }
    }
}
