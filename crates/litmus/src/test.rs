//! A litmus test, and the final states that it asks about.

use crate::condition::{Condition, Observable, Proposition, Quantifier};
use crate::instruction::{self, Instruction, Width};
use crate::queue::Queue;
use std::collections::BTreeMap;

/// A memory location of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Its name in the file.
    pub name: String,
    /// How wide its accesses are; all of them are alike.
    pub width: Width,
    /// What it holds at first.
    pub initial: u64,
}

/// One thread of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// What its registers hold at first.
    pub registers: [u64; instruction::REGISTERS],
    /// Its instructions.
    pub code: Vec<Instruction>,
}

/// A litmus test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Test {
    /// The name in the file's first line.
    pub name: String,
    /// Its threads.
    pub threads: Vec<Thread>,
    /// Its memory.
    pub locations: Vec<Location>,
    /// Its queues.
    pub queues: Vec<Queue>,
    /// The question.
    pub condition: Condition,
    /// Final states that count; `None`: all.
    pub filter: Option<Proposition>,
    /// What a final state consists of: all that the condition, the filter and `locations` name, sorted.
    pub shown: Vec<Observable>,
}

/// A final state: the values of [`Test::shown`], in its order.
pub type State = Vec<u64>;

/// How often each final state was seen.
pub type Histogram = BTreeMap<State, u64>;

impl Test {
    /// The final state in full, as the condition sees it.
    pub fn state(&self, registers: impl Fn(usize, usize) -> u64, memory: impl Fn(usize) -> u64) -> State {
        let value = |observable: &Observable| match *observable {
            Observable::Register { thread, register, width } => width.low(registers(thread, register)),
            Observable::Location(at) => self.locations[at].width.low(memory(at)),
        };
        self.shown.iter().map(value).collect()
    }

    /// Whether the state counts.
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

    /// What the test asks: for `exists` and `~exists`, whether such a state was seen; for `forall`, whether every state
    /// was such.
    pub fn observed<'a>(&self, mut states: impl Iterator<Item = &'a State>) -> bool {
        let proposition = &self.condition.proposition;
        match self.condition.quantifier {
            Quantifier::Exists | Quantifier::NotExists => states.any(|state| self.holds(proposition, state)),
            Quantifier::Forall => states.all(|state| self.holds(proposition, state)),
        }
    }

    /// The state in words, as in `0:rax=1; x=2;`.
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
