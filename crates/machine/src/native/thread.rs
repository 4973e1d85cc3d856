//! Storage and number of a thread. The storage is constant-initialised and has no destructor (it is used from
//! inside a pthread interposer); a pthread key's destructor ends it when the thread does.

use crate::Local;
use core::cell::Cell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

thread_local! {
    static LOCAL: Local = const { Local::new(Local::UNNUMBERED) };
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
    // SAFETY: the storage has no destructor and lives as long as its thread; the reference is not Send.
    let local: &'static Local = LOCAL.with(|local| unsafe { &*core::ptr::from_ref(local) });
    if local.index() == Local::UNNUMBERED {
        number(local);
    }
    local
}

/// Live threads at most; one more panics with a message that says so.
const MOST: usize = 1 << 16;
/// One bit a number: taken or free.
static TAKEN: [AtomicU64; MOST / 64] = [const { AtomicU64::new(0) }; MOST / 64];
/// The pthread key whose destructor ends a thread's storage, plus one; zero until it is made.
static KEY: AtomicU32 = AtomicU32::new(0);

#[cold]
fn number(local: &'static Local) {
    for (i, word) in TAKEN.iter().enumerate() {
        let mut seen = word.load(Ordering::Relaxed);
        while seen != u64::MAX {
            let bit = seen.trailing_ones();
            // Acquire: what the last owner of the number wrote comes before what the next one does.
            match word.compare_exchange_weak(seen, seen | 1 << bit, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => {
                    local.set_index(i as u32 * 64 + bit);
                    end_with_thread(local);
                    return;
                }
                Err(now) => seen = now,
            }
        }
    }
    panic!("more than {MOST} live threads");
}

fn end_with_thread(local: &'static Local) {
    let mut key = KEY.load(Ordering::Acquire);
    if key == 0 {
        let mut made: libc::pthread_key_t = 0;
        // SAFETY: `made` is ours; `ended` takes the pointer that we set below.
        let failed = unsafe { libc::pthread_key_create(&mut made, Some(ended)) } != 0;
        assert!(!failed, "no pthread key left for the storage of threads");
        key = match KEY.compare_exchange(0, made + 1, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => made + 1,
            Err(theirs) => {
                // SAFETY: another thread was first; nobody has used our key.
                unsafe { libc::pthread_key_delete(made) };
                theirs
            }
        };
    }
    // SAFETY: the key exists; the value is only handed back to `ended`.
    unsafe { libc::pthread_setspecific(key - 1, core::ptr::from_ref(local).cast()) };
}

unsafe extern "C" fn ended(local: *mut libc::c_void) {
    // SAFETY: pthread calls this in the ending thread with what `end_with_thread` set.
    finish(unsafe { &*local.cast::<Local>() });
}

/// Ends the thread's use of its storage and frees its number. Storage used again afterwards, by a later
/// destructor, gets a new number and is ended again.
///
/// A thread may end that has no number: glibc hands the memory of an ended thread to a new one, and with it a value of
/// the key that was set after the last round of destructors (by an allocator that locks while the thread's remains are
/// freed). The old thread's number stays taken then.
fn finish(local: &Local) {
    if local.index() == Local::UNNUMBERED {
        return;
    }
    local.finish();
    let index = local.index() as usize;
    local.set_index(Local::UNNUMBERED);
    TAKEN[index / 64].fetch_and(!(1 << (index % 64)), Ordering::Release);
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
