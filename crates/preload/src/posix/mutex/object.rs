//! The contents of a `pthread_mutex_t`, and what its kind asks for.
//!
//! A `pthread_mutex_t` has 40 bytes. Bytes 16 to 19 keep glibc's `__kind`: static initialisers set
//! it, and it says which mutexes this library must not replace. The other 36 hold the lock in place
//! of glibc's ([`Mutex`]); all zero is a free lock, so static initialisers and zeroed memory work.
//!
//! | kind | what happens |
//! | --- | --- |
//! | normal, adaptive | replaced |
//! | recursive, errorcheck | replaced, with owner and count |
//! | robust, priority inheritance or protection, process-shared | glibc's own, and counted: [`Passed`] |
//! | anything else (destroyed, garbage) | glibc's own, which answers EINVAL |
//! | any, at an address that is no multiple of 8 | glibc's own |

use crate::thread::fork;
use crate::thread::{self, Passed};
use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The contents of a `pthread_mutex_t` or `mtx_t` that this library serves.
#[repr(C)]
pub struct Mutex {
    /// The lock itself, or in the first word a pointer to it.
    pub words: [AtomicUsize; 2],
    /// glibc's `__kind`.
    kind: AtomicI32,
    /// How many further times the owner of a recursive mutex has taken it.
    pub count: AtomicU32,
    /// The lock's token, which the holder needs for the unlock: [`baton_sync::lock::Token`] as a
    /// word.
    pub token: AtomicUsize,
    /// The thread that holds the mutex: see [`Owner`]; 0: none.
    owner: AtomicU64,
}

const _: () = assert!(size_of::<Mutex>() == size_of::<libc::pthread_mutex_t>());
const _: () = assert!(core::mem::offset_of!(Mutex, kind) == 16);

/// A thread pointer in the lower 48 bits, and above it the number of forks between the first
/// process and the one in which the lock was taken. So a fork's child knows a mutex that was locked
/// before the fork, and whose waiters do not exist in the child.
pub type Owner = u64;

const POINTER: Owner = (1 << 48) - 1;

/// The calling thread as an owner.
#[inline(always)]
pub fn me() -> Owner {
    thread::pointer() as u64 | u64::from(fork::generation()) << 48
}

impl Mutex {
    /// Notes that the calling thread holds the mutex.
    #[inline(always)]
    pub fn own(&self) {
        self.owner.store(me(), Relaxed);
    }

    /// Notes that no thread holds the mutex. Called just before the release.
    #[inline(always)]
    pub fn disown(&self) {
        self.owner.store(0, Relaxed);
    }

    /// Whether a thread holds the mutex. The answer is certain only if the calling thread holds it.
    #[inline(always)]
    pub fn is_owned(&self) -> bool {
        self.owner.load(Relaxed) != 0
    }

    /// Whether the calling thread holds the mutex. The answer is exact, because only the thread
    /// itself writes its own name there.
    #[inline(always)]
    pub fn is_mine(&self) -> bool {
        let owner = self.owner.load(Relaxed);
        let me = me();
        owner == me || (owner ^ me) & POINTER == 0 && fork::is_forker()
    }

    /// Whether the mutex has been held since before the fork that made this process.
    #[inline(always)]
    pub fn is_stale(&self) -> bool {
        // Acquire: a thread that sees the end of the stale ownership sees the lock put in order.
        let owner = self.owner.load(core::sync::atomic::Ordering::Acquire);
        owner != 0 && owner >> 48 != u64::from(fork::generation())
    }

    /// Ends the stale ownership, once the lock has been put in order.
    pub fn settle(&self) {
        // Release: see `is_stale`.
        self.owner.store(0, core::sync::atomic::Ordering::Release);
    }

    /// The mutex at an address; `None` if the address is no multiple of 8, so that its words cannot
    /// be atomic cells. C demands a multiple of 8, but packed structures break this rule, and
    /// glibc's functions need only 4.
    ///
    /// # Safety
    /// `mutex` points to a mutex.
    #[inline(always)]
    pub unsafe fn at<'a>(mutex: *mut Mutex) -> Option<&'a Mutex> {
        // SAFETY: the caller says that `mutex` points to a mutex, and it is aligned.
        if mutex.is_aligned() { Some(unsafe { &*mutex }) } else { None }
    }

    /// The kind of a mutex at any address, aligned or not.
    ///
    /// # Safety
    /// `mutex` points to a mutex.
    #[inline(always)]
    pub unsafe fn kind_at(mutex: *const Mutex) -> Kind {
        // SAFETY: the word lies inside of the mutex, and x86-64 loads a word from any address.
        Kind(unsafe { (&raw const (*mutex).kind).cast::<c_int>().read_unaligned() })
    }

