//! The result of a run: its figures, or why it can never end.

use crate::base::counter::{Counter, Unit};
use crate::core::instructions::UNIT;
use crate::core::pipeline::Stall;
use crate::device::attached::DeviceFigures;
use crate::device::port::Hold;
use crate::engine::idle_wait::Still;
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::engine::stats::ThreadCounts;
use crate::engine::thread::{Thread, ThreadState};
use crate::engine::waiting::Waited;
use crate::os::app::AppFigures;
use crate::os::cpu::{CpuFigures, Doing};
use crate::os::governor::ClockFigures;
use crate::os::refused::Refused;
use crate::os::signal::{Death, Signal};
use crate::power::Spent;
use baton_memory::{CoreCounts, Memory, MemoryCounts, NetworkCounts, PARTS, Part};
use baton_units::{CpuId, Cycles};
use std::fmt;

/// The figures of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The time at which the run ended: with its last thread, when only applications were left that
    /// the run does not wait for ([`Runs`](crate::Runs)), or where it was cut off.
    pub cycles: Cycles,
    /// Whether all threads have ended, but for those of applications that the run does not wait
    /// for; false if the run was cut off.
    pub finished: bool,
    /// Operations that guests did one by one. Tries that were counted without being simulated are
    /// not included.
    pub guest_operations: u64,
    /// Events that the engine took from its queue.
    pub events: u64,
    /// How often a thread was put on a CPU.
    pub switches: u64,
    /// How often a thread became ready: it was woken, or began.
    pub wakes: u64,
    /// What the caches did.
    pub memory: MemoryCounts,
    /// What the chip's network did.
    pub network: NetworkCounts,
    /// What each core's caches did; empty on a chip of fixed latencies.
    pub cores: Vec<CoreCounts>,
    /// How long CPUs were in which power state, at which clock. The sum is the run's cycles times
    /// the number of the chip's CPUs.
    pub spent: Vec<Spent>,
    /// What each device did.
    pub devices: Vec<DeviceFigures>,
    /// How often a thread was put on another core than the one that it ran on last.
    pub migrations: u64,
    /// The figures of each application, in the order in which applications were added; threads that
    /// named none come first.
    pub apps: Vec<AppFigures>,
    /// The activities of each CPU, to the cycle.
    pub cpus: Vec<CpuFigures>,
    /// How clocks were governed; `None` without a governor.
    pub clocks: Option<ClockFigures>,
    /// Cores that were to be switched off at a planned time and could not be, and applications that
    /// could not begin: when, and why.
    pub refused: Vec<(Cycles, Refused)>,
    /// Applications that a signal ended, in the order of the signals.
    pub deaths: Vec<Death>,
    /// The figures of each thread, in the order in which threads were created.
    pub threads: Vec<ThreadFigures>,
}

