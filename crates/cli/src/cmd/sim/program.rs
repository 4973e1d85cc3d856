//! Workloads with locks of several kinds of data: the real programs, and the stand-ins of a profile file.

use super::Args;
use super::probe::Recorder;
use crate::error::BadInput;
use anyhow::Context;
use baton_chip::{Chip, Simulated};
use baton_machine::Wait;
use baton_sync::lock::{self, LockVisitor, RawLock, ZeroInit};
use baton_workloads::Team;
use baton_workloads::monitor::Locks;
use baton_workloads::profile::{Draw, Profile, Run};
use baton_workloads::programs::{BadScale, Program, Scale};
use std::num::NonZeroU32;

/// A workload that can run.
#[derive(Clone, Copy)]
pub(super) enum Whole {
    Program(Program, u32, Scale),
    Profile(Draw, Run),
}

impl Whole {
    /// A program in the scale that was asked for.
    pub(super) fn program(program: Program, args: &Args) -> anyhow::Result<Whole> {
        let usual = program.info().usual;
        let scale =
            Scale { size: args.size.unwrap_or(usual.size), grain: args.grain.unwrap_or(usual.grain), seed: args.seed };
        program.check(scale).map_err(BadInput::new)?;
        Ok(Whole::Program(program, args.threads.unwrap_or(2), scale))
    }

    /// A draw of the profile file that was named, a thread a core.
    pub(super) fn profile(args: &Args, chip: &Chip) -> anyhow::Result<Whole> {
        let Some(file) = &args.profile else {
            return Err(BadInput::new("--workload profile needs --profile FILE").into());
        };
        let profile = Profile::open(file).map_err(BadInput::new)?;
        let drawn = profile.draws.iter().find(|drawn| drawn.number == args.draw).ok_or_else(|| {
            let has: Vec<String> = profile.draws.iter().map(|drawn| drawn.number.to_string()).collect();
            let has = if has.is_empty() { "none".to_owned() } else { has.join(", ") };
            BadInput::new(format!("--draw {}: no draw of {} has this number; it has {has}", args.draw, file.display()))
        })?;
        let draw = drawn.draw;
        let threads = args.threads.unwrap_or(chip.core.count);
        let run = Run {
            threads: NonZeroU32::new(threads).context("a profile needs a thread")?,
            acquisitions: args.iterations.unwrap_or(if args.cycles.is_some() { u64::MAX } else { draw.acquisitions }),
            line_bytes: chip.cache.line_bytes as usize,
            seed: args.seed,
        };
        Ok(Whole::Profile(draw.with_load(args.load), run))
    }

    pub(super) fn threads(&self) -> u32 {
        match self {
            Whole::Program(_, threads, _) => *threads,
            Whole::Profile(_, run) => run.threads.get(),
        }
    }

    /// Bytes of guest memory that the data takes, generously.
    pub(super) fn bytes(&self) -> usize {
        match self {
            // Dedup keeps a compressed chunk for each that could be: 10 bytes a byte. An alignment has edges: 8 a letter and block.
            Whole::Program(Program::Align, _, scale) => scale.size as usize * (scale.size / scale.grain) as usize * 12,
            Whole::Program(Program::ImageFilter, _, scale) => 4 * (scale.size as usize).pow(2),
            Whole::Program(_, _, scale) => scale.size as usize * 24,
            Whole::Profile(draw, run) => draw.bytes(run.threads.get(), run.line_bytes),
        }
    }

    /// The threads, with a lock that is known by name.
    pub(super) fn team(&self, name: &str, wait: Wait, recorder: &Recorder) -> anyhow::Result<Team> {
        Ok(lock::visit(name, With(*self, wait, recorder.clone()))?.map_err(BadInput::new)?)
    }
}

struct With(Whole, Wait, Recorder);
impl LockVisitor<Simulated> for With {
    type Out = Result<Team, BadScale>;
    fn visit<L: RawLock<Simulated> + ZeroInit>(self) -> Self::Out {
        let With(whole, wait, recorder) = self;
        match whole {
            Whole::Program(program, threads, scale) => {
                program.team::<Simulated, _>(threads, scale, &Locks::<L, _>::new(wait, recorder))
            }
            Whole::Profile(draw, run) => Ok(draw.team::<Simulated, L, _>(run, wait, recorder)),
        }
    }
}
