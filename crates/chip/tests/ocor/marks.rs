//! OCOR's hardware on the chip: which packets are marked, what the marks change, and what they must
//! not change.

use crate::common::Cell;
use baton_chip::{Chip, LockLog, Options, Outcome, Simulated, Simulation, Spawn, act};
use baton_machine::Ordering::{Acquire, Relaxed, Release, SeqCst};
use baton_machine::{Atomic, LockHint, Machine, Owned, Section, Wait, WaitResult};
use baton_sync::lock::{RawLock, spin_park::SpinPark};
use baton_units::{CoreId, Cycles};
use std::rc::Rc;

const FILE: &str = include_str!("../../../../chips/ocor64.toml");
const ATOMICS: [&str; 3] = ["near", "far", "llsc"];

fn chip(settings: &[&str]) -> Chip {
    let mut all = vec!["noise.start=0".to_owned()];
    all.extend(settings.iter().map(|setting| (*setting).to_owned()));
    Chip::from_toml_with(FILE, "ocor64.toml", &all).expect("the file and the settings are right")
}

fn simulation(chip: &Chip) -> Simulation {
    Simulation::new(chip, &Options { watch_locks: true, ..Options::default() }).expect("the host has memory")
}

/// A cell alone in its line.
#[repr(align(128))]
struct Line(Cell<u32>);

fn cells(simulation: &mut Simulation, n: usize) -> Rc<Vec<Owned<Simulated, Line>>> {
    simulation.outside(|| Rc::new((0..n).map(|_| Owned::new(Line(Atomic::new(0)))).collect()))
}

fn on(core: u32, after: u64) -> Spawn {
    Spawn { affinity: vec![CoreId(core)], after: Cycles(after), ..Spawn::default() }
}

/// One guest does `f` on eight lines. Returns the number of lock packets.
fn lock_packets(atomics: &str, f: impl Fn(&[Owned<Simulated, Line>]) + 'static) -> u64 {
    let chip = chip(&[&format!("core.atomics={atomics}"), "ocor.enabled=true"]);
    let mut simulation = simulation(&chip);
    let lines = cells(&mut simulation, 8);
    simulation.spawn(on(63, 0), move || f(&lines)).unwrap();
    simulation.run().unwrap().network.lock_packets
}

#[test]
fn one_instruction_takes_a_hint() {
    let hint = || Simulated::hint(LockHint { retries_left: 5, progress: 0 });
    for atomics in ATOMICS {
        let none = lock_packets(atomics, |lines| {
            for line in lines {
                line.0.fetch_add(1, Relaxed);
            }
        });
        assert_eq!(none, 0, "{atomics}: no hint, no mark");
        // A load or a store between hint and atomic does not take the hint, and a second atomic
        // after the first one has no mark.
        let one = lock_packets(atomics, move |lines| {
            hint();
            lines[0].0.load(Relaxed);
            lines[1].0.store(1, Release);
            let _ = lines[2].0.compare_exchange(0, 1, Acquire, Relaxed);
            lines[3].0.fetch_add(1, Relaxed);
            lines[4].0.load(Relaxed);
            let _ = lines[5].0.compare_exchange(0, 1, Acquire, Relaxed);
        });
        // With `llsc`, the marked atomic is a load-linked that misses and a store-conditional that
        // upgrades: two requests.
        assert!(one == 1 || (atomics == "llsc" && one <= 2 && one != 0), "{atomics}: {one}");
        // A compare-exchange that fails without writing has used its hint up as well.
        let failing = lock_packets(atomics, move |lines| {
            hint();
            let _ = lines[2].0.compare_exchange(7, 1, Acquire, Relaxed);
            lines[3].0.fetch_add(1, Relaxed);
        });
        assert_eq!(failing, 1, "{atomics}");
    }
}

/// Threads on every fourth core contend for a `spin-park` lock of eight tries.
fn contend(settings: &[&str], threads: u32, wait: Wait) -> (Outcome, LockLog) {
    let chip = chip(settings);
    let mut simulation = simulation(&chip);
    let lock = simulation.outside(|| Rc::new(Owned::<Simulated, SpinPark<Simulated>>::new(SpinPark::new())));
    let data = cells(&mut simulation, 4);
    for thread in 0..threads {
        let (lock, data) = (lock.clone(), data.clone());
        simulation
            .spawn(on(thread * 4 % 64, u64::from(thread)), move || {
                for _ in 0..ROUNDS {
                    Simulated::work(Cycles(300 + u64::from(thread) * 7));
                    act::wait_begins();
                    lock.lock(wait);
                    act::wait_ends();
                    Simulated::work(Cycles(40));
                    for line in data.iter() {
                        line.0.store(thread, Relaxed);
                    }
                    // SAFETY: locked above.
                    unsafe { lock.unlock((), wait) };
                }
            })
            .unwrap();
    }
    let outcome = simulation.run().unwrap();
    let log = simulation.lock_log();
    (outcome, log)
}