/// The figures of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadFigures {
    /// The thread's name.
    pub name: String,
    /// When the thread was created.
    pub born: Cycles,
    /// When the thread ended, or the end of a run that was cut off before.
    pub ended: Cycles,
    /// The thread's cycles by reason; the sum is `ended - born`.
    pub times: [(Reason, Cycles); Reason::COUNT],
    /// The thread's time in the memory system ([`Reason::Memory`]) by what it was spent on, without
    /// `under_way`.
    pub memory: [(&'static str, Cycles); PARTS],
    /// The part of that time ([`Reason::Memory`]) spent on a request that was still under way when
    /// the run was cut off.
    pub under_way: Cycles,
    /// How often the thread did what.
    pub counts: ThreadCounts,
    /// The thread's own requests, loads and stores, whose line came from memory: what a processor
    /// counts as misses of its last-level cache. A request that waits for a line that another
    /// request has asked for is not included. 0 on a chip of fixed latencies.
    pub fetches: u64,
    /// The instructions, as far as they are known: those that are charged ([`Instructions`]), one
    /// for each operation, and those of the tries of waits. What a guest computes
    /// ([`Machine::work`]) is a number of cycles, and not included.
    ///
    /// [`Instructions`]: crate::Instructions
    /// [`Machine::work`]: baton_machine::Machine::work
    pub instructions: u64,
}

const UNDER_WAY: Counter =
    Counter { name: "under_way", unit: Unit::Cycles, what: "A request that was not served when the run was cut off." };
const ABSENT: Counter = Counter { name: "absent", unit: Unit::Cycles, what: "Before its start and after its end." };

impl ThreadFigures {
    /// The names that a [cycle stack](Self::cycle_stack) has, in its order.
    pub fn cycle_stack_declared() -> Vec<Counter> {
        let of = |(reason, declared): (Reason, &Counter)| match reason {
            Reason::Memory => Part::DECLARED.iter().copied().chain([UNDER_WAY]).collect(),
            _ => vec![*declared],
        };
        Reason::ALL.into_iter().zip(Reason::DECLARED).flat_map(of).chain([ABSENT]).collect()
    }

    /// Every cycle of a run of `cycles`, each under one name: the thread's life by reason, with
    /// [`Reason::Memory`] split by what that time was spent on, and `absent` before and after the
    /// thread's life. The sum is `cycles`.
    pub fn cycle_stack(&self, cycles: Cycles) -> Vec<(&'static str, Cycles)> {
        let mut stack = Vec::with_capacity(Reason::COUNT + PARTS + 1);
        for (reason, time) in self.times {
            match reason {
                Reason::Memory => {
                    stack.extend(self.memory);
                    stack.push((UNDER_WAY.name, self.under_way));
                }
                other => stack.push((other.name(), time)),
            }
        }
        stack.push((ABSENT.name, Cycles(cycles.0 - (self.ended.0 - self.born.0))));
        stack
    }

    /// The thread's cycles that were spent for `reason`.
    pub fn time(&self, reason: Reason) -> Cycles {
        self.times[reason as usize].1
    }
}

impl Outcome {
    pub(crate) fn read(engine: &mut Engine, finished: bool) -> Outcome {
        let now = engine.now;
        engine.charge_stalls();
        let waking: Vec<bool> = engine.os.cpus.iter().map(|cpu| cpu.doing == Doing::Waking).collect();
        let threads: Vec<ThreadFigures> = engine
            .threads
            .iter_mut()
            .map(|thread| {
                let mut under_way = 0;
                if thread.state != ThreadState::Done {
                    // The run was cut off: the time up to its end is charged to what the thread was
                    // doing.
                    let reason = match thread.state {
                        ThreadState::Ready => Reason::Ready,
                        ThreadState::Starting if waking[thread.cpu as usize] => Reason::Waking,
                        ThreadState::Starting => Reason::Switch,
                        ThreadState::Interrupted => Reason::Kernel,
                        ThreadState::Running => Reason::Memory,
                        ThreadState::Cancelling => Reason::Device,
                        ThreadState::Working(_) => Reason::Work,
                        ThreadState::Spinning => Reason::Spin,
                        ThreadState::IdleWait => Reason::Monitor,
                        ThreadState::Asleep | ThreadState::Done => Reason::Asleep,
                    };
                    if thread.stats.since < now {
                        if reason == Reason::Memory {
                            under_way = now - thread.stats.since;
                        }
                        thread.charge(reason, now);
                    }
                }
                // Interrupt handlers took these cycles from a computation that was cut off.
                let stolen = thread.pace.stolen.min(thread.stats.times[Reason::Work as usize]);
                thread.stats.shift(Reason::Work, Reason::Kernel, stolen);
                ThreadFigures {
                    name: thread.name.clone(),
                    born: Cycles(thread.stats.born),
                    ended: Cycles(thread.stats.since),
                    times: Reason::ALL.map(|reason| (reason, Cycles(thread.stats.times[reason as usize]))),
                    memory: memory_parts(thread, under_way),
                    under_way: Cycles(under_way),
                    counts: thread.stats.counts,
                    fetches: thread.stats.fetches,
                    instructions: thread.stats.instructions / UNIT + thread.stats.counts.operations,
                }
            })
            .collect();
        // The run ends with its last thread, not now: messages may have moved afterwards.
        let ended = threads.iter().map(|thread| thread.ended).max().unwrap_or_default();
        // Cores may have been switched off or on even later, while an application was still to begin
        // that then could not.
        let switched = engine.os.cpus.iter().map(|cpu| cpu.since).max().unwrap_or_default();
        let cycles = ended.max(Cycles(switched));
        for (cpu, number) in engine.os.cpus.iter_mut().zip(0..) {
            cpu.counts.steals = engine.os.policy.scheduler.steals(CpuId(number));
        }
        let cpus = (0..).zip(&mut engine.os.cpus);
        let cpus: Vec<CpuFigures> = cpus.map(|(number, cpu)| cpu.figures(number, cycles.0, &engine.chip.os)).collect();
        let spent = engine.metered(cycles, &cpus);
        Outcome {
            cycles,
            spent,
            finished,
            guest_operations: threads.iter().map(|thread| thread.counts.operations).sum(),
            events: engine.counts.events,
            switches: engine.counts.switches,
            wakes: engine.counts.wakes,
            memory: engine.memory.counts(),
            network: engine.memory.network_counts(),
            cores: engine.memory.by_core(),
            devices: engine.devices.as_ref().map_or(Vec::new(), |devices| devices.figures()),
            cpus,
            clocks: engine.clock_figures(cycles),
            apps: engine.app_figures(),
            migrations: engine.counts.migrations,
            refused: std::mem::take(&mut engine.os.switches.refused),
            deaths: std::mem::take(&mut engine.os.deaths),
            threads,
        }
    }
}

/// What a thread's time in the memory system was spent on. The parts of requests that the thread
/// waited for are recorded; the rest was spent on hits in the nearest cache, which are not recorded
/// one by one.
fn memory_parts(thread: &Thread, under_way: u64) -> [(&'static str, Cycles); PARTS] {
    let mut parts = Part::ALL.map(|part| (part.name(), Cycles(thread.stats.parts[part as usize])));
    let known: u64 = thread.stats.parts.iter().sum();
    let whole = thread.stats.times[Reason::Memory as usize] - under_way;
    // A request whose end was known when the run was cut off has its parts already, but not yet its
    // time.
    let mut early = known.saturating_sub(whole);
    debug_assert!(early == 0 || under_way != 0, "{}: {known} cycles of parts in {whole} of waiting", thread.name);
    for (_, time) in parts.iter_mut().rev() {
        let less = early.min(time.0);
        (time.0, early) = (time.0 - less, early - less);
    }
    parts[Part::L1 as usize].1.0 += whole.saturating_sub(known);
    parts
}

/// A run that can never end: threads are left, and nothing will wake any of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The time at which the run was found to be stuck.
    pub at: Cycles,
    /// The threads that have not ended.
    pub waiting: Vec<Waiting>,
    /// What waits for what in the memory system and at devices, one line of text each; empty if
    /// nothing is under way there.
    pub memory: Vec<String>,
}

/// A thread that waits for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The thread's number.
    pub thread: u32,
    /// The thread's name.
    pub name: String,
    /// How the thread waits, as words of a report: `spins`, `sleeps` and so on.
    pub how: &'static str,
    /// The time since which the thread waits.
    pub since: Cycles,
    /// What the thread waits for.
    pub on: WaitingOn,
    /// Signals that have come to the thread and that it blocks.
    pub blocked: Vec<Signal>,
}

