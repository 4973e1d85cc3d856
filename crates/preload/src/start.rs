//! The library's start: before `main`, or at the first call of a hook if that is earlier.

use crate::base::{errno, message, time, unwind};
use crate::config::{self, Config, Each, Locks, Point, Served};
use crate::events::{self, Probe, Quiet, Recorded};
use crate::hooks::{self, Code, lookup, real, slot};
use crate::posix::mutex::lock_by_place::{self, Ways};
use crate::posix::mutex::plugin::Plugged;
use crate::posix::mutex::stand_in::{Polled, Queued, StandIn, Timed, TimedQueue};
use crate::posix::mutex::{self, counting, moved_waiters, replace};
use crate::posix::{abandoned_waits, barrier, cond, recorded, stall_watch};
use crate::thread::{self, callbacks, fork};
use crate::{library, notices, omp, progress, stats};
use baton_machine::{Machine, Native, Wait};
use baton_sync::barrier::visit;
use baton_sync::lock::{Fifo, PosixVisitor, TimedLock, TryLock, ZeroInit, plugin, visit_posix};
use core::ffi::c_int;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

const NEW: u32 = 0;
const STARTING: u32 = 1;
const READY: u32 = 2;
static STATE: AtomicU32 = AtomicU32::new(NEW);
/// The thread that runs the start.
static STARTER: AtomicUsize = AtomicUsize::new(0);

/// Starts the library. Called by the constructor and by every boot stub; one call does the work,
/// and other threads wait for it.
pub unsafe extern "C" fn start() {
    match STATE.compare_exchange(NEW, STARTING, Ordering::Acquire, Ordering::Acquire) {
        Ok(_) => {
            STARTER.store(thread::pointer(), Ordering::Relaxed);
            // Before glibc has the environment, no settings can be read, so the slots lead to
            // glibc's own functions; the constructor calls this again later.
            let state = if errno::kept(run) { READY } else { NEW };
            STATE.store(state, Ordering::Release);
        }
        // A call from inside the start, for instance from an allocator that the loader calls: it
        // goes on at once, and its mutexes are glibc's.
        Err(STARTING) if STARTER.load(Ordering::Relaxed) == thread::pointer() => {}
        Err(_) => {
            let mut pause = time::Backoff::new();
            while STATE.load(Ordering::Acquire) != READY {
                pause.wait(None);
            }
        }
    }
}

// The name by which the stubs (`hooks`) reach the start. It is not visible outside the library.
core::arch::global_asm!(
    ".globl baton_preload_start",
    ".hidden baton_preload_start",
    ".type baton_preload_start,@function",
    "baton_preload_start:",
    "jmp {start}",
    start = sym start,
);

/// The loader calls this before the program's own constructors.
#[cfg_attr(not(test), used)]
#[cfg_attr(not(test), unsafe(link_section = ".init_array"))]
#[cfg_attr(test, allow(dead_code))]
static CONSTRUCTOR: extern "C" fn() = constructor;

/// The loader calls this after the program's own destructors.
#[cfg_attr(not(test), used)]
#[cfg_attr(not(test), unsafe(link_section = ".fini_array"))]
#[cfg_attr(test, allow(dead_code))]
static DESTRUCTOR: extern "C" fn() = finish;

extern "C" fn constructor() {
    // SAFETY: `start` may be called at any time.
    unsafe { start() };
}

/// Called as the process ends, by `exit` or [`exit_now`].
extern "C" fn finish() {
    omp::finish();
    events::finish();
    stats::finish();
    say_unmatched();
}

/// Warns of places in `BATON_LOCK` that name no mutex of the program: once, and not in a fork's
/// child, nor if a `baton` listens, which learns it from the counters.
fn say_unmatched() {
    static SAID: AtomicBool = AtomicBool::new(false);
    let unmatched = || lock_by_place::settled().filter(|(_, mutexes)| *mutexes == 0).map(|(place, _)| place);
    if message::is_heard() || fork::in_child() || unmatched().next().is_none() || SAID.swap(true, Ordering::Relaxed) {
        return;
    }
    let places: Vec<String> = unmatched().map(ToString::to_string).collect();
    message::say(format_args!("BATON_LOCK: no mutex of this program is at {}", places.join(", ")));
}

