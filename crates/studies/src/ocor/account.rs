//! Accounts for blocked time to the cycle, in three ways that share nothing.
//!
//! For one wait of one thread, from its request to the moment at which its lock word says that it holds the lock: blocked
//! time (BT) is all of it, critical sections (CS) the part in which others held the lock, competition overhead (COH) the
//! part in which no thread did (Yao and Lu, equation 1). A critical section ends when the release is visible to all cores.
//!
//! - **By difference**: BT of every wait less the critical sections within it.
//! - **By hand-offs**: one walk over each lock's moments in order; a cycle in which the lock is free counts for each waiter.
//! - **By causes**: what each waiter itself did in each cycle in which its lock was free, as the engine charged it. Every
//!   reason has a cause; no cycle is left over.

use baton_chip::{LockLog, MEMORY_PARTS, Reason, Stretch, WordChange};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a waiter does while its lock is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// The waiter is between two tries, or its try hits in its own cache.
    SpinInterval,
    /// A message of the waiter's try travels, without the time for which it queues.
    Network,
    /// A home, another cache or memory serves the waiter's request.
    Home,
    /// The waiter's request waits behind other packets in routers, or in front of the home.
    QueueingInNetwork,
    /// The waiter's request waits behind other requests at the home.
    QueueingAtHome,
    /// The waiter is in the system call that puts it to sleep.
    SleepPreparation,
    /// The waiter sleeps, or has been woken and does not run yet.
    WakeUp,
}

/// Every cause, in the order of their numbers.
pub const CAUSES: [Cause; 7] = [
    Cause::SpinInterval,
    Cause::Network,
    Cause::Home,
    Cause::QueueingInNetwork,
    Cause::QueueingAtHome,
    Cause::SleepPreparation,
    Cause::WakeUp,
];

impl Cause {
    /// The name of the cause in results.
    pub fn name(self) -> &'static str {
        match self {
            Cause::SpinInterval => "spin interval",
            Cause::Network => "network",
            Cause::Home => "home",
            Cause::QueueingInNetwork => "queueing in the network",
            Cause::QueueingAtHome => "queueing at the home",
            Cause::SleepPreparation => "sleep preparation",
            Cause::WakeUp => "wake-up",
        }
    }

    /// The cause of a part of a request's time; `None` for a part that this account does not know.
    fn of_part(name: &str) -> Option<Cause> {
        match name {
            "network" => Some(Cause::Network),
            "network_queueing" => Some(Cause::QueueingInNetwork),
            "home_queueing" => Some(Cause::QueueingAtHome),
            // Reads that hit in the waiter's cache, and the atomic operation itself.
            "l1" | "atomic" => Some(Cause::SpinInterval),
            // The home, a cache or memory serves the line.
            "home" | "memory" | "remote_cache" | "l2" => Some(Cause::Home),
            _ => None,
        }
    }

    /// The cause of waiting that is not for memory; `None` for a reason that this account does not
    /// know, or that no waiter for a lock has.
    fn of(reason: Reason) -> Option<Cause> {
        match reason.name() {
            // The waiter pauses between tries, writes registers, waits at a monitor, changes its
            // mode, or flushes its pipeline when the spinning ends.
            "computing" | "spinning" | "monitor_wait" | "mode_change" | "flush" => Some(Cause::SpinInterval),
            // The waiter's own earlier stores are on their way.
            "store_buffer" => Some(Cause::Network),
            "kernel" => Some(Cause::SleepPreparation),
            "asleep" | "ready" | "switch" | "waking" => Some(Cause::WakeUp),
            _ => None,
        }
    }
}

/// A thread's requests and acquisitions are paired in their order; `requests[thread]` are the times of its requests.
pub type Requests = Vec<Vec<u64>>;

/// The account of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Acquisitions.
    pub acquisitions: u64,
    /// Acquisitions by threads that did not enter the kernel to sleep.
    pub entered_spinning: u64,
    /// Thread-cycles in critical sections.
    pub sections: u64,
    /// Thread-cycles blocked.
    pub blocked: u64,
    /// The part of the blocked thread-cycles during critical sections of other threads.
    pub in_sections: u64,
    /// Competition overhead by difference.
    pub overhead: u64,
    /// Competition overhead by hand-offs.
    pub by_hand_offs: u64,
    /// Competition overhead by causes, in the order of [`CAUSES`].
    pub by_cause: [u64; CAUSES.len()],
    /// The longest wait.
    pub longest_wait: u64,
}

