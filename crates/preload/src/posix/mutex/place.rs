//! The named lock inside the mutex, or behind a pointer where it does not fit.
//!
//! A lock that does not fit lies in a block of memory, which the mutex has only while it is held or
//! waited for, as a program may use any number of mutexes and never destroy one. The mutex's word
//! holds the block's address (the lower 48 bits; 0: the mutex is free) and above it how many
//! threads hold the mutex or wait for it. The last of these threads takes the block away with the
//! one exchange that frees the mutex. A block without a mutex is kept by a thread for its next
//! mutex, with a free lock in it, or lies on a list.

use super::object::Mutex;
use super::stand_in::{Held, StandIn};
use crate::base::stack::BlockStack;
use crate::thread;
use baton_machine::{Deadline, Machine, Native, Wait};
use baton_sync::lock::{RawLock, TryLock};
use core::alloc::Layout;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Whether a lock lies in the mutex's own words; else a pointer to the lock stands there. A lock
/// fits if a look tells whether it is free, and if it leaves a word for the spare lock: the second
/// word, or the token's word if the named lock has no token.
pub const fn fits<S: StandIn>() -> bool {
    let words = if size_of::<Held<S>>() == 0 { 2 } else { 1 };
    S::LOOKS && size_of::<S::Lock>() <= words * size_of::<usize>() && align_of::<S::Lock>() <= align_of::<usize>()
}

/// The result of a try to take a lock.
pub enum Try<T> {
    /// The calling thread has the lock.
    Taken(T),
    /// Another thread has the lock.
    Busy,
    /// The try needed memory, and there is none.
    NoMemory,
}

/// The error if there is no memory to take the lock.
#[derive(Debug)]
pub struct NoMemory;

/// The lock that lies in the mutex itself.
#[inline(always)]
fn inside<S: StandIn>(mutex: &Mutex) -> &S::Lock {
    debug_assert!(fits::<S>());
    // SAFETY: the lock fits into the words, which are atomic cells that only `S` uses (the spare
    // lock uses the second one if `S` leaves it), and all zero is a free lock.
    unsafe { &*(&raw const mutex.words).cast::<S::Lock>() }
}

/// Allocates zeroed memory that a lock's users need, as [`RawLock::provide`] wants it.
fn memory(layout: Layout) -> *mut u8 {
    // SAFETY: the size of what locks ask for is not zero.
    unsafe { std::alloc::alloc_zeroed(layout) }
}

/// Takes the lock; `None` if there is no memory to do so.
#[inline(always)]
pub fn lock<S: StandIn>(mutex: &Mutex, wait: Wait) -> Option<Held<S>> {
    if !S::Lock::provide(memory) {
        return None;
    }
    if const { fits::<S>() } { Some(inside::<S>(mutex).lock(wait)) } else { Block::lock::<S>(mutex, wait) }
}

/// Takes the lock before the deadline; `None` if the deadline passed first. Called only if the
/// lock's waiters can give up. The error says that there is no memory to take the lock.
pub fn lock_until<S: StandIn>(mutex: &Mutex, wait: Wait, deadline: Deadline) -> Result<Option<Held<S>>, NoMemory> {
    if !S::provide_timed(memory) {
        return Err(NoMemory);
    }
    if const { fits::<S>() } {
        Ok(S::lock_until(inside::<S>(mutex), wait, deadline))
    } else {
        Block::lock_until::<S>(mutex, wait, deadline)
    }
}

/// Takes the lock if it is free.
#[inline(always)]
pub fn try_lock<S: StandIn>(mutex: &Mutex) -> Try<Held<S>> {
    if !S::Lock::provide(memory) {
        return Try::NoMemory;
    }
    if const { fits::<S>() } {
        inside::<S>(mutex).try_lock().map_or(Try::Busy, Try::Taken)
    } else {
        Block::try_lock::<S>(mutex)
    }
}

/// Releases the lock. Touches nothing of the mutex after the store that frees it.
///
/// # Safety
/// The calling thread holds the lock by `token`, taken with the same `wait`.
#[inline(always)]
pub unsafe fn unlock<S: StandIn>(mutex: &Mutex, token: Held<S>, wait: Wait) {
    if const { fits::<S>() } {
        // SAFETY: the caller says that it holds the lock by `token`.
        unsafe { inside::<S>(mutex).unlock(token, wait) }
    } else {
        // SAFETY: the caller says that it holds the lock by `token`.
        unsafe { Block::unlock::<S>(mutex, token, wait) }
    }
}

