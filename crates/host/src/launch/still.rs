//! Tells how long no thread of a running program has run, by the kernel's account.
//!
//! The kernel counts for each thread the time on a CPU and how often the thread got one. If neither
//! changes for any thread, and no thread begins or ends, nothing has run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A program that is looked at now and then: its threads, and those of all processes that it
/// started.
pub struct Stillness {
    root: u32,
    seen: BTreeMap<(u32, u32), ThreadTime>,
    /// The time since which nothing has run: that of the last look that saw a change or a runnable
    /// thread.
    since: Instant,
    /// How long the last look took.
    cost: Duration,
}

/// A thread's account: how long it has run, in nanoseconds, and how often it got a CPU. Where the
/// kernel keeps no account: the time in clock ticks, and 0.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ThreadTime {
    ran: u64,
    turns: u64,
}

/// What a look at the program has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// How long no thread has run or been ready to run.
    pub still: Duration,
    /// The kernel's numbers of the program's own threads.
    pub threads: Vec<u32>,
    /// Whether the kernel still lists processes that the program started.
    pub has_children: bool,
}

impl Stillness {
    /// Begins to look at the program with this process number.
    pub fn of(root: u32) -> Stillness {
        Stillness { root, seen: BTreeMap::new(), since: Instant::now(), cost: Duration::ZERO }
    }

    /// Looks at all threads of the program and of the processes that it started. Returns `None` if
    /// there is none any more.
    pub fn look(&mut self) -> Option<Look> {
        let now = Instant::now();
        let processes = family(self.root);
        let mut runs = BTreeMap::new();
        let mut runnable = false;
        for process in &processes {
            for thread in threads_of(*process) {
                let at = task(*process, thread);
                let Some((state, ticks)) = stat(&at) else { continue };
                runnable |= state == b'R';
                runs.insert((*process, thread), account(&at).unwrap_or(ThreadTime { ran: ticks, turns: 0 }));
            }
        }
        if runs.is_empty() {
            return None;
        }
        if runnable || runs != self.seen {
            self.since = now;
        }
        let threads = runs.keys().filter(|(process, _)| *process == self.root).map(|(_, thread)| *thread).collect();
        self.seen = runs;
        self.cost = now.elapsed();
        Some(Look { still: now - self.since, threads, has_children: processes.len() > 1 })
    }

    /// How long the last look took.
    pub fn cost(&self) -> Duration {
        self.cost
    }
}

/// The signals for which a process has handlers, as the kernel tells: bit 0 stands for signal 1. 0 if the
/// kernel does not tell.
pub fn handlers(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// The name of the kernel's function in which a thread sleeps, if the kernel tells.
pub fn sleeps_in(process: u32, thread: u32) -> Option<String> {
    let name = std::fs::read_to_string(task(process, thread).join("wchan")).ok()?;
    (!name.is_empty() && name != "0").then_some(name)
}

fn task(process: u32, thread: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{process}/task/{thread}"))
}

fn threads_of(process: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// The process and all that it started, as far as the kernel tells.
pub(super) fn family(root: u32) -> Vec<u32> {
    let mut all = vec![root];
    let mut at = 0;
    while let Some(&process) = all.get(at) {
        at += 1;
        for thread in threads_of(process) {
            let children = std::fs::read_to_string(task(process, thread).join("children")).unwrap_or_default();
            let new: Vec<u32> = children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
            all.extend(new.into_iter().filter(|pid| *pid != 0));
        }
    }
    all
}

/// The state of a thread, and its time on a CPU in the kernel's clock ticks.
fn stat(task: &Path) -> Option<(u8, u64)> {
    let text = std::fs::read(task.join("stat")).ok()?;
    // The thread's name stands in parentheses, and may contain anything.
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let fields: Vec<&str> = std::str::from_utf8(text.get(end + 2..)?).ok()?.split(' ').collect();
    let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    Some((*fields.first()?.as_bytes().first()?, number(11) + number(12)))
}

/// The scheduler's account of a thread, which is finer than the clock ticks; `None` where the kernel
/// keeps none.
fn account(task: &Path) -> Option<ThreadTime> {
    let text = std::fs::read_to_string(task.join("schedstat")).ok()?;
    let mut numbers = text.split_whitespace().map(|field| field.parse::<u64>().ok());
    let (ran, _, turns) = (numbers.next()??, numbers.next()??, numbers.next()??);
    Some(ThreadTime { ran, turns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    fn shell(script: &str) -> Child {
        Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn().expect("a shell")
    }

    /// Looks at the child for a second, then kills it. Returns the longest time in which it stood
    /// still.
    fn longest(child: &mut Child) -> Duration {
        let mut still = Stillness::of(child.id());
        let mut longest = Duration::ZERO;
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(1) {
            longest = longest.max(still.look().expect("it runs").still);
            std::thread::sleep(Duration::from_millis(20));
        }
        child.kill().and_then(|()| child.wait()).expect("it can be killed");
        longest
    }

    #[test]
    fn a_sleeper_is_still_and_a_worker_or_its_parent_is_not() {
        assert!(longest(&mut shell("exec sleep 60")) > Duration::from_millis(500));
        assert!(longest(&mut shell("while :; do :; done")) < Duration::from_millis(400));
        // The shell waits for a child that works. The child ends when the shell is killed, because
        // it looks for its parent.
        let worker = "sh -c 'n=0; while [ -e /proc/$PPID ] && [ $n -lt 900000 ]; do n=$((n+1)); done' & wait";
        assert!(longest(&mut shell(worker)) < Duration::from_millis(400));
    }

    #[test]
    fn the_threads_of_this_process_are_known_and_a_dead_one_has_none() {
        let look = Stillness::of(std::process::id()).look().expect("this process runs");
        assert!(look.threads.contains(&std::process::id()) && !look.threads.is_empty());
        let mut child = shell("exit 0");
        child.wait().expect("it ends");
        assert_eq!(Stillness::of(child.id()).look(), None);
    }
}
