//! The machine that this program runs on: every operation is the real instruction or system call.
//!
//! | file | holds |
//! | --- | --- |
//! | `marker` | the type that stands for this machine |
//! | [`cell`] | atomic cells and slots over `core::sync::atomic` |
//! | [`wait`] | the wait policies |
//! | [`policy`] | a policy that may change while threads read it |
//! | [`stall`] | detection of programs that do little but spin |
//! | [`trial`] | which policies this processor supports, by CPUID and by a measured trial |
//! | `x86`, `arm` | the wait instructions of these architectures |
//! | [`futex`] | sleeping in the kernel |
//! | `fence` | a fence that orders all accesses |
//! | `hints` | prefetches, and demotion of lines that other cores will read |
//! | [`sanitizer`] | what ThreadSanitizer is told |
//! | [`thread`] | a thread's storage and number |
//! | [`notices`] | what threads tell a scheduler outside of the program |
//! | `own` | the thread-local word that points to that storage |

mod adapt;
pub mod cell;
mod fence;
pub mod futex;
mod hints;
mod marker;
pub mod notices;
mod own;
pub mod policy;
pub mod sanitizer;
pub mod stall;
pub mod thread;
pub mod trial;
pub mod wait;

#[cfg(target_arch = "aarch64")]
pub mod arm;
#[cfg(target_arch = "x86_64")]
pub mod x86;

pub use marker::Native;

use crate::device::{NoDevice, Protocol};
use crate::devices::Devices;
use crate::units::{Cycles, Nanos};
use crate::wait::Spinning;
use crate::{
    Clock, Deadline, Local, LockHint, LockNotice, Machine, PushTo, Shared, Site, Wait, WaitResult, Word, shared,
};
use core::alloc::Layout;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;

/// Memory of up to this many bytes is zeroed by this code: glibc's `calloc` does not use its
/// per-thread cache for small blocks.
const SMALL: usize = 512;

/// A thread that has lost a race gives way with one PAUSE, and with twice as many after each further one,
/// up to two to this power.
const MOST_WAYS: u32 = 5;

// SAFETY: cells are core's atomics, memory comes from the global allocator, and storage is
// thread-local.
unsafe impl Machine for Native {
    type Atomic<T: Word> = cell::NativeAtomic<T>;
    type Slot<T: 'static> = cell::NativeSlot<T>;
    type Queues = NoDevice;
    const NAME: &'static str = "native";
    const HINTS: bool = false;

    #[inline(always)]
    fn fence(order: Ordering) {
        if order == Ordering::SeqCst { fence::full() } else { core::sync::atomic::fence(order) }
    }

    #[inline(always)]
    fn fence_after_exchange() {
        // On x86-64 a locked instruction completes after all earlier stores, and before all later loads.
        if cfg!(target_arch = "x86_64") {
            core::sync::atomic::compiler_fence(Ordering::SeqCst);
        } else {
            core::sync::atomic::fence(Ordering::SeqCst);
        }
    }

    #[inline(always)]
    fn relax() {
        core::hint::spin_loop();
    }

    #[inline]
    fn wait_while<T: Word>(cell: &Self::Atomic<T>, value: T, wait: Wait, deadline: Option<Deadline>) -> WaitResult<T> {
        wait::wait_while(cell, value, wait, deadline)
    }

    #[inline]
    fn wait_while_in<T: Word>(
        cell: &Self::Atomic<T>,
        value: T,
        group: u32,
        wait: Wait,
        deadline: Option<Deadline>,
    ) -> WaitResult<T> {
        wait::wait_while_in(cell, value, group, wait, deadline)
    }

    #[cold]
    #[inline(never)]
    fn give_way(lost: u32) {
        for _ in 0..1 << lost.min(MOST_WAYS) {
            core::hint::spin_loop();
        }
    }

    #[inline]
    fn tried_in_vain(tries: u32, spinning: &mut Spinning) -> bool {
        wait::tried_in_vain(tries, spinning)
    }

    #[inline(always)]
    fn wake<T: Word>(cell: *const Self::Atomic<T>, n: u32, wait: Wait) {
        if wait.parks() {
            futex::wake(cell, n);
        }
    }

    #[inline(always)]
    fn wake_in<T: Word>(cell: *const Self::Atomic<T>, n: u32, group: u32, wait: Wait) {
        if wait.parks() {
            futex::wake_in(cell, n, group);
        }
    }

