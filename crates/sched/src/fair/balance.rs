//! Balancing while all CPUs are busy, so that threads in long queues are not permanently worse off.
//!
//! Every `balance_interval`, three things happen. First, a queue is brought forward if its least
//! run time is far behind the greatest one of a busy queue: old debts are forgiven. Second,
//! while one queue is heavier than another that may have one of its threads, by at least twice the
//! thread's weight, the thread moves, as in Linux (`detach_tasks`, `kernel/sched/fair.c`). Third,
//! where queues differ by less, threads of the lighter queues advance faster. If the least run time
//! of such a queue is then more than a slice ahead of a thread in a heavier one, the thread that is
//! furthest behind moves over and runs there first. Linux has no such rule; it moves threads that
//! weigh too much after balancing has failed several times.
//!
//! A thread that moves keeps its run time, by which it is compared with all others. So all threads
//! stay within some slices of each other, whatever their number and weights, unless one is entitled
//! to more than a CPU.

use super::{Fair, Queue, ThreadState};
use crate::{Decision, ThreadId};
use baton_units::CpuId;

/// Debts of more slices than this are forgiven.
const FORGIVEN_AFTER: u64 = 16;

impl Fair {
    /// Balances if it is time. Moves at most as many threads as there are CPUs.
    pub(super) fn balance_if_due(&mut self, now: u64, out: &mut Vec<Decision>) {
        let interval = self.params.balance_interval.0;
        if interval == 0 || now < self.balance_at {
            return;
        }
        self.balance_at = now + interval;
        self.forgive(now);
        let began = self.order;
        for _ in 0..self.cpus.count() {
            if !self.move_one(now, began, out) {
                break;
            }
        }
    }

    /// Brings forward queues that are behind the foremost one by more than [`FORGIVEN_AFTER`]
    /// slices.
    fn forgive(&mut self, now: u64) {
        let leasts: Vec<u64> = self.cpus.ids().map(|cpu| self.least(cpu, now)).collect();
        let busy = self.queues.iter().zip(&leasts).filter(|(queue, _)| queue.current.is_some());
        let foremost = busy.map(|(_, &least)| least).max().unwrap_or(0);
        let behind = foremost.saturating_sub(FORGIVEN_AFTER * self.params.time_slice.0);
        for (cpu, least) in self.cpus.ids().zip(leasts) {
            if least < behind {
                let queue = &mut self.queues[cpu.0 as usize];
                queue.least = behind;
                let members: Vec<ThreadId> = queue.ready.iter().chain(&queue.current).copied().collect();
                for id in members {
                    self.thread_mut(id).run_time += behind - least;
                }
            }
        }
    }

    /// Moves one thread from a heavy queue to a light one. Returns whether there was one to move.
    fn move_one(&mut self, now: u64, began: u64, out: &mut Vec<Decision>) -> bool {
        let Some((id, to)) = self.best_move(now, began) else { return false };
        let from = self.thread(id).cpu;
        self.queue(from).ready.retain(|&other| other != id);
        // The thread keeps its run time. Levelled with its new neighbours, it would lose what it is
        // owed, or owes.
        let thread = self.thread_mut(id);
        (thread.cpu, thread.state) = (to, ThreadState::Blocked);
        self.arrive(id, now, out);
        true
    }

    /// Returns the thread to move, and its new CPU, among the threads that were queued when
    /// balancing began. The move that evens out the weights most comes first, then the thread that
    /// is furthest behind.
    fn best_move(&mut self, now: u64, began: u64) -> Option<(ThreadId, CpuId)> {
        let slice = self.params.time_slice.0;
        let leasts: Vec<u64> = self.cpus.ids().map(|cpu| self.least(cpu, now)).collect();
        let load = |queue: &Queue| {
            queue.ready.iter().chain(&queue.current).map(|&id| self.thread(id).nice.weight()).sum::<u64>()
        };
        let loads: Vec<u64> = self.queues.iter().map(load).collect();
        let mut best: Option<((u64, u64), ThreadId, CpuId)> = None;
        for from in self.cpus.ids() {
            // No thread moves twice.
            let ready = self.queues[from.0 as usize].ready.iter().filter(|&&id| self.thread(id).order <= began);
            for &id in ready {
                let thread = self.thread(id);
                for to in self.cpus.ids().filter(|&cpu| cpu != from && self.may_have(cpu, id)) {
                    let more = loads[from.0 as usize].saturating_sub(loads[to.0 as usize]);
                    let debt = leasts[to.0 as usize].saturating_sub(thread.run_time);
                    let score = match more {
                        _ if more >= 2 * thread.nice.weight() => (more, debt),
                        1.. if debt > slice => (0, debt),
                        _ => continue,
                    };
                    if best.as_ref().is_none_or(|(most, ..)| score > *most) {
                        best = Some((score, id, to));
                    }
                }
            }
        }
        best.map(|(_, id, to)| (id, to))
    }
}
