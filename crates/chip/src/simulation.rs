//! A simulation from the host's side: make it, set up guest data, add guest threads, run it, and
//! read the results.

use crate::base::queue::EventQueue;
use crate::base::random::{Purpose, Random};
use crate::base::stop::Stop;
use crate::base::thread::OUTSIDE;
use crate::clock::domain::Clocks;
use crate::contexts::Contexts;
use crate::core::instructions::Instructions;
use crate::core::window::Window;
use crate::device::Device;
use crate::device::attached::Devices;
use crate::engine::current::Entered;
use crate::engine::locks::{LockLog, Watch};
use crate::engine::state::{Bounds, Cores, Engine, EngineCounts, Log, Step};
use crate::guest::memory::GuestMemory;
use crate::guest::stack::STACK;
use crate::kernel;
use crate::machine::Guest;
use crate::machine::routines::{ROUTINES, Routines, create};
use crate::os::app::Spawn;
use crate::os::app::{App, AppState, Application};
use crate::os::futex::layout::Layout;
use crate::os::refused::{Refused, check_clock};
use crate::os::state::Os;
use crate::outcome::{Outcome, Stuck};
use baton_chipfile::config::coherent::Atomics;
use baton_chipfile::config::mechanism::Mechanisms;
use baton_chipfile::config::{Chip, CoresByKind};
use baton_machine::Local;
use baton_memory::phases::state::PhaseMemory;
use baton_memory::{Memory, MemorySystem};
use baton_sched::governor::{Governed, Governor};
use baton_sched::{Cpus, Params, Scheduler};
use baton_trace::TraceBuilder;
use baton_units::{CoreId, Cycles, Hertz};
use corosensei::CoroutineResult;
use std::cell::RefCell;
use std::ptr::NonNull;
use std::rc::Rc;

/// The settings of a simulation besides its chip.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed of all random numbers of the run.
    pub seed: u64,
    /// The number of CPUs in use, from CPU 0 on ([`Chip::core_of`] says on which cores they are);
    /// `None` for all of the chip's.
    pub cpus: Option<u32>,
    /// The time at which the run is cut off; `None` for no time limit.
    pub limit: Option<Cycles>,
    /// Lets another host thread end the run; the outcome then is that of a run that was cut off.
    pub stop: Option<Stop>,
    /// Cuts the run off at the first timer, alarm of the policy or decision of the governor after
    /// this number of events; `None` for no bound. Without it, a program in which nothing else
    /// happens is simulated time slice by time slice, however long it is.
    pub events: Option<u64>,
    /// Whether the events that guests record are kept.
    pub record: bool,
    /// Whether changes of lock words are kept for [`Simulation::lock_log`]: words on which a lock's
    /// hinted atomic was done.
    pub watch_locks: bool,
    /// The number of bytes of the guests' heap.
    pub heap_bytes: usize,
    /// The most threads that can live at one time.
    pub threads: usize,
    /// Whether an operation is finished at once if nothing happens before its end. Changes no
    /// result, which a test checks.
    pub run_ahead: bool,
    /// Whether tries that cannot succeed are counted instead of simulated. Changes no result, which
    /// a test checks.
    pub skip_tries: bool,
    /// The algorithm's own instructions, charged between accesses on a chip that has a `core.width`.
    pub instructions: Instructions,
    /// The share (0 to 1) of the time of [`work`](baton_machine::Machine::work) at the chip's
    /// fastest clock that waits for memory, and so takes as long at any other clock.
    pub memory_bound: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            seed: 1,
            cpus: None,
            limit: None,
            stop: None,
            events: None,
            record: false,
            watch_locks: false,
            heap_bytes: 64 << 20,
            threads: 1024,
            run_ahead: true,
            skip_tries: true,
            instructions: Instructions::default(),
            memory_bound: 0.0,
        }
    }
}

/// A simulated chip with its guests. It stays on the host thread that made it.
pub struct Simulation {
    engine: NonNull<Engine>,
    routines: RefCell<Routines>,
    /// That nothing outside of the simulation owns guest memory ([`Simulation::discard`]).
    unowned: bool,
}

/// That cells may be shared between host threads rests on simulations that may not
/// ([`SimulatedAtomic`](crate::machine::cell::SimulatedAtomic)). If `Simulation` were `Send`, the
/// last line would be ambiguous.
const _: fn() = || {
    trait Stays<A> {
        fn here() {}
    }
    impl<T> Stays<()> for T {}
    impl<T: Send> Stays<u8> for T {}
    let _ = <Simulation as Stays<_>>::here;
};

/// Makes a simulation the current one of this host thread, until this is dropped.
struct Inside {
    _entered: Entered,
    routines: Option<NonNull<RefCell<Routines>>>,
}

