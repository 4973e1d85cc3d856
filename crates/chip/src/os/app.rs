//! Applications: groups of threads that start, end and start again together.

use super::signal::Actions;
use baton_memory::counters;
use baton_sched::Nice;
use baton_sched::placement::AppUse;
use baton_units::Cycles;
use baton_units::{CoreId, CpuId};
use std::rc::Rc;

/// An application of a simulation. The first application has the threads that the host adds without
/// naming an application, and those that they start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct App(pub(crate) u32);

/// A thread to be started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spawn {
    /// The thread's name in results; if empty, `thread N`.
    pub name: String,
    /// Cores on which the thread may run, each with all of its contexts.
    pub affinity: Vec<CoreId>,
    /// Further CPUs on which the thread may run. If both lists are empty, it may run on all.
    pub cpus: Vec<CpuId>,
    /// The thread's application; `None` for its creator's.
    pub app: Option<App>,
    /// The nice value, which sets the share of a CPU (policies `fair` and `eevdf`); `None` for the
    /// creator's.
    pub nice: Option<Nice>,
    /// The thread's measured speed-up on a fast core over a slow one, in thousandths, if known
    /// (policy `static-ipc`).
    pub speedup: Option<u32>,
    /// The delay from the thread's creation to the moment at which it can first run, to which noise
    /// is added (`noise.start`).
    pub after: Cycles,
}

/// How often an application runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// This many times, one after the other; at least once.
    Times(u32),
    /// Again and again, until all applications with a number of runs have finished. Then the run
    /// ends.
    Background,
    /// Again and again, until each such application has run this many times, and those with
    /// [`Runs::Times`] have finished. Then the run ends.
    Together(u32),
}

/// An application to be added to a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// The application's name in results.
    pub name: String,
    /// How often the application runs.
    pub runs: Runs,
    /// The time at which the application begins; the operating system knows nothing about it
    /// before. 0 for the start of the simulation.
    pub start: Cycles,
    /// The application's first thread, which starts the others.
    pub main: Spawn,
}

counters! {
    /// What an application counted, in all of its runs.
    pub struct AppCounts {
        /// How often it was started anew.
        restarts: Times,
        /// Threads that it started.
        forks: Threads,
        /// Threads of it that ended.
        exits: Threads,
    }
}

counters! {
    /// Where the cycles of an application's threads went.
    pub struct AppTimes {
        /// Cycles of its threads on CPUs.
        on_cpu: Cycles,
        /// Cycles in which they could run and had no CPU.
        ready: Cycles,
        /// Cycles in which a CPU switched to them or woke up for them.
        switching: Cycles,
        /// Cycles in which they slept.
        asleep: Cycles,
    }
}

counters! {
    /// What an application had of fast and slow cores, under policies that tell them apart.
    pub struct AmpCounts {
        /// Cycles of its threads on fast cores.
        fast: Cycles,
        /// Cycles of its threads on slow cores.
        slow: Cycles,
        /// How often one of its threads came to another core than the one that it ran on last.
        migrations: Times,
        /// How often one of its threads was swapped with another thread.
        swaps: Times,
        /// How often it lost the class SP because its time in it was over.
        demotions: Times,
        /// Cycles in which it had runnable threads and the class SP.
        sp: Cycles,
        /// Cycles in which it had runnable threads and the class MP; policies without classes have all in this one.
        mp: Cycles,
        /// Cycles in which it had runnable threads and the class HP.
        hp: Cycles,
    }
}

impl From<AppUse> for AmpCounts {
    fn from(had: AppUse) -> AmpCounts {
        let AppUse { fast, slow, migrations, swaps, demotions, sp, mp, hp } = had;
        AmpCounts { fast, slow, migrations, swaps, demotions, sp, mp, hp }
    }
}

/// The figures of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppFigures {
    /// The application's name.
    pub name: String,
    /// The time at which the application was to begin.
    pub start: Cycles,
    /// The duration of each complete run, from the start of the first thread to the end of the
    /// last.
    pub runs: Vec<Cycles>,
    /// The application's counters, over all of its runs.
    pub counts: AppCounts,
    /// The most threads that could run at one moment.
    pub most_runnable: u32,
    /// The sum of runnable threads over the cycles. Divided by the length of the run, it is their
    /// mean number.
    pub runnable: Cycles,
    /// The cycles of the application's threads, by activity.
    pub times: AppTimes,
    /// The use of fast and slow cores, if the policy distinguishes them.
    pub amp: Option<AmpCounts>,
}

pub(crate) type Main = Rc<dyn Fn()>;

/// The operating system's record of an application.
pub(crate) struct AppState {
    pub(crate) name: String,
    pub(crate) runs: Runs,
    pub(crate) start: Cycles,
    pub(crate) main: Option<(Spawn, Main)>,
    pub(crate) done: Vec<Cycles>,
    pub(crate) began: u64,
    pub(crate) alive: u32,
    /// The application's actions for signals.
    pub(crate) actions: Actions,
    pub(crate) counts: AppCounts,
    pub(crate) runnable: u32,
    pub(crate) most_runnable: u32,
    /// The sum of runnable threads over time, up to `since`.
    pub(crate) sum: u64,
    pub(crate) since: u64,
}

impl AppState {
    /// An application that has not begun.
    pub(crate) fn new(name: String, runs: Runs, start: Cycles, main: Option<(Spawn, Main)>) -> AppState {
        AppState {
            name,
            runs,
            start,
            main,
            done: Vec::new(),
            began: 0,
            alive: 0,
            actions: Actions::default(),
            counts: AppCounts::default(),
            runnable: 0,
            most_runnable: 0,
            sum: 0,
            since: 0,
        }
    }

    pub(crate) fn count(&mut self, runnable: u32, now: u64) {
        self.sum += u64::from(self.runnable) * (now - self.since);
        (self.runnable, self.since) = (runnable, now);
        self.most_runnable = self.most_runnable.max(runnable);
    }

    /// The application will never begin, and the run does not wait for it.
    pub(crate) fn give_up(&mut self) {
        (self.runs, self.main) = (Runs::Times(1), None);
    }

    /// Whether the run need not wait for the application: it is a background one, or has had its
    /// number of runs and, with [`Runs::Times`], has no thread left.
    pub(crate) fn is_through(&self) -> bool {
        match self.runs {
            Runs::Together(n) => self.done.len() >= n as usize,
            Runs::Times(n) => self.alive == 0 && (self.main.is_none() || self.done.len() >= n as usize),
            Runs::Background => true,
        }
    }
}
