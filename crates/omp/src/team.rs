//! A team, and the context of a thread in it.

use crate::cancel::Cancel;
use crate::copier::Copier;
use crate::crowd::Crowd;
use crate::gather::Tree;
use crate::lead::Lead;
use crate::objects::{TeamBarrier, barrier};
use crate::places::{Binding, Seat};
use crate::ring::{Ring, Rings};
use crate::settings::{Icv, Settings};
use crate::share::{Share, Work};
use crate::space::StaticChunks;
pub use crate::tasks::Function;
use crate::tasks::{Current, List, Queue, Spare, Tally};
use crate::tool::Told;
use crate::waits::{Waits, Why};
use baton_machine::Ordering::Relaxed;
use baton_machine::{Atomic, LockNotice, Machine, Owned, Slot, Wait};
use core::cell::Cell;
use core::ffi::c_void;
use core::num::NonZeroU32;

/// What the threads of a region learn when it begins.
pub struct Region<M: Machine> {
    /// The function that each thread calls.
    pub function: Function,
    /// The data that it gets.
    pub data: *mut c_void,
    /// The number of enclosing regions, this one included.
    pub level: u32,
    /// The number of enclosing regions with more than one thread, this one included.
    pub active: u32,
    /// The variables with which the region's threads begin.
    pub icv: Icv,
    /// The number of the region's first work-share.
    pub shares: u32,
    /// The level of the ring in which that work-share is.
    pub ring: u32,
    /// The number of the region's first barrier.
    pub barriers: u64,
    /// The count of the threads of the initial thread's regions, without the initial thread; null:
    /// they are not counted.
    pub busy: *const M::Atomic<u32>,
    /// Whether the region's threads are counted in `busy`.
    pub counted: bool,
    /// The teams of all initial threads; null: their number does not change how threads wait.
    pub crowd: *const Crowd<M>,
    /// The place of the region's initial thread in a league of teams.
    pub league: League,
    /// How the region's threads wait, unless the teams of all initial threads have more threads
    /// than CPUs.
    pub waits: Waits,
    /// Whether each thread begins in a work-share that is open already.
    pub in_share: bool,
    /// How the region's threads are bound; `None`: they are not.
    pub binding: Option<Binding>,
    /// Whether each thread shows itself when it begins.
    pub shown: bool,
    /// The numbers of threads of the regions within this one, if a list says them.
    pub levels: Option<&'static Levels>,
    /// The address that was registered for reductions over the region's tasks, or zero.
    pub reductions: usize,
    /// The tool that is told of the region; `None`: there is no tool.
    pub told: Option<Told>,
    /// The context, in its own team, of the thread that began the region.
    pub outer: *const Context<M>,
}

/// The number of threads of the regions at a level, and of those within them.
#[derive(Debug)]
pub struct Levels {
    /// The number for this level.
    pub threads: u32,
    /// The numbers for the next level; `None`: as for this one.
    pub inner: Option<&'static Levels>,
}

impl Levels {
    /// The numbers for the next level.
    pub fn within(&'static self) -> &'static Levels {
        self.inner.unwrap_or(self)
    }
}

/// The place of an initial thread in a league of teams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct League {
    /// The team's number.
    pub team: u32,
    /// The number of teams in the league.
    pub teams: u32,
}

impl Default for League {
    fn default() -> Self {
        League { team: 0, teams: 1 }
    }
}

impl<M: Machine> Clone for Region<M> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<M: Machine> Copy for Region<M> {}

/// A team.
pub struct Team<M: Machine> {
    /// The number of threads.
    pub size: u32,
    pub(crate) barrier: Option<Box<dyn TeamBarrier<M>>>,
    /// The rings of work-shares.
    pub(crate) rings: Rings<M>,
    region: M::Slot<Option<Region<M>>>,
    /// The number of the next region's first work-share. Used by the team's first thread.
    next_share: M::Atomic<u32>,
    next_barrier: M::Atomic<u64>,
    /// By which the data of the team's threads are combined.
    pub(crate) tree: Tree<M>,
    /// Whether the first thread is late to leave barriers.
    lead: Lead<M>,
    /// How many singles of the region have been claimed, each by one thread.
    singles: M::Atomic<u32>,
    /// Which thread ran the team's last single with copyprivate.
    pub(crate) copier: Copier<M>,
    /// Which constructs are cancelled.
    pub cancel: Cancel<M>,
    /// The team's tasks.
    pub tasks: Queue<M>,
}

