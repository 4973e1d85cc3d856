//! Threads that compute and meet at a barrier, again and again.

mod device;

pub use device::{DEVICE_BARRIERS, DeviceBarrier};

use crate::{Charge, Knobs, Probe, Refused, Shared, Team, Think, Workload, WorkloadInfo, expect, share};
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Machine, Ordering::Relaxed, Wait};
use baton_sync::barrier::known::Known;
use baton_sync::barrier::{self, BARRIERS, BarrierInfo, BarrierVisitor, RawBarrier};
use device::InDevice;
use std::marker::PhantomData;
use std::num::NonZeroU32;

/// A place where threads meet.
trait Meet: Send + Sync + 'static {
    /// Arrives in an episode (episodes are counted from 0) and waits for the other threads. Returns
    /// `true` to exactly one thread of each episode.
    fn meet(&self, thread: u32, episode: u64, wait: Wait) -> bool;
}

/// A barrier of the library, as a place to meet.
#[repr(transparent)]
struct InMemory<M, B>(B, PhantomData<fn() -> M>);

impl<M: Machine, B: RawBarrier<M>> Meet for InMemory<M, B> {
    fn meet(&self, thread: u32, _: u64, wait: Wait) -> bool {
        self.0.wait(thread, wait)
    }
}

/// A count (a thread's episodes, or a sum of all threads), on a pair of lines of its own.
#[repr(C, align(128))]
struct Count<M: Machine>(M::Atomic<u64>);

/// The settings of the workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Meetings {
    /// Number of threads.
    pub threads: NonZeroU32,
    /// Mean number of cycles computed before each meeting.
    pub think: Cycles,
    /// Largest deviation of a computation from `think`, as a share of `think`.
    pub spread: f64,
    /// Number of meetings.
    pub iterations: u64,
}

impl Meetings {
    /// The threads, meeting at a barrier of type `B`. The check: no thread ran ahead of the thread
    /// that it looks at, each thread met as often as asked, and each meeting had one serial thread.
    pub fn team<M: Machine, B: RawBarrier<M>>(self, wait: Wait) -> Team {
        let barrier = InMemory(B::new(self.threads), PhantomData);
        self.team_at::<M, InMemory<M, B>>(&share(barrier), wait)
    }

    /// The threads, meeting at a barrier in the machine's queue device.
    ///
    /// # Errors
    /// The machine has no queue device, or no device with room.
    pub fn team_in_device<M: Machine>(self, barrier: DeviceBarrier, wait: Wait) -> Result<Team, Refused> {
        let barrier = InDevice::<M>::new(barrier, self.threads.get())?;
        let team = self.team_at::<M, InDevice<M>>(&barrier, wait);
        // A queue in a device is freed by a system call, which is no part of the run, so the check
        // keeps the barrier until the run is over.
        let verify = move || {
            drop(barrier);
            (team.verify)()
        };
        Ok(Team { verify: Box::new(verify), ..team })
    }

    fn team_at<M: Machine, B: Meet>(self, barrier: &Shared<M, B>, wait: Wait) -> Team {
        let threads = self.threads.get();
        let counts: Vec<_> = (0..threads).map(|_| share::<M, Count<M>>(Count(M::Atomic::new(0)))).collect();
        let count = || share::<M, Count<M>>(Count(M::Atomic::new(0)));
        let (serial, ahead) = (count(), count());
        let body = |thread: u32| {
            let (barrier, serial, ahead) = (barrier.clone(), serial.clone(), ahead.clone());
            let mine = counts[thread as usize].clone();
            let neighbour = counts[(thread as usize + 1) % counts.len()].clone();
            let mut think = Think::new(self.think, self.spread, u64::from(thread));
            Box::new(move || {
                for done in 0..self.iterations {
                    M::work(think.draw());
                    // Relaxed: the barrier orders the store.
                    mine.0.store(done + 1, Relaxed);
                    if barrier.meet(thread, done, wait) {
                        serial.0.fetch_add(1, Relaxed);
                    }
                    if neighbour.0.load(Relaxed) < done + 1 {
                        ahead.0.fetch_add(1, Relaxed);
                    }
                }
            }) as crate::Body
        };
        let bodies = (0..threads).map(body).collect();
        let verify = Box::new(move || {
            expect("meetings left before all had come", ahead.0.load(Relaxed), 0)?;
            expect("serial threads", serial.0.load(Relaxed), self.iterations)?;
            counts.iter().try_for_each(|count| expect("meetings", count.0.load(Relaxed), self.iterations))
        });
        Team::new(bodies, verify)
    }
}

/// The barrier at which the threads meet.
#[derive(Clone, Copy)]
enum Way {
    Memory(&'static BarrierInfo),
    Device(&'static DeviceBarrier),
}

impl Way {
    fn named(name: &str) -> Result<Way, Refused> {
        let memory = BARRIERS.iter().find(|barrier| barrier.name == name).map(Way::Memory);
        let device = || DEVICE_BARRIERS.iter().find(|barrier| barrier.name == name).map(Way::Device);
        let known = || BARRIERS.iter().map(|one| one.name).chain(DEVICE_BARRIERS.iter().map(|one| one.name));
        memory.or_else(device).ok_or_else(|| Refused::unknown("barrier", name, known()))
    }
}

/// Makes the team of [`Meetings`] at a barrier of the registry, or at one in the queue device.
#[derive(Clone, Copy)]
pub struct Meeting {
    barrier: Way,
    meetings: Meetings,
}

struct Make(Meetings, Wait);
impl<M: Machine> BarrierVisitor<M> for Make {
    type Out = Team;
    fn visit<B: RawBarrier<M>>(self) -> Team {
        self.0.team::<M, Known<M, B>>(self.1)
    }
}

impl Workload for Meeting {
    const INFO: WorkloadInfo =
        WorkloadInfo { name: "barrier", what: "Compute and meet at a barrier", figure: "cycles", has_locks: false };

    fn choose(knobs: &Knobs<'_>) -> Result<Meeting, Refused> {
        let barrier = Way::named(knobs.barrier)?;
        let no_thread = || Refused::because("a barrier needs a thread");
        let threads = NonZeroU32::new(knobs.threads_or_two()).ok_or_else(no_thread)?;
        let (think, spread, iterations) = (Cycles(knobs.think), knobs.spread, knobs.iterations_or(1000));
        Ok(Meeting { barrier, meetings: Meetings { threads, think, spread, iterations } })
    }

    fn threads(&self) -> u32 {
        self.meetings.threads.get()
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, _: P) -> Result<Team, Refused> {
        match self.barrier {
            Way::Memory(info) => barrier::visit::<M, _>(info.name, Make(self.meetings, wait)).map_err(Refused::because),
            Way::Device(info) => self.meetings.team_in_device::<M>(*info, wait),
        }
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(match self.barrier {
            Way::Memory(info) => info.name,
            Way::Device(info) => info.name,
        })
    }

    fn charge(&self) -> Charge {
        match self.barrier {
            Way::Memory(info) => Charge::Counted(info.counted),
            Way::Device(_) => Charge::Counted(device::counted()),
        }
    }
}
