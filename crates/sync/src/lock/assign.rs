//! Parses assignments of locks to mutexes, such as `cache_lock=mcs,default=glibc`, and the address
//! ranges of object files that tools translate names into.
//!
//! The command and the preload library read the same text, but give names different meanings: the
//! command knows names of locks and lines of source, the library address ranges of loaded object
//! files.

use core::fmt;
use core::ops::Range;
use core::str::FromStr;

/// The name for all mutexes that no other part names.
pub const DEFAULT: &str = "default";
/// The value that leaves a mutex to the C library.
pub const GLIBC: &str = "glibc";

/// One part of an assignment: a name, and the lock that should serve the mutexes of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The text before the last `=`.
    pub name: String,
    /// Name of the lock, or [`GLIBC`].
    pub lock: String,
    /// The wait policy, which follows the lock's name and a colon.
    pub wait: Option<String>,
}

impl Part {
    /// Whether the C library should serve the mutexes of this name.
    pub fn is_glibc(&self) -> bool {
        self.lock == GLIBC
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.lock)?;
        self.wait.iter().try_for_each(|wait| write!(f, ":{wait}"))
    }
}

/// Whether `text` names locks one by one, rather than one lock for all.
pub fn is_assignment(text: &str) -> bool {
    text.contains('=')
}

/// Parses the parts of `text`, in order.
///
/// # Errors
/// Returns one line that quotes the part and says what was expected.
pub fn parse(text: &str) -> Result<Vec<Part>, String> {
    let mut parts: Vec<Part> = Vec::new();
    for part in text.split(',') {
        let part = one(part.trim())?;
        if parts.iter().any(|other| other.name == part.name) {
            return Err(format!("`{}` is named twice", part.name));
        }
        // A process keeps one policy for each lock, so that an acquisition reads it at the cost of
        // a constant.
        let differs = |other: &&Part| other.lock == part.lock && other.wait != part.wait;
        if let Some(other) = parts.iter().find(differs) {
            return Err(format!("`{other}` and `{part}`: a lock has one wait policy in a program"));
        }
        parts.push(part);
    }
    Ok(parts)
}

fn one(part: &str) -> Result<Part, String> {
    let expected = || format!("`{part}`: expected NAME=LOCK, NAME=LOCK:WAIT or NAME=glibc");
    // The name may contain the sign `=` (`Set::operator=`); a lock's name never does.
    let (name, lock) = part.rsplit_once('=').ok_or_else(expected)?;
    let (lock, wait) = lock.split_once(':').map_or((lock, None), |(lock, wait)| (lock, Some(wait)));
    let (name, lock, wait) = (name.trim(), lock.trim(), wait.map(str::trim));
    if name.is_empty() || lock.is_empty() || wait == Some("") {
        return Err(expected());
    }
    if lock == GLIBC && wait.is_some() {
        return Err(format!("`{part}`: glibc's mutexes wait in their own way"));
    }
    Ok(Part { name: name.to_owned(), lock: lock.to_owned(), wait: wait.map(str::to_owned) })
}

/// An address range of a loaded object file, in the file's own addresses: in its data, where
/// mutexes lie, or in its code, which calls functions of mutexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRange {
    /// Last component of the file's path.
    pub module: String,
    /// The addresses, in the file's own address space.
    pub range: Range<u64>,
}

/// The mutexes that a part of an assignment means: those that lie in one of several ranges, and
/// those that are initialised, or first taken, by a call in one of these ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutexRange {
    /// The ranges.
    pub ranges: Vec<ObjectRange>,
    /// Only the n-th mutex that calls of these ranges initialise, counted from 1; `None`: all.
    pub nth: Option<u32>,
}

impl fmt::Display for MutexRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in self.ranges.iter().enumerate() {
            write!(f, "{}{range}", if at == 0 { "" } else { "|" })?;
        }
        self.nth.iter().try_for_each(|nth| write!(f, "#{nth}"))
    }
}

impl FromStr for MutexRange {
    type Err = String;

