//! A placement made from a rule that ranks threads.
//!
//! An idle fast CPU is filled at once, by a thread that waits for a CPU, or one that runs on a slow
//! CPU and has not reported that it spins: one of the highest class, and in that class one that
//! waits before one that runs. All other changes are periodic. The threads of the highest ranks are
//! wanted on fast CPUs: for each fast CPU as many as a CPU has on average, at least one. Each
//! wanted thread that is on a slow CPU is swapped with a thread on a fast CPU that is not wanted
//! there.
//!
//! A rule may name threads that come at once (`urgent`), and the time for which a fast CPU takes
//! part in no further swap after one (`stay`). A thread for which a swap pays (`pays`) need not wait
//! for the end of that time.
//!
//! With `stay_in_domain`, a round has two parts. First threads on slow CPUs take the place of threads
//! of lower classes, wherever these are. Then, under each last-level cache, the threads of the
//! highest ranks get the fast CPUs there, so that turns stay within.

use super::{Answer, Board, Event, Placement};
use crate::ThreadId;
use baton_units::{CpuId, Cycles};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// How much a thread is wanted on a fast CPU: first by class, then, if threads take turns, by how
/// long ago it was last on one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    pub(crate) class: u64,
    pub(crate) turn: Reverse<u64>,
}

impl Rank {
    /// Creates a rank without turns: a thread that is on a fast CPU stays there.
    pub(crate) fn plain(class: u64) -> Rank {
        Rank { class, turn: Reverse(0) }
    }
}

/// A rule that ranks threads.
pub(crate) trait Rule {
    /// Whether threads are swapped.
    const SWAPS: bool = true;

    /// Returns the rank of a runnable thread.
    fn rank(&self, board: &Board, id: ThreadId) -> Rank;

    /// Takes in an event, by which the board is updated already.
    fn hears(&mut self, _now: u64, _board: &Board, _event: &Event, _answers: &mut Vec<Answer>) {}

    /// Returns the threads that must come to a fast CPU at once, the most urgent first.
    fn urgent(&self, _board: &Board) -> Vec<ThreadId> {
        Vec::new()
    }

    /// Returns the cycles for which a fast CPU takes part in no other swap after one that brought
    /// this thread.
    fn stay(&self, _now: u64, _board: &Board, _id: ThreadId) -> u64 {
        0
    }

    /// Whether what the urgent thread is about to do takes long enough on its slow CPU for a swap
    /// to pay, even on a fast CPU that has just had one.
    fn pays(&self, _now: u64, _board: &Board, _id: ThreadId) -> bool {
        false
    }

    /// Whether the rule wants to be told [`Event::Lock`].
    const HEARS_LOCKS: bool = false;

    /// Whether the rule takes from [`Event::Lock`] only what a kernel sees of futexes by itself.
    const SEES_FUTEXES: bool = false;

    /// Whether the thread keeps the CPU on which it runs: it then makes room for no other thread,
    /// and its time slice is longer.
    fn keeps(&self, _board: &Board, _id: ThreadId) -> bool {
        false
    }

    /// The next time at which the rule wants [`Event::Period`], beside the swaps; `u64::MAX` for
    /// never.
    fn due(&self) -> u64 {
        u64::MAX
    }
}

/// The placement of a rule.
pub(crate) struct Ranked<R> {
    board: Board,
    rule: R,
    /// The time of the next swaps.
    swap_at: u64,
    /// The time for which the placement has last asked for [`Event::Period`].
    asked: u64,
    /// By CPU: the time until which the CPU takes part in no swap.
    held_until: Vec<u64>,
    /// The time at which an urgent thread that found no fast CPU tries again.
    retry_at: u64,
}

impl<R: Rule> Ranked<R> {
    pub(crate) fn new(board: Board, rule: R) -> Ranked<R> {
        let held_until = vec![0; board.topology.count()];
        Ranked { board, rule, swap_at: 0, asked: u64::MAX, held_until, retry_at: u64::MAX }
    }

    fn period(&self) -> u64 {
        self.board.amp.swap_ticks.max(1) * self.board.time_slice.max(1)
    }

    fn hold(&mut self, now: u64, cpu: CpuId, id: ThreadId) {
        self.held_until[cpu.0 as usize] = now.saturating_add(self.rule.stay(now, &self.board, id));
    }

    fn go(&mut self, id: ThreadId, to: CpuId, answers: &mut Vec<Answer>) {
        self.board.bind(id, to);
        answers.push(Answer::Move(id, to));
    }

    /// Fills the fast CPUs that are idle.
    fn fill(&mut self, answers: &mut Vec<Answer>) {
        if !self.board.kinds.are_unlike() {
            return;
        }
        for cpu in self.board.topology.ids() {
            if !self.board.is_idle(cpu) || !self.board.kinds.is_fast(cpu) {
                continue;
            }
            let best = self.board.runnable.iter().copied().filter(|&id| self.may_fill(id, cpu));
            if let Some(id) = best.max_by_key(|&id| self.fills(id, cpu)) {
                self.go(id, cpu, answers);
            }
        }
    }

