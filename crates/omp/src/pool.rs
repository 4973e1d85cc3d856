//! The workers of a thread. Each worker waits on a word of its own for its next team.

use crate::crowd::Crowd;
use crate::settings::Settings;
use crate::share::Work;
use crate::tasks::Spare;
use crate::team::{Context, Levels, Region, Team};
use crate::threads::Threads;
use crate::vain::Vain;
use crate::waits::{Waits, Why};
use baton_machine::Ordering::{Relaxed, Release};
use baton_machine::local::Use;
use baton_machine::{Atomic, Machine, Owned};
use core::cell::{Cell, RefCell};
use core::mem::MaybeUninit;
use std::collections::BTreeMap;

/// A worker, as seen by the thread whose pool it is in. It has its pair of cache lines to itself,
/// because it reads `go` while it waits.
#[repr(align(128))]
pub(crate) struct Worker<M: Machine> {
    /// A number that the pool's thread changes when the worker is to join another team.
    pub(crate) go: M::Atomic<u32>,
    /// The address of the team to join; zero tells the worker to end.
    pub(crate) team: M::Atomic<usize>,
    /// The worker's number in every team.
    pub(crate) id: u32,
    pub(crate) gone: M::Atomic<u32>,
}

/// The workers of a thread at one level of its regions, and the teams that it has had.
pub(crate) struct Pool<M: Machine> {
    /// A worker's memory stays until the worker has set its `gone`.
    pub(crate) workers: Vec<Owned<M, Worker<M>>>,
    pub(crate) teams: BTreeMap<u32, Owned<M, Team<M>>>,
    pub(crate) waits: Waits,
}

impl<M: Machine> Drop for Pool<M> {
    fn drop(&mut self) {
        for worker in &self.workers {
            send(worker, 0, &self.waits);
            // A worker may look at its last team's barrier until it has ended, so the teams stay
            // until then.
            self.waits.wait::<M, u32>(Why::Join, &worker.gone, 0);
        }
    }
}

/// A thread, found by its word in the machine's local storage.
pub(crate) struct Thread<M: Machine> {
    /// The thread's context, whose address the machine's local storage has too.
    context: Cell<*mut Context<M>>,
    /// A pool for each level of active regions that the thread has begun, as the workers of an
    /// outer region are busy.
    pub(crate) pools: RefCell<Vec<Pool<M>>>,
    /// A team of one thread that none of the thread's regions uses now.
    pub(crate) alone: Cell<Option<Owned<M, Team<M>>>>,
    /// The memory of a region's context that has ended.
    pub(crate) room: Cell<Option<Box<MaybeUninit<Context<M>>>>>,
    /// The memory of ended tasks that the thread keeps.
    pub(crate) spare: Spare<M>,
    /// The number of active regions that the thread has begun and that have not ended.
    pub(crate) begun: Cell<usize>,
    /// In an initial thread: how many threads its regions have, without itself.
    pub(crate) busy: M::Atomic<u32>,
    /// Whether the threads of its regions spin in vain.
    pub(crate) vain: Vain,
    /// How the next region binds its threads, by the numbers of `omp_proc_bind_t`; 0: not said.
    pub(crate) bind: Cell<u32>,
    /// The numbers of threads of the next region and of those within it, if a list says them.
    pub(crate) levels: Cell<Option<&'static Levels>>,
    /// Whether this is an initial thread that is still to be bound to its place.
    pub(crate) is_due: Cell<bool>,
    /// The CPUs on which the thread ran before it was bound, if it is to run there again.
    pub(crate) before: RefCell<Vec<u32>>,
    /// For each level of the thread's regions, the places of the threads in the last team that was
    /// shown; -1: a thread without a place.
    pub(crate) shown: RefCell<BTreeMap<u32, Vec<i32>>>,
}

impl<M: Machine> Thread<M> {
    pub(crate) fn new(context: *mut Context<M>) -> Self {
        let (pools, alone, spare) = (RefCell::new(Vec::new()), Cell::new(None), Spare::default());
        let (begun, busy, bind, levels) = (Cell::new(0), M::Atomic::new(0), Cell::new(0), Cell::default());
        let (is_due, before, shown) = (Cell::new(false), RefCell::default(), RefCell::default());
        Thread {
            context: Cell::new(context),
            pools,
            alone,
            room: Cell::new(None),
            spare,
            begun,
            busy,
            vain: Vain::default(),
            bind,
            levels,
            is_due,
            before,
            shown,
        }
    }

    /// The thread's context.
    #[inline]
    pub(crate) fn context(&self) -> *mut Context<M> {
        self.context.get()
    }

    /// Makes `context` the context of this thread, which is the calling one.
    #[inline]
    pub(crate) fn enter(&self, context: *mut Context<M>) {
        self.context.set(context);
        M::local().set(Use::OpenMpContext, context.expose_provenance());
    }
}