    /// Parses ranges with `|` between them; `#3` behind the last range means the third mutex that
    /// calls of these ranges initialise.
    fn from_str(text: &str) -> Result<MutexRange, String> {
        let (ranges, nth) = match text.rsplit_once('#') {
            Some((ranges, nth)) => {
                let nth = nth.parse().ok().filter(|&nth: &u32| nth > 0);
                (ranges, Some(nth.ok_or_else(|| format!("`{text}`: expected a number from 1 behind `#`"))?))
            }
            None => (text, None),
        };
        Ok(MutexRange { ranges: ranges.split('|').map(str::parse).collect::<Result<_, _>>()?, nth })
    }
}

impl fmt::Display for ObjectRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{:#x}-{:#x}", self.module, self.range.start, self.range.end)
    }
}

impl FromStr for ObjectRange {
    type Err = String;

    /// Parses `app+0x4040-0x4068`, or `app+0x4040` for one byte.
    fn from_str(text: &str) -> Result<ObjectRange, String> {
        let bad =
            || format!("`{text}` is no place of an object file; expected FILE+0xSTART-0xEND, as in app+0x4040-0x4068");
        let number = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
        // The file's name may contain the sign `+` (`libstdc++.so.6`), so the last one in the text
        // counts.
        let (module, range) = text.rsplit_once('+').ok_or_else(bad)?;
        let (start, end) = range.split_once('-').map_or((range, None), |(start, end)| (start, Some(end)));
        let start = number(start).ok_or_else(bad)?;
        let end = end.map_or(start.checked_add(1), number).ok_or_else(bad)?;
        if module.is_empty() || end <= start {
            return Err(bad());
        }
        Ok(ObjectRange { module: module.to_owned(), range: start..end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_lock_and_perhaps_a_wait() {
        let parts = parse("cache_lock=mcs:spin-park(9), svc.cpp:66=clh,Set::operator==ticket,default=glibc").unwrap();
        let said: Vec<_> = parts.iter().map(|p| (p.name.as_str(), p.lock.as_str(), p.wait.as_deref())).collect();
        let expected = [
            ("cache_lock", "mcs", Some("spin-park(9)")),
            ("svc.cpp:66", "clh", None),
            ("Set::operator=", "ticket", None),
            ("default", "glibc", None),
        ];
        assert_eq!(said, expected);
        assert!(parts[3].is_glibc() && !parts[0].is_glibc());
        assert_eq!(parts[0].to_string(), "cache_lock=mcs:spin-park(9)");
        assert!(is_assignment("a=mcs") && !is_assignment("mcs"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (text, says) in [
            ("a=mcs,b", "`b`: expected NAME=LOCK"),
            ("=mcs", "expected NAME=LOCK"),
            ("a=", "expected NAME=LOCK"),
            ("a=mcs:", "expected NAME=LOCK"),
            ("a=mcs,,b=clh", "``: expected NAME=LOCK"),
            ("a=mcs,a=clh", "`a` is named twice"),
            ("a=glibc:spin", "their own way"),
            ("a=mcs:spin,b=mcs:futex", "`a=mcs:spin` and `b=mcs:futex`: a lock has one wait policy"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn a_place_is_written_as_it_is_read() {
        let place: ObjectRange = "libstdc++.so.6+0x10-0x20".parse().unwrap();
        assert_eq!((place.module.as_str(), place.range.clone()), ("libstdc++.so.6", 0x10..0x20));
        assert_eq!(place.to_string(), "libstdc++.so.6+0x10-0x20");
        assert_eq!("app+0xff".parse::<ObjectRange>().unwrap().range, 0xff..0x100);
        let third: MutexRange = "app+0x10-0x20|lib.so+0x30-0x31#3".parse().unwrap();
        assert_eq!((third.nth, third.ranges.len(), third.ranges[1].range.clone()), (Some(3), 2, 0x30..0x31));
        assert_eq!(third.to_string(), "app+0x10-0x20|lib.so+0x30-0x31#3");
        assert_eq!("app+0x10-0x20".parse::<MutexRange>().unwrap().nth, None);
        for bad in ["app+0x10#0", "app+0x10#x", "app+0x10|", "#1"] {
            assert!(bad.parse::<MutexRange>().is_err(), "{bad}");
        }
        for bad in ["app", "app+10", "app+0x20-0x20", "+0x10", "app+0x20-0x10", "app+0xg"] {
            assert!(bad.parse::<ObjectRange>().unwrap_err().contains("0xSTART-0xEND"), "{bad}");
        }
    }
}