// SAFETY: the team's first thread writes the region before it lets the others begin (Release,
// Acquire on their word), and again only after the barrier that ends the region. `outer` stays
// while the region lasts.
unsafe impl<M: Machine> Sync for Team<M> {}
// SAFETY: as above.
unsafe impl<M: Machine> Send for Team<M> {}

impl<M: Machine> Team<M> {
    /// Makes a team of `size` threads.
    pub fn new(size: u32, settings: &Settings) -> Owned<M, Team<M>> {
        let several = NonZeroU32::new(size).filter(|_| size > 1);
        Owned::new(Team {
            size,
            barrier: several.map(|n| barrier(&settings.barrier, n).expect("the settings name a barrier that there is")),
            rings: Rings::new(size, settings.ring_growth),
            region: M::Slot::new(None),
            next_share: M::Atomic::new(0),
            next_barrier: M::Atomic::new(1),
            tree: Tree::new(size),
            lead: Lead::new(),
            singles: M::Atomic::new(0),
            copier: Copier::new(),
            cancel: Cancel::new(settings),
            tasks: Queue::new(settings, size),
        })
    }

    /// The slot of the first ring for work-share `number`.
    pub fn slot(&self, number: u32) -> &Share<M> {
        // SAFETY: the ring stays as long as the team.
        unsafe { &*self.rings.ring(0).slot(number) }
    }

    /// The number of the next region's first work-share.
    pub fn first_share(&self) -> u32 {
        // Relaxed, here and below: only the team's first thread uses the number.
        self.next_share.load(Relaxed)
    }

    /// The number of the next region's first barrier.
    pub fn first_barrier(&self) -> u64 {
        self.next_barrier.load(Relaxed)
    }

    /// Keeps both numbers, and the ring, for the next region, when a region has ended.
    pub(crate) fn keep(&self, share: u32, ring: Ring<M>, barrier: u64) {
        self.rings.keep(ring);
        self.next_share.store(share, Relaxed);
        self.next_barrier.store(barrier, Relaxed);
        if self.cancel.begin() {
            // After a cancelled region, threads have left different numbers of work-shares, but
            // none is in one: the ring begins anew.
            self.rings.restart(share);
            // SAFETY: the region has ended, so no thread is in a work-share.
            self.cancel.beyond.iter().for_each(|beyond| unsafe { beyond.clear() });
        }
    }

    /// Stores the region that begins.
    ///
    /// # Safety
    /// No thread is in a region of this team.
    pub unsafe fn begin(&self, region: Region<M>) {
        // Relaxed: each thread learns of the region after this.
        self.singles.store(0, Relaxed);
        self.tasks.begin();
        // SAFETY: the caller says that no thread is in a region, so none reads this one.
        unsafe { self.region.write(|at| *at = Some(region)) };
    }

    /// Whether the calling thread is the first at the region's single `number`. A thread that comes
    /// there has been at all earlier singles, so the count is not less than `number`.
    pub(crate) fn is_first_in_single(&self, number: u32) -> bool {
        // Relaxed, all accesses: a single hands nothing over; the barrier behind it does.
        self.singles.load(Relaxed) == number
            && self.singles.compare_exchange(number, number.wrapping_add(1), Relaxed, Relaxed).is_ok()
    }

    /// Whether no thread has come to the region's single `number` yet.
    pub(crate) fn is_unclaimed(&self, number: u32) -> bool {
        // Relaxed: the answer is a hint.
        self.singles.load(Relaxed) == number
    }

    /// The region that the team's threads are in.
    ///
    /// # Safety
    /// The calling thread has learnt of the region that `begin` wrote.
    pub unsafe fn region(&self) -> Region<M> {
        // SAFETY: the caller says that the region was written, and it does not change before its
        // end.
        unsafe { self.region.read(|at| *at) }.expect("a region has begun")
    }
}