impl Drop for Inside {
    fn drop(&mut self) {
        ROUTINES.set(self.routines);
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
        let stacks = options.threads * STACK;
        let guest =
            GuestMemory::reserve(layout.end, options.heap_bytes, stacks, chip.cache.line_bytes.trailing_zeros())
                .map_err(no_memory)?;
        let first_stack = guest.arena.size() - stacks;
        let random = Random::new(options.seed, Purpose::Latency);
        let mut memory =
            MemorySystem::new(chip, guest.lines(), random).map_err(|error| Refused::Chip(error.to_string()))?;
        let contexts: Vec<CoreId> = (0..cpus).map(|cpu| chip.core_of(cpu)).collect();
        let kinds = CoresByKind::new(chip);
        let mut clocks = Clocks::of(chip, &kinds);
        clocks.set_memory_bound(options.memory_bound);
        for core in (0..chip.core.count).map(CoreId) {
            memory.set_clock(core, clocks.ratio(core));
        }
        let atomics = chip.coherent.as_ref().map(|coherent| coherent.atomics);
        let cores = Cores {
            contexts: Contexts::of(chip, &kinds),
            clocks,
            windows: contexts.iter().map(|&core| Window::of_core(chip, kinds.of(core))).collect(),
            own_instructions: Engine::charge_of(&kinds, options.instructions),
            kinds,
            links: atomics == Some(Atomics::LlSc),
            far: atomics == Some(Atomics::Far),
        };
        let stop = options.stop.clone().unwrap_or_default();
        stop.set_limit(options.limit.map_or(u64::MAX, |limit| limit.0));
        let bounds = Bounds {
            stop,
            events: options.events.unwrap_or(u64::MAX),
            run_ahead: options.run_ahead,
            skip_tries: options.skip_tries,
        };
        let mut engine = Engine {
            now: 0,
            running: OUTSIDE,
            above: kernel::ABOVE,
            queue: EventQueue::new(),
            threads: Vec::new(),
            bounds,
            memory,
            notices: Vec::new(),
            os: Os::new(chip, &cores.kinds, &contexts, layout, options.seed),
            phases: PhaseMemory::of(chip).map_err(Refused::Chip)?,
            cores,
            guest,
            devices: Devices::of(chip, cpus),
            meter: Default::default(),
            chip: chip.clone(),
            log: Log { record: options.record.then(Vec::new), watch: Watch::new(options.watch_locks) },
            counts: EngineCounts::default(),
            spurious: Random::new(options.seed, Purpose::Spurious),
            outside: Box::new(Local::new(0)),
            mechanism: chip.coherent.as_ref().map_or_else(Mechanisms::default, |coherent| coherent.mechanisms).active(),
        };
        for &core in chip.os.off.cores.iter().filter(|&&core| core < cpus) {
            // No thread lives yet, so none can be left without a CPU.
            engine.set_online(CoreId(core), false)?;
        }
        if !engine.os.cpus.iter().any(|cpu| cpu.online) {
            return Err(Refused::AllOff { cpus, place: chip.os.off.place.clone(), off: chip.os.off.text() });
        }
        engine.begin_governing();
        Ok(Simulation {
            engine: NonNull::from(Box::leak(Box::new(engine))),
            routines: RefCell::new(Routines { all: Vec::new(), free_stacks: Vec::new(), next_stack: first_stack }),
            unowned: false,
        })
    }

    /// Changes a core's clock during the run: the change is requested at the time `at`, and the
    /// core has the new clock `core.clock_latency` later.
    ///
    /// # Errors
    /// [`Refused::Clock`] for a core that the chip does not have, or a clock below a
    /// megahertz or above the chip's.
    pub fn set_clock(&mut self, at: Cycles, core: CoreId, clock: Hertz) -> Result<(), Refused> {
        let engine = self.engine();
        check_clock(&engine.chip, core, clock)?;
        engine.change_clock_at(at.0, core, clock);
        Ok(())
    }

    /// Switches all contexts of a core off or on at the time `at`; threads that run or wait there
    /// move to other cores. If that would leave a thread without a CPU, the core stays as it is,
    /// and [`Outcome::refused`] says so.
    ///
    /// # Errors
    /// [`Refused::Cores`] for a core that is not in use.
    pub fn set_online(&mut self, at: Cycles, core: CoreId, online: bool) -> Result<(), Refused> {
        let engine = self.engine();
        if !engine.os.cpus.iter().any(|cpu| cpu.core == core) {
            let (chip, asked) = (engine.chip.name.clone(), core.0.saturating_add(1));
            return Err(Refused::Cores { chip, asked, has: engine.os.cpus.len() as u32 });
        }
        engine.switch_at(at.0, core, online);
        Ok(())
    }

