//! A CPU, and the account of its cycles.

use crate::base::thread::ThreadId;
use baton_chipfile::config::Os;
use baton_memory::Line;
use baton_memory::counters;
use baton_noc::Header;
use baton_units::{CoreId, CpuId, Cycles};

/// The kind of idle CPU that a wake-up roused. The kinds differ in what the waker pays, and stand
/// in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Roused {
    /// No idle CPU: the woken thread waits in a run queue, or takes a busy CPU.
    Nobody,
    /// A CPU that still polled for work, so that it sees the thread without an interrupt.
    Polling,
    /// A CPU that was halted and needs an interrupt.
    Halted,
}

/// What a CPU does. Every cycle of a run belongs to one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Nothing: the CPU first polls, then halts, then enters deeper states.
    Idle,
    /// The CPU leaves an idle state.
    Waking,
    /// The CPU switches from one thread to another.
    Switching,
    /// The CPU runs a thread.
    Busy,
    /// The CPU is switched off.
    Off,
}

/// A CPU: a hardware context of a core.
#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    pub(crate) core: CoreId,
    /// The thread that runs here, or that the CPU switches to.
    pub(crate) current: Option<ThreadId>,
    /// Whether threads may run here. A thread that still runs on a CPU that is being switched off
    /// leaves it.
    pub(crate) online: bool,
    /// What the CPU does, and since when.
    pub(crate) doing: Doing,
    pub(crate) since: u64,
    /// Whether the policy's timer, or the tick, is in the event queue.
    pub(crate) timer: bool,
    /// Whether an interrupt is on its way to this CPU.
    pub(crate) interrupt_comes: bool,
    /// If the interrupt that is on its way first goes to a line's home: the line, and the mark with
    /// which the home forwards the interrupt.
    pub(crate) by_way_of: Option<(Line, Header)>,
    /// Whether the interrupt that is on its way takes the CPU from its thread.
    pub(crate) called_off: bool,
    /// The threads that the interrupt on its way tells about signals.
    pub(crate) signalled: Vec<ThreadId>,
    /// If the interrupt on its way wakes the CPU: the time from the interrupt until the thread
    /// runs.
    pub(crate) wakes: Option<u64>,
    pub(crate) counts: CpuCounts,
    /// The CPU's cycles so far: waking, switching, busy, off; then (in `idle`) idle, by state.
    times: [u64; 4],
    idle: Vec<u64>,
}

counters! {
    /// What a CPU counted.
    pub struct CpuCounts {
        /// Times that the CPU was given to a thread, also to the same one again.
        switches: Threads,
        /// Times, among those, that the thread had last run on another core.
        migrations: Threads,
        /// Timer interrupts: ticks, or ends of time slices.
        ticks: Interrupts,
        /// Threads that its policy took for it from other queues when it ran dry.
        steals: Threads,
    }
}

/// The cycles of a CPU, by activity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuFigures {
    /// The number of the CPU.
    pub cpu: CpuId,
    /// The core of which the CPU is a context.
    pub core: CoreId,
    /// Every cycle of the run by activity: `busy`, `switching`, `waking`, `polling`, `halted`,
    /// `idle_1` and deeper, `off`. The sum is the run.
    pub times: Vec<(String, Cycles)>,
    /// What the CPU counted.
    pub counts: CpuCounts,
}

impl CpuFigures {
    /// The cycles with this name; 0 if there is none.
    pub fn time(&self, name: &str) -> Cycles {
        self.times.iter().find(|(other, _)| other == name).map_or(Cycles(0), |&(_, time)| time)
    }
}

/// For each idle state, polling first: when it begins, and the latency of leaving it.
fn idle_states(os: &Os) -> impl Iterator<Item = (u64, u64)> + '_ {
    let first = [(0, os.idle.wake_polling.0), (os.idle.poll.0, os.idle.wake.0)];
    first.into_iter().chain(os.idle.states.0.iter().map(|state| (state.after, state.exit)))
}

impl Cpu {
    /// Makes the CPU of a context of this core; the CPU is idle.
    pub(crate) fn new(core: CoreId) -> Cpu {
        Cpu {
            core,
            current: None,
            online: true,
            doing: Doing::Idle,
            since: 0,
            timer: false,
            interrupt_comes: false,
            by_way_of: None,
            called_off: false,
            signalled: Vec::new(),
            wakes: None,
            counts: CpuCounts::default(),
            times: [0; 4],
            idle: Vec::new(),
        }
    }

    /// Begins the CPU's next activity, and counts the time of the one that ends.
    pub(crate) fn turn(&mut self, to: Doing, now: u64, os: &Os) {
        let spent = now - self.since;
        match self.doing {
            Doing::Waking => self.times[0] += spent,
            Doing::Switching => self.times[1] += spent,
            Doing::Busy => self.times[2] += spent,
            Doing::Off => self.times[3] += spent,
            Doing::Idle => {
                // Each idle state ends where the next one begins, and the deepest state that the
                // CPU has reached has the rest of the idle time.
                let mut begins = 0;
                for (state, (after, _)) in idle_states(os).skip(1).enumerate() {
                    let ends = after.clamp(begins, spent.max(begins));
                    self.spent_idle(state, ends - begins);
                    begins = ends;
                }
                self.spent_idle(1 + os.idle.states.0.len(), spent - begins);
            }
        }
        (self.doing, self.since) = (to, now);
    }

    fn spent_idle(&mut self, state: usize, time: u64) {
        if self.idle.len() <= state {
            self.idle.resize(state + 1, 0);
        }
        self.idle[state] += time;
    }

    /// The latency of leaving the current idle state, and whether the CPU still polls.
    pub(crate) fn wake_latency(&self, now: u64, os: &Os) -> (u64, bool) {
        let idle = now - self.since;
        let deepest = idle_states(os).enumerate().filter(|(_, (after, _))| *after <= idle).last();
        deepest.map_or((os.idle.wake_polling.0, true), |(at, (_, exit))| (exit, at == 0))
    }

    /// The CPU's figures up to now.
    pub(crate) fn figures(&mut self, number: u32, now: u64, os: &Os) -> CpuFigures {
        self.turn(self.doing, now, os);
        let [waking, switching, busy, off] = self.times;
        let mut times: Vec<(String, Cycles)> = Vec::new();
        for (name, time) in [("busy", busy), ("switching", switching), ("waking", waking), ("off", off)] {
            times.push((name.to_owned(), Cycles(time)));
        }
        for (state, (_, time)) in idle_states(os).zip(self.idle.iter().copied().chain(std::iter::repeat(0))).enumerate()
        {
            let name = match state {
                0 => "polling".to_owned(),
                1 => "halted".to_owned(),
                deeper => format!("idle_{}", deeper - 1),
            };
            times.push((name, Cycles(time)));
        }
        CpuFigures { cpu: CpuId(number), core: self.core, times, counts: self.counts }
    }
}
