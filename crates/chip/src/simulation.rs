//! A simulation from the host's side: make it, set up guest data, start guest threads, run, read what came out.

use crate::clock::Clocks;
use crate::clock::change::SLOWEST;
use crate::config::Chip;
use crate::config::coherent::Atomics;
use crate::config::ocor::Ocor;
use crate::contexts::Contexts;
use crate::core::drain::drain;
use crate::core::instructions::Instructions;
use crate::core::window::Window;
use crate::device::Device;
use crate::device::attached::Devices;
use crate::engine::current::{Entered, with};
use crate::engine::locks::{LockLog, Watch};
use crate::engine::queue::EventQueue;
use crate::engine::thread::OUTSIDE;
use crate::engine::{Engine, EngineCounts, Step};
use crate::guest::arena::{Arena, PAGE};
use crate::guest::heap::Heap;
use crate::guest::stack::{GuestStack, STACK};
use crate::machine::guest::{Guest, Spawn};
use crate::memory::lines::Sparse;
use crate::memory::{Memory, MemorySystem};
use crate::os::Cpu;
use crate::os::app::{App, AppState, Application, Runs};
use crate::os::futex::{Futexes, layout::Layout};
use crate::os::policy::Policy;
use crate::outcome::{Outcome, Stuck};
use crate::random::{Purpose, Random};
use baton_machine::Local;
use baton_trace::TraceBuilder;
use baton_units::{CoreId, Cycles, Hertz};
use corosensei::{Coroutine, CoroutineResult};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use thiserror::Error;

/// What a simulation is, beside its chip.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed of the one generator.
    pub seed: u64,
    /// CPUs in use, the first so many ([`Chip::core_of`] says which cores those are); `None`: all of the chip's.
    pub cpus: Option<u32>,
    /// Ends the run at this moment; `None`: when every thread has ended.
    pub limit: Option<Cycles>,
    /// Keep the events that guests record.
    pub record: bool,
    /// Keep every change of words that a lock's hinted atomic was done on, for [`Simulation::lock_log`].
    pub watch_locks: bool,
    /// Bytes of guest heap.
    pub heap_bytes: usize,
    /// Threads at most, all that ever live counted once.
    pub threads: usize,
    /// Finish operations at once where nothing comes before them. Changes no result: a test compares.
    pub run_ahead: bool,
    /// Count tries that cannot succeed without simulating them. Changes no result: a test compares.
    pub skip_tries: bool,
    /// The algorithm's own instructions, charged between accesses on a chip that has a `core.width`.
    pub instructions: Instructions,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            seed: 1,
            cpus: None,
            limit: None,
            record: false,
            watch_locks: false,
            heap_bytes: 64 << 20,
            threads: 1024,
            run_ahead: true,
            skip_tries: true,
            instructions: Instructions::default(),
        }
    }
}

/// A simulation that cannot be made, or a thread that cannot be added.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refused {
    /// More cores asked for than there are.
    #[error("{asked} CPUs asked for; chip `{chip}` has {has} (core.count times core.contexts)")]
    Cores {
        /// The chip.
        chip: String,
        /// How many were asked for.
        asked: u32,
        /// How many it has.
        has: u32,
    },
    /// A thread that may run nowhere.
    #[error("thread `{thread}` may run only on cores {cores:?} and CPUs {cpus:?}; {has} CPUs are in use")]
    Affinity {
        /// The thread.
        thread: String,
        /// Cores that it may run on.
        cores: Vec<u32>,
        /// CPUs that it may run on beside these.
        cpus: Vec<u32>,
        /// CPUs in use.
        has: u32,
    },
    /// A clock that a core cannot have.
    #[error(
        "core {core} cannot have a clock of {clock}; expected a core from 0 to {last} and from {SLOWEST} to {most} (core.clock_hz)"
    )]
    Clock {
        /// The core.
        core: u32,
        /// What was asked for.
        clock: Hertz,
        /// The last core.
        last: u32,
        /// The fastest.
        most: Hertz,
    },
    /// A thread cannot change clocks.
    #[error("chip `{0}` has no core.clock_change: no thread can change a core's clock")]
    ClockIsFixed(String),
    /// A thread that may run only where cores are off.
    #[error("thread `{thread}` may run only on cores {cores:?}, which are off: {place}")]
    Off {
        /// The thread.
        thread: String,
        /// Cores that it may run on.
        cores: Vec<u32>,
        /// Who switched them off: file, line and key, where it was the chip file.
        place: String,
    },
    /// All CPUs in use are off.
    #[error("all of the {cpus} CPUs in use are off: {place}: key `os.off` is {off}; expected one of them to be on")]
    AllOff {
        /// How many are in use.
        cpus: u32,
        /// File and line.
        place: String,
        /// What stands there.
        off: String,
    },
    /// No room for another stack.
    #[error("no room for more than {0} guest threads (Options::threads)")]
    Threads(usize),
    /// The chip's memory system cannot be built.
    #[error("the chip's memory system cannot be built: {0}")]
    Chip(String),
    /// The host gave no address space.
    #[error("the host has no address space for the simulated memory: {0}")]
    Memory(String),
}

