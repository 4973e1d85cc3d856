//! The engine: time, threads, and what happens next.
//!
//! One step takes the next event and either handles it or says which guest runs on. Guest code itself takes no time:
//! a guest runs until its next operation, which the memory system or the operating system turns into an event.
//!
//! An operation that ends before anything else happens is finished at once, without a trip through the queue. That is
//! the same history with fewer steps.
//!
//! | file | holds |
//! | --- | --- |
//! | [`queue`] | the event queue |
//! | [`thread`] | a guest thread |
//! | [`spin`] | waits that watch a line: tries that are counted, not simulated |
//! | [`locks`] | changes of watched lock words, and what threads do while they wait for locks |
//! | [`rest`] | waits in which the CPU stands still: with a monitor, or halted |
//! | [`current`] | the engine of the code that runs, and how a guest suspends |

pub(crate) mod current;
pub(crate) mod locks;
pub(crate) mod queue;
pub(crate) mod rest;
pub(crate) mod spin;
pub(crate) mod thread;

use crate::clock::Clocks;
use crate::config::Chip;
use crate::config::ocor::Ocor;
use crate::contexts::Contexts;
use crate::core;
use crate::device::attached::Devices;
use crate::energy::meter::Meter;
use crate::guest::arena::Arena;
use crate::guest::heap::Heap;
use crate::memory::lines::Sparse;
use crate::memory::{Access, Answer, Line, Memory, MemorySystem, Notice, Part, Request, Served};
use crate::os::futex::{Futexes, layout::Layout};
use crate::os::{Cpu, app::AppState, hang::Quiet, interrupt::WakeUp, online::Switches, policy::Policy};
use crate::random::Random;
use baton_machine::Local;
use baton_trace::{Event, What};
use baton_units::{CoreId, Cycles};
use locks::Watch;
use queue::{EventQueue, Rank};
use std::collections::BTreeSet;
use std::sync::Arc;
use thread::{Ended, OUTSIDE, Reason, State, Thread, ThreadId, Waited};

/// What the run loop does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// This guest runs on.
    Resume(ThreadId),
    /// The event is dealt with.
    Handled,
    /// The time limit is reached.
    Limit,
    /// Nothing will ever happen again.
    Silence,
}

/// What the engine counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EngineCounts {
    pub(crate) events: u64,
    pub(crate) switches: u64,
    pub(crate) wakes: u64,
    pub(crate) migrations: u64,
}

/// The simulated machine.
pub(crate) struct Engine {
    pub(crate) now: u64,
    pub(crate) running: ThreadId,
    pub(crate) queue: EventQueue,
    pub(crate) threads: Vec<Thread>,
    /// What threads are scheduled onto: the contexts of the cores in use.
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) policy: Policy,
    pub(crate) apps: Vec<AppState>,
    /// Cores that are to be switched off or on.
    pub(crate) switches: Switches,
    /// Every thread waits, as the last timer found.
    pub(crate) quiet: Option<Quiet>,
    pub(crate) memory: MemorySystem,
    /// Which contexts of the cores are active.
    pub(crate) contexts: Contexts,
    pub(crate) clocks: Clocks,
    pub(crate) meter: Meter,
    pub(crate) devices: Option<Box<Devices>>,
    /// Notices of the memory system that are being handled; kept for its room.
    pub(crate) notices: Vec<Notice>,
    pub(crate) chip: Chip,
    /// By hardware context.
    pub(crate) windows: Vec<core::window::Window>,
    /// Instructions that come with each access, in units; 0: none.
    pub(crate) own_instructions: u64,
    /// Atomics are load-linked and store-conditional; homes do them.
    pub(crate) links: bool,
    pub(crate) far: bool,
    /// Events after this moment do not happen.
    pub(crate) limit: u64,
    /// Finish operations at once where nothing comes before them; off in tests that compare.
    pub(crate) run_ahead: bool,
    /// Leave out tries of spinning waits that cannot succeed; off in tests that compare.
    pub(crate) skip_tries: bool,

    pub(crate) arena: Arc<Arena>,
    pub(crate) base: usize,
    pub(crate) line_shift: u32,
    pub(crate) heap: Heap,
    /// First watcher of each line, plus one.
    pub(crate) watchers: Sparse<u32>,
    /// Last writer of each eight bytes, plus one.
    pub(crate) writers: Sparse<u32>,
    pub(crate) futexes: Futexes,
    /// The futex wake-up that is being carried out.
    pub(crate) wake_up: Option<WakeUp>,
    /// Where the kernel's memory is.
    pub(crate) layout: Layout,
    /// The thread that has each number ([`Local::index`]), or had it last.
    pub(crate) numbers: Vec<ThreadId>,
    pub(crate) start_noise: Random,
    /// When monitors end for no reason.
    pub(crate) spurious: Random,
    /// Halted threads, by the cell that they wait on, in the order in which they halted.
    pub(crate) halted: Vec<(usize, ThreadId)>,

    pub(crate) outside: Box<Local>,
    pub(crate) free_numbers: BTreeSet<u32>,
    pub(crate) alive: usize,
    pub(crate) counts: EngineCounts,
    pub(crate) record: Option<Vec<Event>>,
    /// Lock words that are watched.
    pub(crate) watch: Watch,
    /// What network interfaces write into headers.
    pub(crate) ocor: Ocor,
}