    fn may_fill(&self, id: ThreadId, cpu: CpuId) -> bool {
        let thread = self.board.thread(id);
        let (runs, fast) = (self.board.is_running(id), self.board.is_on_fast(id));
        // A spinning thread gains nothing from a faster CPU, but gains from any CPU if it has none.
        // A thread in the queue of a free CPU is about to get that CPU.
        let gains = if runs { !fast && !thread.marked } else { !thread.at.is_some_and(|at| self.board.is_free(at)) };
        gains && thread.bound_for.is_none() && thread.affinity.has(cpu)
    }

    fn fills(&self, id: ThreadId, cpu: CpuId) -> impl Ord + use<R> {
        let Rank { class, turn } = self.rule.rank(&self.board, id);
        let near = Reverse(self.distance(id, cpu));
        let nearer = self.board.amp.stay_in_domain.then_some(near);
        (class, !self.board.is_running(id), nearer, turn, near, Reverse(id))
    }

    /// Whether the thread runs and keeps its CPU.
    fn keeps_here(&self, id: ThreadId) -> bool {
        self.board.is_running(id) && self.rule.keeps(&self.board, id)
    }

    fn distance(&self, id: ThreadId, cpu: CpuId) -> u32 {
        let amp = &self.board.amp;
        let at = self.board.thread(id).at.filter(|_| amp.topology || amp.stay_in_domain);
        at.map_or(0, |at| self.board.topology.distance(at, cpu))
    }

    /// Performs a round of swaps.
    fn swap(&mut self, now: u64, answers: &mut Vec<Answer>) {
        let fast: Vec<CpuId> = self.board.fast().collect();
        if fast.is_empty() || !self.board.kinds.are_unlike() {
            return;
        }
        let share = (self.board.runnable.len() as u32 / self.board.kinds.on_count()).max(1) as usize;
        for id in self.movable() {
            if self.board.is_on_fast(id) {
                self.board.thread_mut(id).was_fast = now;
            }
        }
        let by_turn = |rank: Rank| Reverse(rank);
        if !self.board.amp.stay_in_domain {
            return self.swap_among(now, (self.movable(), &fast, share), by_turn, answers);
        }
        let by_class = |rank: Rank| Reverse(Rank::plain(rank.class));
        self.swap_among(now, (self.movable(), &fast, share), by_class, answers);
        let cluster = |board: &Board, cpu: CpuId| board.topology.at(cpu).cluster;
        let clusters: BTreeSet<u32> = fast.iter().map(|&cpu| cluster(&self.board, cpu)).collect();
        for here in clusters {
            let is_here = |board: &Board, cpu: CpuId| cluster(board, cpu) == here;
            let near = |id: &ThreadId| self.board.thread(*id).at.is_some_and(|at| is_here(&self.board, at));
            let threads = self.movable().into_iter().filter(near).collect();
            let fast: Vec<CpuId> = fast.iter().copied().filter(|&cpu| is_here(&self.board, cpu)).collect();
            self.swap_among(now, (threads, &fast, share), by_turn, answers);
        }
    }

    /// Returns the threads that a round may move.
    fn movable(&self) -> Vec<ThreadId> {
        let movable = |id: &ThreadId| {
            let thread = self.board.thread(*id);
            // A thread that still runs on a CPU that is off is about to leave it.
            thread.bound_for.is_none() && thread.at.is_some_and(|at| self.board.kinds.is_on(at))
        };
        self.board.runnable.iter().copied().filter(movable).collect()
    }

    /// Brings the first of these threads, `share` for each of the fast CPUs, to these CPUs. `first`
    /// gives the order; of equal threads, those on fast CPUs stay.
    fn swap_among<K: Ord>(
        &mut self,
        now: u64,
        (mut threads, fast, share): (Vec<ThreadId>, &[CpuId], usize),
        first: impl Fn(Rank) -> K,
        answers: &mut Vec<Answer>,
    ) {
        threads.retain(|&id| fast.iter().any(|&cpu| self.board.thread(id).affinity.has(cpu)));
        threads.sort_by_cached_key(|&id| (first(self.rule.rank(&self.board, id)), !self.board.is_on_fast(id), id));
        let wanted = threads.len().min(fast.len() * share);
        let (wanted, others) = threads.split_at(wanted);
        let room = |id: ThreadId| self.board.is_on_fast(id) && !self.keeps_here(id);
        let mut others: Vec<ThreadId> = others.iter().copied().filter(|&id| room(id)).collect();
        for &id in wanted {
            if !self.board.is_on_fast(id) {
                self.place_wanted(now, id, fast, &mut others, answers);
            }
        }
    }

