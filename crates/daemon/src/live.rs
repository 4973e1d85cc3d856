//! The threads of a run by the kernel's numbers, and inputs made from what the kernel says of them.

use crate::core::Core;
use crate::given::Given;
use crate::input::{Begins, Input};
use crate::journal::Key;
use crate::sys::affinity;
use crate::sys::proc::{self, Stat};
use crate::sys::ring::{Record, What};
use baton_sched::{AppId, ThreadId};
use baton_units::CpuId;
use std::collections::{BTreeMap, BTreeSet};

/// Searches from one that asks all processes to the next one.
const ANEW: u64 = 10;

struct Process {
    app: AppId,
    threads: u32,
}

/// The threads of a run.
#[derive(Default)]
pub(crate) struct Live {
    ids: BTreeMap<u32, ThreadId>,
    numbers: BTreeMap<ThreadId, Key>,
    processes: BTreeMap<u32, Process>,
    /// Processes that were started or attached, and of which no thread has been seen yet.
    expected: BTreeMap<u32, AppId>,
    next: u32,
    /// The thread with which the next turn begins.
    turn: u32,
    /// Threads that are left alone because of their class.
    alone: BTreeSet<Key>,
    /// Processes that were not of the run in earlier searches, and the number of searches.
    strangers: BTreeSet<u32>,
    searches: u64,
}

/// What is known of threads and CPUs when a record is read.
pub(crate) struct Known<'a> {
    pub(crate) core: &'a Core,
    pub(crate) given: &'a Given,
    /// The CPUs that are on.
    pub(crate) online: &'a [u32],
    pub(crate) now: u64,
}

/// A new thread and the user's mask of it, for the journal.
pub(crate) struct Found {
    pub(crate) id: Option<ThreadId>,
    pub(crate) key: Key,
    pub(crate) user: Vec<u32>,
    /// Whether its mask is a narrowed one.
    pub(crate) inherited: bool,
}

impl Live {
    /// Expects threads of this process, which belongs to an application.
    pub(crate) fn expect(&mut self, pid: u32, app: AppId) {
        self.expected.insert(pid, app);
    }

    /// The thread with these numbers of the kernel.
    pub(crate) fn find(&self, pid: u32, tid: u32) -> Option<ThreadId> {
        self.ids.get(&tid).copied().filter(|id| self.numbers.get(id).is_some_and(|key| key.pid == pid))
    }

    /// The thread as the kernel knows it.
    pub(crate) fn key(&self, id: ThreadId) -> Option<Key> {
        self.numbers.get(&id).copied()
    }

    /// Number of threads that are left alone because of their class.
    pub(crate) fn left_alone(&self) -> u64 {
        self.alone.len() as u64
    }

    /// All threads.
    pub(crate) fn all(&self) -> Vec<(ThreadId, Key)> {
        self.numbers.iter().map(|(&id, &key)| (id, key)).collect()
    }

    /// The next `count` threads by turns, each at most once.
    pub(crate) fn turn(&mut self, count: usize) -> Vec<(ThreadId, Key)> {
        let turn = ThreadId(self.turn);
        let threads = self.numbers.range(turn..).chain(self.numbers.range(..turn));
        let mut some: Vec<(ThreadId, Key)> =
            threads.map(|(&id, &key)| (id, key)).take(count.saturating_add(1)).collect();
        self.turn = some.get(count).map_or(self.turn, |&(id, _)| id.0);
        some.truncate(count);
        some
    }

    /// Whether no thread lives, and no expected process.
    pub(crate) fn is_empty(&self) -> bool {
        self.numbers.is_empty() && !self.expected.keys().any(|&pid| proc::lives(pid))
    }

    /// The threads of the run's processes, and their children, that have not been seen: process,
    /// thread, and the process of the creator. A process that was not of the run is asked again in every
    /// tenth search only: another one may have its number by then. Likewise the threads of a process that
    /// has as many as are known are not listed otherwise.
    pub(crate) fn unseen(&mut self) -> Vec<(u32, u32, u32)> {
        let (mut found, mut strangers) = (Vec::new(), Vec::new());
        self.searches += 1;
        let anew = self.searches.is_multiple_of(ANEW);
        let is_known = |pid, process: &Process| !anew && proc::count(pid) == Some(process.threads.into());
        for (&pid, _) in self.processes.iter().filter(|&(&pid, process)| !is_known(pid, process)) {
            let unseen = proc::threads(pid).into_iter().filter(|tid| !self.ids.contains_key(tid));
            found.extend(unseen.map(|tid| (pid, tid, pid)));
        }
        let all: BTreeSet<u32> = proc::processes().into_iter().collect();
        self.strangers.retain(|pid| !anew && all.contains(pid));
        let own = std::process::id();
        for &pid in all.difference(&self.strangers) {
            if pid == own || self.processes.contains_key(&pid) {
                continue;
            }
            match proc::Stat::of(pid, pid).map(|stat| stat.parent) {
                Some(parent) if self.processes.contains_key(&parent) => found.push((pid, pid, parent)),
                _ => strangers.push(pid),
            }
        }
        // A child of one that was found now is found in the next search.
        if found.is_empty() {
            self.strangers.extend(strangers);
        }
        found
    }

