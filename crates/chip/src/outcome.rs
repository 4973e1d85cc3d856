//! What comes out of a run: figures, or why it can never end.

use crate::base::counter::{Counter, Unit};
use crate::core::instructions::UNIT;
use crate::core::pipeline::Stall;
use crate::device::attached::DeviceFigures;
use crate::device::port::Hold;
use crate::engine::idle_wait::Still;
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::engine::stats::ThreadCounts;
use crate::engine::thread::{State, Thread};
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
    /// When the last thread ended, or the time limit.
    pub cycles: Cycles,
    /// Every thread has ended.
    pub finished: bool,
    /// Operations that guests did one by one; tries that were counted without being simulated are not among them.
    pub guest_operations: u64,
    /// Steps of the engine's queue.
    pub events: u64,
    /// Threads put on a core.
    pub switches: u64,
    /// Threads made ready.
    pub wakes: u64,
    /// What the caches did.
    pub memory: MemoryCounts,
    /// What their network did.
    pub network: NetworkCounts,
    /// What each core's caches did; empty on a chip of fixed latencies.
    pub cores: Vec<CoreCounts>,
    /// How long CPUs were in which state: sums to the run's cycles for each CPU of the chip.
    pub spent: Vec<Spent>,
    /// What each device did.
    pub devices: Vec<DeviceFigures>,
    /// Threads put on another core than the one they ran on last.
    pub migrations: u64,
    /// By application, in the order in which they were added; threads that named none come first.
    pub apps: Vec<AppFigures>,
    /// What each CPU did, cycle by cycle.
    pub cpus: Vec<CpuFigures>,
    /// How clocks were governed; `None` without a governor.
    pub clocks: Option<ClockFigures>,
    /// Cores that were to be switched off at a time and could not be: when, and why.
    pub refused: Vec<(Cycles, Refused)>,
    /// Applications that a signal ended, in the order in which that happened.
    pub deaths: Vec<Death>,
    /// By thread, in the order of their creation.
    pub threads: Vec<ThreadFigures>,
}