type Routine = Coroutine<(), (), (), GuestStack>;

/// Coroutines and stacks; apart from the engine, as guests run while these are in use.
struct Routines {
    all: Vec<Option<NonNull<Routine>>>,
    free_stacks: Vec<usize>,
    next_stack: usize,
}

/// A simulated chip with its guests.
pub struct Simulation {
    engine: NonNull<Engine>,
    routines: RefCell<Routines>,
}

thread_local! {
    static ROUTINES: std::cell::Cell<Option<NonNull<RefCell<Routines>>>> = const { std::cell::Cell::new(None) };
}

/// Makes a simulation current on this host thread.
struct Inside {
    _entered: Entered,
    routines: Option<NonNull<RefCell<Routines>>>,
}

impl Drop for Inside {
    fn drop(&mut self) {
        ROUTINES.set(self.routines);
    }
}

impl Chip {
    pub(crate) fn check_clock(&self, core: CoreId, clock: Hertz) -> Result<(), Refused> {
        let most = self.core.clock;
        if core.0 < self.core.count && (SLOWEST..=most).contains(&clock) {
            return Ok(());
        }
        Err(Refused::Clock { core: core.0, clock, last: self.core.count - 1, most })
    }
}

impl Simulation {
    /// A chip at time 0 with no guests.
    pub fn new(chip: &Chip, options: &Options) -> Result<Simulation, Refused> {
        let cpus = options.cpus.unwrap_or(chip.cpus());
        if cpus == 0 || cpus > chip.cpus() {
            return Err(Refused::Cores { chip: chip.name.clone(), asked: cpus, has: chip.cpus() });
        }
        let no_memory = |error: std::io::Error| Refused::Memory(error.to_string());
        let layout = Layout::new(chip, options.threads);
        let heap = layout.end + options.heap_bytes.next_multiple_of(PAGE);
        let arena = Arena::reserve(heap + options.threads * STACK).map_err(no_memory)?;
        arena.open(0, heap).map_err(no_memory)?;
        let line_shift = chip.cache.line_bytes.trailing_zeros();
        let lines = (arena.size() >> line_shift) + 1;
        // SAFETY: both are arrays of integers.
        let (watchers, writers) = unsafe { (Sparse::new(lines), Sparse::new(arena.size() / 8 + 1)) };
        let random = Random::new(options.seed, Purpose::Latency);
        let mut memory = MemorySystem::new(chip, lines, random).map_err(|error| Refused::Chip(error.to_string()))?;
        let contexts: Vec<CoreId> = (0..cpus).map(|cpu| chip.core_of(cpu)).collect();
        let clocks = Clocks::of(chip);
        for core in (0..chip.core.count).map(CoreId) {
            memory.set_clock(core, clocks.ratio(core));
        }
        let atomics = chip.coherent.as_ref().map(|coherent| coherent.atomics);
        let mut engine = Engine {
            now: 0,
            running: OUTSIDE,
            queue: EventQueue::new(),
            threads: Vec::new(),
            cpus: contexts.iter().map(|&core| Cpu::new(core)).collect(),
            policy: Policy::new(chip, &contexts),
            apps: vec![AppState::new(String::new(), Runs::Times(1), None)],
            switches: Default::default(),
            quiet: None,
            memory,
            clocks,
            meter: Default::default(),
            devices: Devices::of(chip, cpus),
            notices: Vec::new(),
            limit: options.limit.map_or(u64::MAX, |limit| limit.0),
            run_ahead: options.run_ahead,
            skip_tries: options.skip_tries,
            base: arena.start(),
            line_shift,
            heap: Heap::new(layout.end, heap),
            watchers: watchers.map_err(no_memory)?,
            writers: writers.map_err(no_memory)?,
            futexes: Futexes::new(),
            wake_up: None,
            layout,
            numbers: Vec::new(),
            start_noise: Random::new(options.seed, Purpose::Start),
            spurious: Random::new(options.seed, Purpose::Spurious),
            halted: Vec::new(),
            contexts: Contexts::of(chip),
            outside: Box::new(Local::new(0)),
            free_numbers: BTreeSet::new(),
            alive: 0,
            counts: EngineCounts::default(),
            record: options.record.then(Vec::new),
            watch: Watch::new(options.watch_locks),
            ocor: chip.coherent.as_ref().map_or_else(Ocor::default, |coherent| coherent.ocor),
            windows: vec![Window::of(chip); cpus as usize],
            links: atomics == Some(Atomics::LlSc),
            far: atomics == Some(Atomics::Far),
            own_instructions: Engine::charge_of(chip.core.width, options.instructions),
            chip: chip.clone(),
            arena,
        };
        for &core in chip.os.off.cores.iter().filter(|&&core| core < cpus) {
            // No thread lives yet: nobody can be left without a CPU.
            engine.set_online(CoreId(core), false)?;
        }
        if !engine.cpus.iter().any(|cpu| cpu.online) {
            return Err(Refused::AllOff { cpus, place: chip.os.off.place.clone(), off: chip.os.off.text() });
        }
        Ok(Simulation {
            engine: NonNull::from(Box::leak(Box::new(engine))),
            routines: RefCell::new(Routines { all: Vec::new(), free_stacks: Vec::new(), next_stack: heap }),
        })
    }

