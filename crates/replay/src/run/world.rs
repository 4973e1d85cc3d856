//! The objects that a program's guests share, and what a guest does with its script.

use super::Setup;
use super::account::{Book, Totals};
use super::objects::{RwLock, SpinLock, WAIT, token_post, token_wait};
use crate::program::{Around, Op, Program};
use baton_chip::{Guest, Simulated, Spawn, act};
use baton_machine::{Atomic, Machine, Owned, Wait};
use baton_sync::barrier::RawBarrier;
use baton_sync::barrier::central::Central;
use baton_sync::lock::{Token, TryLock};
use baton_sync::semaphore::RawSemaphore;
use baton_sync::semaphore::counter::Counter;
use baton_trace::{How, Lock, Mode, SiteId, What};
use baton_units::{CpuId, Cycles};
use std::alloc::Layout;
use std::cell::{Cell as HostCell, RefCell};
use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

/// Bytes of a line pair: data lines of a lock lie this far apart.
const PAIR: usize = 128;

/// A lock of the program: the one asked for in its place, or its own where it is not replaced.
enum Served<L> {
    Replaced(Owned<Simulated, Alone<L>>),
    Spins(Owned<Simulated, SpinLock>),
}

/// A lock with the data that moves with it.
struct Guarded<L> {
    lock: Served<L>,
    data: Option<(NonNull<u8>, Layout)>,
    lines: usize,
}

/// Alone in its pair of lines.
#[repr(C, align(128))]
struct Alone<T>(T);

/// All objects of a program.
pub(crate) struct World<L> {
    program: Arc<Program>,
    wait: Wait,
    cpus: u32,
    seed: u64,
    locks: Vec<Guarded<L>>,
    rwlocks: Vec<RwLock>,
    semaphores: Vec<Owned<Simulated, Counter<Simulated>>>,
    barriers: Vec<Owned<Simulated, Central<Simulated>>>,
    tokens: Vec<Owned<Simulated, <Simulated as Machine>::Atomic<u32>>>,
    books: RefCell<Vec<Book>>,
    /// Items taken from each store.
    taken: RefCell<Vec<usize>>,
    guests: RefCell<Vec<Option<Guest>>>,
    /// Steps that guests have begun.
    done: HostCell<u64>,
}

/// A guest that follows its script.
struct Following {
    thread: u32,
    /// The locks that it holds, with what each needs to be given up.
    held: Vec<(u32, usize)>,
    /// The generator of its holds' stalls: with one seed the same ones under every lock, so that locks are compared alike.
    draws: u64,
}

/// Guest memory that the program's objects need, with room for queue nodes.
pub(crate) fn heap_bytes(program: &Program) -> usize {
    let lines: f64 = program.locks.iter().map(|lock| lock.lines.high.ceil() + 4.0).sum();
    let objects = program.semaphores.len() + program.barriers.len() + program.rwlocks as usize;
    (8 << 20) + lines as usize * PAIR + objects * 4096 + program.tokens as usize * 16 + program.threads.len() * 16_384
}

impl<L: TryLock<Simulated>> World<L> {
    /// All objects, free and empty.
    pub(crate) fn new(program: Arc<Program>, setup: &Setup) -> Rc<World<L>> {
        let mut place = setup.seed;
        let locks = program.locks.iter().map(|spec| {
            let lines = match setup.seed {
                0 | 1 => spec.lines.estimate,
                _ => spec.lines.low + (spec.lines.high - spec.lines.low) * unit(&mut place),
            };
            let lines = lines.round() as usize;
            let data = (lines != 0).then(|| {
                let layout = Layout::from_size_align(lines * PAIR, PAIR).expect("a few lines fit into memory");
                (Simulated::alloc(layout), layout)
            });
            let lock = match spec.spins {
                true => Served::Spins(Owned::new(SpinLock::new())),
                false => Served::Replaced(Owned::new(Alone(L::new()))),
            };
            Guarded { lock, data, lines }
        });
        Rc::new(World {
            wait: setup.choice.wait,
            cpus: setup.cpus.max(1),
            seed: setup.seed,
            locks: locks.collect(),
            rwlocks: (0..program.rwlocks).map(|_| RwLock::new()).collect(),
            semaphores: program.semaphores.iter().map(|&value| Owned::new(Counter::new(value))).collect(),
            barriers: program.barriers.iter().map(|&n| Owned::new(Central::new(participants(n)))).collect(),
            tokens: (0..program.tokens).map(|_| Owned::new(Atomic::new(0))).collect(),
            books: RefCell::new(vec![Book::new(); program.locks.len()]),
            taken: RefCell::new(vec![0; program.stores.len()]),
            guests: RefCell::new(vec![None; program.threads.len()]),
            done: HostCell::new(0),
            program,
        })
    }

