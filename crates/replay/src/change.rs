//! Changes to a program that go beyond one lock for all: another lock for some of its locks, a
//! shorter critical section, a split lock, a reader-writer lock, another queue. Each change is one row of a
//! prediction, with the assumptions that it makes.

use crate::program::Program;
use crate::queues::recorded::QueueSpec;
use crate::queues::{QueueKind, Service};
use crate::ran::Choice;
use baton_chip::Chip;
use baton_machine::Wait;
use baton_trace::{Address, ProcessIndex, Ticks};
use std::collections::BTreeMap;
use std::ops::Range;
use thiserror::Error;

/// A lock of the recorded program: its address, and the time span during which it existed at that
/// address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    pub process: ProcessIndex,
    pub address: Address,
    /// From the lock's creation to that of the next lock at the same address.
    pub time: Range<Ticks>,
}

/// The change to a lock.
#[derive(Clone, Debug, PartialEq)]
pub enum Treatment {
    /// Another lock takes the lock's place.
    Lock(Choice),
    /// Work in the lock's critical sections takes this many times as long.
    Shrink(f64),
    /// The lock becomes this many locks, and each acquisition takes one of them.
    Split(u32),
    /// A reader-writer lock takes the lock's place, and this share of the holds only reads.
    ReadWrite(f64),
}

/// A change to the locks that a name stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The name, as the user wrote it.
    pub name: String,
    /// The locks for which the name stands.
    pub locks: Vec<Life>,
    pub treatment: Treatment,
}

/// A barrier of the registry, and the wait policy of its waiters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// The barrier's name in the registry.
    pub barrier: String,
    pub wait: Wait,
}

/// Another queue in the place of some of the recorded ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuePart {
    /// The queues: the name of each, and where and when it lived.
    pub queues: Vec<(String, Life)>,
    pub service: Service,
}

/// One row of a prediction: changes to some locks, another barrier in place of every barrier, or other
/// queues.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// The row as the user wrote it: `cache_lock=mcs`.
    pub text: String,
    /// The lock in place of all locks that `parts` does not name; `None` for the recorded lock.
    pub default: Option<Choice>,
    /// The changes to named locks.
    pub parts: Vec<Part>,
    /// The barrier in place of every barrier; `None` if barriers stay.
    pub barrier: Option<Meeting>,
    /// The queues in the place of recorded ones.
    pub queues: Vec<QueuePart>,
}

/// The factors that [`Treatment::Shrink`] accepts.
pub const FACTORS: std::ops::RangeInclusive<f64> = 0.0..=100.0;
/// The numbers of locks that [`Treatment::Split`] accepts.
pub const WAYS: std::ops::RangeInclusive<u32> = 2..=1024;
/// The most locks that a program may have after splits.
const MOST_LOCKS: usize = 200_000;

/// Why a change cannot be applied to a program.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ChangeError {
    /// The replay contains none of the locks.
    #[error(
        "`{0}`: no lock of this name is replayed as one: its locks are never taken, or are given up by threads that do not hold them"
    )]
    NotReplayed(String),
    /// The name stands for a `pthread_spinlock_t`, and another lock was to take its place.
    #[error("`{0}` is a pthread_spinlock_t, which no other lock can replace")]
    SpinLock(String),
    /// The program has no barrier.
    #[error("`{0}`: the recorded program has no barrier at which threads met")]
    NoBarrier(String),
    /// The recording does not show how the queue was made.
    #[error("queue `{0}`: the recording does not show how it was made, so that nobody knows how many items it held")]
    QueueUnknown(String),
    /// More threads use a side of the queue than the kind serves.
    #[error(
        "queue `{queue}`: `{kind}` serves one thread that {does}, and {count} did: {}",
        names.join(", ")
    )]
    Crowded {
        queue: String,
        kind: &'static str,
        /// What the threads do at the queue.
        does: &'static str,
        /// The number of threads that did it.
        count: usize,
        /// The names of these threads.
        names: Vec<String>,
    },
    /// The kind needs a bound, and the queue has none.
    #[error("queue `{queue}` has no bound, and `{kind}` needs one: give it, as in `{kind}=64`")]
    NoBound { queue: String, kind: &'static str },
    /// Two parts name the same queue.
    #[error("queue `{0}` is named twice")]
    QueueTwice(String),
    /// Two parts change the same lock, and both shrink its sections or both change it otherwise.
    #[error("`{first}` and `{second}` name the same lock, and it can be changed in one of the two ways only")]
    Twice { first: String, second: String },
    /// A split would produce too many locks.
    #[error("`{name}`: split {ways} ways, the program would have {locks} locks; at most {MOST_LOCKS} can be simulated")]
    Many {
        name: String,
        ways: u32,
        /// The number of locks after the split.
        locks: usize,
    },
}

/// The change to one lock of a program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Changed {
    /// The lock in the changed lock's place; `None` for the lock of the run.
    pub(crate) lock: Option<Choice>,
    /// How many times as long work under the lock takes.
    pub(crate) factor: f64,
    /// The number of locks into which the lock is split.
    pub(crate) ways: u32,
    /// For a reader-writer lock in the changed lock's place, the share of holds that only read.
    pub(crate) readers: Option<f64>,
}

impl Default for Changed {
    fn default() -> Changed {
        Changed { lock: None, factor: 1.0, ways: 1, readers: None }
    }
}

