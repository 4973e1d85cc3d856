//! The processes of a server: the one that was started, the processes that it started, and
//! processes whose own parents have ended, as happens when a server goes into the background.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// The interval at which processes that should end are looked at.
const LOOK: Duration = Duration::from_millis(10);

/// A process as /proc describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    /// Whether the process has ended without its parent having taken its status.
    ended: bool,
}

/// Makes processes whose parents have ended children of this process, so that they can be found and
/// ended. This holds until this process ends.
pub fn adopt_orphans() {
    // SAFETY: changes a setting of this process; the call gets no pointer.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// The descendants of this process that have not ended, without the processes of the groups
/// `without` and their descendants.
pub fn descendants(without: &[u32]) -> BTreeSet<u32> {
    living(&all(), std::process::id() as i32, without)
}

fn living(all: &[Process], root: i32, without: &[u32]) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for process in all.iter().filter(|process| process.parent == parent && process.pid != root) {
            if without.contains(&(process.group as u32)) {
                continue;
            }
            parents.push(process.pid);
            if !process.ended {
                found.insert(process.pid as u32);
            }
        }
    }
    found
}

fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter_map(process).collect()
}

fn process(pid: i32) -> Option<Process> {
    read(pid, &std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?)
}

fn read(pid: i32, stat: &str) -> Option<Process> {
    // The process's name stands in parentheses, and may itself have parentheses and blanks.
    let mut words = stat.rsplit_once(')')?.1.split_whitespace();
    let state = words.next()?;
    let mut number = || words.next()?.parse().ok();
    Some(Process { pid, parent: number()?, group: number()?, ended: matches!(state, "Z" | "X") })
}

/// Sends a signal to processes.
pub fn signal(processes: impl IntoIterator<Item = u32>, signal: i32) {
    for pid in processes {
        // SAFETY: the call takes numbers only; a process that has ended ignores the signal.
        unsafe { libc::kill(pid as i32, signal) };
    }
}

/// Sends a signal to the processes of a group.
pub fn signal_group(group: u32, signal: i32) {
    // SAFETY: the call takes numbers only; for a group without a process it fails and does nothing.
    unsafe { libc::kill(-(group as i32), signal) };
}

/// Whether a group has a process that has not ended.
pub fn has_group(group: u32) -> bool {
    all().iter().any(|process| process.group as u32 == group && !process.ended)
}

/// Waits until `left` returns no process any more. Returns false if that takes longer than `limit`.
/// Meanwhile takes the status of this process's children that have ended, but not of those in
/// `known`, for which the caller waits itself.
pub fn are_gone(left: impl Fn() -> BTreeSet<u32>, known: &[u32], limit: Duration) -> bool {
    let start = Instant::now();
    loop {
        bury(known);
        if left().is_empty() {
            return true;
        }
        if start.elapsed() >= limit {
            return false;
        }
        std::thread::sleep(LOOK);
    }
}

/// Takes the status of every child of this process (its own or adopted) that has ended, except for
/// those in `known`.
pub fn bury(known: &[u32]) {
    let me = std::process::id() as i32;
    for process in all().into_iter().filter(|process| process.ended && process.parent == me) {
        if !known.contains(&(process.pid as u32)) {
            // SAFETY: the process is a child of this one and has ended; a null pointer is allowed,
            // as its status is not wanted.
            unsafe { libc::waitpid(process.pid, std::ptr::null_mut(), libc::WNOHANG) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_without_a_group_and_the_dead() {
        let process = |pid, parent, group, ended| Process { pid, parent, group, ended };
        let all = [
            process(10, 1, 10, false),
            process(11, 10, 11, false),
            process(12, 11, 12, false),
            process(13, 11, 11, true),
            process(14, 10, 20, false),
            process(15, 14, 15, false),
            process(16, 1, 11, false),
        ];
        assert_eq!(living(&all, 10, &[20]), BTreeSet::from([11, 12]));
        assert_eq!(living(&all, 10, &[]), BTreeSet::from([11, 12, 14, 15]));
    }

    #[test]
    fn a_name_with_brackets_and_blanks_is_read_over() {
        let stat = "7 (a) b (c)) S 3 5 5 0 -1";
        assert_eq!(read(7, stat), Some(Process { pid: 7, parent: 3, group: 5, ended: false }));
        assert!(read(7, "7 (a) Z 3 5").unwrap().ended);
        assert_eq!(read(7, "7 a S 3 5"), None);
    }
}
