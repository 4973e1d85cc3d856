//! Threads of a runtime, or of a team without a runtime, and what they count and write for each
//! other.

use crate::world::{Scenario, Shared, World, share};
use baton_machine::Ordering::Relaxed;
use baton_machine::local::Use;
use baton_machine::{Atomic, Machine, Owned, OwnedSlice, Slot, Wait};
use baton_omp::settings::TaskQueue;
use baton_omp::tasks::{self, Clauses, Event, Group, Spare};
use baton_omp::team::{Context, League, Region, Team};
use baton_omp::waits::Waits;
use baton_omp::{Crew, Runtime, Settings};
use core::alloc::Layout;
use core::cell::RefCell;
use core::ffi::c_void;
use std::sync::Arc;

/// Number of places of a tally.
const PLACES: usize = 40;

/// Number of iterations of a loop, or of tasks: fewer in worlds that explore executions.
pub(super) fn many<W: World>() -> usize {
    (2 * W::few().rounds).min(PLACES)
}

/// What threads count and write for each other.
pub(super) struct Tally<M: Machine> {
    /// Counts by thread, iteration or task.
    each: OwnedSlice<M, M::Atomic<u32>>,
    /// Number of expectations that did not hold.
    wrong: M::Atomic<u32>,
    /// Values that one thread writes and another reads; a machine that checks reports two accesses
    /// that are not ordered.
    notes: OwnedSlice<M, M::Slot<usize>>,
    /// A word to wait for without the runtime.
    pub(super) flag: M::Atomic<u32>,
    /// The event of a detached task.
    pub(super) event: tasks::Shared<M, Event<M>>,
}

// SAFETY: that the accesses to the slots are ordered is what is tested.
unsafe impl<M: Machine> Sync for Tally<M> {}
// SAFETY: that the accesses to the slots are ordered is what is tested.
unsafe impl<M: Machine> Send for Tally<M> {}

impl<M: Machine> Tally<M> {
    pub(super) fn new(places: usize) -> Shared<M, Self> {
        let each = OwnedSlice::new(places, |_| M::Atomic::new(0));
        let notes = OwnedSlice::new(places, |_| M::Slot::new(0));
        let event = tasks::Shared::new(Event::new());
        share(Tally { each, wrong: M::Atomic::new(0), notes, flag: M::Atomic::new(0), event })
    }

    /// Adds one to a count. All orderings here are relaxed, because the code under test must order
    /// the accesses.
    pub(super) fn count(&self, at: usize) {
        self.each[at].fetch_add(1, Relaxed);
    }

    pub(super) fn counted(&self, at: usize) -> u32 {
        self.each[at].load(Relaxed)
    }

    pub(super) fn forget(&self, at: usize) {
        self.each[at].store(0, Relaxed);
    }

    pub(super) fn counts(&self, to: usize) -> Vec<u32> {
        (0..to).map(|at| self.counted(at)).collect()
    }

    pub(super) fn expect(&self, holds: bool) {
        if !holds {
            self.wrong.fetch_add(1, Relaxed);
        }
    }

    /// Writes a value for other threads.
    pub(super) fn note(&self, at: usize, value: usize) {
        // SAFETY: that no other thread accesses the slot meanwhile is what is tested.
        unsafe { self.notes[at].write(|note| *note = value) }
    }

    /// Reads a value that another thread wrote.
    pub(super) fn noted(&self, at: usize) -> usize {
        // SAFETY: that no other thread writes the slot meanwhile is what is tested.
        unsafe { self.notes[at].read(|note| *note) }
    }

    /// Checks what must hold when all threads have ended.
    pub(super) fn settle(&self, check: fn(&Tally<M>, usize), threads: usize) {
        assert_eq!(self.wrong.load(Relaxed), 0, "something was not as it must be");
        check(self, threads);
    }
}

/// What the first guest does, given a runtime and its number of threads.
pub(super) type Program<M> = fn(&Runtime<M>, u32, &Tally<M>);

/// How many steps a program has. A world that explores all executions explores fewer of a longer
/// program.
#[derive(Clone, Copy)]
pub(super) enum Steps {
    Few,
    Many,
    VeryMany,
}

/// The options with which a program's regions are run.
#[derive(Clone, Copy)]
struct How {
    threads: usize,
    wait: Wait,
    tasks: TaskQueue,
}

fn explore<W: World>(steps: Steps, plan: impl Fn() -> Scenario + Send + Sync + 'static) {
    match steps {
        Steps::Few => W::sample(plan),
        Steps::Many => W::skim(plan),
        Steps::VeryMany => W::glance(plan),
    }
}

