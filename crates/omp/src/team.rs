//! A team, and a thread's place in it.

use crate::cancel::Cancel;
use crate::crowd::Crowd;
use crate::objects::{TeamBarrier, barrier};
use crate::places::{Binding, Seat};
use crate::settings::{Icv, Settings};
use crate::share::{RING, Share, Work};
use crate::space::StaticChunks;
pub use crate::tasks::Function;
use crate::tasks::{Current, Queue, Spare};
use crate::waits::{Waits, Why};
use baton_machine::Ordering::Relaxed;
use baton_machine::{Atomic, Machine, Owned, Slot};
use core::cell::{Cell, RefCell};
use core::ffi::c_void;
use core::num::NonZeroU32;

/// What the threads of a region are told when it begins.
pub struct Region<M: Machine> {
    /// What each thread calls.
    pub function: Function,
    /// With what.
    pub data: *mut c_void,
    /// Enclosing regions, this one included.
    pub level: u32,
    /// Those of them with more than one thread.
    pub active: u32,
    /// The variables that its threads begin with.
    pub icv: Icv,
    /// The number of its first work-share.
    pub shares: u32,
    /// The number of its first barrier.
    pub barriers: u64,
    /// Threads of the initial thread's regions beside itself; null: they are not counted.
    pub busy: *const M::Atomic<u32>,
    /// Whether its threads are counted there.
    pub counted: bool,
    /// The teams of all initial threads; null: all teams wait alike.
    pub crowd: *const Crowd<M>,
    /// Its initial thread's place in a league of teams.
    pub league: League,
    /// How its threads wait, if the teams of all initial threads are no crowd.
    pub waits: Waits,
    /// Whether each thread begins in a work-share that is open already.
    pub in_share: bool,
    /// How its threads are bound.
    pub binding: Option<Binding>,
    /// Whether each thread is shown when it begins.
    pub shown: bool,
    /// What the interface registered for reductions over the region's tasks: an address, or zero.
    pub reductions: usize,
    /// The place of the thread that began it, in its own team.
    pub outer: *const Context<M>,
}

/// An initial thread's place in a league of teams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct League {
    /// The team's number.
    pub team: u32,
    /// How many teams.
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
    /// How many threads.
    pub size: u32,
    pub(crate) barrier: Option<Box<dyn TeamBarrier<M>>>,
    /// The ring of work-shares.
    pub shares: [Share<M>; RING as usize],
    region: M::Slot<Option<Region<M>>>,
    /// The number of the next region's first work-share, for the team's first thread.
    next_share: M::Atomic<u32>,
    next_barrier: M::Atomic<u64>,
    /// How many singles of the region have their thread.
    singles: M::Atomic<u32>,
    /// What is cancelled.
    pub cancel: Cancel<M>,
    /// Its tasks.
    pub tasks: Queue<M>,
}

// SAFETY: the region is written by the team's first thread before it lets the others go (Release, Acquire on their word), and again
// only behind the barrier that ends the region. `outer` stays while the region lasts.
unsafe impl<M: Machine> Sync for Team<M> {}
// SAFETY: as above.
unsafe impl<M: Machine> Send for Team<M> {}

impl<M: Machine> Team<M> {
    /// A team of so many threads.
    pub fn new(size: u32, settings: &Settings) -> Owned<M, Team<M>> {
        let several = NonZeroU32::new(size).filter(|_| size > 1);
        Owned::new(Team {
            size,
            barrier: several.map(|n| barrier(&settings.barrier, n).expect("the settings name a barrier that there is")),
            shares: core::array::from_fn(|at| Share::new(at as u32, size)),
            region: M::Slot::new(None),
            next_share: M::Atomic::new(0),
            next_barrier: M::Atomic::new(1),
            singles: M::Atomic::new(0),
            cancel: Cancel::new(settings),
            tasks: Queue::new(settings, size),
        })
    }

    /// The number of the next region's first work-share.
    pub fn first_share(&self) -> u32 {
        // Relaxed, here and below: only the team's first thread uses it.
        self.next_share.load(Relaxed)
    }

    /// The number of the next region's first barrier.
    pub fn first_barrier(&self) -> u64 {
        self.next_barrier.load(Relaxed)
    }

    /// Keeps both from one region, which has ended, to the next.
    pub fn keep(&self, share: u32, barrier: u64) {
        self.next_share.store(share, Relaxed);
        self.next_barrier.store(barrier, Relaxed);
        if self.cancel.begin() {
            // Each thread has left the work-shares where it was: the ring begins anew.
            (0..RING).map(|at| share.wrapping_add(at)).for_each(|n| self.shares[(n % RING) as usize].restart(n));
            // SAFETY: the region has ended.
            self.cancel.beyond.iter().for_each(|beyond| unsafe { beyond.clear() });
        }
    }

    /// Says what the region is.
    ///
    /// # Safety
    /// No thread is in a region of this team.
    pub unsafe fn begin(&self, region: Region<M>) {
        // Relaxed: each thread is told of the region after this.
        self.singles.store(0, Relaxed);
        self.tasks.begin();
        // SAFETY: by contract no other thread reads it.
        unsafe { self.region.write(|at| *at = Some(region)) };
    }