/// What a thread waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitingOn {
    /// A cell.
    Cell {
        /// The cell's offset in guest memory.
        offset: u64,
        /// The number of the cell's line.
        line: u64,
        /// The thread that wrote the cell last, by number and name; `None` if only the setup did.
        writer: Option<(u32, String)>,
    },
    /// The end of a thread, by number and name.
    Thread(u32, String),
    /// A device, by number, and why the device holds the thread's request, if it does.
    Device(u32, Option<Hold>),
    /// Nothing that is known.
    Unknown,
}

impl Stuck {
    pub(crate) fn read(engine: &Engine) -> Stuck {
        let name = |id: u32| (id, engine.threads[id as usize].name.clone());
        let waiting = engine.threads.iter().enumerate().filter(|(_, thread)| thread.state != ThreadState::Done);
        let waiting = waiting.map(|(id, thread)| {
            let (on, since) = match engine.waits(id as u32) {
                Some((Waited::Cell(offset), since)) => {
                    let writer = engine.guest.writers[offset / 8].checked_sub(1).map(name);
                    let line = (offset >> engine.guest.line_shift) as u64;
                    (WaitingOn::Cell { offset: offset as u64, line, writer }, since)
                }
                Some((Waited::Thread(other), since)) => {
                    let (id, name) = name(other);
                    (WaitingOn::Thread(id, name), since)
                }
                Some((Waited::Device(device), since)) => {
                    let packet = match thread.pipeline.stall {
                        Some(Stall::Answer { packet, .. }) => Some(packet),
                        _ => thread.pipeline.buffer.oldest_request(),
                    };
                    let held = packet.and_then(|packet| engine.devices.as_ref()?.packet(packet).held);
                    (WaitingOn::Device(device, held.map(|(why, ..)| why)), since)
                }
                Some((Waited::Armed(device), since)) => (WaitingOn::Device(device, None), since),
                Some((Waited::Time, since)) => (WaitingOn::Unknown, since),
                None => (WaitingOn::Unknown, thread.stats.since),
            };
            let how = match thread.state {
                ThreadState::Asleep => "sleeps",
                ThreadState::Spinning => "spins",
                ThreadState::IdleWait if thread.wait.idle.still == Still::Halted => "is halted",
                ThreadState::IdleWait => "waits with its monitor",
                ThreadState::Ready if matches!(on, WaitingOn::Unknown) => "waits for a CPU",
                ThreadState::Ready => "waits for a CPU, and",
                _ => "waits",
            };
            let blocked = thread.os.signals.pending.list();
            Waiting { thread: id as u32, name: thread.name.clone(), how, since: Cycles(since), on, blocked }
        });
        let waiting = waiting.collect();
        let devices = engine.devices.iter().flat_map(|devices| devices.explain());
        let memory = engine.memory.explain().into_iter().chain(devices).collect();
        Stuck { at: Cycles(engine.now), waiting, memory }
    }
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing can happen any more at {}: {} thread(s) wait for ever", self.at, self.waiting.len())?;
        for waiting in &self.waiting {
            write!(f, "\n  thread {} ({}) {} ", waiting.thread, waiting.name, waiting.how)?;
            match &waiting.on {
                WaitingOn::Cell { offset, line, writer } => {
                    write!(f, "on the cell at {offset:#x} (line {line}) since {}, ", waiting.since)?;
                    match writer {
                        Some((id, name)) => write!(f, "last written by thread {id} ({name})")?,
                        None => write!(f, "written by no thread")?,
                    }
                }
                WaitingOn::Thread(id, name) => {
                    write!(f, "for the end of thread {id} ({name}) since {}", waiting.since)?;
                }
                WaitingOn::Device(device, held) => {
                    let why = match held {
                        Some(Hold::Full) => ", which has no room for what it brings",
                        Some(Hold::Empty) => ", which does not have what it wants",
                        None => "",
                    };
                    write!(f, "for device {device}{why}, since {}", waiting.since)?;
                }
                WaitingOn::Unknown => write!(f, "since {}", waiting.since)?,
            }
            for signal in &waiting.blocked {
                write!(f, "; signal {} has come, which it blocks", signal.number())?;
            }
        }
        self.memory.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl std::error::Error for Stuck {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_stack_is_as_declared() {
        let thread = ThreadFigures {
            name: String::new(),
            born: Cycles(3),
            ended: Cycles(7),
            times: Reason::ALL.map(|reason| (reason, Cycles(0))),
            memory: Part::ALL.map(|part| (part.name(), Cycles(0))),
            under_way: Cycles(0),
            counts: ThreadCounts::default(),
            fetches: 0,
            instructions: 0,
        };
        let stack = thread.cycle_stack(Cycles(10));
        let declared: Vec<&str> = ThreadFigures::cycle_stack_declared().iter().map(|one| one.name).collect();
        assert_eq!(stack.iter().map(|(name, _)| *name).collect::<Vec<_>>(), declared);
        assert_eq!(stack.last(), Some(&("absent", Cycles(6))));
        assert!(
            declared.contains(&"under_way") && declared.contains(&"network_queueing") && declared.contains(&"ready")
        );
    }
}