    /// Has a core's clock change at a time: it is asked for then, and the core has it `core.clock_latency` later.
    ///
    /// # Errors
    /// [`Refused::Clock`] for a core that is not there, or a clock that is not from a megahertz to the chip's.
    pub fn set_clock(&mut self, at: Cycles, core: CoreId, clock: Hertz) -> Result<(), Refused> {
        // SAFETY: the engine lives as long as `self`, and no guest runs.
        let engine = unsafe { self.engine.as_mut() };
        engine.chip.check_clock(core, clock)?;
        engine.change_clock_at(at.0, core, clock);
        Ok(())
    }

    /// Has all contexts of a core switched off or on at a time; threads that run or wait there go elsewhere. What would leave a
    /// thread without a CPU when the time comes is not done, and stands in [`Outcome::refused`].
    ///
    /// # Errors
    /// [`Refused::Cores`] for a core that is not in use.
    pub fn set_online(&mut self, at: Cycles, core: CoreId, online: bool) -> Result<(), Refused> {
        // SAFETY: the engine lives as long as `self`, and no guest runs.
        let engine = unsafe { self.engine.as_mut() };
        if !engine.cpus.iter().any(|cpu| cpu.core == core) {
            let (chip, asked) = (engine.chip.name.clone(), core.0.saturating_add(1));
            return Err(Refused::Cores { chip, asked, has: engine.cpus.len() as u32 });
        }
        engine.switch_at(at.0, core, online);
        Ok(())
    }

