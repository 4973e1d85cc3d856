//! What the core does with each input.

use super::board::{State, Thread};
use super::{Core, FOLLOWS_NS, IDLES_NS, MATURE_NS, Process, Tell, WIDE_SLICES};
use crate::input::{Begins, Decision, Why};
use baton_sched::placement::Event;
use baton_sched::{Affinity, Born, LockNotice, Nice, ThreadId};
use baton_units::CpuId;

impl Core {
    pub(super) fn begins(&mut self, id: ThreadId, begins: &Begins) {
        let now = self.now;
        let wait = if begins.young { MATURE_NS } else { 0 };
        let fresh = || Process { mature_at: now.saturating_add(wait), threads: 0 };
        let process = self.processes.entry(begins.pid).or_insert_with(fresh);
        process.threads += 1;
        let mature = process.mature_at <= now;
        self.board.next += 1;
        self.board.add(id, Thread::new(begins.clone(), now));
        if begins.inherited {
            self.out.push(Decision::Mask(id, begins.cpus.clone(), Why::Inherited));
            self.board.had[begins.app.0 as usize].widened += 1;
        }
        if mature {
            self.introduce(id);
        }
    }

    /// Announces a thread to the placement: its birth and, unless it sleeps, that it is in a CPU's
    /// queue or on the CPU. Does nothing if the thread has ended or was announced before.
    fn introduce(&mut self, id: ThreadId) {
        if !self.board.is_told(id) {
            return;
        }
        let Some(thread) = self.board.threads.get(id) else { return };
        let app = thread.begins.app;
        let (cpus, state) = (thread.begins.cpus.clone(), thread.state);
        let near = cpus.iter().copied().find(|&cpu| self.board.is_usable(cpu)).unwrap_or(cpus[0]);
        let born = Born {
            app,
            affinity: Affinity::to(cpus.into_iter().map(CpuId)),
            near: CpuId(near),
            nice: Nice::default(),
            speedup: self.setup.apps[app.0 as usize].speedup,
        };
        self.tell(Event::Born(id, born));
        match state {
            State::Asleep => {}
            State::Waits(_) | State::Runs(_) => self.enters(id),
        }
        let Some(thread) = self.board.threads.get(id).filter(|_| self.setup.policy.hears_locks) else { return };
        let holds = thread.holds.iter().map(|&lock| (LockNotice::Taken, lock));
        let told: Vec<(LockNotice, u64)> = holds.chain(thread.waits_for).collect();
        told.into_iter().for_each(|(notice, lock)| self.tell(Event::Lock(id, notice, lock)));
    }

    /// The thread tells what it does with a lock or barrier.
    pub(super) fn lock(&mut self, id: ThreadId, notice: LockNotice, lock: u64) {
        let Some(thread) = self.board.threads.get_mut(id) else { return };
        match notice {
            LockNotice::Wanted | LockNotice::Arrived => thread.waits_for = Some((notice, lock)),
            LockNotice::Taken => {
                thread.waits_for = None;
                thread.holds.insert(lock);
            }
            LockNotice::Left => {
                thread.waits_for = thread.waits_for.filter(|&(_, waits_for)| waits_for != lock);
                thread.holds.remove(&lock);
            }
        }
        if self.setup.policy.hears_locks && thread.known {
            self.tell(Event::Lock(id, notice, lock));
        }
    }

    /// Tells the placement that a thread that slept is in a CPU's queue or on the CPU.
    fn enters(&mut self, id: ThreadId) {
        self.tell(Event::Wake(id));
        self.tell_place(id);
    }

    fn knows(&self, id: ThreadId) -> bool {
        self.board.threads.get(id).is_some_and(|thread| thread.known)
    }

    pub(super) fn runs(&mut self, id: ThreadId, cpu: CpuId) {
        let before = self.board.state(id);
        if before == State::Runs(cpu) {
            return;
        }
        if let Some(other) = self.board.current(cpu) {
            self.loses(other, cpu);
        }
        self.board.set(id, State::Runs(cpu), self.now);
        if self.knows(id) {
            match before {
                State::Asleep => self.enters(id),
                State::Waits(at) if at == cpu && !self.board.is_bound(id) => self.tell(Event::Runs(id, cpu)),
                State::Waits(_) | State::Runs(_) => self.tell_place(id),
            }
        }
        self.board.unbind(id);
        self.left(before);
    }

    /// The thread has lost its CPU, and waits for it.
    fn loses(&mut self, id: ThreadId, cpu: CpuId) {
        let cpu = self.board.queue(id, cpu);
        self.board.set(id, State::Waits(cpu), self.now);
        if self.knows(id) {
            self.tell(Event::Yields(id));
            self.tell_place(id);
        }
        self.board.unbind(id);
    }

    pub(super) fn waits(&mut self, id: ThreadId, cpu: CpuId) {
        let before = self.board.state(id);
        let cpu = self.board.queue(id, cpu);
        match before {
            State::Waits(at) if at == cpu => return,
            State::Runs(at) if at == cpu => return self.loses(id, cpu),
            _ => {}
        }
        self.board.set(id, State::Waits(cpu), self.now);
        if self.knows(id) {
            match before {
                State::Asleep => self.enters(id),
                State::Waits(_) | State::Runs(_) => self.tell_place(id),
            }
        }
        self.board.unbind(id);
        self.left(before);
    }