/// The end of an operation that the memory system will tell.
pub(crate) const PENDING: u64 = u64::MAX;

/// Numbers of events: a thread's own, its time-out, a CPU's timer, and the head of a thread's store buffer.
pub(crate) fn own(thread: ThreadId) -> u32 {
    thread * 4
}
pub(crate) fn timeout(thread: ThreadId) -> u32 {
    thread * 4 + 1
}
pub(crate) fn slice(cpu: u32) -> u32 {
    cpu * 4 + 2
}
pub(crate) fn buffer(thread: ThreadId) -> u32 {
    thread * 4 + 3
}

impl Engine {
    /// The next event.
    pub(crate) fn step(&mut self) -> Step {
        let inside = self.memory.next();
        if inside != u64::MAX && inside <= self.queue.first() {
            return self.memory_step(inside);
        }
        let Some((time, id)) = self.queue.pop() else { return Step::Silence };
        if time > self.limit {
            self.now = self.limit;
            return Step::Limit;
        }
        self.now = time;
        self.counts.events += 1;
        match id % 4 {
            0 => self.own_event(id / 4),
            1 => self.timed_out(id / 4),
            2 if self.is_devices(id / 4) => self.devices_step(),
            2 if self.is_clocks(id / 4) => self.clocks_step(),
            2 if self.is_switches(id / 4) => self.switches_step(),
            2 => self.timer_came(id / 4),
            _ => self.drained(id / 4),
        }
    }

    #[inline]
    fn own_event(&mut self, id: ThreadId) -> Step {
        let thread = &mut self.threads[id as usize];
        match thread.state {
            State::Running => {}
            State::Working(_) => thread.state = State::Running,
            State::Spinning => {
                thread.state = State::Running;
                self.unwatch(id);
            }
            State::Resting => {
                if !self.rest_event(id) {
                    return Step::Handled;
                }
            }
            State::Interrupted => {
                if !self.handler_event(id) {
                    return Step::Handled;
                }
            }
            State::Starting => {
                if !self.started(id) {
                    return Step::Handled;
                }
            }
            State::Ready | State::Asleep | State::Done => {
                unreachable!("thread {id} has an event at {} in state {:?}", self.now, thread.state)
            }
        }
        Step::Resume(id)
    }

    fn timed_out(&mut self, id: ThreadId) -> Step {
        let thread = &mut self.threads[id as usize];
        debug_assert_eq!(thread.state, State::Asleep);
        thread.ended = Ended::Expired;
        // In memory, the sleeper itself leaves the queue, once it runs.
        if let Some((Waited::Cell(offset), _)) = thread.waits_on
            && !self.layout.in_memory()
        {
            self.futexes.forget(offset, id);
        }
        self.make_ready(id, Reason::Asleep);
        Step::Handled
    }

