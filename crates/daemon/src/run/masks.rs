//! Masks as they are changed, and as they are found.

use super::Run;
use crate::error::Error;
use crate::input::{Input, Why};
use crate::journal::Key;
use crate::sys::{self, affinity, proc};
use baton_machine::discover::cpulist;
use baton_sched::ThreadId;
use baton_units::CpuId;

impl Run {
    /// The thread's mask, without CPUs that were added to the machine since the start.
    fn present(&self, tid: u32) -> Option<Vec<u32>> {
        let count = self.core.setup().cpus.count() as u32;
        let known: Vec<u32> = affinity::get(tid).ok()?.into_iter().filter(|&cpu| cpu < count).collect();
        (!known.is_empty()).then_some(known)
    }

    /// Changes the mask of a thread. Returns what the core must hear of it.
    pub(super) fn change(&mut self, id: ThreadId, cpus: &[u32], why: Why) -> Result<Option<Input>, Error> {
        let user = self.core.user(id).map(<[u32]>::to_vec);
        let (Some((pid, tid)), Some(user)) = (self.live.numbers(id), user) else { return Ok(None) };
        if self.journal.is_none() {
            return Ok(None);
        }
        let Some(class) = proc::class(tid) else { return Ok(None) };
        let Some(present) = self.present(tid) else { return Ok(None) };
        if !proc::is_fair(class) {
            self.figures.refused += 1;
            return Ok(Some(Input::Refused(id)));
        }
        let inherited = why == Why::Inherited && self.core.masks_of(&user).contains(&present);
        if present != user && !inherited && self.given.get(&id) != Some(&present) {
            return self.changed_own(id, present).map(Some);
        }
        if !self.announce(id, (pid, tid), &user)? {
            return Ok(None);
        }
        match affinity::set(tid, cpus) {
            Ok(()) => {
                self.figures.masks += 1;
                self.given.insert(id, cpus.to_vec());
                self.changed.insert(id, (sys::now(), cpus.to_vec()));
            }
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(None),
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                self.figures.refused += 1;
                return Ok(Some(Input::Refused(id)));
            }
            Err(_) => {}
        }
        // A cpuset may have cut the mask, or refused it whole.
        match self.present(tid) {
            Some(present) if present != cpus => self.changed_own(id, present).map(Some),
            _ => Ok(None),
        }
    }

    /// Takes the present mask of a thread, which is not the daemon's, as the user's.
    fn changed_own(&mut self, id: ThreadId, present: Vec<u32>) -> Result<Input, Error> {
        self.figures.changed_own += 1;
        self.changed.remove(&id);
        self.given.remove(&id);
        if let Some((pid, tid)) = self.live.numbers(id) {
            self.announce(id, (pid, tid), &present)?;
        }
        Ok(Input::Mask(id, present))
    }

    /// Writes the thread's mask into the journal. Returns whether the thread still lives.
    fn announce(&mut self, id: ThreadId, (pid, tid): (u32, u32), user: &[u32]) -> Result<bool, Error> {
        let Some(journal) = &mut self.journal else { return Ok(false) };
        let key = match self.keys.get(&id) {
            Some(key) => *key,
            None => match proc::Stat::of(pid, tid) {
                Some(stat) => Key { pid, tid, start: stat.start },
                None => return Ok(false),
            },
        };
        journal.announce(key, user).map_err(Error::because("cannot write the journal"))?;
        self.keys.insert(id, key);
        Ok(true)
    }

    /// Writes the mask of a thread that began with one of its own into the journal.
    pub(super) fn announce_own(&mut self, pid: u32, tid: u32, cpus: &[u32]) -> Result<(), Error> {
        let id = self.live.all().into_iter().find(|&(_, _, other)| other == tid).map(|(id, ..)| id);
        id.map_or(Ok(false), |id| self.announce(id, (pid, tid), cpus)).map(|_| ())
    }

    /// Looks whether masks are as they should be, which CPUs are on, and whether the watchdog lives.
    pub(super) fn check(&mut self, now: u64) -> Result<(), Error> {
        for (id, _, tid) in self.live.all() {
            let (Some(present), Some(expected)) = (self.present(tid), self.core.mask(id)) else { continue };
            if present != expected && self.journal.is_some() {
                let user = self.core.user(id).unwrap_or_default().to_vec();
                // The watchdog has given the user's mask back, or the program has set another one.
                let input = match present == user {
                    true => Input::Mask(id, user),
                    false => self.changed_own(id, present)?,
                };
                self.hear(now, input)?;
            }
        }
        let online = std::fs::read_to_string("/sys/devices/system/cpu/online").ok();
        if let Some(online) = online.and_then(|list| cpulist::parse(&list)) {
            let usable = self.core.setup().usable.clone();
            for cpu in (0..usable.len() as u32).filter(|&cpu| usable[cpu as usize]) {
                let on = online.contains(&cpu);
                if on != self.core.is_on(CpuId(cpu)) {
                    self.hear(now, Input::Online(CpuId(cpu), on))?;
                }
            }
        }
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.keep().map_err(Error::because("cannot start the watchdog again"))?;
        }
        self.write(&[]);
        Ok(())
    }
}
