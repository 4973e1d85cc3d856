//! Storage and number of a thread. Usable from inside a pthread interposer: thread-local state is two constant-initialised words
//! without a destructor; a pthread key's destructor ends a thread's storage when the thread ends.
//!
//! A thread may use its storage again after the last round of such destructors (an allocator that locks while the thread's
//! remains are freed). Nothing tells us of its end then, so places carry their owner, and a sweep takes back those whose
//! owner the kernel no longer knows.

use super::own;
use crate::Local;
use core::cell::{Cell, UnsafeCell};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

thread_local! {
    static SLEEPS: Cell<u64> = const { Cell::new(0) };
}

/// How often the calling thread has slept in the kernel while it waited on this machine. The difference over an
/// acquisition says whether it was entered while spinning or after sleeping.
pub fn sleeps() -> u64 {
    SLEEPS.with(Cell::get)
}

/// Counts a sleep of the calling thread. The futex verbs do so themselves; others that sleep in a wait say it here.
pub fn slept() {
    SLEEPS.with(|sleeps| sleeps.set(sleeps.get().wrapping_add(1)));
}

/// Storage of the calling thread, numbered at first use.
#[inline(always)]
pub fn local() -> &'static Local {
    let place: *const Place = own::get();
    if place.is_null() {
        return &number().local;
    }
    // SAFETY: places are never unmapped; this one is the thread's own.
    unsafe { &(*place).local }
}

/// A thread's storage. Only its owner touches it, and when that is dead the one who sweeps.
#[repr(C, align(128))]
struct Place {
    local: Local,
    /// Process and kernel's thread number of the owner; 0: none, or not yet written.
    owner: AtomicU64,
}

/// Places in one piece of memory: as many as a word of [`TAKEN`] has bits.
const PIECE: usize = 64;
/// Live threads at most; one more panics with a message that says so.
const MOST: usize = 1 << 16;
/// One bit a number: taken or free.
static TAKEN: [AtomicU64; MOST / PIECE] = [const { AtomicU64::new(0) }; MOST / PIECE];
/// The places, mapped at first use and never unmapped.
static PIECES: [AtomicPtr<[Place; PIECE]>; MOST / PIECE] = [const { AtomicPtr::new(null_mut()) }; MOST / PIECE];
/// The number from which on numbers of dead threads are looked for before one is given out.
static SWEEP_FROM: AtomicU32 = AtomicU32::new(LEAST_SWEEP);
const LEAST_SWEEP: u32 = 256;
/// The pthread key whose destructor ends a thread's storage, plus one; zero until it is made.
static KEY: AtomicU32 = AtomicU32::new(0);

#[cold]
#[inline(never)]
fn number() -> &'static Place {
    let mut index = claim();
    if index.is_none_or(|index| index >= SWEEP_FROM.load(Ordering::Relaxed)) && sweep() {
        if let Some(index) = index {
            free(index);
        }
        index = claim();
    }
    let Some(index) = index else { panic!("more than {MOST} live threads") };
    let place = place(index);
    let other: *const Place = own::get();
    if !other.is_null() {
        // A signal handler came in between and has given the thread its storage.
        free(index);
        // SAFETY: as in `local`.
        return unsafe { &*other };
    }
    place.local.set_index(index);
    place.owner.store(me(), Ordering::Relaxed);
    own::set(place);
    end_with_thread(place);
    place
}

