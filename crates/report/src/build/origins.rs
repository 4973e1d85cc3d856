//! The origins of locks: the places that initialise locks, or take them first, with the callers. A
//! wrapper around a mutex begins all its locks at one place, so that only the callers tell them
//! apart.

use super::names::Names;
use crate::model;
use crate::symbols::{Frame, Symbols, is_wrapper, short};
use baton_trace::analysis::{LockReport, Object};
use baton_trace::{ProcessIndex, SiteId};
use std::collections::{BTreeMap, BTreeSet};

/// The frames of a call site that count, from the innermost: as many as `baton run` looks at.
const FRAMES: usize = 8;

/// A place on the way to a lock's beginning.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    /// The function, without parameters.
    pub(super) function: String,
    /// `file.c:12`, if it is known.
    pub(super) line: Option<String>,
    /// The return address in its object file, `app+0x1234`.
    pub(super) at: String,
}

impl Step {
    /// `Index::add (index.cc:40)`.
    pub(super) fn label(&self) -> String {
        match &self.line {
            Some(line) => format!("{} ({line})", self.function),
            None => self.function.clone(),
        }
    }

    /// The label with the return address, which is different for each call.
    pub(super) fn exact(&self) -> String {
        match &self.line {
            Some(line) => format!("{} ({line} at {})", self.function, self.at),
            None if self.function == self.at => self.at.clone(),
            None => format!("{} ({})", self.function, self.at),
        }
    }

    /// Whether the name of a lock that the report took from this place is `name`, or has the same
    /// source line.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let by_line = self.line.as_ref().is_some_and(|line| name.ends_with(&format!("({line})")));
        by_line || self.label() == name || self.exact() == name
    }

    /// Whether a name by this place could also mean the place `other`.
    pub(super) fn is_named_like(&self, other: &Step) -> bool {
        match (&self.line, &other.line) {
            (Some(line), Some(theirs)) => line == theirs,
            _ => self.function == other.function,
        }
    }

    /// The part of a place by which locks are told apart: the function with its line, or with its
    /// call if there are no lines.
    fn differs_in(&self) -> (&str, &str) {
        (&self.function, self.line.as_ref().unwrap_or(&self.at))
    }

    /// Whether the function is one that only passes a lock on, by the words in its name.
    pub(super) fn passes_on(&self) -> bool {
        passes_on(&self.function)
    }
}

/// Whether a function only passes a lock on, by the words in its name.
pub(super) fn passes_on(function: &str) -> bool {
    const WORDS: [&str; 8] = ["lock", "mutex", "guard", "monitor", "latch", "synchron", "critical", "condvar"];
    const OTHER: [&str; 2] = ["block", "clock"];
    let name = OTHER.iter().fold(function.to_lowercase(), |name, word| name.replace(word, ""));
    WORDS.iter().any(|word| name.contains(word))
}

/// The way to a lock's beginning: places, the innermost first.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin {
    process: ProcessIndex,
    /// The locks that begin on this way.
    locks: Vec<usize>,
    /// Whether a call initialises the locks; otherwise a place takes them first.
    pub(super) initialised: bool,
    pub(super) steps: Vec<Step>,
}

/// The origins of all locks.
pub(super) struct Origins {
    all: Vec<Origin>,
    /// The origin of each lock, by the lock's number.
    of: Vec<Option<u32>>,
}

impl Origins {
    pub(super) fn of(names: &mut Names, locks: &[LockReport]) -> Origins {
        let mut known: BTreeMap<(ProcessIndex, SiteId, bool), u32> = BTreeMap::new();
        let mut all: Vec<Origin> = Vec::new();
        let mut origin = |(lock, object): (usize, &Object)| {
            let (site, initialised) = begin(object)?;
            let process = object.process;
            let number = *known.entry((process, site, initialised)).or_insert_with(|| {
                all.push(Origin { process, locks: Vec::new(), initialised, steps: steps(names, process, site) });
                all.len() as u32 - 1
            });
            all[number as usize].locks.push(lock);
            Some(number)
        };
        let of = locks.iter().map(|lock| &lock.object).enumerate().map(&mut origin).collect();
        Origins { all, of }
    }

    /// The numbers of a process's origins that have a place for which `has` holds.
    pub(super) fn through(&self, process: ProcessIndex, has: impl Fn(&Step) -> bool) -> BTreeSet<u32> {
        let there = (0..).zip(&self.all).filter(|(_, origin)| origin.process == process);
        there.filter(|(_, origin)| origin.steps.iter().any(&has)).map(|(number, _)| number).collect()
    }

    /// The locks of a process that are initialised through a place for which `has` holds.
    pub(super) fn initialised_through(&self, process: ProcessIndex, has: impl Fn(&Step) -> bool) -> Vec<usize> {
        let there = self.all.iter().filter(|origin| origin.process == process && origin.initialised);
        there.filter(|origin| origin.steps.iter().any(&has)).flat_map(|origin| origin.locks.iter().copied()).collect()
    }

