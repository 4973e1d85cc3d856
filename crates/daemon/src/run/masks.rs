//! Masks as they are changed, and as they are found.

use super::Run;
use crate::error::Error;
use crate::input::{Input, Why};
use crate::journal::Key;
use crate::live::Found;
use crate::source::{Poll, Source};
use crate::sys::proc::Stat;
use crate::sys::ring::{Record, What};
use crate::sys::{self, affinity, cpuset, proc};
use baton_sched::ThreadId;
use baton_units::CpuId;
use std::collections::BTreeSet;

/// Checks from one search for threads whose records were not seen to the next one.
const SEARCH: u64 = 10;
/// The most threads whose masks a check reads. A mask that a thread sets itself is also found before the
/// daemon changes it.
const SOME: usize = 64;

impl Run {
    /// The thread's mask, without CPUs that were added to the machine since the start.
    fn present(&self, tid: u32) -> Option<Vec<u32>> {
        let count = self.core.setup().cpus.count() as u32;
        let known: Vec<u32> = affinity::get(tid).ok()?.into_iter().filter(|&cpu| cpu < count).collect();
        (!known.is_empty()).then_some(known)
    }

    /// Whether a mask that the kernel shows is another one than this. The kernel shows no CPU that is
    /// off. If all CPUs of a mask are off, the kernel lets the thread run anywhere; that is no other mask.
    fn differs(&self, present: &[u32], expected: &[u32]) -> bool {
        let on = |online: &[u32]| expected.iter().copied().filter(|cpu| online.contains(cpu)).collect::<Vec<u32>>();
        if on(&self.online) == present {
            return false;
        }
        // A CPU may have gone off or on since the last check.
        let on = on(&proc::online().unwrap_or_default());
        !on.is_empty() && on != present
    }

    /// The whole mask that the user gave the thread. What the core knows of it may be the part that a
    /// cpuset leaves.
    fn whole(&self, id: ThreadId) -> Option<Vec<u32>> {
        self.cut.get(&id).cloned().or_else(|| self.core.user(id).map(<[u32]>::to_vec))
    }