/// Acquisitions a thread.
const ROUNDS: u32 = 3;
const TRIES: Wait = Wait::SpinPark(8);

#[test]
fn marks_change_what_contends_and_nothing_else() {
    for atomics in ATOMICS {
        let atomics = format!("core.atomics={atomics}");
        let free = "ocor.hint=0";
        let run = |on: &str, more: &str, threads| contend(&[&atomics, on, free, more], threads, TRIES).0;
        let (off, on) = ("ocor.enabled=false", "ocor.enabled=true");
        let routers = "network.contention=routers";
        assert_ne!(run(off, routers, 8), run(on, routers, 8), "{atomics}: the marks arrive");
        // Where routers have no contention, a mark has nothing to precede: exactly nothing changes.
        let none = "network.contention=none";
        assert_eq!(run(off, none, 8).cycles, run(on, none, 8).cycles, "{atomics}");
        assert_eq!(run(off, routers, 1).cycles, run(on, routers, 1).cycles, "{atomics}: one thread");
        // A hint costs `ocor.hint` cycles.
        let priced = contend(&[&atomics, on, "ocor.hint=30", routers], 1, TRIES).0;
        assert!(priced.cycles > run(on, routers, 1).cycles);
        // If no router heeds the marks, a hint still has its price, and the network is as without
        // marks.
        let unheeded = |price: &str| contend(&[&atomics, on, price, "ocor.heeded=false", routers], 8, TRIES).0.cycles;
        assert_eq!(unheeded(free), run(off, routers, 8).cycles, "{atomics}");
        assert_ne!(unheeded("ocor.hint=30"), run(off, routers, 8).cycles, "{atomics}");
        // OCOR's arbiter without marks is round robin.
        let arbiter = run(off, "network.arbiter=ocor", 8);
        assert_eq!(arbiter.cycles, run(off, routers, 8).cycles, "{atomics}");
    }
}

#[test]
fn a_far_atomic_takes_effect_in_the_order_of_the_home() {
    // The line is the one whose home is nearest to core 1. A request of core 63 can reach the home
    // first although its answer is back last.
    let chip = chip(&["core.atomics=far"]);
    let time = |core: u32, line: usize| {
        let mut simulation = simulation(&chip);
        let lines = cells(&mut simulation, 64);
        simulation.spawn(on(core, 0), move || lines[line].0.store(1, SeqCst)).unwrap();
        simulation.run().unwrap().cycles.0
    };
    // The first access goes to memory, so the times of two cores differ by their ways to the home
    // and back.
    let line = (0..64).min_by_key(|&line| time(1, line)).unwrap();
    let (near, far) = (time(1, line), time(63, line));
    assert!(far > near + 40, "{near} and {far}");
    let half = (far - near) / 2;
    let winner = |later: u64| {
        let mut simulation = simulation(&chip);
        let lines = cells(&mut simulation, 64);
        let warm = lines.clone();
        simulation.spawn(on(63, 0), move || warm[line].0.store(0, SeqCst)).unwrap();
        // Both atomics come long after the first access, for which core 63 had to wake up.
        for (core, after) in [(63, 100_000), (1, 100_000 + later)] {
            let lines = lines.clone();
            simulation
                .spawn(on(core, after), move || {
                    let _ = lines[line].0.compare_exchange(0, core, Acquire, Relaxed);
                })
                .unwrap();
        }
        simulation.run().unwrap();
        simulation.outside(|| lines[line].0.load(Relaxed))
    };
    // Core 1's request reaches the home a little before core 63's, then a little after it. Core 1's
    // answer is back first both times, but the request that came first wins.
    assert_eq!((winner(half - 6), winner(half + 6)), (1, 63));
}

#[test]
fn waits_are_tiled_and_the_word_tells_who_held_it() {
    for atomics in ATOMICS {
        let (_, log) = contend(&[&format!("core.atomics={atomics}")], 8, TRIES);
        let mut holder = None;
        let mut taken = 0;
        for change in &log.changes {
            match (change.from, change.to) {
                (0, _) => {
                    assert_eq!(holder.replace(change.thread), None, "{atomics}");
                    taken += 1;
                }
                (_, 0) => assert_eq!(holder.take(), Some(change.thread), "{atomics}"),
                // A waiter writes into the word that it will sleep.
                _ => assert_ne!(holder, Some(change.thread), "{atomics}"),
            }
        }
        assert_eq!((holder, taken), (None, 8 * ROUNDS), "{atomics}");
        for stretches in &log.waits {
            assert!(stretches.iter().all(|s| s.from < s.to));
            assert!(stretches.windows(2).all(|pair| pair[0].to <= pair[1].from));
            for s in stretches {
                let parts: u64 = s.parts.iter().map(|&part| u64::from(part)).sum();
                assert!(parts <= s.to.0 - s.from.0, "{s:?}");
            }
        }
    }
}

