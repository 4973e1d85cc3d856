//! What threads tell a scheduler outside of the program, on a page of memory that both share.
//!
//! `baton sched` makes the page and names it in the environment ([`VARIABLE`]). A thread that has
//! something to tell takes a row of the page, and alone writes into it: the lock or barrier that it
//! waits for, and the locks that it holds. The scheduler reads the rows every few milliseconds, and
//! answers in them which mask of CPUs the user gave the thread.
//!
//! All of the page is words of 8 bytes:
//!
//! | words | content |
//! | --- | --- |
//! | 0 to 511 | [`MAGIC`], [`LISTENS`], [`TAKEN`], [`UNTOLD`] |
//! | from [`MASKS`] | masks of CPUs, which the scheduler writes: the fast CPUs, the slow ones, and users' masks |
//! | from [`ROWS`] | a row of [`ROW`] words for each thread |
//!
//! A program can write anything into its page, and so must be able to mislead the scheduler about
//! its own threads only: each application has a page of its own.

use super::cell::NativeAtomic;
use super::futex;
use super::marker::Native;
use super::thread::{self, me};
use crate::local::Use;
use crate::units::Nanos;
use crate::{Clock, Deadline, LockNotice, Machine};
use core::ffi::CStr;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// The environment variable with the page's path.
pub const VARIABLE: &str = "BATONSCHED_PAGE";
/// The first word of a page, which gives the page's format and version.
pub const MAGIC: u64 = u64::from_le_bytes(*b"batsch01");
/// Index of the word that says what the scheduler listens to: [`HEARS_LOCKS`], [`ANSWERS_MASKS`].
pub const LISTENS: usize = 1;
/// The scheduler wants to know of locks and barriers.
pub const HEARS_LOCKS: u64 = 1;
/// The scheduler narrows masks, and answers which mask the user gave.
pub const ANSWERS_MASKS: u64 = 2;
/// Index of the word that has the number of rows that were ever in use.
pub const TAKEN: usize = 2;
/// Index of the word that counts threads for which no row was left.
pub const UNTOLD: usize = 3;
/// Index of the first word of the masks.
pub const MASKS: usize = 512;
/// Number of words of a mask: 8,192 CPUs.
pub const MASK: usize = 128;
/// Number of masks. The first two are the fast and the slow CPUs.
pub const MASK_COUNT: usize = 32;
/// Index of the first word of the rows.
pub const ROWS: usize = MASKS + MASK * MASK_COUNT;
/// Number of words of a row: a cache line.
pub const ROW: usize = 8;
/// Number of rows.
pub const ROW_COUNT: usize = 4096;
/// Length of a page in bytes.
pub const LENGTH: usize = (ROWS + ROW * ROW_COUNT) * 8;

/// Words of a row. Process id << 32 | thread id of the thread that has the row; 0: none.
pub const OWNER: usize = 0;
/// [`AT_LOCK`] or [`AT_BARRIER`] | the address for which the thread waits; 0: for none.
pub const WAITS: usize = 1;
/// When the wait began, in nanoseconds of the monotonic clock; 0: not known.
pub const SINCE: usize = 2;
/// The first of [`HOLDS_COUNT`] words: the address of a lock that the thread holds (0: none) | a number
/// << 48, which tells one hold of a lock from the next one.
pub const HOLDS: usize = 3;
/// Number of held locks that a row names. A further lock takes the place of the oldest one.
pub const HOLDS_COUNT: usize = 3;
/// Thread id | number of the user's mask << 32, written by the scheduler; 0: not known. The thread
/// writes [`OWN_MASK`] there when the program has set the mask itself.
pub const ANSWER: usize = 6;
/// The number that stands for a mask of the program's own.
pub const OWN_MASK: u64 = 1;
/// How often the program has set the thread's mask itself.
pub const OWN: usize = 7;
/// The bits of an address.
pub const ADDRESS: u64 = (1 << 48) - 1;
/// A wait for a lock.
pub const AT_LOCK: u64 = 1 << 62;
/// A wait at a barrier.
pub const AT_BARRIER: u64 = 1 << 63;

/// How long a new thread with a mask of one kind of CPUs waits for the scheduler's answer.
const ANSWERED_NS: u64 = 100_000_000;
/// A thread for which no row was left has this instead of a row's address.
const NO_ROW: usize = 1;