    /// The origin of a lock; `None` if nothing is known of it.
    pub(super) fn get(&self, lock: usize) -> Option<&Origin> {
        self.of[lock].map(|origin| &self.all[origin as usize])
    }

    /// The number of a lock's origin in [`Origins::published`].
    pub(super) fn number(&self, lock: usize) -> Option<u32> {
        self.of[lock]
    }

    /// The origins for the JSON.
    pub(super) fn published(&self) -> Vec<model::Origin> {
        let how = |origin: &Origin| if origin.initialised { "initialised" } else { "taken" };
        let place = |step: &Step| model::Beginning { place: step.label(), at: step.at.clone() };
        let published = |origin: &Origin| model::Origin {
            how: how(origin).to_owned(),
            places: origin.steps.iter().map(place).collect(),
        };
        self.all.iter().map(published).collect()
    }
}

/// The call site at which a lock begins, and whether the call there initialises the lock.
fn begin(object: &Object) -> Option<(SiteId, bool)> {
    let known = |site: &SiteId| *site != SiteId::UNKNOWN;
    let initialised = object.init_site.filter(known).map(|site| (site, true));
    initialised.or_else(|| object.first_site.filter(known).map(|site| (site, false)))
}

/// The places of a call site in the program's own code. A function that is there several times, as
/// in a recursion, counts once.
fn steps(names: &mut Names, process: ProcessIndex, site: SiteId) -> Vec<Step> {
    let (trace, time) = (names.trace, names.trace.site_time(process, site));
    let counted: Vec<_> = trace.site(process, site).iter().take(FRAMES).copied().collect();
    let mut stack = names.symbols.stack(trace, process, site);
    stack.retain(|(_, address)| counted.contains(address));
    let mut steps: Vec<Step> = Vec::new();
    let own = stack.iter().filter(|(frame, _)| !is_wrapper(frame));
    for (frame, address) in own.chain(stack.first().filter(|_| stack.iter().all(|(frame, _)| is_wrapper(frame)))) {
        let function = short(&frame.function);
        if !begins_a_thread(&function) && !steps.iter().any(|step| step.function == function) {
            let at = Symbols::in_file(trace, process, *address, time).unwrap_or_else(|| format!("{address:#x}"));
            steps.push(Step { function, line: frame.place(), at });
        }
    }
    steps
}

/// The callers of a function that only passes a lock on: the first function that does more, and its
/// caller, the outermost first. Empty if the innermost function does more itself.
pub(super) fn through(frames: &[Frame]) -> String {
    let mut own: Vec<String> = Vec::new();
    for frame in frames.iter().filter(|frame| !is_wrapper(frame)) {
        let function = short(&frame.function);
        if !own.contains(&function) && !begins_a_thread(&function) {
            own.push(function);
        }
    }
    if !own.first().is_some_and(|innermost| passes_on(innermost)) {
        return String::new();
    }
    let passing = own.iter().take_while(|function| passes_on(function)).count();
    let mut callers: Vec<&str> = own.iter().skip(passing).take(2).map(String::as_str).collect();
    callers.reverse();
    callers.join(" -> ")
}

/// Whether a function of the C library calls a thread's first function.
fn begins_a_thread(function: &str) -> bool {
    function.starts_with("__libc_start_")
        || ["_start", "start_thread", "clone", "clone3", "__clone3"].contains(&function)
}

/// Locks that share the first places of their origins.
pub(super) struct Sisters {
    pub(super) locks: Vec<usize>,
    /// The index of the place that names the locks, in the steps of their origins.
    pub(super) named_by: usize,
}

/// Splits locks with the same innermost place by the first place at which their origins differ. A
/// group is split further only if its place passes locks on, or if few of its locks have most of
/// the waiting. `waiting` returns the waiting at a lock.
pub(super) fn split(origins: &Origins, locks: Vec<usize>, waiting: &dyn Fn(usize) -> u64) -> Vec<Sisters> {
    let mut out = Vec::new();
    descend(origins, Sisters { locks, named_by: 0 }, 1, waiting, &mut out);
    out
}

fn descend(origins: &Origins, sisters: Sisters, depth: usize, waiting: &dyn Fn(usize) -> u64, out: &mut Vec<Sisters>) {
    let steps = |lock: &usize| origins.get(*lock).map_or(&[][..], |origin| &origin.steps);
    let mut children: BTreeMap<Option<(&str, &str)>, Vec<usize>> = BTreeMap::new();
    for lock in &sisters.locks {
        children.entry(steps(lock).get(depth).map(Step::differs_in)).or_default().push(*lock);
    }
    if children.len() == 1 {
        match children.into_iter().next() {
            Some((Some(_), _)) => descend(origins, sisters, depth + 1, waiting, out),
            _ => out.push(sisters),
        }
        return;
    }
    let passes_on = sisters.locks.first().and_then(|lock| steps(lock).get(depth - 1)).is_some_and(Step::passes_on);
    if !(sisters.named_by == 0 || passes_on || concentrated(children.values(), waiting)) {
        out.push(sisters);
        return;
    }
    for (place, locks) in children {
        match place {
            Some(_) => descend(origins, Sisters { locks, named_by: depth }, depth + 1, waiting, out),
            None => out.push(Sisters { locks, named_by: sisters.named_by }),
        }
    }
}

