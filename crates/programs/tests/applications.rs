//! The workloads with packets, jobs and vectors on the real machine: each compares its result with
//! a plain run itself. (`crates/chip/tests/run/packets.rs` has them on a simulated chip, with a
//! queue device.)
#![expect(clippy::disallowed_methods, reason = "the workload runs on the native machine")]

use baton_machine::units::Cycles;
use baton_machine::{Native, Wait};
use baton_programs::packets::{Flow, Rules, SUSPICIOUS_PORT, Traffic, clusters, firewall};
use baton_programs::regression::{self, Data};
use baton_programs::{distributor, tasks};
use baton_sync::queue::{RawQueue, mpmc::Mpmc, ring::Ring, spsc::Spsc};
use baton_workloads::work::Measured;
use baton_workloads::{Dispatch, Reduction, Refused, Work};
use std::fmt::Debug;
use std::sync::{Arc, mpsc};
use std::time::Duration;

type R = Ring<Native, u64>;
type S = Spsc<Native, u64>;

/// More threads than this machine may have processors: those that wait sleep.
const WAIT: Wait = Wait::Futex;

fn run<T: Measured + Clone + Send + Debug + 'static>(work: Result<Work<T>, Refused>) -> T {
    let (team, kept) = work.unwrap().into_team();
    let (ended, ends) = mpsc::channel();
    let threads = team.bodies.len();
    for body in team.bodies {
        let ended = ended.clone();
        std::thread::spawn(move || {
            body();
            ended.send(()).unwrap();
        });
    }
    // A thread that waits for ever, or panics, fails the test.
    (0..threads).for_each(|_| ends.recv_timeout(Duration::from_secs(60)).expect("every thread ends within a minute"));
    assert_eq!((team.verify)(), Ok(()));
    assert!((team.figures)().iter().all(|figure| figure.value.is_finite()));
    kept.take().unwrap()
}

fn flow(bulk: usize) -> Flow {
    Flow { packets: 203, bulk, capacity: 16, ..Flow::default() }
}

const TRAFFIC: Traffic = Traffic::Made { seed: 5, suspicious: 8 };

fn clusters<Q: RawQueue<Native, Item = u64>>(stages: &[u32], bulk: usize) -> clusters::Outcome {
    let settings =
        clusters::ClusterSettings { flow: flow(bulk), stages: stages.to_vec(), ..clusters::ClusterSettings::default() };
    run(settings.work::<Native, Q>(&TRAFFIC, WAIT))
}

#[test]
fn packets_pass_through_clusters() {
    for bulk in [1, 8] {
        let digest = |stages: &[u32]| [clusters::<R>(stages, bulk).digest, clusters::<S>(stages, bulk).digest];
        let digests = [digest(&[1, 2, 2, 1]), digest(&[2, 3, 1, 2])];
        assert!(digests.as_flattened().iter().all(|one| *one == digests[0][0]), "{digests:?}");
        // A pipeline with one stage less marks each packet once less, so its digest differs.
        assert_ne!(digest(&[2, 3])[0], digests[0][0]);
    }
}

fn firewall<Q: RawQueue<Native, Item = u64>>(bulk: usize, filters: u32) -> firewall::Outcome {
    let input = firewall::Input { traffic: TRAFFIC, rules: Arc::new(Rules::usual()) };
    run(firewall::FirewallSettings { flow: flow(bulk), filters }.work::<Native, Q>(&input, WAIT))
}

#[test]
fn a_firewall_drops_what_is_suspicious() {
    for bulk in [1, 8] {
        let all = [firewall::<R>(bulk, 4), firewall::<S>(bulk, 2), firewall::<Mpmc<Native, u64>>(bulk, 1)];
        for outcome in &all {
            assert_eq!(outcome.allowed + outcome.inspected, 203);
            assert_eq!((&outcome.hits[..], outcome.denied), (&[outcome.inspected, outcome.allowed, 0][..], 0));
            // An eighth of 203 packets, 25, is expected to be inspected; 4 standard deviations are
            // 19.
            assert!((6..45).contains(&outcome.inspected), "{SUSPICIOUS_PORT}: {outcome:?}");
            assert_eq!((outcome.digest, outcome.bytes), (all[0].digest, all[0].bytes));
        }
    }
}

