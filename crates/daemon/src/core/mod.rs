//! The pure core: what happens to threads goes in, changes of their masks come out.
//!
//! The core keeps a picture of threads and CPUs (`board`), tells a placement of `baton-sched` what
//! happens, and turns the placement's answers into masks. A thread that the policy sends to a CPU
//! gets a mask of all usable CPUs of that CPU's kind; within a kind, the kernel balances. The core
//! reads no clock and calls nothing: the same inputs give the same decisions.
//!
//! | file | holds |
//! | --- | --- |
//! | `told` | what the core does with each input |
//! | `answers` | what it does with the placement's answers |
//! | `board` | the picture of threads and CPUs |
//! | `account` | what an application had of fast and slow cores |
//! | `table` | the threads by their numbers |
//! | `pace` | when the daemon looks again |
//!
//! | rule of the core's own | why |
//! | --- | --- |
//! | threads of a process are told to the policy when the process is 20 ms old | programs read their affinity at the start, and size their pools by it |
//! | a thread that waits gets the user's mask back if a CPU idles that only this mask has | narrowed masks must not keep CPUs idle |
//! | if no thread of the run had the CPU, such a thread is not narrowed again for ten time slices | other programs have the CPU |
//! | a thread that has not followed its mask for 20 ms is taken to be where it is | the policy must not wait for it |

mod account;
mod answers;
mod board;
mod pace;
mod table;
mod told;

pub use account::Had;
pub use pace::{CALM_NS, LOOK_NS};

use crate::input::{Begins, Decision, Input, Why};
use crate::setup::Setup;
use baton_sched::placement::{Answer, Class, Event, Placement};
use baton_sched::{AppId, LockNotice, ThreadId};
use baton_units::CpuId;
use board::{Board, State};
use std::collections::{BTreeMap, VecDeque};

/// The age at which a process's threads are told to the policy.
pub const MATURE_NS: u64 = 20_000_000;
/// How long a running thread may take to follow a new mask. After that the placement is told that
/// the thread has stayed where it was.
const FOLLOWS_NS: u64 = 20_000_000;
/// The time for which a CPU must have been idle, and a thread must have waited, before the thread
/// gets a wider mask.
const IDLES_NS: u64 = 4_000_000;

/// Time slices for which a thread that waited for other programs is not narrowed again: a round of
/// swaps.
const WIDE_SLICES: u64 = 10;

/// A process and when its threads are told to the policy.
struct Process {
    mature_at: u64,
    threads: u32,
}

/// What the placement is to be told.
enum Tell {
    Event(Event),
    /// Where the thread is when this is told. A move that an earlier event brings about counts.
    Place(ThreadId),
    /// That the CPU has nothing to do, if it has nothing to do when this is told.
    Idle(CpuId),
}

/// The state from which the policy decides: what each input says goes in, changes of masks come out.
pub struct Core {
    setup: Setup,
    placement: Box<dyn Placement>,
    board: Board,
    now: u64,
    processes: BTreeMap<u32, Process>,
    /// The time at which the placement wants [`Event::Period`].
    period: Option<u64>,
    classes: Vec<Class>,
    /// What the placement is still to be told.
    to_tell: VecDeque<Tell>,
    /// What the placement answers to an event; empty between two inputs.
    answers: Vec<Answer>,
    out: Vec<Decision>,
}

impl Core {
    /// Makes the core of a machine on which no thread is known.
    pub fn new(setup: Setup) -> Core {
        let placement = (setup.policy.make)(&setup.cpus, &crate::setup::params(setup.slice_ns));
        let apps = setup.apps.len();
        let mut core = Core {
            board: Board::new(&setup),
            placement,
            now: 0,
            processes: BTreeMap::new(),
            period: None,
            classes: vec![Class::default(); apps],
            to_tell: VecDeque::new(),
            answers: Vec::new(),
            out: Vec::new(),
            setup,
        };
        for (cpu, usable) in (0..).map(CpuId).zip(core.setup.usable.clone()) {
            if !usable {
                core.tell(Event::Online(cpu, false));
            }
        }
        core
    }

    /// The setup of which the core was made.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The class of each application.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// The time of the last input, in nanoseconds.
    pub fn time(&self) -> u64 {
        self.now
    }

    /// Whether the CPU is on.
    pub fn is_on(&self, cpu: CpuId) -> bool {
        self.board.is_usable(cpu.0)
    }

    /// The application to which the thread belongs; `None` if the thread does not live.
    pub fn app(&self, id: ThreadId) -> Option<AppId> {
        self.board.threads.get(id).map(|thread| thread.begins.app)
    }

    /// The mask that the user gave the thread; `None` if the thread does not live.
    pub fn user(&self, id: ThreadId) -> Option<&[u32]> {
        self.board.threads.get(id).map(|thread| &*thread.begins.cpus)
    }

