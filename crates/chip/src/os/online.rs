//! Cores that are switched off and on while the chip runs, and threads that change where they may run.

use super::cpu::Doing;
use crate::engine::queue::Rank;
use crate::engine::thread::{State, ThreadId};
use crate::engine::{Engine, Step, slice};
use crate::simulation::Refused;
use baton_sched as sched;
use baton_sched::Affinity;
use baton_units::{CoreId, CpuId, Cycles};
use std::collections::BTreeMap;

/// Cores that are to be switched off or on, in order of time.
#[derive(Default)]
pub(crate) struct Switches {
    to_come: BTreeMap<(u64, u64), (CoreId, bool)>,
    /// Given so far, to keep the order of those of one moment.
    given: u64,
    scheduled: bool,
    /// What could not be when its time came.
    pub(crate) refused: Vec<(Cycles, Refused)>,
}

impl Engine {
    /// The event of all switches to come: behind those of the CPUs' time slices, the devices' and the clocks'.
    fn switches_event(&self) -> u32 {
        slice(self.chip.cpus() + 2)
    }

    /// Whether an event of a CPU's number is that of cores switched off or on.
    #[inline]
    pub(crate) fn is_switches(&self, cpu: u32) -> bool {
        cpu == self.chip.cpus() + 2
    }

    /// Has a core switched off or on at a time that is not past.
    pub(crate) fn switch_at(&mut self, at: u64, core: CoreId, online: bool) {
        let switches = &mut self.switches;
        switches.given += 1;
        switches.to_come.insert((at.max(self.now), switches.given), (core, online));
        self.schedule_switch();
    }

    fn schedule_switch(&mut self) {
        let event = self.switches_event();
        if std::mem::take(&mut self.switches.scheduled) {
            self.queue.cancel(event);
        }
        if let Some((&(at, _), _)) = self.switches.to_come.first_key_value() {
            self.switches.scheduled = true;
            self.queue.put(event, at, Rank::Next);
        }
    }

    /// The time of a switch has come.
    pub(crate) fn switches_step(&mut self) -> Step {
        self.switches.scheduled = false;
        if self.alive == 0 {
            // The run is over.
            return Step::Handled;
        }
        while let Some(entry) = self.switches.to_come.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (core, online) = entry.remove();
            if let Err(refused) = self.set_online(core, online) {
                self.switches.refused.push((Cycles(self.now), refused));
            }
        }
        self.schedule_switch();
        Step::Handled
    }

    fn cpus_of(&self, core: CoreId) -> Vec<CpuId> {
        let all = (0..).map(CpuId).zip(&self.cpus);
        all.filter(|(_, cpu)| cpu.core == core).map(|(id, _)| id).collect()
    }

    /// The CPUs that cores and CPUs stand for, as far as they are in use; both empty: all.
    pub(super) fn allowed(&self, thread: &str, cores: &[CoreId], cpus: &[CpuId]) -> Result<Affinity, Refused> {
        let has = self.cpus.len() as u32;
        let named = cpus.iter().copied().filter(|cpu| cpu.0 < has);
        let allowed: Vec<CpuId> = cores.iter().flat_map(|&core| self.cpus_of(core)).chain(named).collect();
        if allowed.is_empty() && !(cores.is_empty() && cpus.is_empty()) {
            let cores = cores.iter().map(|core| core.0).collect();
            let cpus = cpus.iter().map(|cpu| cpu.0).collect();
            return Err(Refused::Affinity { thread: thread.to_owned(), cores, cpus, has });
        }
        let affinity = Affinity::to(allowed);
        self.some_on(thread, &affinity, &[])?;
        Ok(affinity)
    }

    /// One of the CPUs is on, beside those that are to be switched off.
    fn some_on(&self, thread: &str, affinity: &Affinity, but: &[CpuId]) -> Result<(), Refused> {
        let all = (0..self.cpus.len() as u32).map(CpuId);
        if all.clone().any(|cpu| self.cpus[cpu.0 as usize].online && affinity.has(cpu) && !but.contains(&cpu)) {
            return Ok(());
        }
        let mut cores: Vec<u32> = all.filter(|&cpu| affinity.has(cpu)).map(|cpu| self.chip.core_of(cpu.0).0).collect();
        cores.dedup();
        let off = &self.chip.os.off;
        let by_file = cores.iter().any(|core| off.cores.contains(core)) && but.is_empty();
        let place = if by_file && !off.place.is_empty() {
            format!("{}: key `os.off` is {}; expected one of them to be on", off.place, off.text())
        } else {
            "switched off while the chip ran".to_owned()
        };
        Err(Refused::Off { thread: thread.to_owned(), cores, place })
    }

    /// Switches all CPUs of a core off or on. Threads that run or wait there go elsewhere.
    pub(crate) fn set_online(&mut self, core: CoreId, online: bool) -> Result<(), Refused> {
        let cpus = self.cpus_of(core);
        if cpus.is_empty() {
            return Err(Refused::Cores { chip: self.chip.name.clone(), asked: core.0 + 1, has: self.chip.core.count });
        }
        if !online {
            for thread in self.threads.iter().filter(|thread| thread.state != State::Done) {
                self.some_on(&thread.name, &thread.affinity, &cpus)?;
            }
        }
        for cpu in cpus {
            let here = &mut self.cpus[cpu.0 as usize];
            if here.online == online {
                continue;
            }
            here.online = online;
            if here.current.is_none() {
                here.turn(if online { Doing::Idle } else { Doing::Off }, self.now, &self.chip.os);
            }
            self.tell(|policy, now, out| policy.set_online(now, cpu, online, out));
            self.decide();
        }
        Ok(())
    }

    /// From now on the thread may run on these cores and CPUs only; both empty: on all.
    pub(crate) fn set_affinity(&mut self, id: ThreadId, cores: &[CoreId], cpus: &[CpuId]) -> Result<(), Refused> {
        let affinity = self.allowed(&self.threads[id as usize].name, cores, cpus)?;
        let thread = &mut self.threads[id as usize];
        thread.affinity = affinity.clone();
        if thread.state != State::Done {
            self.tell(|policy, now, out| policy.set_affinity(now, sched::ThreadId(id), &affinity, out));
            self.decide();
        }
        Ok(())
    }
}
