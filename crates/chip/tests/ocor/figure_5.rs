//! OCOR's figure 5 (Yao and Lu, section 3.3) on the simulated chip. A critical section takes two
//! units of time. A thread tries three times, with a unit between two tries. To prepare a sleep
//! takes four units, and so does a wake-up. At time 4 the lock becomes free, and two threads try to
//! take it: θ2 for the first time and θ3 for the last. If θ2 gets the lock, θ3 prepares to sleep,
//! and takes the lock at 8. If θ3 gets it, no thread prepares to sleep.
//!
//! The times of arrival are chosen here, because a part of the figure's prose is lost: θ1 holds the
//! lock from 2 to 4, θ3 comes at 2, and θ2 at 4. Homes execute the atomics. θ2 and θ3 are on both
//! sides of the lock's home, so their tries can meet in its router in one cycle, and the router's
//! arbiter decides.

use baton_chip::{Chip, LockLog, Options, Simulated, Simulation, Spawn, act};
use baton_machine::{Machine, Owned, Wait};
use baton_sync::lock::{RawLock, spin_park::SpinPark};
use baton_units::{CoreId, Cycles};
use std::rc::Rc;

/// A unit of the figure, in cycles.
const UNIT: u64 = 10_000;
/// The tile of the lock's home.
const HOME: u32 = 27;
/// The figure's time 0: a thread's first instruction comes after a wake-up of four units.
const START: u64 = 4 * UNIT;
/// The core of θ1, away from the lock's home.
const THETA_1: u32 = 63;

fn chip(marks: bool) -> Chip {
    let prices = ["os.futex_wait=40_000", "os.wake_idle=40_000", "os.wake_polling=40_000", "os.context_switch=0"];
    let cheap = ["os.futex_wait_changed=1", "os.futex_wake_none=1", "os.futex_wake=1", "os.futex_wake_more=1"];
    let rest =
        ["noise.start=0", "core.atomics=far", "wait.pause=9_970", "ocor.hint=0", "ocor.tries=3", "ocor.levels=3"];
    let enabled = format!("ocor.enabled={marks}");
    let all = prices.iter().chain(&cheap).chain(&rest).map(|s| (*s).to_owned()).chain([enabled]);
    let settings: Vec<String> = all.collect();
    Chip::from_toml_with(include_str!("../../../../chips/ocor64.toml"), "ocor64.toml", &settings).unwrap()
}

/// A lock alone in its line.
#[repr(align(128))]
struct Line(SpinPark<Simulated>);

/// Runs the figure's three threads. θ2 starts `later` cycles after a moment that is 20 cycles
/// before the figure's time 4. Returns what happened to the lock.
fn run(marks: bool, later: u64) -> LockLog {
    let options = Options { watch_locks: true, ..Options::default() };
    let mut simulation = Simulation::new(&chip(marks), &options).unwrap();
    let locks: Rc<Vec<Owned<Simulated, Line>>> =
        simulation.outside(|| Rc::new((0..64).map(|_| Owned::new(Line(SpinPark::new()))).collect()));
    let home = |lock: &Owned<Simulated, Line>| act::offset_of(&raw const **lock) / 128 % 64;
    let line = simulation.outside(|| locks.iter().position(|lock| home(lock) == u64::from(HOME)).unwrap());
    let come = [(THETA_1, 2 * UNIT - 500), (HOME - 1, 4 * UNIT - 20 + later), (HOME + 1, 2 * UNIT)];
    for (core, at) in come {
        let locks = locks.clone();
        let spawn = Spawn { affinity: vec![CoreId(core)], after: Cycles(at), ..Spawn::default() };
        simulation
            .spawn(spawn, move || {
                let lock = &locks[line].0;
                lock.lock(Wait::SpinPark(3));
                Simulated::work(Cycles(2 * UNIT - 60));
                // SAFETY: locked above.
                unsafe { lock.unlock((), Wait::SpinPark(3)) };
            })
            .unwrap();
    }
    simulation.run().unwrap();
    simulation.lock_log()
}

/// Which thread entered when, in order, in units of the figure. Each time is close to a whole
/// number of units; the difference is what the chip's accesses take.
fn entered(log: &LockLog) -> Vec<(u32, u64)> {
    let taken = log.changes.iter().filter(|change| change.from == 0);
    taken
        .map(|change| {
            let time = change.at.0 - START;
            let unit = (time + UNIT / 2) / UNIT;
            assert!(time.abs_diff(unit * UNIT) <= UNIT * 12 / 100, "{time} is not {unit} units");
            (change.thread + 1, unit)
        })
        .collect()
}

#[test]
fn figure_5() {
    // The order, as (thread, time), if θ2 gets the lock first: θ3 has used up its tries, prepares
    // its sleep from 4 on for four units, and finds at 8 that it was woken meanwhile.
    let slow = [(1, 2), (2, 4), (3, 8)];
    // The order if θ3 gets the lock first: θ2's second try is at 5, its third at 6.
    let fast = [(1, 2), (3, 4), (2, 6)];
    let (mut by_turn, mut by_tries) = (0, 0);
    // θ2 comes from a little before θ3's last try to a little after it. A thread that is clearly
    // first gets the lock with marks and without.
    for later in 0..24 {
        let original = entered(&run(false, later));
        let marked = entered(&run(true, later));
        for order in [&original, &marked] {
            assert!(order[..] == slow || order[..] == fast, "{order:?}");
        }
        assert!(original[..] == slow || marked[..] == fast, "marks never make θ3 later");
        by_turn += u32::from(original[..] == fast);
        by_tries += u32::from(marked[..] == fast);
    }
    assert!(by_turn > 0 && by_tries < 24, "{by_turn}, {by_tries}");
    assert!(by_tries > by_turn, "where both meet in the router, only the marks let θ3 go first");
}
