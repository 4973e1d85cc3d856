//! Runs one simulation, of a team's threads or of bodies on cores of their own, and checks the
//! result.

use baton_chip::{Chip, Options, Outcome, Simulation, Spawn};
use baton_units::CoreId;
use baton_workloads::Team;

/// Runs the team that `make` makes until its last thread has ended, and checks the result that the
/// team computed.
///
/// # Errors
/// The reason why there is no outcome: invalid options, a run that hangs, or a wrong result.
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

pub type Body = Box<dyn FnOnce()>;

/// Threads that run on cores of their own.
pub struct Crew {
    /// The core and the body of each thread.
    pub bodies: Vec<(u32, Body)>,
    /// Checks the results of the threads after all of them have ended. The closure also keeps alive
    /// until then what the threads share.
    pub check: Box<dyn FnOnce() -> Result<(), String>>,
}

/// The way in which a run ended.
pub enum Ended {
    /// Every thread has ended.
    Whole(Box<Outcome>),
    /// Threads wait for each other forever; the text is the simulator's report about them.
    Locked(String),
}

/// Runs a crew until its last thread has ended, and checks the result that the crew computed.
/// `options` bound the run, so that no fault of a program makes the run last forever.
///
/// # Errors
/// The reason why there is no outcome: invalid options, a run that reaches its bound, or a wrong
/// result.
pub fn on_cores(chip: &Chip, options: &Options, make: impl FnOnce() -> Result<Crew, String>) -> Result<Ended, String> {
    let mut simulation = Simulation::new(chip, options).map_err(|error| error.to_string())?;
    let Crew { bodies, check } = simulation.outside(make)?;
    for (core, body) in bodies {
        let spawn = Spawn { affinity: vec![CoreId(core)], ..Spawn::default() };
        simulation.spawn(spawn, body).map_err(|error| error.to_string())?;
    }
    let outcome = match simulation.run() {
        Ok(outcome) => outcome,
        Err(stuck) => {
            simulation.outside(|| drop(check));
            return Ok(Ended::Locked(stuck.to_string()));
        }
    };
    if !outcome.finished {
        simulation.outside(|| drop(check));
        return Err("the run came to its bound".to_owned());
    }
    simulation.outside(check)?;
    Ok(Ended::Whole(Box::new(outcome)))
}
