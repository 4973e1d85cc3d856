//! Any closure over `Machine` on any chip: here two locks' hand-off on 16 cores of the OCOR chip, in a few lines.
//!
//! `cargo run --release -p baton-chip --example closure`

use baton_chip::{Chip, Options, Simulated, Simulation, Spawn};
use baton_machine::{Machine, Owned, Wait, units::Cycles};
use baton_sync::lock::{RawLock, mcs::Mcs, tas::Tas};
use std::{path::Path, rc::Rc};

type Failed = Box<dyn std::error::Error>;

/// Cycles that 16 threads take for 100 short critical sections each.
fn cycles<L: RawLock<Simulated> + 'static>(chip: &Chip) -> Result<u64, Failed> {
    let mut simulation = Simulation::new(chip, &Options::default())?;
    let lock = simulation.outside(|| Rc::new(Owned::<Simulated, L>::new(L::new())));
    for _ in 0..16 {
        let lock = lock.clone();
        simulation.spawn(Spawn::default(), move || {
            for _ in 0..100 {
                let token = lock.lock(Wait::Spin);
                Simulated::work(Cycles(50));
                // SAFETY: locked above, with the same policy.
                unsafe { lock.unlock(token, Wait::Spin) };
            }
        })?;
    }
    Ok(simulation.run()?.cycles.0)
}

fn main() -> Result<(), Failed> {
    let chip = Chip::open_with(Path::new("chips/ocor64.toml"), Some(16), &[])?;
    println!("tas {} cycles, mcs {} cycles", cycles::<Tas<Simulated>>(&chip)?, cycles::<Mcs<Simulated>>(&chip)?);
    Ok(())
}