/// Whether one of several groups has at least two thirds of the waiting, and at most half of the
/// locks.
fn concentrated<'a>(groups: impl Iterator<Item = &'a Vec<usize>>, waiting: &dyn Fn(usize) -> u64) -> bool {
    let groups: Vec<(u64, usize)> =
        groups.map(|locks| (locks.iter().map(|lock| waiting(*lock)).sum(), locks.len())).collect();
    let all: u64 = groups.iter().map(|(waiting, _)| waiting).sum();
    let locks: usize = groups.iter().map(|(_, locks)| locks).sum();
    groups.iter().any(|(waiting, of)| *waiting > 0 && *waiting >= all / 3 * 2 && of * 2 <= locks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origins(paths: &[&[&str]]) -> Origins {
        let step = |text: &&str| {
            let (function, line) = text.split_once(' ').map_or((*text, None), |(f, line)| (f, Some(line.to_owned())));
            Step { function: function.to_owned(), line, at: format!("app+{text}") }
        };
        let all = paths.iter().map(|path| Origin {
            initialised: true,
            steps: path.iter().map(step).collect(),
            ..Origin::default()
        });
        Origins { all: all.collect(), of: (0..paths.len() as u32).map(Some).collect() }
    }

    fn groups(paths: &[&[&str]], waiting: &[u64]) -> Vec<(usize, Vec<usize>)> {
        let split = split(&origins(paths), (0..paths.len()).collect(), &|lock| waiting[lock]);
        let mut groups: Vec<_> = split.into_iter().map(|sisters| (sisters.named_by, sisters.locks)).collect();
        groups.sort_by_key(|(_, locks)| locks[0]);
        groups
    }

    #[test]
    fn the_first_place_that_differs_names_a_lock() {
        let paths: [&[&str]; 4] = [
            &["Mutex::Mutex m:3", "DB::DB d:9", "main d:20"],
            &["Mutex::Mutex m:3", "Shard::Shard d:7", "DB::DB d:9", "main d:20"],
            &["Mutex::Mutex m:3", "Shard::Shard d:7", "DB::DB d:9", "main d:21"],
            &["Mutex::Mutex m:3"],
        ];
        assert_eq!(groups(&paths, &[0; 4]), [(1, vec![0]), (1, vec![1, 2]), (0, vec![3])]);
    }

    #[test]
    fn wrappers_of_wrappers_are_looked_through() {
        let paths: [&[&str]; 3] = [
            &["Mutex::Mutex m:3", "InstrumentedMutex::InstrumentedMutex i:4", "DB::DB d:9"],
            &["Mutex::Mutex m:3", "InstrumentedMutex::InstrumentedMutex i:4", "Log::Log l:5"],
            &["Mutex::Mutex m:3", "Stats::Stats s:1", "main d:20"],
        ];
        assert_eq!(groups(&paths, &[0; 3]), [(2, vec![0]), (2, vec![1]), (1, vec![2])]);
        assert!(passes_on("port::Mutex::Lock") && passes_on("SpinGuard::enter"));
        assert!(!passes_on("BlockCache::get") && !passes_on("ClockShard::ClockShard"));
    }

    /// Four connections, opened by three callers, are one class if all have the same waiting. If
    /// one of them has nearly all of it, they are split by caller.
    #[test]
    fn what_only_callers_of_callers_tell_apart_stays_together() {
        let paths: [&[&str]; 5] = [
            &["Mutex::Mutex m:3", "Connection::Connection c:3", "accept c:8"],
            &["Mutex::Mutex m:3", "Connection::Connection c:3", "accept c:8"],
            &["Mutex::Mutex m:3", "Connection::Connection c:3", "connect c:9"],
            &["Mutex::Mutex m:3", "Connection::Connection c:3", "resume c:11"],
            &["Mutex::Mutex m:3", "Log::Log l:5", "main m:1"],
        ];
        assert_eq!(groups(&paths, &[5; 5]), [(1, vec![0, 1, 2, 3]), (1, vec![4])]);
        assert_eq!(groups(&paths, &[1, 1, 1, 90, 1]), [(2, vec![0, 1]), (2, vec![2]), (2, vec![3]), (1, vec![4])]);
    }

    #[test]
    fn without_lines_the_calls_differ() {
        let paths: [&[&str]; 2] = [&["make", "main"], &["make", "main"]];
        let mut origins = origins(&paths);
        origins.all[1].steps[1].at = "app+0x99".into();
        let split = split(&origins, vec![0, 1], &|_| 0);
        assert_eq!(split.len(), 2);
        assert_eq!(origins.all[1].steps[1].exact(), "main (app+0x99)");
    }
}
