//! A lock for each of some places of the program
//! (`BATON_LOCK=app+0x4040-0x4068=mcs,default=glibc`): finds the lock of each mutex.
//!
//! A mutex gets its lock once, from the first of these that names a place: the object file's data
//! in which it lies, the call that initialised it or one of that call's callers, the call that
//! first locks it (with its callers, if no call initialised the mutex); and else from the default.
//! The number of its lock then stands in the upper bits of its kind, of which glibc looks at the
//! lower ones only, and every later call costs a load and a jump more than with one lock for all.
//! With one lock for all mutexes, and no acquisitions to count, the slots do not point here, so
//! nothing is slower.
//!
//! An initialisation clears the number, so a mutex in reused memory gets its lock anew. Mutexes of
//! kinds that are passed on to glibc ([`crate::thread::Passed`]) never get a number.

use super::functions::Functions;
use super::glibc;
use super::object::{Class, Mutex};
use crate::base::message;
use crate::config::{Each, Served};
use crate::events::{Probe, Quiet};
use crate::hooks::lookup::found::{self, Loaded};
use crate::thread::{self, ORIGIN, Origin};
use baton_sync::lock::assign::{MutexRange, ObjectRange};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};
use libc::{clockid_t, timespec};

/// A way to serve mutexes: its functions with the recording that was asked for, and without.
#[derive(Clone, Copy)]
pub struct Ways {
    /// For the slots.
    pub recorded: Functions,
    /// For OpenMP's locks, whose hooks record by themselves.
    pub quiet: Functions,
}

/// Count of the lock numbers that fit into a mutex's kind.
const NUMBERS: usize = 128;
/// Stands in place of a lock's number while the mutex has no lock yet.
const UNSETTLED: usize = 0;
/// The number that stands for glibc's functions.
const GLIBC: usize = 1;
/// Added to a lock's number if each acquisition of the mutex is counted.
const COUNTED: usize = 64;

/// A place that was asked for, and how many mutexes got their lock from it.
struct Asked {
    place: MutexRange,
    number: usize,
    mutexes: AtomicU64,
    /// How many mutexes were initialised at the place; counted only if the place has a number.
    initialised: AtomicU64,
}

/// What `BATON_LOCK` and `BATON_PROGRESS` ask for.
struct Choices {
    /// The ways to serve a mutex, by the number in its kind. Numbers that no lock has are filled
    /// too, because the kind of a destroyed mutex may be garbage.
    ways: [Ways; NUMBERS],
    asked: Vec<Asked>,
    /// Places whose mutexes' acquisitions are counted.
    counted: Vec<ObjectRange>,
    default: usize,
    /// The number of the functions that serve mutexes of kinds that are passed on to glibc.
    passing: usize,
    /// The last part of the path of the program's own file.
    program: Vec<u8>,
}

/// Set at start; null if one lock serves all mutexes and no acquisitions are counted.
static CHOICES: AtomicPtr<Choices> = AtomicPtr::new(core::ptr::null_mut());

fn choices() -> Option<&'static Choices> {
    // SAFETY: null, or a leaked box.
    unsafe { CHOICES.load(Relaxed).as_ref() }
}

/// The places whose mutexes' acquisitions are counted, and the functions that count an acquisition
/// and then go on to [`uncounted`].
pub type Counted<'a> = (&'a [ObjectRange], Functions);

