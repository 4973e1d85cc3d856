//! What runs: a draw of a profile.

use super::run::Run;
use baton_chip::Simulated;
use baton_machine::Wait;
use baton_sync::lock::RawLock;
use baton_workloads::profile::{self, Class, Draw, Profile};
use baton_workloads::{Probe, Team};
use serde::{Serialize, Serializer};
use std::num::NonZeroU32;

/// A draw of a profile: a stand-in for one of the paper's programs.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The profile's name.
    pub name: String,
    /// Which of its draws.
    pub number: usize,
    /// The draw.
    pub draw: Draw,
    /// The paper prints a high rate of critical sections.
    pub high_cs_rate: bool,
    /// The paper prints a high utilisation of the network.
    pub high_network: bool,
}

impl Serialize for Program {
    /// What its runs depend on: every parameter of the draw, and nothing of what is printed.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{:?}", self.draw))
    }
}

impl Program {
    /// The draws of a profile.
    pub fn of(profile: &Profile) -> Vec<Program> {
        let all = profile.draws.iter().enumerate();
        let program = |(number, draw): (usize, &Draw)| Program {
            name: profile.name.clone(),
            number,
            draw: *draw,
            high_cs_rate: profile.printed.cs_rate == Class::High,
            high_network: profile.printed.network == Class::High,
        };
        all.map(program).collect()
    }

    /// Bytes of guest memory that it needs.
    pub fn bytes(&self, threads: u32, line_bytes: usize) -> usize {
        self.draw.bytes(threads, line_bytes)
    }

    /// Its threads.
    pub fn team<L: RawLock<Simulated>, P: Probe>(&self, run: &Run, line_bytes: usize, wait: Wait, probe: P) -> Team {
        let threads = NonZeroU32::new(run.threads).unwrap_or(NonZeroU32::MIN);
        let how = profile::Run { threads, acquisitions: run.acquisitions, line_bytes, seed: run.seed };
        self.draw.team::<Simulated, L, P>(how, wait, probe)
    }
}
