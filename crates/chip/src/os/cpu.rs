//! A CPU, and where its cycles go.

use crate::base::thread::ThreadId;
use baton_chipfile::config::Os;
use baton_memory::Line;
use baton_memory::counters;
use baton_noc::Header;
use baton_units::{CoreId, CpuId, Cycles};

/// What a CPU does. Every cycle of a run is one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Nothing: first it polls, then it halts, then it goes to deeper states.
    Idle,
    /// It leaves idling.
    Waking,
    /// It switches from thread to thread.
    Switching,
    /// It runs a thread.
    Busy,
    /// It is switched off.
    Off,
}

/// A CPU: a hardware context of a core.
#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    /// The core that it belongs to.
    pub(crate) core: CoreId,
    /// The thread that runs here, or that it switches to.
    pub(crate) current: Option<ThreadId>,
    /// Threads may run here. One that still does, on a CPU that is being switched off, leaves it.
    pub(crate) online: bool,
    /// What it does, and since when.
    pub(crate) doing: Doing,
    pub(crate) since: u64,
    /// The policy's timer, or the tick, is in the queue.
    pub(crate) timer: bool,
    /// An interrupt is on its way here.
    pub(crate) interrupt_comes: bool,
    /// That interrupt goes to a line's home first, which sends it on with this mark.
    pub(crate) by_way_of: Option<(Line, Header)>,
    /// That interrupt takes the CPU from its thread.
    pub(crate) called_off: bool,
    /// That interrupt tells these threads of signals.
    pub(crate) signalled: Vec<ThreadId>,
    /// That interrupt wakes it, and then it takes so long until its thread runs.
    pub(crate) wakes: Option<u64>,
    /// What it counted.
    pub(crate) counts: CpuCounts,
    /// Cycles so far: waking, switching, busy, off; then idle, by state.
    times: [u64; 4],
    idle: Vec<u64>,
}

counters! {
    /// What a CPU counted.
    pub struct CpuCounts {
        /// Threads that it was given to.
        switches: Threads,
        /// Those of them that had run on another core last.
        migrations: Threads,
        /// Timer interrupts: ticks, or ends of time slices.
        ticks: Interrupts,
        /// Threads that its policy took for it from other queues when it ran dry.
        steals: Threads,
    }
}

/// Where a CPU's cycles went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuFigures {
    /// Its number.
    pub cpu: CpuId,
    /// The core that it is a context of.
    pub core: CoreId,
    /// Every cycle of the run by what the CPU did: `busy`, `switching`, `waking`, `polling`, `halted`, `idle_1` and deeper,
    /// `off`. Sums to the run.
    pub times: Vec<(String, Cycles)>,
    /// What it counted.
    pub counts: CpuCounts,
}

impl CpuFigures {
    /// Cycles of that name; 0 if there is none.
    pub fn time(&self, name: &str) -> Cycles {
        self.times.iter().find(|(other, _)| other == name).map_or(Cycles(0), |&(_, time)| time)
    }
}

/// When each idle state begins, polling first, and what leaving it takes.
fn idle_states(os: &Os) -> impl Iterator<Item = (u64, u64)> + '_ {
    let first = [(0, os.idle.wake_polling.0), (os.idle.poll.0, os.idle.wake.0)];
    first.into_iter().chain(os.idle.states.0.iter().map(|state| (state.after, state.exit)))
}

impl Cpu {
    /// A context of that core, which idles.
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

    /// From now on it does something else.
    pub(crate) fn turn(&mut self, to: Doing, now: u64, os: &Os) {
        let spent = now - self.since;
        match self.doing {
            Doing::Waking => self.times[0] += spent,
            Doing::Switching => self.times[1] += spent,
            Doing::Busy => self.times[2] += spent,
            Doing::Off => self.times[3] += spent,
            Doing::Idle => {
                // The deepest state reached has what is left of the stretch; each before it ends where the next begins.
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

    /// What leaving the idle state takes that it is in now, and whether it still polls.
    pub(crate) fn wake_latency(&self, now: u64, os: &Os) -> (u64, bool) {
        let idle = now - self.since;
        let deepest = idle_states(os).enumerate().filter(|(_, (after, _))| *after <= idle).last();
        deepest.map_or((os.idle.wake_polling.0, true), |(at, (_, exit))| (exit, at == 0))
    }

    /// Its figures up to now.
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