/// Whether no thread holds the lock or waits for it at this moment.
pub fn is_free<S: StandIn>(mutex: &Mutex) -> bool {
    if const { fits::<S>() } {
        S::is_free(inside::<S>(mutex))
    } else {
        // Acquire: this thread sees what the last holder did.
        mutex.words[0].load(Acquire) == 0
    }
}

/// Makes the lock free, whatever its state. Called in a fork's child, where the threads that waited
/// do not exist.
///
/// # Safety
/// No thread of this process uses the lock.
pub unsafe fn reset<S: StandIn>(mutex: &Mutex) {
    if const { fits::<S>() } {
        let lock: *const S::Lock = inside::<S>(mutex);
        // SAFETY: no other thread uses the lock. The queue nodes that it pointed to are leaked, as
        // their threads do not exist in this process.
        unsafe { lock.cast_mut().write(S::Lock::new()) };
    } else {
        // The block is leaked, as the threads that counted themselves in do not exist in this
        // process.
        mutex.words[0].store(0, Relaxed);
    }
}

/// The result of joining the threads that use a lock that does not fit.
enum Joined<T> {
    /// The lock was free, and the calling thread has taken it.
    Taken(T),
    /// Another thread holds the lock; the calling thread is counted among its users.
    Counted(Block),
    /// There is no memory for a block.
    NoMemory,
}

/// The word of a lock that does not fit: the block's address, and the count of its users.
#[derive(Clone, Copy)]
struct Block(usize);

/// The size of a block: room for any lock that does not fit, so that every block can serve every
/// such lock.
const BLOCK: Layout = match Layout::from_size_align(1280, 128) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

/// Free blocks: no mutex has them, and no thread keeps them.
static BLOCKS: BlockStack = BlockStack::new();

impl Block {
    const ADDRESS: usize = (1 << 48) - 1;
    /// One more thread.
    const ONE: usize = 1 << 48;
    const MOST: usize = usize::MAX >> 48;

    /// The lower bits, which are zero in a block's address: a thread that keeps a block notes there
    /// the kind of the lock in it.
    const KIND: usize = BLOCK.align() - 1;

    fn kind<L: RawLock<Native>>() -> usize {
        const { assert!((L::INFO.c_number as usize) <= Block::KIND) };
        L::INFO.c_number as usize
    }

    fn users(self) -> usize {
        self.0 >> 48
    }

    /// The lock in the block, whose memory stays mapped for ever.
    fn at<'a, L>(self) -> &'a L {
        // SAFETY: a word that is not 0 has the address of a block, made by `take`.
        unsafe { &*core::ptr::with_exposed_provenance::<L>(self.0 & Block::ADDRESS) }
    }

    /// A block with a free lock in it: the thread's own, a free one or a new one. `None` if there
    /// is no memory.
    fn take<L: RawLock<Native>>() -> Option<Block> {
        const { assert!(size_of::<L>() <= BLOCK.size() && align_of::<L>() <= BLOCK.align()) };
        let kept = thread::current().block.swap(0, Relaxed);
        let at = kept & Block::ADDRESS & !Block::KIND;
        if kept != 0 && kept & Block::KIND == Block::kind::<L>() {
            return Some(Block(at));
        }
        // The lock is made anew: a block from the stack has its first word overwritten, and a lock
        // of another kind leaves words that need not be a free lock of this kind.
        let block = match kept {
            0 => BLOCKS.pop().unwrap_or_else(|| memory(BLOCK)).cast::<L>(),
            _ => core::ptr::with_exposed_provenance_mut(at),
        };
        if block.is_null() {
            return None;
        }
        // SAFETY: the block has room for one `L`, and no other thread uses it.
        unsafe { block.write(L::new()) };
        Some(Block(block.expose_provenance()))
    }

    /// Keeps a block, whose lock is free, for the thread's next acquisition. If the thread keeps
    /// one already, the block goes to the free blocks.
    fn keep<L: RawLock<Native>>(self) {
        let at = self.0 & Block::ADDRESS;
        if thread::current().block.compare_exchange(0, at | Block::kind::<L>(), Relaxed, Relaxed).is_err() {
            // SAFETY: the block belongs to no mutex, is aligned and stays mapped for ever.
            unsafe { BLOCKS.push(core::ptr::with_exposed_provenance_mut(at)) };
        }
    }