    /// Puts devices of the caller's own in the place of those that the chip file names; they hang where those would, and
    /// there are as many.
    ///
    /// # Panics
    /// If there are more or fewer, or the chip has none.
    pub fn replace_devices(&mut self, devices: Vec<Box<dyn Device>>) {
        // SAFETY: the engine lives as long as `self`, and no guest runs.
        let engine = unsafe { self.engine.as_mut() };
        let count = engine.chip.devices.as_ref().map_or(0, |devices| devices.count as usize);
        assert_eq!(devices.len(), count, "the chip file has {count} device(s) (device.count)");
        if let Some(attached) = &mut engine.devices {
            attached.replace(devices);
        }
    }

    /// The memory system, for tests that break it.
    #[cfg(test)]
    pub(crate) fn memory(&mut self) -> &mut MemorySystem {
        // SAFETY: the engine lives as long as `self`, and no guest runs.
        &mut unsafe { self.engine.as_mut() }.memory
    }

    fn enter(&self) -> Inside {
        // SAFETY: the engine lives as long as `self`, which outlives the guard, and is used only through `current`.
        let entered = unsafe { Entered::new(self.engine) };
        Inside { _entered: entered, routines: ROUTINES.replace(Some(NonNull::from(&self.routines))) }
    }

    /// Runs `f` as the simulation's outside: guest memory can be allocated, read and written, and nothing takes time.
    pub fn outside<R>(&mut self, f: impl FnOnce() -> R) -> R {
        let _inside = self.enter();
        f()
    }

    /// Adds a thread; it runs with [`Simulation::run`].
    pub fn spawn(&mut self, spawn: Spawn, f: impl FnOnce() + 'static) -> Result<Guest, Refused> {
        let _inside = self.enter();
        create(spawn, Box::new(f))
    }

    /// Adds an application; its first thread runs `main`, once for each of its runs.
    pub fn application(&mut self, application: Application, main: impl Fn() + 'static) -> Result<App, Refused> {
        let _inside = self.enter();
        let Application { name, runs, main: spawn } = application;
        let main: Rc<dyn Fn()> = Rc::new(main);
        let app = with(|engine| {
            let app = App(engine.apps.len() as u32);
            let spawn = Spawn { app: Some(app), ..spawn };
            engine.add_app(AppState::new(name, runs, Some((spawn.clone(), main.clone()))));
            (app, spawn)
        });
        create(app.1, Box::new(move || main()))?;
        Ok(app.0)
    }

    /// Runs until every thread has ended, or to the time limit, or until only background applications are left.
    ///
    /// # Errors
    /// [`Stuck`] when threads are left that nothing will ever wake.
    ///
    /// # Panics
    /// With a guest's own panic.
    pub fn run(&mut self) -> Result<Outcome, Stuck> {
        let _inside = self.enter();
        loop {
            match with(Engine::step) {
                Step::Handled => {}
                Step::Resume(id) => {
                    // Only background applications are left.
                    let through = |engine: &mut Engine| engine.alive != 0 && engine.apps_are_through();
                    if self.resume(id) && with(through) {
                        return Ok(with(|engine| Outcome::read(engine, true)));
                    }
                }
                Step::Limit => return Ok(with(|engine| Outcome::read(engine, false))),
                Step::Silence if with(|engine| engine.alive) == 0 => {
                    if cfg!(debug_assertions) {
                        with(|engine| engine.memory.check_idle());
                    }
                    return Ok(with(|engine| Outcome::read(engine, true)));
                }
                Step::Silence => return Err(with(|engine| Stuck::read(engine))),
            }
        }
    }

    /// Whether the thread has ended.
    #[inline]
    fn resume(&self, id: u32) -> bool {
        with(|engine| engine.running = id);
        let routine = self.routines.borrow().all[id as usize];
        let Some(mut routine) = routine else { unreachable!("thread {id} ended and is resumed") };
        // SAFETY: boxed and leaked when it was created, freed below when it has returned; only we run it.
        let ended = matches!(unsafe { routine.as_mut() }.resume(()), CoroutineResult::Return(()));
        if ended {
            with(|engine| {
                engine.exited(id);
                #[cfg(debug_assertions)]
                engine.check();
            });
            let mut routines = self.routines.borrow_mut();
            routines.all[id as usize] = None;
            // SAFETY: it came from a leaked box, has returned, and nobody refers to it any more.
            let routine = unsafe { Box::from_raw(routine.as_ptr()) };
            routines.free_stacks.push(routine.into_stack().offset);
            drop(routines);
            if let Some((spawn, main)) = with(|engine| engine.app_exits(id))
                && let Err(refused) = create(spawn, Box::new(move || main()))
            {
                unreachable!("the stack of the thread that has just ended is free, and it ran there: {refused}");
            }
        } else {
            with(|engine| engine.running = OUTSIDE);
        }
        ended
    }

