//! Storage and number of each thread.
//!
//! Usable from inside a pthread interposer: the thread-local state is two constant-initialised
//! words without a destructor; the destructor of a pthread key ends the storage when the thread
//! ends.
//!
//! A thread may use its storage again after the last round of these destructors (say an allocator
//! that locks while the thread's remains are freed). That thread's end is not reported. So each
//! place records its owner, and a sweep reclaims places whose owner the kernel no longer knows.

use super::own;
use crate::Local;
use core::cell::{Cell, UnsafeCell};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

thread_local! {
    static SLEEPS: Cell<u64> = const { Cell::new(0) };
}

/// Returns how often the calling thread has slept in the kernel while it waited on this machine.
/// The difference over an acquisition tells whether the thread slept before it got the lock.
pub fn sleeps() -> u64 {
    SLEEPS.with(Cell::get)
}

/// Counts a sleep of the calling thread. [`super::futex`] calls this itself; code that sleeps in a
/// wait by other means must call it.
pub fn slept() {
    SLEEPS.with(|sleeps| sleeps.set(sleeps.get().wrapping_add(1)));
}

/// Returns the storage of the calling thread, which gets its number at first use.
#[inline(always)]
pub fn local() -> &'static Local {
    let place: *const ThreadStorage = own::get();
    if place.is_null() {
        return &number().local;
    }
    // SAFETY: places are never unmapped, and this one belongs to the calling thread.
    unsafe { &(*place).local }
}

/// Returns the storage of the calling thread, if it has used it before.
#[inline(always)]
pub fn used_local() -> Option<&'static Local> {
    let place: *const ThreadStorage = own::get();
    // SAFETY: as in `local`; null becomes `None`.
    unsafe { place.as_ref() }.map(|place| &place.local)
}

/// A thread's storage. Only the owner accesses it; after the owner's death, only the sweeping
/// thread.
#[repr(C, align(128))]
struct ThreadStorage {
    local: Local,
    /// Process id and kernel thread id of the owner; 0: no owner, or not yet written.
    owner: AtomicU64,
}

/// Places in a piece of memory: one for each bit of a word of [`TAKEN`].
const PIECE: usize = 64;
/// Limits how many threads may be alive; a further thread panics.
const MOST: usize = 1 << 16;
/// One bit for each number, set while the number is taken.
static TAKEN: [AtomicU64; MOST / PIECE] = [const { AtomicU64::new(0) }; MOST / PIECE];
/// The places, in pieces that are mapped at first use and never unmapped.
static PIECES: [AtomicPtr<[ThreadStorage; PIECE]>; MOST / PIECE] = [const { AtomicPtr::new(null_mut()) }; MOST / PIECE];
/// A thread that is about to get this number or a higher one sweeps for dead threads first.
static SWEEP_FROM: AtomicU32 = AtomicU32::new(LEAST_SWEEP);
const LEAST_SWEEP: u32 = 256;
/// The pthread key whose destructor ends a thread's storage, plus one; zero until the key exists.
static KEY: AtomicU32 = AtomicU32::new(0);

#[cold]
#[inline(never)]
fn number() -> &'static ThreadStorage {
    number_after(|| ())
}

/// Gives the calling thread its storage. Calls `before` just before the thread has it, where a test
/// does what a signal handler might do there.
#[inline(always)]
fn number_after(before: impl FnOnce()) -> &'static ThreadStorage {
    let mut index = claim();
    if index.is_none_or(|index| index >= SWEEP_FROM.load(Ordering::Relaxed)) && sweep() {
        if let Some(index) = index {
            free(index);
        }
        index = claim();
    }
    let Some(index) = index else { panic!("more than {MOST} live threads") };
    let place = place(index);
    place.local.set_index(index);
    place.owner.store(me(), Ordering::Relaxed);
    before();
    if !own::set_first(place) {
        // A signal handler ran meanwhile and already gave the thread its storage.
        place.owner.store(0, Ordering::Relaxed);
        free(index);
        // SAFETY: places are never unmapped, and this one belongs to the calling thread.
        return unsafe { &*own::get() };
    }
    end_with_thread(place);
    place
}

/// Takes the lowest free number.
fn claim() -> Option<u32> {
    for (i, word) in TAKEN.iter().enumerate() {
        let mut seen = word.load(Ordering::Relaxed);
        while seen != u64::MAX {
            let bit = seen.trailing_ones();
            // Acquire: what the number's last owner wrote is visible to its next owner.
            match word.compare_exchange_weak(seen, seen | 1 << bit, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(i as u32 * PIECE as u32 + bit),
                Err(now) => seen = now,
            }
        }
    }
    None
}

fn free(index: u32) {
    TAKEN[index as usize / PIECE].fetch_and(!(1 << (index as usize % PIECE)), Ordering::Release);
}