impl Account {
    /// The greatest difference between the three figures of overhead, in cycles. It is 0 unless
    /// some cycles are not accounted for.
    pub fn residual(&self) -> u64 {
        let causes: u64 = self.by_cause.iter().sum();
        self.overhead.abs_diff(self.by_hand_offs).max(self.overhead.abs_diff(causes))
    }

    /// A cause's share of the overhead, in percent.
    pub(super) fn share(&self, cause: Cause) -> f64 {
        100.0 * self.by_cause[cause as usize] as f64 / self.overhead.max(1) as f64
    }

    /// Computes the account of a run from its log and the times of its threads' requests.
    pub fn of(log: &LockLog, requests: &Requests) -> Result<Account, String> {
        let mut words: BTreeMap<u64, Vec<WordChange>> = BTreeMap::new();
        for change in &log.changes {
            words.entry(change.word).or_default().push(*change);
        }
        let mut account = Account::default();
        let mut next = vec![0usize; requests.len()];
        // The waits at each lock, by the address of the lock's word, in the order in which they
        // ended.
        let mut waits: BTreeMap<u64, Vec<Wait>> = BTreeMap::new();
        for change in log.changes.iter().filter(|change| change.from == 0) {
            let thread = change.thread as usize;
            let nth = next.get_mut(thread).ok_or_else(|| format!("thread {thread} has no requests"))?;
            let from =
                *requests[thread].get(*nth).ok_or_else(|| format!("thread {thread} took more than it asked for"))?;
            *nth += 1;
            if from > change.at.0 {
                return Err(format!(
                    "thread {thread} had its lock at {} before it asked for it at {from}",
                    change.at.0
                ));
            }
            waits.entry(change.word).or_default().push(Wait { thread, from, to: change.at.0 });
        }
        for (word, changes) in &words {
            let held = holders(changes)?;
            let mine = waits.get(word).map_or(&[][..], Vec::as_slice);
            account.add(&held, mine, log)?;
        }
        Ok(account)
    }

    fn add(&mut self, held: &[(u64, u64)], waits: &[Wait], log: &LockLog) -> Result<(), String> {
        self.sections += held.iter().map(|(from, to)| to - from).sum::<u64>();
        self.by_hand_offs += by_hand_offs(held, waits);
        let free = Free::between(held);
        for wait in waits {
            let blocked = wait.to - wait.from;
            let in_sections = within(held, wait.from, wait.to);
            self.acquisitions += 1;
            self.blocked += blocked;
            self.in_sections += in_sections;
            self.overhead += blocked - in_sections;
            self.longest_wait = self.longest_wait.max(blocked);
            let mut slept = false;
            for stretch in stretches(&log.waits[wait.thread], wait) {
                slept |= stretch.reason == Reason::Kernel;
                let (from, to) = (stretch.from.0.max(wait.from), stretch.to.0.min(wait.to));
                share_out(stretch, free.within(from, to), &mut self.by_cause)?;
            }
            self.entered_spinning += u64::from(!slept);
        }
        Ok(())
    }
}

/// A wait that ended with an acquisition.
#[derive(Clone, Copy, Debug)]
struct Wait {
    thread: usize,
    from: u64,
    to: u64,
}

/// Turns the changes of a lock's word into the intervals in which a thread held the lock.
fn holders(changes: &[WordChange]) -> Result<Vec<(u64, u64)>, String> {
    let mut held = Vec::new();
    let mut since: Option<&WordChange> = None;
    for change in changes {
        match (change.from, change.to, since) {
            (0, _, None) => since = Some(change),
            (_, 0, Some(taken)) if taken.thread == change.thread => {
                held.push((taken.at.0, change.at.0));
                since = None;
            }
            // A waiter marks the word of a held lock: there are sleepers.
            (from, to, Some(_)) if from != 0 && to != 0 => {}
            _ => {
                return Err(format!(
                    "thread {} changed a lock word from {} to {}",
                    change.thread, change.from, change.to
                ));
            }
        }
    }
    match since {
        None => Ok(held),
        Some(taken) => Err(format!("thread {} did not release its lock", taken.thread)),
    }
}