/// Fills the slots and reads the settings. Returns false if glibc has no environment yet, as while
/// a program's `.preinit_array` runs.
fn run() -> bool {
    lookup::start();
    real::resolve();
    hooks::pass_through();
    omp::pass_through();
    library::pass_through();
    message::catch_panics();
    if !config::has_environment() {
        same_as_pthread();
        return false;
    }
    let config =
        config::read(|name| std::env::var_os(name)).unwrap_or_else(|error| message::refuse(format_args!("{error}")));
    if let Some(name) = &config.say {
        message::listens(name);
    }
    if !config.inert {
        set_up(&config);
    }
    same_as_pthread();
    true
}

/// Points the mutex functions' old names to what serves the new ones.
fn same_as_pthread() {
    slot::__pthread_mutex_init.set(slot::pthread_mutex_init.get());
    slot::__pthread_mutex_destroy.set(slot::pthread_mutex_destroy.get());
    slot::__pthread_mutex_lock.set(slot::pthread_mutex_lock.get());
    slot::__pthread_mutex_trylock.set(slot::pthread_mutex_trylock.get());
    slot::__pthread_mutex_unlock.set(slot::pthread_mutex_unlock.get());
}

fn set_up(config: &Config) {
    let replaces = config.lock.is_some() || config.barrier.is_some();
    let told = config.page.as_deref().is_some_and(notices::start);
    if !(replaces || told) && config.trace.is_none() && config.stats.is_none() && config.progress.is_none() {
        return;
    }
    let follow = std::env::var_os("BATON_ONLY_PID").is_none_or(|value| value.is_empty());
    register();
    thread::start();
    fork::start();
    stats::start(config, follow);
    stall_watch::start(config);
    unwind::start(lookup::found::start() && config.stacks);
    // Makes the machine's thread-local key now, while the process has few keys, so that no thread's
    // first lock has to allocate a table of keys.
    Native::local();
    let recorded = config.trace.is_some() && start_recording(config, follow);
    if recorded {
        recorded::install();
        library::install();
        install::<Recorded>(config);
        if config.lock.is_none() {
            recorded::cond::install();
        }
    } else if replaces || config.stats.is_some() {
        install::<Quiet>(config);
    }
    if let Some(progress) = &config.progress {
        count(config, progress);
    }
    if told {
        notices::install();
    }
    lookup::install();
    hooks::registered_code::install();
    slot::_Fork.set(fork::bare_fork as Code);
    slot::_exit.set(exit_now as Code);
    slot::_Exit.set(exit_now as Code);
    events::begin();
}

/// Installs the hooks that count calls while the program runs. A mutex that nothing replaces stays
/// glibc's; its calls go through a hook that counts only if the progress point is a mutex's
/// acquisition.
fn count(config: &Config, asked: &config::Progress) {
    if !progress::start(asked) {
        return;
    }
    progress::calls::install();
    progress::calls::install_without_site();
    match &asked.point {
        Point::Lock(named) => {
            let each = match &config.lock {
                Some(Locks::Each(each)) => each.clone(),
                Some(Locks::One(served)) => Each { places: Vec::new(), default: Some(*served) },
                None => Each::default(),
            };
            moved_waiters::start(None);
            let counted = Some((&named[..], counting::FUNCTIONS));
            lock_by_place::start::<Quiet>(&each, ways::<Quiet>, counted).recorded.install();
            mutex::c11::install::<Quiet>();
        }
        Point::Cond(_) => progress::conds::install(),
        Point::Call(_) | Point::Mark(_) => {}
    }
}

