//! What the operating system reports and asks.

use super::{Adapter, Event, Thread, ThreadState};
use crate::placement::AppUse;
use crate::{Affinity, AppId, Born, Decision, LockNotice, Notice, Scheduler, ThreadId};
use baton_units::{CpuId, Cycles};

impl Scheduler for Adapter {
    fn fork(&mut self, now: Cycles, id: ThreadId, born: &Born) {
        let at = id.0 as usize;
        if self.threads.len() <= at {
            self.threads.resize_with(at + 1, || None);
        }
        self.threads[at] = Some(Thread {
            app: born.app,
            affinity: born.affinity.clone(),
            cpu: born.near,
            state: ThreadState::Blocked,
            bound_for: None,
            waits: (0, 0),
            last: None,
            moved: false,
            fresh: true,
        });
        // A thread that is born cannot run yet, so the placement answers its birth with no move.
        let mut none = Vec::new();
        self.tell(now.0, &Event::Born(id, born.clone()), &mut none);
        debug_assert!(none.is_empty(), "a birth moves nothing");
    }

    fn wake(&mut self, now: Cycles, id: ThreadId, out: &mut Vec<Decision>) {
        let now = now.0;
        let app = self.thread(id).app;
        self.accounts.of(app).can_run(true, now);
        self.begins_to_wait(id, now);
        self.tell(now, &Event::Wake(id), out);
        let to = self.entry(id);
        self.enqueue(id, to, now, out);
    }

    fn block(&mut self, now: Cycles, id: ThreadId, out: &mut Vec<Decision>) {
        self.stop(now.0, id, &Event::Block(id), out);
        self.thread_mut(id).state = ThreadState::Blocked;
    }

    fn exit(&mut self, now: Cycles, id: ThreadId, out: &mut Vec<Decision>) {
        self.stop(now.0, id, &Event::Exit(id), out);
        self.thread_mut(id).state = ThreadState::Blocked;
    }

    fn yields(&mut self, now: Cycles, id: ThreadId, out: &mut Vec<Decision>) {
        let now = now.0;
        self.leave(id, now, out);
        self.begins_to_wait(id, now);
        let bound_for = self.thread(id).bound_for;
        if let Some(to) = bound_for {
            self.thread_mut(id).bound_for = None;
            self.queue(to).awaits -= 1;
        }
        self.thread_mut(id).state = ThreadState::Blocked;
        let bound_for = bound_for.filter(|&to| self.may_have(to, id));
        if bound_for.is_none() {
            self.tell(now, &Event::Yields(id), out);
        }
        // Since the move was decided, other threads may have come to its target, or another CPU may
        // have become idle.
        let bound_for = bound_for.map(|to| if self.is_free_soon(to) { to } else { self.idle_near(id).unwrap_or(to) });
        let to = bound_for.unwrap_or_else(|| self.entry(id));
        self.enqueue(id, to, now, out);
    }

    fn pick(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>) -> Option<ThreadId> {
        let now = now.0;
        let mut next = self.queue(cpu).ready.pop_front();
        if next.is_none() {
            self.tell(now, &Event::Idle(cpu), out);
            next = self.queue(cpu).ready.pop_front();
        }
        if next.is_none() && self.queue(cpu).awaits == 0 {
            next = self.steal(cpu, now, out);
        }
        let id = next?;
        let thread = self.thread_mut(id);
        thread.state = ThreadState::Running;
        let (last, app) = (thread.last.replace(cpu), thread.app);
        if last.is_some_and(|last| !self.cpus.siblings(last, cpu)) {
            self.accounts.of(app).had.migrations += 1;
        }
        self.queue(cpu).current = next;
        self.tell(now, &Event::Runs(id, cpu), out);
        next
    }

    fn runs(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>) {
        let queue = self.queue(cpu);
        (queue.since, queue.accounted) = (Some(now.0), now.0);
        self.arm(cpu, now.0, out);
    }

    fn tick(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>) {
        let slice = self.slice;
        let queue = self.queue(cpu);
        queue.timer = false;
        match queue.since {
            Some(since) if !queue.ready.is_empty() && now.0 >= since + slice => {
                let keeps = queue.current.filter(|_| now.0 < since + 2 * slice);
                if keeps.is_some_and(|id| self.placement.keeps_cpu(id)) {
                    // The placement keeps the thread on its CPU. It is asked again every tenth of a
                    // slice, until the thread has had another time slice.
                    self.queue(cpu).timer = true;
                    out.push(Decision::Timer(cpu, now + Cycles((slice / 10).max(1))));
                } else {
                    out.push(Decision::Preempt(cpu));
                }
            }
            _ => self.arm(cpu, now.0, out),
        }
    }

    fn alarm(&mut self, now: Cycles, out: &mut Vec<Decision>) {
        self.tell(now.0, &Event::Period, out);
    }

