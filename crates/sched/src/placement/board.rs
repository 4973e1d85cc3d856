//! The board: what is known of threads, CPUs and applications, which placements share.

use super::kinds::Kinds;
use super::sorted::Sorted;
use super::{Amp, Event};
use crate::{Affinity, AppId, Cpus, FULL_SPEED, Notice, Params, ThreadId};
use baton_units::CpuId;

/// What is known of a thread.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub(crate) app: AppId,
    pub(crate) affinity: Affinity,
    pub(crate) runnable: bool,
    /// The CPU in whose queue the thread is or on which it runs; `None` if it is blocked, or has
    /// just been woken or lost its CPU.
    pub(crate) at: Option<CpuId>,
    /// The CPU to which a move takes the thread.
    pub(crate) bound_for: Option<CpuId>,
    /// Whether the thread has reported that it spins.
    pub(crate) marked: bool,
    pub(crate) speedup: u32,
    /// The time at which the thread was last seen on a fast CPU: when it began to run there, or at
    /// a round of swaps.
    pub(crate) was_fast: u64,
}

/// What is known of an application.
#[derive(Clone, Debug, Default)]
pub(crate) struct App {
    /// Number of the application's threads that live.
    pub(crate) alive: u32,
    /// Number of the application's runnable threads; `marked` is the number of those that have
    /// reported that they spin.
    pub(crate) runnable: u32,
    pub(crate) marked: u32,
    pub(crate) master: Option<ThreadId>,
}

#[derive(Clone, Debug, Default)]
struct Cpu {
    current: Option<ThreadId>,
    idle: bool,
    /// Number of threads that are bound for the CPU.
    awaits: u32,
    /// Number of threads in the CPU's queue or on it.
    load: u32,
}

/// The board. It follows the events; the moves that a placement decides are recorded by
/// [`Board::bind`].
#[derive(Clone, Debug)]
pub(crate) struct Board {
    pub(crate) amp: Amp,
    pub(crate) time_slice: u64,
    pub(crate) runnable: Sorted,
    pub(super) kinds: Kinds,
    pub(super) topology: Cpus,
    threads: Vec<Option<Thread>>,
    apps: Vec<App>,
    cpus: Vec<Cpu>,
}

impl Board {
    pub(crate) fn new(cpus: &Cpus, params: &Params) -> Board {
        let idle = Cpu { idle: true, ..Cpu::default() };
        Board {
            amp: params.amp,
            time_slice: params.time_slice.0,
            runnable: Sorted::default(),
            kinds: Kinds::new(cpus),
            topology: cpus.clone(),
            threads: Vec::new(),
            apps: Vec::new(),
            cpus: vec![idle; cpus.count()],
        }
    }

    pub(crate) fn thread(&self, id: ThreadId) -> &Thread {
        self.threads[id.0 as usize].as_ref().expect("the thread lives")
    }

    pub(super) fn thread_mut(&mut self, id: ThreadId) -> &mut Thread {
        self.threads[id.0 as usize].as_mut().expect("the thread lives")
    }

    pub(crate) fn app(&mut self, id: AppId) -> &mut App {
        let at = id.0 as usize;
        if self.apps.len() <= at {
            self.apps.resize_with(at + 1, App::default);
        }
        &mut self.apps[at]
    }

    pub(crate) fn app_at(&self, id: AppId) -> &App {
        &self.apps[id.0 as usize]
    }

    pub(crate) fn app_of(&self, id: ThreadId) -> &App {
        &self.apps[self.thread(id).app.0 as usize]
    }

    /// Yields the applications of which threads were born.
    pub(crate) fn apps(&self) -> impl Iterator<Item = (AppId, &App)> {
        (0..).map(AppId).zip(&self.apps)
    }

    fn cpu(&mut self, cpu: CpuId) -> &mut Cpu {
        &mut self.cpus[cpu.0 as usize]
    }

    /// Number of runnable threads above which an application is highly parallel.
    pub(crate) fn hp_threshold(&self) -> u32 {
        self.amp.hp_threshold.unwrap_or(self.kinds.fast_count() + 1)
    }

    /// Number of an application's runnable threads, by the rule that says whether spinning threads
    /// count.
    pub(crate) fn counted(&self, app: &App) -> u32 {
        if self.amp.count_marked { app.runnable } else { app.runnable - app.marked }
    }

    pub(super) fn is_on_fast(&self, id: ThreadId) -> bool {
        self.thread(id).at.is_some_and(|cpu| self.kinds.is_fast(cpu))
    }

    pub(super) fn is_running(&self, id: ThreadId) -> bool {
        self.thread(id).at.is_some_and(|cpu| self.cpus[cpu.0 as usize].current == Some(id))
    }

    /// Returns the thread that has the CPU.
    pub(crate) fn running_on(&self, cpu: CpuId) -> Option<ThreadId> {
        self.cpus[cpu.0 as usize].current
    }

    /// The CPU's speed, in 1024ths of the machine's fastest clock.
    pub(crate) fn speed(&self, cpu: CpuId) -> u32 {
        self.kinds.speed(cpu)
    }

    /// The cycles by which the thread does this work sooner on the fastest CPU that it may have than
    /// where it is. The work is in cycles of a CPU of full speed.
    pub(crate) fn saves_on_fast(&self, id: ThreadId, work: u64) -> u64 {
        let thread = self.thread(id);
        let takes = |cpu: CpuId| work * u64::from(FULL_SPEED) / u64::from(self.speed(cpu).max(1));
        let fast = self.fast().filter(|&cpu| thread.affinity.has(cpu)).map(takes).min();
        thread.at.zip(fast).map_or(0, |(at, fast)| takes(at).saturating_sub(fast))
    }