    pub(super) fn sleeps(&mut self, id: ThreadId) {
        let before = self.board.state(id);
        if before == State::Asleep {
            return;
        }
        self.board.set(id, State::Asleep, self.now);
        if self.knows(id) {
            self.tell(Event::Block(id));
        }
        self.board.unbind(id);
        self.left(before);
    }

    pub(super) fn ends(&mut self, id: ThreadId) {
        let before = self.board.state(id);
        let Some(thread) = self.board.remove(id, self.now) else { return };
        if thread.known {
            // A placement knows no thread that ends in its sleep.
            if before == State::Asleep {
                self.tell(Event::Wake(id));
            }
            self.tell(Event::Exit(id));
        }
        if let Some(process) = self.processes.get_mut(&thread.begins.pid) {
            process.threads -= 1;
            if process.threads == 0 {
                self.processes.remove(&thread.begins.pid);
            }
        }
        self.left(before);
    }

    /// Tells the placement if the CPU of a thread's earlier state has nothing to do any more.
    pub(super) fn left(&mut self, before: State) {
        if let State::Runs(cpu) | State::Waits(cpu) = before {
            self.to_tell.push_back(Tell::Idle(cpu));
        }
    }

    /// The user, or the program itself, has changed the thread's mask.
    pub(super) fn user_changed(&mut self, id: ThreadId, cpus: &[u32]) {
        let Some(thread) = self.board.threads.get_mut(id) else { return };
        thread.begins.cpus = cpus.to_vec();
        thread.given = None;
        if thread.known {
            self.tell(Event::Affinity(id, Affinity::to(cpus.iter().copied().map(CpuId))));
        }
    }

    /// The kernel refuses to move the thread: the policy is told that it may run only where it is.
    pub(super) fn refused(&mut self, id: ThreadId) {
        let Some(thread) = self.board.threads.get_mut(id) else { return };
        (thread.given, thread.refused) = (None, true);
        let here = match thread.state {
            State::Runs(cpu) | State::Waits(cpu) => cpu,
            State::Asleep => CpuId(thread.begins.cpus[0]),
        };
        if thread.known {
            self.tell(Event::Affinity(id, Affinity::to([here])));
        }
        self.stays(id);
    }

    /// Tells the placement that a thread is where it was, and not where a move was to take it.
    fn stays(&mut self, id: ThreadId) {
        if !self.board.is_bound(id) || !self.knows(id) {
            return;
        }
        self.board.unbind(id);
        self.tell_place(id);
    }

    pub(super) fn online(&mut self, cpu: CpuId, on: bool) {
        if self.board.switch(cpu, on) {
            self.tell(Event::Online(cpu, on));
            self.to_tell.push_back(Tell::Idle(cpu));
        }
    }

    pub(super) fn tick(&mut self) {
        let now = self.now;
        let is_mature = |pid| self.processes.get(&pid).is_some_and(|process| process.mature_at <= now);
        let mature = self.board.untold().filter(|(_, thread)| is_mature(thread.begins.pid));
        for id in mature.map(|(id, _)| id).collect::<Vec<_>>() {
            self.introduce(id);
        }
        for id in self.board.late(now, FOLLOWS_NS) {
            self.stays(id);
        }
        if self.period.is_some_and(|at| at <= now) {
            self.period = None;
            self.tell(Event::Period);
        }
        // A thread that was to come to a fast CPU may have gone to sleep on its way.
        let idle = self.board.idle_since(now).filter(|&cpu| self.board.is_fast(cpu));
        self.to_tell.extend(idle.map(Tell::Idle));
        self.make_room();
    }

    /// Gives waiting threads with a narrowed mask the user's mask back where a CPU idles that only
    /// the user's mask has: one thread for each such CPU.
    fn make_room(&mut self) {
        if self.board.waiting().next().is_none() {
            return;
        }
        let before = self.now.saturating_sub(IDLES_NS);
        let mut idle: Vec<CpuId> = self.board.idle_since(before).collect();
        if idle.is_empty() {
            return;
        }
        let waiting = self
            .board
            .waiting()
            .filter(|(_, thread)| thread.since <= before && thread.given.is_some() && thread.bound.is_none());
        for id in waiting.map(|(id, _)| id).collect::<Vec<_>>() {
            let Some(thread) = self.board.threads.get(id) else { continue };
            let (given, user) = (thread.given, thread.begins.cpus.clone());
            let room = |cpu: &CpuId| user.contains(&cpu.0) && Some(self.board.is_fast(*cpu)) != given;
            let Some(at) = idle.iter().position(room) else { continue };
            idle.remove(at);
            let until = self.now.saturating_add(self.setup.slice_ns.saturating_mul(WIDE_SLICES));
            let others = self.board.waits_for_others(id, before);
            if let Some(thread) = self.board.threads.get_mut(id).filter(|_| others) {
                thread.wide_until = until;
            }
            self.give(id, None, Why::Room);
        }
    }
}
