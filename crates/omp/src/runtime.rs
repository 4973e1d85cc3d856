//! Fork and join.

use crate::crowd::Crowd;
use crate::places::{Binding, bind};
use crate::pool::{Begin, Pool, Thread, Worker, send, work};
use crate::settings::{Icv, NO_LIMIT, Settings};
use crate::share::Work;
use crate::team::{Context, Function, Levels, Region, Team};
use crate::threads::Threads;
use crate::tool::Told;
use crate::waits::Waits;
use baton_machine::Ordering::{Relaxed, SeqCst};
use baton_machine::local::Use;
use baton_machine::{Atomic, Machine, Owned};
use core::ffi::c_void;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// A runtime. It must outlive its threads.
pub struct Runtime<M: Machine> {
    /// The runtime's settings.
    pub settings: Settings,
    /// CPUs of the machine.
    pub cpus: u32,
    pub(crate) threads: Arc<dyn Threads>,
    /// The number of CPUs that the runtime's threads may use: those of the places, if there are
    /// any.
    usable: u32,
    pub(crate) idle: Waits,
    /// The teams of all initial threads, if their number decides how threads wait; `None` if the
    /// user named policies.
    pub(crate) crowd: Option<Owned<M, Crowd<M>>>,
    /// What is told of the tool outside of all regions, if there is a tool.
    pub(crate) outside: OnceLock<Told>,
}

impl<M: Machine> Runtime<M> {
    /// A runtime with these settings and threads.
    pub fn new(settings: Settings, threads: Box<dyn Threads>) -> Self {
        let cpus = threads.cpus();
        let bound: std::collections::BTreeSet<u32> = settings.places.iter().flatten().copied().collect();
        let usable = if bound.is_empty() { cpus } else { cpus.min(bound.len() as u32) };
        let idle = settings.waits(1, usable);
        // Policies that the user named hold for any number of threads, so no crowd is needed.
        let crowd = settings.waits.is_none().then(|| Owned::new(Crowd::new(&settings, usable)));
        Runtime { settings, cpus, threads: threads.into(), usable, idle, crowd, outside: OnceLock::new() }
    }

    /// Sets how the calling thread's next region binds its threads, by the numbers of
    /// `omp_proc_bind_t`. Has no effect if threads are not bound.
    pub fn proc_bind(&self, bind: u32) {
        self.thread().bind.set(bind);
    }

    /// Sets the numbers of threads of the calling thread's next region and of the regions within it.
    /// The caller asks for the first number itself.
    pub fn inner_threads(&self, levels: &'static Levels) {
        self.thread().levels.set(Some(levels));
    }

