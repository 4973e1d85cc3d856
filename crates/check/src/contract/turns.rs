//! Contracts of reader-writer locks whose holds can be tried, given up, upgraded and downgraded.

use super::mortal::Mortal;
use super::rwlock::Pair;
use crate::world::{Crowd, Scenario, World, share};
use baton_machine::units::Nanos;
use baton_machine::{Atomic, Clock, Deadline, Machine, Ordering, Wait};
use baton_sync::rwlock::{Hold, TurnsRwLock};

/// What a guest does with the lock.
#[derive(Clone, Copy, Debug)]
enum Part {
    Write,
    Read(Hold),
    /// Reads, then upgrades and writes.
    Upgrade,
    /// Writes, then goes on with the weaker hold and reads.
    Downgrade(Hold),
    /// Gives the right to upgrade up, and reads.
    Renounce,
}

const PARTS: [Part; 8] = [
    Part::Write,
    Part::Read(Hold::Shared),
    Part::Read(Hold::Recursive),
    Part::Read(Hold::Upgradable),
    Part::Upgrade,
    Part::Downgrade(Hold::Shared),
    Part::Downgrade(Hold::Upgradable),
    Part::Renounce,
];

impl Part {
    /// Number of times that the part increments the counts.
    fn writes(self) -> u64 {
        u64::from(matches!(self, Part::Write | Part::Upgrade | Part::Downgrade(_)))
    }
}

impl<M: Machine, L: TurnsRwLock<M>> Pair<M, L> {
    /// Releases a hold.
    ///
    /// # Safety
    /// The guest has the hold.
    unsafe fn let_go(&self, hold: Hold, wait: Wait) {
        // SAFETY: the caller promises that the guest has the hold.
        unsafe {
            match hold {
                Hold::Shared | Hold::Recursive => self.lock.unlock_shared(wait),
                Hold::Upgradable => self.lock.unlock_upgradable(wait),
                Hold::Exclusive => self.lock.unlock_exclusive(wait),
            }
        }
    }

    /// Does a part. Each wait gives up at the deadline. Returns the number of writes.
    fn play(&self, part: Part, wait: Wait, deadline: Option<Deadline>) -> u64 {
        let first = match part {
            Part::Write | Part::Downgrade(_) => Hold::Exclusive,
            Part::Read(hold) => hold,
            Part::Upgrade | Part::Renounce => Hold::Upgradable,
        };
        if !self.lock.lock(first, wait, deadline) {
            return 0;
        }
        // SAFETY: the guest has the hold `first`, and goes on with those that it changes it to; that
        // no other guest writes meanwhile is what is tested.
        unsafe {
            match part {
                Part::Write => self.increment(),
                Part::Read(_) => self.look(),
                Part::Upgrade => {
                    let seen = self.look();
                    if !self.lock.upgrade(wait, deadline) {
                        self.let_go(Hold::Upgradable, wait);
                        return 0;
                    }
                    assert_eq!(self.increment(), seen, "a write came before an upgrade");
                    self.let_go(Hold::Exclusive, wait);
                    return 1;
                }
                Part::Downgrade(to) => {
                    let seen = self.increment() + 1;
                    self.lock.downgrade(to, wait);
                    assert_eq!(self.look(), seen, "a write came after a downgrade");
                    self.let_go(to, wait);
                    return 1;
                }
                Part::Renounce => {
                    let seen = self.look();
                    self.lock.downgrade_upgradable(wait);
                    assert_eq!(self.look(), seen, "a write came after a downgrade");
                    self.let_go(Hold::Shared, wait);
                    return 0;
                }
            };
            self.let_go(first, wait);
        }
        part.writes()
    }
}

/// Returns a policy by which waiters sleep, if the world tests one.
fn sleeping<W: World>() -> Wait {
    *W::WAITS.iter().find(|wait| wait.parks()).unwrap_or(&W::WAITS[0])
}

/// Each kind of hold beside each kind that excludes it: no write is lost or seen halfway.
pub fn kinds<W: World, L: TurnsRwLock<W::M>>() {
    let wait = sleeping::<W>();
    for one in [Part::Write, Part::Upgrade, Part::Downgrade(Hold::Shared)] {
        for other in PARTS {
            W::sample(move || {
                let shared = share::<W::M, _>(Pair::<W::M, L>::new());
                let all = shared.clone();
                let guest = |i| {
                    let shared = shared.clone();
                    move || _ = shared.play([one, other][i], wait, None)
                };
                Scenario::new().guests(2, guest).finally(move || {
                    assert_eq!(all.total(), one.writes() + other.writes(), "writes lost");
                    assert!(!all.lock.is_held(false), "a hold was left");
                })
            });
        }
    }
}