/// The page; null: there is none.
static PAGE: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());
/// Whether the scheduler wants to know of locks.
static HEARS: AtomicBool = AtomicBool::new(false);
/// Whether the scheduler has left a question unanswered: then it is not waited for again.
static SILENT: AtomicBool = AtomicBool::new(false);

/// Opens the page at `path`. Returns whether there is one; if not, nothing is told. Called before
/// the program's other threads begin.
pub fn open(path: &CStr) -> bool {
    let Some(page) = map(path) else { return false };
    PAGE.store(page, Ordering::Relaxed);
    HEARS.store(word(page, LISTENS).load(Ordering::Relaxed) & HEARS_LOCKS != 0, Ordering::Relaxed);
    true
}

fn map(path: &CStr) -> Option<*mut AtomicU64> {
    // A page that cannot shrink: an access behind the end of a file would kill the program.
    const SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the path ends with a zero byte; errno belongs to this thread; the mapping is new
    // memory, which is never unmapped.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let file = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC | libc::O_NONBLOCK);
        let mut at = libc::MAP_FAILED;
        if file >= 0 {
            let sealed = libc::fcntl(file, libc::F_GET_SEALS);
            if sealed >= 0 && sealed & SEALS == SEALS && libc::lseek(file, 0, libc::SEEK_END) == LENGTH as libc::off_t {
                at = libc::mmap(null_mut(), LENGTH, access, libc::MAP_SHARED, file, 0);
            }
            libc::close(file);
        }
        *errno = before;
        let page = (at != libc::MAP_FAILED).then_some(at.cast::<AtomicU64>())?;
        (word(page, 0).load(Ordering::Relaxed) == MAGIC).then_some(page)
    }
}

fn word(page: *mut AtomicU64, at: usize) -> &'static AtomicU64 {
    debug_assert!(at * 8 < LENGTH);
    // SAFETY: `page` is a mapping of LENGTH bytes that is never unmapped, and `at` lies inside.
    unsafe { &*page.add(at) }
}

fn page() -> Option<*mut AtomicU64> {
    Some(PAGE.load(Ordering::Relaxed)).filter(|page| !page.is_null())
}

/// Whether a scheduler wants to know of locks and barriers.
#[inline(always)]
pub fn are_heard() -> bool {
    HEARS.load(Ordering::Relaxed)
}

/// Whether a scheduler narrows masks of this process.
pub fn answers_masks() -> bool {
    page().is_some_and(|page| word(page, LISTENS).load(Ordering::Relaxed) & ANSWERS_MASKS != 0)
}

/// A thread's row.
#[derive(Clone, Copy)]
struct Row(*mut AtomicU64);

impl Row {
    fn word(self, at: usize) -> &'static AtomicU64 {
        debug_assert!(at < ROW);
        // SAFETY: a row lies in the page, which is never unmapped.
        unsafe { &*self.0.add(at) }
    }

    /// Empties all words but the owner's.
    fn clear(self) {
        (1..ROW).for_each(|at| self.word(at).store(0, Ordering::Relaxed));
    }

    fn holds(self) -> impl Iterator<Item = &'static AtomicU64> {
        (HOLDS..HOLDS + HOLDS_COUNT).map(move |at| self.word(at))
    }

    fn takes(self, lock: u64) {
        if self.word(WAITS).load(Ordering::Relaxed) != 0 {
            self.word(WAITS).store(0, Ordering::Relaxed);
        }
        let has = |at: u64| self.holds().find(move |hold| hold.load(Ordering::Relaxed) & ADDRESS == at);
        if has(lock).is_some() {
            return;
        }
        let hold = has(0).unwrap_or_else(|| {
            // The locks move up, and the oldest one is not named any more.
            self.holds().zip(self.holds().skip(1)).for_each(|(to, from)| {
                to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
            });
            self.word(HOLDS + HOLDS_COUNT - 1)
        });
        let number = hold.load(Ordering::Relaxed) & !ADDRESS;
        hold.store(number.wrapping_add(ADDRESS + 1) | lock, Ordering::Relaxed);
    }

    fn leaves(self, lock: u64) {
        if self.word(WAITS).load(Ordering::Relaxed) & ADDRESS == lock {
            self.word(WAITS).store(0, Ordering::Relaxed);
        }
        if let Some(hold) = self.holds().find(|hold| hold.load(Ordering::Relaxed) & ADDRESS == lock) {
            // The number stays.
            hold.store(hold.load(Ordering::Relaxed) & !ADDRESS, Ordering::Relaxed);
        }
    }

    fn waits(self, what: u64, timed: bool) {
        let now = if timed { Native::now(Clock::Monotonic).0 } else { 0 };
        self.word(SINCE).store(now, Ordering::Relaxed);
        // Release: a scheduler that sees the wait sees when it began.
        self.word(WAITS).store(what, Ordering::Release);
    }
}

