//! One convoy, on the machine and on the chip, from the same workload.

use super::{Asked, BEFORE, CRITICAL, STALL};
use anyhow::Context;
use baton_chip::{Chip, Instructions, Options, Simulated, Simulation, Spawn};
use baton_machine::discover::stay_on;
use baton_machine::{Machine, Native};
use baton_sync::lock::visit;
use baton_units::{CoreId, Cycles, Nanos};
use baton_workloads::Team;
use baton_workloads::convoy::{Convoy, Holds, Lasted, Make};

/// The workload, on a machine that computes for `cycles` cycles in a nanosecond.
fn team<M: Machine>(asked: Asked, cycles: f64) -> anyhow::Result<(Team, Holds)> {
    let cycles = |ns: u64| Cycles((ns as f64 * cycles) as u64);
    let convoy = Convoy {
        threads: asked.threads,
        critical: cycles(CRITICAL),
        think: cycles(asked.think_ns),
        stall: Nanos(STALL),
        before: BEFORE,
        after: asked.after,
    };
    visit::<M, _>(asked.lock.name, Make(convoy, asked.wait)).map_err(anyhow::Error::msg)
}

/// Runs the convoy on these CPUs, where a cycle of `Native::work` takes `turn_ns` nanoseconds.
pub(super) fn native(asked: Asked, cpus: &[u32], turn_ns: f64) -> anyhow::Result<Lasted> {
    let (team, holds) = team::<Native>(asked, 1.0 / turn_ns)?;
    std::thread::scope(|s| {
        let threads: Vec<_> = team
            .bodies
            .into_iter()
            .map(|body| {
                s.spawn(move || {
                    stay_on(cpus)?;
                    body();
                    std::io::Result::Ok(())
                })
            })
            .collect();
        let ends = threads.into_iter().map(|thread| thread.join().expect("the workload does not panic"));
        ends.collect::<std::io::Result<Vec<()>>>()
    })
    .context("cannot keep a thread on its CPUs")?;
    (team.verify)().map_err(anyhow::Error::msg)?;
    Ok(holds.lasted())
}

/// Runs the convoy on the first cores of the chip.
pub(super) fn simulated(asked: Asked, chip: &Chip, seed: u64) -> anyhow::Result<Lasted> {
    let options = Options { seed, instructions: Instructions::of(asked.lock.counted), ..Options::default() };
    let mut simulation = Simulation::new(chip, &options)?;
    let cycles = chip.core.clock.0 as f64 / 1e9;
    let (team, holds) = simulation.outside(|| team::<Simulated>(asked, cycles))?;
    let cores: Vec<CoreId> = (0..asked.cpus).map(CoreId).collect();
    for body in team.bodies {
        simulation.spawn(Spawn { affinity: cores.clone(), ..Spawn::default() }, body)?;
    }
    simulation.run()?;
    simulation.outside(team.verify).map_err(anyhow::Error::msg)?;
    Ok(holds.lasted())
}
