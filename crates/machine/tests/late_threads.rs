//! Threads that use their storage once more after the last round of key destructors leak neither
//! numbers nor words. The test counts numbers, so it runs in its own process.

use baton_machine::local::Use;
use baton_machine::native::thread::local;
use baton_machine::{Machine, Native};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Words whose ending has not been called yet.
static LEFT: AtomicU64 = AtomicU64::new(0);
static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();

fn key() -> libc::pthread_key_t {
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: `key` is a local variable; `late` accepts the value that `set` sets.
        assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(late)) }, 0);
        key
    })
}

fn set(round: usize) {
    // SAFETY: the key exists; the value is a number, never dereferenced.
    unsafe { libc::pthread_setspecific(key(), round as *const libc::c_void) };
}

/// The key's destructor: uses the storage in the fourth and last round, after which no destructor
/// runs.
unsafe extern "C" fn late(round: *mut libc::c_void) {
    match round.addr() {
        4 => {
            LEFT.fetch_add(1, Ordering::SeqCst);
            local().set(Use::Backoff, 1);
            local().at_end(Use::Backoff, |_| {
                LEFT.fetch_sub(1, Ordering::SeqCst);
            });
        }
        round => set(round + 1),
    }
}

#[test]
fn what_late_threads_leave_is_swept() {
    // Creates the machine's key first, so that in each round this test's destructor runs after the
    // machine's.
    Native::local();
    const THREADS: u64 = 3_000;
    let mut most = 0;
    for _ in 0..THREADS {
        let thread = std::thread::spawn(|| {
            set(1);
            local().index()
        });
        most = most.max(thread.join().unwrap());
    }
    assert!(most < 1_000, "number {most} of {THREADS} threads, one at a time: numbers pile up");
    let left = LEFT.load(Ordering::SeqCst);
    assert!(left > 0, "no thread was late: this test tests nothing");
    assert!(left < 1_000, "the words of {left} of {THREADS} threads were never ended");
}
