//! The workloads with packets, jobs and vectors on CAF's chip: results are right whatever queue
//! carries the items, the device gets its queues back, and the same run comes out the same.

use baton_chip::{Chip, Options, Outcome, Simulated, Simulation, Spawn};
use baton_machine::Wait;
use baton_machine::units::{CpuId, Cycles};
use baton_programs::distributor;
use baton_programs::packets::{Flow, Rules, Traffic, clusters, firewall};
use baton_programs::regression::{self, Data};
use baton_sync::flow::device::DeviceFlows;
use baton_sync::flow::soft::Soft;
use baton_sync::flow::{FlowOrder, FlowQueue, Shape};
use baton_sync::queue::{RawQueue, mpmc::Mpmc, qmd::Qmd, ring::Ring, spsc::Spsc};
use baton_workloads::flows::FlowShares;
use baton_workloads::work::Measured;
use baton_workloads::{Dispatch, Prepush, Reduction, Refused, Work};
use std::sync::Arc;

type R = Ring<Simulated, u64>;
type S = Spsc<Simulated, u64>;
type P = Mpmc<Simulated, u64>;
type D = Qmd<Simulated, u64>;

fn chip(settings: &[&str]) -> Chip {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    Chip::from_toml_at(include_str!("../../../../chips/caf16.toml"), "caf16.toml", None, &settings).unwrap()
}

/// Runs a team, thread n on CPU n. Returns the workload's result and the outcome of the run.
fn run_on<T: Measured + Clone + Send + 'static>(
    chip: &Chip,
    make: impl FnOnce() -> Result<Work<T>, Refused>,
) -> (T, Outcome) {
    // A run that would not end is cut off, and fails.
    let options = Options { limit: Some(Cycles(20_000_000)), heap_bytes: 16 << 20, threads: 16, ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).unwrap();
    let (team, kept) = simulation.outside(|| make().unwrap().into_team());
    for (cpu, body) in (0..).zip(team.bodies) {
        simulation.spawn(Spawn { cpus: vec![CpuId(cpu)], ..Spawn::default() }, body).unwrap();
    }
    let outcome = simulation.run().unwrap();
    assert!(outcome.finished && outcome.refused.is_empty());
    assert_eq!(simulation.outside(team.verify), Ok(()));
    // The workload has released what it had of the device: one queue can have all entries.
    let whole = simulation.outside(|| D::with_capacity(2048).map(drop));
    assert_eq!(whole, Ok(()));
    (kept.take().unwrap(), outcome)
}

fn run<T: Measured + Clone + Send + 'static>(make: impl FnOnce() -> Result<Work<T>, Refused>) -> (T, Outcome) {
    run_on(&chip(&[]), make)
}

/// The device's count with this name.
fn count(outcome: &Outcome, name: &str) -> u64 {
    let counts = outcome.devices.iter().flat_map(|device| &device.counts);
    counts.filter(|(known, _)| *known == name).map(|(_, count)| count).sum()
}

const TRAFFIC: Traffic = Traffic::Made { seed: 3, suspicious: 8 };
const PACKETS: u64 = 150;

fn flow(bulk: usize, prepush: Prepush) -> Flow {
    Flow { packets: PACKETS, bulk, prepush, ..Flow::default() }
}

fn firewall<Q: RawQueue<Simulated, Item = u64>>(flow: Flow) -> (firewall::Outcome, Outcome) {
    let input = firewall::Input { traffic: TRAFFIC, rules: Arc::new(Rules::usual()) };
    let settings = firewall::FirewallSettings { flow, ..firewall::FirewallSettings::default() };
    run(|| settings.work::<Simulated, Q>(&input, Wait::Pause))
}

#[test]
fn a_firewall_comes_to_the_same_at_every_queue() {
    for bulk in [1, 8] {
        let flow = flow(bulk, Prepush::None);
        let all = [firewall::<R>(flow).0, firewall::<P>(flow).0, firewall::<S>(flow).0, firewall::<D>(flow).0];
        assert!(all[0].allowed > 100 && all[0].inspected > 5 && all[0].nanoseconds > 0, "{:?}", all[0]);
        for other in &all {
            assert_eq!(firewall::Outcome { nanoseconds: all[0].nanoseconds, ..other.clone() }, all[0]);
        }
    }
}

