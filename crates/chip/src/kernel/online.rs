//! Cores are switched off and on during a run, and threads change where they may run.

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::base::thread::ThreadId;
use crate::engine::state::{Engine, Step};
use crate::engine::thread::ThreadState;
use crate::os::cpu::Doing;
use crate::os::refused::Refused;
use baton_sched as sched;
use baton_sched::Affinity;
use baton_units::{CoreId, CpuId, Cycles};

impl Engine {
    /// Plans to switch a core off or on at a time that is not past.
    pub(crate) fn switch_at(&mut self, at: u64, core: CoreId, online: bool) {
        let switches = &mut self.os.switches;
        switches.given += 1;
        switches.to_come.insert((at.max(self.now), switches.given), (core, online));
        self.schedule_switch();
    }

    fn schedule_switch(&mut self) {
        if std::mem::take(&mut self.os.switches.scheduled) {
            self.queue.cancel(Event::SWITCHES);
        }
        if let Some((&(at, _), _)) = self.os.switches.to_come.first_key_value() {
            self.os.switches.scheduled = true;
            self.queue.put(Event::SWITCHES, at, Rank::Next);
        }
    }

    /// The time of a planned switch has come.
    pub(crate) fn switches_step(&mut self) -> Step {
        self.os.switches.scheduled = false;
        if !self.os.lives_on() {
            // The run is over.
            return Step::Handled;
        }
        while let Some(entry) = self.os.switches.to_come.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (core, online) = entry.remove();
            if let Err(refused) = self.set_online(core, online) {
                self.os.switches.refused.push((Cycles(self.now), refused));
            }
        }
        self.schedule_switch();
        Step::Handled
    }

    fn cpus_of(&self, core: CoreId) -> Vec<CpuId> {
        let all = (0..).map(CpuId).zip(&self.os.cpus);
        all.filter(|(_, cpu)| cpu.core == core).map(|(id, _)| id).collect()
    }

    /// The CPUs that cores and CPUs stand for, as far as they are in use; if both lists are empty,
    /// all CPUs.
    pub(super) fn allowed(&self, thread: &str, cores: &[CoreId], cpus: &[CpuId]) -> Result<Affinity, Refused> {
        let has = self.os.cpus.len() as u32;
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

    /// Checks that one of the affinity's CPUs is online, not counting those in `but`, which are to
    /// be switched off.
    fn some_on(&self, thread: &str, affinity: &Affinity, but: &[CpuId]) -> Result<(), Refused> {
        let all = (0..self.os.cpus.len() as u32).map(CpuId);
        if all.clone().any(|cpu| self.os.cpus[cpu.0 as usize].online && affinity.has(cpu) && !but.contains(&cpu)) {
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

    /// Switches all CPUs of a core off or on. Threads that run or wait there move to other cores.
    pub(crate) fn set_online(&mut self, core: CoreId, online: bool) -> Result<(), Refused> {
        let cpus = self.cpus_of(core);
        if cpus.is_empty() {
            return Err(Refused::Cores { chip: self.chip.name.clone(), asked: core.0 + 1, has: self.chip.core.count });
        }
        if !online {
            for thread in self.threads.iter().filter(|thread| thread.state != ThreadState::Done) {
                self.some_on(&thread.name, &thread.os.affinity, &cpus)?;
            }
        }
        for cpu in cpus {
            let here = &mut self.os.cpus[cpu.0 as usize];
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

    /// Restricts the thread to these cores and CPUs from now on; lifts the restriction if both
    /// lists are empty.
    pub(crate) fn set_affinity(&mut self, id: ThreadId, cores: &[CoreId], cpus: &[CpuId]) -> Result<(), Refused> {
        let affinity = self.allowed(&self.threads[id as usize].name, cores, cpus)?;
        let thread = &mut self.threads[id as usize];
        thread.os.affinity = affinity.clone();
        if thread.state != ThreadState::Done {
            self.tell(|policy, now, out| policy.set_affinity(now, sched::ThreadId(id), &affinity, out));
            self.decide();
        }
        Ok(())
    }
}
