//! What the core is told and what it decides, as values and as lines of a log.

use baton_machine::discover::cpulist;
use baton_sched::placement::Class;
use baton_sched::{AppId, LockNotice, ThreadId};
use baton_units::CpuId;

/// A thread that begins, or is seen for the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begins {
    pub app: AppId,
    /// The kernel's numbers of the process and the thread.
    pub pid: u32,
    pub tid: u32,
    /// The CPUs on which the user lets the thread run, ascending.
    pub cpus: Vec<u32>,
    /// Whether the process has just begun. Its threads are not moved for a while, because programs
    /// read their affinity at the start.
    pub young: bool,
    /// Whether the thread has inherited a narrowed mask from its creator.
    pub inherited: bool,
}

/// What the core is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Begins(ThreadId, Begins),
    /// The thread has this CPU.
    Runs(ThreadId, CpuId),
    /// The thread can run, and waits for this CPU.
    Waits(ThreadId, CpuId),
    /// The thread is blocked.
    Sleeps(ThreadId),
    Ends(ThreadId),
    /// The user's mask of the thread has changed; the present mask is this one.
    Mask(ThreadId, Vec<u32>),
    /// The kernel refuses to change the thread's mask.
    Refused(ThreadId),
    /// The thread tells what it does with a lock or barrier, which has a number.
    Lock(ThreadId, LockNotice, u64),
    Online(CpuId, bool),
    /// Time has passed.
    Tick,
}

/// Why a mask changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The policy sends the thread to a CPU that idles or has a shorter queue.
    Move,
    /// The policy swaps the thread with another one.
    Swap,
    /// The thread waits while a CPU that the user allows, but its narrowed mask does not, idles.
    Room,
    /// The thread has inherited the narrowed mask of its creator.
    Inherited,
}

impl Why {
    const ALL: [Why; 4] = [Why::Move, Why::Swap, Why::Room, Why::Inherited];

    /// The word in logs.
    pub fn name(self) -> &'static str {
        match self {
            Why::Move => "move",
            Why::Swap => "swap",
            Why::Room => "room",
            Why::Inherited => "inherited",
        }
    }
}

/// What the core decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The thread is to run on these CPUs only.
    Mask(ThreadId, Vec<u32>, Why),
    Class(AppId, Class),
    /// The application has had the class SP for the full time.
    Demoted(AppId),
}

impl Decision {
    /// The decision as words of a log.
    pub fn text(&self) -> String {
        match self {
            Decision::Mask(id, cpus, why) => format!("mask {} {} {}", id.0, cpulist::show(cpus), why.name()),
            Decision::Class(app, class) => format!("class {} {}", app.0, class.name()),
            Decision::Demoted(app) => format!("demoted {}", app.0),
        }
    }
}

impl Input {
    /// The input as words of a log.
    pub fn text(&self) -> String {
        match self {
            Input::Begins(id, begins) => {
                let Begins { app, pid, tid, cpus, young, inherited } = begins;
                let age = if *young { "young" } else { "old" };
                let whose = if *inherited { "inherited" } else { "own" };
                format!("begins {} app {} pid {pid} tid {tid} cpus {} {age} {whose}", id.0, app.0, cpulist::show(cpus))
            }
            Input::Runs(id, cpu) => format!("runs {} {}", id.0, cpu.0),
            Input::Waits(id, cpu) => format!("waits {} {}", id.0, cpu.0),
            Input::Sleeps(id) => format!("sleeps {}", id.0),
            Input::Ends(id) => format!("ends {}", id.0),
            Input::Mask(id, cpus) => format!("mask {} {}", id.0, cpulist::show(cpus)),
            Input::Refused(id) => format!("refused {}", id.0),
            Input::Lock(id, notice, lock) => format!("lock {} {} {lock}", id.0, word(*notice)),
            Input::Online(cpu, on) => format!("online {} {}", cpu.0, u32::from(*on)),
            Input::Tick => "tick".into(),
        }
    }

