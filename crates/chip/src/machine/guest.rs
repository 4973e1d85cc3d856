//! What a simulated guest can do besides the verbs of [`Machine`](baton_machine::Machine).

use super::access::load_each;
pub use super::futex::{requeue, wake_moved};
use super::kernel::{enter_kernel, leave_queue, system_call_to, until_woken};
use super::routines::create;
pub use super::signal::{
    Action, Signal, SignalHandler, SignalSet, block_signals, delay, on_signal, pending_signals, signal, sleep,
};
pub use super::thread::Guest;
use super::thread::assert_guest;
use crate::base::thread::OUTSIDE;
use crate::engine::current::{chip, guest, now, offset_of as offset, operate, own, run_as, running, with};
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::engine::thread::ThreadState;
use crate::engine::waiting::Waited;
use crate::machine::kernel::kernel;
pub use crate::os::app::Spawn;
use crate::os::refused::{Refused, check_clock};
use baton_memory::Memory;
pub use baton_sched::{Nice, Notice};
use baton_trace::What;
use baton_units::{CoreId, CpuId, Cycles, Hertz};

/// Starts a thread from a guest thread, which pays `os.thread_create`.
///
/// # Panics
/// Outside of guest code (use [`Simulation::spawn`](crate::Simulation::spawn)), where the arena has
/// no room for another stack, or if no CPU on which the thread may run is in use and online.
pub fn spawn(spawn: Spawn, f: impl FnOnce() + 'static) -> Guest {
    assert_guest("spawn");
    Engine::shielded(|| {
        enter_kernel();
        operate(Reason::Kernel, |engine| engine.after(engine.chip.os.thread_create.0));
    });
    match create(spawn, Box::new(f)) {
        Ok(guest) => guest,
        Err(refused) => panic!("{refused}"),
    }
}

/// Waits until the thread has ended.
///
/// # Panics
/// Outside of guest code.
pub fn join(guest: Guest) {
    assert_guest("join");
    while !join_once(guest) {}
}

/// Like [`join`], but returns at a signal. Returns whether the thread has ended.
fn join_once(guest: Guest) -> bool {
    Engine::shielded(|| {
        enter_kernel();
        // Looking at the thread is an operation, so that a loop of joins takes time.
        operate(Reason::Kernel, |engine| engine.after(engine.chip.os.futex.wait_changed.0.max(1)));
        leave_queue();
    });
    until_woken(|engine| {
        let id = engine.running;
        let other = &mut engine.threads[guest.0 as usize];
        let over = other.state == ThreadState::Done;
        if !over {
            other.os.joiners.push(id);
            engine.sleep(Waited::Thread(guest.0), u64::MAX);
        }
        over
    })
}

/// Kills a thread, which may be the calling one. The thread ends at its next operation; if it
/// sleeps, waits or stalls, this is cut short. Its requests to devices are called back. Its stores
/// are written; what it owns, including locks, stays as it is, and no destructor runs. Costs
/// `os.syscall`.
///
/// # Panics
/// Outside of guest code.
pub fn kill(guest: Guest) {
    assert_guest("kill");
    system_call_to(|engine| engine.kill(guest.0));
}

/// Runs kernel code that no signal interrupts on behalf of the calling thread, like an
/// uninterruptible sleep of Linux. If the thread is [killed](kill) or receives a [signal] in the
/// meantime, it ends or handles the signal afterwards.
///
/// # Panics
/// Outside of guest code.
pub fn uninterruptible<R>(work: impl FnOnce() -> R) -> R {
    assert_guest("uninterruptible");
    let count = |by: i32| {
        own(|thread| {
            let count = &mut thread.os.signals.uninterruptible;
            *count = count.wrapping_add_signed(by);
        });
    };
    Engine::shielded(|| {
        count(1);
        let result = work();
        count(-1);
        result
    })
}

/// Restricts a thread to these cores and CPUs from now on; lifts the restriction if both lists are
/// empty. Costs `os.syscall`.
///
/// # Errors
/// If none of them is in use and online.
///
/// # Panics
/// Outside of guest code.
pub fn set_affinity(guest: Guest, cores: &[CoreId], cpus: &[CpuId]) -> Result<(), Refused> {
    assert_guest("set_affinity");
    system_call_to(|engine| engine.set_affinity(guest.0, cores, cpus))
}

/// Switches a core off or on; threads that run or wait there move to other cores. Costs
/// `os.syscall`.
///
/// # Errors
/// If there is no such core in use, or if a thread would be left without a core.
///
/// # Panics
/// Outside of guest code.
pub fn set_online(core: CoreId, online: bool) -> Result<(), Refused> {
    assert_guest("set_online");
    system_call_to(|engine| engine.set_online(core, online))
}

/// The number of threads of the calling thread's application that can run now, including the
/// calling thread.
///
/// # Panics
/// Outside of guest code.
pub fn runnable() -> u32 {
    assert_guest("runnable");
    with(|engine| engine.runnable(engine.threads[engine.running as usize].os.app))
}

