//! Balancing while all CPUs are busy, so that threads that wait in long queues are not worse off for ever.
//!
//! Every `balance_interval` three things happen. A queue whose least run time has fallen far behind the others' is
//! brought forward: old debts are forgiven. While one queue is heavier than one that may have its thread by twice what the thread
//! weighs, or more, the thread moves. Where queues differ by less, threads of the lighter one get on faster: as soon as its
//! least run time is a slice ahead of the heavier one's, the thread that is furthest behind moves over and keeps its debt, so it
//! runs there first. That keeps all threads within some slices of each other, whatever their number.

use super::{Fair, State};
use crate::{Decision, ThreadId};
use baton_units::CpuId;

/// Debts of more slices than this are forgiven.
const FORGIVEN_AFTER: u64 = 16;

impl Fair {
    /// Balances if it is time. At most one thread for each CPU moves.
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

    /// Queues that are behind the foremost by more than [`FORGIVEN_AFTER`] slices are brought forward as a whole.
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

    /// Moves one thread from a long queue to a short one; whether there was one to move.
    fn move_one(&mut self, now: u64, began: u64, out: &mut Vec<Decision>) -> bool {
        let Some((id, to, keeps_debt)) = self.best_move(now, began) else { return false };
        let from = self.thread(id).cpu;
        self.queue(from).ready.retain(|&other| other != id);
        if keeps_debt {
            self.thread_mut(id).cpu = to;
        } else {
            self.settle(id, to, now);
        }
        self.thread_mut(id).state = State::Blocked;
        self.arrive(id, now, out);
        true
    }

    /// The thread to move, of those that were queued when balancing began, where to, and whether its run time stays as it is.
    fn best_move(&mut self, now: u64, began: u64) -> Option<(ThreadId, CpuId, bool)> {
        let slice = self.params.time_slice.0;
        let leasts: Vec<u64> = self.cpus.ids().map(|cpu| self.least(cpu, now)).collect();
        let load = |cpu: CpuId| {
            let queue = &self.queues[cpu.0 as usize];
            queue.ready.iter().chain(&queue.current).map(|&id| self.thread(id).nice.weight()).sum::<u64>()
        };
        let mut best: Option<((u64, u64), ThreadId, CpuId, bool)> = None;
        for from in self.cpus.ids() {
            // Nobody moves twice.
            let ready = self.queues[from.0 as usize].ready.iter().filter(|&&id| self.thread(id).order <= began);
            for &id in ready {
                let may = self.cpus.ids().filter(|&cpu| cpu != from && self.may_have(cpu, id));
                // Of the lightest queues the one that got furthest.
                let short = may.min_by_key(|&cpu| (load(cpu), std::cmp::Reverse(leasts[cpu.0 as usize])));
                let Some(to) = short else { continue };
                let more = load(from).saturating_sub(load(to));
                let debt = leasts[to.0 as usize].saturating_sub(self.thread(id).run_time);
                let evens = more >= 2 * self.thread(id).nice.weight();
                let moves = evens || more != 0 && debt > slice;
                if moves && best.as_ref().is_none_or(|(most, ..)| (more, debt) > *most) {
                    best = Some(((more, debt), id, to, !evens));
                }
            }
        }
        best.map(|(_, id, to, keeps_debt)| (id, to, keeps_debt))
    }
}