    /// Replaces the devices that the chip file names by as many of the caller's, which are attached
    /// to the chip in the same places.
    ///
    /// # Panics
    /// If `devices` has more or fewer devices than the chip.
    pub fn replace_devices(&mut self, devices: Vec<Box<dyn Device>>) {
        let engine = self.engine();
        let count = engine.chip.devices.as_ref().map_or(0, |devices| devices.count as usize);
        assert_eq!(devices.len(), count, "the chip file has {count} device(s) (device.count)");
        if let Some(attached) = &mut engine.devices {
            attached.replace(devices);
        }
    }

    /// Replaces the scheduling policy that the chip file names by one of the caller's.
    ///
    /// # Panics
    /// If a guest thread has been spawned, because the new policy would not know of it.
    pub fn replace_policy(&mut self, make: &dyn Fn(&Cpus, &Params) -> Box<dyn Scheduler>) {
        self.engine().replace_policy(make);
    }

    /// Replaces the governor that the chip file names (`os.governor`) by one of the caller's, which
    /// results call `name`.
    ///
    /// # Panics
    /// If the chip has no governor.
    pub fn replace_governor(&mut self, name: &'static str, make: &dyn Fn(&Governed) -> Box<dyn Governor>) {
        self.engine().replace_governor(name, make);
    }

    /// The memory system, for tests that break it.
    #[cfg(all(test, debug_assertions))]
    pub(crate) fn memory(&mut self) -> &mut MemorySystem {
        &mut self.engine().memory
    }

    /// The engine, for code of the host that runs no guest meanwhile.
    #[inline(always)]
    fn engine(&mut self) -> &mut Engine {
        // SAFETY: the engine lives as long as `self`, and the host's side, which alone has `&mut
        // self`, uses the reference only while no guest runs.
        unsafe { self.engine.as_mut() }
    }

    fn enter(&self) -> Inside {
        // SAFETY: the engine lives as long as `self`, which outlives the guard. No method holds a reference to the
        // engine while it resumes a guest or calls code of the host.
        let entered = unsafe { Entered::new(self.engine) };
        Inside { _entered: entered, routines: ROUTINES.replace(Some(NonNull::from(&self.routines))) }
    }

    /// Runs `f` outside of guest code: `f` can allocate, read and write guest memory, and nothing
    /// takes time.
    pub fn outside<R>(&mut self, f: impl FnOnce() -> R) -> R {
        let _inside = self.enter();
        f()
    }

    /// Adds a guest thread, whose code is `f`; [`Simulation::run`] runs it.
    pub fn spawn(&mut self, spawn: Spawn, f: impl FnOnce() + 'static) -> Result<Guest, Refused> {
        let _inside = self.enter();
        create(spawn, Box::new(f))
    }

    /// Adds an application; its first thread runs `main`, once for each of the application's runs.
    /// If an application with a later start cannot begin then, [`Outcome::refused`] says why.
    pub fn application(&mut self, application: Application, main: impl Fn() + 'static) -> Result<App, Refused> {
        let _inside = self.enter();
        let Application { name, runs, start, main: spawn } = application;
        let main: Rc<dyn Fn()> = Rc::new(main);
        let engine = self.engine();
        let app = App(engine.os.apps.len() as u32);
        let spawn = Spawn { app: Some(app), ..spawn };
        engine.add_app(AppState::new(name, runs, start, Some((spawn.clone(), main.clone()))));
        if start.0 > engine.now {
            engine.arrives_at(start.0, app);
        } else {
            create(spawn, Box::new(move || main()))?;
        }
        Ok(app)
    }

    /// Runs until every thread has ended, until only applications are left that the run does not
    /// wait for ([`Runs`](crate::Runs)), or until a limit of [`Options`] cuts the run off.
    ///
    /// # Errors
    /// [`Stuck`] when threads are left that nothing will ever wake.
    ///
    /// # Panics
    /// If a guest panics, with the guest's panic.
    pub fn run(&mut self) -> Result<Outcome, Stuck> {
        let _inside = self.enter();
        loop {
            match self.engine().step() {
                Step::Handled => {}
                Step::Resume(id) => {
                    if self.resume(id) {
                        let engine = self.engine();
                        // The run ends when only applications are left that it does not wait for.
                        if engine.os.lives_on() && engine.apps_are_through() {
                            return Ok(Outcome::read(engine, true));
                        }
                    }
                }
                Step::Arrival(app) => self.arrives(app),
                Step::Limit => return Ok(Outcome::read(self.engine(), false)),
                Step::Silence => return self.falls_silent(),
            }
        }
    }

    /// Nothing will ever happen again: the run is over, or the threads that have not ended are
    /// stuck.
    fn falls_silent(&mut self) -> Result<Outcome, Stuck> {
        let engine = self.engine();
        if engine.os.alive != 0 {
            return Err(Stuck::read(engine));
        }
        if cfg!(debug_assertions) {
            engine.memory.check_idle();
        }
        Ok(Outcome::read(engine, true))
    }