    /// Turns a record into inputs, at most two. A thread that begins is added to `found`.
    pub(crate) fn inputs(
        &mut self,
        record: &Record,
        known: &Known,
        old: bool,
        found: &mut Vec<Found>,
    ) -> [Option<Input>; 2] {
        let &Record { pid, tid, what, .. } = record;
        let id = self.ids.get(&tid).copied();
        let count = known.core.setup().cpus.count() as u32;
        let one = match (what, id) {
            // A CPU that was added to the machine since the start.
            (What::On(cpu) | What::Preempted(cpu), Some(id)) if cpu >= count => Some(Input::Sleeps(id)),
            (What::Begins { parent, creator }, _) => {
                let stat = Stat::of(pid, tid).filter(Stat::lives);
                let key = stat.as_ref().map(|stat| Key { pid, tid, start: stat.start });
                if key.is_some() && id.and_then(|id| self.key(id)) == key {
                    // It was seen in `/proc` before its record was read.
                    return [None, None];
                }
                let ends = id.map(|id| self.ends(id));
                // A thread that has ended meanwhile needs no place.
                let begins = key
                    .zip(stat)
                    .and_then(|(key, stat)| self.begins(key, stat.class, (parent, creator), known, old, found));
                return [ends, begins];
            }
            (What::Ends, Some(id)) => Some(self.ends(id)),
            (What::On(cpu), Some(id)) => Some(Input::Runs(id, CpuId(cpu))),
            (What::Preempted(cpu), Some(id)) => Some(Input::Waits(id, CpuId(cpu))),
            (What::Blocks, Some(id)) => Some(Input::Sleeps(id)),
            (_, None) => None,
        };
        [one, None]
    }

    /// Forgets a thread that has ended. Returns what the core must hear of it.
    pub(crate) fn ends(&mut self, id: ThreadId) -> Input {
        if let Some(Key { pid, tid, .. }) = self.numbers.remove(&id) {
            self.ids.remove(&tid);
            if let Some(process) = self.processes.get_mut(&pid) {
                process.threads -= 1;
                if process.threads == 0 {
                    self.processes.remove(&pid);
                }
            }
        }
        Input::Ends(id)
    }

    fn begins(
        &mut self,
        key: Key,
        class: i32,
        (parent, creator): (u32, u32),
        known: &Known,
        old: bool,
        found: &mut Vec<Found>,
    ) -> Option<Input> {
        let Key { pid, tid, .. } = key;
        let of = |process: u32| self.processes.get(&process).map(|process| process.app);
        let expected = self.expected.get(&pid).copied();
        let app = of(pid).or(expected).or_else(|| of(parent)).filter(|_| pid != std::process::id())?;
        let count = known.core.setup().cpus.count() as u32;
        // CPUs that are off are a part of it: they may come on.
        let all_on = known.online.len() as u32 >= count;
        let mask = if all_on { affinity::get(tid).ok()? } else { affinity::whole(pid, tid)? };
        let mask: Vec<u32> = mask.into_iter().filter(|&cpu| cpu < count).collect();
        if mask.is_empty() {
            return None;
        }
        let (user, inherited) = self.user_of(mask, (parent, creator), known);
        self.expected.remove(&pid);
        if !proc::is_fair(class) {
            if self.alone.insert(key) {
                found.push(Found { id: None, key, user, inherited });
            }
            return None;
        }
        let young = !old && !self.processes.contains_key(&pid);
        self.processes.entry(pid).or_insert(Process { app, threads: 0 }).threads += 1;
        let id = ThreadId(self.next);
        self.next += 1;
        self.ids.insert(tid, id);
        self.numbers.insert(id, key);
        found.push(Found { id: Some(id), key, user: user.clone(), inherited });
        Some(Input::Begins(id, Begins { app, pid, tid, cpus: user, young, inherited }))
    }

