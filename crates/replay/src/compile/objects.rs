//! Locks, semaphores and barriers by address. Several objects may exist at one address, one after
//! the other.

use super::served::{AtQueue, Served};
use super::streams::Streams;
use baton_trace::{Address, LockKind, ProcessIndex};
use std::collections::{BTreeMap, BTreeSet};

type Located = (ProcessIndex, Address);

/// Returns the address of the semaphore that stands for a queue's free places. A queue is aligned, so
/// that no other object has this address.
pub(crate) fn room_of((process, queue): Located) -> Located {
    (process, queue | 1)
}

/// What the walk knows about a lock.
#[derive(Default)]
pub(crate) struct LockBook {
    pub(crate) process: ProcessIndex,
    pub(crate) address: Address,
    /// The time of the lock's first event, in ticks.
    pub(crate) born: u64,
    pub(crate) acquisitions: u64,
    /// Whether the lock is a `pthread_spinlock_t`, which is not replaced.
    pub(crate) spins: bool,
    /// The threads that wait for the lock, in the order of their arrival, each with the time from
    /// which on it may be asleep.
    pub(crate) waiters: Vec<(u32, u64)>,
    /// The thread that holds the lock now.
    pub(crate) holder: Option<u32>,
    /// Whether a thread that did not hold the lock has released it. Such a lock is used to hand
    /// something over, as a semaphore is.
    pub(crate) handed: bool,
    /// The thread that held the lock last, and, if known, its CPU.
    pub(crate) last: Option<(u32, Option<u32>)>,
}

/// What the walk knows about a barrier.
#[derive(Default)]
pub(crate) struct BarrierBook {
    arrived: BTreeSet<u32>,
    /// Threads that have met but not yet left, with the number of their meeting.
    meeting: BTreeMap<u32, u32>,
    /// The numbers of the meetings, by their participants; mostly the same threads meet again and
    /// again.
    known: BTreeMap<BTreeSet<u32>, u32>,
}

impl BarrierBook {
    pub(crate) fn arrive(&mut self, thread: u32) {
        self.meeting.remove(&thread);
        self.arrived.insert(thread);
    }

    /// Records that a thread leaves the barrier. Returns the number of its meeting; `meetings`
    /// holds the number of participants of each. The first thread to leave shows that all have
    /// arrived. Returns `None` if the thread's arrival was lost.
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

#[derive(Default)]
pub(crate) struct Objects {
    lock_at: BTreeMap<Located, u32>,
    /// The lock that was looked up last: the next look-up is mostly for the same lock.
    last_lock: Option<(Located, u32)>,
    rw_at: BTreeMap<Located, u32>,
    semaphore_at: BTreeMap<Located, u32>,
    barrier_at: BTreeMap<Located, u32>,
    /// For each barrier or semaphore by its address, the count with which it was initialised.
    attributes: BTreeMap<Located, u32>,
    pub(crate) locks: Vec<LockBook>,
    pub(crate) rwlocks: u32,
    /// The initial value of each semaphore; `None` if the initialisation was not recorded.
    pub(crate) semaphores: Vec<Option<u32>>,
    barriers: Vec<BarrierBook>,
    pub(crate) streams: Streams,
    /// The number of queues of items.
    pub(crate) queues: u32,
    /// The queues that other queues serve in the replay, and what happens at each of them.
    pub(crate) served: Served,
    pub(crate) at_queues: BTreeMap<u32, AtQueue>,
    /// The number of participants of each meeting at a barrier. Meetings of the same threads share
    /// an entry.
    pub(crate) meetings: Vec<u32>,
    /// The numbers of the meetings of OpenMP teams.
    pub(crate) teams: BTreeSet<u32>,
}

impl Objects {
    /// No objects yet; other queues serve those of `served`.
    pub(crate) fn with(served: Served) -> Objects {
        Objects { served, ..Objects::default() }
    }

    /// Returns the number of the lock at an address. If there is none, a new lock begins to exist
    /// at `now`.
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

    /// Returns the number of a semaphore if its initial value was recorded.
    pub(crate) fn counted(&mut self, place: Located) -> Option<u32> {
        self.attributes.contains_key(&place).then(|| self.semaphore(place))
    }

    /// Records that a thread arrives at a barrier.
    pub(crate) fn arrive(&mut self, place: Located, thread: u32) {
        let barriers = &mut self.barriers;
        let number = *self.barrier_at.entry(place).or_insert_with(|| {
            barriers.push(BarrierBook::default());
            barriers.len() as u32 - 1
        });
        barriers[number as usize].arrive(thread);
    }

    /// Records that a thread leaves a barrier. Returns the number of its meeting.
    pub(crate) fn leave(&mut self, place: Located, thread: u32) -> Option<u32> {
        let number = *self.barrier_at.get(&place)?;
        self.barriers[number as usize].leave(thread, &mut self.meetings)
    }

    /// Returns the meeting of a thread that is still at a barrier which other threads have already
    /// left.
    pub(crate) fn over(&self, place: Located, thread: u32) -> Option<u32> {
        self.barriers[*self.barrier_at.get(&place)? as usize].meeting.get(&thread).copied()
    }

    /// Marks a meeting as that of an OpenMP team.
    pub(crate) fn is_team(&mut self, meeting: u32) {
        self.teams.insert(meeting);
    }

    /// Returns the initial value of a semaphore, if its initialisation was recorded.
    pub(crate) fn initial(&self, semaphore: u32) -> Option<u32> {
        self.semaphores[semaphore as usize]
    }

    /// Stores the count with which a barrier or semaphore has just been initialised.
    pub(crate) fn attribute(&mut self, place: Located, value: u32) {
        self.attributes.insert(place, value);
    }

    /// Ends the life of every object in a range of addresses.
    pub(crate) fn forget_between(&mut self, process: ProcessIndex, from: Address, to: Address) {
        self.last_lock = None;
        let maps =
            [&mut self.lock_at, &mut self.rw_at, &mut self.semaphore_at, &mut self.barrier_at, &mut self.attributes];
        for map in maps {
            map.retain(|&(of, address), _| of != process || !(from..to).contains(&address));
        }
    }

    /// Ends the life of the object at an address.
    pub(crate) fn forget(&mut self, place: Located) {
        self.last_lock = None;
        self.semaphore_at.remove(&room_of(place));
        self.attributes.remove(&room_of(place));
        self.lock_at.remove(&place);
        self.rw_at.remove(&place);
        self.semaphore_at.remove(&place);
        self.barrier_at.remove(&place);
        self.attributes.remove(&place);
    }
}