/// Stores what was asked for. Returns the functions that find each mutex's lock and go on to it.
/// `ways` gives the functions of a lock. Locks and counts come from two variables: a second call,
/// with `counted`, replaces what the first call stored.
pub fn start<P: Probe>(each: &Each, ways: fn(Served) -> Ways, counted: Option<Counted>) -> Ways {
    if !found::start() {
        message::refuse(format_args!("BATON_LOCK: locks one by one need glibc 2.35 or later"));
    }
    let of_glibc = Ways { recorded: glibc::functions::<P>(), quiet: glibc::functions::<Quiet>() };
    let mut all = vec![of_glibc; GLIBC + 1];
    let mut known: Vec<&'static str> = Vec::new();
    let mut number = |served: &Option<Served>| {
        let Some(served) = served else { return GLIBC };
        let at = known.iter().position(|name| *name == served.lock.name).unwrap_or_else(|| {
            known.push(served.lock.name);
            all.push(ways(*served));
            known.len() - 1
        });
        GLIBC + 1 + at
    };
    let asked = each.places.iter().map(|(place, served)| (place, number(served)));
    let asked = asked
        .map(|(place, number)| Asked {
            place: place.clone(),
            number,
            mutexes: AtomicU64::new(0),
            initialised: AtomicU64::new(0),
        })
        .collect();
    let default = number(&each.default);
    let passing = all.len() - 1;
    if counted.is_some() && all.len() > COUNTED {
        message::refuse(format_args!("BATON_LOCK: too many locks to count acquisitions, too"));
    }
    let choices = Choices {
        ways: core::array::from_fn(|number| match counted {
            Some((_, counting)) if number >= COUNTED => Ways { recorded: counting, quiet: counting },
            _ => *all.get(number).unwrap_or(&all[passing]),
        }),
        asked,
        counted: counted.map_or(Vec::new(), |(places, _)| places.to_vec()),
        default,
        passing,
        program: last_part(found::executable(&mut [0; 1024])).to_owned(),
    };
    CHOICES.store(Box::into_raw(Box::new(choices)), Relaxed);
    Ways { recorded: finding::<P>(), quiet: finding::<Quiet>() }
}

/// The places that were asked for, each with the number of mutexes that got their lock from it.
pub fn settled() -> impl Iterator<Item = (&'static MutexRange, u64)> {
    let asked = choices().map_or(&[][..], |choices| &choices.asked);
    asked.iter().map(|asked| (&asked.place, asked.mutexes.load(Relaxed)))
}

/// Whether glibc serves this mutex because `BATON_LOCK` says so.
///
/// # Safety
/// `mutex` points to a mutex.
pub unsafe fn is_glibcs(mutex: *const Mutex) -> bool {
    // SAFETY: the caller says that `mutex` points to a mutex.
    choices().is_some() && unsafe { Mutex::kind_at(mutex) }.mark() % COUNTED == GLIBC
}

/// Offset of the spare lock's word in a mutex that has been locked; `None` if glibc serves the
/// mutex.
pub fn spare_at(mutex: &Mutex) -> Option<usize> {
    choices()?.ways[mutex.kind().mark() % COUNTED].recorded.spare_at
}

/// Gives a mutex that is initialised at this call site its lock, if the mutex's address or the call
/// with its callers decides that, or if the mutex's acquisitions are counted.
///
/// # Safety
/// `mutex` points to a mutex that no other thread uses yet.
pub unsafe fn initialised(mutex: *mut Mutex, site: usize) {
    let Some(choices) = choices() else { return };
    // SAFETY: the caller says that `mutex` points to a mutex. A mutex that is not aligned is passed
    // on (see `class_at`), so a mutex that is borrowed below is aligned.
    unsafe {
        if matches!(Mutex::class_at(mutex), Class::Passed(_)) {
            return;
        }
        let origin = thread::current().stacks.origin(site);
        Mutex::note_seen(mutex);
        let counted = choices.counted(mutex.addr(), &origin);
        match choices.find(mutex.addr(), &origin, Moment::Initialised) {
            Some(asked) => drop(asked.settle(&*mutex, counted)),
            None if counted != 0 => drop(settle(&*mutex, choices.default + counted)),
            None => {}
        }
    }
}

/// The functions that serve a counted mutex once the acquisition is counted.
///
/// # Safety
/// `mutex` points to a mutex that has its lock.
pub unsafe fn uncounted(mutex: *const Mutex) -> &'static Functions {
    // SAFETY: the caller says that `mutex` points to a mutex; `CHOICES` is set before any slot
    // leads here.
    unsafe { &(*CHOICES.load(Relaxed)).ways[Mutex::kind_at(mutex).mark() % COUNTED].recorded }
}

