//! [`Simulated`]: the machine trait on the simulated chip. Every operation of a guest is a request
//! to the memory system or to the operating system; the guest suspends until the request has been
//! served.
//!
//! Outside of guest code ([`Simulation::outside`](crate::Simulation::outside)) the same operations
//! take no time. That is how data is set up before a run and read after it.
//!
//! | file | holds |
//! | --- | --- |
//! | `simulated` | the type [`Simulated`] |
//! | `thread` | the handle of a guest thread |
//! | [`access`] | accesses to lines and ranges |
//! | [`cell`] | cells and slots |
//! | [`device`] | devices, as guests reach them |
//! | [`qimu`] | queue ids of programs, translated |
//! | [`moving`] | queues that move between devices |
//! | [`wait`] | the wait policies and their prices |
//! | [`idle_wait`] | wait policies during which the CPU stands still: monitors, and halting |
//! | [`futex`] | sleepers moved from cell to cell |
//! | [`kernel`] | system calls, kernel time that nothing interrupts, and interruptible computations |
//! | `sleepers` | sleepers of futexes at fixed prices: their table, and how they are woken |
//! | [`futex_kernel`] | the futex protocol in guest memory |
//! | `notices` | what guests tell the scheduling policy |
//! | [`phase`] | phases of the coarse mode |
//! | [`routines`] | coroutines of guest threads |
//! | `heap` | allocates and frees guest memory |
//! | `shared` | words that all guests share, and cells that a single guest polls |
//! | [`signal`] | signals, as guests send and handle them |
//! | [`guest`] | what only a simulated guest can do: sleep for a time, start and join threads, record events |

mod access;
mod adapt;
pub mod cell;
pub mod device;
mod futex;
pub(crate) mod futex_kernel;
pub mod guest;
mod heap;
pub(crate) mod idle_wait;
pub(crate) mod kernel;
pub mod moving;
mod notices;
mod phase;
mod qimu;
pub(crate) mod routines;
mod shared;
pub mod signal;
mod simulated;
mod sleepers;
mod thread;
pub(crate) mod wait;

pub use simulated::Simulated;
pub use thread::Guest;

use crate::base::thread::OUTSIDE;
use crate::engine::current::{chip, is_any, now, operate, own, reference_clock, running, spend, with};
use crate::engine::reason::Reason;
use crate::issue::drain::drain;
use crate::issue::hints;
use crate::machine::kernel::work;
use access::{access_range, lines, load_each, place};
use baton_chipfile::config::Chip;
use baton_chipfile::config::mechanism::Annotator;
use baton_machine::Devices;
use baton_machine::queues::{Post, QueueDevice};
use baton_machine::units::{Cycles, Nanos};
use baton_machine::wait::Idle;
use baton_machine::{
    Behaviour, Clock, Deadline, Local, LockHint, LockNotice, Machine, Notice, Ordering, PushTo, Section, Shared, Site,
    Wait, WaitResult, Word,
};
use baton_memory::Access;
use baton_units::CoreId;
use core::alloc::Layout;
use core::ptr::NonNull;
use std::sync::Arc;

/// What the chip file says of the running thread's core.
fn seen_from_here<R>(of: impl FnOnce(&Chip, CoreId) -> R) -> R {
    let core = own(|thread| thread.core);
    chip(|chip| of(chip, core))
}

// SAFETY: guests of one engine run one at a time on one host thread and give way only at an
// operation's suspension, so each cell access is atomic among them; a guest's use of a cell of
// another engine is refused, and so is any use without an engine. Memory comes from the arena's
// heap, which outlives every allocation. Each thread has a `Local` of its own.
unsafe impl Machine for Simulated {
    type Atomic<T: Word> = cell::SimulatedAtomic<T>;
    type Slot<T: 'static> = cell::SimulatedSlot<T>;
    type Queues = device::DeviceOf<QueueDevice>;
    const NAME: &'static str = "simulated";

    fn fence(order: Ordering) {
        if order == Ordering::SeqCst && running() != OUTSIDE {
            drain();
            operate(Reason::Memory, |engine| engine.after(engine.core_here().fence.0));
        }
    }

    fn relax() {
        if running() != OUTSIDE {
            // At least a cycle passes: a guest that only pauses must not stop time.
            own(|thread| thread.pauses());
            operate(Reason::Spin, |engine| engine.after(engine.chip.wait.pause.0.max(1)));
            own(|thread| thread.paused());
        }
    }

    #[inline]
    fn wait_while<T: Word>(cell: &Self::Atomic<T>, value: T, wait: Wait, deadline: Option<Deadline>) -> WaitResult<T> {
        wait::wait_while(cell, value, wait, deadline)
    }