#[test]
fn every_job_is_done_once() {
    for dispatch in [Dispatch::Slots, Dispatch::Shared, Dispatch::Dealt] {
        let settings = distributor::DistributorSettings {
            jobs: 301,
            think: Cycles(50),
            spread: 0.5,
            dispatch,
            ..Default::default()
        };
        let outcome = run(settings.work::<Native, R>(WAIT));
        assert_eq!(outcome.by_worker.iter().sum::<u64>(), 301, "{dispatch:?}");
        if dispatch == Dispatch::Dealt {
            assert_eq!(outcome.by_worker, [76, 75, 75, 75]);
        }
    }
    let shared = distributor::DistributorSettings { dispatch: Dispatch::Shared, ..Default::default() };
    let refused = shared.work::<Native, S>(WAIT).err().unwrap().to_string();
    assert_eq!(refused, "queue `spsc` is for one consumer, and 4 workers share it");
}

#[test]
fn every_task_is_done_once() {
    for dispatch in [Dispatch::Steal, Dispatch::Shared] {
        for (workers, tasks, capacity) in [(1, 1, 1), (1, 500, 64), (4, 3, 2), (4, 3000, 2), (4, 3000, 64)] {
            let settings = tasks::TaskProgramSettings { workers, tasks, capacity, dispatch, ..Default::default() };
            let outcome = run(settings.work::<Native, R>(WAIT));
            assert_eq!(outcome.by_worker.iter().sum::<u64>(), u64::from(tasks), "{dispatch:?}");
        }
    }
    let refused = |settings: tasks::TaskProgramSettings| settings.work::<Native, S>(WAIT).err().unwrap().to_string();
    let shared = tasks::TaskProgramSettings { dispatch: Dispatch::Shared, ..Default::default() };
    assert_eq!(refused(shared), "queue `spsc` is for one thread on a side, and 4 workers share it");
    let slots = tasks::TaskProgramSettings { dispatch: Dispatch::Slots, ..Default::default() };
    assert_eq!(refused(slots), "workers of tasks are given none by `slots`; expected steal, shared or balanced");
    let odd = tasks::TaskProgramSettings { capacity: 3, ..Default::default() };
    assert!(refused(odd).contains("capacity of 3"), "{}", refused(odd));
    assert!(refused(tasks::TaskProgramSettings { tasks: 0, ..Default::default() }).contains("0 tasks"));
    let stolen = distributor::DistributorSettings { dispatch: Dispatch::Steal, ..Default::default() };
    assert!(stolen.work::<Native, R>(WAIT).err().unwrap().to_string().contains("expected slots"));
}

#[test]
fn workers_learn_what_one_thread_learns() {
    let data = Arc::new(Data::made(1));
    for workers in [1, 3] {
        let settings = regression::RegressionSettings { workers, iterations: 40, ..Default::default() };
        let outcomes = [run(settings.work::<Native, R>(&data, WAIT)), run(settings.work::<Native, S>(&data, WAIT))];
        assert_eq!(outcomes[0].weights, outcomes[1].weights);
        assert!(outcomes[0].loss.1 < 0.6 * outcomes[0].loss.0 && outcomes[0].accuracy > 0.8, "{:?}", outcomes[0]);
    }
}

#[test]
fn without_a_device_its_forms_are_refused() {
    let none = "the machine has no queue device; a chip has one with device.kind = \"qmd\", as caf16";
    let balanced = distributor::DistributorSettings { dispatch: Dispatch::Balanced, ..Default::default() };
    assert_eq!(balanced.work::<Native, R>(WAIT).err().unwrap().to_string(), none);
    let balanced = tasks::TaskProgramSettings { dispatch: Dispatch::Balanced, ..Default::default() };
    assert_eq!(balanced.work::<Native, R>(WAIT).err().unwrap().to_string(), none);
    let reduced = regression::RegressionSettings { reduction: Reduction::Device, ..Default::default() };
    assert_eq!(reduced.work::<Native, R>(&Arc::new(Data::made(1)), WAIT).err().unwrap().to_string(), none);
}

/// Verifies a team whose threads never ran.
fn cut_short<T: Measured + Clone + Send + 'static>(work: Result<Work<T>, Refused>) -> Result<(), String> {
    (work.unwrap().into_team().0.verify)()
}

#[test]
fn a_run_that_computed_nothing_is_noticed() {
    let input = firewall::Input { traffic: TRAFFIC, rules: Arc::new(Rules::usual()) };
    let wrong = [
        cut_short(clusters::ClusterSettings::default().work::<Native, R>(&TRAFFIC, WAIT)),
        cut_short(firewall::FirewallSettings::default().work::<Native, R>(&input, WAIT)),
        cut_short(distributor::DistributorSettings::default().work::<Native, R>(WAIT)),
        cut_short(tasks::TaskProgramSettings::default().work::<Native, R>(WAIT)),
        cut_short(regression::RegressionSettings::default().work::<Native, R>(&Arc::new(Data::made(1)), WAIT)),
    ];
    assert!(wrong.iter().all(Result::is_err), "{wrong:?}");
}