    /// Finds a fast CPU for a wanted thread that is on a slow one. The thread of `others` with the
    /// lowest class makes room; of equals, with `topology` or `stay_in_domain`, the nearest.
    fn place_wanted(
        &mut self,
        now: u64,
        id: ThreadId,
        fast: &[CpuId],
        others: &mut Vec<ThreadId>,
        answers: &mut Vec<Answer>,
    ) {
        let thread = self.board.thread(id);
        let Some(from) = thread.at else { return };
        let at = |other: ThreadId| self.board.thread(other).at.unwrap_or(from);
        let held = |cpu: CpuId| self.held_until[cpu.0 as usize] > now && !self.rule.pays(now, &self.board, id);
        let fits = |other: ThreadId| {
            !held(at(other)) && thread.affinity.has(at(other)) && self.board.thread(other).affinity.has(from)
        };
        let partners = (0..others.len()).filter(|&i| fits(others[i]));
        let key = |i: &usize| {
            let class = self.rule.rank(&self.board, others[*i]).class;
            (class, self.distance(id, at(others[*i])), Reverse(*i))
        };
        if let Some(i) = partners.min_by_key(key) {
            let other = others.remove(i);
            let to = self.board.thread(other).at.unwrap_or(from);
            self.hold(now, to, id);
            self.board.bind(id, to);
            self.board.bind(other, from);
            answers.push(Answer::Swap(id, other));
            return;
        }
        // No thread on a fast CPU makes room, so the wanted thread moves to a fast CPU whose queue
        // is shorter than its own, if there is one.
        let load = self.board.load(from);
        let shorter = |cpu: &CpuId| thread.affinity.has(*cpu) && self.board.load(*cpu) < load;
        let free = fast.iter().copied().filter(shorter);
        if let Some(to) = free.min_by_key(|&cpu| (self.board.load(cpu), self.distance(id, cpu))) {
            self.go(id, to, answers);
        }
    }

    /// Brings urgent threads to fast CPUs, each in the place of a running thread of lower class.
    fn bring(&mut self, now: u64, answers: &mut Vec<Answer>) {
        self.retry_at = u64::MAX;
        let urgent = self.rule.urgent(&self.board);
        if urgent.is_empty() || !self.board.kinds.are_unlike() {
            return;
        }
        let fast: Vec<CpuId> = self.board.fast().collect();
        for id in urgent {
            let thread = self.board.thread(id);
            let comes = thread.bound_for.is_none() && thread.at.is_some_and(|at| self.board.kinds.is_on(at));
            if !comes || self.board.is_on_fast(id) {
                continue;
            }
            let class = self.rule.rank(&self.board, id).class;
            let lower = |other: &ThreadId| {
                let is_bound = self.board.thread(*other).bound_for.is_some();
                !is_bound && !self.keeps_here(*other) && self.rule.rank(&self.board, *other).class < class
            };
            // If another thread already waits for the CPU, the urgent one would wait behind it.
            let unshared = fast.iter().filter(|&&cpu| self.board.load(cpu) == 1);
            let mut others: Vec<ThreadId> =
                unshared.filter_map(|&cpu| self.board.running_on(cpu)).filter(lower).collect();
            let waits = !others.is_empty();
            self.place_wanted(now, id, &[], &mut others, answers);
            if waits && self.board.thread(id).bound_for.is_none() {
                let ends = fast.iter().map(|cpu| self.held_until[cpu.0 as usize]).filter(|&until| until > now);
                self.retry_at = ends.min().unwrap_or(u64::MAX);
            }
        }
    }

    /// Asks for the next period if its time has changed.
    fn ask(&mut self, now: u64, answers: &mut Vec<Answer>) {
        let swaps = R::SWAPS && self.board.kinds.are_unlike();
        // An event at the time of a round of swaps, but before the round, does not postpone it.
        let to_come = self.swap_at == now && self.asked == now;
        if swaps && self.swap_at <= now && !to_come {
            self.swap_at = (now / self.period() + 1) * self.period();
        }
        let swaps = swaps && !self.board.runnable.is_empty();
        let due = self.rule.due().min(self.retry_at).min(if swaps { self.swap_at } else { u64::MAX });
        if due == self.asked {
            return;
        }
        self.asked = due;
        answers.push(if due == u64::MAX { Answer::NoPeriod } else { Answer::Period(Cycles(due)) });
    }
}

impl<R: Rule> Placement for Ranked<R> {
    fn hears(&mut self, now: Cycles, event: &Event, answers: &mut Vec<Answer>) {
        let now = now.0;
        self.board.follow(now, event);
        self.rule.hears(now, &self.board, event, answers);
        if *event == Event::Period {
            self.asked = u64::MAX;
            if R::SWAPS && now >= self.swap_at {
                self.swap(now, answers);
            }
        }
        if !matches!(event, Event::Born(..) | Event::Placed(..) | Event::Block(_) | Event::Exit(_)) {
            self.fill(answers);
            self.bring(now, answers);
        }
        self.ask(now, answers);
    }

    fn hears_locks(&self) -> bool {
        R::HEARS_LOCKS
    }

    fn sees_futexes(&self) -> bool {
        R::SEES_FUTEXES
    }

    fn keeps_cpu(&self, id: ThreadId) -> bool {
        self.rule.keeps(&self.board, id)
    }
}
