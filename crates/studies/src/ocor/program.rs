//! What runs: a draw of a profile.

use super::run::Run;
use crate::kit::Draw as Drawn;
use baton_chip::Simulated;
use baton_machine::Wait;
use baton_sync::lock::RawLock;
use baton_workloads::profile::{self, Class, Draw, Numbered, Profile};
use baton_workloads::{Probe, Team};
use serde::{Serialize, Serializer};
use std::num::NonZeroU32;

/// A draw of a profile: a stand-in for one of the paper's programs.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The profile's name.
    pub name: String,
    /// Its place among the profile's draws, from 0: a study takes the first ones.
    pub place: usize,
    /// Its number, on which its seeds hang.
    pub number: u32,
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

impl Drawn for Program {
    fn name(&self) -> &str {
        &self.name
    }
    fn place(&self) -> usize {
        self.place
    }
    fn label(&self) -> String {
        format!("{} {}", self.name, self.number)
    }
    fn seed(&self, again: u64) -> u64 {
        Numbered { number: self.number, draw: self.draw }.seed(again)
    }
}

impl Program {
    /// The draws of a profile.
    pub fn of(profile: &Profile) -> Vec<Program> {
        let all = profile.draws.iter().enumerate();
        let program = |(place, &Numbered { number, draw }): (usize, &Numbered)| Program {
            name: profile.name.clone(),
            place,
            number,
            draw,
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