    /// Yields the CPUs that are on and fast.
    pub(super) fn fast(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.topology.ids().filter(|&cpu| self.kinds.is_fast(cpu) && self.kinds.is_on(cpu))
    }

    /// Whether the CPU is on and has nothing to do, and no thread is bound for it.
    pub(super) fn is_idle(&self, cpu: CpuId) -> bool {
        let here = &self.cpus[cpu.0 as usize];
        here.idle && here.awaits == 0 && self.kinds.is_on(cpu)
    }

    /// Whether no thread has the CPU.
    pub(super) fn is_free(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.0 as usize].current.is_none()
    }

    pub(super) fn load(&self, cpu: CpuId) -> u32 {
        self.cpus[cpu.0 as usize].load
    }

    /// Records that the thread is to go to the CPU.
    pub(super) fn bind(&mut self, id: ThreadId, to: CpuId) {
        self.unbind(id);
        self.thread_mut(id).bound_for = Some(to);
        self.cpu(to).awaits += 1;
    }

    fn unbind(&mut self, id: ThreadId) {
        if let Some(to) = self.thread_mut(id).bound_for.take() {
            self.cpu(to).awaits -= 1;
        }
    }

    /// Records that the thread is in no queue any more.
    fn leaves(&mut self, id: ThreadId) {
        let Some(cpu) = self.thread_mut(id).at.take() else { return };
        let here = self.cpu(cpu);
        here.load -= 1;
        if here.current == Some(id) {
            here.current = None;
        }
    }

    fn mark(&mut self, id: ThreadId, marked: bool) {
        let thread = self.thread_mut(id);
        let (was, app, runnable) = (std::mem::replace(&mut thread.marked, marked), thread.app, thread.runnable);
        if was != marked && runnable {
            let app = self.app(app);
            app.marked = if marked { app.marked + 1 } else { app.marked - 1 };
        }
    }

    fn can_run(&mut self, id: ThreadId, more: bool) {
        let thread = self.thread_mut(id);
        thread.runnable = more;
        let app = thread.app;
        let app = self.app(app);
        if more {
            app.runnable += 1;
            self.runnable.insert(id);
        } else {
            app.runnable -= 1;
            self.runnable.remove(id);
        }
    }

    /// Updates the board by an event.
    pub(super) fn follow(&mut self, now: u64, event: &Event) {
        match event {
            Event::Born(id, born) => {
                let at = id.0 as usize;
                if self.threads.len() <= at {
                    self.threads.resize_with(at + 1, || None);
                }
                self.app(born.app).alive += 1;
                self.threads[at] = Some(Thread {
                    app: born.app,
                    affinity: born.affinity.clone(),
                    runnable: false,
                    at: None,
                    bound_for: None,
                    marked: false,
                    speedup: born.speedup.unwrap_or(1000),
                    was_fast: 0,
                });
            }
            Event::Wake(id) => self.can_run(*id, true),
            Event::Placed(id, cpu) => {
                self.unbind(*id);
                self.leaves(*id);
                self.thread_mut(*id).at = Some(*cpu);
                let here = self.cpu(*cpu);
                (here.load, here.idle) = (here.load + 1, false);
            }
            Event::Runs(id, cpu) => {
                let here = self.cpu(*cpu);
                (here.current, here.idle) = (Some(*id), false);
                if self.kinds.is_fast(*cpu) {
                    self.thread_mut(*id).was_fast = now;
                }
            }
            Event::Yields(id) => self.leaves(*id),
            Event::Block(id) | Event::Exit(id) => self.stops(*id, matches!(event, Event::Exit(_))),
            Event::Notice(id, Notice::Master) => {
                let app = self.thread(*id).app;
                self.app(app).master = Some(*id);
            }
            Event::Notice(id, notice) => self.mark(*id, *notice == Notice::Spinning),
            Event::Affinity(id, affinity) => {
                self.thread_mut(*id).affinity = affinity.clone();
                if self.thread(*id).bound_for.is_some_and(|to| !affinity.has(to)) {
                    self.unbind(*id);
                }
            }
            Event::Idle(cpu) => self.cpu(*cpu).idle = true,
            Event::Online(cpu, on) => {
                self.kinds.set_online(*cpu, *on);
                let here = self.cpu(*cpu);
                here.idle = *on && here.load == 0;
                if !on {
                    self.gives_up(*cpu);
                }
            }
            Event::Speed(cpu, speed) => self.kinds.set_speed(*cpu, *speed),
            Event::Waits(..) | Event::Lock(..) | Event::Period => {}
        }
    }

    /// Cancels all moves to a CPU.
    fn gives_up(&mut self, cpu: CpuId) {
        let bound = |id: &ThreadId| self.thread(*id).bound_for == Some(cpu);
        let bound: Vec<ThreadId> = self.runnable.iter().copied().filter(bound).collect();
        bound.into_iter().for_each(|id| self.unbind(id));
    }

    fn stops(&mut self, id: ThreadId, ends: bool) {
        // A sleeping thread does not spin.
        self.mark(id, false);
        self.unbind(id);
        self.leaves(id);
        self.can_run(id, false);
        if ends {
            let app = self.thread(id).app;
            let app = self.app(app);
            app.alive -= 1;
            app.master = app.master.filter(|&master| master != id);
            self.threads[id.0 as usize] = None;
        }
    }
}