/// Tells the scheduling policy something about the calling thread: the run-time extensions of Saez
/// and others (section 2.2). Costs `os.syscall`.
///
/// # Panics
/// Outside of guest code.
pub fn notify(notice: Notice, lock: Option<u64>, holder: Option<Guest>) {
    assert_guest("notify");
    super::notices::tell(notice, lock, holder.map(|guest| baton_sched::ThreadId(guest.0)));
}

/// Loads these cells of guest memory, each with `instructions` of its own, and returns when all
/// have arrived. The loads are independent: as many are under way as the thread's share of its
/// core's window permits, as in a loop over an array in any order.
///
/// # Panics
/// Outside of guest code, or for a cell that is not in guest memory.
pub fn load_all<T>(cells: impl IntoIterator<Item = *const T>, instructions: u32) {
    assert_guest("load_all");
    load_each(cells, instructions);
}

/// Records an event of the calling thread that happened at `at`, no later than now. Takes no time.
/// Does nothing if the simulation records nothing.
#[inline]
pub fn record(at: Cycles, what: What) {
    with(|engine| engine.record(at.0, what));
}

/// The time; reading it takes no time.
#[inline]
pub fn time() -> Cycles {
    Cycles(now())
}

/// The calling thread begins to wait for a lock: its activity is recorded until [`wait_ends`].
/// Takes no time.
#[inline]
pub fn wait_begins() {
    own(|thread| thread.stats.timeline.open(&thread.stats.parts));
}

/// The calling thread has got the lock that it waited for: its activity is no longer recorded.
#[inline]
pub fn wait_ends() {
    own(|thread| thread.stats.timeline.open = false);
}

/// The number of messages that caches and homes have sent so far; 0 on a chip of fixed latencies.
pub fn messages() -> u64 {
    with(|engine| engine.memory.counts().messages)
}

/// The measured part of the run begins: the longest journeys of packets so far no longer count.
/// Takes no time.
pub fn forget_longest() {
    with(|engine| engine.memory.forget_longest());
}

/// Runs `f` without taking time, like the outside of the simulation, after the thread's stores have
/// left their buffer. For data that a guest sets up for others where setting up is not measured.
///
/// # Panics
/// Outside of guest code. `f` must not panic.
pub fn outside<R>(f: impl FnOnce() -> R) -> R {
    assert_guest("outside");
    crate::issue::drain::drain();
    let guest = run_as(OUTSIDE);
    let result = f();
    run_as(guest);
    result
}

/// The core that the calling thread is on.
pub fn core() -> CoreId {
    guest(|thread| thread.core).unwrap_or(CoreId(0))
}

/// Changes a core's clock, `core.clock_latency` from now: a system call.
///
/// # Errors
/// [`Refused::ClockIsFixed`] on a chip without `core.clock_change`, [`Refused::Clock`] for a core
/// or a clock that the chip does not have.
///
/// # Panics
/// Outside of guest code.
pub fn set_clock(core: CoreId, clock: Hertz) -> Result<(), Refused> {
    assert_guest("set_clock");
    let price = chip(|chip| {
        check_clock(chip, core, clock)?;
        chip.core.clock_change.ok_or_else(|| Refused::ClockIsFixed(chip.name.clone()))
    })?;
    kernel(price.0);
    with(|engine| engine.ask_for_clock(core, clock));
    Ok(())
}

/// A core's clock. Asking costs nothing.
///
/// # Panics
/// If there is no such core.
pub fn clock(core: CoreId) -> Hertz {
    with(|engine| engine.cores.clocks.clock(core))
}

/// The calling thread, if it is a guest.
#[inline]
pub fn this() -> Option<Guest> {
    match running() {
        OUTSIDE => None,
        id => Some(Guest(id)),
    }
}

/// Whether the calling thread has fallen asleep at or after `time`: for events that say how a wait
/// ended.
#[inline]
pub fn slept_since(time: Cycles) -> bool {
    guest(|thread| thread.stats.last_sleep.is_some_and(|slept| slept >= time.0)).unwrap_or(false)
}

/// The CPU time of the calling thread so far, as an operating system would count it: all but the
/// time in which it slept, was ready, or was switched to.
pub fn cpu_time() -> Cycles {
    let away = [Reason::Asleep, Reason::Ready, Reason::Switch];
    let counted = Reason::ALL.into_iter().filter(|reason| !away.contains(reason));
    Cycles(guest(|thread| counted.map(|reason| thread.stats.times[reason as usize]).sum()).unwrap_or(0))
}

/// The time for which the calling thread has been in the kernel so far: its system calls, and the
/// handlers of interrupts that came while it had a CPU.
pub fn kernel_time() -> Cycles {
    Cycles(guest(|thread| thread.stats.times[Reason::Kernel as usize]).unwrap_or(0))
}

/// The offset of a guest address in guest memory, which is the same in every run.
pub fn offset_of<T>(at: *const T) -> u64 {
    offset(at.addr()) as u64
}
