//! Decides which locks the report shows as one class, and how each lock is called. One class are
//! locks that the program gave one name, locks that begin alike, unnamed locks that the same places
//! of the program take, and, of the locks in one global variable, those that one place initialises
//! or the same places take.
//! Sixteen shards of a cache are one class, whether they form an array or each was created by
//! `new`; a shard that has most of the waiting is a class of its own.

use super::hot::hot;
use super::names::Names;
use super::origins::{Origin, Origins, Step, passes_on, split};
use baton_trace::analysis::{Analysis, LockReport, LockStats, ObjectKind};
use baton_trace::{ProcessIndex, SiteId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A place that takes less than one in [`RARE`] of a lock's acquisitions says nothing about which
/// lock it is.
const RARE: u64 = 20;

/// Locks that the report shows as one class.
pub(super) struct Class {
    pub(super) name: String,
    pub(super) kind: ObjectKind,
    /// The numbers of the class's locks in the analysis.
    pub(super) locks: Vec<usize>,
    /// The figures of all locks of the class, merged.
    pub(super) stats: LockStats,
}

/// What the locks of a class have in common before they are told apart by their callers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Alike {
    /// The program gave all of the locks this name.
    Named(String),
    /// The locks lie in one global variable. The set has the place that initialises all of them or,
    /// if no initialisation is known, the places that often take each of them.
    Global(ProcessIndex, String, BTreeSet<String>),
    /// This place initialises all of the locks.
    Begun(ProcessIndex, String),
    /// These places take the locks; the name is that of the place that takes them most.
    Taken(ProcessIndex, String, BTreeSet<String>),
    /// The lock with this number has nothing known that it could share with others.
    Alone(usize),
}

/// The classes, the one with the most waiting first, and the name of each lock.
pub(super) fn classes(names: &mut Names, analysis: &Analysis, origins: &Origins) -> (Vec<Class>, Vec<String>) {
    let locks = &analysis.locks;
    let mut groups: BTreeMap<(Alike, ObjectKind), Vec<usize>> = BTreeMap::new();
    for (number, lock) in locks.iter().enumerate() {
        let alike = alike(names, lock, number, origins);
        groups.entry((alike, lock.object.kind)).or_default().push(number);
    }
    let mut naming = Naming { names, locks, origins, lock_names: vec![String::new(); locks.len()] };
    let mut classes: Vec<Class> = Vec::new();
    for ((alike, kind), members) in groups {
        for (name, members) in naming.told_apart(&alike, members) {
            naming.rows(&name, kind, members, analysis.totals().0.0, &mut classes);
        }
    }
    let mut classes = merged(classes, locks);
    classes.sort_by_key(|class| (Reverse(class.stats.blocked), class.locks.first().copied()));
    (classes, naming.lock_names)
}

/// Finds what a lock has in common with others, which puts them into one class.
fn alike(names: &mut Names, lock: &LockReport, number: usize, origins: &Origins) -> Alike {
    let object = &lock.object;
    if let Some(name) = &object.name {
        return Alike::Named(name.clone());
    }
    let begun = origins.get(number).filter(|origin| origin.initialised);
    let first = |origin: &Origin| origin.steps.first().map_or_else(String::new, Step::label);
    let global = names.global(object.process, object.address, object.loaded);
    match (global, begun) {
        (Some(whole), Some(origin)) => Alike::Global(object.process, whole, BTreeSet::from([first(origin)])),
        (None, Some(origin)) => Alike::Begun(object.process, first(origin)),
        (global, None) => {
            let places = places(names, lock);
            match global {
                _ if places.is_empty() => Alike::Alone(number),
                Some(whole) => Alike::Global(object.process, whole, places),
                None => {
                    let name = names.lock(object, names.busiest(lock));
                    Alike::Taken(object.process, name, places)
                }
            }
        }
    }
}

/// The places that take a lock, without the places that take it rarely.
fn places(names: &mut Names, lock: &LockReport) -> BTreeSet<String> {
    let often = |acquisitions: u64| acquisitions > 0 && acquisitions >= lock.stats.acquisitions / RARE;
    let mut by_place: BTreeMap<String, u64> = BTreeMap::new();
    for (site, stats) in lock.stats.sites.iter().filter(|(site, _)| **site != SiteId::UNKNOWN) {
        if let Some(place) = names.site_place(lock.object.process, *site) {
            *by_place.entry(place).or_default() += stats.acquisitions;
        }
    }
    by_place.into_iter().filter(|(_, acquisitions)| often(*acquisitions)).map(|(place, _)| place).collect()
}

/// Gives names to classes and to their locks.
struct Naming<'a, 'n> {
    names: &'a mut Names<'n>,
    locks: &'a [LockReport],
    origins: &'a Origins,
    lock_names: Vec<String>,
}