    /// Changes the mask of a thread. Returns what the core must hear of it.
    pub(super) fn change(&mut self, id: ThreadId, cpus: &[u32], why: Why) -> Result<Option<Input>, Error> {
        let user = self.core.user(id).map(<[u32]>::to_vec);
        if self.scx.is_some() {
            self.place(id, cpus);
            return Ok(None);
        }
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
            return self.found_other(id, present).map(Some);
        }
        let whole = self.whole(id).unwrap_or(user);
        self.announce(key, Some(id), &whole, false)?;
        if why == Why::Inherited {
            // Its children may have inherited the mask from it.
            self.given.set(id, Some(present), sys::now());
        }
        match affinity::set(key.tid, cpus) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(None),
            Err(_) => {
                // The thread's cpuset may have none of the CPUs.
                let cpuset = self.cpuset(key).filter(|has| !cpus.iter().any(|cpu| has.contains(cpu)));
                if let Some(cpuset) = cpuset {
                    return self.cut_by(id, &cpuset).map(Some);
                }
                self.figures.refused += 1;
                return Ok(Some(Input::Refused(id)));
            }
        }
        let time = sys::now();
        self.figures.masks += 1;
        self.given.set(id, Some(cpus.to_vec()), time);
        self.changed.insert(id, (time, cpus.to_vec()));
        let Some(present) = self.present(key.tid) else { return Ok(None) };
        if !self.differs(&present, cpus) { Ok(None) } else { self.found_other(id, present).map(Some) }
    }

    /// The CPUs of the thread's cpuset that are on, without those that were added to the machine since
    /// the start; `None` if there are none, or the kernel does not say.
    fn cpuset(&self, key: Key) -> Option<Vec<u32>> {
        let count = self.core.setup().cpus.count() as u32;
        let mut cpus = cpuset::of(key.pid, key.tid)?;
        cpus.retain(|cpu| *cpu < count && self.online.contains(cpu));
        Some(cpus).filter(|cpus| !cpus.is_empty())
    }

    /// Handles a mask that is not as it should be: a cpuset has cut it, or the program has set it.
    fn found_other(&mut self, id: ThreadId, present: Vec<u32>) -> Result<Input, Error> {
        let expected = self.given.now(id).map(<[u32]>::to_vec).or_else(|| self.whole(id));
        let (Some(key), Some(expected)) = (self.live.key(id), expected) else { return self.changed_own(id, present) };
        match self.cpuset(key).filter(|cpuset| cpuset::leaves(&present, &expected, cpuset)) {
            Some(cpuset) => self.cut_by(id, &cpuset),
            None => self.changed_own(id, present),
        }
    }

    /// Gives a thread what its cpuset leaves of the user's mask. The whole mask stays the user's.
    fn cut_by(&mut self, id: ThreadId, cpuset: &[u32]) -> Result<Input, Error> {
        let whole = self.whole(id).unwrap_or_default();
        let left = cpuset::within(&whole, cpuset);
        let lost: Vec<u32> = whole.iter().copied().filter(|cpu| !left.contains(cpu)).collect();
        self.figures.cut += u64::from(!lost.is_empty());
        match lost.is_empty() {
            true => self.cut.remove(&id),
            false => self.cut.insert(id, whole.clone()),
        };
        self.absent(lost)?;
        if let Some(key) = self.live.key(id).filter(|_| self.given.now(id).is_some() && self.journal.is_some()) {
            // The kernel cuts the mask. If that is refused, the thread keeps what it has.
            let _ = affinity::set(key.tid, &whole);
        }
        self.is_own(id);
        Ok(Input::Mask(id, left))
    }

    /// Looks whether cpusets leave more or less of masks that they cut.
    fn check_cpusets(&mut self, now: u64) -> Result<(), Error> {
        for (id, whole) in self.cut.clone() {
            let Some(cpuset) = self.live.key(id).and_then(|key| self.cpuset(key)) else { continue };
            if self.core.user(id) != Some(&cpuset::within(&whole, &cpuset)) {
                let input = self.cut_by(id, &cpuset)?;
                self.hear(now, input)?;
            }
        }
        Ok(())
    }

    /// The program has set the mask of a thread, as it has told.
    pub(super) fn sets_own(&mut self, id: ThreadId, now: u64) -> Result<(), Error> {
        let present = self.live.key(id).and_then(|key| self.present(key.tid));
        let Some(present) = present.filter(|_| self.acts()) else { return Ok(()) };
        let input = self.changed_own(id, present)?;
        self.hear(now, input)
    }

    /// Takes the present mask of a thread, which is not the daemon's, as the user's.
    fn changed_own(&mut self, id: ThreadId, present: Vec<u32>) -> Result<Input, Error> {
        self.figures.changed_own += 1;
        self.cut.remove(&id);
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
        self.check_masks(now, SOME)?;
        self.check_cpusets(now)?;
        self.pace.checks += 1;
        self.pace.may_have_ended = true;
        if self.pace.checks.is_multiple_of(SEARCH) {
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
        if online == self.online {
            return Ok(());
        }
        // This process's own mask has the CPUs that it may hand out.
        let own = affinity::get(0).unwrap_or_default();
        let may_use = |cpu: u32| online.contains(&cpu) && own.contains(&cpu);
        let cpus: Vec<u32> = (0..self.core.setup().cpus.count() as u32).collect();
        self.absent(cpus.iter().copied().filter(|&cpu| !may_use(cpu)).collect())?;
        if self.source.lacks(&online) {
            // The events of context switches were opened for the CPUs that were on then.
            let pids: BTreeSet<u32> = self.live.all().into_iter().map(|(_, key)| key.pid).collect();
            self.source = Source::Poll(Poll::begin(&pids.into_iter().collect::<Vec<_>>()));
            self.pace.half_full.clear();
            self.source_because = Some("a CPU came on after the start, and no records cover it".to_owned());
        }
        self.online = online.clone();
        for cpu in cpus {
            let on = may_use(cpu);
            if on != self.core.is_on(CpuId(cpu)) {
                self.hear(now, Input::Online(CpuId(cpu), on))?;
            }
        }
        self.tell_kinds();
        Ok(())
    }

    /// Looks whether masks are as they should be, of `count` threads by turns, and which of these threads
    /// have ended.
    pub(super) fn check_masks(&mut self, now: u64, count: usize) -> Result<(), Error> {
        for (id, key) in self.live.turn(count) {
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
            let Some(present) = present.filter(|_| self.acts()) else { continue };
            // The watchdog has given the user's mask back, a cpuset has cut the mask, or the program has
            // set another one.
            let input = if self.differs(&present, &user) {
                self.found_other(id, present)?
            } else {
                self.is_own(id);
                Input::Mask(id, user)
            };
            self.hear(now, input)?;
        }
        Ok(())
    }

    /// Looks for threads whose records were not seen.
    pub(super) fn search(&mut self, now: u64) -> Result<(), Error> {
        let begun = self.live.unseen().into_iter().map(|(pid, tid, parent)| {
            let what = What::Begins { parent, creator: parent };
            Record { time: now, pid, tid, what }
        });
        self.take(&begun.collect::<Vec<_>>(), now, false)
    }
}