/// The lowest free number, now taken.
fn claim() -> Option<u32> {
    for (i, word) in TAKEN.iter().enumerate() {
        let mut seen = word.load(Ordering::Relaxed);
        while seen != u64::MAX {
            let bit = seen.trailing_ones();
            // Acquire: what the last owner of the number wrote comes before what the next one does.
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

/// Pieces for threads that take their first lock when there is no memory left. They take none until they are used.
struct Reserve {
    pieces: UnsafeCell<[MaybeUninit<[Place; PIECE]>; Reserve::SIZE]>,
    used: AtomicUsize,
}

// SAFETY: each piece is given out once.
unsafe impl Sync for Reserve {}
static RESERVE: Reserve =
    Reserve { pieces: UnsafeCell::new([const { MaybeUninit::zeroed() }; Reserve::SIZE]), used: AtomicUsize::new(0) };

impl Reserve {
    const SIZE: usize = 8;

    /// Memory for a piece, all zero.
    fn take(&self) -> *mut [Place; PIECE] {
        let next = self.used.fetch_add(1, Ordering::Relaxed);
        assert!(next < Reserve::SIZE, "no memory for the storage of threads, and the reserve is used up");
        self.pieces.get().cast::<[Place; PIECE]>().wrapping_add(next)
    }
}

/// The place of a number, mapped if it is not yet. Straight from the kernel: the caller may be an allocator.
fn place(index: u32) -> &'static Place {
    let piece = &PIECES[index as usize / PIECE];
    let mut at = piece.load(Ordering::Acquire);
    if at.is_null() {
        let bytes = size_of::<[Place; PIECE]>();
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory, at a place that the kernel chooses; pages are aligned to more than a place is.
        let new = unsafe { libc::mmap(null_mut(), bytes, access, kind, -1, 0) };
        let mapped = new != libc::MAP_FAILED;
        let new = if mapped { new.cast() } else { RESERVE.take() };
        at = match piece.compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            Err(theirs) => {
                // A piece of the reserve stays taken.
                if mapped {
                    // SAFETY: another thread was first; no thread has seen ours.
                    unsafe { libc::munmap(new.cast(), bytes) };
                }
                theirs
            }
        };
    }
    // SAFETY: mapped for ever, or of the reserve. All zero, as new memory is, is a place: number 0, words 0, no endings, no owner.
    unsafe { &(&*at)[index as usize % PIECE] }
}

/// Process and kernel's number of the calling thread.
fn me() -> u64 {
    // SAFETY: neither takes an argument or can fail.
    let (pid, tid) = unsafe { (libc::getpid(), libc::syscall(libc::SYS_gettid)) };
    (pid as u64) << 32 | tid as u64 & 0xffff_ffff
}

/// Ends the storage of threads that are dead and did not say so; whether one was found. One thread sweeps at a time: so no thread but
/// the sweeper frees a dead thread's number, and it cannot have a new owner before the old one is found dead.
fn sweep() -> bool {
    static SWEEPING: AtomicBool = AtomicBool::new(false);
    if SWEEPING.swap(true, Ordering::Acquire) {
        return false;
    }
    // SAFETY: takes no argument, cannot fail.
    let pid = unsafe { libc::getpid() };
    let (mut alive, mut found) = (0u32, false);
    for (i, word) in TAKEN.iter().enumerate() {
        let mut left = word.load(Ordering::Acquire);
        while left != 0 {
            let index = (i * PIECE) as u32 + left.trailing_zeros();
            left &= left - 1;
            let place = place(index);
            let owner = place.owner.load(Ordering::Relaxed);
            // A thread of another process (we are a fork's child, or share a parent's memory) may live there.
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
    // In relation to those that live, so that sweeping costs each new thread a few system calls at most.
    SWEEP_FROM.store((2 * alive).max(LEAST_SWEEP), Ordering::Relaxed);
    SWEEPING.store(false, Ordering::Release);
    found
}

/// Whether the kernel knows the thread. A signal that is never sent finds no dead one; errno stays as it was.
fn is_alive(owner: u64) -> bool {
    // SAFETY: signal 0 is only looked up; errno is the thread's own.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let dead = libc::syscall(libc::SYS_tgkill, owner >> 32, owner & 0xffff_ffff, 0) == -1 && *errno == libc::ESRCH;
        *errno = before;
        !dead
    }
}

fn end_with_thread(place: &'static Place) {
    let mut key = KEY.load(Ordering::Acquire);
    if key == 0 {
        let mut made: libc::pthread_key_t = 0;
        // SAFETY: `made` is ours; `ended` takes the pointer that we set below.
        let failed = unsafe { libc::pthread_key_create(&mut made, Some(ended)) } != 0;
        assert!(!failed, "no pthread key left for the storage of threads");
        key = match KEY.compare_exchange(0, made + 1, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => made + 1,
            Err(theirs) => {
                // SAFETY: another thread was first; no thread has used our key.
                unsafe { libc::pthread_key_delete(made) };
                theirs
            }
        };
    }
    // SAFETY: the key exists; the value is only handed back to `ended`.
    unsafe { libc::pthread_setspecific(key - 1, core::ptr::from_ref(place).cast()) };
}

/// Ends the thread's use of its storage and frees its number. Storage used again afterwards, by a later destructor, gets a new
/// number and is ended again.
///
/// The value need not be the thread's own: glibc hands the memory of an ended thread to a new one, and with it a value of the
/// key that was set after the last round of destructors. That place is the sweeper's.
unsafe extern "C" fn ended(place: *mut libc::c_void) {
    let Some(mine) = NonNull::new(own::get::<Place>().cast_mut()) else { return };
    if mine.as_ptr().cast() != place {
        return;
    }
    // SAFETY: this thread's own place, never unmapped.
    let place = unsafe { mine.as_ref() };
    place.local.finish();
    own::set::<Place>(null());
    place.owner.store(0, Ordering::Relaxed);
    free(place.local.index());
}

/// The CPU that the calling thread is on.
pub fn cpu() -> u32 {
    let mut cpu: libc::c_uint = 0;
    // SAFETY: getcpu writes one unsigned int; the pointer to the node may be null.
    unsafe { getcpu(&mut cpu, core::ptr::null_mut()) };
    cpu
}

/// The NUMA node of the CPU that the calling thread is on.
pub fn node() -> u32 {
    let mut node: libc::c_uint = 0;
    // SAFETY: getcpu writes one unsigned int; the pointer to the cpu may be null.
    unsafe { getcpu(core::ptr::null_mut(), &mut node) };
    node
}

#[cfg(target_env = "gnu")]
unsafe extern "C" {
    // glibc's (since 2.29) reads it without entering the kernel.
    fn getcpu(cpu: *mut libc::c_uint, node: *mut libc::c_uint) -> libc::c_int;
}

#[cfg(not(target_env = "gnu"))]
unsafe fn getcpu(cpu: *mut libc::c_uint, node: *mut libc::c_uint) -> libc::c_int {
    // SAFETY: as the caller says; the third argument has been unused since Linux 2.6.24.
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
