//! A lock of one's own: written once, then checked, simulated and run. `docs/tutorials/write-a-lock.md` makes this file.
//!
//! `cargo run --release -p baton-chip --example own_lock -- check` (or `simulate`, or `run`); in the tutorial it is `mine`.

use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, Wait, WaitResult};
use baton_sync::lock::{LockInfo, RawLock, ticket::Ticket};

/// Slots that waiters are spread over.
const SLOTS: u32 = 4;

/// A number alone in its pair of cache lines.
#[repr(align(128))]
struct Line<M: Machine>(M::Atomic<u32>);

/// Partitioned ticket lock (Dice, SPAA 2011): threads take numbers, and neighbouring numbers watch different lines.
struct Partitioned<M: Machine> {
    next: Line<M>,
    holder: Line<M>,
    serving: [Line<M>; SLOTS as usize],
}

impl<M: Machine> Partitioned<M> {
    /// A free lock that serves `number` next.
    fn from(number: u32) -> Self {
        let line = || Line(M::Atomic::new(number));
        Partitioned { next: line(), holder: line(), serving: [line(), line(), line(), line()] }
    }

    /// The slot in which the owner of `number` is served.
    fn slot(&self, number: u32) -> &M::Atomic<u32> {
        &self.serving[(number % SLOTS) as usize].0
    }
}

// SAFETY: each number is given out once, and only its owner enters when its slot shows it. A slot is read with Acquire
// and written with Release. Fewer than 2^32 threads wait, so no number is in use twice.
unsafe impl<M: Machine> RawLock<M> for Partitioned<M> {
    type Token = ();
    const INFO: LockInfo = LockInfo {
        name: "partitioned",
        what: "a ticket lock whose waiters watch four lines in turn",
        source: "Dice, SPAA 2011",
        limits: "a preempted waiter holds up those behind it; 768 bytes",
        try_lock: false,
        ..<Ticket<M> as RawLock<M>>::INFO
    };

    fn new() -> Self {
        Self::from(0)
    }

    fn aged() -> Self {
        Self::from(u32::MAX)
    }

    fn lock(&self, wait: Wait) {
        // Relaxed: the number orders nothing; the slot does.
        let mine = self.next.0.fetch_add(1, Relaxed);
        let slot = self.slot(mine);
        // Acquire: see the last holder's writes.
        let mut served = slot.load(Acquire);
        while served != mine {
            match M::wait_while(slot, served, wait, None) {
                WaitResult::Changed(now) => served = now,
                WaitResult::Expired => unreachable!("no deadline was given"),
            }
        }
        // Relaxed: only the holder reads and writes it.
        self.holder.0.store(mine, Relaxed);
    }

    unsafe fn unlock(&self, (): (), wait: Wait) {
        let next = self.holder.0.load(Relaxed).wrapping_add(1);
        let slot = self.slot(next);
        let address: *const M::Atomic<u32> = slot;
        // Release: the next holder sees our writes. It may free the lock, so only the address is used from here on.
        slot.store(next, Release);
        M::wake::<u32>(address, u32::MAX, wait);
    }
}

/// Every schedule and every ordering that the checkers can explore.
fn check() {
    use baton_check::contract::lock;
    use baton_check::world::{Loom, Shuttle, World};

    fn contracts<W: World>(checker: &str) {
        lock::exclusion::<W, Partitioned<W::M>>();
        lock::long_life::<W, Partitioned<W::M>>();
        lock::nesting::<W, Partitioned<W::M>>();
        lock::freed_by_the_last::<W, Partitioned<W::M>>();
        println!("{checker} found nothing");
    }
    contracts::<Shuttle>("shuttle");
    contracts::<Loom>("loom");
}

/// Cycles an acquisition takes where 16 threads want one lock all the time, on 16 cores of a mesh.
fn simulate() -> Result<(), Box<dyn std::error::Error>> {
    use baton_chip::{Chip, Options, Simulated, Simulation, Spawn};
    use baton_machine::{Owned, units::Cycles};
    use baton_sync::lock::mcs::Mcs;
    use std::rc::Rc;

    fn cycles<L: RawLock<Simulated>>(chip: &Chip) -> Result<u64, Box<dyn std::error::Error>> {
        let mut simulation = Simulation::new(chip, &Options::default())?;
        let lock = simulation.outside(|| Rc::new(Owned::<Simulated, L>::new(L::new())));
        for _ in 0..16 {
            let lock = lock.clone();
            simulation.spawn(Spawn::default(), move || {
                for _ in 0..50 {
                    let token = lock.lock(Wait::Spin);
                    Simulated::work(Cycles(50));
                    // SAFETY: locked above, with the same policy.
                    unsafe { lock.unlock(token, Wait::Spin) };
                }
            })?;
        }
        Ok(simulation.run()?.cycles.0 / (16 * 50))
    }

    let text = include_str!("../../../chips/ocor64.toml");
    let chip = Chip::from_toml_at(text, "ocor64.toml", Some(16), &[])?;
    println!("ticket {}", cycles::<Ticket<Simulated>>(&chip)?);
    println!("partitioned {}", cycles::<Partitioned<Simulated>>(&chip)?);
    println!("mcs {}", cycles::<Mcs<Simulated>>(&chip)?);
    Ok(())
}

/// Four threads of this machine count under the lock.
fn run() {
    use baton_machine::Native;
    use std::sync::atomic::AtomicU64;

    let wait = Wait::SpinPark(128);
    let (lock, count) = (Partitioned::<Native>::new(), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10_000 {
                    lock.lock(wait);
                    // A load and a store: without the lock, counts would be lost.
                    count.store(count.load(Relaxed) + 1, Relaxed);
                    // SAFETY: locked above, with the same policy.
                    unsafe { lock.unlock((), wait) };
                }
            });
        }
    });
    println!("counted {} of 40000", count.into_inner());
}

/// Does what is asked for.
pub(crate) fn with(asked: Option<&str>) -> Result<(), Box<dyn std::error::Error>> {
    match asked {
        Some("check") => check(),
        Some("simulate") => simulate()?,
        Some("run") => run(),
        _ => return Err("expected `check`, `simulate` or `run`".into()),
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    with(std::env::args().nth(1).as_deref())
}
