//! What stands in a `pthread_mutex_t`, and what its kind asks for.
//!
//! A `pthread_mutex_t` has 40 bytes. Bytes 16 to 19 keep glibc's `__kind`: static initialisers set it, and it says which
//! mutexes are not ours to replace. The other 36 hold the lock that stands in ([`Mutex`]); all zero is free, so static
//! initialisers and zeroed memory work.
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

/// What stands in a `pthread_mutex_t` or `mtx_t` that we serve.
#[repr(C)]
pub struct Mutex {
    /// The lock itself, or a pointer to it.
    pub words: [AtomicUsize; 2],
    /// glibc's `__kind`.
    kind: AtomicI32,
    /// How often the owner of a recursive mutex has taken it again.
    pub count: AtomicU32,
    /// What the holder carries from lock to unlock: [`baton_sync::lock::Token`] as a word.
    pub token: AtomicUsize,
    /// Who holds it: see [`Owner`]. 0: nobody.
    owner: AtomicU64,
}

const _: () = assert!(size_of::<Mutex>() == size_of::<libc::pthread_mutex_t>());
const _: () = assert!(core::mem::offset_of!(Mutex, kind) == 16);

/// A thread pointer in the lower 48 bits, and above them how many forks lie between the first process and the one in which
/// the lock was taken. So a mutex that was locked before a fork is known in the child, where its waiters do not exist.
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

    /// Notes that nobody does. Just before the release.
    #[inline(always)]
    pub fn disown(&self) {
        self.owner.store(0, Relaxed);
    }

    /// Whether somebody holds it. For certain only while the asker holds it itself.
    #[inline(always)]
    pub fn is_owned(&self) -> bool {
        self.owner.load(Relaxed) != 0
    }

    /// Whether the calling thread holds it. Exact: only we ourselves write our own name there.
    #[inline(always)]
    pub fn is_mine(&self) -> bool {
        let owner = self.owner.load(Relaxed);
        let me = me();
        owner == me || (owner ^ me) & POINTER == 0 && fork::is_forker()
    }

    /// Whether it has been held since before the fork that made this process.
    #[inline(always)]
    pub fn is_stale(&self) -> bool {
        // Acquire: whoever finds it settled sees the lock put in order.
        let owner = self.owner.load(core::sync::atomic::Ordering::Acquire);
        owner != 0 && owner >> 48 != u64::from(fork::generation())
    }

    /// Ends the stale ownership. The lock has been put in order.
    pub fn settle(&self) {
        // Release: see `is_stale`.
        self.owner.store(0, core::sync::atomic::Ordering::Release);
    }

    /// The mutex at an address; `None` if its words cannot be atomic cells there. C wants a multiple of 8, packed structures
    /// do not have it, and glibc needs but four bytes.
    ///
    /// # Safety
    /// A mutex is there.
    #[inline(always)]
    pub unsafe fn at<'a>(mutex: *mut Mutex) -> Option<&'a Mutex> {
        // SAFETY: as the caller says, and it is aligned.
        if mutex.is_aligned() { Some(unsafe { &*mutex }) } else { None }
    }

    /// The kind of a mutex at any address.
    ///
    /// # Safety
    /// A mutex is there.
    #[inline(always)]
    pub unsafe fn kind_at(mutex: *const Mutex) -> Kind {
        // SAFETY: inside of the mutex; x86-64 loads a word from any address.
        Kind(unsafe { (&raw const (*mutex).kind).cast::<c_int>().read_unaligned() })
    }

    /// What the mutex at any address asks for.
    ///
    /// # Safety
    /// A mutex is there.
    pub unsafe fn class_at(mutex: *const Mutex) -> Class {
        // SAFETY: as the caller says.
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

    /// Notes that the mutex was initialised or taken. One at an odd address is not noted.
    ///
    /// # Safety
    /// A mutex is there.
    pub unsafe fn note_seen(mutex: *const Mutex) {
        if !mutex.is_aligned() {
            return;
        }
        // SAFETY: as the caller says, and it is aligned.
        let kind = unsafe { &(*mutex).kind };
        let now = Kind(kind.load(Relaxed));
        if now.is_new() {
            // Relaxed: the bit is all that there is to know. Where something else has changed, the mutex is new once more.
            let _ = kind.compare_exchange(now.0, now.0 | Kind::SEEN, Relaxed, Relaxed);
        }
    }

    /// Notes which lock serves the mutex from now on. The error is what stands there already; 0: something else has changed.
    pub(super) fn mark(&self, number: usize) -> Result<(), usize> {
        let kind = Kind(self.kind.load(Relaxed));
        if kind.mark() != 0 {
            return Err(kind.mark());
        }
        // Relaxed: the number is all that there is to know, and what it stands for was written at start.
        let marked = self.kind.compare_exchange(kind.0, kind.marked(number).0, Relaxed, Relaxed);
        marked.map(drop).map_err(|theirs| Kind(theirs).mark())
    }

    /// Makes a fresh mutex recursive, or normal.
    pub fn set_recursive(&self, recursive: bool) {
        self.kind.store(c_int::from(recursive), Relaxed);
    }

    /// After destruction: what glibc writes, so that a later use is an error.
    pub fn spoil(&self) {
        self.kind.store(-1, Relaxed);
    }
}