/// The figures of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadFigures {
    /// Its name.
    pub name: String,
    /// When it was created.
    pub born: Cycles,
    /// When it ended (or the run did).
    pub ended: Cycles,
    /// Where its cycles went; sums to `ended - born`.
    pub times: [(Reason, Cycles); Reason::COUNT],
    /// What its time in the memory system ([`Reason::Memory`]) went to, by name; sums to it.
    pub memory: [(&'static str, Cycles); PARTS],
    /// Of that time, what it had waited for a request that was under way when the run was cut off.
    pub under_way: Cycles,
    /// What it did how often.
    pub counts: ThreadCounts,
    /// Its own requests, loads and stores, whose line came from memory: what a processor counts as misses of its last level. One that waits
    /// for a line that another request has asked for is not among them. 0 on a chip of fixed latencies.
    pub fetches: u64,
    /// Instructions, as far as they are known: those that are charged ([`Instructions`]), each operation, and tries of waits. What a guest
    /// computes ([`Machine::work`]) is cycles, and not among them.
    ///
    /// [`Instructions`]: crate::Instructions
    /// [`Machine::work`]: baton_machine::Machine::work
    pub instructions: u64,
}

const UNDER_WAY: Counter =
    Counter { name: "under_way", unit: Unit::Cycles, what: "A request that was not served when the run was cut off." };
const ABSENT: Counter = Counter { name: "absent", unit: Unit::Cycles, what: "Before its start and after its end." };

impl ThreadFigures {
    /// What a [cycle stack](Self::cycle_stack) is made of, in its order.
    pub fn cycle_stack_declared() -> Vec<Counter> {
        let of = |(reason, declared): (Reason, &Counter)| match reason {
            Reason::Memory => Part::DECLARED.iter().copied().chain([UNDER_WAY]).collect(),
            _ => vec![*declared],
        };
        Reason::ALL.into_iter().zip(Reason::DECLARED).flat_map(of).chain([ABSENT]).collect()
    }

    /// Every cycle of a run of `cycles`, each with one reason: the thread's life with its time in the memory system by
    /// what it went to, and `absent` before and after. Sums to `cycles`.
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

    /// Cycles that went to `reason`.
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
                if thread.state != State::Done {
                    // Cut off: what it was doing gets the time up to the limit.
                    let reason = match thread.state {
                        State::Ready => Reason::Ready,
                        State::Starting if waking[thread.cpu as usize] => Reason::Waking,
                        State::Starting => Reason::Switch,
                        State::Interrupted => Reason::Kernel,
                        State::Running => Reason::Memory,
                        State::Cancelling => Reason::Device,
                        State::Working(_) => Reason::Work,
                        State::Spinning => Reason::Spin,
                        State::IdleWait => Reason::Monitor,
                        State::Asleep | State::Done => Reason::Asleep,
                    };
                    if thread.stats.since < now {
                        if reason == Reason::Memory {
                            under_way = now - thread.stats.since;
                        }
                        thread.charge(reason, now);
                    }
                }
                // Handlers that came into a computation that was cut off.
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
        let ended = threads.iter().map(|thread| thread.ended).max().unwrap_or_default();
        // An application was to come after that, and could not: cores may have been switched meanwhile.
        let switched = engine.os.cpus.iter().map(|cpu| cpu.since).max().unwrap_or_default();
        let cycles = ended.max(Cycles(switched));
        // Messages may still have moved after the last thread's end.
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

/// What a thread's time in the memory system went to. The parts of requests that it waited for are known; what is left
/// were hits in the nearest cache, whose time is not noted one by one.
fn memory_parts(thread: &Thread, under_way: u64) -> [(&'static str, Cycles); PARTS] {
    let mut parts = Part::ALL.map(|part| (part.name(), Cycles(thread.stats.parts[part as usize])));
    let known: u64 = thread.stats.parts.iter().sum();
    let whole = thread.stats.times[Reason::Memory as usize] - under_way;
    // A request whose end was known when the run was cut off has its parts, but not yet its time.
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
    /// When the last thing happened.
    pub at: Cycles,
    /// The threads that are left.
    pub waiting: Vec<Waiting>,
    /// Who waits for what in the memory system, a line each; empty if nothing is under way there.
    pub memory: Vec<String>,
}

/// A thread that waits for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its number.
    pub thread: u32,
    /// Its name.
    pub name: String,
    /// It spins, sleeps, or what else.
    pub how: &'static str,
    /// Since when.
    pub since: Cycles,
    /// What it waits for.
    pub on: WaitingOn,
    /// Signals that have come to it and that it blocks.
    pub blocked: Vec<Signal>,
}

/// What a thread waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitingOn {
    /// A cell.
    Cell {
        /// Where it lies in guest memory.
        offset: u64,
        /// Its line.
        line: u64,
        /// The thread that wrote it last, by number and name; `None`: only the setup did.
        writer: Option<(u32, String)>,
    },
    /// The end of a thread, by number and name.
    Thread(u32, String),
    /// A device, by number, and why that keeps its request.
    Device(u32, Option<Hold>),
    /// Nothing that is known.
    Unknown,
}

impl Stuck {
    pub(crate) fn read(engine: &Engine) -> Stuck {
        let name = |id: u32| (id, engine.threads[id as usize].name.clone());
        let waiting = engine.threads.iter().enumerate().filter(|(_, thread)| thread.state != State::Done);
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
                Some((Waited::Time, since)) => (WaitingOn::Unknown, since),
                None => (WaitingOn::Unknown, thread.stats.since),
            };
            let how = match thread.state {
                State::Asleep => "sleeps",
                State::Spinning => "spins",
                State::IdleWait if thread.wait.idle.still == Still::Halted => "is halted",
                State::IdleWait => "waits with its monitor",
                State::Ready if matches!(on, WaitingOn::Unknown) => "waits for a CPU",
                State::Ready => "waits for a CPU, and",
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
