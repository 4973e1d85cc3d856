//! Tells whether a thread that is found at an address of code waits there: whether it goes round in a loop
//! that ends only if another thread writes to memory.
//!
//! The instructions of one turn are gone through with registers and memory whose contents are not known, but
//! which are compared ([`values`], [`state`], [`step`]). The loop is one that waits if
//!
//! - it leads back to where it began,
//! - two turns later all registers and all memory are as they were after the turn before, so that without
//!   another thread it would go on for ever,
//! - it writes to the thread's own stack and by atomic read-modify-writes only, and
//! - what it reads from memory decides whether it goes on.
//!
//! A loop is therefore work if it counts, sums, goes along an array or a list, or writes its results.
//! An exchange that fails (a lock that is tried) is a look at memory. Calls are followed within the object
//! file. A loop with an instruction that [`decode`] does not know counts as work, as does one that looks for
//! a set number of times before it does something else.

mod decode;
mod state;
mod step;
mod values;

use decode::{Action, Condition, EQUAL, Instruction, RSP};
use state::{Flags, State, Unchanging};
use std::collections::{BTreeMap, BTreeSet};
use step::Then;
use values::Values;

/// The most instructions of a turn.
const TURN: usize = 600;

/// The most instructions that are gone through to tell one loop.
const BUDGET: u32 = 2000;

/// The most beginnings of loops that are tried for one address.
const BEGINNINGS: usize = 4;

/// The most branches of a turn that can go both ways. A loop that waits hardly decides anything.
const BRANCHES: usize = 6;

/// The greatest distance of a loop's instructions from its beginning, in bytes, other than those of functions
/// that it calls.
const NEAR: u64 = 256;

/// The longest instruction.
const LONGEST: u64 = 15;

/// A loop that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waits {
    /// The loop's first instruction.
    pub(crate) begin: u64,
    /// Number of instructions that a thread goes through in one turn.
    pub(crate) instructions: usize,
    /// The addresses of all its instructions, with those of the functions that it calls.
    pub(crate) code: BTreeSet<u64>,
}

impl Waits {
    /// The loop where its object file is loaded `bias` bytes higher.
    pub(crate) fn moved(self, bias: u64) -> Waits {
        let code = self.code.iter().map(|address| address.wrapping_add(bias)).collect();
        Waits { begin: self.begin.wrapping_add(bias), code, ..self }
    }
}

/// An object file's code and constants, by its own addresses.
pub(crate) trait Code {
    /// The bytes from an address on, at most `most`.
    fn bytes(&self, address: u64, most: u64) -> &[u8];
}

impl<C: Code> Unchanging for C {
    fn read(&self, address: u64, width: u8) -> Option<u64> {
        let bytes = self.bytes(address, u64::from(width));
        let mut value = [0; 8];
        value.get_mut(..bytes.len())?.copy_from_slice(bytes);
        (bytes.len() == usize::from(width)).then(|| u64::from_le_bytes(value))
    }
}

/// Returns the loop that waits in which a thread is at `address`; `None` if the thread works there.
pub(crate) fn waits_at(code: &impl Code, address: u64) -> Option<Waits> {
    let mut look =
        Look { code, values: Values::default(), left: BUDGET, seen: BTreeMap::new(), backwards: BTreeSet::new() };
    let found = look.turn(address);
    let mut beginnings = std::mem::take(&mut look.backwards);
    beginnings.remove(&address);
    let mut tried = beginnings.into_iter().rev().take(BEGINNINGS);
    found.or_else(|| {
        tried.find_map(|begin| {
            look.left = BUDGET;
            look.turn(begin).filter(|waits| waits.code.contains(&address))
        })
    })
}

/// A thread on its way through a turn.
#[derive(Clone)]
struct Way {
    state: State,
    at: u64,
    /// The instructions that it has passed.
    passed: Vec<u64>,
    /// Number of functions that have been called and have not returned.
    depth: i32,
    assumed: Assumed,
}

/// What was assumed where it was not known which way a branch goes: conditions, and whether they hold.
#[derive(Clone, Default)]
struct Assumed(Vec<(Condition, Flags, bool)>);

impl Assumed {
    /// Assumes that a condition holds, or that it does not. False if the contrary was assumed before.
    fn assume(&mut self, condition: Condition, flags: Flags, holds: bool) -> bool {
        let (condition, holds) = (condition >> 1, holds != (condition & 1 == 1));
        match self.0.iter().find(|(known, of, _)| (*known, *of) == (condition, flags)) {
            Some((.., before)) => *before == holds,
            None => {
                if flags != Flags::Unknown {
                    self.0.push((condition, flags, holds));
                }
                true
            }
        }
    }
}