/// Registers what the rooms do as threads begin and end and as the process forks. The trace comes
/// last, because the other rooms may write into it until a thread's end, and because a fork's child
/// begins its new file when everything else is in order.
fn register() {
    callbacks::register(&moved_waiters::CALLBACKS);
    callbacks::register(&stats::CALLBACKS);
    callbacks::register(&progress::CALLBACKS);
    callbacks::register(&stall_watch::CALLBACKS);
    callbacks::register(&notices::CALLBACKS);
    callbacks::register(&omp::CALLBACKS);
    callbacks::register(&events::CALLBACKS);
}

/// Opens the trace. If that fails (its folder has gone, rights were given up, the disk is full),
/// the program runs all the same: the process says so, and the programs that it executes do not try
/// again.
fn start_recording(config: &Config, follow: bool) -> bool {
    let Err(error) = events::start(config, follow) else { return true };
    events::say_unrecorded(config.trace.as_deref(), error);
    config::forget_trace();
    false
}

fn install<P: Probe>(config: &Config) {
    let inner = match &config.lock {
        Some(Locks::One(served)) => {
            let served = ways::<P>(*served);
            moved_waiters::start(served.recorded.spare_at);
            served.recorded.install();
            Some(served.quiet)
        }
        Some(Locks::Each(each)) => {
            moved_waiters::start(None);
            let served = lock_by_place::start::<P>(each, ways::<P>, None);
            served.recorded.install();
            // If the default is glibc, OpenMP's locks stay the runtime's own, just as mutexes stay
            // glibc's.
            each.default.map(|_| served.quiet)
        }
        None => {
            mutex::glibc::functions::<P>().install();
            None
        }
    };
    // Baton's condition variables replace glibc's if any mutex may be replaced.
    if config.lock.is_some() {
        cond::install::<P>();
    }
    omp::install::<P>(inner.as_ref().map(omp::Inner::of));
    mutex::c11::install::<P>();
    if let Some((name, wait)) = config.barrier {
        visit::<Native, _>(name, barrier::Choice::<P>(wait, PhantomData))
            .expect("looked up when the settings were read");
    }
}

/// The functions that serve mutexes with the lock `served`. Ends the process with a message if no
/// such lock exists.
fn ways<P: Probe>(served: Served) -> Ways {
    if plugin::is_loaded(served.lock) {
        abandoned_waits::install();
        return Choice::<P>(served.wait, PhantomData).ways::<Plugged>();
    }
    visit_posix::<Native, _>(served.lock.name, Choice::<P>(served.wait, PhantomData))
        .unwrap_or_else(|error| message::refuse(format_args!("BATON_LOCK: {error}")))
}

/// Visits the chosen lock's type, to get its functions.
struct Choice<P>(Wait, PhantomData<P>);

impl<P: Probe> Choice<P> {
    fn ways<S: StandIn>(self) -> Ways {
        Ways { recorded: replace::functions::<S, P>(self.0), quiet: replace::functions::<S, Quiet>(self.0) }
    }
}

impl<P: Probe> PosixVisitor<Native> for Choice<P> {
    type Out = Ways;
    fn timed<L: TimedLock<Native> + ZeroInit>(self) -> Ways {
        self.ways::<Timed<L>>()
    }
    fn timed_queue<L: TimedLock<Native> + Fifo + ZeroInit>(self) -> Ways {
        abandoned_waits::install();
        self.ways::<TimedQueue<L>>()
    }
    fn queued<L: TryLock<Native> + Fifo + ZeroInit>(self) -> Ways {
        abandoned_waits::install();
        self.ways::<Queued<L>>()
    }
    fn polled<L: TryLock<Native> + ZeroInit>(self) -> Ways {
        abandoned_waits::install();
        self.ways::<Polled<L>>()
    }
}

/// `_exit` runs no destructors, so the counters and the trace are finished here; but not in a
/// `vfork` child, whose memory is its parent's.
unsafe extern "C-unwind" fn exit_now(status: c_int, _: usize) -> libc::c_long {
    if fork::is_process() {
        finish();
    }
    // SAFETY: passed on.
    unsafe { real::_exit.get()(status) }
}
