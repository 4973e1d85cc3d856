//! Names objects. A lock is named after the name that the program gave it, the global variable that
//! it is, the place that initialised it, or else the place that takes it most.

use crate::symbols::{Frame, Symbols, is_wrapper, own, short};
use baton_trace::analysis::{LockReport, Object, ObjectKind, WaitableReport};
use baton_trace::{Address, Construct, LockKind, ProcessIndex, SiteId, Stream, Ticks, Trace, Waitable};

/// The word that reports use for a kind of object.
pub(super) fn kind(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Lock(LockKind::Mutex) => "mutex",
        ObjectKind::Lock(LockKind::RwLock) => "rwlock",
        ObjectKind::Lock(LockKind::Spin) => "spin",
        ObjectKind::Lock(LockKind::OmpCritical) => "omp-critical",
        ObjectKind::Lock(LockKind::OmpLock) => "omp-lock",
        ObjectKind::Lock(LockKind::Other) => "other",
        ObjectKind::Waitable(Waitable::Condition) => "condition",
        ObjectKind::Waitable(Waitable::Barrier) => "barrier",
        ObjectKind::Waitable(Waitable::Semaphore) => "semaphore",
        ObjectKind::Waitable(Waitable::Futex) => "futex",
        ObjectKind::Waitable(Waitable::LibcLock) => "libc-lock",
        ObjectKind::Waitable(Waitable::Queue) => "queue",
    }
}

/// `Index::add (index.cc:40)`, for the innermost frame that is no wrapper of a standard library.
pub(super) fn place(frames: &[Frame]) -> Option<String> {
    let frame = own(frames)?;
    let function = short(&frame.function);
    Some(match frame.place() {
        Some(place) => format!("{function} ({place})"),
        None => function,
    })
}

/// The name of a C library's function without the prefixes of an internal alias: `random` for
/// `__GI___random`.
fn public(function: &str) -> String {
    let name = short(function);
    let name = name.strip_prefix("__GI_").unwrap_or(&name);
    name.strip_prefix("__").unwrap_or(name).to_owned()
}

/// The innermost function of the program's own code with its caller, as `lock (heap.c:10), called
/// from my_malloc (heap.c:12)`. With `inside`, the innermost frame is taken instead: the C
/// library's function that takes a lock.
pub(super) fn called_from(frames: &[Frame], inside: bool) -> Option<String> {
    let (first, rest) = if inside {
        let (first, rest) = frames.split_first()?;
        (public(&first.function), rest)
    } else {
        let at = frames.iter().position(|frame| !is_wrapper(frame)).unwrap_or(0);
        (place(frames.get(at..)?)?, frames.get(at + 1..)?)
    };
    // A frame without a name of its own belongs to the C library, which starts the program's
    // threads.
    let caller = rest.iter().position(|frame| !is_wrapper(frame)).map(|at| &rest[at..]);
    match caller.filter(|frames| !frames[0].function.contains("+0x")).and_then(place) {
        Some(caller) => Some(format!("{first}, called from {caller}")),
        None => Some(first),
    }
}

/// Names the objects of one trace.
pub(super) struct Names<'a> {
    pub(super) trace: &'a Trace,
    pub(super) symbols: Symbols,
}

