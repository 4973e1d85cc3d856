//! What a put and a take cost on a chip, when nothing is waited for. A recorded thread's time between
//! two events contains that cost; it is subtracted where the simulation charges it anew.

use super::QueueKind;
use super::serve::{self, Serves};
use baton_chip::{Chip, Instructions, Options, Simulated, Simulation, Spawn, act};
use baton_machine::Ordering::{Acquire, Release};
use baton_machine::{Atomic, Machine, Owned, Wait};
use baton_units::{CpuId, Cycles};
use std::cell::Cell;
use std::rc::Rc;

/// The cycles of a put and of a take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OneItem {
    put: u64,
    take: u64,
}

/// What puts and takes cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueuePrice {
    /// Where the two sides use neighbouring places, so that lines move between cores for each item.
    near: OneItem,
    /// Where the sides are so far apart that a line which moves carries several items.
    far: OneItem,
    /// Where a thread of the other side waits, and is told; without the wake-up of one that sleeps.
    waking: OneItem,
}

/// The places of a queue that share a line, about.
const NEAR: u64 = 4;

impl QueuePrice {
    /// The cycles of moving items in, or out, while there are `depth` items in a queue for `capacity`.
    /// `awaited`: a thread waits for the items, or for their places.
    pub(crate) fn of(&self, puts: bool, items: u32, (depth, capacity): (u64, Option<u32>), awaited: bool) -> u64 {
        let free = capacity.map_or(u64::MAX, |capacity| u64::from(capacity).saturating_sub(depth));
        let near = depth.min(free) < NEAR;
        let one = |price: OneItem| if puts { price.put } else { price.take };
        let first = match near {
            _ if awaited => one(self.waking),
            true => one(self.near),
            false => one(self.far),
        };
        first + u64::from(items.saturating_sub(1)) * one(self.far)
    }
}

/// Items that the measured queue holds.
const PLACES: u32 = 64;
/// Rounds, of which the first ones only warm the caches.
const ROUNDS: u32 = 12;
const WARM: u32 = 4;
/// Cycles after which the other side surely waits.
const LATER: Cycles = Cycles(5_000);
/// How the measured threads wait for their turns, and at the queue: without sleep, whose cost is the
/// operating system's.
const TURN: Wait = Wait::Futex;
const AT_QUEUE: Wait = Wait::Pause;

type Word = <Simulated as Machine>::Atomic<u32>;

/// What the two guests share.
struct Shared {
    queue: Box<dyn Serves>,
    /// The number of turns that are over; the producer's are the even ones.
    turn: Owned<Simulated, Word>,
    /// The cycles of the measured puts and takes.
    puts: Cell<u64>,
    takes: Cell<u64>,
}

impl Shared {
    fn put(&self) {
        // SAFETY: one guest of the two puts items in.
        unsafe { self.queue.put(1, AT_QUEUE) }
    }

    fn take(&self) {
        // SAFETY: the other guest takes items out.
        unsafe { self.queue.take(1, AT_QUEUE) }
    }

    /// Runs one side's turns, and adds their time to `spent`.
    fn by_turns(&self, first: u32, spent: &Cell<u64>, turn: impl Fn()) {
        for round in 0..ROUNDS {
            let mine = 2 * round + first;
            let mut now = self.turn.load(Acquire);
            while now != mine {
                let _ = Simulated::wait_while(&self.turn, now, TURN, None);
                now = self.turn.load(Acquire);
            }
            timed(round, spent, &turn);
            self.turn.store(mine + 1, Release);
            Simulated::wake::<u32>(&*self.turn, 1, TURN);
        }
    }

    /// Does something in each round after the other side has come to wait.
    fn late(&self, spent: &Cell<u64>, does: impl Fn()) {
        for round in 0..ROUNDS {
            Simulated::work(LATER);
            timed(round, spent, &does);
        }
    }
}

fn timed(round: u32, spent: &Cell<u64>, does: impl Fn()) {
    let began = act::time();
    does();
    if round >= WARM {
        spent.update(|cycles| cycles + (act::time().0 - began.0));
    }
}

/// Returns the prices of a kind of queue. Zero if the chip cannot be simulated, which the program's run
/// reports.
pub(crate) fn price(kind: QueueKind, chip: &Chip) -> QueuePrice {
    let by_turns = |items: u32| {
        let some = move |does: fn(&Shared)| move |shared: &Shared| (0..items).for_each(|_| does(shared));
        let (put, take) = (some(Shared::put), some(Shared::take));
        let puts = move |shared: &Shared| shared.by_turns(0, &shared.puts, || put(shared));
        let takes = move |shared: &Shared| shared.by_turns(1, &shared.takes, || take(shared));
        measured(kind, chip, items, puts, takes)
    };
    let late_puts = |shared: &Shared| shared.late(&shared.puts, || shared.put());
    let takes = |shared: &Shared| (0..ROUNDS).for_each(|_| shared.take());
    let late_takes = |shared: &Shared| shared.late(&shared.takes, || shared.take());
    let puts = |shared: &Shared| (0..PLACES + ROUNDS).for_each(|_| shared.put());
    let (put, take) = (measured(kind, chip, 1, late_puts, takes).put, measured(kind, chip, 1, puts, late_takes).take);
    QueuePrice { near: by_turns(1), far: by_turns(PLACES / 2), waking: OneItem { put, take } }
}

/// Runs two threads on two cores, and returns the time of an item, of which each round moves `items`.
fn measured(
    kind: QueueKind,
    chip: &Chip,
    items: u32,
    puts: impl Fn(&Shared) + 'static,
    takes: impl Fn(&Shared) + 'static,
) -> OneItem {
    let options = Options { threads: 2, instructions: Instructions::of(kind.info().counted), ..Options::default() };
    let Ok(mut simulation) = Simulation::new(chip, &options) else { return OneItem::default() };
    let made = simulation.outside(|| {
        let queue = serve::make(kind, Some(PLACES)).ok()?;
        let turn = Owned::new(Atomic::new(0));
        Some(Rc::new(Shared { queue, turn, puts: Cell::new(0), takes: Cell::new(0) }))
    });
    let Some(shared) = made else { return OneItem::default() };
    let on = |cpu: u32| Spawn { cpus: vec![CpuId(cpu % chip.cpus())], ..Spawn::default() };
    let (producer, consumer) = (shared.clone(), shared.clone());
    let started = simulation.spawn(on(0), move || puts(&producer)).is_ok()
        && simulation.spawn(on(1), move || takes(&consumer)).is_ok();
    let ended = started && simulation.run().is_ok();
    let all = u64::from((ROUNDS - WARM) * items);
    let price = OneItem { put: shared.puts.get() / all, take: shared.takes.get() / all };
    // The queue goes where it was made.
    simulation.outside(|| drop(shared));
    if ended { price } else { OneItem::default() }
}
