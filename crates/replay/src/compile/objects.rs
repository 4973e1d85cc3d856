//! Locks, semaphores and barriers by their addresses. An address can have several lives.

use baton_trace::{Address, LockKind, ProcessIndex};
use std::collections::{BTreeMap, BTreeSet};

type Located = (ProcessIndex, Address);

/// A lock's book during the walk.
#[derive(Default)]
pub(crate) struct LockBook {
    pub(crate) process: ProcessIndex,
    pub(crate) address: Address,
    /// Its first event, in ticks.
    pub(crate) born: u64,
    pub(crate) acquisitions: u64,
    /// A `pthread_spinlock_t`: it is not replaced.
    pub(crate) spins: bool,
    /// Threads that wait for it, in the order in which they came, and from when on they can be asleep.
    pub(crate) waiters: Vec<(u32, u64)>,
    /// The thread that has it.
    pub(crate) holder: Option<u32>,
    /// A thread gave it up that did not hold it: it hands something over, as a semaphore does.
    pub(crate) handed: bool,
    /// The last holder: thread and, if known, CPU.
    pub(crate) last: Option<(u32, Option<u32>)>,
}

/// A barrier's book: who has arrived for the meeting that is not over.
#[derive(Default)]
pub(crate) struct BarrierBook {
    arrived: BTreeSet<u32>,
    /// Those who have met and not left yet, with their meeting's number.
    meeting: BTreeMap<u32, u32>,
    /// Meetings by who came: almost always the same threads.
    known: BTreeMap<BTreeSet<u32>, u32>,
}

impl BarrierBook {
    pub(crate) fn arrive(&mut self, thread: u32) {
        self.meeting.remove(&thread);
        self.arrived.insert(thread);
    }

    /// A thread leaves: the number of its meeting among all, of which `meetings` keeps the sizes. The first one that leaves shows
    /// that all have arrived. `None`: its arrival was lost.
    pub(crate) fn leave(&mut self, thread: u32, meetings: &mut Vec<u32>) -> Option<u32> {
        if self.arrived.contains(&thread) {
            let who = std::mem::take(&mut self.arrived);
            let number = *self.known.entry(who.clone()).or_insert_with(|| {
                meetings.push(who.len() as u32);
                meetings.len() as u32 - 1
            });
            self.meeting.extend(who.into_iter().map(|thread| (thread, number)));
        }
        self.meeting.remove(&thread)
    }
}

/// All objects.
#[derive(Default)]
pub(crate) struct Objects {
    lock_at: BTreeMap<Located, u32>,
    /// The lock that was asked for last: mostly it is the next one, too.
    last_lock: Option<(Located, u32)>,
    rw_at: BTreeMap<Located, u32>,
    semaphore_at: BTreeMap<Located, u32>,
    barrier_at: BTreeMap<Located, u32>,
    /// Counts that came with initialisations, before anything else was known of the object.
    attributes: BTreeMap<Located, u32>,
    pub(crate) locks: Vec<LockBook>,
    pub(crate) rwlocks: u32,
    /// What each semaphore was initialised with, if that was seen.
    pub(crate) semaphores: Vec<Option<u32>>,
    barriers: Vec<BarrierBook>,
    /// Participants of each meeting at a barrier; meetings of the same threads are one.
    pub(crate) meetings: Vec<u32>,
    /// Meetings of OpenMP's teams.
    pub(crate) teams: BTreeSet<u32>,
}

impl Objects {
    /// The lock at a place, which begins to live at `now` if none does.
    pub(crate) fn lock(&mut self, place: Located, kind: LockKind, now: u64) -> u32 {
        if let Some((_, number)) = self.last_lock.filter(|&(at, _)| at == place) {
            return number;
        }
        let number = *self.lock_at.entry(place).or_insert_with(|| {
            let spins = kind == LockKind::Spin;
            self.locks.push(LockBook { process: place.0, address: place.1, born: now, spins, ..LockBook::default() });
            self.locks.len() as u32 - 1
        });
        self.last_lock = Some((place, number));
        number
    }

    pub(crate) fn rwlock(&mut self, place: Located) -> u32 {
        *self.rw_at.entry(place).or_insert_with(|| {
            self.rwlocks += 1;
            self.rwlocks - 1
        })
    }

    pub(crate) fn semaphore(&mut self, place: Located) -> u32 {
        *self.semaphore_at.entry(place).or_insert_with(|| {
            self.semaphores.push(self.attributes.get(&place).copied());
            self.semaphores.len() as u32 - 1
        })
    }

    /// A thread arrives at a barrier.
    pub(crate) fn arrive(&mut self, place: Located, thread: u32) {
        let barriers = &mut self.barriers;
        let number = *self.barrier_at.entry(place).or_insert_with(|| {
            barriers.push(BarrierBook::default());
            barriers.len() as u32 - 1
        });
        barriers[number as usize].arrive(thread);
    }

    /// A thread leaves a barrier: the meeting that it was at.
    pub(crate) fn leave(&mut self, place: Located, thread: u32) -> Option<u32> {
        let number = *self.barrier_at.get(&place)?;
        self.barriers[number as usize].leave(thread, &mut self.meetings)
    }

    /// The meeting of a thread that waits at a barrier which others have left already.
    pub(crate) fn over(&self, place: Located, thread: u32) -> Option<u32> {
        self.barriers[*self.barrier_at.get(&place)? as usize].meeting.get(&thread).copied()
    }

    /// A meeting is one of OpenMP's.
    pub(crate) fn is_team(&mut self, meeting: u32) {
        self.teams.insert(meeting);
    }

    /// What a semaphore was initialised with, if that was seen.
    pub(crate) fn initial(&self, semaphore: u32) -> Option<u32> {
        self.semaphores[semaphore as usize]
    }

    /// The count of a barrier or semaphore that has just been initialised.
    pub(crate) fn attribute(&mut self, place: Located, value: u32) {
        self.attributes.insert(place, value);
    }

    /// All addresses from one up to another start new lives.
    pub(crate) fn forget_between(&mut self, process: ProcessIndex, from: Address, to: Address) {
        self.last_lock = None;
        let maps =
            [&mut self.lock_at, &mut self.rw_at, &mut self.semaphore_at, &mut self.barrier_at, &mut self.attributes];
        for map in maps {
            map.retain(|&(of, address), _| of != process || !(from..to).contains(&address));
        }
    }

    /// The address starts a new life.
    pub(crate) fn forget(&mut self, place: Located) {
        self.last_lock = None;
        self.lock_at.remove(&place);
        self.rw_at.remove(&place);
        self.semaphore_at.remove(&place);
        self.barrier_at.remove(&place);
        self.attributes.remove(&place);
    }
}