/// The number of cycles between `from` and `to` that lie in `intervals`, which are in order and
/// apart.
pub(super) fn within(intervals: &[(u64, u64)], from: u64, to: u64) -> u64 {
    let first = intervals.partition_point(|interval| interval.1 <= from);
    intervals[first..].iter().take_while(|i| i.0 < to).map(|i| i.1.min(to) - i.0.max(from)).sum()
}

/// The stretches of a thread's time that overlap with one of its waits.
fn stretches<'a>(all: &'a [Stretch], wait: &Wait) -> impl Iterator<Item = &'a Stretch> {
    let first = all.partition_point(|stretch| stretch.to.0 <= wait.from);
    let to = wait.to;
    all[first..].iter().take_while(move |stretch| stretch.from.0 < to)
}

/// The intervals in which no thread holds the lock.
struct Free(Vec<(u64, u64)>);

impl Free {
    fn between(held: &[(u64, u64)]) -> Free {
        let ends = std::iter::once(0).chain(held.iter().map(|h| h.1));
        let starts = held.iter().map(|h| h.0).chain(std::iter::once(u64::MAX));
        Free(ends.zip(starts).filter(|(from, to)| from < to).collect())
    }

    fn within(&self, from: u64, to: u64) -> u64 {
        within(&self.0, from, to)
    }
}

/// Adds `cycles` of a stretch to their causes. The order of causes within a request is not
/// recorded, so each cause gets its proportional share, and the largest one what rounding leaves.
fn share_out(stretch: &Stretch, cycles: u64, by_cause: &mut [u64; CAUSES.len()]) -> Result<(), String> {
    let unknown = |what: &str| format!("waiting for a lock went to `{what}`, which has no cause in the account");
    if stretch.reason != Reason::Memory {
        let cause = Cause::of(stretch.reason).ok_or_else(|| unknown(stretch.reason.name()))?;
        by_cause[cause as usize] += cycles;
        return Ok(());
    }
    let whole = stretch.to.0 - stretch.from.0;
    let mut own = [0u64; CAUSES.len()];
    for (part, name) in stretch.parts.iter().zip(MEMORY_PARTS) {
        if *part != 0 {
            own[Cause::of_part(name).ok_or_else(|| unknown(name))? as usize] += u64::from(*part);
        }
    }
    // Cycles of the request that no part names were hits.
    let named: u64 = own.iter().sum();
    own[Cause::SpinInterval as usize] += whole.saturating_sub(named);
    let sum: u64 = own.iter().sum();
    let mut left = cycles;
    for (own, cause) in own.iter().zip(by_cause.iter_mut()) {
        let share = (u128::from(cycles) * u128::from(*own) / u128::from(sum.max(1))) as u64;
        *cause += share;
        left -= share;
    }
    let largest = own.iter().enumerate().max_by_key(|(_, own)| **own).map_or(0, |(i, _)| i);
    by_cause[largest] += left;
    Ok(())
}

/// The overhead of the waits at one lock, by one walk over its moments in order: each cycle in
/// which the lock is free counts once for each waiter.
fn by_hand_offs(held: &[(u64, u64)], waits: &[Wait]) -> u64 {
    let mut moments: Vec<(u64, i64, i64)> = Vec::new();
    for (from, to) in held {
        moments.extend([(*from, 0, 1), (*to, 0, -1)]);
    }
    for wait in waits {
        moments.extend([(wait.from, 1, 0), (wait.to, -1, 0)]);
    }
    moments.sort_unstable();
    let (mut waiting, mut holding, mut at, mut sum) = (0i64, 0i64, 0u64, 0u64);
    for (time, waiters, holders) in moments {
        if holding == 0 {
            sum += (time - at) * waiting.max(0) as u64;
        }
        (waiting, holding, at) = (waiting + waiters, holding + holders, time);
    }
    sum
}

#[cfg(test)]
#[path = "account_tests.rs"]
mod tests;