    /// What happened to lock words ([`Options::watch_locks`]), and what threads did in
    /// their waits for locks. What was taken is not given again.
    pub fn lock_log(&mut self) -> LockLog {
        // SAFETY: the engine lives as long as `self`, and no guest runs.
        let engine = unsafe { self.engine.as_mut() };
        let waits = engine.threads.iter_mut().map(|thread| std::mem::take(&mut thread.timeline.stretches)).collect();
        LockLog { changes: engine.watch.take(), waits }
    }

    /// The recorded events as a trace. Threads are numbered as they were created.
    pub fn into_trace(mut self) -> baton_trace::Trace {
        // SAFETY: no guest runs, and we own the engine.
        let engine = unsafe { self.engine.as_mut() };
        let mut trace = TraceBuilder::new(baton_trace::Clock::simulated(engine.chip.core.clock));
        for thread in &engine.threads {
            trace.thread(&thread.name);
        }
        for event in engine.record.take().into_iter().flatten() {
            trace.push(event.time, event.thread, event.what);
        }
        trace.build()
    }
}

/// Adds a thread to the current simulation.
pub(crate) fn create(spawn: Spawn, f: Box<dyn FnOnce()>) -> Result<Guest, Refused> {
    let Some(routines) = ROUTINES.get() else { panic!("a guest thread was started outside of a simulation") };
    // SAFETY: `Inside` keeps the simulation alive; the run loop does not borrow while guests run.
    let routines = unsafe { routines.as_ref() };
    let mut routines = routines.borrow_mut();
    let id = routines.all.len() as u32;
    let (arena, most) = with(|engine| (engine.arena.clone(), engine.arena.size()));
    let offset = match routines.free_stacks.pop() {
        Some(offset) => offset,
        None if routines.next_stack + STACK <= most => {
            routines.next_stack += STACK;
            routines.next_stack - STACK
        }
        None => return Err(Refused::Threads(routines.all.iter().flatten().count())),
    };
    let stack = GuestStack::open(&arena, offset).map_err(|error| Refused::Memory(error.to_string()))?;
    with(|engine| engine.add_thread(id, spawn))?;
    let routine = Routine::with_stack(stack, move |yielder, ()| {
        with(|engine| engine.threads[id as usize].yielder = yielder);
        f();
        drain();
        let local: *const Local = with(|engine| &raw const *engine.threads[id as usize].local);
        // SAFETY: boxed, and kept as long as the engine.
        unsafe { (*local).finish() };
    });
    routines.all.push(Some(NonNull::from(Box::leak(Box::new(routine)))));
    Ok(Guest(id))
}

impl Drop for Simulation {
    fn drop(&mut self) {
        for routine in self.routines.get_mut().all.drain(..).flatten() {
            // SAFETY: it came from a leaked box and does not run.
            let mut routine = unsafe { Box::from_raw(routine.as_ptr()) };
            // SAFETY: the guest is suspended for good: its frames are forgotten, as if it had never returned. What they
            // own is leaked, guest memory included, which keeps the arena below.
            unsafe { routine.force_reset() };
        }
        // SAFETY: it came from a leaked box; no guest is left to use it.
        let engine = unsafe { Box::from_raw(self.engine.as_ptr()) };
        if engine.heap.live != 0 {
            // Somebody may still hold guest memory: it stays mapped for ever rather than dangle.
            std::mem::forget(Arc::clone(&engine.arena));
        }
    }
}
