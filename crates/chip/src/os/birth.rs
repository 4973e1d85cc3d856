//! A thread is born.

use super::app::App;
use crate::engine::Engine;
use crate::engine::thread::{OUTSIDE, Thread};
use crate::machine::guest::Spawn;
use crate::simulation::Refused;
use baton_sched::{AppId, Born, ThreadId};
use baton_units::CpuId;

impl Engine {
    /// Enters a thread into the tables; it becomes ready after its start's delay and noise.
    pub(crate) fn add_thread(&mut self, id: u32, spawn: Spawn) -> Result<(), Refused> {
        let name = if spawn.name.is_empty() { format!("thread {id}") } else { spawn.name };
        let affinity = self.allowed(&name, &spawn.affinity, &spawn.cpus)?;
        let cpus = self.cpus.len() as u32;
        // From its number on, so that threads begin their search for a place all over the chip.
        let first = affinity.list().map_or(id % cpus, |list| list[0].0);
        let from_there = (0..cpus).map(|turn| CpuId((first + turn) % cpus));
        let on = |cpu: &CpuId| self.cpus[cpu.0 as usize].online && affinity.has(*cpu);
        let near = from_there.into_iter().find(on).unwrap_or(CpuId(first));
        let number = self.free_numbers.pop_first().unwrap_or(self.alive as u32 + self.free_numbers.len() as u32);
        self.alive += 1;
        if self.numbers.len() <= number as usize {
            self.numbers.resize(number as usize + 1, id);
        }
        self.numbers[number as usize] = id;
        let creator = self.threads.get(self.running as usize).filter(|_| self.running != OUTSIDE);
        let app = spawn.app.or(creator.map(|creator| creator.app)).unwrap_or(App(0));
        let nice = spawn.nice.or(creator.map(|creator| creator.nice)).unwrap_or_default();
        let born = Born { app: AppId(app.0), affinity: affinity.clone(), near, nice };
        let mut thread = Thread::new(name, number, affinity, self.now);
        (thread.app, thread.nice) = (app, nice);
        (thread.cpu, thread.core) = (near.0, self.chip.core_of(near.0));
        self.threads.push(thread);
        self.tell(|policy, now, _| policy.fork(now, ThreadId(id), &born));
        let noise = self.start_noise.below(self.chip.noise.start.0 + 1);
        let at = self.now + spawn.after.0 + noise;
        self.app_forks(app, at);
        self.sleep_until_start(id, at);
        Ok(())
    }
}