/// The calling thread's row, taken at the first use; `None` if no row is left, or there is no page.
fn row() -> Option<Row> {
    match thread::local().get(Use::Notices) {
        0 => take(),
        NO_ROW => None,
        at => Some(Row(core::ptr::with_exposed_provenance_mut(at))),
    }
}

fn row_at(page: *mut AtomicU64, number: usize) -> Row {
    Row(core::ptr::from_ref(word(page, ROWS + number * ROW)).cast_mut())
}

/// The rows that are or were in use.
fn rows(page: *mut AtomicU64) -> impl Iterator<Item = Row> {
    let taken = word(page, TAKEN).load(Ordering::Relaxed).min(ROW_COUNT as u64) as usize;
    (0..taken).map(move |number| row_at(page, number))
}

#[cold]
fn take() -> Option<Row> {
    let (page, me) = (page()?, me());
    let local = thread::local();
    local.at_end(Use::Notices, ended);
    // The program that this process ran before may have left its row.
    let left = rows(page).find(|row| row.word(OWNER).load(Ordering::Relaxed) == me);
    let free = || {
        (0..ROW_COUNT).find(|&number| {
            let owner = row_at(page, number).word(OWNER);
            owner.load(Ordering::Relaxed) == 0
                // Acquire: the last owner's words were emptied before.
                && owner.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_ok()
        })
    };
    let row = left.or_else(|| {
        let number = free()?;
        word(page, TAKEN).fetch_max(number as u64 + 1, Ordering::Relaxed);
        Some(row_at(page, number))
    });
    let Some(row) = row else {
        word(page, UNTOLD).fetch_add(1, Ordering::Relaxed);
        local.set(Use::Notices, NO_ROW);
        return None;
    };
    if left.is_some() {
        row.clear();
    }
    local.set(Use::Notices, row.0.expose_provenance());
    Some(row)
}

/// Gives the row of a thread that ends back.
fn ended(at: usize) {
    if at == NO_ROW {
        return;
    }
    let row = Row(core::ptr::with_exposed_provenance_mut(at));
    row.clear();
    // Release: the next owner finds the row empty.
    row.word(OWNER).store(0, Ordering::Release);
}

/// Called in a fork's child: its thread takes a row of its own.
pub fn forked() {
    if page().is_some() {
        thread::local().set(Use::Notices, 0);
    }
}

/// Writes down what the calling thread does with the lock or barrier at `address`.
#[cold]
#[inline(never)]
pub fn tell(notice: LockNotice, address: usize) {
    let Some(row) = row() else { return };
    let at = address as u64 & ADDRESS;
    match notice {
        LockNotice::Wanted => row.waits(at | AT_LOCK, true),
        LockNotice::Arrived => row.waits(at | AT_BARRIER, true),
        LockNotice::Taken => row.takes(at),
        LockNotice::Left => row.leaves(at),
    }
}

/// Writes down that the calling thread is about to take a lock, and waits if another thread holds it.
/// With `timed`, also when: where a wait is likely, the time of its begin is worth a look at the clock.
#[inline(never)]
pub fn wants(address: usize, timed: bool) {
    if let Some(row) = row() {
        row.waits(address as u64 & ADDRESS | AT_LOCK, timed);
    }
}

/// Writes down that the program has set the mask of thread `tid` itself; 0: of the calling thread.
pub fn set_own_mask(tid: u32) {
    if let Some(row) = page().and_then(|page| row_of(page, tid)) {
        let owner = row.word(OWNER).load(Ordering::Relaxed) & 0xffff_ffff;
        row.word(ANSWER).store(owner | OWN_MASK << 32, Ordering::Relaxed);
        // Release: a scheduler that sees the new count answers after this.
        row.word(OWN).fetch_add(1, Ordering::Release);
    }
}

fn row_of(page: *mut AtomicU64, tid: u32) -> Option<Row> {
    if tid == 0 || u64::from(tid) == me() & 0xffff_ffff {
        return row();
    }
    rows(page).find(|row| row.word(OWNER).load(Ordering::Relaxed) as u32 == tid)
}

