//! The objects that a program's guests share, and how a guest follows its script.

use super::account::Book;
use super::look::{Look, sleep};
use super::meetings::Barrier;
use super::mixed::{Make, Stands};
use super::notices::{Named, tell};
use super::objects::{RwLock, SpinLock, WAIT, token_post, token_wait};
use super::passages::{self, Passages};
use super::stalls::{self, Interrupted, OnlyWork};
use crate::change::{Changed, Changes};
use crate::program::{Around, End, LockSpec, Op, Ops, Program, Script, Turns};
use crate::ran::{RunError, Setup, Totals};
use baton_chip::{Guest, Simulated, Spawn, act};
use baton_machine::{Atomic, LockNotice, Machine, Owned, Wait};
use baton_sync::lock::{Token, TryLock, visit_try};
use baton_sync::semaphore::RawSemaphore;
use baton_sync::semaphore::counter::Counter;
use baton_trace::{How, Lock, Mode, SiteId, What};
use baton_units::{CpuId, Cycles};
use std::alloc::Layout;
use std::cell::{Cell as HostCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

/// Distance in bytes between the data lines of a lock: each line has a pair of cache lines to
/// itself.
const PAIR: usize = 128;

/// What stands for a lock of the program in the run: the run's lock, another lock, a reader-writer
/// lock, or a spin lock as in the recording.
enum Served<L> {
    Replaced(Owned<Simulated, Alone<L>>),
    Other(Box<dyn Stands>, Wait),
    ReadWrite(RwLock),
    Spins(Owned<Simulated, SpinLock>),
}

/// A lock, together with the data lines that move with it from core to core.
struct Guarded<L> {
    lock: Served<L>,
    data: Option<(NonNull<u8>, Layout)>,
    lines: usize,
    /// The lock's identity in the events of a recorded run.
    name: Lock,
}

/// A value that has a pair of cache lines to itself.
#[repr(C, align(128))]
pub(crate) struct Alone<T>(pub(crate) T);

pub(crate) struct World<L> {
    program: Arc<Program>,
    /// The run's settings, of which `cpus` is at least one.
    setup: Setup,
    /// The program's locks by their numbers, followed by the further parts of split locks.
    locks: Vec<Guarded<L>>,
    changes: Changes,
    /// For each split lock, the index in `locks` of its second part; the first part has the lock's
    /// own index.
    parts: BTreeMap<u32, usize>,
    rwlocks: Vec<RwLock>,
    semaphores: Vec<Owned<Simulated, Counter<Simulated>>>,
    barriers: Vec<Barrier>,
    passages: Passages,
    tokens: Vec<Owned<Simulated, <Simulated as Machine>::Atomic<u32>>>,
    books: RefCell<Vec<Book>>,
    /// For each store, the number of items that have been taken from it.
    taken: RefCell<Vec<usize>>,
    guests: RefCell<Vec<Option<Guest>>>,
    /// For each thread, whether another thread has come to join it.
    joined: RefCell<Vec<bool>>,
    /// Whether each thread has ended, and how many of those have not that are no background threads.
    ended: RefCell<Vec<bool>>,
    left: HostCell<usize>,
    /// When the program ended, though background threads may go on for the rest of their turns.
    over: HostCell<Option<Cycles>>,
    /// The number of steps that the guests have begun.
    done: HostCell<u64>,
    pub(crate) interrupted: Interrupted,
}

impl<L: TryLock<Simulated>> Guarded<L> {
    /// Creates the lock of `spec` with `lines` lines of data, or what `changed` puts in its place.
    fn new(spec: &LockSpec, lines: usize, changed: Option<&Changed>) -> Guarded<L> {
        let data = (lines != 0).then(|| {
            let layout = Layout::from_size_align(lines * PAIR, PAIR).expect("a few lines fit into memory");
            (Simulated::alloc(layout), layout)
        });
        let other = changed.and_then(|changed| changed.lock.as_ref());
        let lock = match other {
            _ if changed.is_some_and(|changed| changed.readers.is_some()) => Served::ReadWrite(RwLock::new()),
            _ if spec.spins => Served::Spins(Owned::new(SpinLock::new())),
            Some(choice) => {
                Served::Other(visit_try(&choice.lock, Make).expect("looked up before the run"), choice.wait)
            }
            None => Served::Replaced(Owned::new(Alone(L::new()))),
        };
        Guarded { lock, data, lines, name: Lock::mutex(spec.address) }
    }

    /// Accesses the data that moves with the lock, to write it or only to read it.
    fn touch(&self, writes: bool) {
        if let Some((data, _)) = self.data {
            for line in 0..self.lines {
                // SAFETY: each line lies inside the lock's own data, which lives as long as the
                // world, and guests access the data only while they hold the lock.
                unsafe { Simulated::touch(data.as_ptr().add(line * PAIR), 1, writes) };
            }
        }
    }
}

/// A guest that follows its script, and the state that it needs for this.
struct Following {
    thread: u32,
    held: Vec<Held>,
    /// The state of the random generator for stalls. With the same seed it gives the same stalls
    /// under every lock, so that locks are compared fairly.
    draws: u64,
    /// The state of the random generator for choices at changed locks: which part of a split lock
    /// to take, and whether a hold only reads.
    change_draws: u64,
}

/// A lock that a guest holds.
#[derive(Clone, Copy)]
struct Held {
    /// The lock's number in the program.
    lock: u32,
    /// The index of the lock in `World::locks`; for a split lock, the index of the part.
    at: usize,
    mode: Mode,
    /// The token that the lock's release needs.
    token: usize,
    /// What is known of the hold as long as the guest does nothing but work in it.
    only_work: Option<OnlyWork>,
}

/// Returns the guest memory, in bytes, that the program's objects need, with room for queue nodes
/// of locks.
pub(crate) fn heap_bytes(program: &Program, changes: &Changes) -> usize {
    let parts = |number: u32| changes.locks.get(&number).map_or(1, |changed| changed.ways);
    let lines: f64 =
        (0..).zip(&program.locks).map(|(n, lock)| (lock.lines.high.ceil() + 4.0) * f64::from(parts(n))).sum();
    let shared: u32 =
        changes.locks.values().filter(|changed| changed.readers.is_some()).map(|changed| changed.ways).sum();
    let objects = program.semaphores.len() + program.barriers.len() + (program.rwlocks + shared) as usize;
    let lines = lines as usize * PAIR + passages::bytes(program, changes);
    (8 << 20) + lines + objects * 4096 + program.tokens as usize * 16 + program.threads.len() * 16_384
}

impl<L: TryLock<Simulated>> World<L> {
    /// Creates all objects of the program. The locks and barriers that `changes` names must be in
    /// the registry.
    ///
    /// # Errors
    /// Fails if a queue cannot be made.
    pub(crate) fn new(program: Arc<Program>, setup: &Setup, changes: &Changes) -> Result<Rc<World<L>>, RunError> {
        let passages = Passages::new(&program, changes)?;
        let mut place = setup.seed;
        let lines = program.locks.iter().map(|spec| match setup.seed {
            0 | 1 => spec.lines.estimate,
            _ => spec.lines.low + (spec.lines.high - spec.lines.low) * unit(&mut place),
        });
        let lines: Vec<usize> = lines.map(|lines| lines.round() as usize).collect();
        let guarded = |number: usize| {
            let changed = changes.locks.get(&(number as u32));
            Guarded::new(&program.locks[number], lines[number], changed)
        };
        let mut locks: Vec<Guarded<L>> = (0..program.locks.len()).map(guarded).collect();
        let mut parts = BTreeMap::new();
        for (&number, changed) in changes.locks.iter().filter(|(_, changed)| changed.ways > 1) {
            parts.insert(number, locks.len());
            locks.extend((1..changed.ways).map(|_| guarded(number as usize)));
        }
        Ok(Rc::new(World {
            passages,
            setup: Setup { cpus: setup.cpus.max(1), ..setup.clone() },
            books: RefCell::new(vec![Book::new(); locks.len()]),
            locks,
            changes: changes.clone(),
            parts,
            rwlocks: (0..program.rwlocks).map(|_| RwLock::new()).collect(),
            semaphores: program.semaphores.iter().map(|&value| Owned::new(Counter::new(value))).collect(),
            barriers: Barrier::all(&program, changes.barrier.as_ref(), setup.cpus.max(1)),
            tokens: (0..program.tokens).map(|_| Owned::new(Atomic::new(0))).collect(),
            taken: RefCell::new(vec![0; program.stores.len()]),
            guests: RefCell::new(vec![None; program.threads.len()]),
            joined: RefCell::new(vec![false; program.threads.len()]),
            ended: RefCell::new(vec![false; program.threads.len()]),
            left: HostCell::new(program.threads.iter().filter(|script| !is_background(script)).count()),
            over: HostCell::new(None),
            done: HostCell::new(0),
            interrupted: Interrupted::default(),
            program,
        }))
    }

    /// Returns how to start the thread: its name, its CPUs, and after how many cycles.
    pub(crate) fn spawn(&self, thread: u32, after: Cycles) -> Spawn {
        let script = &self.program.threads[thread as usize];
        let cpus: BTreeSet<u32> = script.cpus.iter().map(|rank| rank % self.setup.cpus).collect();
        Spawn { name: script.name.clone(), cpus: cpus.into_iter().map(CpuId).collect(), after, ..Spawn::default() }
    }

    /// Records which guest of the simulation a thread has become.
    pub(crate) fn started(&self, thread: u32, guest: Guest) {
        self.guests.borrow_mut()[thread as usize] = Some(guest);
    }

    /// Returns the code of the thread: it follows the thread's script.
    pub(crate) fn body(self: &Rc<Self>, thread: u32) -> impl FnOnce() + 'static {
        let world = self.clone();
        move || {
            let draws = world.setup.seed.rotate_left(32) ^ u64::from(thread);
            // Choices at changed locks use a random stream of their own, so that a change does not
            // alter the stalls.
            let mut guest = Following { thread, held: Vec::new(), draws, change_draws: !draws };
            let script = &world.program.threads[thread as usize];
            match script.turns {
                None => script.ops.iter().for_each(|op| world.follow(op, &mut guest)),
                Some(turns) => world.go_round(&script.ops, turns, &mut guest),
            }
            world.ends(thread, script);
        }
    }

    /// A thread has followed its script. If the program ends with it, all background threads may end.
    fn ends(&self, thread: u32, script: &Script) {
        self.ended.borrow_mut()[thread as usize] = true;
        if is_background(script) {
            return;
        }
        self.left.set(self.left.get() - 1);
        if self.program.end.by == Some(thread) || self.left.get() == 0 {
            self.joined.borrow_mut().fill(true);
            self.over.set(self.over.get().or(Some(act::time())));
        }
    }

    /// Returns when the program ended, if that is not when its last thread did.
    pub(crate) fn over(&self) -> Option<Cycles> {
        let End { by, endless } = self.program.end;
        self.over.get().filter(|_| by.is_some() || endless)
    }

    /// Follows the script of a thread with a loop, and repeats the loop: until the threads have ended
    /// for which the thread waits; for a background thread, until another thread has come to join it.
    ///
    /// A background thread looks whether it is to end where the recording ends: behind the steps that
    /// follow the last turn. If another thread tells it to end, that also ends the sleep of a turn.
    fn go_round(self: &Rc<Self>, ops: &Ops, turns: Turns, guest: &mut Following) {
        let thread = guest.thread as usize;
        let awaits = &self.program.threads[thread].awaits;
        let joined = || self.joined.borrow()[thread];
        let mut look = awaits.is_empty().then(|| Look::behind(ops, turns.last + 1));
        let mut at = 0;
        while at < ops.len() {
            let op = ops.at(at);
            if op == Op::Turn && (turns.first..=turns.last).contains(&at) {
                let over = match awaits.is_empty() {
                    true => joined(),
                    false => awaits.iter().all(|other| self.ended.borrow()[*other as usize]),
                };
                at = match over {
                    true => turns.last,
                    false if at == turns.last => turns.first,
                    false => at,
                };
                look.iter_mut().for_each(Look::begins);
            }
            at = match op {
                Op::Delay(cycles) if turns.told && at < turns.last && guest.held.is_empty() => {
                    if sleep(cycles, joined) { turns.last } else { at + 1 }
                }
                _ => {
                    self.follow(op, guest);
                    at + 1
                }
            };
            if look.as_mut().is_some_and(|look| look.is_behind(op)) && joined() {
                break;
            }
        }
    }

    fn follow(self: &Rc<Self>, op: Op, guest: &mut Following) {
        self.done.set(self.done.get() + 1);
        // A hold with another step than work inside, or with another lock, tells nothing of interrupts.
        if !matches!(op, Op::Work(_)) && guest.held.len() > usize::from(matches!(op, Op::Unlock(_))) {
            guest.held.iter_mut().for_each(|held| held.only_work = None);
        }
        match op {
            Op::Work(cycles) => match self.changed(cycles, guest) {
                0 if cycles != 0 => {}
                cycles => Simulated::work(Cycles(cycles)),
            },
            Op::Delay(cycles) => match self.changed(cycles, guest) {
                0 if cycles != 0 => {}
                cycles => act::delay(Cycles(cycles)),
            },
            Op::Lock(lock) => {
                let (at, mode) = self.choose(lock, &mut guest.change_draws);
                let token = self.lock(at, mode, guest.thread);
                guest.held.push(Held { lock, at, mode, token, only_work: Some(OnlyWork::begins()) });
            }
            Op::Unlock(lock) => {
                if let Some(at) = guest.held.iter().rposition(|held| held.lock == lock) {
                    compute(stalls::draw(&self.program.stalls, &mut guest.draws));
                    let held = guest.held.swap_remove(at);
                    self.interrupted.ends(held.only_work);
                    self.unlock(held, guest.thread);
                }
            }
            Op::RwLock(lock, exclusive) => self.rwlocks[lock as usize].lock(exclusive),
            Op::RwUnlock(lock, exclusive) => self.rwlocks[lock as usize].unlock(exclusive),
            Op::TokenWait(token) => token_wait(&self.tokens[token as usize]),
            Op::TokenPost(token) => token_post(&self.tokens[token as usize]),
            Op::SemTake(semaphore) => self.semaphores[semaphore as usize].take(WAIT),
            Op::Put(queue, items) => self.passages.put(queue, items, guest.thread),
            Op::Take(queue, items) => self.passages.take(queue, items, guest.thread),
            Op::SemPost(semaphore) => self.semaphores[semaphore as usize].post(WAIT),
            Op::Meet(barrier) => {
                tell(LockNotice::Arrived, barrier as usize, Named::Barrier);
                self.barriers[barrier as usize].meet(guest.thread);
                tell(LockNotice::Left, barrier as usize, Named::Barrier);
            }
            Op::Spawn(thread) => {
                let guest = act::spawn(self.spawn(thread, Cycles(0)), self.body(thread));
                self.started(thread, guest);
            }
            Op::Join(thread) => {
                self.joined.borrow_mut()[thread as usize] = true;
                let guest = self.guests.borrow()[thread as usize];
                if let Some(guest) = guest {
                    act::join(guest);
                }
            }
            Op::Turn => {}
            Op::Share(store) => {
                while let Some(item) = self.take(store) {
                    for op in self.program.stores[store as usize].item(item) {
                        self.follow(op, guest);
                    }
                }
            }
        }
    }

    /// Takes the store's next item and returns its number; `None` if the store is empty. A thread
    /// gets its item before it asks for the lock.
    fn take(&self, store: u32) -> Option<usize> {
        let taken = &mut self.taken.borrow_mut()[store as usize];
        let item = (*taken < self.program.stores[store as usize].len()).then_some(*taken);
        *taken += usize::from(item.is_some());
        item
    }

    /// Returns how long work takes under the locks that a guest holds. If several of these locks
    /// have a factor, the smallest applies.
    fn changed(&self, cycles: u64, guest: &Following) -> u64 {
        if self.changes.locks.is_empty() {
            return cycles;
        }
        let factors = guest.held.iter().filter_map(|held| Some(self.changes.locks.get(&held.lock)?.factor));
        match factors.filter(|factor| *factor != 1.0).min_by(f64::total_cmp) {
            Some(factor) => (cycles as f64 * factor).round() as u64,
            None => cycles,
        }
    }

    /// Chooses, for an acquisition of a lock of the program, the index in `locks` and the mode.
    fn choose(&self, lock: u32, draws: &mut u64) -> (usize, Mode) {
        let Some(changed) = self.changes.locks.get(&lock) else { return (lock as usize, Mode::Exclusive) };
        let part = if changed.ways == 1 { 0 } else { (unit(draws) * f64::from(changed.ways)) as usize };
        let at = if part == 0 { lock as usize } else { self.parts[&lock] + part - 1 };
        let reads = changed.readers.is_some_and(|share| unit(draws) < share);
        (at, if reads { Mode::Shared } else { Mode::Exclusive })
    }

    fn lock(&self, at: usize, mode: Mode, thread: u32) -> usize {
        let waits = self.books.borrow_mut()[at].request(act::time(), thread, mode);
        let guarded = &self.locks[at];
        let (name, site) = (guarded.name, SiteId::UNKNOWN);
        if waits {
            act::record(act::time(), What::Request { lock: name, mode, site });
        }
        tell(LockNotice::Wanted, at, Named::Lock);
        let (token, behind) = match &guarded.lock {
            Served::Replaced(lock) => {
                let (token, behind) = self.waited_for(|| lock.0.try_lock(), || lock.0.lock(self.setup.choice.wait));
                (token.to_word(), behind)
            }
            Served::Other(lock, wait) => self.waited_for(|| lock.try_lock(), || lock.lock(*wait)),
            Served::ReadWrite(lock) => {
                lock.lock(mode == Mode::Exclusive);
                (0, Cycles(0))
            }
            Served::Spins(lock) => (0, self.waited_for(|| lock.try_lock(), || lock.lock()).1),
        };
        tell(LockNotice::Taken, at, Named::Lock);
        if mode == Mode::Shared {
            // No thread waits for one particular reader, so a policy need not know who holds the
            // lock as a reader.
            tell(LockNotice::Left, at, Named::Lock);
        }
        self.books.borrow_mut()[at].acquired(act::time(), thread, mode);
        let how = How { slept: false, known: false, tries: 0 };
        let what =
            if waits { What::Acquired { lock: name, mode, how } } else { What::Acquire { lock: name, mode, site } };
        act::record(act::time(), what);
        compute(behind);
        guarded.touch(mode == Mode::Exclusive);
        token
    }

    /// Acquires a lock. Returns what `wait` or `attempt` returned, and the time that recording
    /// takes after the wait. If the replay includes recording, a guest first tries, as the recorder
    /// does, and spends time on recording before it waits.
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

    fn unlock(&self, held: Held, thread: u32) {
        let Held { at, mode, token, .. } = held;
        self.books.borrow_mut()[at].release(act::time(), thread);
        let guarded = &self.locks[at];
        act::record(act::time(), What::Release { lock: guarded.name, mode, site: SiteId::UNKNOWN });
        match &guarded.lock {
            // SAFETY: this guest's list of held locks had the lock, with this token, and all guests
            // use the run's one wait policy.
            Served::Replaced(lock) => unsafe { lock.0.unlock(L::Token::from_word(token), self.setup.choice.wait) },
            // SAFETY: this guest's list of held locks had the lock, with this token, and all guests
            // use the lock's one wait policy.
            Served::Other(lock, wait) => unsafe { lock.unlock(token, *wait) },
            Served::ReadWrite(lock) => lock.unlock(mode == Mode::Exclusive),
            Served::Spins(lock) => lock.unlock(),
        }
        tell(LockNotice::Left, at, Named::Lock);
    }

    /// Returns the number of steps that the guests have begun.
    pub(crate) fn done(&self) -> u64 {
        self.done.get()
    }

    /// Returns the totals of all locks at the end of the run.
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
                // SAFETY: `data` came from `alloc` with this layout, and no guest is left that
                // could use it.
                unsafe { Simulated::dealloc(data, layout) };
            }
        }
    }
}

/// Whether the thread is a background thread that repeats its turns.
fn is_background(script: &Script) -> bool {
    script.turns.is_some() && script.awaits.is_empty()
}

fn compute(cycles: Cycles) {
    if cycles != Cycles(0) {
        Simulated::work(cycles);
    }
}

/// Returns a random number between 0 and 1, by SplitMix64.
pub(crate) fn unit(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
