//! Lists of parts that a program may add to before it reads them.
//!
//! A registry is a list of parts that are built in. A command that extends `baton` adds parts of
//! its own at the beginning of `main`; a read of the list then returns both. The first read closes
//! the list, so that all readers see the same parts.

use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A list of built-in parts that a program may extend.
pub struct OpenList<T: 'static> {
    /// The kind of the list's parts, for messages: `lock`, `scheduler`.
    kind: &'static str,
    built_in: &'static [T],
    /// Returns a part's name on the command line, which is unique in the list.
    name: fn(&T) -> &'static str,
    added: Mutex<Vec<T>>,
    all: OnceLock<&'static [T]>,
    names: OnceLock<&'static [&'static str]>,
}

/// Why a part was not added to its list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAdded {
    /// The name is empty, or has other characters than `a` to `z`, digits and `-`.
    NoName {
        /// The kind of the part.
        kind: &'static str,
        /// The name.
        name: &'static str,
    },
    /// Another part of the list has the name.
    Taken {
        /// The kind of the part.
        kind: &'static str,
        /// The name.
        name: &'static str,
    },
    /// The list has been read already.
    Late {
        /// The kind of the part.
        kind: &'static str,
        /// The part's name.
        name: &'static str,
    },
    /// The list has as many parts as it can hold.
    Full {
        /// The kind of the part.
        kind: &'static str,
        /// The part's name.
        name: &'static str,
        /// The largest number of parts that a program can add.
        most: usize,
    },
    /// The declarations of the part contradict each other.
    Misfit {
        /// The kind of the part.
        kind: &'static str,
        /// The part's name.
        name: &'static str,
        /// What is wrong.
        why: &'static str,
    },
}

impl fmt::Display for NotAdded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotAdded::NoName { kind, name } => {
                write!(f, "{kind} `{name}`: a name has small letters, digits and `-` only")
            }
            NotAdded::Taken { kind, name } => write!(f, "another {kind} is named `{name}`"),
            NotAdded::Late { kind, name } => {
                write!(f, "{kind} `{name}` comes too late: parts are added before the first one is looked up")
            }
            NotAdded::Full { kind, name, most } => {
                write!(f, "no room for {kind} `{name}`: a command can add {most}")
            }
            NotAdded::Misfit { kind, name, why } => write!(f, "{kind} `{name}`: {why}"),
        }
    }
}

impl std::error::Error for NotAdded {}

impl<T: Copy + Send + Sync> OpenList<T> {
    /// Creates a list of these built-in parts. `kind` is the kind of the parts, for messages;
    /// `name` returns a part's name.
    pub const fn new(kind: &'static str, built_in: &'static [T], name: fn(&T) -> &'static str) -> OpenList<T> {
        OpenList { kind, built_in, name, added: Mutex::new(Vec::new()), all: OnceLock::new(), names: OnceLock::new() }
    }

    /// Adds a part behind the others. Returns the number of parts that were added before it.
    ///
    /// # Errors
    /// Fails if another part has the name, if the name is empty or has characters that a name may
    /// not have, or if the list has been read already.
    pub fn add(&self, part: T) -> Result<usize, NotAdded> {
        let (kind, name) = (self.kind, (self.name)(&part));
        if name.is_empty() || !name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-') {
            return Err(NotAdded::NoName { kind, name });
        }
        let mut added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        if self.built_in.iter().chain(added.iter()).any(|other| (self.name)(other) == name) {
            return Err(NotAdded::Taken { kind, name });
        }
        if self.all.get().is_some() {
            return Err(NotAdded::Late { kind, name });
        }
        added.push(part);
        Ok(added.len() - 1)
    }

    /// Returns all parts: the built-in ones, then those that were added. Closes the list.
    pub fn all(&self) -> &'static [T] {
        self.all.get_or_init(|| {
            let added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
            match added.is_empty() {
                true => self.built_in,
                false => Vec::leak([self.built_in, &added].concat()),
            }
        })
    }

    /// Returns the parts that were added. Closes the list.
    pub fn added(&self) -> &'static [T] {
        &self.all()[self.built_in.len()..]
    }

    /// Returns the names of all parts. Closes the list.
    pub fn names(&self) -> &'static [&'static str] {
        self.names.get_or_init(|| Vec::leak(self.all().iter().map(self.name).collect()))
    }

    /// Returns the part of this name. Closes the list.
    pub fn find(&self, name: &str) -> Option<&'static T> {
        self.all().iter().find(|part| (self.name)(part) == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Part(&'static str);

    const BUILT_IN: &[Part] = &[Part("one"), Part("two")];

    #[test]
    fn what_is_added_stands_behind_what_is_built_in() {
        static LIST: OpenList<Part> = OpenList::new("part", BUILT_IN, |part| part.0);
        assert_eq!((LIST.add(Part("three")), LIST.add(Part("four-4"))), (Ok(0), Ok(1)));
        assert_eq!(LIST.names(), ["one", "two", "three", "four-4"]);
        assert_eq!(
            (LIST.find("two"), LIST.find("three"), LIST.find("x")),
            (Some(&Part("two")), Some(&Part("three")), None)
        );
        assert_eq!(LIST.added(), [Part("three"), Part("four-4")]);
    }

    #[test]
    fn a_name_is_refused_with_the_reason() {
        static LIST: OpenList<Part> = OpenList::new("part", BUILT_IN, |part| part.0);
        assert_eq!(LIST.add(Part("three")), Ok(0));
        let refused = |name| LIST.add(Part(name)).unwrap_err().to_string();
        assert_eq!(refused("two"), "another part is named `two`");
        assert_eq!(refused("three"), "another part is named `three`");
        assert_eq!(refused("a b"), "part `a b`: a name has small letters, digits and `-` only");
        assert_eq!(LIST.all().len(), 3);
        let late = refused("four");
        assert_eq!(late, "part `four` comes too late: parts are added before the first one is looked up");
    }

    #[test]
    fn a_list_that_nothing_was_added_to_is_the_built_in_one() {
        static LIST: OpenList<Part> = OpenList::new("part", BUILT_IN, |part| part.0);
        assert!(std::ptr::eq(LIST.all(), BUILT_IN) && LIST.added().is_empty());
    }
}