    /// How the thread is started.
    pub(crate) fn spawn(&self, thread: u32, after: Cycles) -> Spawn {
        let script = &self.program.threads[thread as usize];
        let cpus: BTreeSet<u32> = script.cpus.iter().map(|rank| rank % self.cpus).collect();
        Spawn { name: script.name.clone(), cpus: cpus.into_iter().map(CpuId).collect(), after, ..Spawn::default() }
    }

    /// Notes the guest that a thread has become.
    pub(crate) fn started(&self, thread: u32, guest: Guest) {
        self.guests.borrow_mut()[thread as usize] = Some(guest);
    }

    /// What the thread does.
    pub(crate) fn body(self: &Rc<Self>, thread: u32) -> impl FnOnce() + 'static {
        let world = self.clone();
        move || {
            let draws = world.seed.rotate_left(32) ^ u64::from(thread);
            let mut guest = Following { thread, held: Vec::new(), draws };
            for op in world.program.threads[thread as usize].ops.iter() {
                world.follow(op, &mut guest);
            }
        }
    }

    fn follow(self: &Rc<Self>, op: Op, guest: &mut Following) {
        self.done.set(self.done.get() + 1);
        match op {
            Op::Work(cycles) => Simulated::work(Cycles(cycles)),
            Op::Delay(cycles) => act::delay(Cycles(cycles)),
            Op::Lock(lock) => guest.held.push((lock, self.lock(lock, guest.thread))),
            Op::Unlock(lock) => {
                if let Some(at) = guest.held.iter().rposition(|&(other, _)| other == lock) {
                    compute(self.stall(&mut guest.draws));
                    let (_, token) = guest.held.swap_remove(at);
                    self.unlock(lock, guest.thread, token);
                }
            }
            Op::RwLock(lock, exclusive) => self.rwlocks[lock as usize].lock(exclusive),
            Op::RwUnlock(lock, exclusive) => self.rwlocks[lock as usize].unlock(exclusive),
            Op::TokenWait(token) => token_wait(&self.tokens[token as usize]),
            Op::TokenPost(token) => token_post(&self.tokens[token as usize]),
            Op::SemTake(semaphore) => self.semaphores[semaphore as usize].take(WAIT),
            Op::SemPost(semaphore) => self.semaphores[semaphore as usize].post(WAIT),
            Op::Meet(barrier) => drop(self.barriers[barrier as usize].wait(0, WAIT)),
            Op::Spawn(thread) => {
                let guest = act::spawn(self.spawn(thread, Cycles(0)), self.body(thread));
                self.started(thread, guest);
            }
            Op::Join(thread) => {
                let guest = self.guests.borrow()[thread as usize];
                if let Some(guest) = guest {
                    act::join(guest);
                }
            }
            Op::Share(store) => {
                while let Some(item) = self.take(store) {
                    for op in self.program.stores[store as usize].item(item) {
                        self.follow(op, guest);
                    }
                }
            }
        }
    }

    /// What the machine takes of a hold that ends: mostly nothing.
    fn stall(&self, draws: &mut u64) -> Cycles {
        let stalls = &self.program.stalls;
        if stalls.cycles.is_empty() {
            return Cycles(0);
        }
        let place = (unit(draws) * stalls.holds.max(1) as f64) as usize;
        Cycles(stalls.cycles.get(place).copied().unwrap_or(0))
    }

    /// The number of the store's next item, if it has one left. Which thread has it is settled when it asks for the lock.
    fn take(&self, store: u32) -> Option<usize> {
        let taken = &mut self.taken.borrow_mut()[store as usize];
        let item = (*taken < self.program.stores[store as usize].len()).then_some(*taken);
        *taken += usize::from(item.is_some());
        item
    }

    fn lock(&self, lock: u32, thread: u32) -> usize {
        let waits = self.books.borrow_mut()[lock as usize].request(act::time(), thread);
        let guarded = &self.locks[lock as usize];
        let (name, mode, site) =
            (Lock::mutex(self.program.locks[lock as usize].address), Mode::Exclusive, SiteId::UNKNOWN);
        if waits {
            act::record(act::time(), What::Request { lock: name, mode, site });
        }
        let (token, behind) = match &guarded.lock {
            Served::Replaced(lock) => {
                let (token, behind) = self.waited_for(|| lock.0.try_lock(), || lock.0.lock(self.wait));
                (token.to_word(), behind)
            }
            Served::Spins(lock) => (0, self.waited_for(|| lock.try_lock(), || lock.lock()).1),
        };
        self.books.borrow_mut()[lock as usize].acquired(act::time(), thread);
        let how = How { slept: false, known: false, tries: 0 };
        let what =
            if waits { What::Acquired { lock: name, mode, how } } else { What::Acquire { lock: name, mode, site } };
        act::record(act::time(), what);
        compute(behind);
        if let Some((data, _)) = guarded.data {
            for line in 0..guarded.lines {
                // SAFETY: the line lies inside the lock's own data, which lives as long as the world and is touched
                // under the lock only.
                unsafe { Simulated::touch(data.as_ptr().add(line * PAIR), 1, true) };
            }
        }
        token
    }

    /// Takes a lock; and what recording does behind the wait. Where a recording is replayed, a guest tries first, as the
    /// recorder does, and writes a wait down before it begins.
    fn waited_for<T>(&self, attempt: impl FnOnce() -> Option<T>, wait: impl FnOnce() -> T) -> (T, Cycles) {
        let around = self.program.around;
        if around == Around::default() {
            return (wait(), Cycles(0));
        }
        if let Some(token) = attempt() {
            return (token, Cycles(0));
        }
        compute(around.before);
        (wait(), around.behind)
    }

    fn unlock(&self, lock: u32, thread: u32, token: usize) {
        self.books.borrow_mut()[lock as usize].release(act::time(), thread);
        let name = Lock::mutex(self.program.locks[lock as usize].address);
        act::record(act::time(), What::Release { lock: name, mode: Mode::Exclusive, site: SiteId::UNKNOWN });
        match &self.locks[lock as usize].lock {
            // SAFETY: the thread's list of held locks had it, with this token and the one policy of the run.
            Served::Replaced(lock) => unsafe { lock.0.unlock(L::Token::from_word(token), self.wait) },
            Served::Spins(lock) => lock.unlock(),
        }
    }

    /// Steps that guests have begun.
    pub(crate) fn done(&self) -> u64 {
        self.done.get()
    }

    /// All locks together, at the end of the run.
    pub(crate) fn totals(&self, end: Cycles) -> Totals {
        let mut totals = Totals::default();
        for book in self.books.borrow().iter() {
            totals += book.totals(end);
        }
        totals
    }
}

impl<L> Drop for World<L> {
    fn drop(&mut self) {
        for guarded in &self.locks {
            if let Some((data, layout)) = guarded.data {
                // SAFETY: it came from `alloc` with this layout; no guest is left to use it.
                unsafe { Simulated::dealloc(data, layout) };
            }
        }
    }
}

fn compute(cycles: Cycles) {
    if cycles != Cycles(0) {
        Simulated::work(cycles);
    }
}

fn participants(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN)
}

/// A number from 0 to 1, by SplitMix64.
fn unit(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
