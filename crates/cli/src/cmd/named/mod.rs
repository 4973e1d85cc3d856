//! Locks by name, in options: `--lock cache_lock=mcs,default=glibc`, `--shrink`, `--split`, `--rw`.
//!
//! | file | holds |
//! | --- | --- |
//! | [`recorded`] | the locks of a profile by their names, and where a later run finds them |
//! | [`program`] | the locks of a program that was not recorded, by their names in its files |
//! | [`changes`] | the options as changes of a replay |

pub(super) mod changes;
pub(super) mod program;
pub(super) mod recorded;

/// How well a name that the user typed fits a name of the report, such as `svc::cache_lock`, `from
/// Cache::Cache (svc.cpp:12)`, `table+0x28`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// The typed name is the last part of a path, or a symbol without its offset.
    Part,
    /// The typed name is the whole name, or the function or the line of the place in it.
    Whole,
}

/// How well `typed` fits the report's name `known`; `None` if it does not.
fn fit(typed: &str, known: &str) -> Option<Fit> {
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
