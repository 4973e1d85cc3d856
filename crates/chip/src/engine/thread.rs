//! A guest thread as the engine sees it.

use super::rest::Rest;
use crate::clock::Remaining;
use crate::config::ocor::Ocor;
use crate::contexts::share::Demand;
use crate::core::buffer::StoreBuffer;
use crate::core::mark::Sort;
use crate::core::rmw::Far;
use crate::core::walk::Walk;
use crate::energy::meter::Finer;
use crate::engine::locks::Timeline;
use crate::memory::{Access, Line, PARTS};
use crate::os::app::App;
use crate::os::handler::Handler;
use baton_machine::local::Use;
use baton_machine::{Local, LockHint};
use baton_noc::Header;
use baton_sched::{Affinity, Nice};
use baton_units::CoreId;
use corosensei::Yielder;

/// Number of a guest thread.
pub(crate) type ThreadId = u32;
/// No thread: the host's own code, outside the simulation.
pub(crate) const OUTSIDE: ThreadId = u32::MAX;

/// Where a thread's cycles go. Every cycle of a thread's life has one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Computing.
    Work,
    /// Its request is being served by the memory system.
    Memory,
    /// Waiting for room in its store buffer, or until that is empty.
    StoreBuffer,
    /// Throwing away what was speculated when a spin's line goes.
    Flush,
    /// Spinning on a core.
    Spin,
    /// Waiting with a monitor or halted, on a CPU that it keeps: arming, entry and exit included.
    Monitor,
    /// Standing still while its core changes between one and several active contexts.
    Mode,
    /// In a system call.
    Kernel,
    /// Asleep until it is woken, or until a time.
    Asleep,
    /// Could run, but has no core.
    Ready,
    /// A CPU is switching to it.
    Switch,
    /// An idle CPU is waking up for it.
    Waking,
    /// Stalled for a device's answer.
    Device,
    /// The same while the device has no room for what it brings.
    QueueFull,
    /// The same while the device does not have what it wants.
    QueueEmpty,
}

/// How many reasons there are.
pub const REASONS: usize = 15;

impl Reason {
    /// All of them, in the order of their numbers.
    pub const ALL: [Reason; REASONS] = [
        Reason::Work,
        Reason::Memory,
        Reason::StoreBuffer,
        Reason::Flush,
        Reason::Spin,
        Reason::Monitor,
        Reason::Mode,
        Reason::Kernel,
        Reason::Asleep,
        Reason::Ready,
        Reason::Switch,
        Reason::Waking,
        Reason::Device,
        Reason::QueueFull,
        Reason::QueueEmpty,
    ];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Work => "work",
            Reason::Memory => "memory",
            Reason::StoreBuffer => "store_buffer",
            Reason::Flush => "flush",
            Reason::Spin => "spin",
            Reason::Monitor => "monitor",
            Reason::Mode => "mode_change",
            Reason::Kernel => "kernel",
            Reason::Asleep => "asleep",
            Reason::Ready => "ready",
            Reason::Switch => "switch",
            Reason::Waking => "waking",
            Reason::Device => "device",
            Reason::QueueFull => "queue_full",
            Reason::QueueEmpty => "queue_empty",
        }
    }
}

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Waits in a run queue.
    Ready,
    /// A core is switching to it.
    Starting,
    /// On a CPU whose interrupt handler runs; then its coroutine runs on.
    Interrupted,
    /// On a core: runs guest code, which takes no time, or an operation that cannot be interrupted.
    Running,
    /// Computes until then; can be interrupted.
    Working(u64),
    /// Spins on a line that its core holds.
    Spinning,
    /// Its CPU stands still: with a monitor, or halted.
    Resting,
    /// Sleeps: in a futex, in a join or for a time.
    Asleep,
    /// Has ended.
    Done,
}

/// How a thread goes on when it gets a core again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    /// Its coroutine runs on.
    Guest,
    /// It computes on, so much more.
    Work(Remaining),
}

/// Why a wait of any kind ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Woken, or the line has gone.
    Woken,
    /// The time has come.
    Expired,
    /// The core was taken away.
    Interrupted,
}

