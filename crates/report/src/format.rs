//! Formats figures for people: mostly three digits and a unit. Also formats names and commands for
//! sentences.

use baton_trace::Stream;
use baton_units::Nanos;

/// Formats a duration: `412ns`, `1.24µs`, `38.0ms`, `12.5s`, `4500s`, and from 6,000 s on in
/// minutes, `125m`; `-` for zero.
pub fn duration(ns: Nanos) -> String {
    let ns = ns.0;
    if ns == 0 {
        return "-".to_owned();
    }
    if ns < 1_000 {
        return format!("{ns}ns");
    }
    for (unit, size) in [("µs", 1e3), ("ms", 1e6), ("s", 1e9)] {
        let value = ns as f64 / size;
        // A value that rounds to 1000 is shown in the next unit.
        if value < 999.5 || unit == "s" && value < 5_999.5 {
            return format!("{}{unit}", three_digits(value));
        }
    }
    format!("{}m", three_digits(ns as f64 / 60e9))
}

/// Formats a count: `999`, `1.24k`, `38.0M`, `1.20G`; `-` for zero.
pub fn count(n: u64) -> String {
    if n == 0 {
        return "-".to_owned();
    }
    if n < 1_000 {
        return n.to_string();
    }
    for (unit, size) in [("k", 1e3), ("M", 1e6), ("G", 1e9)] {
        let value = n as f64 / size;
        if value < 999.5 {
            return format!("{}{unit}", three_digits(value));
        }
    }
    format!("{:.0}G", n as f64 / 1e9)
}

/// Formats a share (0 to 1) as `12.3%`. A share above zero never shows as zero.
pub fn percent(share: f64) -> String {
    match share {
        s if s == 0.0 || !s.is_finite() => "-".to_owned(),
        s if s < 0.001 => "<0.1%".to_owned(),
        s if s > 0.999 && s < 1.0 => ">99.9%".to_owned(),
        s if s >= 0.9995 => format!("{:.0}%", s * 100.0),
        s => format!("{:.1}%", s * 100.0),
    }
}

/// Names as a list: `a, b and c`; empty without names.
pub fn list(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// A sorted set of numbers as the kernel writes it: `0-3,8,10-11`.
pub fn ranges(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &n in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(n) => *last = n,
            _ => runs.push((n, n)),
        }
    }
    let run = |(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    runs.iter().map(run).collect::<Vec<_>>().join(",")
}

/// A lock's name as part of a sentence. A name that is only a place (`in f (a.c:1)`, `from f
/// (a.c:1)`) becomes `the lock in …`, with an exception (`… except #8`) `the locks in …`; `hot one
/// of …` gets the article.
pub fn lock_phrase(name: &str) -> String {
    phrase("lock", name)
}

/// Like [`lock_phrase`], for another kind of object.
pub fn phrase(kind: &str, name: &str) -> String {
    let kind = if kind == "libc-lock" { "C library's lock" } else { kind };
    let by_place = name.starts_with("in ") || name.starts_with("from ");
    if by_place && name.contains(" except ") {
        format!("the {kind}s {name}")
    } else if by_place {
        format!("the {kind} {name}")
    } else if name.starts_with("hot one of ") || is_stream(name) {
        format!("the {name}")
    } else {
        name.to_owned()
    }
}

/// Whether a name is that of a stream by its place, as `pipe in main (a.c:3)`.
fn is_stream(name: &str) -> bool {
    Stream::ALL.iter().any(|sort| names(*sort, name))
}

/// Whether a name is that of a pipe, socket or eventfd by its place.
pub(crate) fn is_kernels(name: &str) -> bool {
    Stream::ALL.iter().any(|sort| Stream::is_kernels(sort.address(0)) && names(*sort, name))
}

fn names(sort: Stream, name: &str) -> bool {
    name.strip_prefix(sort.word()).is_some_and(|rest| rest.starts_with(" in "))
}

/// A word, quoted for a shell if necessary.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A command as a user would type it.
pub fn shell(command: &[String]) -> String {
    command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn three_digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_three_digits_across_units() {
        let shown = [0, 7, 999, 1_000, 1_240, 12_345, 999_499, 999_999, 38_000_000, 12_500_000_000, 6_000_000_000_000]
            .map(|ns| duration(Nanos(ns)));
        let expected =
            ["-", "7ns", "999ns", "1.00µs", "1.24µs", "12.3µs", "999µs", "1.00ms", "38.0ms", "12.5s", "100m"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn names_and_commands_fit_into_sentences() {
        assert_eq!(lock_phrase("in Queue::push (queue.h:3)"), "the lock in Queue::push (queue.h:3)");
        assert_eq!(lock_phrase("cache_lock"), "cache_lock");
        assert_eq!(lock_phrase("from f (a.c:1) except #8"), "the locks from f (a.c:1) except #8");
        assert_eq!(lock_phrase("hot one of 64 locks from f (a.c:1) #8"), "the hot one of 64 locks from f (a.c:1) #8");
        let command = ["./app", "-n", "two words", "it's", ""].map(str::to_owned);
        assert_eq!(shell(&command), r"./app -n 'two words' 'it'\''s' ''");
    }

    #[test]
    fn ranges_are_the_kernels() {
        assert_eq!(["", "0", "0-3,8,10-11"], [&[][..], &[0], &[0, 1, 2, 3, 8, 10, 11]].map(ranges));
    }

    #[test]
    fn counts_and_shares() {
        assert_eq!([0, 999, 1_000, 1_234_567, u64::MAX].map(count), ["-", "999", "1.00k", "1.23M", "18446744074G"]);
        assert_eq!(
            [0.0, 0.0004, 0.123, 0.9996, 1.0, f64::NAN].map(percent),
            ["-", "<0.1%", "12.3%", ">99.9%", "100%", "-"]
        );
    }
}