    fn now(clock: Clock) -> Nanos {
        let id = match clock {
            Clock::Monotonic => libc::CLOCK_MONOTONIC,
            Clock::Realtime => libc::CLOCK_REALTIME,
        };
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `now` is a local variable; both clocks exist on every Linux.
        unsafe { libc::clock_gettime(id, &mut now) };
        Nanos(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
    }

    #[inline(always)]
    fn hint(_: LockHint) {}

    #[inline(always)]
    fn is_checked_for_races() -> bool {
        sanitizer::is_there()
    }

    #[inline(always)]
    fn happens_before(at: *const ()) {
        sanitizer::happens_before(at);
    }

    #[inline(always)]
    fn happens_after(at: *const ()) {
        sanitizer::happens_after(at);
    }

    #[inline(always)]
    fn hears_locks() -> bool {
        notices::are_heard()
    }

    #[inline(always)]
    fn notify_lock(notice: LockNotice, address: usize) {
        if notices::are_heard() {
            notices::tell(notice, address);
        }
    }

    #[inline(always)]
    fn local() -> &'static Local {
        thread::local()
    }

    #[inline(always)]
    fn used_local() -> Option<&'static Local> {
        thread::used_local()
    }

    #[inline(always)]
    fn shared() -> &'static Shared<Self::Atomic<usize>> {
        static SHARED: Shared<cell::NativeAtomic<usize>> =
            Shared::new([const { cell::NativeAtomic::new(0) }; shared::WORDS]);
        &SHARED
    }

    fn node() -> u32 {
        thread::node()
    }

    fn nodes() -> u32 {
        static NODES: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);
        match NODES.load(Ordering::Relaxed) {
            // Threads that find no number at the same time read the same files and store the same
            // number.
            0 => {
                let nodes = crate::discover::topology::node_numbers();
                NODES.store(nodes, Ordering::Relaxed);
                nodes
            }
            nodes => nodes,
        }
    }

    fn site() -> Site {
        static SITES: std::sync::OnceLock<Vec<Site>> = std::sync::OnceLock::new();
        let sites = SITES.get_or_init(|| crate::discover::Topology::discover().sites());
        // A CPU that was added later is treated as a cluster and a core of its own.
        let cpu = thread::cpu();
        sites.get(cpu as usize).copied().unwrap_or(Site { node: 0, cluster: cpu, core: cpu })
    }

    fn alloc(layout: Layout) -> NonNull<u8> {
        if layout.size() == 0 {
            return layout.dangling_ptr();
        }
        // SAFETY: the layout's size is not zero.
        let memory = unsafe {
            if layout.size() > SMALL {
                std::alloc::alloc_zeroed(layout)
            } else {
                // The black box prevents the compiler from merging this call and the zeroing below
                // into `alloc_zeroed`, which glibc serves more slowly for small blocks (`SMALL`).
                let memory = core::hint::black_box(std::alloc::alloc(layout));
                if !memory.is_null() {
                    memory.write_bytes(0, layout.size());
                }
                memory
            }
        };
        NonNull::new(memory).unwrap_or_else(|| std::alloc::handle_alloc_error(layout))
    }

    unsafe fn dealloc(memory: NonNull<u8>, layout: Layout) {
        if layout.size() != 0 {
            // SAFETY: by contract the memory came from `alloc` with this layout.
            unsafe { std::alloc::dealloc(memory.as_ptr(), layout) };
        }
    }

    fn work(cycles: Cycles) {
        // A decrement and its branch fuse and take one cycle on current x86-64 and Arm cores;
        // `baton doctor` measures what they take on this processor.
        let mut left = cycles.0;
        while left != 0 {
            left = core::hint::black_box(left) - 1;
        }
    }

    unsafe fn touch(start: *mut u8, bytes: usize, write: bool) {
        const LINE: usize = 64;
        let mut at = 0;
        while at < bytes {
            // SAFETY: `at` is inside the range, which by contract is live and, for a write, belongs
            // to this thread alone.
            unsafe {
                let byte = start.add(at);
                let value = byte.read_volatile();
                if write {
                    byte.write_volatile(value);
                }
            }
            // The first byte of the next line: the range may begin within a line.
            at += LINE - (start.addr() + at) % LINE;
        }
    }

    #[inline]
    unsafe fn touch_each<T>(places: impl IntoIterator<Item = *const T>, _: u32) {
        for place in places {
            // SAFETY: by contract the place is live. Volatile keeps the read, although its value is
            // not used.
            unsafe { place.cast::<u8>().read_volatile() };
        }
    }

    #[inline]
    fn prefetch(start: *const u8, bytes: usize, write: bool) {
        hints::prefetch(start, bytes, write);
    }

    #[inline]
    fn prepush(start: *const u8, bytes: usize, _: PushTo) {
        hints::demote(start, bytes);
    }

    #[inline(always)]
    fn queues(_: u32) -> Option<NoDevice> {
        None
    }
}

impl Devices for Native {
    type Device<P: Protocol> = NoDevice;

    fn count() -> u32 {
        0
    }

    fn at<P: Protocol>(_: u32) -> Option<NoDevice> {
        None
    }
}