    /// The numbers of threads of the regions within the calling thread's next one, if a list says
    /// them.
    #[inline]
    fn levels(thread: &Thread<M>, outer: &Context<M>) -> Option<&'static Levels> {
        if thread.levels.get().is_none() && outer.region.levels.is_none() {
            return None;
        }
        thread.levels.take().or(outer.region.levels).map(Levels::within)
    }

    /// Sets the number of threads of the regions within the next one, which is at `level`. Returns what
    /// a list says of them.
    #[inline]
    fn inner(&self, thread: &Thread<M>, outer: &Context<M>, level: u32, threads: &mut u32) -> Option<&'static Levels> {
        let levels = Self::levels(thread, outer);
        let inner = match levels {
            Some(levels) => Some(levels.threads),
            None => self.settings.threads.get(level as usize).copied(),
        };
        *threads = inner.unwrap_or(*threads);
        levels
    }

    /// How the calling thread's next region of `threads` threads binds them: the number of the way
    /// in which regions that these threads begin bind theirs, and this region's binding.
    fn binding(&self, thread: &Thread<M>, outer: &Context<M>, threads: u32) -> (u32, Option<Binding>) {
        let own = outer.icv.get().bind;
        let asked = thread.bind.replace(bind::FALSE);
        let chosen = if own != bind::FALSE && asked != bind::FALSE { asked } else { own };
        let inner = self.settings.binds.get(outer.region.level as usize + 1).copied().unwrap_or(chosen);
        let binding = outer.seat.map(|outer| {
            if thread.is_due.get() {
                self.bind_due(thread);
            }
            Binding { bind: chosen, threads, outer }
        });
        (inner, binding)
    }

    /// Whether the team's threads are to be shown: if the user asks for it, and their number or their
    /// places differ from those of the last such team at this level.
    fn shows(&self, thread: &Thread<M>, level: u32, size: u32, binding: Option<Binding>) -> bool {
        if !self.settings.shows || !self.threads.shows(size) {
            return false;
        }
        let place = |id| binding.map_or(-1, |binding| binding.seat(id).place as i32);
        let places: Vec<i32> = (0..size).map(place).collect();
        let mut shown = thread.shown.borrow_mut();
        let last = shown.insert(level, places.clone());
        if self.settings.llvms {
            // LLVM's library compares with the thread's last region, whatever its level.
            shown.retain(|other, _| *other == level);
        }
        last != Some(places)
    }

    /// How threads without a team wait.
    pub fn waits(&self) -> &Waits {
        &self.idle
    }

    #[inline]
    pub(crate) fn thread(&self) -> &Thread<M> {
        Self::known_thread().unwrap_or_else(|| self.adopt_outermost())
    }

    #[inline]
    pub(crate) fn known_thread<'a>() -> Option<&'a Thread<M>> {
        let thread = core::ptr::with_exposed_provenance::<Thread<M>>(M::used_local()?.get(Use::OpenMp));
        // SAFETY: null, or the address that `adopt` or `work` stored for this thread, whose record
        // stays until the thread ends.
        unsafe { thread.as_ref() }
    }

    /// The calling thread's context in this or another runtime, if it has one.
    ///
    /// # Safety
    /// The caller does not use the context after the thread has ended the region, or the call of
    /// [`apart`](Runtime::apart), that it is in now, nor while the thread itself ends.
    ///
    /// ```compile_fail,E0133
    /// baton_omp::Runtime::<baton_machine::Native>::known();
    /// ```
    #[inline]
    pub unsafe fn known<'a>() -> Option<&'a Context<M>> {
        let context = core::ptr::with_exposed_provenance::<Context<M>>(M::used_local()?.get(Use::OpenMpContext));
        // SAFETY: null, or the address of the thread's context, which stays until the thread itself ends
        // its region.
        unsafe { context.as_ref() }
    }

    /// The number of places; `None` if threads are not bound.
    pub(crate) fn places(&self) -> Option<u32> {
        Some(self.settings.places.len() as u32).filter(|places| *places > 0)
    }

    /// The calling thread's context.
    ///
    /// # Safety
    /// As for [`known`](Runtime::known).
    #[inline]
    pub unsafe fn context<'a>(&self) -> &'a Context<M> {
        // SAFETY: the context stays until the thread itself ends its region.
        unsafe { &*self.thread().context() }
    }

    /// The number of threads of a region that asks for `asked` threads (0: names no number). If
    /// threads are counted, the region's threads count as busy from now on.
    fn size(&self, context: &Context<M>, asked: u32) -> u32 {
        let Icv { threads, dynamic, levels, limit, .. } = context.icv.get();
        let size = if asked == 0 { threads } else { asked };
        let size = if dynamic { size.min(self.cpus) } else { size };
        if context.region.active >= levels {
            return 1;
        }
        let size = size.min(limit).max(1);
        if limit == NO_LIMIT && self.crowd.is_none() || size == 1 {
            return size;
        }
        let mut granted = 1;
        self.count_busy(context, |busy| {
            granted = size.min(limit.saturating_sub(busy)).max(1);
            busy + granted - 1
        });
        granted
    }

    /// Changes the count of busy threads of the initial thread's regions, without the initial
    /// thread itself.
    fn count_busy(&self, context: &Context<M>, mut change: impl FnMut(u32) -> u32) {
        // SAFETY: the cell belongs to the initial thread, which has not ended, because its regions
        // have not.
        let busy = unsafe { &*context.region.busy };
        // Relaxed, but for the exchange: the count orders nothing. SeqCst: pairs with
        // `Crowd::changed`.
        let mut now = busy.load(Relaxed);
        while let Err(other) = busy.compare_exchange(now, change(now), SeqCst, Relaxed) {
            now = other;
        }
        self.crowd.iter().for_each(|crowd| crowd.changed());
    }

    /// Whether the threads of the calling thread's regions are counted.
    fn counts(&self, icv: &Icv) -> bool {
        self.crowd.is_some() || icv.limit != NO_LIMIT
    }

    /// The greatest number of threads that run at once if each thread of the enclosing teams has a
    /// team of `size`.
    fn crowd(context: &Context<M>, size: u32) -> u32 {
        let around = std::iter::successors(Some(context), |at| at.outer());
        around.fold(size, |product, at| product.saturating_mul(at.team().size))
    }

    /// Begins a region: from now on the calling thread is its first. With `share` each thread of the
    /// team begins in that work-share.
    ///
    /// # Safety
    /// `function` may be called with `data` in each thread of the team until [`end`](Runtime::end).
    pub unsafe fn begin(&self, function: Function, data: *mut c_void, asked: u32, share: Option<Work>) {
        // SAFETY: by contract.
        unsafe { self.begin_with(function, data, asked, share, &mut |_| 0) };
    }

    /// Does what [`begin`](Runtime::begin) does, with reductions over the region's tasks:
    /// `register` gets the size of the team before any other thread is in it, and returns the
    /// address that the groups of the region's tasks then have.
    ///
    /// # Safety
    /// As for [`begin`](Runtime::begin).
    pub unsafe fn begin_with(
        &self,
        function: Function,
        data: *mut c_void,
        asked: u32,
        share: Option<Work>,
        register: &mut dyn FnMut(u32) -> usize,
    ) {
        let thread = self.thread();
        // SAFETY: the thread stays in the region that it is in until this one has ended.
        let outer = unsafe { self.context() };
        let told = outer.tell_region(asked);
        let mut size = self.size(outer, asked);
        let mut waits = self.settings.waits(Self::crowd(outer, size), self.usable);
        // There is a crowd unless the user has named policies, which are taken as they are.
        if size > 1 && self.crowd.is_some() && thread.vain.next::<M>() {
            waits = waits.without_spins();
        }
        let mut pools = thread.pools.borrow_mut();
        if size > 1 {
            let granted = size;
            size = self.hire(&mut pools, thread.begun.get(), size, waits);
            if size < granted && self.counts(&outer.icv.get()) {
                self.count_busy(outer, |busy| busy - (granted - size));
            }
        }
        let pool = if size > 1 { Some(&mut pools[thread.begun.get()]) } else { None };
        let mut workers: &[Owned<M, Worker<M>>] = &[];
        let team: *const Team<M> = match pool {
            Some(pool) => {
                workers = &pool.workers[..size as usize - 1];
                &**pool.teams.entry(size).or_insert_with(|| Team::new(size, &self.settings))
            }
            None => thread.alone.take().unwrap_or_else(|| Team::new(1, &self.settings)).into_raw(),
        };
        thread.begun.set(thread.begun.get() + usize::from(size > 1));
        // SAFETY: the pool keeps the team; a team of one thread is kept until `end` puts it back.
        let team_ref = unsafe { &*team };
        let level = outer.region.level + 1;
        let mut icv = outer.icv.get();
        let levels = self.inner(thread, outer, level, &mut icv.threads);
        let binding;
        (icv.bind, binding) = self.binding(thread, outer, size);
        let region = Region {
            function,
            data,
            level,
            active: outer.region.active + u32::from(size > 1),
            icv,
            shares: team_ref.first_share(),
            ring: team_ref.rings.next_level(),
            barriers: team_ref.first_barrier(),
            busy: outer.region.busy,
            counted: self.counts(&outer.icv.get()),
            crowd: outer.region.crowd,
            league: outer.league.get(),
            waits,
            in_share: share.is_some(),
            binding,
            shown: self.shows(thread, level, size, binding),
            levels,
            reductions: register(size),
            told,
            outer,
        };
        // SAFETY: the team's last region has ended, and the workers are its other threads.
        let context = unsafe { self.launch(thread, team_ref, region, workers, share) };
        // SAFETY: made above.
        unsafe { &*context }.tell_begin();
        if region.in_share {
            // SAFETY: made above.
            unsafe { &*context }.tell_share();
        }
        if region.shown {
            self.threads.show();
        }
    }

    /// Lets the workers begin the region of a team, and makes the calling thread's own context in it.
    ///
    /// # Safety
    /// No thread is in a region of the team, and the workers are its threads but for the calling one.
    #[inline]
    unsafe fn launch(
        &self,
        thread: &Thread<M>,
        team: &Team<M>,
        region: Region<M>,
        workers: &[Owned<M, Worker<M>>],
        share: Option<Work>,
    ) -> *mut Context<M> {
        // SAFETY: by contract; its threads learn of the region only below.
        unsafe { team.begin(region) };
        let at = core::ptr::from_ref(team).expose_provenance();
        let send_all = || workers.iter().for_each(|worker| send(worker, at, &self.idle));
        // Without a work-share, the workers begin while this thread makes its own context.
        if share.is_none() {
            send_all();
        }
        let room = thread.room.take().unwrap_or_else(Box::new_uninit);
        let context = Box::into_raw(Box::write(room, Context::new(team, region, 0, &thread.spare)));
        thread.enter(context);
        if let Some(work) = share {
            // SAFETY: made above.
            unsafe { &*context }.enter(|| work);
            send_all();
        }
        context
    }

    /// Starts workers until there are enough for a team of `size` at this level of the thread's
    /// regions. Returns the size of the team that is possible, which is less if no more threads can
    /// be started.
    fn hire(&self, pools: &mut Vec<Pool<M>>, level: usize, size: u32, waits: Waits) -> u32 {
        while pools.len() <= level {
            pools.push(Pool { workers: Vec::new(), teams: BTreeMap::new(), waits: self.idle });
        }
        let pool = &mut pools[level];
        while pool.workers.len() + 1 < size as usize {
            let id = pool.workers.len() as u32 + 1;
            let word = || M::Atomic::new(0);
            let worker = Owned::<M, _>::new(Worker { go: word(), team: M::Atomic::new(0), id, gone: word() });
            let begin = Begin(worker.as_ptr(), self.outermost());
            let (settings, threads) = (self.settings.clone(), self.threads.clone());
            // SAFETY: the pool keeps a started worker's record until the worker has ended; the body
            // of a worker that is not started never runs.
            let body = Box::new(move || unsafe { work(begin, waits, &settings, &*threads) });
            if let Err(why) = self.threads.start(body) {
                self.threads.refused(size, id, &why);
                return id;
            }
            pool.workers.push(worker);
        }
        size
    }

    /// Ends the region that the calling thread began. Returns when all its threads have ended it.
    ///
    /// # Safety
    /// The thread is in a region that it began by [`begin`](Runtime::begin), and nothing uses its
    /// context in that region any more.
    ///
    /// ```compile_fail,E0133
    /// fn of(runtime: &baton_omp::Runtime<baton_machine::Native>) {
    ///     runtime.region(2, |_| runtime.end());
    /// }
    /// ```
    pub unsafe fn end(&self) {
        let thread = self.thread();
        let context = thread.context();
        // SAFETY: `begin` made the context, and only this thread frees it.
        let place = unsafe { &*context };
        place.join();
        let team = place.team;
        place.team().keep(place.next_share.get(), place.ring.get(), place.next_barrier.get());
        place.tell_end();
        let told = place.region.told;
        let size = place.team().size;
        if size > 1 && place.region.counted {
            self.count_busy(place, |busy| busy - (size - 1));
        }
        if self.settings.resets && place.region.level == 1 {
            self.unbind(thread);
        }
        thread.begun.set(thread.begun.get() - usize::from(size > 1));
        thread.enter(place.region.outer.cast_mut());
        // SAFETY: `begin` made the context, and the team too if its size is 1; no thread uses them
        // any more.
        unsafe {
            context.drop_in_place();
            thread.room.set(Some(Box::from_raw(context.cast())));
            if size == 1 {
                thread.alone.set(Some(Owned::from_raw(team.cast_mut())));
            }
        }
        // SAFETY: all threads have ended the region, and this thread began it.
        told.into_iter().for_each(|told| unsafe { told.end() });
    }

    /// Runs a region: begins it, runs the function in the calling thread too, and ends it.
    ///
    /// # Safety
    /// As for [`begin`](Runtime::begin).
    pub unsafe fn parallel(&self, function: Function, data: *mut c_void, asked: u32, share: Option<Work>) {
        // SAFETY: by contract.
        unsafe { self.parallel_with(function, data, asked, share, &mut |_| 0) };
    }

    /// Does what [`parallel`](Runtime::parallel) does, with what
    /// [`begin_with`](Runtime::begin_with) does.
    ///
    /// # Safety
    /// As for [`begin`](Runtime::begin).
    #[inline]
    pub unsafe fn parallel_with(
        &self,
        function: Function,
        data: *mut c_void,
        asked: u32,
        share: Option<Work>,
        register: &mut dyn FnMut(u32) -> usize,
    ) {
        // SAFETY: by contract.
        unsafe {
            self.begin_with(function, data, asked, share, register);
            let mark = 0;
            self.context().tell_frame(&raw const mark);
            function(data);
            self.end();
        }
    }
}