    /// The owner's kernel number in a mutex that glibc serves; 0 if no thread holds the mutex.
    ///
    /// # Safety
    /// `mutex` points to a mutex, which is aligned.
    #[inline(always)]
    pub unsafe fn glibc_owner(mutex: *const Mutex) -> u32 {
        /// Offset of `__owner` in glibc's `struct __pthread_mutex_s`.
        const OWNER: usize = 8;
        // SAFETY: the word lies inside of the mutex.
        unsafe { (*mutex.byte_add(OWNER).cast::<AtomicU32>()).load(Relaxed) }
    }

    /// What the mutex at any address, aligned or not, asks for.
    ///
    /// # Safety
    /// `mutex` points to a mutex.
    pub unsafe fn class_at(mutex: *const Mutex) -> Class {
        // SAFETY: the caller says that `mutex` points to a mutex.
        match unsafe { Mutex::kind_at(mutex) }.class() {
            Class::Passed(why) => Class::Passed(why),
            _ if !mutex.is_aligned() => Class::Passed(Passed::Unaligned),
            class => class,
        }
    }

    /// glibc's kind.
    #[inline(always)]
    pub fn kind(&self) -> Kind {
        Kind(self.kind.load(Relaxed))
    }

    /// Notes that the mutex was initialised or taken. Does nothing for a mutex that is not aligned.
    ///
    /// # Safety
    /// `mutex` points to a mutex.
    pub unsafe fn note_seen(mutex: *const Mutex) {
        if !mutex.is_aligned() {
            return;
        }
        // SAFETY: the caller says that `mutex` points to a mutex, and it is aligned.
        let kind = unsafe { &(*mutex).kind };
        let now = Kind(kind.load(Relaxed));
        if now.is_new() {
            // Relaxed: no other data goes with the bit. If another bit has changed meanwhile, the
            // mutex stays new.
            let _ = kind.compare_exchange(now.0, now.0 | Kind::SEEN, Relaxed, Relaxed);
        }
    }

    /// Notes the number of the lock that serves the mutex from now on. The error is the number that
    /// the mutex has already, or 0 if another bit of the kind has changed.
    pub(super) fn mark(&self, number: usize) -> Result<(), usize> {
        let kind = Kind(self.kind.load(Relaxed));
        if kind.mark() != 0 {
            return Err(kind.mark());
        }
        // Relaxed: no other data goes with the number; the functions of its lock were written at
        // start.
        let marked = self.kind.compare_exchange(kind.0, kind.marked(number).0, Relaxed, Relaxed);
        marked.map(drop).map_err(|theirs| Kind(theirs).mark())
    }

    /// Makes a fresh mutex recursive, or normal.
    pub fn set_recursive(&self, recursive: bool) {
        self.kind.store(c_int::from(recursive), Relaxed);
    }

    /// Marks the mutex as destroyed, with glibc's value for it, so that a later use is an error.
    pub fn spoil(&self) {
        self.kind.store(-1, Relaxed);
    }
}

/// glibc's `__kind`, with the bits that this library adds to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(c_int);

/// How a mutex of a kind behaves, and whether this library can serve it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// No checks.
    Plain,
    /// The owner may take the mutex again.
    Recursive,
    /// Errors are reported: EDEADLK if the owner locks again, EPERM if another thread unlocks.
    ErrorCheck,
    /// glibc serves the mutex, for this reason.
    Passed(Passed),
}

impl Kind {
    // glibc's sysdeps/nptl/bits/struct_mutex.h and nptl/pthreadP.h.
    const TYPE: c_int = 3;
    const ROBUST: c_int = 16;
    const PRIORITY: c_int = 32 | 64;
    const SHARED: c_int = 128;
    /// Whether glibc may elide the lock; this library never does.
    const ELISION: c_int = 256 | 512;
    /// The number of the lock that serves the mutex, where there are several locks
    /// (`lock_by_place`). glibc looks only at the lower bits of the kind.
    const MARK: c_int = 127 << Kind::MARK_AT;
    const MARK_AT: u32 = 24;
    /// This library's bit: the mutex was initialised by a call, or taken, while the program was
    /// recorded; or initialised in a run that chooses a lock for each place, or counts
    /// acquisitions. glibc ignores this bit too.
    const SEEN: c_int = 1 << 23;
    /// The bits that this library adds to glibc's.
    const OURS: c_int = Kind::MARK | Kind::SEEN;

    /// Whether the mutex is normal. This common case needs a single test.
    #[inline(always)]
    pub fn is_normal(self) -> bool {
        self.0 & !(Kind::ELISION | Kind::OURS) == 0
    }

    /// Whether no initialisation and no acquisition of the mutex was noted yet, and the mutex is of
    /// a kind that this library can serve. A destroyed mutex is not new.
    #[inline(always)]
    pub fn is_new(self) -> bool {
        self.0 & !(Kind::TYPE | Kind::ELISION | Kind::MARK) == 0
    }