fn on_flows<Q: RawQueue<Simulated, Item = u64>, F: FlowQueue<Simulated>>(kind: FlowOrder) -> firewall::Outcome {
    let shares = Arc::new(FlowShares::new(32, 0.9, 0.0).unwrap());
    let traffic = Traffic::OfFlows { seed: 3, suspicious: 4, shares };
    let input = firewall::Input { traffic, rules: Arc::new(Rules::usual()) };
    let filters = if kind == FlowOrder::Directed { 1 } else { 4 };
    let settings = firewall::FirewallSettings { flow: flow(1, Prepush::Shared), filters };
    let shape = Shape { order: kind, capacity: 64, window: 8 };
    run(|| settings.on_flows::<Simulated, Q, F>(&input, shape, Wait::Pause)).0
}

/// The runs check the order of flows, and an atomic queue's table.
#[test]
fn a_firewall_on_flows_decides_alike_whatever_the_queue_promises() {
    use FlowOrder::{Atomic, Directed, Ordered, Parallel};
    let all: Vec<_> = [Directed, Parallel, Atomic, Ordered]
        .into_iter()
        .flat_map(|kind| [on_flows::<P, Soft<_>>(kind), on_flows::<D, DeviceFlows<_>>(kind)])
        .collect();
    assert!(all[0].allowed > 50 && all[0].inspected > 5 && all[0].late == Some(0), "{:?}", all[0]);
    for other in &all {
        let (late, nanoseconds) = (all[0].late, all[0].nanoseconds);
        assert_eq!(firewall::Outcome { late, nanoseconds, ..other.clone() }, all[0]);
    }
}

#[test]
fn packets_and_their_buffers_go_through_the_device() {
    let (_, outcome) = firewall::<D>(flow(8, Prepush::None));
    // The pool is filled with 256 buffers. Then each packet is enqueued three times: to a filter,
    // to the sink or the analyser, and, as a free buffer, to the pool. Each of 4 filters fills up
    // its last bulk on both ways, with up to 8 items.
    let (least, most) = (256 + 3 * PACKETS + 8, 256 + 3 * PACKETS + 8 * 8);
    assert!((least..=most).contains(&count(&outcome, "enqueued")), "{}", count(&outcome, "enqueued"));
    assert_eq!(count(&outcome, "enqueued") - count(&outcome, "dequeued"), 256);
    assert_eq!((count(&outcome, "refused"), count(&outcome, "dropped")), (0, 0));
}

#[test]
fn pushed_headers_are_nearer_to_those_who_take_them() {
    let lines = |prepush| {
        let outcome = firewall::<D>(flow(8, prepush)).1;
        // Threads 5 and 6 are the analyser and the sink.
        (outcome.memory.transfers, outcome.memory.shared_hits, outcome.cores[5].misses + outcome.cores[6].misses)
    };
    let [none, shared, consumer] = [Prepush::None, Prepush::Shared, Prepush::Consumer].map(lines);
    assert!(shared.0 < none.0 && shared.1 > none.1, "{none:?} {shared:?}");
    assert!(consumer.2 < shared.2, "{shared:?} {consumer:?}");
}

fn clusters<Q: RawQueue<Simulated, Item = u64>>(stages: &[u32], bulk: usize) -> (clusters::Outcome, Outcome) {
    let flow = flow(bulk, Prepush::Shared);
    let settings = clusters::ClusterSettings { flow, stages: stages.to_vec(), think: Cycles(40), spread: 0.5 };
    run(|| settings.work::<Simulated, Q>(&TRAFFIC, Wait::Pause))
}

#[test]
fn clusters_pass_every_packet_on() {
    for stages in [&[1, 1][..], &[2, 2], &[1, 4, 4, 1], &[2, 3, 2]] {
        for bulk in [1, 5] {
            let all = [clusters::<R>(stages, bulk).0, clusters::<S>(stages, bulk).0, clusters::<D>(stages, bulk).0];
            assert_eq!((all[0].packets, all[0].digest), (PACKETS, all[1].digest));
            assert_eq!(all[0].digest, all[2].digest);
        }
    }
}

#[test]
fn the_same_run_is_the_same() {
    let of = || {
        let (result, outcome) = clusters::<D>(&[1, 4, 4, 1], 4);
        (result, outcome.cycles, outcome.events, outcome.memory)
    };
    assert_eq!(of(), of());
}

fn jobs_of_flows<F: FlowQueue<Simulated>>(order: FlowOrder, flows: u32) -> (distributor::Outcome, Outcome) {
    let shares = Arc::new(FlowShares::new(flows, 0.0, 0.0).unwrap());
    let traffic = Traffic::OfFlows { seed: 5, suspicious: 0, shares };
    let settings = distributor::DistributorSettings { jobs: 200, think: Cycles(2000), ..Default::default() };
    let shape = Shape { order, capacity: 64, window: 16 };
    run(|| settings.on_flows::<Simulated, F>(&traffic, shape, Wait::Pause))
}

