//! Simulates more threads than were recorded. Each further thread repeats what one of the recorded
//! threads did, the recorded threads taking turns, so the work grows with the number of threads.
//! The model holds only if threads depend on each other through locks alone. A program whose
//! threads meet at barriers, signal each other or start each other is refused.

use crate::program::{Op, Ops, Program, Script};
use thiserror::Error;

/// Why the number of threads of a program cannot be changed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ScaleError {
    /// The first thread of the program starts no other thread.
    #[error("--threads: the recorded program's first thread starts no other, so there is nothing to repeat")]
    Alone,
    /// Fewer threads were asked for than were recorded.
    #[error(
        "--threads {asked}: the recorded program starts {has} threads; only more can be simulated, as a recording does not say how the program would divide its work among fewer: record it with {asked}"
    )]
    Fewer {
        asked: u32,
        /// The number of threads that the recorded program starts.
        has: u32,
    },
    /// The simulator cannot run this many threads.
    #[error("--threads {0}: at most 4096 threads can be simulated")]
    Many(u32),
    /// A thread depends on other threads by more than locks.
    #[error("--threads: thread `{thread}` {does}; what a further thread would do there is not recorded")]
    Depends {
        thread: String,
        /// What the thread does that depends on other threads.
        does: &'static str,
    },
}

/// Returns the program with `threads` threads that its first thread starts, and the assumption
/// behind it as a sentence.
pub fn to(mut program: Program, threads: u32) -> Result<(Program, String), ScaleError> {
    let started = |ops: &Ops| -> Vec<u32> {
        ops.iter().filter_map(|op| if let Op::Spawn(thread) = op { Some(thread) } else { None }).collect()
    };
    let Some(first) = program.threads.first() else { return Err(ScaleError::Alone) };
    let workers = started(&first.ops);
    let has = workers.len() as u32;
    if has == 0 {
        return Err(ScaleError::Alone);
    }
    if threads < has {
        return Err(ScaleError::Fewer { asked: threads, has });
    }
    if threads > 4096 {
        return Err(ScaleError::Many(threads));
    }
    for thread in &program.threads {
        let does = thread.ops.iter().find_map(|op| match op {
            Op::Meet(_) => Some("meets others at a barrier"),
            Op::TokenWait(_) | Op::TokenPost(_) => Some("waits for a condition or signals one"),
            Op::SemTake(_) | Op::SemPost(_) => Some("uses a semaphore"),
            Op::Put(..) | Op::Take(..) => Some("puts items into a queue or takes them out"),
            Op::Share(_) => Some("takes work from a store that it shares with others"),
            _ => None,
        });
        if let Some(does) = does {
            return Err(ScaleError::Depends { thread: thread.name.clone(), does });
        }
    }
    if let Some(&worker) = workers.iter().find(|&&worker| !started(&program.threads[worker as usize].ops).is_empty()) {
        let thread = program.threads[worker as usize].name.clone();
        return Err(ScaleError::Depends { thread, does: "starts threads itself" });
    }
    let mut further = Vec::new();
    for i in has..threads {
        let model = &program.threads[workers[(i % has) as usize] as usize];
        let script = Script {
            name: format!("{} again", model.name),
            at: None,
            cpus: model.cpus.clone(),
            ops: model.ops.clone(),
            turns: model.turns,
            awaits: model.awaits.clone(),
        };
        further.push(program.threads.len() as u32);
        program.threads.push(script);
    }
    let first = &mut program.threads[0];
    let after = |ops: &Ops, is: fn(Op) -> bool| ops.iter().rposition(is).map_or(ops.len(), |at| at + 1);
    let joins = after(&first.ops, |op| matches!(op, Op::Join(_)));
    first.insert(joins, further.iter().map(|&thread| Op::Join(thread)));
    let spawns = after(&first.ops, |op| matches!(op, Op::Spawn(_)));
    first.insert(spawns, further.iter().map(|&thread| Op::Spawn(thread)));
    if !first.awaits.is_empty() {
        first.awaits.extend(&further);
    }
    let model = format!(
        "{threads} threads where {has} were recorded: each further thread repeats what a recorded one did, so there is \
         {:.1} times the work",
        f64::from(threads) / f64::from(has)
    );
    Ok((program, model))
}