/// The changes to a program's locks, by the number of the lock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    pub(crate) locks: BTreeMap<u32, Changed>,
    /// The barrier in place of every barrier; `None` if barriers stay.
    pub(crate) barrier: Option<Meeting>,
    /// The queues in the place of recorded ones, by the number of the recorded queue.
    pub(crate) queues: BTreeMap<u32, Service>,
    /// Whether threads use these queues in the recorded order.
    pub(crate) in_order: bool,
}

impl Changes {
    /// The queues of a recorded program that other queues can serve, each served by the kind for which
    /// the recorded one is taken.
    pub(crate) fn recorded(program: &Program, chip: &Chip) -> Changes {
        let wait = Some(ADAPTIVE).filter(|wait| chip.check_wait(*wait).is_ok()).unwrap_or(Wait::Futex);
        let of = |spec: &QueueSpec| Service { kind: spec.assumed(), capacity: None, wait };
        let served = (0..).zip(&program.queues).filter(|(_, spec)| spec.served);
        Changes { queues: served.map(|(number, spec)| (number, of(spec))).collect(), ..Changes::default() }
    }

    /// These changes, and where they have no queue, the queues of `other`.
    pub(crate) fn over(mut self, other: &Changes) -> Changes {
        for (number, service) in &other.queues {
            self.queues.entry(*number).or_insert(*service);
        }
        self
    }
}

impl Change {
    /// The changes that this row makes to a program.
    ///
    /// # Errors
    /// If the program has none of the locks of a name, or no barrier to replace; if another lock is
    /// to replace a `pthread_spinlock_t`; if two parts shrink the sections of one lock, or two
    /// change it otherwise; if there would be too many locks; if a kind of queue cannot serve a queue.
    pub fn on(&self, program: &Program) -> Result<Changes, ChangeError> {
        let name = |thread: u32| program.threads.get(thread as usize).map_or_else(String::new, |one| one.name.clone());
        let queues = self.served(&program.queues, &name)?;
        let mut changes = Changes { barrier: self.barrier.clone(), queues, ..Changes::default() };
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
                    Treatment::Lock(_) if program.locks[number as usize].spins => {
                        return Err(ChangeError::SpinLock(part.name.clone()));
                    }
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

    /// Where the queues lived that other queues serve.
    pub(crate) fn lives(&self) -> Vec<Life> {
        self.queues.iter().flat_map(|part| &part.queues).map(|(_, life)| life.clone()).collect()
    }

    /// The queues that take the place of recorded ones, by the numbers of these.
    pub(crate) fn served(
        &self,
        queues: &[QueueSpec],
        thread: &dyn Fn(u32) -> String,
    ) -> Result<BTreeMap<u32, Service>, ChangeError> {
        let mut served = BTreeMap::new();
        for part in &self.queues {
            for (name, life) in &part.queues {
                let found = (0..).zip(queues).find(|(_, spec)| life.has(spec) && spec.complete);
                let Some((number, spec)) = found else { return Err(ChangeError::QueueUnknown(name.clone())) };
                part.service.can_serve(name, spec, thread)?;
                if served.insert(number, part.service).is_some() {
                    return Err(ChangeError::QueueTwice(name.clone()));
                }
            }
        }
        Ok(served)
    }

    /// The row's assumptions, as sentences. The notes of the program have the assumptions about queues.
    pub fn assumptions(&self, default: &Choice) -> Vec<String> {
        if let Some(Meeting { barrier, wait }) = &self.barrier {
            return vec![format!(
                "{}: {barrier} ({wait}) stands in the place of all barriers, of the beginnings of OpenMP's regions, too",
                self.text
            )];
        }
        if !self.queues.is_empty() {
            return Vec::new();
        }
        let mut all: Vec<String> = self.parts.iter().filter_map(Part::assumes).collect();
        if all.is_empty() {
            let default = self.default.as_ref().unwrap_or(default);
            all.push(format!("all other locks are {} ({})", default.lock, default.wait));
        }
        // Says so if a name stands for several locks, because the user may not expect that.
        let several = self.parts.iter().filter(|part| part.locks.len() > 1);
        all.extend(several.map(|part| format!("{} stands for {} locks", part.name, part.locks.len())));
        all.iter().map(|assumed| format!("{}: {assumed}", self.text)).collect()
    }
}

impl Life {
    /// Whether the queue lived at this address at this time.
    pub(crate) fn has(&self, spec: &QueueSpec) -> bool {
        (self.process.0 as u64, self.address) == (spec.process, spec.address) && self.time.contains(&Ticks(spec.born))
    }
}

impl Service {
    /// Checks that this queue can serve the recorded queue `spec`, which is called `name`.
    fn can_serve(&self, name: &str, spec: &QueueSpec, thread: &dyn Fn(u32) -> String) -> Result<(), ChangeError> {
        let (queue, kind) = (name.to_owned(), self.kind.name());
        for (puts, does) in [(true, "puts items in"), (false, "takes items out")] {
            let threads = spec.threads(puts);
            if self.kind.is_for_one(puts) && threads.len() > 1 {
                let names = threads.iter().take(LISTED).map(|number| thread(*number)).collect();
                let count = threads.len();
                return Err(ChangeError::Crowded { queue, kind, does, count, names });
            }
        }
        match self.capacity.or(spec.capacity) {
            None if self.kind != QueueKind::Segments => Err(ChangeError::NoBound { queue, kind }),
            _ => Ok(()),
        }
    }
}

/// How the threads of the library's queues wait, unless a program says otherwise.
const ADAPTIVE: Wait = Wait::Adaptive(10_000);

/// Most threads that an error names.
const LISTED: usize = 8;

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
