//! Threads as members of the class `SCHED_EXT`, and their way back.
//!
//! A scheduler that does not take all threads takes those of this class. A thread inherits the class
//! from its creator. Without a scheduler in the kernel, the class is like `SCHED_OTHER`.

use std::collections::BTreeSet;
use std::fs;

/// `SCHED_EXT` of `include/uapi/linux/sched.h`.
const SCHED_EXT: i32 = 7;

/// The threads that this program has made members.
pub(crate) struct Members {
    /// Threads that were members before. They stay members.
    before: BTreeSet<u32>,
    /// Whether a thread was made a member.
    joined: bool,
}

impl Members {
    /// Notes which threads are members already.
    pub(crate) fn begin() -> Members {
        Members { before: all_members().into_iter().collect(), joined: false }
    }

    /// Makes the thread a member if its class is the ordinary one.
    pub(crate) fn join(&mut self, tid: u32) {
        if policy(tid) == Some(libc::SCHED_OTHER) {
            self.joined |= set(tid, SCHED_EXT);
        }
    }

    /// Gives threads their ordinary class back: those that were made members, and their children. A
    /// thread that begins meanwhile may have inherited the class, so it looks again until none is left.
    pub(crate) fn leave(&self) {
        if !self.joined {
            return;
        }
        for _ in 0..10 {
            let ours = all_members().into_iter().filter(|tid| !self.before.contains(tid));
            if ours.map(|tid| set(tid, libc::SCHED_OTHER)).filter(|&changed| changed).count() == 0 {
                return;
            }
        }
    }
}

/// All threads of the class.
fn all_members() -> Vec<u32> {
    let numbers = |path: &str| -> Vec<u32> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    };
    let threads = numbers("/proc").into_iter().flat_map(|pid| numbers(&format!("/proc/{pid}/task")));
    threads.filter(|&tid| policy(tid) == Some(SCHED_EXT)).collect()
}

/// The class of a thread, if it lives.
fn policy(tid: u32) -> Option<i32> {
    // SAFETY: the call reads no memory of this process.
    let policy = unsafe { libc::sched_getscheduler(tid as i32) };
    (policy >= 0).then_some(policy)
}

fn set(tid: u32, policy: i32) -> bool {
    let none = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads one structure, a local variable.
    unsafe { libc::sched_setscheduler(tid as i32, policy, &raw const none) == 0 }
}
