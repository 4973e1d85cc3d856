//! One step of the engine: the next event, or the memory system's next notice, and a guest's end.

use crate::base::event::{Event, Happening};
use crate::base::queue::Rank;
use crate::base::thread::{OUTSIDE, ThreadId};
use crate::base::token::{Asked, Token};
use crate::engine::reason::Reason;
use crate::engine::state::{Engine, Step};
use crate::engine::thread::{Ended, ThreadState};
use crate::engine::waiting::Waited;
use baton_memory::{Memory, Notice, Part, Parts};

impl Engine {
    /// Handles the next event. Only the run loop calls this.
    #[inline(always)]
    pub(crate) fn step(&mut self) -> Step {
        let inside = self.memory.next();
        if inside != u64::MAX && inside <= self.queue.first() {
            return self.memory_step(inside);
        }
        let Some((time, event)) = self.queue.pop() else { return Step::Silence };
        let limit = self.bounds.stop.limit();
        if time > limit {
            return self.cut_off(limit);
        }
        self.now = time;
        self.counts.events += 1;
        match event.happening() {
            Happening::Thread(id) => self.own_event(id),
            Happening::Timeout(id) => self.timed_out(id),
            Happening::Store(id) => self.drained(id),
            Happening::Timer(cpu) => self.timer_came(cpu),
            Happening::Devices => self.devices_step(),
            Happening::Clocks => self.clocks_step(),
            Happening::Switches => self.switches_step(),
            Happening::Alarm => self.alarm_came(),
            Happening::Arrivals => self.arrivals_step(),
            Happening::Governor => self.governor_came(),
        }
    }

    /// The next event lies behind the limit. A limit before now is a request to end.
    #[cold]
    fn cut_off(&mut self, limit: u64) -> Step {
        self.now = self.now.max(limit);
        Step::Limit
    }

    #[inline]
    fn own_event(&mut self, id: ThreadId) -> Step {
        let thread = &mut self.threads[id as usize];
        match thread.state {
            ThreadState::Running => {}
            ThreadState::Working(_) => thread.state = ThreadState::Running,
            ThreadState::Spinning => {
                thread.state = ThreadState::Running;
                self.unwatch(id);
            }
            ThreadState::IdleWait => {
                if !self.idle_wait_event(id) {
                    return Step::Handled;
                }
            }
            ThreadState::Interrupted => {
                if !self.handler_event(id) {
                    return Step::Handled;
                }
            }
            ThreadState::Starting => {
                if !self.started(id) {
                    return Step::Handled;
                }
            }
            ThreadState::Ready | ThreadState::Cancelling | ThreadState::Asleep | ThreadState::Done => {
                unreachable!("thread {id} has an event at {} in state {:?}", self.now, thread.state)
            }
        }
        Step::Resume(id)
    }

    fn timed_out(&mut self, id: ThreadId) -> Step {
        let thread = &mut self.threads[id as usize];
        debug_assert_eq!(thread.state, ThreadState::Asleep);
        thread.ended = Ended::Expired;
        // With futexes in guest memory, the sleeper itself leaves the queue when it runs.
        if let Some((Waited::Cell(offset), _)) = thread.wait.waits_on
            && !self.os.layout.in_memory()
        {
            self.os.futexes.forget(offset, id);
        }
        self.make_ready(id, Reason::Asleep);
        Step::Handled
    }

    /// Lets the memory system advance to the queue's next event, or to its own first notice.
    fn memory_step(&mut self, inside: u64) -> Step {
        let limit = self.bounds.stop.limit();
        if inside > limit {
            return self.cut_off(limit);
        }
        let mut notices = std::mem::take(&mut self.notices);
        self.now = self.memory.advance(self.queue.first().min(limit), &mut notices);
        self.queue.advance(self.now);
        for notice in notices.drain(..) {
            match notice {
                Notice::Done { token, at, parts, .. } => self.served(token, at, parts),
                Notice::Carried { tag, placed } => self.carried(tag, placed),
                Notice::Interrupt { tag } => self.interrupt_came(tag),
                Notice::Performed { token } => self.performed(token.thread()),
                Notice::Lost { core, line } => self.lost(core, line),
            }
        }
        self.notices = notices;
        if self.memory.is_hung() { Step::Silence } else { Step::Handled }
    }

    /// The memory system has served a request.
    #[inline]
    fn served(&mut self, token: Token, at: u64, parts: Parts) {
        let id = token.thread();
        let asked = token.part();
        // The token of a posted request's answer has the number of a packet, not of a thread.
        if parts.0[Part::Memory as usize] != 0 && asked != Asked::Posted {
            self.threads[id as usize].stats.fetches += 1;
        }
        match asked {
            Asked::Operation => {
                let sums = &mut self.threads[id as usize].stats.parts;
                sums.iter_mut().zip(parts.0).for_each(|(sum, part)| *sum += u64::from(part));
                self.queue.put(Event::thread(id), at, Rank::Next);
            }
            // No thread waits for a buffered store itself, so its parts are not charged to the
            // thread's cycles.
            Asked::Head => self.queue.put(Event::store(id), at, Rank::Next),
            // The time of the interrupt handler is charged to the kernel.
            Asked::Handler => self.queue.put(Event::thread(id), at, Rank::Next),
            Asked::Load(number) => self.walked(id, number, at, parts),
            Asked::Posted => self.answer_written_at(token.thread(), at),
            Asked::Hint => {}
        }
    }

    /// The running thread's coroutine has returned, or was reset because the thread was killed.
    pub(crate) fn exited(&mut self, id: ThreadId) {
        let now = self.now;
        let thread = &mut self.threads[id as usize];
        thread.charge(Reason::Work, now);
        thread.state = ThreadState::Done;
        self.os.alive -= 1;
        self.os.free_numbers.insert(thread.local.index());
        for joiner in std::mem::take(&mut thread.os.joiners) {
            self.queue.cancel(Event::timeout(joiner));
            self.threads[joiner as usize].ended = Ended::Woken;
            self.make_ready(joiner, Reason::Asleep);
        }
        self.running = OUTSIDE;
        let cpu = self.threads[id as usize].cpu;
        self.app_can_run(id, false);
        self.leave(cpu, id, |policy, now, out| policy.exit(now, baton_sched::ThreadId(id), out));
    }

    /// Checks what must hold whenever no guest runs.
    #[cfg(debug_assertions)]
    pub(crate) fn check(&self) {
        let on_cpu = self.os.cpus.iter().filter(|cpu| cpu.current.is_some()).count();
        let count = |state| self.threads.iter().filter(|thread| thread.state == state).count();
        assert_eq!(on_cpu + count(ThreadState::Ready) + count(ThreadState::Asleep), self.os.alive, "a thread is lost");
        for (i, thread) in self.threads.iter().enumerate().filter(|(_, thread)| thread.state == ThreadState::Ready) {
            let cpu = self.os.policy.scheduler.place(baton_sched::ThreadId(i as u32));
            assert!(thread.os.affinity.has(cpu), "thread {i} waits for CPU {cpu} and may not run there");
            assert!(self.os.cpus[cpu.0 as usize].current.is_some(), "CPU {cpu} idles while thread {i} waits for it");
        }
        for (i, thread) in self.threads.iter().enumerate() {
            let spent: u64 = thread.stats.times.iter().sum();
            assert_eq!(spent, thread.stats.since - thread.stats.born, "thread {i}: cycles without a reason");
            assert!(
                thread.state != ThreadState::Done || thread.pipeline.buffer.len() == 0,
                "thread {i} ended with stores on their way"
            );
        }
    }
}