/// The moment at which a mutex's place is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The mutex is initialised. A place with a number counts these mutexes.
    Initialised,
    /// The mutex is locked for the first time.
    Locked,
}

impl Asked {
    /// Whether the place means this mutex, one of whose calls lies in it: a place without a number
    /// means each such mutex, a place with the number n the n-th that is initialised there.
    fn counts(&self, moment: Moment) -> bool {
        let Some(nth) = self.place.nth else { return true };
        // Relaxed: the order of mutexes that threads initialise at the same time is arbitrary
        // anyway.
        moment == Moment::Initialised && self.initialised.fetch_add(1, Relaxed) + 1 == u64::from(nth)
    }

    /// Gives the mutex the place's lock. Returns the number that the mutex has now, which another
    /// thread may have given it.
    fn settle(&self, mutex: &Mutex, counted: usize) -> usize {
        let number = settle(mutex, self.number + counted);
        if number == Ok(self.number + counted) {
            self.mutexes.fetch_add(1, Relaxed);
        }
        number.unwrap_or_else(|theirs| theirs)
    }
}

/// Gives a mutex its lock's number. The error is the number that another thread gave it first.
fn settle(mutex: &Mutex, number: usize) -> Result<usize, usize> {
    loop {
        match mutex.mark(number) {
            Ok(()) => return Ok(number),
            // Another bit of the kind has changed: tries again.
            Err(UNSETTLED) => {}
            Err(theirs) => return Err(theirs),
        }
    }
}

impl Choices {
    /// The place that names the mutex at this address, or else the first that one of these calls
    /// leads to. A place of data goes before places of code; among each, the order of the variable
    /// decides.
    fn find(&self, mutex: usize, origin: &Origin, moment: Moment) -> Option<&Asked> {
        if let Some((loaded, address)) = found_at(mutex as u64)
            && let Some(asked) = self.asked.iter().find(|asked| self.lies_in(&loaded, address, &asked.place.ranges))
        {
            return Some(asked);
        }
        let calls = calls(origin);
        let leads_there = |asked: &&Asked| {
            calls.iter().flatten().any(|(loaded, address)| self.lies_in(loaded, *address, &asked.place.ranges))
                && asked.counts(moment)
        };
        // Each place that the calls lead to counts the mutex, even if an earlier place gives it its
        // lock.
        self.asked.iter().filter(leads_there).fold(None, |first, asked| first.or(Some(asked)))
    }

    /// [`COUNTED`] if the mutex's acquisitions are counted, which is added to the number of its
    /// lock; else 0.
    fn counted(&self, mutex: usize, origin: &Origin) -> usize {
        if self.counted.is_empty() {
            return 0;
        }
        let mut found = calls(origin).into_iter().chain([found_at(mutex as u64)]).flatten();
        if found.any(|(loaded, address)| self.lies_in(&loaded, address, &self.counted)) { COUNTED } else { 0 }
    }

    fn lies_in(&self, loaded: &Loaded, address: u64, ranges: &[ObjectRange]) -> bool {
        // SAFETY: the object stays loaded: the program is calling from it, or has a mutex in it.
        let path = unsafe { loaded.path() };
        let module = if path.is_empty() { &self.program } else { last_part(path) };
        let in_file = address.wrapping_sub(loaded.bias);
        ranges.iter().any(|range| range.range.contains(&in_file) && range.module.as_bytes() == module)
    }

    /// Gives a lock to a mutex that is about to be locked for the first time, from this call site.
    /// Returns the lock's number.
    ///
    /// # Safety
    /// `mutex` points to a mutex.
    #[cold]
    unsafe fn settle(&self, mutex: *mut Mutex, site: usize) -> usize {
        // SAFETY: the caller says that `mutex` points to a mutex. A mutex that is not aligned is
        // passed on (see `class_at`), so a mutex that is borrowed below is aligned.
        unsafe {
            if matches!(Mutex::class_at(mutex), Class::Passed(_)) {
                return self.passing;
            }
            // If no recorded call initialised the mutex, its whole origin, this call site with its
            // callers, can name a place. Else the initialising call has been looked up already, and
            // only this call site is left to look up.
            let alone = || Origin::of([site as u64].into_iter());
            let origin = if Mutex::kind_at(mutex).is_new() { thread::current().stacks.origin(site) } else { alone() };
            let counted = self.counted(mutex.addr(), &origin);
            match self.find(mutex.addr(), &origin, Moment::Locked) {
                Some(asked) => asked.settle(&*mutex, counted),
                None => settle(&*mutex, self.default + counted).unwrap_or_else(|theirs| theirs),
            }
        }
    }
}