/// Zeroed pieces for threads that take their first lock when memory is exhausted. They occupy no
/// memory until they are used.
struct Reserve {
    pieces: UnsafeCell<[MaybeUninit<[ThreadStorage; PIECE]>; Reserve::SIZE]>,
    used: AtomicUsize,
}

// SAFETY: `used` hands out each piece once.
unsafe impl Sync for Reserve {}
static RESERVE: Reserve =
    Reserve { pieces: UnsafeCell::new([const { MaybeUninit::zeroed() }; Reserve::SIZE]), used: AtomicUsize::new(0) };

impl Reserve {
    const SIZE: usize = 8;

    /// Returns memory for a piece, all zero. Panics if the reserve is used up.
    fn take(&self) -> *mut [ThreadStorage; PIECE] {
        let next = self.used.fetch_add(1, Ordering::Relaxed);
        assert!(next < Reserve::SIZE, "no memory for the storage of threads, and the reserve is used up");
        self.pieces.get().cast::<[ThreadStorage; PIECE]>().wrapping_add(next)
    }
}

/// Returns the place of a number, mapping its piece if needed. Memory comes directly from the
/// kernel, because the caller may be an allocator.
fn place(index: u32) -> &'static ThreadStorage {
    let piece = &PIECES[index as usize / PIECE];
    let mut at = piece.load(Ordering::Acquire);
    if at.is_null() {
        let bytes = size_of::<[ThreadStorage; PIECE]>();
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory at an address that the kernel chooses; a page is aligned at least as
        // strictly as a place.
        let new = unsafe { libc::mmap(null_mut(), bytes, access, kind, -1, 0) };
        let mapped = new != libc::MAP_FAILED;
        let new = if mapped { new.cast() } else { RESERVE.take() };
        at = match piece.compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            Err(theirs) => {
                // A piece of the reserve is not returned.
                if mapped {
                    // SAFETY: another thread stored its piece first, so no thread has seen the
                    // piece `new`.
                    unsafe { libc::munmap(new.cast(), bytes) };
                }
                theirs
            }
        };
    }
    // SAFETY: a piece is never unmapped. All-zero memory is a valid piece: index 0, words 0, no
    // endings, no owner.
    unsafe { &(&*at)[index as usize % PIECE] }
}

/// Process id and kernel thread id of the calling thread.
pub(super) fn me() -> u64 {
    // SAFETY: neither call takes an argument or can fail.
    let (pid, tid) = unsafe { (libc::getpid(), libc::syscall(libc::SYS_gettid)) };
    (pid as u64) << 32 | tid as u64 & 0xffff_ffff
}

/// Ends the storage of threads that died without ending it. Returns whether there was one. Only one
/// thread sweeps at a time: only the sweeper frees a dead thread's number, so the number cannot get
/// a new owner between the check and the release.
fn sweep() -> bool {
    static SWEEPING: AtomicBool = AtomicBool::new(false);
    if SWEEPING.swap(true, Ordering::Acquire) {
        return false;
    }
    // SAFETY: getpid takes no argument and cannot fail.
    let pid = unsafe { libc::getpid() };
    let (mut alive, mut found) = (0u32, false);
    for (i, word) in TAKEN.iter().enumerate() {
        let mut left = word.load(Ordering::Acquire);
        while left != 0 {
            let index = (i * PIECE) as u32 + left.trailing_zeros();
            left &= left - 1;
            let place = place(index);
            let owner = place.owner.load(Ordering::Relaxed);
            // The owner may belong to another process, because this process is a forked child or
            // shares its parent's memory.
            if owner >> 32 != pid as u64 || is_alive(owner) {
                alive += 1;
                continue;
            }
            found = true;
            place.owner.store(0, Ordering::Relaxed);
            place.local.finish();
            free(index);
        }
    }
    // Proportional to the number of live threads, so that sweeping costs each new thread only a few
    // system calls.
    SWEEP_FROM.store((2 * alive).max(LEAST_SWEEP), Ordering::Relaxed);
    SWEEPING.store(false, Ordering::Release);
    found
}

/// Whether the kernel still knows the thread, asked with signal 0, which is never delivered.
/// Preserves errno.
fn is_alive(owner: u64) -> bool {
    // SAFETY: signal 0 only checks for the thread; errno belongs to this thread.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let dead = libc::syscall(libc::SYS_tgkill, owner >> 32, owner & 0xffff_ffff, 0) == -1 && *errno == libc::ESRCH;
        *errno = before;
        !dead
    }
}

