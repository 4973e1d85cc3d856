//! Initial threads: those that no region has started.

use crate::places::{Binding, Seat};
use crate::pool::Thread;
use crate::runtime::Runtime;
use crate::settings::Icv;
use crate::team::{Context, League, Region, Team};
use crate::tool::Told;
use baton_machine::local::Use;
use baton_machine::{Atomic, Machine, Owned};
use core::ffi::c_void;

extern "C-unwind" fn no_region(_: *mut c_void) {}

impl<M: Machine> Runtime<M> {
    /// The region that stands for being outside of all regions, for an initial thread or a worker
    /// without a team.
    pub(crate) fn outermost(&self) -> Region<M> {
        Region {
            function: no_region,
            data: core::ptr::null_mut(),
            level: 0,
            active: 0,
            icv: self.settings.icv,
            shares: 0,
            ring: 0,
            barriers: 1,
            busy: core::ptr::null(),
            counted: false,
            crowd: self.crowd.as_ref().map_or(core::ptr::null(), |crowd| &raw const **crowd),
            league: League::default(),
            waits: self.idle,
            in_share: false,
            binding: self.places().map(Binding::initial),
            shown: false,
            levels: None,
            reductions: 0,
            told: self.threads.tool().map(|tool| *self.outside.get_or_init(|| Told::outside(tool))),
            outer: core::ptr::null(),
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn adopt_outermost(&self) -> &Thread<M> {
        self.adopt(self.outermost())
    }

    /// Makes the calling thread an initial thread, which is in `region` first.
    fn adopt(&self, mut region: Region<M>) -> &Thread<M> {
        let team = Team::new(1, &self.settings).into_raw();
        let thread = Owned::<M, _>::new(Thread::new(core::ptr::null_mut())).into_raw();
        // SAFETY: made above.
        let spare = unsafe {
            region.busy = &raw const (*thread).busy;
            &raw const (*thread).spare
        };
        self.crowd.iter().for_each(|crowd| crowd.join(region.busy));
        // SAFETY: made above.
        let context = Box::into_raw(Box::new(Context::new(unsafe { &*team }, region, 0, spare)));
        // SAFETY: the record was made above, and no other thread knows it.
        unsafe { (*thread).enter(context) };
        M::local().set(Use::OpenMp, thread.expose_provenance());
        M::local().at_end(Use::OpenMp, ended::<M>);
        // An initial thread is bound to the first place, as in libgomp. In LLVM's library it is so from
        // its first region on.
        // SAFETY: the record was made above, and stays until the thread ends.
        let record = unsafe { &*thread };
        record.is_due.set(!self.settings.places.is_empty());
        if !self.settings.llvms {
            self.bind_due(record);
        }
        region.told.iter().for_each(|told| told.tool().thread_begins(true));
        // SAFETY: the context and the record were made above, and stay until the thread ends.
        unsafe {
            (*context).tell_initial(None);
            &*thread
        }
    }

    /// Binds an initial thread to the first place, if that is still to be done.
    #[cold]
    #[inline(never)]
    pub(crate) fn bind_due(&self, thread: &Thread<M>) {
        if thread.is_due.replace(false) {
            if self.settings.resets {
                thread.before.replace(self.threads.allowed());
            }
            self.settings.places.iter().take(1).for_each(|cpus| self.threads.bind(cpus));
        }
    }

    /// Binds the calling thread, if it is an initial thread that is still to be bound and stays so
    /// outside of its regions.
    pub fn bind_initial(&self) {
        if !self.settings.resets {
            self.bind_due(self.thread());
        }
    }

    /// Lets the initial thread, whose outermost region has ended, run where it ran before.
    #[cold]
    #[inline(never)]
    pub(crate) fn unbind(&self, thread: &Thread<M>) {
        let before = thread.before.take();
        if !before.is_empty() {
            self.threads.bind(&before);
            thread.is_due.set(true);
        }
    }

    /// Runs `body` in the calling thread as if it were an initial thread: outside of all regions.
    /// `set` changes the variables with which `body` begins, at first a copy of the calling
    /// thread's. With a `seat`, the thread is bound to its place meanwhile, and its regions have its
    /// part of the places.
    pub fn apart(&self, league: League, seat: Option<Seat>, set: impl FnOnce(&mut Icv), body: impl FnOnce()) {
        let thread = self.thread();
        let outer = thread.context();
        // SAFETY: the context stays until the thread itself ends its region.
        let mut icv = unsafe { (*outer).icv.get() };
        set(&mut icv);
        let busy = Owned::<M, _>::new(M::Atomic::new(0));
        self.crowd.iter().for_each(|crowd| crowd.join(busy.as_ptr()));
        let outermost = self.outermost();
        let binding = seat.map_or(outermost.binding, |seat| Some(Binding::staying(seat)));
        let region = Region { icv, league, busy: busy.as_ptr(), binding, ..outermost };
        // SAFETY: as above.
        let own = unsafe { (*outer).seat };
        let moves = seat.map(|seat| seat.place) != own.map(|own| own.place);
        let bind = |seat: Option<Seat>| {
            let cpus = seat.and_then(|seat| self.settings.places.get(seat.place as usize));
            cpus.into_iter().for_each(|cpus| self.threads.bind(cpus));
        };
        if moves {
            bind(seat);
        }
        let team = Team::new(1, &self.settings);
        let context = Context::new(&team, region, 0, &thread.spare);
        thread.enter((&raw const context).cast_mut());
        // SAFETY: as above.
        context.tell_initial(unsafe { (*outer).record() });
        let mark = 0;
        context.tell_frame(&raw const mark);
        body();
        // Tasks that `body` left for later are done before its context goes.
        context.finish_tasks();
        context.tell_end();
        thread.enter(outer);
        if moves && seat.is_some() {
            bind(own);
        }
        self.crowd.iter().for_each(|crowd| crowd.leave(busy.as_ptr()));
    }

    /// Ends the workers of the calling thread, if the thread is outside of all regions, and returns
    /// true. Within a region it does nothing and returns false.
    pub fn pause(&self) -> bool {
        // SAFETY: the context is used only here.
        let outside = unsafe { self.context() }.region.level == 0 && self.thread().begun.get() == 0;
        if outside {
            self.release();
        }
        outside
    }

    /// Ends the workers of the calling thread. A later region starts new ones.
    ///
    /// # Panics
    /// Panics if a region that the thread began has not ended.
    pub fn release(&self) {
        let thread = self.thread();
        assert_eq!(thread.begun.get(), 0, "a region of the thread has not ended");
        drop((thread.pools.take(), thread.alone.take()));
        thread.spare.clear();
    }

    /// Called in a fork's child: forgets the calling thread's workers and the other initial
    /// threads, which do not exist in the child.
    ///
    /// # Safety
    /// The process is the child of a fork, and the calling thread is its only one.
    pub unsafe fn forked(&self) {
        let thread = Self::known_thread();
        thread.into_iter().for_each(|thread| core::mem::forget(thread.pools.take()));
        self.crowd.iter().for_each(|crowd| crowd.forked(&self.settings, thread.map(|thread| &raw const thread.busy)));
    }
}

/// Called as an initial thread ends: ends its workers with it.
fn ended<M: Machine>(word: usize) {
    // SAFETY: `adopt` made the thread's record, its context and its team, and only this thread has
    // them.
    unsafe {
        let thread = Owned::<M, Thread<M>>::from_raw(core::ptr::with_exposed_provenance_mut(word));
        let context = Box::from_raw(thread.context());
        M::local().set(Use::OpenMpContext, 0);
        context.tell_end();
        context.region.told.iter().for_each(|told| told.tool().thread_ends());
        context.region.crowd.as_ref().into_iter().for_each(|crowd| crowd.leave(&raw const thread.busy));
        // If a task outside of any region has an event that is not fulfilled, the team stays for
        // the thread that fulfils the event.
        if context.team().tasks.not_done() == 0 {
            drop(Owned::<M, _>::from_raw(context.team.cast_mut()));
        }
    }
}