    /// The threads that live: where each is, and what its mask was narrowed to.
    pub fn threads(&self) -> impl Iterator<Item = Where<'_>> {
        self.board.threads.iter().map(|(id, thread)| {
            let (state, cpu) = match thread.state {
                State::Asleep => ("sleeps", None),
                State::Waits(cpu) => ("waits", Some(cpu)),
                State::Runs(cpu) => ("runs", Some(cpu)),
            };
            let begins = &thread.begins;
            let (waits_for, holds) = (thread.waits_for.map(|(notice, _)| notice), thread.holds.len());
            Where {
                id,
                begins,
                state,
                cpu,
                given: thread.given,
                why: thread.why,
                known: thread.known,
                waits_for,
                holds,
            }
        })
    }

    /// The masks that a thread of this user mask may have from the core: narrowed to fast CPUs, and
    /// to slow ones.
    pub fn masks_of(&self, user: &[u32]) -> [Vec<u32>; 2] {
        [true, false].map(|fast| self.narrowed(user, fast))
    }

    /// The thread's mask as the core knows it: what it was narrowed to, or the user's.
    pub fn mask(&self, id: ThreadId) -> Option<Vec<u32>> {
        let thread = self.board.threads.get(id)?;
        Some(match thread.given {
            Some(fast) => self.narrowed(&thread.begins.cpus, fast),
            None => thread.begins.cpus.clone(),
        })
    }

    /// What the applications had up to now.
    pub fn had(&self) -> Vec<Had> {
        self.board.had(self.now)
    }

    fn narrowed(&self, user: &[u32], fast: bool) -> Vec<u32> {
        user.iter()
            .copied()
            .filter(|&cpu| self.board.is_usable(cpu) && self.board.is_fast(CpuId(cpu)) == fast)
            .collect()
    }

    /// Takes in an input. Returns the decisions.
    ///
    /// # Errors
    /// If the input cannot be: an unknown thread, CPU or application, or a time that goes back.
    pub fn hear(&mut self, now: u64, input: &Input) -> Result<Vec<Decision>, String> {
        self.check(now, input)?;
        self.now = now;
        match input {
            Input::Begins(id, begins) => self.begins(*id, begins),
            Input::Runs(id, cpu) => self.runs(*id, *cpu),
            Input::Waits(id, cpu) => self.waits(*id, *cpu),
            Input::Sleeps(id) => self.sleeps(*id),
            Input::Ends(id) => self.ends(*id),
            Input::Mask(id, cpus) => self.user_changed(*id, cpus),
            Input::Refused(id) => self.refused(*id),
            Input::Lock(id, notice, lock) => self.lock(*id, *notice, *lock),
            Input::Online(cpu, on) => self.online(*cpu, *on),
            Input::Tick => self.tick(),
        }
        self.drain();
        Ok(std::mem::take(&mut self.out))
    }

    fn check(&self, now: u64, input: &Input) -> Result<(), String> {
        if now < self.now {
            return Err(format!("the time {now} is before {}", self.now));
        }
        let cpus = |list: &[u32]| match list.iter().find(|&&cpu| cpu as usize >= self.setup.cpus.count()) {
            Some(cpu) => Err(format!("there is no CPU {cpu}")),
            None if list.is_empty() => Err("a mask has at least one CPU".into()),
            None => Ok(()),
        };
        let lives = |id: &ThreadId| match self.board.threads.get(*id).is_some() {
            true => Ok(()),
            false => Err(format!("no thread {} lives", id.0)),
        };
        match input {
            Input::Begins(id, begins) => {
                if id.0 != self.board.next {
                    return Err(format!("the next thread to begin is {}, not {}", self.board.next, id.0));
                }
                if begins.app.0 as usize >= self.setup.apps.len() {
                    return Err(format!("there is no application {}", begins.app.0));
                }
                cpus(&begins.cpus)
            }
            Input::Runs(id, cpu) | Input::Waits(id, cpu) => lives(id).and_then(|()| cpus(&[cpu.0])),
            Input::Sleeps(id) | Input::Ends(id) | Input::Refused(id) | Input::Lock(id, ..) => lives(id),
            Input::Mask(id, list) => lives(id).and_then(|()| cpus(list)),
            Input::Online(cpu, _) => cpus(&[cpu.0]),
            Input::Tick => Ok(()),
        }
    }
}

/// Where a thread is, and why.
#[derive(Clone, Copy, Debug)]
pub struct Where<'a> {
    pub id: ThreadId,
    pub begins: &'a Begins,
    /// `runs`, `waits` or `sleeps`.
    pub state: &'static str,
    pub cpu: Option<CpuId>,
    /// Whether its mask is narrowed to fast (`true`) or slow CPUs.
    pub given: Option<bool>,
    /// Why its mask last changed.
    pub why: Option<Why>,
    /// Whether the policy has been told of it.
    pub known: bool,
    /// Whether it waits for a lock ([`LockNotice::Wanted`]) or at a barrier, and the number of locks
    /// that it holds, as far as it has told.
    pub waits_for: Option<LockNotice>,
    pub holds: usize,
}

#[cfg(test)]
mod bars;
#[cfg(test)]
pub(crate) mod tests;
