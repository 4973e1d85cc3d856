//! A litmus test, and the final states that it asks about.

use crate::condition::{Condition, Observable, Proposition, Quantifier};
use crate::instruction::{self, Instruction, Width};
use crate::queue::Queue;
use std::collections::BTreeMap;

/// A memory location of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The name in the file.
    pub name: String,
    /// The width of all accesses to the location.
    pub width: Width,
    /// The value before the first instruction.
    pub initial: u64,
}

/// One thread of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// The values of the registers before the first instruction.
    pub registers: [u64; instruction::REGISTERS],
    /// The thread's instructions.
    pub code: Vec<Instruction>,
}

/// A litmus test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Test {
    /// The name in the file's first line.
    pub name: String,
    /// The threads of the test.
    pub threads: Vec<Thread>,
    /// The memory locations of the test.
    pub locations: Vec<Location>,
    /// The queues of the test.
    pub queues: Vec<Queue>,
    /// The question of the test.
    pub condition: Condition,
    /// The proposition that a final state must satisfy to count; `None`: every state counts.
    pub filter: Option<Proposition>,
    /// The observables of a final state: all that the condition, the filter and `locations` name,
    /// sorted.
    pub shown: Vec<Observable>,
}

/// A final state: the values of [`Test::shown`], in its order.
pub type FinalState = Vec<u64>;

/// How often each final state was seen.
pub type Histogram = BTreeMap<FinalState, u64>;

impl Test {
    /// Builds the final state from the values of registers and memory.
    pub fn state(&self, registers: impl Fn(usize, usize) -> u64, memory: impl Fn(usize) -> u64) -> FinalState {
        let value = |observable: &Observable| match *observable {
            Observable::Register { thread, register, width } => width.low(registers(thread, register)),
            Observable::Location(at) => self.locations[at].width.low(memory(at)),
        };
        self.shown.iter().map(value).collect()
    }

    /// Whether the state satisfies the filter, so that it counts.
    pub fn counts(&self, state: &[u64]) -> bool {
        self.filter.as_ref().is_none_or(|filter| self.holds(filter, state))
    }

    /// Whether the proposition holds in the state.
    pub fn holds(&self, proposition: &Proposition, state: &[u64]) -> bool {
        proposition.holds(&|observable| {
            let at = self.shown.binary_search(observable).expect("a state has what the test's propositions name");
            state[at]
        })
    }

    /// The answer to the test's question: for `exists` and `~exists`, whether a state with the
    /// proposition was seen; for `forall`, whether the proposition held in every state.
    pub fn observed<'a>(&self, mut states: impl Iterator<Item = &'a FinalState>) -> bool {
        let proposition = &self.condition.proposition;
        match self.condition.quantifier {
            Quantifier::Exists | Quantifier::NotExists => states.any(|state| self.holds(proposition, state)),
            Quantifier::Forall => states.all(|state| self.holds(proposition, state)),
        }
    }

    /// The state as text, such as `0:rax=1; x=2;`.
    pub fn describe(&self, state: &[u64]) -> String {
        let part = |(observable, value): (&Observable, &u64)| match *observable {
            Observable::Register { thread, register, width } => {
                format!("{thread}:{}={value};", instruction::register_name(register, width))
            }
            Observable::Location(at) => format!("{}={value};", self.locations[at].name),
        };
        self.shown.iter().zip(state).map(part).collect::<Vec<_>>().join(" ")
    }
}
