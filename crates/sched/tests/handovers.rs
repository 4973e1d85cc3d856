//! Which thread has the CPU after one thread has woken another. This decides how long convoys of
//! hand-overs to sleepers last.

mod common;

use baton_sched::{Affinity, AppId, Born, Cpu, Cpus, Decision, FULL_SPEED, Nice, Params, Scheduler, ThreadId};
use baton_units::{CoreId, CpuId, Cycles};
use common::PARAMS;

const HERE: CpuId = CpuId(0);
const A: ThreadId = ThreadId(0);
const B: ThreadId = ThreadId(1);

/// A CPU with two threads: from time 0, A runs and B waits.
struct One {
    policy: Box<dyn Scheduler>,
    out: Vec<Decision>,
}

impl One {
    fn new() -> One {
        let cpu = Cpu { core: CoreId(0), cluster: 0, socket: 0, kind: 0, speed: FULL_SPEED, fast: None };
        // The time slice is far longer than any thread runs in these tests.
        let params = Params { time_slice: Cycles(1_000_000), ..PARAMS };
        let policy = (baton_sched::find("eevdf").unwrap().make)(&Cpus(vec![cpu]), &params);
        let mut one = One { policy, out: vec![] };
        for id in [A, B] {
            let born =
                Born { app: AppId(0), affinity: Affinity::ALL, near: HERE, nice: Nice::new(0).unwrap(), speedup: None };
            one.policy.fork(Cycles(0), id, &born);
            one.wake(0, id);
            if id == A {
                one.gets_it(0, 0, A);
            }
        }
        one
    }

    /// Checks that the CPU picks this thread at time `picked`, and tells the policy that the switch
    /// ends at `runs`.
    fn gets_it(&mut self, picked: u64, runs: u64, id: ThreadId) {
        assert_eq!(self.policy.pick(Cycles(picked), HERE, &mut self.out), Some(id));
        self.policy.runs(Cycles(runs), HERE, &mut self.out);
    }

    fn sleeps(&mut self, now: u64, id: ThreadId) {
        self.policy.block(Cycles(now), id, &mut self.out);
    }

    /// Wakes a thread. Returns whether the running thread loses its CPU to it.
    fn wake(&mut self, now: u64, id: ThreadId) -> bool {
        self.out.clear();
        self.policy.waker(HERE);
        self.policy.wake(Cycles(now), id, &mut self.out);
        self.out.contains(&Decision::Preempt(HERE))
    }
}

/// The sleeper's debt is computed before the waker is charged for what it has run since the switch.
/// So a waker that is ahead by that amount loses its CPU, and is not in the lock's queue when the
/// woken thread releases the lock.
#[test]
fn a_waker_that_is_ahead_of_a_debtor_only_by_what_it_just_ran_loses_its_cpu() {
    let mut cpu = One::new();
    cpu.sleeps(500, A);
    cpu.gets_it(500, 500, B);
    assert!(!cpu.wake(600, A), "B has run 100, A 500");
    cpu.sleeps(1050, B);
    cpu.gets_it(1050, 1050, A);
    assert!(cpu.wake(1120, B), "A has run 570, B 550");
}

#[test]
fn a_waker_that_is_behind_keeps_its_cpu() {
    let mut cpu = One::new();
    cpu.sleeps(500, A);
    cpu.gets_it(500, 500, B);
    cpu.wake(600, A);
    cpu.sleeps(1050, B);
    cpu.gets_it(1050, 1050, A);
    assert!(!cpu.wake(1080, B), "A has run 530, B 550");
}

#[test]
fn a_switch_counts_as_run_time_of_the_thread_that_is_switched_to() {
    for (switch, loses) in [(0, false), (100, true)] {
        let mut cpu = One::new();
        cpu.sleeps(500, A);
        cpu.gets_it(500, 500 + switch, B);
        assert_eq!(cpu.wake(950 + switch, A), loses, "B has run {}, A 500", 450 + switch);
    }
}

/// A CPU that is switched off picks no thread when its own has left. When it is on again, the next
/// thread's run time counts from then.
#[test]
fn time_in_which_a_cpu_picked_no_thread_counts_for_none() {
    let mut cpu = One::new();
    cpu.sleeps(500, A);
    cpu.gets_it(10_000, 10_000, B);
    assert!(!cpu.wake(10_100, A), "B has run 100, A 500");
}