    /// Whether the mutex is normal, and its initialisation or an acquisition was noted. This common
    /// case of a recorded mutex needs a single test.
    #[inline(always)]
    pub fn is_normal_and_seen(self) -> bool {
        self.0 & !(Kind::ELISION | Kind::MARK) == Kind::SEEN
    }

    /// The number of the lock that serves the mutex, up to 127; 0: none yet. In a destroyed mutex
    /// the number means nothing.
    #[inline(always)]
    pub fn mark(self) -> usize {
        (self.0 >> Kind::MARK_AT & 127) as usize
    }

    /// The same kind with `number` as the number of the lock.
    fn marked(self, number: usize) -> Kind {
        Kind(self.0 & !Kind::MARK | (number as c_int) << Kind::MARK_AT)
    }

    /// How a mutex of this kind behaves, and whether this library can serve it.
    pub fn class(self) -> Class {
        if self.0 & !(Kind::TYPE | Kind::ELISION | Kind::OURS) != 0 {
            return Class::Passed(match self.0 {
                ..0 => Passed::Invalid,
                kind if kind & Kind::ROBUST != 0 => Passed::Robust,
                kind if kind & Kind::PRIORITY != 0 => Passed::Priority,
                kind if kind & Kind::SHARED != 0 => Passed::ProcessShared,
                _ => Passed::Invalid,
            });
        }
        match self.0 & Kind::TYPE {
            1 => Class::Recursive,
            2 => Class::ErrorCheck,
            // Normal; or adaptive, which is a normal mutex with a spin before the sleep.
            _ => Class::Plain,
        }
    }

    /// Whether the mutex is recursive, by whichever lock it is served.
    #[inline(always)]
    pub fn is_recursive(self) -> bool {
        self.0 & Kind::TYPE == 1
    }

    /// Whether the mutex is robust; false for a destroyed one.
    #[inline(always)]
    pub fn is_robust(self) -> bool {
        self.0 > 0 && self.0 & Kind::ROBUST != 0
    }

    /// Whether an unlock may fail, so that a release is known only after the call. glibc refuses a
    /// thread that does not hold the mutex if the mutex is recursive, error-checking or robust, and
    /// may refuse it if the mutex has a priority protocol. Any thread may unlock any other mutex.
    #[inline(always)]
    pub fn checks_unlock(self) -> bool {
        self.0 & (Kind::ROBUST | Kind::PRIORITY) != 0 || matches!(self.0 & Kind::TYPE, 1 | 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_glibcs() {
        for (kind, class) in [
            (libc::PTHREAD_MUTEX_NORMAL, Class::Plain),
            (libc::PTHREAD_MUTEX_RECURSIVE, Class::Recursive),
            (libc::PTHREAD_MUTEX_ERRORCHECK, Class::ErrorCheck),
            (3, Class::Plain),
            (512, Class::Plain),
            (512 | 2, Class::ErrorCheck),
            (16, Class::Passed(Passed::Robust)),
            (16 | 128, Class::Passed(Passed::Robust)),
            (32, Class::Passed(Passed::Priority)),
            (64 | 1, Class::Passed(Passed::Priority)),
            (128, Class::Passed(Passed::ProcessShared)),
            (-1, Class::Passed(Passed::Invalid)),
            (1 << 20, Class::Passed(Passed::Invalid)),
        ] {
            assert_eq!(Kind(kind).class(), class, "kind {kind}");
        }
        let checked = [1, 2, 16, 32, 64 | 3, 128 | 1].map(|kind| Kind(kind).checks_unlock());
        let unchecked = [0, 3, 128, 128 | 3, 512].map(|kind| Kind(kind).checks_unlock());
        assert_eq!((checked, unchecked), ([true; 6], [false; 5]));
        let marked = Kind(512 | 2).marked(5);
        assert_eq!((marked.mark(), marked.class(), Kind(0).mark()), (5, Class::ErrorCheck, 0));
        assert!(Kind(0).marked(127).is_normal() && Kind(0).marked(127).0 > 0);
        let seen = Kind(512 | 2 | Kind::SEEN);
        assert!(Kind(512 | 2).is_new() && !seen.is_new() && !Kind(128).is_new() && !Kind(-1).is_new());
        assert_eq!(
            (seen.class(), seen.marked(5).class(), seen.marked(5).mark()),
            (Class::ErrorCheck, Class::ErrorCheck, 5)
        );
        assert!(Kind(Kind::SEEN).is_normal() && Kind(Kind::SEEN).is_normal_and_seen() && !seen.is_normal_and_seen());
        assert!(!Kind(0).is_normal_and_seen() && !Kind(Kind::SEEN | Kind::ROBUST).is_normal_and_seen());
        assert!(Kind(0).is_normal() && Kind(512).is_normal() && !Kind(1).is_normal() && !Kind(128).is_normal());
    }
}