/// A spinning wait whose tries are not simulated one by one. Try `i` is issued at `first + i * period` and hits
/// `hit` later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spin {
    pub(crate) line: Line,
    /// The core that tries; the thread may have another when it runs on.
    pub(crate) core: CoreId,
    pub(crate) first: u64,
    pub(crate) period: u64,
    pub(crate) hit: u64,
    /// What lies between two tries, in cycles of the core, for when its clock changes.
    pub(crate) between: u64,
    /// Tries at most, from here on, and when they must end.
    pub(crate) most: u64,
    pub(crate) deadline: u64,
    /// Tries that were done before the clock changed last.
    pub(crate) before: u64,
    /// The end of a try that was under way then; 0: none was.
    pub(crate) busy: u64,
    /// Tries done when the coroutine runs on.
    pub(crate) done: u64,
    /// The last of them is a hit whose value is to be read now. Otherwise the next try is to be issued now.
    pub(crate) hits: bool,
}

/// A guest thread.
pub(crate) struct Thread {
    pub(crate) name: String,
    pub(crate) state: State,
    /// The CPU that it has, or had last: a context of a core.
    pub(crate) cpu: u32,
    /// That core.
    pub(crate) core: CoreId,
    /// The CPU is wanted by another thread: give it up before the next operation.
    pub(crate) preempt: bool,
    /// It is to leave the CPU; otherwise `preempt` is only for what it owes.
    pub(crate) leaves: bool,
    /// Cycles of interrupt handlers that it has yet to pay, before its next operation.
    pub(crate) due: u64,
    /// So many handlers are among them that touch memory (`os.interrupt_lines`, `os.queue_lines`).
    pub(crate) handlers: u32,
    /// The handlers that run now.
    pub(crate) handler: Handler,
    /// It has run before.
    pub(crate) has_run: bool,
    /// Spin locks of the kernel that it holds or waits for: it cannot be preempted.
    pub(crate) holds: u32,
    /// The CPU is wanted as soon as it holds none.
    pub(crate) wanted: bool,
    pub(crate) resume: Resume,
    pub(crate) ended: Ended,
    pub(crate) yielder: *const Yielder<(), ()>,
    pub(crate) local: Box<Local>,
    /// What its next marked access is.
    pub(crate) hint: Option<Sort>,
    /// The mark of all its requests, hint or not: of a thread whose packets go before others'.
    pub(crate) standing: Header,
    /// Locks that it holds, and since when it has waited for one.
    pub(crate) locks_held: u32,
    pub(crate) waits_since: Option<u64>,
    /// The last hint that a lock gave: what its sleep and its wake-ups are marked by.
    pub(crate) last_hint: Option<LockHint>,
    /// The far atomic that it waits for.
    pub(crate) far: Option<Far>,
    /// What it does while it waits for a lock, if somebody wants to know.
    pub(crate) timeline: Timeline,
    /// Its application.
    pub(crate) app: App,
    /// How much of a CPU it gets beside others.
    pub(crate) nice: Nice,
    /// CPUs that it may run on.
    pub(crate) affinity: Affinity,

    pub(crate) buffer: StoreBuffer,
    pub(crate) walk: Walk,
    /// Instructions that have not made up a cycle yet, in units.
    pub(crate) instructions: u32,
    /// It waits until at most so many stores are in its buffer.
    pub(crate) waits_for_room: Option<usize>,

    pub(crate) spin: Spin,
    pub(crate) rest: Rest,
    pub(crate) watch_next: u32,
    pub(crate) watch_before: u32,
    pub(crate) watches: bool,

    /// The cell that it waits on, and since when: for the report of a deadlock.
    pub(crate) waits_on: Option<(Waited, u64)>,
    /// That wait has a deadline.
    pub(crate) bounded: bool,
    /// When it last began to look at the cell that it waits on.
    pub(crate) looked: u64,
    pub(crate) joiners: Vec<ThreadId>,
    /// Number of its sleep in a futex queue, so that a wake-up cannot meet a later one.
    pub(crate) futex_sleep: u64,
    /// Woken between its entry into a futex queue and its sleep.
    pub(crate) woken_early: bool,