struct Look<'a, C> {
    code: &'a C,
    values: Values,
    /// Number of instructions that may still be gone through.
    left: u32,
    seen: BTreeMap<u64, Option<Instruction>>,
    /// Where jumps backwards go.
    backwards: BTreeSet<u64>,
}

impl<C: Code> Look<'_, C> {
    /// Looks for a turn that begins and ends at an address, and changes nothing.
    fn turn(&mut self, begin: u64) -> Option<Waits> {
        let state = State::new(&mut self.values);
        let mut ways = vec![Way { state, at: begin, passed: Vec::new(), depth: 0, assumed: Assumed::default() }];
        while let Some(way) = ways.pop() {
            if let Some(waits) = self.follow(way, begin, &mut ways) {
                return Some(waits);
            }
        }
        None
    }

    /// Follows a way to the end of its turn. Other ways, where a branch can go both, are put aside.
    fn follow(&mut self, mut way: Way, begin: u64, ways: &mut Vec<Way>) -> Option<Waits> {
        loop {
            if way.passed.len() >= TURN || way.depth == 0 && way.at.abs_diff(begin) > NEAR {
                return None;
            }
            let from = way.at;
            let then = self.step(&mut way.state, &mut way.assumed, from)?;
            way.passed.push(from);
            match then {
                Then::At(to) => way.at = to,
                Then::If(condition, target, next) => {
                    let mut other = way.clone();
                    other.at = next;
                    if other.assumed.assume(condition, way.state.flags, false) && ways.len() < BRANCHES {
                        ways.push(other);
                    }
                    if !way.assumed.assume(condition, way.state.flags, true) {
                        return None;
                    }
                    way.at = target;
                }
            }
            let action = self.instruction(from).map(|instruction| instruction.action);
            way.depth += depth(action);
            if way.at <= from && !matches!(action, Some(Action::Call(_) | Action::Return)) {
                self.backwards.insert(way.at);
            }
            if way.at == begin && way.state.register(RSP) == self.values.register(RSP) {
                return self.changes_nothing(&way).then(|| self.waits(way.passed));
            }
        }
    }

    /// Whether a second and a third turn along the same way are possible and leave everything as it is.
    fn changes_nothing(&mut self, way: &Way) -> bool {
        let mut assumed = way.assumed.clone();
        let mut state = way.state.clone();
        if !self.repeat(&way.passed, &mut state, &mut assumed) {
            return false;
        }
        let second = state.clone();
        self.repeat(&way.passed, &mut state, &mut assumed) && state.looked && state.is(&second)
    }

    /// Goes along a known way. False if it is not possible.
    fn repeat(&mut self, passed: &[u64], state: &mut State, assumed: &mut Assumed) -> bool {
        let after = passed.iter().skip(1).chain(passed.first());
        passed.iter().zip(after).all(|(from, to)| match self.step(state, assumed, *from) {
            Some(Then::At(address)) => address == *to,
            Some(Then::If(condition, target, next)) => {
                (target == *to || next == *to) && assumed.assume(condition, state.flags, target == *to)
            }
            None => false,
        })
    }

    fn step(&mut self, state: &mut State, assumed: &mut Assumed, at: u64) -> Option<Then> {
        self.left = self.left.checked_sub(1)?;
        let instruction = self.instruction(at)?;
        let then = step::step(state, &mut self.values, self.code, &instruction)?;
        let failed = state.failed.take();
        failed.is_none_or(|compared| assumed.assume(EQUAL, compared, false)).then_some(then)
    }

    fn instruction(&mut self, at: u64) -> Option<Instruction> {
        let code = self.code;
        *self.seen.entry(at).or_insert_with(|| decode::decode(at, code.bytes(at, LONGEST)))
    }

    fn waits(&mut self, passed: Vec<u64>) -> Waits {
        let (mut called, mut begin) = (0, u64::MAX);
        for at in &passed {
            if called == 0 {
                begin = begin.min(*at);
            }
            called += depth(self.instruction(*at).map(|instruction| instruction.action));
        }
        Waits { begin, instructions: passed.len(), code: passed.into_iter().collect() }
    }
}

/// By how much an instruction changes the number of functions that have been called.
fn depth(action: Option<Action>) -> i32 {
    match action {
        Some(Action::Call(_)) => 1,
        Some(Action::Return) => -1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
