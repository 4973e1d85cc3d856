//! Signal handlers that take locks while their threads wait for locks, hold them, or are in the
//! middle of a lock's code.

use super::signals::{chip, on, stacks_sum};
use crate::common::simulation;
use baton_chip::act::{Action, Signal};
use baton_chip::{Chip, Options, Outcome, Simulated, Simulation, Spawn, act};
use baton_machine::{Machine, Owned, Wait, units::Cycles};
use baton_sync::lock::one_spinner_paper::OneSpinnerPaper;
use baton_sync::lock::{LOCKS, LockVisitor, RawLock, ZeroInit, visit};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

/// A lock, and a record of the threads inside.
struct Guarded<L> {
    lock: Owned<Simulated, L>,
    /// The number of threads that are inside now, the most that ever were, and which threads
    /// entered, in order.
    seen: RefCell<(u32, u32, Vec<u32>)>,
}

impl<L: RawLock<Simulated> + ZeroInit> Guarded<L> {
    fn new() -> Self {
        Guarded { lock: Owned::new(L::new()), seen: RefCell::default() }
    }

    fn enter(&self, wait: Wait, section: u64) {
        let token = self.lock.lock(wait);
        {
            let mut seen = self.seen.borrow_mut();
            seen.0 += 1;
            seen.1 = seen.1.max(seen.0);
            seen.2.push(act::this().expect("a guest").number());
        }
        Simulated::work(Cycles(section));
        self.seen.borrow_mut().0 -= 1;
        // SAFETY: locked above, with the same policy.
        unsafe { self.lock.unlock(token, wait) };
    }
}

/// Thread 1 holds a lock, and 2 and 3 wait for it, in this order. With `signals`, thread 2 gets a
/// signal meanwhile, whose handler takes another lock. Returns the order in which threads entered,
/// and the most that were inside at once.
fn queued<L: RawLock<Simulated> + ZeroInit>(wait: Wait, signals: bool) -> (Vec<u32>, u32) {
    let mut simulation = simulation(&chip(4, &[]));
    let locks = simulation.outside(|| Rc::new([Guarded::<L>::new(), Guarded::<L>::new()]));
    let (all, of_handler) = (locks.clone(), locks.clone());
    let body = move || {
        act::on_signal(Signal::USR1, Action::handle(move |_| of_handler[1].enter(wait, 100))).unwrap();
        let guests = [1, 2, 3].map(|number| {
            let locks = locks.clone();
            let after = Cycles(u64::from(number) * 10_000);
            act::spawn(Spawn { after, ..on(number) }, move || locks[0].enter(wait, 200_000))
        });
        act::delay(Cycles(80_000));
        if signals {
            assert!(act::signal(guests[1], Signal::USR1));
        }
        guests.into_iter().for_each(act::join);
        let handled = locks[1].seen.borrow().2.clone();
        assert_eq!(handled, if signals { vec![guests[1].number()] } else { vec![] });
    };
    simulation.spawn(on(0), body).unwrap();
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
    stacks_sum(&outcome);
    let seen = all[0].seen.borrow().clone();
    simulation.outside(|| drop(all));
    (seen.2, seen.1)
}

struct Queued(Wait);

impl LockVisitor<Simulated> for Queued {
    type Out = (Vec<u32>, u32);

    fn visit<L: RawLock<Simulated> + ZeroInit>(self) -> Self::Out {
        queued::<L>(self.0, true)
    }
}

#[test]
fn a_handler_takes_a_lock_while_its_thread_waits_for_one() {
    let mut shown = 0;
    for info in LOCKS {
        for wait in [Wait::Pause, Wait::Futex].into_iter().filter(|&wait| info.wait(Some(wait)).is_ok()) {
            let (mut order, most) = visit(info.name, Queued(wait)).unwrap();
            assert_eq!(most, 1, "{} by {wait}: sections lie apart", info.name);
            if !info.fifo {
                order.sort_unstable();
            }
            assert_eq!(order, [1, 2, 3], "{} by {wait}", info.name);
            shown += 1;
        }
    }
    assert!(shown >= LOCKS.len());
}