fn end_with_thread(place: &'static ThreadStorage) {
    let mut key = KEY.load(Ordering::Acquire);
    if key == 0 {
        let mut made: libc::pthread_key_t = 0;
        // SAFETY: `made` is a local variable; `ended` accepts the pointer that is set below.
        let failed = unsafe { libc::pthread_key_create(&mut made, Some(ended)) } != 0;
        assert!(!failed, "no pthread key left for the storage of threads");
        key = match KEY.compare_exchange(0, made + 1, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => made + 1,
            Err(theirs) => {
                // SAFETY: another thread created the key first, so no thread has used the key
                // `made`.
                unsafe { libc::pthread_key_delete(made) };
                theirs
            }
        };
    }
    // SAFETY: the key exists; its value is only passed back to `ended`.
    unsafe { libc::pthread_setspecific(key - 1, core::ptr::from_ref(place).cast()) };
}

/// Ends the calling thread's storage and frees its number. If a later destructor uses the storage
/// again, it gets a new number and is ended again.
///
/// `place` need not belong to the calling thread: glibc reuses an ended thread's memory for a new
/// one, including a value of the key that was set after the last round of destructors. The sweep
/// reclaims such a place.
unsafe extern "C" fn ended(place: *mut libc::c_void) {
    let Some(mine) = NonNull::new(own::get::<ThreadStorage>().cast_mut()) else { return };
    if mine.as_ptr().cast() != place {
        return;
    }
    // SAFETY: the place belongs to this thread and is never unmapped.
    let place = unsafe { mine.as_ref() };
    place.local.finish();
    own::set::<ThreadStorage>(null());
    place.owner.store(0, Ordering::Relaxed);
    free(place.local.index());
}

/// Returns the CPU that the calling thread is on.
pub fn cpu() -> u32 {
    let mut cpu: libc::c_uint = 0;
    // SAFETY: getcpu writes one unsigned int; the pointer for the node may be null.
    unsafe { getcpu(&mut cpu, core::ptr::null_mut()) };
    cpu
}

/// Returns the NUMA node of the CPU that the calling thread is on.
pub fn node() -> u32 {
    let mut node: libc::c_uint = 0;
    // SAFETY: getcpu writes one unsigned int; the pointer for the CPU may be null.
    unsafe { getcpu(core::ptr::null_mut(), &mut node) };
    node
}

#[cfg(target_env = "gnu")]
unsafe extern "C" {
    // glibc has had `getcpu` since 2.29; the function does not enter the kernel.
    fn getcpu(cpu: *mut libc::c_uint, node: *mut libc::c_uint) -> libc::c_int;
}

#[cfg(not(target_env = "gnu"))]
unsafe fn getcpu(cpu: *mut libc::c_uint, node: *mut libc::c_uint) -> libc::c_int {
    // SAFETY: the caller passes valid pointers; the third argument has been unused since Linux
    // 2.6.24.
    unsafe { libc::syscall(libc::SYS_getcpu, cpu, node, core::ptr::null_mut::<u8>()) as libc::c_int }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::Use;
    use std::sync::Barrier;

    #[test]
    fn live_threads_differ_and_numbers_come_back() {
        let barrier = &Barrier::new(8);
        let most = std::thread::scope(|s| {
            let numbers: Vec<_> = (0..8)
                .map(|_| {
                    s.spawn(|| {
                        let index = local().index();
                        barrier.wait();
                        index
                    })
                })
                .collect();
            let mut numbers: Vec<_> = numbers.into_iter().map(|n| n.join().unwrap()).collect();
            numbers.sort();
            numbers.dedup();
            assert_eq!(numbers.len(), 8);
            numbers[7]
        });
        for _ in 0..100 {
            let index = std::thread::spawn(|| local().index()).join().unwrap();
            assert!(index <= most + 64, "number {index} of a short-lived thread: numbers leak");
        }
    }

    #[test]
    fn a_signal_handler_that_comes_first_keeps_its_storage_and_takes_one_number() {
        std::thread::spawn(|| {
            let mut first: *const Local = null();
            let mine = &raw const number_after(|| first = local()).local;
            assert!(mine == first && core::ptr::eq(local(), first));
            let numbers = (0..MOST).filter(|&n| TAKEN[n / PIECE].load(Ordering::Relaxed) >> (n % PIECE) & 1 == 1);
            let owned = numbers.filter(|&n| place(n as u32).owner.load(Ordering::Relaxed) == me());
            assert_eq!(owned.count(), 1);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn words_are_ended_with_the_thread() {
        static ENDED: AtomicU64 = AtomicU64::new(0);
        std::thread::spawn(|| {
            local().set(Use::Backoff, 42);
            local().at_end(Use::Backoff, |value| ENDED.store(value as u64, Ordering::SeqCst));
        })
        .join()
        .unwrap();
        assert_eq!(ENDED.load(Ordering::SeqCst), 42);
    }
}
