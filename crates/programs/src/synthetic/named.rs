//! A profile's draw as a workload, with a lock of the registry.

use super::profile::{Draw, Profile};
use super::team::SyntheticRun;
use baton_machine::{Machine, Wait};
use baton_sync::lock::{self, LockInfo, LockVisitor, RawLock, ZeroInit};
use baton_workloads::{Knobs, Probe, Refused, Team, Workload, WorkloadInfo};
use core::num::NonZeroU32;

/// A draw of a profile file, run by as many threads as there are cores unless another number is
/// asked for.
#[derive(Clone, Copy)]
pub struct StandIn {
    lock: &'static LockInfo,
    wait: Wait,
    draw: Draw,
    run: SyntheticRun,
}

struct Make<P>(Draw, SyntheticRun, Wait, P);
impl<M: Machine, P: Probe> LockVisitor<M> for Make<P> {
    type Out = Team;
    fn visit<L: RawLock<M> + ZeroInit>(self) -> Team {
        let Make(draw, run, wait, probe) = self;
        draw.team::<M, L, P>(run, wait, probe)
    }
}

impl Workload for StandIn {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "profile",
        what: "A draw of --profile: a synthetic program that stands in for a real one",
        figure: "shares.overhead",
        has_locks: true,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<StandIn, Refused> {
        let (lock, wait) = knobs.lock()?;
        let file = knobs.profile.ok_or_else(|| Refused::because("--workload profile needs --profile FILE"))?;
        let profile = Profile::open(file).map_err(Refused::because)?;
        let drawn = profile.draws.iter().find(|drawn| drawn.number == knobs.draw).ok_or_else(|| {
            let has: Vec<String> = profile.draws.iter().map(|drawn| drawn.number.to_string()).collect();
            let has = if has.is_empty() { "none".to_owned() } else { has.join(", ") };
            let (draw, file) = (knobs.draw, file.display());
            Refused::because(format!("--draw {draw}: no draw of {file} has this number; it has {has}"))
        })?;
        let no_thread = || Refused::because("a profile needs a thread");
        let run = SyntheticRun {
            threads: NonZeroU32::new(knobs.threads.unwrap_or(knobs.cores)).ok_or_else(no_thread)?,
            acquisitions: knobs.iterations_or(drawn.draw.acquisitions),
            line_bytes: knobs.line_bytes,
            seed: knobs.seed,
        };
        Ok(StandIn { lock, wait, draw: drawn.draw.with_load(knobs.load), run })
    }

    fn threads(&self) -> u32 {
        self.run.threads.get()
    }

    fn wait(&self, _: Option<Wait>) -> Wait {
        self.wait
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, probe: P) -> Result<Team, Refused> {
        lock::visit::<M, _>(self.lock.name, Make(self.draw, self.run, wait, probe)).map_err(Refused::because)
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(self.lock.name)
    }

    fn bytes(&self) -> usize {
        self.draw.bytes(self.run.threads.get(), self.run.line_bytes)
    }
}