impl Naming<'_, '_> {
    /// Splits locks that are alike into classes, each with its name.
    fn told_apart(&mut self, alike: &Alike, members: Vec<usize>) -> Vec<(String, Vec<usize>)> {
        let locks = self.locks;
        let waiting = |lock: usize| locks[lock].stats.blocked.0;
        let (verb, sisters) = match alike {
            Alike::Named(name) => return vec![(name.clone(), members)],
            Alike::Global(_, whole, _) if members.len() > 1 => return vec![(whole.clone(), members)],
            Alike::Global(..) | Alike::Alone(_) => return vec![(self.own(members[0]), members)],
            Alike::Begun(..) => ("from", split(self.origins, members, &waiting)),
            Alike::Taken(_, name, places) => {
                // If a function that takes the locks does more than to pass a lock on, the locks
                // are of one kind.
                if !places.iter().all(|place| passes_on(place)) {
                    return vec![(name.clone(), members)];
                }
                let sisters = split(self.origins, members, &waiting);
                if let [only] = sisters.as_slice() {
                    return vec![(name.clone(), only.locks.clone())];
                }
                ("in", sisters)
            }
        };
        let mut named = Vec::new();
        for sisters in sisters {
            let step = self.origins.get(sisters.locks[0]).and_then(|origin| origin.steps.get(sisters.named_by));
            let name = match step {
                Some(step) => format!("{verb} {}", self.place(step, &sisters.locks)),
                None => self.nameless(sisters.locks[0]),
            };
            named.push((name, sisters.locks));
        }
        named
    }

    /// The name of the place that names these locks. It has the call's address if locks of other
    /// origins have the same place, and the address tells them apart.
    fn place(&self, step: &Step, locks: &[usize]) -> String {
        let process = self.locks[locks[0]].object.process;
        let mine: BTreeSet<u32> = locks.iter().filter_map(|lock| self.origins.number(*lock)).collect();
        let by_label = self.origins.through(process, |other| step.is_named_like(other));
        let by_call = self.origins.through(process, |other| other.at == step.at);
        if by_label != mine && by_call == mine { step.exact() } else { step.label() }
    }

    /// The name of a lock whose origin has no place that could name the lock.
    fn nameless(&mut self, lock: usize) -> String {
        match self.locks[lock].object.init_site {
            Some(site) => format!("from site {}", site.0),
            None => self.own(lock),
        }
    }

    /// The name of a lock by its address, or by the place that takes it most.
    fn own(&mut self, lock: usize) -> String {
        let lock = &self.locks[lock];
        let busiest = self.names.busiest(lock);
        self.names.lock(&lock.object, busiest)
    }

    /// Adds the rows of a class to `classes`: one for each of its hot locks, and one for all
    /// others.
    fn rows(&mut self, name: &str, kind: ObjectKind, members: Vec<usize>, all: u64, classes: &mut Vec<Class>) {
        self.number(name, &members);
        let locks = self.locks;
        let hot = hot(&members, |lock| &locks[lock].stats, all);
        let row = |name: String, members: Vec<usize>| {
            let mut stats = LockStats::default();
            members.iter().for_each(|lock| stats.merge(&locks[*lock].stats));
            Class { name, kind, locks: members, stats }
        };
        for lock in &hot {
            let own = &self.lock_names[*lock];
            classes.push(row(format!("hot one of {} locks {own}", members.len()), vec![*lock]));
        }
        let others: Vec<usize> = members.into_iter().filter(|lock| !hot.contains(lock)).collect();
        let numbers = |lock: &usize| {
            let own = self.lock_names[*lock].as_str();
            own.strip_prefix(name).filter(|rest| rest.starts_with(" #")).map_or(own, str::trim_start).to_owned()
        };
        let except: Vec<String> = hot.iter().map(numbers).collect();
        let name = if hot.is_empty() { name.to_owned() } else { format!("{name} except {}", except.join(" and ")) };
        classes.push(row(name, others));
    }

    /// Names the locks of a class. A single lock has the class's name, locks in a global variable
    /// that of their place in the variable, and others a number behind the class's name.
    fn number(&mut self, name: &str, members: &[usize]) {
        if let [only] = members {
            self.lock_names[*only] = name.to_owned();
            return;
        }
        let order = self.in_order_of_birth(name, members);
        for lock in members {
            let object = &self.locks[*lock].object;
            let in_global = self.names.global(object.process, object.address, object.loaded).as_deref() == Some(name);
            let data = in_global.then(|| self.names.data(object)).flatten();
            self.lock_names[*lock] = data.unwrap_or_else(|| format!("{name} #{}", order.get(lock).unwrap_or(&0) + 1));
        }
    }

    /// The position of each lock in the order in which the locks began to exist. If the class is
    /// named after the place that initialises locks, all locks that are initialised through the
    /// place count.
    fn in_order_of_birth(&self, name: &str, members: &[usize]) -> BTreeMap<usize, usize> {
        let process = self.locks[members[0]].object.process;
        let mut all: Vec<usize> = members.to_vec();
        if let Some(place) = name.strip_prefix("from ") {
            all = self.origins.initialised_through(process, |step| step.is_called(place));
        }
        all.sort_by_key(|lock| (self.locks[*lock].object.born, self.locks[*lock].id));
        all.into_iter().enumerate().map(|(place, lock)| (lock, place)).collect()
    }
}

/// Merges classes of one name, kind and process, if the name says the place of the locks and so
/// holds for all of them.
fn merged(classes: Vec<Class>, locks: &[LockReport]) -> Vec<Class> {
    let mut out: Vec<Class> = Vec::new();
    let mut known: BTreeMap<(String, ObjectKind, ProcessIndex), usize> = BTreeMap::new();
    for class in classes {
        let Some(process) = class.locks.first().map(|lock| locks[*lock].object.process) else { continue };
        // Two locks without a name may have the same address at different times, and stay apart.
        let by_place = class.name.starts_with("from ") || class.name.starts_with("in ");
        let key = (class.name.clone(), class.kind, process);
        match known.get(&key).filter(|_| by_place) {
            Some(&at) => {
                out[at].locks.extend(&class.locks);
                out[at].stats.merge(&class.stats);
            }
            None => {
                known.insert(key, out.len());
                out.push(class);
            }
        }
    }
    out
}