/// Lays out a plan in which `program` runs in the first guest, with a runtime whose threads are the
/// other guests. When all have ended, `check` checks what was counted.
fn lay_out<W: World>(how: How, program: Program<W::M>, check: fn(&Tally<W::M>, usize)) -> Scenario {
    let How { threads, wait, tasks } = how;
    let tally = Tally::<W::M>::new(PLACES.min(many::<W>().max(threads) + 1));
    let crew = Crew::<W::M>::new(threads as u32 - 1, threads as u32, wait);
    let waits = Some(Waits::all(wait));
    let settings = Settings { waits, tasks, ..Settings::new(threads as u32) };
    let runtime = Arc::new(Runtime::<W::M>::new(settings, Box::new(crew.clone())));
    // The crew is dropped last, like a bare team. With three threads, the last one to leave the
    // crew frees its seats. That comes after what the others did with the seats, because of a
    // reference count, which no checker knows.
    let (counted, all, kept) = (tally.clone(), crew.clone(), crew.clone());
    let first = move || {
        program(&runtime, threads as u32, &counted);
        runtime.release();
        all.dismiss();
    };
    let other = move |seat: usize| {
        let crew = crew.clone();
        move || crew.serve(seat as u32)
    };
    Scenario::new().guest(first).guests(threads - 1, other).finally(move || {
        drop(kept);
        tally.settle(check, threads);
    })
}

/// Runs `program` with each number of threads and each wait policy of the world.
pub(super) fn everywhere<W: World>(steps: Steps, program: Program<W::M>, check: fn(&Tally<W::M>, usize)) {
    with_each::<W>(&[TaskQueue::Team], steps, program, check);
}

/// Like [`everywhere`], for programs with tasks: runs them under each queue of tasks.
pub(super) fn under_each_queue<W: World>(steps: Steps, program: Program<W::M>, check: fn(&Tally<W::M>, usize)) {
    with_each::<W>(W::TASKS, steps, program, check);
}

fn with_each<W: World>(queues: &[TaskQueue], steps: Steps, program: Program<W::M>, check: fn(&Tally<W::M>, usize)) {
    for (&threads, &tasks) in W::REGIONS.iter().flat_map(|threads| queues.iter().map(move |tasks| (threads, tasks))) {
        for &wait in W::WAITS {
            explore::<W>(steps, move || lay_out::<W>(How { threads, wait, tasks }, program, check));
        }
    }
}

/// A team without a runtime, in which each guest has its place from the beginning. The team, and
/// what its guests shared, is dropped only when all guests have ended, so that a checker that does
/// not know reference counts reports no early drop.
struct Bare<M: Machine> {
    places: Vec<Member<M>>,
    tally: Shared<M, Tally<M>>,
    _team: Owned<M, Team<M>>,
}

/// One guest's place in a bare team.
pub(super) struct Member<M: Machine> {
    pub(super) context: Context<M>,
    kept: RefCell<Vec<tasks::Shared<M, Group<M>>>>,
    /// Memory for tasks, to which the context refers.
    _spare: Arc<Spare<M>>,
}

// SAFETY: each place is used by its own guest, and at the end by one thread.
unsafe impl<M: Machine> Sync for Bare<M> {}
// SAFETY: each place is used by its own guest, and at the end by one thread.
unsafe impl<M: Machine> Send for Bare<M> {}

extern "C-unwind" fn no_region(_: *mut c_void) {}

impl<M: Machine> Bare<M> {
    fn new(settings: &Settings, wait: Wait) -> Self {
        let size = settings.icv.threads;
        let team = Team::<M>::new(size, settings);
        let region = Region {
            function: no_region,
            data: core::ptr::null_mut(),
            level: 1,
            active: 1,
            icv: settings.icv,
            shares: 0,
            ring: 0,
            barriers: 1,
            busy: core::ptr::null(),
            counted: false,
            crowd: core::ptr::null(),
            league: League::default(),
            waits: Waits::all(wait),
            in_share: false,
            binding: None,
            shown: false,
            levels: None,
            reductions: 0,
            told: None,
            outer: core::ptr::null(),
        };
        let place = |id| {
            let spare = Arc::<Spare<M>>::default();
            Member {
                context: Context::new(&team, region, id, Arc::as_ptr(&spare)),
                kept: RefCell::default(),
                _spare: spare,
            }
        };
        Bare { places: (0..size).map(place).collect(), tally: Tally::new(8), _team: team }
    }