    #[inline]
    fn wake<T: Word>(cell: *const Self::Atomic<T>, n: u32, wait: Wait) {
        if wait.parks() && running() != OUTSIDE {
            match wait.steps().idle {
                Some(Idle::Halt) => idle_wait::wake_halted(cell.expose_provenance(), n),
                _ => sleepers::wake(cell.expose_provenance(), n),
            }
        }
    }

    fn now(_: Clock) -> Nanos {
        if running() != OUTSIDE {
            operate(Reason::Work, |engine| engine.after(engine.core_here().clock_read.0.max(1)));
        }
        reference_clock().nanos(Cycles(now()))
    }

    #[inline]
    fn hint(hint: LockHint) {
        if running() == OUTSIDE {
            return;
        }
        let reason = if hint.retries_left != 0 { Reason::Spin } else { Reason::Work };
        spend(reason, |engine| {
            let now = engine.now;
            engine.threads[engine.running as usize].mechanism.hears(hint, now);
            engine.mechanism.hint_cycles().0
        });
        with(|engine| {
            let now = engine.now;
            engine.threads[engine.running as usize].mechanism.hinted(hint, now, &engine.mechanism);
        });
    }

    #[inline]
    fn section(section: Section) {
        if running() == OUTSIDE {
            return;
        }
        spend(Reason::Work, |engine| engine.mechanism.section_cycles().0);
        with(|engine| engine.threads[engine.running as usize].mechanism.section(section, &engine.mechanism));
    }

    fn notify(notice: Notice) {
        notices::notify(notice);
    }

    #[inline]
    fn hears_locks() -> bool {
        notices::hears_locks()
    }

    fn notify_lock(notice: LockNotice, address: usize) {
        notices::notify_lock(notice, address);
    }

    #[inline]
    fn local() -> &'static Local {
        with(|engine| {
            let local: *const Local = match engine.running {
                OUTSIDE => &*engine.outside,
                id => &*engine.threads[id as usize].local,
            };
            // SAFETY: the `Local` is boxed, and kept as long as the engine, in which alone guest
            // code can run.
            unsafe { &*local }
        })
    }

    fn shared() -> &'static Shared<Self::Atomic<usize>> {
        shared::words()
    }

    fn keep(layout: Layout) -> NonNull<u8> {
        shared::keep(layout)
    }

    fn polls_alone<T: Word>(cell: *const Self::Atomic<T>, polls: bool) {
        shared::polls_alone(cell.addr(), polls);
    }

    fn node() -> u32 {
        if running() == OUTSIDE { 0 } else { seen_from_here(Chip::socket) }
    }

    fn nodes() -> u32 {
        chip(|chip| chip.numa_nodes())
    }

    fn site() -> Site {
        if running() == OUTSIDE { Site::default() } else { seen_from_here(Chip::site) }
    }

    fn alloc(layout: Layout) -> NonNull<u8> {
        heap::alloc(layout)
    }

    unsafe fn dealloc(memory: NonNull<u8>, layout: Layout) {
        heap::dealloc(memory, layout);
    }

    fn work(cycles: Cycles) {
        if running() != OUTSIDE {
            work(cycles.0);
        }
    }

    fn phase(behaviour: &Arc<Behaviour>, instructions: u64) -> bool {
        phase::phase(behaviour, instructions)
    }

    unsafe fn touch(start: *mut u8, bytes: usize, write: bool) {
        access_range(start.addr(), bytes, if write { Access::Store } else { Access::Load });
    }

    unsafe fn touch_each<T>(places: impl IntoIterator<Item = *const T>, instructions: u32) {
        if running() != OUTSIDE {
            load_each(places, instructions);
        }
    }

    fn prefetch(start: *const u8, bytes: usize, write: bool) {
        if running() != OUTSIDE && bytes != 0 {
            hints::prefetch(&mut lines(start.addr(), bytes).map(place), write);
        }
    }

    fn prepush(start: *const u8, bytes: usize, to: PushTo) {
        if running() != OUTSIDE && bytes != 0 {
            let to = match to {
                PushTo::SharedLevel => None,
                PushTo::Core(core) => Some(core),
            };
            hints::push(&mut lines(start.addr(), bytes).map(place), to);
        }
    }

    /// `None` if the chip has no such queue device, and outside of a simulation, where a queue that
    /// has outlived its simulation can be dropped.
    fn queues(number: u32) -> Option<Self::Queues> {
        if !is_any() {
            return None;
        }
        (0..Self::count()).filter_map(Self::at::<QueueDevice>).nth(number as usize)
    }

    unsafe fn post(device: Self::Queues, requests: &[Post<'_, Self::Atomic<u64>>]) -> bool {
        device.post(requests)
    }
}
