//! What people change of a program beside one lock for all: another lock for some of its locks, a section made shorter, a lock
//! split, a reader-writer lock in its place. Each change is one row of a prediction, with what it assumes.

use crate::program::Program;
use crate::run::Choice;
use baton_machine::Wait;
use baton_trace::{Address, ProcessIndex, Ticks};
use std::collections::BTreeMap;
use std::ops::Range;
use thiserror::Error;

/// A lock of the recorded program: where it lay, and while it lived there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    /// Its process.
    pub process: ProcessIndex,
    /// Its address.
    pub address: Address,
    /// From its beginning to that of the next lock at the address.
    pub time: Range<Ticks>,
}

/// What is done to locks.
#[derive(Clone, Debug, PartialEq)]
pub enum Treatment {
    /// Another lock serves them.
    Lock(Choice),
    /// What is done under them takes so many times as long.
    Shrink(f64),
    /// Each is so many locks, and an acquisition takes one of them.
    Split(u32),
    /// A reader-writer lock stands in their place, and this share of the holds reads.
    ReadWrite(f64),
}

/// Locks by the name that was asked for, and what is done to them.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The name.
    pub name: String,
    /// The locks.
    pub locks: Vec<Life>,
    /// What is done.
    pub treatment: Treatment,
}

/// Another barrier, and how its waiters wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// A name of the registry of barriers.
    pub barrier: String,
    /// A policy.
    pub wait: Wait,
}

/// One row: some locks are changed together, or all barriers.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// As it was asked for: `cache_lock=mcs`.
    pub text: String,
    /// What serves the locks that are not named; `None`: the recorded one.
    pub default: Option<Choice>,
    /// The locks that are.
    pub parts: Vec<Part>,
    /// What stands in the place of every barrier; `None`: they stay.
    pub barrier: Option<Meeting>,
}

/// Factors of [`Treatment::Shrink`].
pub const FACTORS: std::ops::RangeInclusive<f64> = 0.0..=100.0;
/// Ways of [`Treatment::Split`].
pub const WAYS: std::ops::RangeInclusive<u32> = 2..=1024;
/// Locks that a program may have when some are split.
const MOST_LOCKS: usize = 200_000;

/// Why a program cannot be changed so.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ChangeError {
    /// The replay has none of the locks.
    #[error(
        "`{0}`: no lock of this name is replayed as one: its locks are never taken, or are given up by threads that do not hold them"
    )]
    NotReplayed(String),
    /// Threads meet nowhere.
    #[error("`{0}`: the recorded program has no barrier at which threads met")]
    NoBarrier(String),
    /// Two parts change one lock in ways that do not go together.
    #[error("`{first}` and `{second}` name the same lock, and it can be changed in one of the two ways only")]
    Twice {
        /// The one.
        first: String,
        /// The other.
        second: String,
    },
    /// Too many parts.
    #[error("`{name}`: split {ways} ways, the program would have {locks} locks; at most {MOST_LOCKS} can be simulated")]
    Many {
        /// The name.
        name: String,
        /// How many ways.
        ways: u32,
        /// Locks then.
        locks: usize,
    },
}

/// What is done to one lock of a program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Changed {
    /// Another lock than the run's.
    pub(crate) lock: Option<Choice>,
    /// Work under it takes so many times as long.
    pub(crate) factor: f64,
    /// How many locks it is.
    pub(crate) ways: u32,
    /// The share of holds that read, where it is a reader-writer lock.
    pub(crate) readers: Option<f64>,
}

impl Default for Changed {
    fn default() -> Changed {
        Changed { lock: None, factor: 1.0, ways: 1, readers: None }
    }
}

/// What is done to a program's locks, by their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    pub(crate) locks: BTreeMap<u32, Changed>,
    /// What stands in the place of every barrier.
    pub(crate) barrier: Option<Meeting>,
}

impl Change {
    /// What it does to a program's locks.
    ///
    /// # Errors
    /// Where the program has no such locks, or too many.
    pub fn on(&self, program: &Program) -> Result<Changes, ChangeError> {
        let mut changes = Changes { barrier: self.barrier.clone(), ..Changes::default() };
        if self.barrier.is_some() && program.barriers.is_empty() {
            return Err(ChangeError::NoBarrier(self.text.clone()));
        }
        let mut by: BTreeMap<(u32, bool), &str> = BTreeMap::new();
        let mut locks = program.locks.len();
        for part in &self.parts {
            let is_one = |spec: &crate::program::LockSpec| {
                let at = |life: &Life| {
                    (life.process.0 as u64, life.address) == (spec.process, spec.address)
                        && life.time.contains(&Ticks(spec.born))
                };
                !spec.handed && part.locks.iter().any(at)
            };
            let mut found =
                (0..).zip(&program.locks).filter(|(_, spec)| is_one(spec)).map(|(number, _)| number).peekable();
            if found.peek().is_none() {
                return Err(ChangeError::NotReplayed(part.name.clone()));
            }
            let shrinks = matches!(part.treatment, Treatment::Shrink(_));
            for number in found {
                if let Some(first) = by.insert((number, shrinks), &part.name) {
                    return Err(ChangeError::Twice { first: first.to_owned(), second: part.name.clone() });
                }
                let changed = changes.locks.entry(number).or_default();
                match &part.treatment {
                    Treatment::Lock(choice) => changed.lock = Some(choice.clone()),
                    Treatment::Shrink(factor) => changed.factor = *factor,
                    Treatment::ReadWrite(share) => changed.readers = Some(*share),
                    Treatment::Split(ways) => {
                        changed.ways = *ways;
                        locks += *ways as usize - 1;
                        if locks > MOST_LOCKS {
                            return Err(ChangeError::Many { name: part.name.clone(), ways: *ways, locks });
                        }
                    }
                }
            }
        }
        Ok(changes)
    }

    /// What it assumes, in a sentence for each part.
    pub fn assumptions(&self, default: &Choice) -> Vec<String> {
        if let Some(Meeting { barrier, wait }) = &self.barrier {
            return vec![format!(
                "{}: {barrier} ({wait}) stands in the place of all barriers, of the beginnings of OpenMP's regions, too",
                self.text
            )];
        }
        let mut all: Vec<String> = self.parts.iter().filter_map(Part::assumes).collect();
        if all.is_empty() {
            let default = self.default.as_ref().unwrap_or(default);
            all.push(format!("all other locks are {} ({})", default.lock, default.wait));
        }
        all.iter().map(|assumed| format!("{}: {assumed}", self.text)).collect()
    }
}

impl Part {
    fn assumes(&self) -> Option<String> {
        let Part { name, treatment, .. } = self;
        Some(match treatment {
            Treatment::Lock(_) => return None,
            Treatment::Shrink(factor) => format!(
                "what threads do under {name} takes {factor} times as long, and no other work grows or shrinks with it; the \
                 lines of data that move with the lock still move"
            ),
            Treatment::Split(ways) => format!(
                "accesses fall evenly on the {ways} parts of {name}, and each needs only one part, with as much data as moves \
                 with the whole lock today"
            ),
            Treatment::ReadWrite(share) => format!(
                "{}% of the holds of {name}, drawn by the seed, only read, whatever they do today; readers share the lock and go \
                 before writers, and waiters sleep in the kernel",
                share * 100.0
            ),
        })
    }
}