    /// Runs what guest `id` does: its part and, if `ends`, the end of the region.
    fn take_part(&self, id: usize, part: Part<M>, ends: bool) {
        let place = &self.places[id];
        M::local().set(Use::OpenMp, core::ptr::from_ref(place).expose_provenance());
        part(place, &self.tally);
        if ends {
            place.context.join();
        }
        M::local().set(Use::OpenMp, 0);
    }
}

/// What each guest of a bare team does before the region's end.
pub(super) type Part<M> = fn(&Member<M>, &Tally<M>);

/// Lets each guest of a bare team do its `part` and meet the others at the region's end; `check`
/// then checks what was counted.
pub(super) fn bare<W: World>(part: Part<W::M>, check: fn(&Tally<W::M>, usize)) {
    in_team::<W>(Steps::Few, part, check, true, |_| {});
}

/// Like [`bare`] if `ends`, else like [`apart`], with rings of work-shares that grow.
pub(super) fn with_growing_rings<W: World>(ends: bool, part: Part<W::M>, check: fn(&Tally<W::M>, usize)) {
    in_team::<W>(Steps::Few, part, check, ends, |settings| settings.ring_growth = 1);
}

/// Like [`bare`], for parts with tasks: runs them under each queue of tasks. `steps` holds for
/// teams of more than two threads.
pub(super) fn with_tasks<W: World>(steps: Steps, part: Part<W::M>, check: fn(&Tally<W::M>, usize)) {
    W::TASKS.iter().for_each(|&tasks| in_team::<W>(steps, part, check, true, move |settings| settings.tasks = tasks));
}

/// Like [`bare`], for parts with tasks that threads steal, where each list has a lock of the algorithm
/// `futex`.
pub(super) fn under_another_lock<W: World>(steps: Steps, part: Part<W::M>, check: fn(&Tally<W::M>, usize)) {
    in_team::<W>(steps, part, check, true, |settings| {
        settings.tasks = TaskQueue::Steal;
        settings.lock = "futex".to_owned();
    });
}

/// Like [`bare`], for parts that leave nothing to the region's end, and so have fewer steps.
/// `steps` is as in [`with_tasks`].
pub(super) fn apart<W: World>(steps: Steps, part: Part<W::M>, check: fn(&Tally<W::M>, usize)) {
    in_team::<W>(steps, part, check, false, |_| {});
}

fn in_team<W: World>(
    steps: Steps,
    part: Part<W::M>,
    check: fn(&Tally<W::M>, usize),
    ends: bool,
    set: impl Fn(&mut Settings) + Copy + Send + Sync + 'static,
) {
    for &size in W::TEAMS {
        for &wait in W::WAITS {
            let steps = if size > 2 { steps } else { Steps::Few };
            explore::<W>(steps, move || {
                let mut settings = Settings { cancellation: true, ..Settings::new(size as u32) };
                set(&mut settings);
                let bare = Arc::new(Bare::<W::M>::new(&settings, wait));
                let ended = bare.clone();
                let guest = move |id: usize| {
                    let bare = bare.clone();
                    move || bare.take_part(id, part, ends)
                };
                Scenario::new().guests(size, guest).finally(move || ended.tally.settle(check, size))
            });
        }
    }
}

/// Returns the place of the calling guest, in whatever task it runs.
pub(super) fn here<M: Machine>() -> &'static Member<M> {
    // SAFETY: `take_part` stored the address of the place, which lives until all guests have ended.
    unsafe { &*core::ptr::with_exposed_provenance(M::local().get(Use::OpenMp)) }
}

impl<M: Machine> Member<M> {
    /// How the guest waits.
    pub(super) fn waits(&self) -> &Waits {
        self.context.waits()
    }

    /// Makes a task, which any thread of the team may run.
    pub(super) fn task<F: FnOnce() + Send>(&self, clauses: Clauses<M>, body: F) {
        unsafe extern "C-unwind" fn run<F: FnOnce() + Send>(data: *mut c_void) {
            // SAFETY: a closure was stored there below, and a task runs once.
            unsafe { data.cast::<F>().read()() };
        }
        // SAFETY: the memory has the size and alignment of the closure.
        let fill = |data: *mut c_void| unsafe { data.cast::<F>().write(body) };
        self.context.defer(run::<F>, Layout::new::<F>(), fill, clauses);
    }

    /// Begins a taskgroup, and keeps it alive until all guests have ended.
    pub(super) fn begin_group(&self) {
        self.context.begin_group(false);
        self.kept.borrow_mut().extend(self.context.group());
    }
}
