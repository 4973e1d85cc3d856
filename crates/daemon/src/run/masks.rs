//! Masks as they are changed, and as they are found.

use super::Run;
use crate::error::Error;
use crate::input::{Input, Why};
use crate::journal::Key;
use crate::live::Found;
use crate::sys::proc::Stat;
use crate::sys::ring::{Record, What};
use crate::sys::{self, affinity, proc};
use baton_sched::ThreadId;
use baton_units::CpuId;

/// Checks from one search for threads whose records were not seen to the next one.
const SEARCH: u64 = 10;

impl Run {
    /// The thread's mask, without CPUs that were added to the machine since the start.
    fn present(&self, tid: u32) -> Option<Vec<u32>> {
        let count = self.core.setup().cpus.count() as u32;
        let known: Vec<u32> = affinity::get(tid).ok()?.into_iter().filter(|&cpu| cpu < count).collect();
        (!known.is_empty()).then_some(known)
    }

    /// Whether a mask that the kernel shows is another one than this. The kernel shows no CPU that is
    /// off. If all CPUs of a mask are off, the kernel lets the thread run anywhere; that is no other mask.
    fn differs(&mut self, present: &[u32], expected: &[u32]) -> bool {
        let on = |online: &[u32]| expected.iter().copied().filter(|cpu| online.contains(cpu)).collect::<Vec<u32>>();
        if on(&self.online) == present {
            return false;
        }
        self.online = proc::online().unwrap_or_default();
        let on = on(&self.online);
        !on.is_empty() && on != present
    }

    /// Changes the mask of a thread. Returns what the core must hear of it.
    pub(super) fn change(&mut self, id: ThreadId, cpus: &[u32], why: Why) -> Result<Option<Input>, Error> {
        let user = self.core.user(id).map(<[u32]>::to_vec);
        let (Some(key), Some(user), Some(_)) = (self.live.key(id), user, &self.journal) else { return Ok(None) };
        // Another thread may have the number of one that has ended.
        let stat = key.stat().filter(Stat::lives);
        let (Some(stat), Some(present)) = (stat, self.present(key.tid)) else { return Ok(None) };
        if !proc::is_fair(stat.class) {
            self.figures.refused += 1;
            return Ok(Some(Input::Refused(id)));
        }
        let given = self.given.now(id).map(<[u32]>::to_vec);
        let is_known = why == Why::Inherited || given.is_some_and(|given| !self.differs(&present, &given));
        if !is_known && self.differs(&present, &user) {
            return self.changed_own(id, present).map(Some);
        }
        self.announce(key, Some(id), &user, false)?;
        if why == Why::Inherited {
            // Its children may have inherited the mask from it.
            self.given.set(id, Some(present), sys::now());
        }
        match affinity::set(key.tid, cpus) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(None),
            Err(_) => {
                self.figures.refused += 1;
                return Ok(Some(Input::Refused(id)));
            }
        }
        let time = sys::now();
        self.figures.masks += 1;
        self.given.set(id, Some(cpus.to_vec()), time);
        self.changed.insert(id, (time, cpus.to_vec()));
        let Some(present) = self.present(key.tid) else { return Ok(None) };
        if !self.differs(&present, cpus) {
            return Ok(None);
        }
        if !present.iter().all(|cpu| cpus.contains(cpu)) {
            return self.changed_own(id, present).map(Some);
        }
        // A cpuset has cut the mask: the user's stays what it was.
        let cut: Vec<u32> = cpus.iter().copied().filter(|cpu| !present.contains(cpu)).collect();
        self.absent(cut)?;
        self.given.set(id, Some(present), time);
        Ok(None)
    }

    /// Takes the present mask of a thread, which is not the daemon's, as the user's.
    fn changed_own(&mut self, id: ThreadId, present: Vec<u32>) -> Result<Input, Error> {
        self.figures.changed_own += 1;
        self.is_own(id);
        if let Some(key) = self.live.key(id) {
            self.announce(key, Some(id), &present, true)?;
        }
        Ok(Input::Mask(id, present))
    }

    fn is_own(&mut self, id: ThreadId) {
        self.changed.remove(&id);
        self.given.set(id, None, sys::now());
    }

    /// Writes the user's mask of a thread into the journal, and whether it is the thread's own.
    fn announce(&mut self, key: Key, id: Option<ThreadId>, user: &[u32], own: bool) -> Result<(), Error> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        journal.announce(key, user, own).map_err(Error::because("cannot write the journal"))?;
        if let Some(id) = id {
            self.keys.insert(id, key);
        }
        Ok(())
    }

    /// Writes the mask of a thread that begins into the journal.
    pub(super) fn announce_found(&mut self, found: &Found) -> Result<(), Error> {
        self.announce(found.key, found.id, &found.user, !found.inherited)
    }

    /// Writes into the journal that narrowed masks may lack these CPUs.
    fn absent(&mut self, cpus: Vec<u32>) -> Result<(), Error> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        journal.absent(cpus).map_err(Error::because("cannot write the journal"))
    }

    /// Looks whether masks are as they should be, which CPUs are on, and whether the watchdog lives.
    pub(super) fn check(&mut self, now: u64) -> Result<(), Error> {
        self.check_online(now)?;
        self.check_masks(now)?;
        self.checks += 1;
        if self.checks.is_multiple_of(SEARCH) {
            self.search(now)?;
        }
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.keep().map_err(Error::because("cannot start the watchdog again"))?;
        }
        self.write(&[]);
        Ok(())
    }

    fn check_online(&mut self, now: u64) -> Result<(), Error> {
        let Some(online) = proc::online() else { return Ok(()) };
        let usable = self.core.setup().usable.clone();
        let off = (0..usable.len() as u32).filter(|cpu| usable[*cpu as usize] && !online.contains(cpu));
        self.absent(off.collect())?;
        for cpu in (0..usable.len() as u32).filter(|&cpu| usable[cpu as usize]) {
            let on = online.contains(&cpu);
            if on != self.core.is_on(CpuId(cpu)) {
                self.hear(now, Input::Online(CpuId(cpu), on))?;
            }
        }
        self.online = online;
        Ok(())
    }

    /// Looks whether masks are as they should be, and which threads have ended.
    pub(super) fn check_masks(&mut self, now: u64) -> Result<(), Error> {
        for (id, key) in self.live.all() {
            let present = self.present(key.tid);
            let user = self.core.user(id).unwrap_or_default().to_vec();
            let expected = self.given.now(id).map_or_else(|| user.clone(), <[u32]>::to_vec);
            if present.as_ref().is_some_and(|present| !self.differs(present, &expected)) {
                continue;
            }
            if key.stat().is_none() {
                let ended = self.live.ends(id);
                self.hear(now, ended)?;
                continue;
            }
            let Some(present) = present.filter(|_| self.journal.is_some()) else { continue };
            // The watchdog has given the user's mask back, or the program has set another one.
            let input = if self.differs(&present, &user) {
                self.changed_own(id, present)?
            } else {
                self.is_own(id);
                Input::Mask(id, user)
            };
            self.hear(now, input)?;
        }
        Ok(())
    }

    /// Looks for threads whose records were not seen.
    fn search(&mut self, now: u64) -> Result<(), Error> {
        let begun = self.live.unseen().into_iter().map(|(pid, tid, parent)| {
            let what = What::Begins { parent, creator: parent };
            Record { time: now, pid, tid, what }
        });
        self.take(begun.collect(), now, false)
    }
}