/// The object file in which an address lies, with the address.
fn found_at(address: u64) -> Option<(Loaded, u64)> {
    Some((found::at(address)?, address))
}

/// The object files and addresses of the calls in `origin`. One byte is subtracted, because a
/// call's last byte lies before the address that the call returns to.
fn calls(origin: &Origin) -> [Option<(Loaded, u64)>; ORIGIN] {
    let mut calls = origin.addresses().iter().map(|address| found_at(address.wrapping_sub(1)));
    core::array::from_fn(|_| calls.next().flatten())
}

fn last_part(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// The functions of a mutex's lock. If the mutex has no lock yet, it gets one with `SETTLES`;
/// without, glibc's functions serve it.
///
/// # Safety
/// `mutex` points to a mutex.
#[inline(always)]
unsafe fn of<P: Probe, const SETTLES: bool>(mutex: *mut Mutex, site: usize) -> &'static Functions {
    // SAFETY: `CHOICES` is set before the slots point here; the caller says that `mutex` points to
    // a mutex.
    unsafe {
        let choices = &*CHOICES.load(Relaxed);
        let mut number = Mutex::kind_at(mutex).mark();
        if SETTLES && number == UNSETTLED {
            number = choices.settle(mutex, site);
        }
        let ways = &choices.ways[number];
        if P::ON { &ways.recorded } else { &ways.quiet }
    }
}

/// The functions that find each mutex's lock and go on to it.
fn finding<P: Probe>() -> Functions {
    Functions {
        init: init::<P>,
        destroy: destroy::<P>,
        lock: lock::<P>,
        trylock: trylock::<P>,
        timedlock: timedlock::<P>,
        clocklock: clocklock::<P>,
        unlock: unlock::<P>,
        spare_at: None,
    }
}

unsafe extern "C-unwind" fn init<P: Probe>(mutex: *mut Mutex, attributes: *const c_void, site: usize) -> c_int {
    // SAFETY: passed on; the program passes memory for a mutex.
    unsafe {
        let error = (glibc::functions::<P>().init)(mutex, attributes, site);
        if error == 0 {
            initialised(mutex, site);
        }
        error
    }
}

unsafe extern "C-unwind" fn destroy<P: Probe>(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: passed on. A mutex that was never locked is still as glibc initialised it.
    unsafe { (of::<P, false>(mutex, site).destroy)(mutex, site) }
}

unsafe extern "C-unwind" fn lock<P: Probe>(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { (of::<P, true>(mutex, site).lock)(mutex, site) }
}

unsafe extern "C-unwind" fn trylock<P: Probe>(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { (of::<P, true>(mutex, site).trylock)(mutex, site) }
}

unsafe extern "C-unwind" fn timedlock<P: Probe>(mutex: *mut Mutex, at: *const timespec, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { (of::<P, true>(mutex, site).timedlock)(mutex, at, site) }
}

unsafe extern "C-unwind" fn clocklock<P: Probe>(
    mutex: *mut Mutex,
    clock: clockid_t,
    at: *const timespec,
    site: usize,
) -> c_int {
    // SAFETY: passed on.
    unsafe { (of::<P, true>(mutex, site).clocklock)(mutex, clock, at, site) }
}

unsafe extern "C-unwind" fn unlock<P: Probe>(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: passed on. A mutex without a lock's number was locked before the library had started,
    // or is of a kind that is passed on: it is glibc's.
    unsafe { (of::<P, false>(mutex, site).unlock)(mutex, site) }
}