    /// Whether the calling thread is the first of the region's at its single number `number`. Each thread that comes there has been at all
    /// singles before, so the count is not less.
    pub(crate) fn is_first_in_single(&self, number: u32) -> bool {
        // Relaxed, all: a single hands nothing over, its barrier does.
        self.singles.load(Relaxed) == number
            && self.singles.compare_exchange(number, number.wrapping_add(1), Relaxed, Relaxed).is_ok()
    }

    /// The region.
    ///
    /// # Safety
    /// The calling thread was told of the region that `begin` wrote.
    pub unsafe fn region(&self) -> Region<M> {
        // SAFETY: by contract it is written and not changed meanwhile.
        unsafe { self.region.read(|at| *at) }.expect("a region has begun")
    }
}

/// A thread's place in a team.
pub struct Context<M: Machine> {
    /// The team.
    pub team: *const Team<M>,
    /// The region.
    pub region: Region<M>,
    /// The thread's number in the team.
    pub id: u32,
    /// Where it is bound.
    pub seat: Option<Seat>,
    /// The thread's own variables.
    pub icv: Cell<Icv>,
    /// Where it is in a league of teams.
    pub league: Cell<League>,
    /// The number of the next work-share.
    pub next_share: Cell<u32>,
    /// The number of the next barrier.
    pub next_barrier: Cell<u64>,
    /// The number of the next single.
    pub next_single: Cell<u32>,
    /// The work-share that it is in, or was in last.
    pub(crate) share: Cell<*const Share<M>>,
    /// What the work-share that it is in was said to be.
    pub work: Cell<Work>,
    /// The chunk of an ordered loop that it has: the number of its first iteration, and of the first one after it.
    pub chunk: Cell<(u64, u64)>,
    /// The chunks of a static loop that it has not had.
    pub(crate) chunks: Cell<StaticChunks>,
    /// Whether the loop is ordered, and has a chunk whose turn it must pass on.
    pub in_order: Cell<bool>,
    /// Whether it is that chunk's turn.
    pub(crate) has_turn: Cell<bool>,
    /// How many tasks it has begun and not ended, one within the other.
    pub depth: Cell<u32>,
    /// The task that it runs.
    pub task: RefCell<Current<M>>,
    /// Its thread's memory of tasks that have ended.
    spare: *const Spare<M>,
}

impl<M: Machine> Context<M> {
    /// The place of thread `id`, which keeps `spare` as long as it has a place.
    pub fn new(team: *const Team<M>, region: Region<M>, id: u32, spare: *const Spare<M>) -> Context<M> {
        Context {
            team,
            region,
            id,
            seat: region.binding.map(|binding| binding.seat(id)),
            icv: Cell::new(region.icv),
            league: Cell::new(region.league),
            next_share: Cell::new(region.shares),
            next_barrier: Cell::new(region.barriers),
            next_single: Cell::new(0),
            share: Cell::new(core::ptr::null()),
            work: Cell::new(Work::default()),
            chunk: Cell::new((0, 0)),
            chunks: Cell::default(),
            in_order: Cell::new(false),
            has_turn: Cell::new(false),
            depth: Cell::new(0),
            task: RefCell::new(Current::implicit(region.reductions)),
            spare,
        }
    }

    /// The team.
    pub fn team(&self) -> &Team<M> {
        // SAFETY: a team outlives the places in it: the thread that began the region gives it up after the barrier that ends it.
        unsafe { &*self.team }
    }

    /// What the thread keeps of tasks.
    pub(crate) fn spare(&self) -> &Spare<M> {
        // SAFETY: a thread outlives its places.
        unsafe { &*self.spare }
    }

    /// The enclosing region's place of the thread that began this one.
    pub fn outer(&self) -> Option<&Context<M>> {
        // SAFETY: that thread is in this region too, and keeps its outer place meanwhile.
        unsafe { self.region.outer.as_ref() }
    }

    /// How the team waits. From one call to the next the answer may change: where policies depend on the number of threads, each of them
    /// sleeps at last, and may wake a thread that another one put to sleep.
    #[inline]
    pub fn waits(&self) -> &Waits {
        // SAFETY: the crowd is the runtime's, which outlives its threads.
        let crowd = unsafe { self.region.crowd.as_ref() };
        crowd.and_then(Crowd::waits).unwrap_or(&self.region.waits)
    }

    /// A barrier of the team: its tasks are done, then all have arrived.
    pub fn barrier(&self, why: Why) {
        self.finish_tasks();
        self.team().cancel.more_follows(self.next_barrier.get());
        self.pass(why);
    }

    /// The barrier at the end of the region. Where the region is cancelled, others may arrive at one before it.
    pub fn join(&self) {
        loop {
            self.finish_tasks();
            let number = self.next_barrier.get();
            self.pass(Why::Join);
            if !self.team().cancel.has_more(number) {
                return;
            }
        }
    }

    fn pass(&self, why: Why) {
        self.next_barrier.set(self.next_barrier.get() + 1);
        if let Some(barrier) = &self.team().barrier {
            let waits = self.waits();
            barrier.pass(self.id, waits.of(why), waits.meeting(), &mut || self.run_waiting());
        }
    }
}
