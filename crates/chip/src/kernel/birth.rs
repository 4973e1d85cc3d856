//! The creation of a thread.

use crate::base::thread::OUTSIDE;
use crate::engine::state::Engine;
use crate::engine::thread::Thread;
use crate::os::app::App;
use crate::os::app::Spawn;
use crate::os::refused::Refused;
use crate::os::task::Task;
use baton_sched::{AppId, Born, ThreadId};
use baton_units::CpuId;

impl Engine {
    /// Adds a thread to the tables. It becomes ready after its start delay and noise.
    pub(crate) fn add_thread(&mut self, id: u32, spawn: Spawn) -> Result<(), Refused> {
        let name = if spawn.name.is_empty() { format!("thread {id}") } else { spawn.name };
        let affinity = self.allowed(&name, &spawn.affinity, &spawn.cpus)?;
        let cpus = self.os.cpus.len() as u32;
        // The search for a CPU begins at the first one that the thread's affinity names or, without
        // an affinity, at the CPU with the thread's number, so that threads are spread over the
        // chip.
        let first = affinity.list().map_or(id % cpus, |list| list[0].0);
        let from_there = (0..cpus).map(|turn| CpuId((first + turn) % cpus));
        let on = |cpu: &CpuId| self.os.cpus[cpu.0 as usize].online && affinity.has(*cpu);
        let near = from_there.into_iter().find(on).unwrap_or(CpuId(first));
        let number =
            self.os.free_numbers.pop_first().unwrap_or(self.os.alive as u32 + self.os.free_numbers.len() as u32);
        self.os.alive += 1;
        if self.os.numbers.len() <= number as usize {
            self.os.numbers.resize(number as usize + 1, id);
        }
        self.os.numbers[number as usize] = id;
        let creator = self.threads.get(self.running as usize).filter(|_| self.running != OUTSIDE);
        let app = spawn.app.or(creator.map(|creator| creator.os.app)).unwrap_or(App(0));
        let nice = spawn.nice.or(creator.map(|creator| creator.os.nice)).unwrap_or_default();
        let blocked = creator.map(|creator| creator.os.signals.blocked).unwrap_or_default();
        let born = Born { app: AppId(app.0), affinity: affinity.clone(), near, nice, speedup: spawn.speedup };
        let mut thread = Thread::new(name, number, Task::new(app, nice, affinity), self.now);
        (thread.cpu, thread.core) = (near.0, self.chip.core_of(near.0));
        thread.os.signals.blocked = blocked;
        self.threads.push(thread);
        self.tell(|policy, now, _| policy.fork(now, ThreadId(id), &born));
        let noise = self.os.start_noise.below(self.chip.noise.start.0 + 1);
        let at = self.now + spawn.after.0 + noise;
        self.app_forks(app, at);
        self.sleep_until_start(id, at);
        Ok(())
    }
}