    pub(crate) born: u64,
    pub(crate) since: u64,
    pub(crate) times: [u64; REASONS],
    /// Where the cycles of requests that were not served at once went.
    pub(crate) parts: [u64; PARTS],
    pub(crate) operations: u64,
    pub(crate) tries: u64,
    pub(crate) sleeps: u64,
    /// When it last fell asleep.
    pub(crate) last_sleep: Option<u64>,
    pub(crate) preemptions: u64,
    /// What energy needs to know beside the cycle stack.
    pub(crate) finer: Finer,
    /// Of its computation under way, what interrupts have taken.
    pub(crate) stolen: u64,
    /// What it asks of its core.
    pub(crate) demand: Demand,
    /// Its computation goes on at this moment, if that is not past: its core changes its mode, or a handler runs.
    pub(crate) still_until: u64,
    /// Of what it has still to stand still, what handlers take: they come last.
    pub(crate) handling: u64,
    /// Cycles of its computation in which it stood still for that.
    pub(crate) changing: u64,
    /// Cycles for which it must stand still before its next operation.
    pub(crate) owed: u64,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// A cell, by its offset in guest memory.
    Cell(usize),
    /// The end of a thread.
    Thread(ThreadId),
    /// A time.
    Time,
    /// A device: an answer, or its interrupt.
    Device(u32),
}

impl Thread {
    /// A thread that a CPU will be chosen for.
    pub(crate) fn new(name: String, number: u32, affinity: Affinity, now: u64) -> Thread {
        Thread {
            name,
            state: State::Ready,
            cpu: 0,
            core: CoreId(0),
            preempt: false,
            leaves: false,
            due: 0,
            handlers: 0,
            handler: Handler::default(),
            has_run: false,
            holds: 0,
            wanted: false,
            resume: Resume::Guest,
            ended: Ended::Woken,
            yielder: std::ptr::null(),
            local: Box::new(Local::new(number)),
            hint: None,
            last_hint: None,
            standing: Header::default(),
            locks_held: 0,
            waits_since: None,
            far: None,
            timeline: Timeline::default(),
            app: App(0),
            nice: Nice::default(),
            affinity,
            buffer: StoreBuffer::default(),
            walk: Walk::default(),
            instructions: 0,
            waits_for_room: None,
            spin: Spin::pause(CoreId(0), 0),
            rest: Rest::NONE,
            watch_next: 0,
            watch_before: 0,
            watches: false,
            waits_on: None,
            bounded: false,
            looked: 0,
            joiners: Vec::new(),
            futex_sleep: 0,
            woken_early: false,
            born: now,
            since: now,
            times: [0; REASONS],
            parts: [0; PARTS],
            operations: 0,
            tries: 0,
            sleeps: 0,
            last_sleep: None,
            preemptions: 0,
            finer: Finer::NONE,
            stolen: 0,
            demand: Demand::default(),
            still_until: 0,
            handling: 0,
            changing: 0,
            owed: 0,
        }
    }

    /// Whether something is wanted of it before its next operation: its CPU, or to stand still.
    #[inline(always)]
    pub(crate) fn is_called(&self) -> bool {
        self.preempt | (self.owed != 0)
    }

    /// Handlers have run on its account, or are to, that it has yet to pay for.
    pub(crate) fn is_due(&self) -> bool {
        self.due != 0 || self.handlers != 0
    }

    /// Its computation stands still for so long, behind what it stands still for already.
    pub(crate) fn put_off(&mut self, now: u64, cycles: u64) {
        if self.still_until <= now {
            self.handling = 0;
        }
        self.still_until = self.still_until.max(now) + cycles;
    }

    /// All time since the last charge had this reason.
    #[inline(always)]
    pub(crate) fn charge(&mut self, reason: Reason, now: u64) {
        self.times[reason as usize] += now - self.since;
        if self.timeline.open {
            self.timeline.note(reason, self.cpu, self.since, now, &self.parts);
        }
        self.since = now;
    }

    /// The last hint that a lock gave, if one did, with the newest progress: the section that has just ended counts.
    pub(crate) fn newest_hint(&self) -> Option<LockHint> {
        let progress = self.local.get(Use::Progress) as u32;
        self.last_hint.map(|hint| LockHint { progress, ..hint })
    }

    /// The mark of its next access. One instruction takes a hint: of a load-linked and store-conditional both halves have
    /// it, and the instruction's end takes it away.
    #[inline(always)]
    pub(crate) fn mark(&mut self, access: Access, ocor: &Ocor) -> Header {
        let Some(sort) = self.hint else { return self.standing };
        let (takes, ends) = match (sort, access) {
            (_, Access::LoadLinked(_) | Access::StoreConditional(_)) => (true, false),
            (_, Access::Atomic) | (Sort::WakeUp(_) | Sort::Woken(_), Access::Load) => (true, true),
            _ => (false, false),
        };
        if ends {
            self.hint = None;
        }
        // Who holds a lock is urgent whatever it asks for.
        if takes && !self.standing.marked { sort.header(ocor) } else { self.standing }
    }
}
