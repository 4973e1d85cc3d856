//! The initial state: the first values of locations, queues and registers, and their names.

use super::instruction::{self, Aim, REGISTERS, Width};
use super::queue::{MOST_QUEUES, Queue, is_name, priority};
use super::{Location, Thread};

/// Largest number of locations.
const MOST_LOCATIONS: usize = 64;

/// The locations and queues found so far.
#[derive(Default)]
pub(super) struct Names {
    pub(super) all: Vec<Location>,
    pub(super) queues: Vec<Queue>,
    /// Whether the width of each location is settled.
    settled: Vec<bool>,
}

impl Names {
    pub(super) fn of(&mut self, name: &str) -> Result<usize, String> {
        if let Some(at) = self.all.iter().position(|location| location.name == name) {
            return Ok(at);
        }
        if self.queue(name).is_some() {
            return Err(format!("`{name}` is a queue, which has no place in memory; enqueue and dequeue reach it"));
        }
        if !is_name(name) {
            return Err(format!("`{name}` is no name of a location"));
        }
        if self.all.len() == MOST_LOCATIONS {
            return Err(format!("more than {MOST_LOCATIONS} locations"));
        }
        self.all.push(Location { name: name.to_owned(), width: Width::Quad, initial: 0 });
        self.settled.push(false);
        Ok(self.all.len() - 1)
    }

    /// What a register points to if it holds this name.
    fn target(&mut self, name: &str) -> Result<Target, String> {
        match self.aim(name)? {
            Some(aim) => Ok(Target::Queue(aim)),
            None => self.of(name).map(Target::Location),
        }
    }

    /// Returns what a name, or a name and a priority as in `q@1`, aim at; `None` if no queue has
    /// this name.
    pub(super) fn aim(&self, text: &str) -> Result<Option<Aim>, String> {
        let (name, given) = text.split_once('@').map_or((text, None), |(name, given)| (name, Some(given)));
        let priority = given.map_or(Ok(0), priority)?;
        Ok(self.queue(name).map(|queue| Aim { queue, priority }))
    }

    /// Returns the number of the queue called `name`.
    fn queue(&self, name: &str) -> Option<usize> {
        self.queues.iter().position(|queue| queue.name == name)
    }

    /// Adds a queue that the initial state declares.
    pub(super) fn declare(&mut self, queue: Queue) -> Result<(), String> {
        let known = self.queue(&queue.name).is_some() || self.all.iter().any(|at| at.name == queue.name);
        match (known, self.queues.len()) {
            (true, _) => Err(format!("`{}` is declared twice", queue.name)),
            (false, MOST_QUEUES) => Err(format!("more than {MOST_QUEUES} queues")),
            (false, _) => {
                self.queues.push(queue);
                Ok(())
            }
        }
    }

    /// Settles the width of a location's accesses.
    pub(super) fn settle(&mut self, at: usize, width: Width) -> Result<(), String> {
        let location = &mut self.all[at];
        if self.settled[at] && location.width != width {
            return Err(format!(
                "`{}` is accessed both as 32 and as 64 bits: accesses of mixed size are not supported",
                location.name
            ));
        }
        (location.width, self.settled[at]) = (width, true);
        Ok(())
    }
}

/// One entry of the initial state.
pub(super) enum Initial {
    Queue,
    Location { at: usize, value: Option<u64> },
    Register { thread: usize, register: usize, value: RegisterValue },
}

pub(super) enum RegisterValue {
    Unset,
    Number(u64),
    Address(Target),
}

/// What a register can point to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The number of a location.
    Location(usize),
    /// A queue and a priority.
    Queue(Aim),
}

/// A thread's register that holds a location's address, or a queue's identifier.
pub(super) struct Pointer {
    pub(super) thread: usize,
    pub(super) register: usize,
    pub(super) to: Target,
}

impl Initial {
    /// Reads one entry of the initial state.
    pub(super) fn read(entry: &str, names: &mut Names) -> Result<Initial, String> {
        if let Some(declared) = entry.strip_prefix("queue").filter(|rest| rest.starts_with(char::is_whitespace)) {
            names.declare(Queue::read(declared.trim())?)?;
            return Ok(Initial::Queue);
        }
        let (left, value) = match entry.split_once('=') {
            Some((left, value)) => (left.trim(), Some(value.trim().trim_start_matches('&'))),
            None => (entry, None),
        };
        let left = left.replace('*', " ");
        let mut words: Vec<&str> = left.split_whitespace().collect();
        let target = words.pop().unwrap_or("").trim_matches(['[', ']']);
        let width = match words.join(" ").as_str() {
            "" => None,
            "uint64_t" | "int64_t" | "long" | "unsigned long" => Some(Width::Quad),
            "uint32_t" | "int32_t" | "int" | "unsigned" | "unsigned int" => Some(Width::Long),
            other => {
                return Err(format!(
                    "type `{other}` is not supported; supported: uint64_t int64_t long uint32_t int32_t int"
                ));
            }
        };
        let number = value.map(|text| (text, instruction::number(text)));
        if let Some((thread, name)) = target.split_once(':') {
            let thread = thread.parse().map_err(|_| format!("`{thread}` is no number of a thread"))?;
            let (register, _) = instruction::register(name).ok_or_else(|| instruction::no_register(name))?;
            let value = match number {
                None => RegisterValue::Unset,
                Some((_, Some(number))) => RegisterValue::Number(number),
                Some((text, None)) => RegisterValue::Address(names.target(text)?),
            };
            return Ok(Initial::Register { thread, register, value });
        }
        let at = names.of(target)?;
        if let Some(width) = width {
            names.settle(at, width)?;
        }
        match number {
            None => Ok(Initial::Location { at, value: None }),
            Some((_, Some(value))) => Ok(Initial::Location { at, value: Some(value) }),
            Some((text, None)) => Err(format!("`{text}` is no number (`{target}` can hold numbers only)")),
        }
    }

    /// Puts the entry's value into its location or register. An address goes to `pointers`.
    pub(super) fn apply(
        &self,
        threads: &mut [Thread],
        names: &mut Names,
        pointers: &mut Vec<Pointer>,
    ) -> Result<(), String> {
        match *self {
            Initial::Queue => {}
            Initial::Location { at, value } => names.all[at].initial = value.unwrap_or(names.all[at].initial),
            Initial::Register { thread, register, ref value } => {
                let threads_there = threads.len();
                let Some(of) = threads.get_mut(thread) else {
                    return Err(format!("there is no thread {thread} (threads: {threads_there})"));
                };
                debug_assert!(register < REGISTERS);
                match *value {
                    RegisterValue::Unset => {}
                    RegisterValue::Number(number) => of.registers[register] = number,
                    RegisterValue::Address(to) => pointers.push(Pointer { thread, register, to }),
                }
            }
        }
        Ok(())
    }
}