impl Names<'_> {
    /// The name of a lock by its address: a global variable, or memory that the place `busiest`
    /// uses.
    pub(super) fn lock(&mut self, object: &Object, busiest: Option<SiteId>) -> String {
        self.address(object.process, object.address, object.loaded, busiest)
    }

    /// The call site that takes a lock most.
    pub(super) fn busiest(&self, lock: &LockReport) -> Option<SiteId> {
        let sites = lock.stats.sites.iter().filter(|(site, _)| **site != SiteId::UNKNOWN);
        sites.max_by_key(|(site, s)| (s.acquisitions, std::cmp::Reverse(**site))).map(|(site, _)| *site)
    }

    /// The global variable in which an object lies, always with the object's offset.
    pub(super) fn data(&mut self, object: &Object) -> Option<String> {
        let data = self.symbols.data(self.trace, object.process, object.address, object.loaded)?;
        Some(if data.contains("+0x") { data } else { format!("{data}+0x0") })
    }

    /// The name of an object other than a lock.
    pub(super) fn waitable(&mut self, object: &Object, busiest: Option<(ProcessIndex, SiteId)>) -> String {
        if let Some(name) = &object.name {
            return name.clone();
        }
        if let Some(name) = self.stream(object, busiest) {
            return name;
        }
        let busiest = busiest.map(|(_, site)| site);
        if object.kind == ObjectKind::Waitable(Waitable::LibcLock) {
            let frames = busiest.map(|site| self.symbols.site(self.trace, object.process, site));
            let function = frames.and_then(|frames| frames.first().map(|frame| public(&frame.function)));
            return function.map_or_else(|| format!("{:#x}", object.address), |function| format!("in {function}"));
        }
        if let Some(global) = self.symbols.data(self.trace, object.process, object.address, object.loaded) {
            return global;
        }
        let init = object.init_site.filter(|s| *s != SiteId::UNKNOWN);
        match init.and_then(|site| self.site_place(object.process, site)) {
            Some(place) => format!("from {place}"),
            None => self.address(object.process, object.address, object.loaded, busiest),
        }
    }

    /// The name of a pipe, socket or eventfd: its sort, and the place where threads wait there most. `None` for
    /// other objects.
    fn stream(&mut self, object: &Object, busiest: Option<(ProcessIndex, SiteId)>) -> Option<String> {
        let queue = object.kind == ObjectKind::Waitable(Waitable::Queue);
        let word = Stream::of(object.address).filter(|_| queue)?.word();
        match busiest.and_then(|(process, site)| self.site_place(process, site)) {
            Some(place) => Some(format!("{word} in {place}")),
            None => Some(word.to_owned()),
        }
    }

    /// The place where threads wait at a futex, or at a lock inside of the C library; `None` for
    /// other objects.
    pub(super) fn waits_at(&mut self, object: &Object, busiest: Option<SiteId>) -> Option<String> {
        let ObjectKind::Waitable(kind @ (Waitable::Futex | Waitable::LibcLock)) = object.kind else { return None };
        let frames = self.symbols.site(self.trace, object.process, busiest?);
        called_from(&frames, kind == Waitable::LibcLock)
    }

    /// The place whose broadcasts of a condition variable, or wakes of a futex, woke most threads for
    /// nothing. Programs call futex in a function of their own for all wakes, so its caller is named too.
    pub(super) fn broadcasts_at(&mut self, from: &WaitableReport) -> Option<String> {
        let sites = from.stats.futile.sites.iter().filter(|(_, futile)| **futile > 0);
        let (site, _) = sites.max_by_key(|(_, futile)| **futile)?;
        if from.object.kind != ObjectKind::Waitable(Waitable::Futex) {
            return self.site_place(from.object.process, *site);
        }
        called_from(&self.symbols.site(self.trace, from.object.process, *site), false)
    }

    /// The name of a barrier that belongs to an OpenMP construct. Such a barrier has no address of
    /// its own.
    pub(super) fn construct(&mut self, object: &Object, construct: Construct, busiest: Option<SiteId>) -> String {
        let what = match construct {
            Construct::Barrier => "barrier",
            Construct::Region => "region end",
            Construct::Loop => "loop end",
            Construct::Sections => "sections end",
            Construct::Single => "single",
        };
        match busiest.and_then(|site| self.site_place(object.process, site)) {
            Some(place) => format!("{what} in {place}"),
            None => format!("{what} {:#x}", object.address),
        }
    }

    /// The name of an object by its address: a global variable, or memory that the place `busiest`
    /// uses; the address itself if neither is known.
    fn address(&mut self, process: ProcessIndex, address: u64, loaded: Ticks, busiest: Option<SiteId>) -> String {
        // The capture invents an object for OpenMP's unnamed critical section, which has no address
        // of its own.
        let module = self.trace.module(process, address, loaded).map(|module| module.path.as_str());
        if module.is_some_and(|path| path.ends_with("libbaton_preload.so")) {
            return "omp critical (unnamed)".to_owned();
        }
        if let Some(global) = self.symbols.data(self.trace, process, address, loaded) {
            return match global.strip_prefix(".gomp_critical_user_") {
                Some(name) => format!("omp critical ({})", name.split('.').next().unwrap_or(name)),
                None => global,
            };
        }
        match busiest.and_then(|site| self.site_place(process, site)) {
            Some(place) => format!("in {place}"),
            None => format!("{address:#x}"),
        }
    }

    /// The global variable that contains an address, without the offset into it. `None` for heap
    /// and stack addresses, and in images without symbols.
    pub(super) fn global(&mut self, process: ProcessIndex, address: u64, loaded: Ticks) -> Option<String> {
        let data = self.symbols.data(self.trace, process, address, loaded)?;
        let symbol = data.split("+0x").next().unwrap_or_default();
        let path = &self.trace.module(process, address, loaded)?.path;
        (!path.ends_with(&format!("/{symbol}"))).then(|| symbol.to_owned())
    }

    /// The frames at a sampled code address.
    pub(super) fn sampled(&mut self, process: ProcessIndex, code: Address, time: Ticks) -> Vec<Frame> {
        // One more than the address, because `code` expects a return address, which lies behind an
        // instruction.
        self.symbols.code(self.trace, process, code + 1, time)
    }

    /// The function at a sampled code address, with its source location if that is known. The compiler's function
    /// for the instruction `pause` is left out.
    pub(super) fn code_place(&mut self, process: ProcessIndex, code: Address, time: Ticks) -> String {
        let mut frames = self.sampled(process, code, time);
        frames.retain(|frame| frame.function != "_mm_pause");
        place(&frames).unwrap_or_else(|| format!("{code:#x}"))
    }

    /// The function of a call site, with its source location if that is known.
    pub(super) fn site_place(&mut self, process: ProcessIndex, site: SiteId) -> Option<String> {
        place(&self.symbols.site(self.trace, process, site))
    }
}
