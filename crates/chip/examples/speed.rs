//! How fast the engine is: 64 threads, each on a core of its own, contend for one MCS lock. Prints guest events and
//! host time. `scripts/chip-instructions.sh` counts its instructions.

use baton_chip::{Chip, Options, Simulated, Simulation, Spawn};
use baton_machine::{Machine, Owned, Wait, units::Cycles};
use baton_sync::lock::RawLock;
use baton_sync::lock::mcs::Mcs;
use std::rc::Rc;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().map_or(Ok(default), |text| text.parse::<u64>());
    let (threads, iterations) = (number(64)?, number(2000)?);
    let settings = [format!("core.count={threads}"), format!("core.per_cluster={threads}")];
    let sample = include_str!("../../../chips/sample-host.toml");
    let chip = Chip::from_toml_with(sample, "sample-host.toml", &settings)?;
    let mut simulation = Simulation::new(&chip, &Options::default())?;
    let lock = simulation.outside(|| Rc::new(Owned::<Simulated, Mcs<Simulated>>::new(Mcs::new())));
    for _ in 0..threads {
        let lock = lock.clone();
        simulation.spawn(Spawn::default(), move || {
            for _ in 0..iterations {
                let token = lock.lock(Wait::Pause);
                Simulated::work(Cycles(100));
                // SAFETY: locked just above, with the same policy.
                unsafe { lock.unlock(token, Wait::Pause) };
                Simulated::work(Cycles(1000));
            }
        })?;
    }
    let start = Instant::now();
    let outcome = simulation.run()?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} cycles, {} acquisitions, {} guest operations, {} events, {:.3} s, {:.1} M operations/s, {:.1} M events/s",
        outcome.cycles.0,
        threads * iterations,
        outcome.guest_operations,
        outcome.events,
        seconds,
        outcome.guest_operations as f64 / seconds / 1e6,
        outcome.events as f64 / seconds / 1e6,
    );
    Ok(())
}