    fn set_affinity(&mut self, now: Cycles, id: ThreadId, affinity: &Affinity, out: &mut Vec<Decision>) {
        self.thread_mut(id).affinity = affinity.clone();
        self.tell(now.0, &Event::Affinity(id, affinity.clone()), out);
        let thread = self.thread(id);
        let (cpu, state) = (thread.cpu, thread.state);
        if thread.bound_for.is_some_and(|to| !affinity.has(to)) {
            self.unbind(id, out);
        }
        match state {
            ThreadState::Blocked => {}
            ThreadState::Ready if !affinity.has(cpu) => self.clear(cpu, now.0, out),
            // The new affinity may include an idle CPU, which then takes the waiting thread.
            ThreadState::Ready => out.extend(self.idle_near(id).map(Decision::Start)),
            ThreadState::Running if !affinity.has(cpu) => out.push(Decision::Preempt(cpu)),
            ThreadState::Running => {}
        }
    }

    fn set_online(&mut self, now: Cycles, cpu: CpuId, online: bool, out: &mut Vec<Decision>) {
        self.settle(now.0);
        self.kinds.set_online(cpu, online);
        self.queue(cpu).off = !online;
        self.tell(now.0, &Event::Online(cpu, online), out);
        if online {
            out.push(Decision::Start(cpu));
            return;
        }
        self.clear(cpu, now.0, out);
        let running = self.queues.iter().filter_map(|queue| queue.current);
        let bound: Vec<ThreadId> = running.filter(|&id| self.thread(id).bound_for == Some(cpu)).collect();
        for id in bound {
            self.unbind(id, out);
        }
        if self.queue(cpu).current.is_some() {
            out.push(Decision::Preempt(cpu));
        }
    }

    fn set_speed(&mut self, now: Cycles, cpu: CpuId, speed: u32, out: &mut Vec<Decision>) {
        self.settle(now.0);
        self.kinds.set_speed(cpu, speed);
        self.tell(now.0, &Event::Speed(cpu, speed), out);
    }

    fn notify(
        &mut self,
        now: Cycles,
        id: ThreadId,
        notice: Notice,
        lock: Option<u64>,
        holder: Option<ThreadId>,
        out: &mut Vec<Decision>,
    ) {
        if notice == Notice::Spinning && (lock.is_some() || holder.is_some()) {
            self.tell(now.0, &Event::Waits(id, lock, holder), out);
        }
        self.tell(now.0, &Event::Notice(id, notice), out);
    }

    fn hears_locks(&self) -> bool {
        self.placement.hears_locks()
    }

    fn sees_futexes(&self) -> bool {
        self.placement.sees_futexes()
    }

    fn notify_lock(&mut self, now: Cycles, id: ThreadId, notice: LockNotice, lock: u64, out: &mut Vec<Decision>) {
        self.tell(now.0, &Event::Lock(id, notice, lock), out);
    }

    fn steals(&self, cpu: CpuId) -> u64 {
        self.queues[cpu.0 as usize].steals
    }

    fn app_use(&self, now: Cycles, app: AppId) -> Option<AppUse> {
        let mut had = self.accounts.at(app, now.0);
        for (cpu, queue) in self.cpus.ids().zip(&self.queues) {
            let (Some(id), Some(_)) = (queue.current, queue.since) else { continue };
            if self.thread(id).app == app {
                let fast = self.kinds.is_fast(cpu);
                *if fast { &mut had.fast } else { &mut had.slow } += now.0 - queue.accounted;
            }
        }
        Some(had)
    }

    fn place(&self, id: ThreadId) -> CpuId {
        self.threads[id.0 as usize].as_ref().map_or(CpuId(0), |thread| thread.cpu)
    }
}

impl Adapter {
    /// Whether no thread keeps the CPU from one that comes: the CPU's queue is empty, and it is
    /// idle or its thread is bound for another CPU.
    fn is_free_soon(&self, cpu: CpuId) -> bool {
        let queue = &self.queues[cpu.0 as usize];
        queue.ready.is_empty() && queue.current.is_none_or(|id| self.thread(id).bound_for.is_some())
    }

    /// Returns the CPU for a thread that is in no queue: the one to which the placement moved it,
    /// or otherwise the one that the rules of queues choose.
    fn entry(&self, id: ThreadId) -> CpuId {
        let thread = self.thread(id);
        if thread.moved && self.may_have(thread.cpu, id) { thread.cpu } else { self.choose(id) }
    }

    /// Stops a running thread, which waits or has ended.
    fn stop(&mut self, now: u64, id: ThreadId, event: &Event, out: &mut Vec<Decision>) {
        self.leave(id, now, out);
        self.unbind(id, out);
        let app = self.thread(id).app;
        self.accounts.of(app).can_run(false, now);
        self.tell(now, event, out);
    }

    /// Accounts for all run times up to now, before CPUs become fast or slow.
    fn settle(&mut self, now: u64) {
        for cpu in self.cpus.ids() {
            self.account(cpu, now);
        }
    }
}