    /// Reads the words of a log; `None` if they are no input.
    pub fn read(words: &[&str]) -> Option<Input> {
        let number = |at: usize| words.get(at)?.parse::<u32>().ok();
        let thread = || number(1).map(ThreadId);
        let on = |at: usize| number(at).map(CpuId);
        let (&verb, counts) = (words.first()?, |n: usize| (words.len() == n).then_some(()));
        Some(match verb {
            "begins" => {
                let &[_, _, "app", app, "pid", pid, "tid", tid, "cpus", cpus, age, whose] = words else { return None };
                let begins = Begins {
                    app: AppId(app.parse().ok()?),
                    pid: pid.parse().ok()?,
                    tid: tid.parse().ok()?,
                    cpus: read_cpus(cpus)?,
                    young: one_of(age, "young", "old")?,
                    inherited: one_of(whose, "inherited", "own")?,
                };
                Input::Begins(thread()?, begins)
            }
            "runs" => (Input::Runs(thread()?, on(2)?), counts(3)?).0,
            "waits" => (Input::Waits(thread()?, on(2)?), counts(3)?).0,
            "sleeps" => (Input::Sleeps(thread()?), counts(2)?).0,
            "ends" => (Input::Ends(thread()?), counts(2)?).0,
            "mask" => (Input::Mask(thread()?, read_cpus(words.get(2)?)?), counts(3)?).0,
            "refused" => (Input::Refused(thread()?), counts(2)?).0,
            "lock" => {
                let notice = NOTICES.into_iter().find(|&notice| Some(&word(notice)) == words.get(2))?;
                (Input::Lock(thread()?, notice, words.get(3)?.parse().ok()?), counts(4)?).0
            }
            "online" => (Input::Online(on(1)?, one_of(words.get(2)?, "1", "0")?), counts(3)?).0,
            "tick" => (Input::Tick, counts(1)?).0,
            _ => return None,
        })
    }
}

const NOTICES: [LockNotice; 4] = [LockNotice::Wanted, LockNotice::Taken, LockNotice::Left, LockNotice::Arrived];

/// The word of a notice in logs.
fn word(notice: LockNotice) -> &'static str {
    match notice {
        LockNotice::Wanted => "wants",
        LockNotice::Taken => "takes",
        LockNotice::Left => "leaves",
        LockNotice::Arrived => "arrives",
    }
}

/// Reads a list of CPUs that is not empty.
fn read_cpus(word: &str) -> Option<Vec<u32>> {
    cpulist::parse(word).filter(|cpus| !cpus.is_empty())
}

fn one_of(word: &str, yes: &str, no: &str) -> Option<bool> {
    (word == yes || word == no).then(|| word == yes)
}

/// Reads the words of a decision; `None` if they are none.
pub fn is_decision(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        ["mask", id, cpus, why] => {
            id.parse::<u32>().is_ok() && read_cpus(cpus).is_some() && Why::ALL.iter().any(|each| each.name() == why)
        }
        ["class", app, class] => app.parse::<u32>().is_ok() && ["sp", "mp", "hp"].contains(&class),
        ["demoted", app] => app.parse::<u32>().is_ok(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_round_trip() {
        let begins = Begins { app: AppId(1), pid: 7, tid: 9, cpus: vec![0, 1, 3], young: true, inherited: false };
        let (id, cpu) = (ThreadId(4), CpuId(2));
        let inputs = [
            Input::Begins(id, begins.clone()),
            Input::Begins(id, Begins { young: false, inherited: true, ..begins }),
            Input::Runs(id, cpu),
            Input::Waits(id, cpu),
            Input::Sleeps(id),
            Input::Ends(id),
            Input::Mask(id, vec![5]),
            Input::Refused(id),
            Input::Lock(id, LockNotice::Arrived, u64::MAX),
            Input::Online(cpu, false),
            Input::Tick,
        ];
        for input in inputs {
            let text = input.text();
            let words: Vec<&str> = text.split_whitespace().collect();
            assert_eq!(Input::read(&words), Some(input), "{text}");
            // A word too few or too many is no input.
            assert_eq!(Input::read(&words[..words.len() - 1]), None, "{text}");
            assert_eq!(Input::read(&[&words[..], &["x"]].concat()), None, "{text}");
        }
    }
}