#[test]
fn in_the_papers_form_of_1spinner_a_handler_lets_the_one_behind_in() {
    type Paper = OneSpinnerPaper<Simulated>;
    for wait in [Wait::Pause, Wait::Spin] {
        assert_eq!(queued::<Paper>(wait, false), (vec![1, 2, 3], 1), "without a signal it is a lock");
        let (order, most) = queued::<Paper>(wait, true);
        assert!(most > 1, "the last one enters beside the holder");
        assert_eq!(order[..2], [1, 3], "and before the one in front of it");
    }
}

/// A random run.
#[derive(Clone, Debug)]
struct Draw {
    chip: Chip,
    wait: Wait,
    threads: usize,
    rounds: u64,
    signals: Vec<(usize, u64)>,
    seed: u64,
}

struct Random(Draw);

/// Entries into both locks, and the outcome.
type Ran = (Vec<u32>, Vec<u32>, Outcome);

impl LockVisitor<Simulated> for Random {
    type Out = Ran;

    fn visit<L: RawLock<Simulated> + ZeroInit>(self) -> Ran {
        let Draw { chip, wait, threads, rounds, signals, seed } = self.0;
        let options = Options { seed, limit: Some(Cycles(200_000_000)), ..Options::default() };
        let mut simulation = Simulation::new(&chip, &options).unwrap();
        let locks = simulation.outside(|| Rc::new([Guarded::<L>::new(), Guarded::<L>::new()]));
        let (all, of_handler) = (locks.clone(), locks.clone());
        let body = move || {
            act::on_signal(Signal::USR1, Action::handle(move |_| of_handler[1].enter(wait, 300))).unwrap();
            let guests: Vec<_> = (0..threads)
                .map(|thread| {
                    let locks = locks.clone();
                    act::spawn(Spawn::default(), move || {
                        for round in 0..rounds {
                            locks[0].enter(wait, 100 + 37 * thread as u64);
                            Simulated::work(Cycles(round * 13 % 500));
                        }
                    })
                })
                .collect();
            for (thread, after) in signals {
                Simulated::work(Cycles(after));
                act::signal(guests[thread % threads], Signal::USR1);
            }
            guests.into_iter().for_each(act::join);
        };
        simulation.spawn(Spawn::default(), body).unwrap();
        let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
        assert!(outcome.finished, "it ends long before");
        stacks_sum(&outcome);
        let [first, second] = [0, 1].map(|which| all[which].seen.borrow().clone());
        assert_eq!((first.0, first.1, second.0), (0, 1, 0), "sections lie apart");
        assert!(second.1 <= 1);
        simulation.outside(|| drop(all));
        (first.2, second.2, outcome)
    }
}

proptest! {
    #![proptest_config(baton_needs::property!(48))]

    /// More or fewer threads than CPUs take a lock and get signals at any moment, in any step of
    /// the lock's code; handlers take another lock. No thread is lost, no two sections overlap, and
    /// the run is the same each time.
    #[test]
    fn signals_at_any_moment(
        which in 0..LOCKS.len(), waits in 0usize..4, cpus in 1u32..4, threads in 2usize..6, rounds in 1u64..12,
        signals in prop::collection::vec((0usize..6, 1u64..9_000), 1..12), memory in any::<bool>(), slice in 3_000u64..30_000,
        seed in 0u64..1000,
    ) {
        let info = &LOCKS[which];
        let wait = [Wait::Pause, Wait::Futex, Wait::SpinPark(20), Wait::Umwait][waits];
        let wait = info.wait(Some(wait)).or_else(|_| info.wait(None)).expect("it waits somehow");
        let slice = format!("os.time_slice={slice}");
        let futex = if memory { "os.futex_home=bucket" } else { "os.futex_wait=3000" };
        let draw = Draw { chip: chip(cpus, &[&slice, futex]), wait, threads, rounds, signals: signals.clone(), seed };
        let once = || visit(info.name, Random(draw.clone())).expect("it is in the registry");
        let (entered, handled, outcome) = once();
        for thread in 1..=threads as u32 {
            prop_assert_eq!(entered.iter().filter(|&&number| number == thread).count() as u64, rounds);
        }
        prop_assert!(handled.len() <= signals.len());
        prop_assert_eq!((entered, handled, outcome), once());
    }
}