    /// The user's mask of a new thread that has this mask, and whether the thread has inherited it as a
    /// narrowed one: if the daemon gave it to the creator. `/proc` does not name the creator, so any
    /// thread of the parent may be it.
    fn user_of(&self, mask: Vec<u32>, (parent, creator): (u32, u32), known: &Known) -> (Vec<u32>, bool) {
        let creators = self.ids.get(&creator).copied();
        let others = self.numbers.iter().filter(|(_, key)| key.pid == parent).map(|(&id, _)| id);
        for id in creators.into_iter().chain(others) {
            let Some(user) = known.core.user(id) else { continue };
            // If a cpuset cut the mask or a child set it, the kernel knows no CPU in it that is off.
            let on = |mask: &[u32]| mask.iter().copied().filter(|cpu| known.online.contains(cpu)).collect::<Vec<_>>();
            if on(user) == on(&mask) {
                return (user.to_vec(), false);
            }
            if known.given.had(id, &mask, known.now) {
                return (user.to_vec(), true);
            }
        }
        (mask, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::tests::setup;
    use std::process::{Child, Command};

    struct Sleeper(Child);

    impl Sleeper {
        fn new() -> Sleeper {
            Sleeper(Command::new("sleep").arg("60").spawn().unwrap())
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            self.0.kill().and_then(|()| self.0.wait()).unwrap();
        }
    }

    struct Run {
        live: Live,
        core: Core,
        given: Given,
        online: Vec<u32>,
    }

    impl Run {
        /// The child begins, created by a process. Returns what the core hears and the journal gets.
        fn begins(&mut self, child: &Sleeper, parent: u32) -> Option<(ThreadId, Begins, Found)> {
            let (pid, what) = (child.0.id(), What::Begins { parent, creator: parent });
            let mut found = Vec::new();
            let known = Known { core: &self.core, given: &self.given, online: &self.online, now: 5 };
            let record = Record { time: 5, pid, tid: pid, what };
            let inputs = self.live.inputs(&record, &known, false, &mut found);
            inputs.iter().flatten().for_each(|input| drop(self.core.hear(5, input).unwrap()));
            match inputs.into_iter().flatten().next_back() {
                Some(Input::Begins(id, begins)) => Some((id, begins, found.pop().unwrap())),
                _ => None,
            }
        }
    }

    #[test]
    fn threads_take_turns() {
        let mut live = Live::default();
        let key = Key { pid: 1, tid: 1, start: 0 };
        live.numbers.extend([2, 5, 6, 9].map(|id| (ThreadId(id), key)));
        let mut turn = |count| live.turn(count).into_iter().map(|(id, _)| id.0).collect::<Vec<_>>();
        assert_eq!([turn(3), turn(3), turn(3)], [vec![2, 5, 6], vec![9, 2, 5], vec![6, 9, 2]]);
        assert_eq!((turn(4), turn(9), turn(0)), (vec![5, 6, 9, 2], vec![5, 6, 9, 2], vec![]));
        live.numbers.remove(&ThreadId(5));
        assert_eq!(live.turn(1), [(ThreadId(6), key)]);
    }

    /// A process that is not of the run is asked again in a later search, as its number may be another one's.
    #[test]
    fn strangers_are_asked_again() {
        let mut live = Live::default();
        let child = Sleeper::new();
        assert!(live.unseen().is_empty() && live.strangers.contains(&child.0.id()));
        // The test is the parent of the child.
        live.processes.insert(std::process::id(), Process { app: AppId(0), threads: 1 });
        let is_found = |live: &mut Live| live.unseen().iter().any(|&(pid, ..)| pid == child.0.id());
        assert!((0..ANEW).any(|_| is_found(&mut live)));
    }

    /// Threads are listed if their number is not the known one, and in every tenth search.
    #[test]
    fn threads_are_listed_only_if_their_number_differs() {
        let (mut live, child) = (Live::default(), Sleeper::new());
        let pid = child.0.id();
        let process = |threads| Process { app: AppId(0), threads };
        let mut lists = |threads| {
            live.processes.insert(pid, process(threads));
            live.unseen().contains(&(pid, pid, pid))
        };
        assert_eq!([2, 1, 0, 1].map(&mut lists), [true, false, true, false]);
        let listed = (4..2 * ANEW).filter(|_| lists(1)).count();
        assert_eq!(listed, 2);
    }

    #[test]
    fn a_mask_is_inherited_only_if_the_creator_was_given_it() {
        let user = affinity::get(0).unwrap();
        if user.len() < 2 {
            baton_needs::absent("second CPU", "a_mask_is_inherited_only_if_the_creator_was_given_it");
            return;
        }
        let kinds = vec!["slow"; user[user.len() - 1] as usize + 1].join(" ").replacen("slow", "fast", 1);
        let core = Core::new(setup("pa", &kinds, 1));
        let mut run = Run { live: Live::default(), core, given: Given::default(), online: user.clone() };
        let (parent, child) = (Sleeper::new(), Sleeper::new());
        let number = parent.0.id();
        run.live.expect(number, AppId(0));
        let (creator, begins, _) = run.begins(&parent, 0).unwrap();
        assert_eq!((&begins.cpus, begins.inherited), (&user, false));
        affinity::set(child.0.id(), &user[..1]).unwrap();
        let (id, begins, found) = run.begins(&child, number).unwrap();
        assert_eq!((&begins.cpus[..], begins.inherited, found.inherited), (&user[..1], false, false), "its own pin");
        assert!(run.begins(&child, number).is_none(), "it is known by its start time");
        let ends = run.live.ends(id);
        run.core.hear(5, &ends).unwrap();
        run.given.set(creator, Some(user[..1].to_vec()), 4);
        let (id, begins, found) = run.begins(&child, number).unwrap();
        assert_eq!((&begins.cpus, begins.inherited), (&user, true));
        assert_eq!((&found.user, found.inherited, found.id), (&user, true, Some(id)));
        // A CPU is off: the mask that the kernel shows is the user's all the same.
        let ends = run.live.ends(id);
        run.core.hear(5, &ends).unwrap();
        run.given.set(creator, None, 4);
        run.online.truncate(1);
        let (_, begins, _) = run.begins(&child, number).unwrap();
        assert_eq!((&begins.cpus, begins.inherited), (&user, false));
    }
}