/// The context of a thread in a team.
pub struct Context<M: Machine> {
    /// The team.
    pub team: *const Team<M>,
    /// The region.
    pub region: Region<M>,
    /// The thread's number in the team.
    pub id: u32,
    /// The thread's seat among the places; `None` if threads are not bound.
    pub seat: Option<Seat>,
    /// The thread's own variables.
    pub icv: Variables,
    /// The thread's place in a league of teams.
    pub league: Cell<League>,
    /// The number of the thread's next work-share.
    pub next_share: Cell<u32>,
    /// The number of the thread's next barrier.
    pub next_barrier: Cell<u64>,
    /// The number of the thread's next single.
    pub next_single: Cell<u32>,
    /// The ring of the thread's next work-share.
    pub(crate) ring: Cell<Ring<M>>,
    /// The work-share that the thread is in, or was in last.
    pub(crate) share: Cell<*const Share<M>>,
    /// The thread's copy of what its work-share's first thread stored.
    pub work: Cell<Work>,
    /// The thread's chunk of an ordered loop: its first iteration, and the one behind its last.
    pub chunk: Cell<(u64, u64)>,
    /// The chunks of a static loop that the thread has yet to run.
    pub(crate) chunks: Cell<StaticChunks>,
    /// Whether the thread is in an ordered loop with a chunk whose turn it must pass on.
    pub in_order: Cell<bool>,
    /// 0 before the turn of that chunk has come; then 1, and 1 more for each ordered block of the
    /// chunk that has [ended](Context::end_ordered).
    pub(crate) turn: Cell<u64>,
    /// Whether the thread is in a loop that it leaves when it finds no chunk, without a call at the
    /// loop's end. Used by interfaces that have no such call.
    pub in_loop: Cell<bool>,
    /// The step of that loop's variable, whether its iterations are handed out in blocks or not.
    pub step: Cell<u64>,
    /// The number of tasks that the thread has begun and not ended, one inside the other.
    pub depth: Cell<u32>,
    /// What the thread needs for tasks.
    tasks: Tasks<M>,
}

/// What a thread of a team needs for tasks.
struct Tasks<M: Machine> {
    /// The task that the thread is running; null: `implicit`.
    current: Cell<*const Current<M>>,
    /// The thread's implicit task.
    implicit: Current<M>,
    /// The list into which the thread puts tasks.
    list: *const List<M>,
    /// The thread's tally of tasks; null if the team has a single queue.
    tally: *const Tally<M>,
    /// The number of tasks in the list at which an explicit task's further tasks run at once; 0 if
    /// the team has a single queue.
    room: u32,
    /// The memory of ended tasks that the thread keeps.
    spare: *const Spare<M>,
}

/// A thread's own variables.
pub struct Variables {
    now: Cell<Icv>,
    /// Whether they may differ from those with which the region began.
    changed: Cell<bool>,
}

impl Variables {
    fn of(region: Icv) -> Self {
        Variables { now: Cell::new(region), changed: Cell::new(false) }
    }

    /// Returns the variables as they are now.
    #[inline]
    pub fn get(&self) -> Icv {
        self.now.get()
    }

    /// Changes the variables.
    pub fn set(&self, icv: Icv) {
        self.now.set(icv);
        self.changed.set(true);
    }

    /// The variables; `None` if they are those with which the region began.
    #[inline]
    pub(crate) fn own(&self) -> Option<Icv> {
        self.changed.get().then(|| self.now.get())
    }

    /// Makes `own` the variables; if it is `None`, those of the region.
    #[inline]
    pub(crate) fn put(&self, own: Option<Icv>, region: &Icv) {
        match own {
            Some(icv) => self.set(icv),
            None if self.changed.replace(false) => self.now.set(*region),
            None => {}
        }
    }
}

impl<M: Machine> Context<M> {
    /// Makes the context of thread `id`. The team and `spare` stay as long as the context lives.
    pub fn new(team: &Team<M>, region: Region<M>, id: u32, spare: *const Spare<M>) -> Context<M> {
        Context {
            team,
            region,
            id,
            seat: region.binding.map(|binding| binding.seat(id)),
            icv: Variables::of(region.icv),
            league: Cell::new(region.league),
            next_share: Cell::new(region.shares),
            next_barrier: Cell::new(region.barriers),
            next_single: Cell::new(0),
            ring: Cell::new(team.rings.ring(region.ring)),
            share: Cell::new(core::ptr::null()),
            work: Cell::new(Work::default()),
            chunk: Cell::new((0, 0)),
            chunks: Cell::default(),
            in_order: Cell::new(false),
            turn: Cell::new(0),
            in_loop: Cell::new(false),
            step: Cell::new(0),
            depth: Cell::new(0),
            tasks: Tasks {
                current: Cell::new(core::ptr::null()),
                implicit: Current::implicit(region.reductions),
                list: team.tasks.list_of(id),
                tally: team.tasks.tally_of(id).map_or(core::ptr::null(), core::ptr::from_ref),
                room: team.tasks.room(team.size),
                spare,
            },
        }
    }

    /// The task that the thread is running.
    #[inline]
    pub(crate) fn current(&self) -> &Current<M> {
        // SAFETY: null, or the task whose body the thread is in, which `run_as` keeps meanwhile.
        unsafe { self.tasks.current.get().as_ref() }.unwrap_or(&self.tasks.implicit)
    }