    /// Gives a free mutex a block whose lock the calling thread holds.
    fn begin<S: StandIn>(word: &AtomicUsize) -> Try<Held<S>> {
        let Some(block) = Block::take::<S::Lock>() else { return Try::NoMemory };
        let lock: &S::Lock = block.at();
        let token = lock.try_lock().expect("a block's lock is free");
        // AcqRel: a thread that finds the block finds its lock, and this thread sees the last
        // holder's writes.
        if word.compare_exchange(0, block.0 | Block::ONE, AcqRel, Relaxed).is_ok() {
            return Try::Taken(token);
        }
        // SAFETY: the thread took the lock above, and no other thread has seen it.
        unsafe { lock.unlock(token, Wait::Spin) };
        block.keep::<S::Lock>();
        Try::Busy
    }

    fn try_lock<S: StandIn>(mutex: &Mutex) -> Try<Held<S>> {
        let word = &mutex.words[0];
        if word.load(Relaxed) == 0 { Block::begin::<S>(word) } else { Try::Busy }
    }

    fn lock<S: StandIn>(mutex: &Mutex, wait: Wait) -> Option<Held<S>> {
        match Block::join::<S>(&mutex.words[0]) {
            Joined::Taken(token) => Some(token),
            Joined::Counted(block) => Some(block.at::<S::Lock>().lock(wait)),
            Joined::NoMemory => None,
        }
    }

    fn lock_until<S: StandIn>(mutex: &Mutex, wait: Wait, deadline: Deadline) -> Result<Option<Held<S>>, NoMemory> {
        let word = &mutex.words[0];
        let block = match Block::join::<S>(word) {
            Joined::Taken(token) => return Ok(Some(token)),
            Joined::Counted(block) => block,
            Joined::NoMemory => return Err(NoMemory),
        };
        let lock: &S::Lock = block.at();
        if let Some(token) = S::lock_until(lock, wait, deadline) {
            return Ok(Some(token));
        }
        loop {
            let seen = Block(word.load(Relaxed));
            if seen.users() == 1 {
                // This thread is the only one that is counted: the holder has counted itself out
                // and is about to release the lock. The thread that is counted last must free the
                // block, so this thread takes the lock, however late.
                return Ok(Some(lock.lock(wait)));
            }
            // Release: the thread that frees the block sees this thread's accesses to it as done.
            if word.compare_exchange(seen.0, seen.0 - Block::ONE, Release, Relaxed).is_ok() {
                return Ok(None);
            }
        }
    }

    /// Gives a free mutex a block whose lock the calling thread holds; or counts the calling thread
    /// among the users of the block that is there.
    #[inline(always)]
    fn join<S: StandIn>(word: &AtomicUsize) -> Joined<Held<S>> {
        loop {
            let seen = Block(word.load(Relaxed));
            if seen.0 == 0 {
                match Block::begin::<S>(word) {
                    Try::Taken(token) => return Joined::Taken(token),
                    Try::Busy => {}
                    Try::NoMemory => return Joined::NoMemory,
                }
            } else if seen.users() == Block::MOST {
                Native::relax();
            } else if word.compare_exchange(seen.0, seen.0 + Block::ONE, AcqRel, Relaxed).is_ok() {
                // The block stays with the mutex until this thread, which is counted, has left.
                return Joined::Counted(seen);
            }
        }
    }

