//! What threads do, from `/proc`: which can run, and where. If several threads can run on one CPU, the
//! one that has used the most CPU time since the last look is taken to run.

use crate::sys::proc::{self, Stat};
use crate::sys::ring::{Record, What};
use std::collections::{BTreeMap, BTreeSet};

/// The time between two searches for new processes.
const SEARCH_NS: u64 = 100_000_000;

/// The kernel's numbers of a process and a thread.
type Numbers = (u32, u32);

/// The threads of some processes and their children.
pub(crate) struct Poll {
    processes: BTreeSet<u32>,
    /// What each thread did at the last look, and how long it had run by then.
    threads: BTreeMap<Numbers, (Option<What>, u64)>,
    searched: u64,
}

impl Poll {
    /// Begins to look at these processes.
    pub(crate) fn begin(processes: &[u32]) -> Poll {
        Poll { processes: processes.iter().copied().collect(), threads: BTreeMap::new(), searched: 0 }
    }

    pub(super) fn look(&mut self, now: u64) -> Vec<Record> {
        let mut out = Vec::new();
        let mut record = |pid, tid, what| out.push(Record { time: now, pid, tid, what });
        let mut parents = BTreeMap::new();
        if now.saturating_sub(self.searched) >= SEARCH_NS {
            self.searched = now;
            parents = self.search();
        }
        let processes = self.processes.iter();
        let all: Vec<Numbers> =
            processes.flat_map(|&pid| proc::threads(pid).into_iter().map(move |tid| (pid, tid))).collect();
        let found = snapshot(&all, &self.threads);
        let live: BTreeSet<Numbers> = found.iter().map(|&(pid, tid, ..)| (pid, tid)).collect();
        for &(pid, tid) in &live {
            self.threads.entry((pid, tid)).or_insert_with(|| {
                let parent = if pid == tid { parents.get(&pid).copied().unwrap_or(0) } else { pid };
                record(pid, tid, What::Begins { parent, creator: parent });
                (None, 0)
            });
        }
        for &(pid, tid) in self.threads.keys().filter(|thread| !live.contains(thread)) {
            record(pid, tid, What::Ends);
        }
        self.threads.retain(|thread, _| live.contains(thread));
        self.processes.retain(|&pid| live.range((pid, 0)..=(pid, u32::MAX)).next().is_some());
        for (pid, tid, what, ran) in found {
            let before = self.threads.insert((pid, tid), (Some(what), ran));
            if before.is_none_or(|(before, _)| before != Some(what)) {
                record(pid, tid, what);
            }
        }
        out
    }

    /// Adds the children of known processes. Returns the parents of the added ones.
    fn search(&mut self) -> BTreeMap<u32, u32> {
        let (mut added, own) = (BTreeMap::new(), std::process::id());
        let stats = proc::processes().into_iter().filter_map(|pid| Some((pid, Stat::of(pid, pid)?.parent)));
        let all: Vec<(u32, u32)> = stats.collect();
        loop {
            let is_new = |&&(pid, parent): &&(u32, u32)| {
                self.processes.contains(&parent) && !self.processes.contains(&pid) && pid != own
            };
            let new: Vec<(u32, u32)> = all.iter().filter(is_new).copied().collect();
            if new.is_empty() {
                return added;
            }
            self.processes.extend(new.iter().map(|&(pid, _)| pid));
            added.extend(new);
        }
    }
}

/// What each of these threads does now, and for how long it has run; ended ones are left out.
/// `before` has how long each had run at the last look.
pub(crate) fn snapshot(
    threads: &[Numbers],
    before: &BTreeMap<Numbers, (Option<What>, u64)>,
) -> Vec<(u32, u32, What, u64)> {
    let mut out = Vec::new();
    // By CPU: the thread that is taken to run, and its time since the last look.
    let mut runs: BTreeMap<u32, (Numbers, (u64, bool))> = BTreeMap::new();
    let mut can_run = Vec::new();
    for &(pid, tid) in threads {
        let Some(stat) = Stat::of(pid, tid).filter(Stat::lives) else { continue };
        let ran = proc::ran_ns(pid, tid).unwrap_or(0);
        if stat.state != 'R' {
            out.push((pid, tid, What::Blocks, ran));
            continue;
        }
        let last = before.get(&(pid, tid)).copied().unwrap_or((None, 0));
        let more = (ran.saturating_sub(last.1), last.0 == Some(What::On(stat.cpu)));
        let best = runs.entry(stat.cpu).or_insert(((pid, tid), more));
        if more > best.1 {
            *best = ((pid, tid), more);
        }
        can_run.push((pid, tid, stat.cpu, ran));
    }
    // Waiting threads come first, so that a CPU is free before the next thread has it.
    let is_on = |pid, tid, cpu: u32| runs.get(&cpu).is_some_and(|(on, _)| *on == (pid, tid));
    let (on, wait): (Vec<_>, Vec<_>) = can_run.into_iter().partition(|&(pid, tid, cpu, _)| is_on(pid, tid, cpu));
    out.extend(wait.into_iter().map(|(pid, tid, cpu, ran)| (pid, tid, What::Preempted(cpu), ran)));
    out.extend(on.into_iter().map(|(pid, tid, cpu, ran)| (pid, tid, What::On(cpu), ran)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::{Duration, Instant};

    fn until(poll: &mut Poll, is_enough: impl Fn(&[Record]) -> bool) -> Vec<Record> {
        let (start, mut all) = (Instant::now(), Vec::new());
        while !is_enough(&all) {
            assert!(start.elapsed() < Duration::from_secs(20), "{all:?}");
            all.extend(poll.look(crate::sys::now()));
            std::thread::sleep(Duration::from_millis(2));
        }
        all
    }

    #[test]
    fn processes_and_their_children_are_seen() {
        let mut shell = Command::new("sh").args(["-c", "sleep 0.3; exit"]).spawn().unwrap();
        let id = shell.id();
        let mut poll = Poll::begin(&[id]);
        let child = |record: &Record| record.pid != id;
        until(&mut poll, |all| all.iter().any(child));
        // The shell is a zombie then, and counts as ended.
        let all = until(&mut poll, |all| all.iter().any(|record| record.tid == id && record.what == What::Ends));
        assert!(all.iter().any(|record| child(record) && record.what == What::Ends), "{all:?}");
        shell.wait().unwrap();
        assert!(poll.look(crate::sys::now()).is_empty());
    }

    #[test]
    fn a_busy_thread_runs_and_a_sleeper_blocks() {
        let (stop, me) = (std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)), std::process::id());
        let seen = stop.clone();
        let (told, tid) = std::sync::mpsc::channel();
        let busy = std::thread::spawn(move || {
            told.send(proc::own_tid()).unwrap();
            while !seen.load(std::sync::atomic::Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let (busy_tid, own) = (tid.recv().unwrap(), proc::own_tid());
        let mut poll = Poll::begin(&[me]);
        let all = until(&mut poll, |all| {
            all.iter().any(|record| record.tid == busy_tid && matches!(record.what, What::On(_)))
        });
        // This thread looks at itself, and so runs or waits for a CPU.
        let sleeps = all.iter().any(|record| record.tid == own && record.what == What::Blocks);
        assert!(!sleeps, "{all:?}");
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        busy.join().unwrap();
    }
}
