//! Experiments, loads and seeds as runs, each on the chip of its arm.

use super::apps;
use super::cases::{self, DEVICES, OnMesh};
use super::experiments::{self, BULK, ITEMS, PACKETS, Setting};
use super::loads::{ARMS, CAF, Load, Moves, QMD, RING};
use super::mesh::Mesh;
use super::pairs::{Pairs, Push};
use super::placement;
use super::run::{Queue, Run, Work};
use super::weights::Weights;
use crate::kit::{ChipFile, Plan};
use crate::{Extent, Frozen};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The study of CAF: the chips it runs on, and what is frozen.
pub struct Caf {
    /// The chip of most loads, and that of several devices.
    pub(super) chips: [ChipFile; 2],
    pub(super) frozen: Frozen,
}

/// The queue of an arm. With one thread a side, the ring has its mode for one thread, unless the
/// setting asks for the mode for many.
fn queue(arm: usize, moves: Moves, setting: &Setting) -> Queue {
    let alone = matches!(moves, Moves::Dequeue(1) | Moves::Enqueue(1) | Moves::Pairs(1, _));
    match arm {
        RING if let Some(model) = setting.model => Queue::Model(model, setting.wait),
        RING if alone && !setting.many => Queue::Memory("ring-single", setting.wait),
        RING => Queue::Memory("ring", setting.wait),
        QMD | CAF => Queue::Device(setting.waits),
        _ if alone => Queue::Memory("spsc", setting.wait),
        _ => Queue::Memory("mpmc", setting.wait),
    }
}

fn work(arm: usize, load: &Load, setting: &Setting, seed: u64) -> Work {
    let queue = queue(arm, load.moves, setting);
    let ahead = if [QMD, CAF].contains(&arm) { setting.ahead(load.moves) } else { 0 };
    let pure = |dequeues, threads| Work::Pure { queue, dequeues, threads, bulk: BULK, items: ITEMS, ahead, seed };
    match load.moves {
        Moves::Dequeue(threads) => pure(true, threads),
        Moves::Enqueue(threads) => pure(false, threads),
        Moves::Pairs(pairs, bulk) => {
            let packets = PACKETS * u64::from(pairs);
            let Setting { pool, blocks, work, prefetch, pace, .. } = *setting;
            let push = if arm == CAF { setting.push } else { Push::Never };
            let pairs = Pairs { pairs, bulk, packets, pool, blocks, work, prefetch, push, pace, ahead, seed };
            Work::Pairs { queue, pairs }
        }
    }
}

impl Caf {
    /// Experiments on loads.
    pub(super) fn plan(&self, extent: Extent) -> Plan<'static, Setting, Load> {
        Plan::new(experiments::all(), experiments::loads(), &ARMS, extent)
    }

    /// The runs of experiments on loads.
    pub(super) fn on_loads(&self, extent: Extent) -> Vec<(String, Result<Run, String>)> {
        let plan = self.plan(extent);
        // A chip depends on its keys alone, so that loads, arms and seeds share it.
        let chips = RefCell::new(BTreeMap::new());
        let chip = |keys: Vec<String>| -> Result<String, String> {
            let made = |keys: &Vec<String>| self.chips[0].with(None, keys);
            chips.borrow_mut().entry(keys).or_insert_with_key(made).clone()
        };
        plan.runs(|case, experiment, load| {
            let mut keys = experiment.setting.keys.clone();
            let device = [QMD, CAF].contains(&case.arm);
            if !device {
                // Queues in memory make no use of the device, so its keys do not change their runs.
                keys.retain(|key| !key.starts_with("device."));
            }
            if device && !matches!(load.moves, Moves::Pairs(..)) && !keys.iter().any(|key| key.contains("qmd.entries"))
            {
                // The device's queue has room for all items at once.
                keys.push(format!("device.qmd.entries={ITEMS}"));
            }
            let work = work(case.arm, load, &experiment.setting, 1 + case.again);
            Ok(Run { chip: chip(keys)?, window: experiment.setting.window, work })
        })
    }

    /// Runs on the mesh.
    pub(super) fn on_mesh(&self, extent: Extent) -> Vec<(String, Result<Run, String>)> {
        let run = |case: OnMesh, chip: &Result<String, String>, places: &[u32]| {
            let chip = chip.clone()?;
            let mesh = Mesh { places: places.to_vec(), load: case.load, requests: case.requests, seed: case.seed };
            Ok(Run { chip, window: None, work: Work::Mesh(mesh) })
        };
        let chip = |devices: u32| {
            let places = placement::places(devices);
            let nodes: Vec<String> = places.iter().map(u32::to_string).collect();
            // In an open loop no limit may hold requests back, and every core needs a queue.
            let keys = [
                format!("device.count={devices}"),
                format!("device.placement={}", nodes.join(" ")),
                "device.outstanding=1024".to_owned(),
                "core.store_buffer=1024".to_owned(),
                "core.store_queue=1024".to_owned(),
                "device.qmd.depth=1024".to_owned(),
                "device.qmd.entries=16384".to_owned(),
                "device.qmd.queues=64".to_owned(),
            ];
            (self.chips[1].with(None, &keys), places)
        };
        let chips: BTreeMap<u32, _> = DEVICES.into_iter().map(|devices| (devices, chip(devices))).collect();
        let name = |case: &OnMesh| format!("{} devices, {:?}, seed {}", case.devices, case.load, case.seed);
        let all = cases::on_mesh(extent == Extent::Full);
        let all = all.into_iter().map(|case| {
            let (chip, places) = &chips[&case.devices];
            (name(&case), run(case, chip, places))
        });
        all.collect()
    }

    /// Runs of the applications.
    pub(super) fn applications(&self, extent: Extent) -> Vec<(String, Result<Run, String>)> {
        let all = cases::applications(extent == Extent::Full);
        let mut chips = BTreeMap::new();
        let run = |case: apps::Case| {
            let made = |keys: &Vec<String>| self.chips[0].with(None, keys);
            let chip = chips.entry(case.keys()).or_insert_with_key(made).clone()?;
            Ok(Run { chip, window: case.window, work: Work::App(case) })
        };
        let names: Vec<String> = all.iter().map(|case| format!("{case:?}")).collect();
        names.into_iter().zip(all.into_iter().map(run)).collect()
    }

    /// Runs with credits.
    pub(super) fn with_weights(&self, extent: Extent) -> Vec<(String, Result<Run, String>)> {
        let chip = self.chips[0].with(None, &[]);
        let run = |of: Weights| Ok(Run { chip: chip.clone()?, window: None, work: Work::Weights(of) });
        let name = |of: &Weights| format!("weights {:?}, credits {}, seed {}", of.weights, of.credits, of.seed);
        let all = cases::weights(extent == Extent::Full);
        all.into_iter().map(|of| (name(&of), run(of))).collect()
    }
}
