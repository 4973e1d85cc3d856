//! Tasks as a workload, with a queue of the registry.

use super::{Outcome, Task, TaskProgramSettings};
use baton_machine::units::Cycles;
use baton_machine::{Machine, Wait};
use baton_sync::queue::{self, QueueInfo, QueueVisitor, RawQueue};
use baton_workloads::inputs::Dispatch;
use baton_workloads::work::Work;
use baton_workloads::{Charge, Knobs, Probe, Refused, Team, Workload, WorkloadInfo};

/// Makes the team of tasks at a queue of the registry, or at deques.
#[derive(Clone, Copy)]
pub struct Tasks {
    queue: &'static QueueInfo,
    settings: TaskProgramSettings,
}

struct Make(TaskProgramSettings, Wait);
impl<M: Machine> QueueVisitor<M> for Make {
    type Out = Result<Work<Outcome>, Refused>;
    fn visit<Q: RawQueue<M, Item = u64>>(self) -> Self::Out {
        self.0.work::<M, Q>(self.1)
    }
}

impl Workload for Tasks {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "tasks",
        what: "Tasks spawn tasks: workers steal them, share a queue, or have a queue device balance them",
        figure: "measured.cycles_a_task",
        has_locks: false,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<Tasks, Refused> {
        let (queue, workers) = (knobs.queue()?, knobs.threads.unwrap_or(4));
        let usual = if queue.device { Dispatch::Balanced } else { Dispatch::Steal };
        let dispatch = knobs.inputs.dispatch.unwrap_or(usual);
        let tasks = knobs.iterations_or(1000).saturating_mul(u64::from(workers)).min(u64::from(Task::MOST)) as u32;
        let (think, spread, capacity) = (Cycles(knobs.think), knobs.spread, knobs.capacity);
        let seed = knobs.seed;
        Ok(Tasks { queue, settings: TaskProgramSettings { workers, tasks, think, spread, capacity, dispatch, seed } })
    }

    fn threads(&self) -> u32 {
        self.settings.workers
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, _: P) -> Result<Team, Refused> {
        let work = queue::visit::<M, _>(self.queue.name, Make(self.settings, wait)).map_err(Refused::because)??;
        Ok(work.into_team().0)
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(match self.settings.dispatch {
            Dispatch::Shared => self.queue.name,
            other => other.name(),
        })
    }

    fn charge(&self) -> Charge {
        match self.settings.dispatch {
            Dispatch::Steal => Charge::Typical,
            _ => Charge::Counted(self.queue.counted),
        }
    }
}
