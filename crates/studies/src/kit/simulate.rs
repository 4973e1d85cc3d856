//! One simulated run of a team: its threads on a chip, its result checked.

use baton_chip::{Chip, Options, Outcome, Simulation, Spawn};
use baton_workloads::Team;

/// Runs the team that `make` makes, until its last thread has ended, and checks what it computed.
///
/// # Errors
/// With why there is no outcome: options that cannot be, a run that hangs, or a wrong result.
pub fn simulate(
    chip: &Chip,
    options: &Options,
    make: impl FnOnce() -> Result<Team, String>,
) -> Result<(Simulation, Outcome), String> {
    let mut simulation = Simulation::new(chip, options).map_err(|error| error.to_string())?;
    let team = simulation.outside(make)?;
    for body in team.bodies {
        simulation.spawn(Spawn::default(), body).map_err(|error| error.to_string())?;
    }
    let outcome = simulation.run().map_err(|stuck| stuck.to_string())?;
    simulation.outside(team.verify)?;
    Ok((simulation, outcome))
}