/// The mask that the user gave thread `tid` (0: the calling one), of which `real`, its mask in the
/// kernel, is the part that the scheduler leaves to the thread; `None` if `real` is the user's mask,
/// or if the scheduler has not said.
///
/// A thread that has just begun may have inherited a narrowed mask. If `real` may be one, and the
/// thread is the calling one, the call waits for the scheduler's answer, for 100 ms at most.
pub fn user_mask(tid: u32, real: &[u64]) -> Option<[u64; MASK]> {
    let page = page().filter(|_| answers_masks())?;
    if !is_narrow(page, real) {
        return None;
    }
    let row = row_of(page, tid)?;
    let me = row.word(OWNER).load(Ordering::Relaxed) as u32;
    let is_own = u64::from(me) == self::me() & 0xffff_ffff;
    let answer = || {
        let answer = row.word(ANSWER).load(Ordering::Acquire);
        (answer as u32 == me).then_some((answer >> 32) as usize).filter(|&number| (1..MASK_COUNT).contains(&number))
    };
    let until = Native::now(Clock::Monotonic).0 + ANSWERED_NS;
    let number = loop {
        if let Some(number) = answer() {
            break number;
        }
        if !is_own || SILENT.load(Ordering::Relaxed) {
            return None;
        }
        if Native::now(Clock::Monotonic).0 > until {
            SILENT.store(true, Ordering::Relaxed);
            return None;
        }
        nap();
    };
    if number as u64 == OWN_MASK {
        return None;
    }
    let user: [u64; MASK] = core::array::from_fn(|at| mask_word(page, number, at));
    let is_real = |part: &dyn Fn(usize) -> u64| (0..MASK).all(|at| part(at) == real.get(at).copied().unwrap_or(0));
    let is_part = |kind: usize| is_real(&|at| user[at] & mask_word(page, kind, at));
    (!is_real(&|at| user[at]) && (is_part(0) || is_part(1))).then_some(user)
}

/// Sleeps for half a millisecond.
fn nap() {
    let at = Nanos(Native::now(Clock::Monotonic).0 + 500_000);
    let deadline = Deadline { at, clock: Clock::Monotonic };
    let _ = futex::sleep(&NativeAtomic::new(0_u32), 0, futex::ANY, Some(deadline));
}

fn mask_word(page: *mut AtomicU64, number: usize, at: usize) -> u64 {
    word(page, MASKS + number * MASK + at).load(Ordering::Relaxed)
}