    /// The line of a guest address.
    ///
    /// # Panics
    /// The address is not guest memory: a cell on the host's heap or stack has no place on the chip.
    #[inline(always)]
    pub(crate) fn offset_of(&self, address: usize) -> usize {
        let offset = address.wrapping_sub(self.base);
        if offset >= self.arena.size() {
            outside_memory(address);
        }
        offset
    }

    /// The core whose CPU the thread has, or had last.
    #[inline(always)]
    pub(crate) fn core_of(&self, id: ThreadId) -> CoreId {
        self.threads[id as usize].core
    }

    /// The running thread asks for a line; when it is served, and whether it hits.
    #[inline]
    pub(crate) fn access(&mut self, line: Line, access: Access) -> (u64, bool) {
        let token = self.running;
        let core = self.core_of(token);
        let thread = &mut self.threads[token as usize];
        thread.operations += 1;
        let mark = thread.mark(access, &self.ocor);
        let request = Request { token, core, line, access, mark };
        match self.memory.request(request, Cycles(self.now)) {
            Answer::Served(served) => {
                if served.invalidates && self.watchers[line.0 as usize] != 0 {
                    self.invalidated(line);
                }
                if !served.hit || access == Access::Atomic {
                    self.beyond_a_hit(access, served);
                }
                (served.at.0, served.hit)
            }
            Answer::Pending => (PENDING, false),
        }
    }

    /// All time of the running thread since the last charge had this reason.
    #[inline(always)]
    pub(crate) fn charge_running(&mut self, reason: Reason) {
        let now = self.now;
        self.threads[self.running as usize].charge(reason, now);
    }

    /// What a hit takes at the running thread's core.
    #[inline(always)]
    pub(crate) fn hit_here(&self) -> u64 {
        self.memory.hit(self.core_of(self.running)).0
    }

    /// Notes what the running thread's request took beyond a hit in the nearest cache, and for what.
    fn beyond_a_hit(&mut self, access: Access, served: Served) {
        let core = self.core_of(self.running);
        let atomic = if access == Access::Atomic { self.clocks.whole(core, self.chip.cache.atomic.0) } else { 0 };
        let beyond = (served.at.0 - self.now).saturating_sub(self.memory.hit(core).0);
        let atomic = atomic.min(beyond);
        let parts = &mut self.threads[self.running as usize].parts;
        parts[Part::Atomic as usize] += atomic;
        parts[served.beyond as usize] += beyond - atomic;
    }

    /// Lets the memory system come to the queue's next event, or to its own first notice.
    fn memory_step(&mut self, inside: u64) -> Step {
        if inside > self.limit {
            self.now = self.limit;
            return Step::Limit;
        }
        let mut notices = std::mem::take(&mut self.notices);
        self.now = self.memory.advance(self.queue.first().min(self.limit), &mut notices);
        self.queue.advance(self.now);
        for notice in notices.drain(..) {
            match notice {
                Notice::Done { token, at, parts, .. } => {
                    let (id, part) = core::parts(token);
                    if part == core::HEAD {
                        // Nobody waits for it as such: it has no place in the thread's cycles.
                        self.queue.put(buffer(id), at, Rank::Next);
                        continue;
                    }
                    if part == core::HANDLER {
                        // The handler's time is the kernel's.
                        self.queue.put(own(id), at, Rank::Next);
                        continue;
                    }
                    if part >= core::WALK {
                        self.walked(id, part, at, parts);
                        continue;
                    }
                    let sums = &mut self.threads[id as usize].parts;
                    sums.iter_mut().zip(parts.0).for_each(|(sum, part)| *sum += u64::from(part));
                    self.queue.put(own(id), at, Rank::Next);
                }
                Notice::Carried { tag, placed } => self.carried(tag, placed),
                Notice::Interrupt { tag } => self.interrupt_came(tag),
                Notice::Performed { token } => self.performed(core::parts(token).0),
                Notice::Lost { core, line } => self.lost(core, line),
            }
        }
        self.notices = notices;
        if self.memory.is_hung() { Step::Silence } else { Step::Handled }
    }