/// Hands a worker its next team.
pub(crate) fn send<M: Machine>(worker: &Worker<M>, team: usize, waits: &Waits) {
    // Relaxed, both accesses: the store of `go` below publishes the team, and only this thread
    // writes `go`.
    worker.team.store(team, Relaxed);
    let next = worker.go.load(Relaxed).wrapping_add(1);
    M::happens_before(core::ptr::from_ref(worker).cast());
    // Release: the worker sees the team and its region with the new number.
    worker.go.store(next, Release);
    waits.wake::<M, u32>(Why::Idle, &worker.go);
}

/// Binds a worker to its place, if the worker is bound to another one.
fn bind<M: Machine>(place: &Context<M>, bound: &mut Option<u32>, settings: &Settings, threads: &dyn Threads) {
    let number = place.seat.map(|seat| seat.place);
    if number != *bound
        && let Some(cpus) = number.and_then(|number| settings.places.get(number as usize))
    {
        threads.bind(cpus);
        *bound = number;
    }
}

/// What a new thread starts with: its worker's record, and the region that the thread is in while
/// it has no team.
pub(crate) struct Begin<M: Machine>(pub(crate) *const Worker<M>, pub(crate) Region<M>);
// SAFETY: the region outside any team points only to the runtime's crowd, which outlives its
// threads; and the pool keeps the worker until it has ended.
unsafe impl<M: Machine> Send for Begin<M> {}

/// Runs as a worker: joins the teams that it is given until it is told to end.
///
/// # Safety
/// The worker's record stays until the worker has set `gone`.
pub(crate) unsafe fn work<M: Machine>(begin: Begin<M>, mut waits: Waits, settings: &Settings, threads: &dyn Threads) {
    let Begin(at, outermost) = begin;
    // SAFETY: the caller says that the record stays until `gone` is set, which is this function's
    // last access to it.
    let worker = unsafe { &*at };
    let alone = Team::new(1, settings);
    let thread = Thread::new(core::ptr::null_mut());
    let idle = Context::new(&alone, outermost, 0, &thread.spare);
    thread.enter((&raw const idle).cast_mut());
    M::local().set(Use::OpenMp, (&raw const thread).expose_provenance());
    let (mut seen, mut bound) = (0u32, None);
    // SAFETY: the crowd belongs to the runtime, which outlives its threads.
    let crowd = unsafe { outermost.crowd.as_ref() };
    crowd.into_iter().for_each(Crowd::hired);
    outermost.told.iter().for_each(|told| told.tool().thread_begins(false));
    loop {
        waits.wait::<M, u32>(Why::Idle, &worker.go, seen);
        seen = seen.wrapping_add(1);
        M::happens_after(at.cast());
        // Relaxed: the wait saw the store of `go`, and the team was stored before that.
        let team = core::ptr::with_exposed_provenance::<Team<M>>(worker.team.load(Relaxed));
        if team.is_null() {
            break;
        }
        // SAFETY: the pool keeps the team until this worker has ended, and the team's region has
        // begun.
        let (team, region) = unsafe { (&*team, (*team).region()) };
        // While it has no team, the worker waits by its last team's policy. If there are several
        // initial threads, and more threads than CPUs, it waits by the crowd's, which gives up the
        // CPU soon.
        waits = *crowd.and_then(Crowd::idle_waits).unwrap_or(&region.waits);
        let place = Context::new(team, region, worker.id, &thread.spare);
        thread.enter((&raw const place).cast_mut());
        place.tell_begin();
        if place.seat.is_some() {
            bind(&place, &mut bound, settings, threads);
        }
        if region.shown {
            threads.show();
        }
        if region.in_share {
            place.enter(Work::default);
            place.tell_share();
        }
        let mark = 0;
        place.tell_frame(&raw const mark);
        // SAFETY: the caller of `begin` says that the function may be called with these data in
        // each thread of the team.
        unsafe { (region.function)(region.data) };
        place.join();
        place.tell_end();
        thread.enter((&raw const idle).cast_mut());
    }
    outermost.told.iter().for_each(|told| told.tool().thread_ends());
    [Use::OpenMp, Use::OpenMpContext].iter().for_each(|word| M::local().set(*word, 0));
    crowd.into_iter().for_each(Crowd::gone);
    // The workers of this worker's own regions end before it.
    drop((thread.pools.take(), thread.alone.take()));
    thread.spare.clear();
    // SAFETY: takes only the address of the word.
    let gone = unsafe { &raw const (*at).gone };
    // Release: the pool's thread sees this thread's accesses as done, and may free the pool, its
    // teams and the worker.
    worker.gone.store(1, Release);
    M::wake::<u32>(gone, u32::MAX, waits.of(Why::Join));
}