    /// Releases the lock, and frees its block if no other thread is counted.
    ///
    /// # Safety
    /// As for [`unlock`].
    unsafe fn unlock<S: StandIn>(mutex: &Mutex, token: Held<S>, wait: Wait) {
        let word = &mutex.words[0];
        loop {
            let seen = Block(word.load(Relaxed));
            let (last, lock) = (seen.users() == 1, seen.at::<S::Lock>());
            // Only a holder frees the word, and this thread is the holder. Release: the next holder
            // sees this thread's writes, even if it comes with a block of its own. Acquire: the
            // accesses of threads that gave up are done.
            let left = if last { 0 } else { seen.0 - Block::ONE };
            if word.compare_exchange(seen.0, left, AcqRel, Relaxed).is_ok() {
                // SAFETY: the caller holds the lock by `token`. If other threads are counted, one
                // of them frees the block after it has got the lock from this thread; else no other
                // thread knows the block any more.
                unsafe { lock.unlock(token, wait) };
                if last {
                    seen.keep::<S::Lock>();
                }
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posix::mutex::stand_in::{Polled, Queued, Timed, TimedQueue};
    use baton_sync::lock::{Fifo, LOCKS, Posix, PosixVisitor, TimedLock, ZeroInit, visit_posix};

    struct Use;
    impl Use {
        fn with<S: StandIn>(self) {
            // SAFETY: an all-zero mutex is valid: static initialisers make such mutexes.
            let mutex: Mutex = unsafe { core::mem::zeroed() };
            let wait = Wait::Pause;
            for _ in 0..3 {
                let token = lock::<S>(&mutex, wait).expect("there is memory");
                assert!(matches!(try_lock::<S>(&mutex), Try::Busy));
                // SAFETY: this thread locked the mutex by this token.
                unsafe { unlock::<S>(&mutex, token, wait) };
            }
            lock::<S>(&mutex, wait).expect("there is memory");
            // SAFETY: no other thread uses the mutex.
            unsafe { reset::<S>(&mutex) };
            let Try::Taken(token) = try_lock::<S>(&mutex) else { panic!("free after the reset") };
            // SAFETY: this thread locked the mutex by this token.
            unsafe { unlock::<S>(&mutex, token, wait) };
        }
    }
    impl PosixVisitor<Native> for Use {
        type Out = ();
        fn timed<L: TimedLock<Native> + ZeroInit>(self) {
            self.with::<Timed<L>>();
        }
        fn timed_queue<L: TimedLock<Native> + Fifo + ZeroInit>(self) {
            self.with::<TimedQueue<L>>();
        }
        fn queued<L: TryLock<Native> + Fifo + ZeroInit>(self) {
            self.with::<Queued<L>>();
        }
        fn polled<L: TryLock<Native> + ZeroInit>(self) {
            self.with::<Polled<L>>();
        }
    }

    #[test]
    fn every_lock_finds_its_place_in_zeroed_memory() {
        for lock in LOCKS.iter().filter(|lock| lock.posix == Posix::Yes) {
            visit_posix::<Native, _>(lock.name, Use).unwrap();
        }
    }

    #[test]
    fn a_lock_that_cannot_be_looked_at_lies_beside_the_mutex() {
        type Small = baton_sync::lock::tas::Tas<Native>;
        const { assert!(fits::<Timed<Small>>() && !fits::<Polled<Small>>()) };
        Use.with::<Polled<Small>>();
        // SAFETY: as above.
        let mutex: Mutex = unsafe { core::mem::zeroed() };
        // Takes the lock and drops its token, which is `()`.
        lock::<Polled<Small>>(&mutex, Wait::Pause).expect("there is memory");
        assert!(!is_free::<Polled<Small>>(&mutex));
        // SAFETY: locked above.
        unsafe { unlock::<Polled<Small>>(&mutex, (), Wait::Pause) };
        assert!(is_free::<Polled<Small>>(&mutex));
    }

    #[test]
    fn a_lock_that_does_not_fit_is_there_while_it_is_used() {
        type Cohort = Polled<baton_sync::lock::cohort::CohortLock<Native>>;
        const { assert!(!fits::<Cohort>()) };
        // SAFETY: as above.
        let mutex: Mutex = unsafe { core::mem::zeroed() };
        for _ in 0..2 {
            let first = lock::<Cohort>(&mutex, Wait::Futex).expect("there is memory");
            assert_eq!(Block(mutex.words[0].load(Relaxed)).users(), 1);
            std::thread::scope(|s| {
                for _ in 0..3 {
                    s.spawn(|| {
                        let token = lock::<Cohort>(&mutex, Wait::Futex).expect("there is memory");
                        // SAFETY: this thread locked the mutex by this token.
                        unsafe { unlock::<Cohort>(&mutex, token, Wait::Futex) };
                    });
                }
                while Block(mutex.words[0].load(Relaxed)).users() < 4 {
                    std::thread::yield_now();
                }
                // SAFETY: this thread locked the mutex by this token.
                unsafe { unlock::<Cohort>(&mutex, first, Wait::Futex) };
            });
            assert_eq!(mutex.words[0].load(Relaxed), 0);
        }
    }
}