    /// Notes who wrote the cell at `offset`; its new value stands there.
    #[inline(always)]
    pub(crate) fn wrote(&mut self, offset: usize, thread: ThreadId) {
        self.writers[offset / 8] = thread + 1;
        if !self.watch.is_empty() {
            self.watched(offset, thread);
        }
    }

    #[cold]
    fn watched(&mut self, offset: usize, thread: ThreadId) {
        // SAFETY: a watched word is a live cell of four bytes, and nobody else runs now.
        let value = || unsafe { self.arena.at(offset).cast::<u32>().read() };
        self.watch.wrote(offset, thread, self.now, value);
    }

    /// Whether the running thread's operation that ends at `at` is over, and time with it. Otherwise it is queued (or,
    /// [`PENDING`], the memory system will tell), and the guest suspends.
    #[inline]
    pub(crate) fn over(&mut self, at: u64, rank: Rank) -> bool {
        if at < self.queue.earliest() && at < self.memory.next() && at <= self.limit && self.run_ahead {
            self.queue.advance(at);
            self.now = at;
            return true;
        }
        if at != PENDING {
            self.queue.put(own(self.running), at, rank);
        }
        false
    }

    /// Records an act of the running thread.
    pub(crate) fn record(&mut self, time: u64, what: What) {
        if let Some(record) = &mut self.record {
            let thread = baton_trace::ThreadIndex(self.running);
            record.push(Event { time: baton_trace::Ticks(time), thread, what });
        }
    }

    /// The running thread's coroutine has returned.
    pub(crate) fn exited(&mut self, id: ThreadId) {
        let now = self.now;
        let thread = &mut self.threads[id as usize];
        thread.charge(Reason::Work, now);
        thread.state = State::Done;
        self.alive -= 1;
        self.free_numbers.insert(thread.local.index());
        for joiner in std::mem::take(&mut thread.joiners) {
            self.queue.cancel(timeout(joiner));
            self.threads[joiner as usize].ended = Ended::Woken;
            self.make_ready(joiner, Reason::Asleep);
        }
        self.running = OUTSIDE;
        let cpu = self.threads[id as usize].cpu;
        self.app_can_run(id, false);
        self.leave(cpu, id, |policy, now, out| policy.exit(now, baton_sched::ThreadId(id), out));
    }

    /// What must hold when nothing runs, whatever happened before.
    #[cfg(debug_assertions)]
    pub(crate) fn check(&self) {
        let on_cpu = self.cpus.iter().filter(|cpu| cpu.current.is_some()).count();
        let count = |state| self.threads.iter().filter(|thread| thread.state == state).count();
        assert_eq!(on_cpu + count(State::Ready) + count(State::Asleep), self.alive, "a thread is lost");
        for (i, thread) in self.threads.iter().enumerate().filter(|(_, thread)| thread.state == State::Ready) {
            let cpu = self.policy.scheduler.place(baton_sched::ThreadId(i as u32));
            assert!(thread.affinity.has(cpu), "thread {i} waits for CPU {cpu} and may not run there");
            assert!(self.cpus[cpu.0 as usize].current.is_some(), "CPU {cpu} idles while thread {i} waits for it");
        }
        for (i, thread) in self.threads.iter().enumerate() {
            let spent: u64 = thread.times.iter().sum();
            assert_eq!(spent, thread.since - thread.born, "thread {i}: cycles without a reason");
            assert!(
                thread.state != State::Done || thread.buffer.len() == 0,
                "thread {i} ended with stores on their way"
            );
        }
    }
}

#[cold]
fn outside_memory(address: usize) -> ! {
    panic!(
        "a guest used a cell at {address:#x}, which is not guest memory: put it into baton_machine::Owned, or onto a \
         guest thread's stack"
    )
}
