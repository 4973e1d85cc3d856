//! A lock for each of some places of the program (`BATON_LOCK=app+0x4040-0x4068=mcs,default=glibc`): which lock a mutex has.
//!
//! A mutex is settled once, by what is found first: the object file's data that it lies in, the call that initialised it or one
//! of that call's callers, the call that first locks it (with its callers, if no call initialised the mutex), and else the default. The number of its lock then stands in the upper bits of its kind, of which
//! glibc looks at the lower ones only, and every later call costs a load and a jump more than with one lock for all. With one
//! lock for all nothing of this is in the way: the slots point past it.
//!
//! An initialisation takes the number away, so a mutex in used memory is settled anew. Kinds that pass through ([`crate::thread::Passed`])
//! are never settled.

use super::functions::Functions;
use super::glibc;
use super::object::{Class, Mutex};
use crate::base::message;
use crate::config::{Each, Served};
use crate::events::{Probe, Quiet};
use crate::hooks::lookup::found::{self, Loaded};
use crate::thread::{self, ORIGIN, Origin};
use baton_sync::lock::assign::{ObjectRange, Place};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};
use libc::{clockid_t, timespec};

/// A way to serve mutexes, with the capture that was asked for, and without.
#[derive(Clone, Copy)]
pub struct Ways {
    /// For the slots.
    pub recorded: Functions,
    /// For OpenMP, which records by itself.
    pub quiet: Functions,
}

/// Numbers that a kind has room for.
const NUMBERS: usize = 128;
/// No lock yet.
const UNSETTLED: usize = 0;
/// glibc serves it.
const GLIBC: usize = 1;
/// Added to a number: each acquisition is counted, and the lock is that of the number without it.
const COUNTED: usize = 64;

/// A place, and how many mutexes it has settled.
struct Asked {
    place: Place,
    number: usize,
    mutexes: AtomicU64,
    /// How many mutexes were initialised there.
    initialised: AtomicU64,
}

/// What was asked for.
struct Choices {
    /// The ways to serve a mutex, by the number in its kind. Numbers that no lock has are filled
    /// too, because the kind of a destroyed mutex may be garbage.
    ways: [Ways; NUMBERS],
    asked: Vec<Asked>,
    /// Places of the mutexes whose acquisitions are counted.
    counted: Vec<ObjectRange>,
    default: usize,
    /// Serves the kinds that pass through.
    passing: usize,
    /// The last part of the path of the program's own file.
    program: Vec<u8>,
}

/// Set once, at start; null where one lock serves all mutexes.
static CHOICES: AtomicPtr<Choices> = AtomicPtr::new(core::ptr::null_mut());

fn choices() -> Option<&'static Choices> {
    // SAFETY: null, or a leaked box.
    unsafe { CHOICES.load(Relaxed).as_ref() }
}

/// Mutexes whose acquisitions are counted, and the functions that count and go on to [`uncounted`].
pub type Counted<'a> = (&'a [ObjectRange], Functions);

/// Notes what was asked for; the functions that find a mutex's lock. `ways` finds a lock's functions. Locks and counts come from
/// two variables: a second call, with `counted`, replaces what the first noted.
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

/// The places that were asked for, each with the number of mutexes that it has settled.
pub fn settled() -> impl Iterator<Item = (&'static Place, u64)> {
    let asked = choices().map_or(&[][..], |choices| &choices.asked);
    asked.iter().map(|asked| (&asked.place, asked.mutexes.load(Relaxed)))
}

/// Whether glibc serves a mutex, as that was asked for.
///
/// # Safety
/// A mutex is there.
pub unsafe fn is_glibcs(mutex: *const Mutex) -> bool {
    // SAFETY: as the caller says.
    choices().is_some() && unsafe { Mutex::kind_at(mutex) }.mark() % COUNTED == GLIBC
}

/// Where the word of the spare lock lies in a mutex that has been locked; `None`: glibc serves it.
pub fn spare_at(mutex: &Mutex) -> Option<usize> {
    choices()?.ways[mutex.kind().mark() % COUNTED].recorded.spare_at
}

/// A mutex was initialised from this call site.
///
/// # Safety
/// A mutex is there, which no other thread uses yet.
pub unsafe fn initialised(mutex: *mut Mutex, site: usize) {
    let Some(choices) = choices() else { return };
    // SAFETY: the caller guarantees that a mutex is there. A mutex that is not aligned is
    // passed on (see `class_at`), so a mutex that is borrowed below is aligned.
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

/// The functions that serve a mutex whose acquisitions are counted.
///
/// # Safety
/// A mutex is there, which has its lock.
pub unsafe fn uncounted(mutex: *const Mutex) -> &'static Functions {
    // SAFETY: as the caller says; set before any slot leads here.
    unsafe { &(*CHOICES.load(Relaxed)).ways[Mutex::kind_at(mutex).mark() % COUNTED].recorded }
}