    /// Creates the first thread of an application that begins during the run.
    fn arrives(&mut self, app: App) {
        if let Some((spawn, main)) = self.engine().app_main(app)
            && let Err(refused) = create(spawn, Box::new(move || main()))
        {
            self.engine().app_refused(app, refused);
        }
    }

    /// Lets a guest run until it suspends. Returns whether its thread has ended.
    #[inline]
    fn resume(&mut self, id: u32) -> bool {
        self.engine().running = id;
        let routine = self.routines.borrow().all[id as usize];
        let Some(mut routine) = routine else { unreachable!("thread {id} ended and is resumed") };
        // SAFETY: the coroutine was boxed and leaked when it was created, and is freed below after
        // it has ended; only this function resumes it.
        let returned = matches!(unsafe { routine.as_mut() }.resume(()), CoroutineResult::Return(()));
        let killed = !returned && self.engine().threads[id as usize].os.dead;
        if killed {
            // SAFETY: the killed guest never runs again: its frames are forgotten, as if it had
            // never returned. Nothing refers to them, since its waits, its stores and its requests
            // are over. What the frames own is leaked.
            unsafe { routine.as_mut().force_reset() };
        }
        let ended = returned || killed;
        if ended {
            let engine = self.engine();
            engine.exited(id);
            #[cfg(debug_assertions)]
            engine.check();
            let mut routines = self.routines.borrow_mut();
            routines.all[id as usize] = None;
            // SAFETY: the coroutine comes from a leaked box, has returned or was reset, and nothing
            // refers to it any more.
            let routine = unsafe { Box::from_raw(routine.as_ptr()) };
            routines.free_stacks.push(routine.into_stack().offset);
            drop(routines);
            let again = self.engine().app_exits(id);
            if again.is_some() {
                // Signal handlers may own guest memory, and freeing it needs the engine: so the
                // actions are dropped while no reference to the engine is held.
                let actions = self.engine().take_actions(id);
                drop(actions);
            }
            if let Some((spawn, main)) = again
                && let Err(refused) = create(spawn, Box::new(move || main()))
            {
                unreachable!("the stack of the thread that has just ended is free, and it ran there: {refused}");
            }
        } else {
            self.engine().running = OUTSIDE;
        }
        ended
    }

    /// The changes of lock words ([`Options::watch_locks`]) and what threads did while they waited
    /// for locks, since the last call.
    pub fn lock_log(&mut self) -> LockLog {
        let engine = self.engine();
        let waits =
            engine.threads.iter_mut().map(|thread| std::mem::take(&mut thread.stats.timeline.stretches)).collect();
        LockLog { changes: engine.log.watch.take(), waits }
    }

    /// The recorded events as a trace. Threads are numbered in the order of their creation.
    pub fn into_trace(mut self) -> baton_trace::Trace {
        self.take_trace()
    }

    /// Like [`Simulation::into_trace`]; the simulation has no recorded events afterwards.
    pub fn take_trace(&mut self) -> baton_trace::Trace {
        let engine = self.engine();
        let mut trace = TraceBuilder::new(baton_trace::Clock::simulated(engine.chip.core.clock));
        for thread in &engine.threads {
            trace.thread(&thread.name);
        }
        for event in engine.log.record.take().into_iter().flatten() {
            trace.push(event.time, event.thread, event.what);
        }
        trace.build()
    }

    /// Drops the simulation with all of its guest memory, also what guests own that were cut off.
    /// A simulation that is just dropped keeps that memory for as long as the process lives, since
    /// values outside of the simulation may own some of it.
    ///
    /// # Safety
    /// Nothing outside of the simulation may own guest memory, or refer to any, afterwards.
    pub unsafe fn discard(mut self) {
        self.unowned = true;
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        for routine in self.routines.get_mut().all.drain(..).flatten() {
            // SAFETY: the coroutine comes from a leaked box and does not run.
            let mut routine = unsafe { Box::from_raw(routine.as_ptr()) };
            // SAFETY: the guest never runs again: its frames are forgotten, as if it had never
            // returned. What they own is leaked; if that includes guest memory, the arena stays
            // mapped (below).
            unsafe { routine.force_reset() };
        }
        // SAFETY: the engine comes from a leaked box, and no guest is left to use it.
        let engine = unsafe { Box::from_raw(self.engine.as_ptr()) };
        let (arena, given) = (engine.guest.arena.clone(), engine.guest.heap.given());
        let held = engine.guest.heap.live != 0 && !self.unowned;
        // What applications own lies in the arena, so that the engine goes before the arena.
        drop(engine);
        if held {
            // Values outside of the simulation may still own guest memory: it stays mapped for ever
            // rather than dangle. SAFETY: behind what the heap gave out lie only memory that it
            // never gave out and the stacks, whose guests are gone.
            unsafe { arena.keep(given) };
        }
    }
}