/// A thread on core 0, whose lock has given a hint, wakes a sleeper on core 63. Returns the number
/// of marked packets, of locks and wake-ups.
fn wake_up_packets(ipi: &str, marked: &str) -> u64 {
    let chip = chip(&["ocor.enabled=true", ipi, &format!("ocor.wake_up={marked}")]);
    let mut simulation = simulation(&chip);
    // The cell's line has its home at node 20, where neither thread is.
    let lines = cells(&mut simulation, 64);
    let at = (0..64).find(|&line| (&raw const *lines[line]).addr() / 128 % 64 == 20).unwrap();
    let sleepers = lines.clone();
    simulation
        .spawn(
            on(63, 0),
            move || while Simulated::wait_while(&sleepers[at].0, 0, Wait::Futex, None) == WaitResult::Expired {},
        )
        .unwrap();
    simulation
        .spawn(on(0, 100_000), move || {
            Simulated::hint(LockHint { retries_left: 5, progress: 0 });
            lines[at].0.fetch_add(1, SeqCst);
            Simulated::wake::<u32>(&raw const lines[at].0, 1, Wait::Futex);
        })
        .unwrap();
    simulation.run().unwrap().network.lock_packets
}

#[test]
fn a_home_s_wake_up_is_two_messages_and_either_can_be_marked() {
    let by = |marked| ["os.ipi=price", "os.ipi=packet", "os.ipi=home"].map(|ipi| wake_up_packets(ipi, marked));
    let none = by("none");
    assert_eq!(none, [none[0]; 3], "marks are counted, not packets");
    let more = |marked| {
        let counts = by(marked);
        [0, 1, 2].map(|ipi| counts[ipi] - none[ipi])
    };
    // Marked requests of the unlocker: those to the bucket, and the wake-up if it goes by way of
    // the home.
    let [bucket, same, unlocker] = more("unlocker");
    assert!(bucket != 0 && same == bucket && unlocker == bucket + 1, "{bucket}, {same}, {unlocker}");
    // The message that comes to the sleeper is marked; a wake-up at a price has no message.
    assert_eq!(more("home"), [0, 1, 1]);
    assert_eq!(more("both"), [bucket, bucket + 1, bucket + 2]);
}

/// A thread takes a lock, reads two lines and writes two that no core has, and releases the lock;
/// then it reads and writes another line each. Returns the number of marked requests, and the
/// longest way of a marked packet.
fn section_under(rule: &str) -> (u64, u64) {
    let rule = format!("ocor.rule={rule}");
    let chip = chip(&["core.atomics=far", "ocor.enabled=true", &rule]);
    let mut simulation = simulation(&chip);
    let lines = cells(&mut simulation, 7 * 64);
    let first = simulation.outside(|| act::offset_of(&raw const *lines[0])) / 128;
    simulation
        .spawn(on(63, 0), move || {
            // All lines have their home in the corner opposite the thread's core.
            let far = |n: usize| (0..lines.len()).filter(|&at| (first + at as u64).is_multiple_of(64)).nth(n).unwrap();
            let lock = &lines[far(0)].0;
            Simulated::hint(LockHint { retries_left: 5, progress: 0 });
            let _ = lock.compare_exchange(0, 1, Acquire, Relaxed);
            Simulated::section(Section::Entered);
            for n in 1..3 {
                lines[far(n)].0.load(Relaxed);
                lines[far(n + 2)].0.store(1, Relaxed);
            }
            Simulated::hint(LockHint { retries_left: 0, progress: 0 });
            lock.swap(0, Release);
            Simulated::section(Section::Left);
            lines[far(5)].0.load(Relaxed);
            lines[far(6)].0.store(1, Relaxed);
        })
        .unwrap();
    let network = simulation.run().unwrap().network;
    (network.lock_packets, network.longest_marked)
}

#[test]
fn rules_say_whose_packets_go_first() {
    let (paper, way) = section_under("paper");
    let (oldest, _) = section_under("oldest-first");
    // `release-first` marks one request more than the paper's rule, the release.
    let (release, answers) = section_under("release-first");
    let (holder, data) = section_under("holder-first");
    assert_eq!((oldest, release), (paper, paper + 1));
    assert_eq!(holder, release + 4, "two loads and two stores of the section, and none behind it");
    // The answer to a release is one flit, like its request; a line for a lock's holder is eight
    // flits.
    assert!(answers == way && data >= way + 7, "{way}, {answers}, {data}");
}