    /// The thread's implicit task.
    #[inline(always)]
    pub(crate) fn implicit(&self) -> &Current<M> {
        &self.tasks.implicit
    }

    /// Makes `task` the task that the thread is running; null: its implicit task. Returns the one
    /// before.
    #[inline]
    pub(crate) fn replace_current(&self, task: *const Current<M>) -> *const Current<M> {
        self.tasks.current.replace(task)
    }

    /// Whether the thread is running its implicit task.
    #[inline]
    pub(crate) fn is_in_implicit(&self) -> bool {
        self.tasks.current.get().is_null()
    }

    /// The number of tasks in the thread's list at which an explicit task's further tasks run at
    /// once; 0 if the team has a single queue.
    #[inline]
    pub(crate) fn room(&self) -> u32 {
        self.tasks.room
    }

    /// Whether the task that the thread is running is final, so that its children run at once.
    #[inline]
    pub fn is_final(&self) -> bool {
        self.current().is_final
    }

    /// The list into which the thread puts tasks.
    #[inline]
    pub(crate) fn list(&self) -> &List<M> {
        // SAFETY: the list belongs to the team, which outlives the context.
        unsafe { &*self.tasks.list }
    }

    /// The thread's tally of tasks; `None` if the team has a single queue.
    #[inline]
    pub(crate) fn tally(&self) -> Option<&Tally<M>> {
        // SAFETY: null, or a tally of the team, which outlives the context.
        unsafe { self.tasks.tally.as_ref() }
    }

    /// The team.
    pub fn team(&self) -> &Team<M> {
        // SAFETY: a team outlives the contexts in it: the thread that began the region frees the
        // team only after the barrier that ends the region.
        unsafe { &*self.team }
    }

    /// The memory of ended tasks that the thread keeps.
    pub(crate) fn spare(&self) -> &Spare<M> {
        // SAFETY: `spare` belongs to the thread, which outlives its contexts.
        unsafe { &*self.tasks.spare }
    }

    /// The context, in the enclosing region, of the thread that began this region.
    pub fn outer(&self) -> Option<&Context<M>> {
        // SAFETY: the thread that began the region is in it, and keeps its outer context meanwhile.
        unsafe { self.region.outer.as_ref() }
    }

    /// How the team waits. The answer may differ from one call to the next. That is safe where
    /// policies depend on the number of threads: each of these policies sleeps in the end, so a
    /// wake-up by one of them wakes a thread that waits by another.
    #[inline]
    pub fn waits(&self) -> &Waits {
        // SAFETY: the crowd belongs to the runtime, which outlives its threads.
        let crowd = unsafe { self.region.crowd.as_ref() };
        crowd.and_then(Crowd::waits).unwrap_or(&self.region.waits)
    }

    /// Waits at a barrier of the team: first until the team's tasks are done, then until all
    /// threads have arrived.
    pub fn barrier(&self, why: Why) {
        self.finish_tasks();
        let number = self.next_barrier.get();
        self.team().cancel.more_follows(number);
        self.pass(why);
        // A policy that offers the CPU is one for more threads than CPUs.
        if let Wait::YieldPark(_) = self.waits().of(why) {
            self.team().lead.leave(self.id, number);
        }
    }

    /// Waits at the barrier at the end of the region. In a cancelled region, other threads may
    /// arrive at an earlier barrier instead, so the thread goes on to further ones.
    pub fn join(&self) {
        self.tell_join(true);
        loop {
            self.finish_tasks();
            let number = self.next_barrier.get();
            self.pass(Why::Join);
            if !self.team().cancel.has_more(number) {
                break;
            }
        }
        self.tell_join(false);
    }

    fn pass(&self, why: Why) {
        let number = self.next_barrier.get();
        self.next_barrier.set(number + 1);
        if let Some(barrier) = &self.team().barrier {
            let waits = self.waits();
            // By turns, two addresses stand for the barrier: a thread that is late to leave it does
            // not come after those that have arrived at the next one.
            let at = self.team.cast::<()>().wrapping_byte_add(number as usize & 1);
            M::happens_before(at);
            let told = M::hears_locks();
            if told {
                M::notify_lock(LockNotice::Arrived, self.team.addr());
            }
            barrier.pass(self.id, waits.of(why), waits.meeting(), &mut || self.run_waiting());
            if told {
                M::notify_lock(LockNotice::Left, self.team.addr());
            }
            M::happens_after(at);
            M::happens_after(self.team().tasks.order());
        }
    }
}