/// When a mutex's place is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// It is initialised: places may count these.
    Initialised,
    /// It is locked for the first time.
    Locked,
}

impl Asked {
    /// Whether a mutex that this place leads to is meant: any, or the one of the place's number.
    fn counts(&self, moment: Moment) -> bool {
        let Some(nth) = self.place.nth else { return true };
        // Relaxed: an order among mutexes that threads initialise at the same time means nothing.
        moment == Moment::Initialised && self.initialised.fetch_add(1, Relaxed) + 1 == u64::from(nth)
    }

    /// Gives the mutex its lock; the number of the one that it has now.
    fn settle(&self, mutex: &Mutex, counted: usize) -> usize {
        let number = settle(mutex, self.number + counted);
        if number == Ok(self.number + counted) {
            self.mutexes.fetch_add(1, Relaxed);
        }
        number.unwrap_or_else(|theirs| theirs)
    }
}

/// Gives a mutex its number; the error is the number that another thread gave it first.
fn settle(mutex: &Mutex, number: usize) -> Result<usize, usize> {
    loop {
        match mutex.mark(number) {
            Ok(()) => return Ok(number),
            // Something else of the kind has changed.
            Err(UNSETTLED) => {}
            Err(theirs) => return Err(theirs),
        }
    }
}

impl Choices {
    /// The place that names a mutex at an address, or one that these calls lead to: data before code, then the order in which
    /// places were asked for.
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
        // Each place counts what it names, also behind one that has the mutex.
        self.asked.iter().filter(leads_there).fold(None, |first, asked| first.or(Some(asked)))
    }

    /// What to add to the number of a mutex: whether it is counted.
    fn counted(&self, mutex: usize, origin: &Origin) -> usize {
        if self.counted.is_empty() {
            return 0;
        }
        let mut found = calls(origin).into_iter().chain([found_at(mutex as u64)]).flatten();
        if found.any(|(loaded, address)| self.lies_in(&loaded, address, &self.counted)) { COUNTED } else { 0 }
    }

    fn lies_in(&self, loaded: &Loaded, address: u64, ranges: &[ObjectRange]) -> bool {
        // SAFETY: the program is calling from the object, or has a mutex in it.
        let path = unsafe { loaded.path() };
        let module = if path.is_empty() { &self.program } else { last_part(path) };
        let in_file = address.wrapping_sub(loaded.bias);
        ranges.iter().any(|range| range.range.contains(&in_file) && range.module.as_bytes() == module)
    }

    /// Settles a mutex that is about to be locked from this call site for the first time.
    ///
    /// # Safety
    /// A mutex is there.
    #[cold]
    unsafe fn settle(&self, mutex: *mut Mutex, site: usize) -> usize {
        // SAFETY: the caller guarantees that a mutex is there. A mutex that is not aligned is
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

/// The object file in which an address lies.
fn found_at(address: u64) -> Option<(Loaded, u64)> {
    Some((found::at(address)?, address))
}

/// The calls on the way to a mutex's beginning: a call's last byte lies before the address that it returns to.
fn calls(origin: &Origin) -> [Option<(Loaded, u64)>; ORIGIN] {
    let mut calls = origin.addresses().iter().map(|address| found_at(address.wrapping_sub(1)));
    core::array::from_fn(|_| calls.next().flatten())
}

fn last_part(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// The functions of a mutex's lock. `SETTLES`: one that has none gets its lock now; else glibc's functions are meant.
///
/// # Safety
/// A mutex is there.
#[inline(always)]
unsafe fn of<P: Probe, const SETTLES: bool>(mutex: *mut Mutex, site: usize) -> &'static Functions {
    // SAFETY: set before the slots point here; the mutex is there.
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

/// The functions that find a mutex's lock.
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
    // SAFETY: passed on, and the caller hands us memory for a mutex.
    unsafe {
        let error = (glibc::functions::<P>().init)(mutex, attributes, site);
        if error == 0 {
            initialised(mutex, site);
        }
        error
    }
}

unsafe extern "C-unwind" fn destroy<P: Probe>(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: passed on. One that was never locked is as glibc made it.
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
    // SAFETY: passed on. What was locked before the library had started, or passes through, is glibc's.
    unsafe { (of::<P, false>(mutex, site).unlock)(mutex, site) }
}
