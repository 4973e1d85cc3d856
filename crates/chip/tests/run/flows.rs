//! Packets of flows through queues with flows, in the device and in memory. Each run checks its
//! packets, and has a limit.

use super::common::{QUEUE_DEVICE, cores};
use baton_chip::{Options, Simulated, Simulation, Spawn};
use baton_machine::Wait;
use baton_machine::units::Cycles;
use baton_sync::flow::device::DeviceFlows;
use baton_sync::flow::soft::Soft;
use baton_sync::flow::{FlowOrder, FlowQueue, Shape};
use baton_units::CoreId;
use baton_workloads::flows::FlowSettings;

fn settings(order: FlowOrder, workers: u32, flows: u32) -> FlowSettings {
    FlowSettings {
        producers: 2,
        workers,
        shape: Shape { order, capacity: 16, window: 8 },
        flows,
        zipf: 0.0,
        elephant: 0.0,
        think: Cycles(4000),
        spread: 0.0,
        gap: 0,
        packets: 60,
        seed: 1,
    }
}

/// Cycles of a packet.
fn a_packet<Q: FlowQueue<Simulated>>(settings: FlowSettings) -> f64 {
    let keys = ["device.qmd.entries=128"];
    let chip = cores(12, &[&QUEUE_DEVICE[..], &keys[..]].concat());
    let options = Options { limit: Some(Cycles(20_000_000)), ..Options::default() };
    let mut simulation = Simulation::new(&chip, &options).expect("the host has memory");
    let team = simulation.outside(|| settings.team::<Simulated, Q>(Wait::Pause)).expect("it can be made");
    for (core, body) in (0..).zip(team.bodies) {
        let spawn = Spawn { affinity: vec![CoreId(core)], ..Spawn::default() };
        simulation.spawn(spawn, body).expect("there is a core");
    }
    let outcome = simulation.run().expect("it ends");
    assert!(outcome.finished, "cut off");
    simulation.outside(team.verify).expect("each packet came, in its flow's order");
    outcome.cycles.0 as f64 / (settings.packets * u64::from(settings.producers)) as f64
}

fn every_order<Q: FlowQueue<Simulated>>() {
    for order in [FlowOrder::Parallel, FlowOrder::Atomic, FlowOrder::Ordered] {
        for (zipf, elephant) in [(0.0, 0.0), (1.2, 0.0), (0.0, 0.5)] {
            a_packet::<Q>(FlowSettings { zipf, elephant, think: Cycles(1000), packets: 40, ..settings(order, 5, 16) });
        }
    }
}

#[test]
fn packets_come_once_and_flows_in_order() {
    every_order::<DeviceFlows<Simulated>>();
    every_order::<Soft<Simulated>>();
}

/// One flow is no faster with many workers than with one.
#[test]
fn one_flow_is_one_worker() {
    let of = |workers| a_packet::<DeviceFlows<Simulated>>(settings(FlowOrder::Atomic, workers, 1));
    let (one, many) = (of(1), of(6));
    assert!(many >= 0.99 * one, "one worker {one}, six workers {many}");
}
