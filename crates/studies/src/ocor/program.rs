//! The programs of the study: draws of profiles.

use super::run::Run;
use crate::kit::Draw as Drawn;
use baton_chip::Simulated;
use baton_machine::Wait;
use baton_programs::synthetic::{self, Class, Draw, Numbered, Profile};
use baton_sync::lock::RawLock;
use baton_workloads::{Probe, Team};
use serde::{Serialize, Serializer};
use std::num::NonZeroU32;

/// The shapes of programs. A stand-in of each shape can show what the paper prints of the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// Short sections under many locks; threads never meet at a barrier, and hardly any thread
    /// sleeps.
    ManyLocks,
    /// All threads meet at a barrier before each section, and a section lasts longer than all tries
    /// of a waiter.
    LongSections,
    /// All threads meet at a barrier before each section, and ask for two locks, whose sections are
    /// shorter than all tries of a waiter.
    Crowd,
}

/// Every shape, in the order of the tables of ranges.
pub const SHAPES: [Shape; 3] = [Shape::ManyLocks, Shape::LongSections, Shape::Crowd];

impl Shape {
    /// The least length of a long section: a waiter's 128 tries, of some six cycles each if they
    /// hit, are over before the section ends.
    const LONG: u64 = 1000;

    /// The shape of a draw.
    pub fn of(draw: &Draw) -> Shape {
        match draw.phase {
            0 => Shape::ManyLocks,
            _ if draw.section_cycles < Shape::LONG => Shape::Crowd,
            _ => Shape::LongSections,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Shape::ManyLocks => "many locks",
            Shape::LongSections => "long sections",
            Shape::Crowd => "crowd with meetings",
        }
    }
}

/// A draw of a profile: a stand-in for one of the paper's programs.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The profile's name.
    pub name: String,
    /// The draw's index among the profile's draws of its shape, from 0. A study uses the draws with
    /// the lowest indices.
    pub place: usize,
    pub shape: Shape,
    /// The draw's number in the profile, from which the seeds of its runs follow.
    pub number: u32,
    /// The draw.
    pub draw: Draw,
    /// Whether the paper prints a high rate of critical sections.
    pub high_cs_rate: bool,
    /// Whether the paper prints a high utilisation of the network.
    pub high_network: bool,
}

impl Serialize for Program {
    /// Writes what the runs of the program depend on: every parameter of the draw, and nothing that
    /// the paper prints.
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
    fn shape(&self) -> &'static str {
        self.shape.name()
    }
    fn label(&self) -> String {
        format!("{} {}", self.name, self.number)
    }
    fn seed(&self, again: u64) -> u64 {
        Numbered { number: self.number, draw: self.draw }.seed(again)
    }
}

impl Program {
    /// Returns the draws of a profile as programs.
    pub fn of(profile: &Profile) -> Vec<Program> {
        let mut seen = [0; SHAPES.len()];
        let mut place = |shape: Shape| {
            let place = &mut seen[shape as usize];
            *place += 1;
            *place - 1
        };
        let program = |&Numbered { number, draw }: &Numbered| Program {
            name: profile.name.clone(),
            place: place(Shape::of(&draw)),
            shape: Shape::of(&draw),
            number,
            draw,
            high_cs_rate: profile.printed.cs_rate == Class::High,
            high_network: profile.printed.network == Class::High,
        };
        profile.draws.iter().map(program).collect()
    }

    /// The bytes of guest memory that the program needs.
    pub fn bytes(&self, threads: u32, line_bytes: usize) -> usize {
        self.draw.bytes(threads, line_bytes)
    }

    /// The program's threads.
    pub fn team<L: RawLock<Simulated>, P: Probe>(&self, run: &Run, line_bytes: usize, wait: Wait, probe: P) -> Team {
        let threads = NonZeroU32::new(run.threads).unwrap_or(NonZeroU32::MIN);
        let how = synthetic::SyntheticRun { threads, acquisitions: run.acquisitions, line_bytes, seed: run.seed };
        self.draw.team::<Simulated, L, P>(how, wait, probe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_told_apart_and_counted_apart() {
        let text = include_str!("../../../../profiles/ocor/vips.toml");
        let profile = Profile::from_toml(text, "vips.toml").unwrap();
        let programs = Program::of(&profile);
        for shape in SHAPES {
            let places: Vec<usize> = programs.iter().filter(|of| of.shape == shape).map(|of| of.place).collect();
            assert!(places.len() >= 3 && places.iter().copied().eq(0..places.len()), "{shape:?}: {places:?}");
        }
        let meets = |of: &&Program| of.draw.phase != 0 && of.draw.locks == 2;
        assert!(programs.iter().filter(meets).all(|of| of.shape == Shape::Crowd));
    }
}