/// The runs check that each job is done once, and an atomic queue's order.
#[test]
fn jobs_of_one_flow_are_one_workers_at_a_time() {
    fn cycles<F: FlowQueue<Simulated>>(order: FlowOrder, flows: u32) -> u64 {
        let (done, outcome) = jobs_of_flows::<F>(order, flows);
        assert_eq!(done.by_worker.iter().sum::<u64>(), 200);
        outcome.cycles.0
    }
    fn queue<F: FlowQueue<Simulated>>() {
        let [many, one] = [64, 1].map(|flows| cycles::<F>(FlowOrder::Atomic, flows));
        let parallel = cycles::<F>(FlowOrder::Parallel, 1);
        assert!(one >= 200 * 2000, "two workers had the flow: {one} cycles");
        assert!(2 * many < one && 2 * parallel < one, "{many} {parallel} {one}");
    }
    queue::<Soft<Simulated>>();
    queue::<DeviceFlows<Simulated>>();
}

fn jobs(dispatch: Dispatch, think: u64, spread: f64) -> (distributor::Outcome, Outcome) {
    let settings =
        distributor::DistributorSettings { jobs: 200, think: Cycles(think), spread, dispatch, ..Default::default() };
    run(|| settings.work::<Simulated, R>(Wait::Pause))
}

#[test]
fn every_way_of_handing_out_jobs_does_them_all() {
    for dispatch in [Dispatch::Slots, Dispatch::Shared, Dispatch::Dealt, Dispatch::Balanced] {
        for think in [0, 500] {
            let (outcome, whole) = jobs(dispatch, think, 0.9);
            assert_eq!(outcome.by_worker.iter().sum::<u64>(), 200);
            // If jobs take no time, the first worker at a queue may do them all.
            assert!(think == 0 || outcome.by_worker.iter().all(|jobs| *jobs > 10), "{dispatch:?}: {outcome:?}");
            let enqueued = if dispatch == Dispatch::Balanced { 204 } else { 0 };
            assert_eq!((count(&whole, "enqueued"), count(&whole, "dequeued")), (enqueued, enqueued));
        }
    }
}

#[test]
fn vectors_that_the_device_adds_are_those_that_a_thread_adds() {
    let data = Arc::new(Data::made(1));
    for workers in [1, 4, 7] {
        let learn = |reduction| {
            let settings =
                regression::RegressionSettings { workers, rows: 3, iterations: 12, reduction, ..Default::default() };
            let (result, outcome) = run(|| settings.work::<Simulated, R>(&data, Wait::Pause));
            (result, count(&outcome, "reduced"))
        };
        let ((master, none), (device, reduced)) = (learn(Reduction::Master), learn(Reduction::Device));
        assert_eq!((none, reduced), (0, 12 * 13));
        assert_eq!(master.weights, device.weights);
        assert!(device.loss.1 < 0.9 * device.loss.0, "{:?}", device.loss);
    }
}

#[test]
fn a_device_without_room_is_told() {
    let mut simulation = Simulation::new(&chip(&[]), &Options::default()).unwrap();
    let wide = regression::RegressionSettings { workers: 16, reduction: Reduction::Device, ..Default::default() };
    let flow = Flow { capacity: 4096, ..Flow::default() };
    let large = firewall::FirewallSettings { flow, ..Default::default() };
    let input = firewall::Input { traffic: TRAFFIC, rules: Arc::new(Rules::usual()) };
    let refused = simulation.outside(|| {
        [
            wide.work::<Simulated, R>(&Arc::new(Data::made(1)), Wait::Pause).err().unwrap().to_string(),
            large.work::<Simulated, D>(&input, Wait::Pause).err().unwrap().to_string(),
        ]
    });
    assert!(
        refused[0].starts_with("no queue device of the machine has room for 32 queues of 16 items: "),
        "{refused:?}"
    );
    assert!(refused[1].contains("room for another queue of 4096 items; fewer or smaller queues"), "{refused:?}");
    // 16 workers need twice as many queues as the paper's device has.
    let chip = chip(&["device.qmd.queues=32"]);
    let settings = regression::RegressionSettings { iterations: 3, ..wide };
    run_on(&chip, || settings.work::<Simulated, R>(&Arc::new(Data::made(1)), Wait::Pause));
}