/// Whether all CPUs of a mask are of one kind.
fn is_narrow(page: *mut AtomicU64, mask: &[u64]) -> bool {
    let has = |kind: usize| mask.iter().take(MASK).enumerate().any(|(at, word)| word & mask_word(page, kind, at) != 0);
    has(0) != has(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

    const FAST: u64 = 0b0011;
    const SLOW: u64 = 0b1100;

    /// A page as a scheduler makes it; `length` bytes long.
    fn make(length: usize, seals: i32) -> (OwnedFd, std::ffi::CString) {
        // SAFETY: the name ends with a zero byte; the descriptor is new.
        let file = unsafe {
            let file = libc::memfd_create(c"page".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
            assert!(file >= 0 && libc::ftruncate(file, length as libc::off_t) == 0);
            assert!(libc::fcntl(file, libc::F_ADD_SEALS, seals) == 0);
            OwnedFd::from_raw_fd(file)
        };
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        (file, std::ffi::CString::new(path).unwrap())
    }

    fn put(file: &OwnedFd, at: usize, value: u64) {
        use std::os::unix::fs::FileExt;
        std::fs::File::from(file.try_clone().unwrap()).write_at(&value.to_le_bytes(), at as u64 * 8).unwrap();
    }

    fn get(file: &OwnedFd, at: usize) -> u64 {
        use std::os::unix::fs::FileExt;
        let mut bytes = [0; 8];
        std::fs::File::from(file.try_clone().unwrap()).read_at(&mut bytes, at as u64 * 8).unwrap();
        u64::from_le_bytes(bytes)
    }

    /// One test, because a process has one page.
    #[test]
    fn a_thread_tells_and_is_answered() {
        assert!(!open(c"/nowhere") && !are_heard());
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
        for (length, seals, magic) in [(LENGTH - 8, seals, MAGIC), (LENGTH, 0, MAGIC), (LENGTH, seals, MAGIC + 1)] {
            let (file, path) = make(length, seals);
            put(&file, 0, magic);
            assert!(!open(&path), "{length} {seals} {magic}");
        }
        let (file, path) = make(LENGTH, seals);
        put(&file, 0, MAGIC);
        put(&file, LISTENS, HEARS_LOCKS | ANSWERS_MASKS);
        put(&file, MASKS, FAST);
        put(&file, MASKS + MASK, SLOW);
        put(&file, MASKS + 2 * MASK, FAST | SLOW);
        assert!(open(&path) && are_heard() && answers_masks() && Native::hears_locks());
        std::thread::scope(|s| s.spawn(|| tells(&file)).join().unwrap());
        assert_eq!((get(&file, ROWS + OWNER), get(&file, ROWS + WAITS)), (0, 0), "the thread has ended");
        assert_eq!(get(&file, TAKEN), 1);
        std::thread::scope(|s| s.spawn(|| is_answered(&file)).join().unwrap());
        assert_eq!(get(&file, TAKEN), 1, "the row is used again");
        put(&file, TAKEN, u64::MAX);
        assert_eq!(user_mask(1, &[FAST]), None, "a hostile count of rows, and no such thread");
    }

    fn tells(file: &OwnedFd) {
        let row = |at: usize| get(file, ROWS + at);
        let holds = || (0..HOLDS_COUNT).map(|at| row(HOLDS + at) & ADDRESS).collect::<Vec<_>>();
        Native::notify_lock(LockNotice::Wanted, 0x10);
        assert_eq!((row(OWNER), row(WAITS)), (me(), AT_LOCK | 0x10));
        assert!(row(SINCE) != 0 && row(SINCE) <= Native::now(Clock::Monotonic).0);
        Native::notify_lock(LockNotice::Taken, 0x10);
        let first = row(HOLDS);
        assert_eq!((row(WAITS), holds()), (0, vec![0x10, 0, 0]));
        Native::notify_lock(LockNotice::Left, 0x10);
        assert_eq!(holds(), [0, 0, 0]);
        Native::notify_lock(LockNotice::Taken, 0x10);
        assert_ne!(row(HOLDS), first, "another hold of the same lock");
        for lock in [0x20, 0x30, 0x40] {
            Native::notify_lock(LockNotice::Taken, lock);
        }
        assert_eq!(holds(), [0x20, 0x30, 0x40], "the oldest of four locks is not named");
        Native::notify_lock(LockNotice::Left, 0x10);
        Native::notify_lock(LockNotice::Left, 0x30);
        assert_eq!(holds(), [0x20, 0, 0x40]);
        Native::notify_lock(LockNotice::Arrived, 0x50);
        assert_eq!(row(WAITS), AT_BARRIER | 0x50);
        Native::notify_lock(LockNotice::Left, 0x50);
        assert_eq!((row(WAITS), holds()), (0, vec![0x20, 0, 0x40]));
    }

    fn is_answered(file: &OwnedFd) {
        let tid = me() & 0xffff_ffff;
        assert_eq!(user_mask(0, &[FAST | 4]), None, "a mask of both kinds is the user's");
        put(file, ROWS + ANSWER, 0);
        // The answer comes while the thread waits for it.
        SILENT.store(false, Ordering::Relaxed);
        std::thread::scope(|s| {
            s.spawn(|| {
                while get(file, ROWS + OWNER) & 0xffff_ffff != tid {
                    std::thread::yield_now();
                }
                put(file, ROWS + ANSWER, tid | 2 << 32);
            });
            assert_eq!(user_mask(0, &[FAST]).map(|mask| mask[0]), Some(FAST | SLOW));
        });
        assert_eq!(user_mask(0, &[SLOW, 0]).map(|mask| mask[0]), Some(FAST | SLOW));
        assert_eq!(user_mask(tid as u32, &[SLOW]).map(|mask| mask[0]), Some(FAST | SLOW));
        assert_eq!(user_mask(0, &[0b0001]), None, "a mask of the program's own");
        assert_eq!(user_mask(0, &[SLOW, 1]), None);
        for answer in [tid | 40 << 32, tid, (tid + 1) | 2 << 32] {
            put(file, ROWS + ANSWER, answer);
            SILENT.store(true, Ordering::Relaxed);
            assert_eq!(user_mask(0, &[FAST]), None, "no answer to this thread: {answer:x}");
        }
        put(file, ROWS + ANSWER, tid | 2 << 32);
        set_own_mask(0);
        set_own_mask(tid as u32);
        assert_eq!(get(file, ROWS + OWN), 2);
        assert_eq!(user_mask(0, &[FAST]), None, "the program has set this mask");
    }
}