/// glibc's `__kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(c_int);

/// What a kind asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// No checks.
    Plain,
    /// May be taken again by its owner.
    Recursive,
    /// Says EDEADLK and EPERM.
    ErrorCheck,
    /// Not ours to serve.
    Passed(Passed),
}

impl Kind {
    // glibc's sysdeps/nptl/bits/struct_mutex.h and nptl/pthreadP.h.
    const TYPE: c_int = 3;
    const ROBUST: c_int = 16;
    const PRIORITY: c_int = 32 | 64;
    const SHARED: c_int = 128;
    /// Whether to elide the lock, which we do not.
    const ELISION: c_int = 256 | 512;
    /// Which lock serves the mutex, where there are several (`lock_by_place`). glibc looks at the lower bits only.
    const MARK: c_int = 127 << Kind::MARK_AT;
    const MARK_AT: u32 = 24;
    /// The mutex was initialised by a call, or taken, while it was recorded. Its own bit, of which glibc knows nothing either.
    const SEEN: c_int = 1 << 23;
    /// What is not glibc's.
    const OURS: c_int = Kind::MARK | Kind::SEEN;

    /// Normal, the common case: one test.
    #[inline(always)]
    pub fn is_normal(self) -> bool {
        self.0 & !(Kind::ELISION | Kind::OURS) == 0
    }

    /// Whether the mutex was neither initialised nor taken since it is recorded, and is of a kind that lies in this process
    /// alone. A destroyed mutex is not new.
    #[inline(always)]
    pub fn is_new(self) -> bool {
        self.0 & !(Kind::TYPE | Kind::ELISION | Kind::MARK) == 0
    }

    /// Normal, and initialised or taken while it was recorded: the common case of a recorded mutex, told by one test.
    #[inline(always)]
    pub fn is_normal_and_seen(self) -> bool {
        self.0 & !(Kind::ELISION | Kind::MARK) == Kind::SEEN
    }

    /// The number of the lock that serves the mutex, up to 127; 0: none yet. A destroyed mutex has any.
    #[inline(always)]
    pub fn mark(self) -> usize {
        (self.0 >> Kind::MARK_AT & 127) as usize
    }

    /// The kind with such a number.
    fn marked(self, number: usize) -> Kind {
        Kind(self.0 & !Kind::MARK | (number as c_int) << Kind::MARK_AT)
    }

    /// What it asks for.
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
            // Normal, and adaptive, which is normal with a spin before the sleep.
            _ => Class::Plain,
        }
    }

    /// Recursive, whoever serves it.
    #[inline(always)]
    pub fn is_recursive(self) -> bool {
        self.0 & Kind::TYPE == 1
    }

    /// Robust, and a mutex.
    #[inline(always)]
    pub fn is_robust(self) -> bool {
        self.0 > 0 && self.0 & Kind::ROBUST != 0
    }

    /// Its unlock may fail, so that a release is one only afterwards.
    #[inline(always)]
    pub fn checks_unlock(self) -> bool {
        self.0 & (Kind::ROBUST | Kind::PRIORITY) != 0 || self.0 & Kind::TYPE != 0
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