/// A guest that tries for a hold of any kind beside a writer sees all that the writer wrote, if it
/// gets the hold.
pub fn tries<W: World, L: TurnsRwLock<W::M>>() {
    let wait = sleeping::<W>();
    for hold in [Hold::Shared, Hold::Recursive, Hold::Upgradable, Hold::Exclusive] {
        W::sample(move || {
            let shared = share::<W::M, _>((Pair::<W::M, L>::new(), <W::M as Machine>::Atomic::<u64>::new(0)));
            let (tries, writes, all) = (shared.clone(), shared.clone(), shared);
            let scenario = Scenario::new()
                .guest(move || {
                    let (pair, written) = &**tries;
                    if !pair.lock.try_lock(hold) {
                        return;
                    }
                    // SAFETY: the guest has the hold, and goes on with the one that it becomes.
                    unsafe {
                        pair.look();
                        if hold == Hold::Exclusive || hold == Hold::Upgradable && pair.lock.try_upgrade() {
                            pair.increment();
                            written.fetch_add(1, Ordering::Relaxed);
                            pair.let_go(Hold::Exclusive, wait);
                        } else {
                            pair.let_go(hold, wait);
                        }
                    }
                })
                .guest(move || _ = writes.0.write(wait));
            scenario.finally(move || {
                assert_eq!(all.0.total(), 1 + all.1.load(Ordering::Relaxed), "writes lost");
                assert!(all.0.lock.try_lock(Hold::Exclusive), "a hold was left");
            })
        });
    }
}

/// Guests of all kinds, some of which give up: they take no wake-up away, and leave the lock free.
pub fn giving_up<W: World, L: TurnsRwLock<W::M>>() {
    let (crowd, wait) = (W::few(), sleeping::<W>());
    for shift in 0..PARTS.len() {
        W::glance(move || leave_and_stay::<W, L>(crowd, wait, shift));
    }
}

fn leave_and_stay<W: World, L: TurnsRwLock<W::M>>(crowd: Crowd, wait: Wait, shift: usize) -> Scenario {
    let shared = share::<W::M, _>((Pair::<W::M, L>::new(), <W::M as Machine>::Atomic::<u64>::new(0)));
    let all = shared.clone();
    let guest = |i| {
        let shared = shared.clone();
        move || {
            let (pair, written) = &**shared;
            for round in 0..crowd.rounds {
                let part = PARTS[(i * 5 + round + shift) % PARTS.len()];
                let time = Nanos(W::SOON.0 * (round % 8) as u64 / 1_000);
                let deadline = Deadline { at: W::M::now(Clock::Monotonic) + time, clock: Clock::Monotonic };
                let writes = pair.play(part, wait, (i % 2 == 1).then_some(deadline));
                written.fetch_add(writes, Ordering::Relaxed);
            }
        }
    };
    Scenario::new().with_deadlines().guests(crowd.guests, guest).finally(move || {
        let (pair, written) = &**all;
        assert_eq!(pair.total(), written.load(Ordering::Relaxed), "writes lost");
        assert!(pair.lock.try_lock(Hold::Exclusive), "giving up has left a trace");
    })
}

/// While a writer waits for a reader, no newcomer reads, but the reader may read again.
pub fn newcomers_wait<W: World, L: TurnsRwLock<W::M>>() {
    for &wait in W::WAITS {
        W::skim(move || {
            let shared = share::<W::M, _>(Pair::<W::M, L>::new());
            assert!(shared.lock.try_lock(Hold::Shared), "a new lock is free");
            let (reader, writer, all) = (shared.clone(), shared.clone(), shared);
            let scenario = Scenario::new()
                .guest(move || {
                    let lock = &reader.lock;
                    // SAFETY: each hold that is released was taken just before, the last one above.
                    unsafe {
                        while lock.try_lock(Hold::Shared) {
                            lock.unlock_shared(wait);
                            W::M::relax();
                        }
                        assert!(!lock.try_lock(Hold::Upgradable), "a newcomer passed a waiting writer");
                        assert!(lock.lock(Hold::Recursive, wait, None) && !lock.is_held(true));
                        lock.unlock_shared(wait);
                        lock.unlock_shared(wait);
                    }
                })
                .guest(move || _ = writer.write(wait));
            scenario.finally(move || assert_eq!(all.total(), 1))
        });
    }
}

/// The last guest may free the lock's memory at once, while the previous one is still inside the
/// release of a hold of any kind.
pub fn freed_by_any<W: World, L: TurnsRwLock<W::M>>() {
    for &wait in W::WAITS {
        for first in [Hold::Shared, Hold::Upgradable, Hold::Exclusive] {
            W::run(move || {
                let pair = Mortal::<W::M, _>::new(Pair::<W::M, L>::new());
                let shared = share::<W::M, _>((pair, <W::M as Machine>::Atomic::<u32>::new(0)));
                let all = shared.clone();
                let guest = |i| {
                    let shared = shared.clone();
                    move || {
                        let (pair, entered) = &**shared;
                        let hold = if i == 0 { first } else { Hold::Exclusive };
                        // SAFETY: the last guest to have been inside frees the lock, so it is alive
                        // until this guest is in. A release must not touch the lock afterwards,
                        // which is what is tested. Each guest releases the hold that it has taken.
                        let before = unsafe {
                            let pair = pair.alive();
                            assert!(pair.lock.lock(hold, wait, None));
                            let before = entered.fetch_add(1, Ordering::Relaxed);
                            pair.let_go(hold, wait);
                            before
                        };
                        if before == 1 {
                            // SAFETY: both guests have been inside, so no guest needs the lock any
                            // more, and this happens once.
                            unsafe { pair.free() };
                        }
                    }
                };
                Scenario::new().guests(2, guest).finally(move || drop(all))
            });
        }
    }
}
