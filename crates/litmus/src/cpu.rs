//! What instructions do to a thread's registers, and what they ask of memory.
//!
//! Both the machine that runs a test and the exhaustive enumeration drive this interpreter. The
//! interpreter runs until a thread needs memory, returns the access, and is told the result of the
//! access.

use super::Thread;
use super::instruction::{Aim, Instruction, Op, RAX, REGISTERS, Source, Width};

/// What a thread asks of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read the location, then call [`Cpu::loaded`].
    Load(usize),
    /// Write the value to the location, then call [`Cpu::done`].
    Store(usize, u64),
    /// Read, compute and write as one access, then call [`Cpu::locked`].
    Locked(usize, Locked),
    /// Execute a full fence, then call [`Cpu::done`].
    Fence,
    /// Put the item at the end of the queue, then call [`Cpu::done`].
    Enqueue(Aim, u64),
    /// Take the first item of the queue: call [`Cpu::asked`] at once, and [`Cpu::answered`] when
    /// the item has come.
    Dequeue(Aim),
    /// Wait until the item of the dequeue to this register has come, then call [`Cpu::answered`].
    Await(usize),
    /// Give up the line of the location, then call [`Cpu::done`].
    Prepush(usize),
}

/// A locked instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locked {
    /// Writes the value.
    Swap(u64),
    /// Adds the value, 64 bits wide.
    Add(u64),
    /// Writes `new` if memory holds `expected`.
    CompareExchange {
        /// The value that memory must hold.
        expected: u64,
        /// The value that is written if memory holds `expected`.
        new: u64,
    },
    /// Any other arithmetic.
    Compute(Op, u64, Width),
}

impl Locked {
    /// The value that is written if `old` was read.
    pub fn result(self, old: u64) -> u64 {
        match self {
            Locked::Swap(value) => value,
            Locked::Add(value) => old.wrapping_add(value),
            Locked::CompareExchange { expected, new } => {
                if old == expected {
                    new
                } else {
                    old
                }
            }
            Locked::Compute(op, by, width) => width.low(op.apply(old, by)),
        }
    }
}

/// A thread's state between two accesses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cpu {
    /// The values of the registers.
    pub registers: [u64; REGISTERS],
    at: usize,
    equal: bool,
    /// The value that the second half of an instruction in two halves (a load, then a store)
    /// writes.
    half: Option<u64>,
    /// The registers that wait for a dequeue's item, one bit each.
    pending: u16,
}

const _: () = assert!(REGISTERS <= u16::BITS as usize);

impl Cpu {
    /// The state of a thread before its first instruction.
    pub fn new(thread: &Thread) -> Cpu {
        Cpu { registers: thread.registers, at: 0, equal: false, half: None, pending: 0 }
    }

    fn value(&self, source: Source, width: Width) -> u64 {
        match source {
            Source::Register(register) => width.low(self.registers[register]),
            Source::Value(value) => width.low(value),
            // A source in memory cannot occur here: the parser allows one only in instructions for
            // which `next` first asks for a load.
            Source::Location(_) => 0,
        }
    }

    /// Runs on to the next access; `None` at the end of the thread's code.
    pub fn next(&mut self, code: &[Instruction]) -> Option<Access> {
        loop {
            let instruction = code.get(self.at)?;
            if self.pending != 0
                && let Some(register) =
                    (0..REGISTERS).find(|&register| self.waits(register) && instruction.uses(register))
            {
                return Some(Access::Await(register));
            }
            match *instruction {
                Instruction::Move(_, Source::Location(at), _)
                | Instruction::Compute(_, _, Source::Location(at), _)
                | Instruction::Compare(_, Source::Location(at), _)
                | Instruction::Compare(Source::Location(at), _, _)
                | Instruction::Test(_, Source::Location(at), _) => return Some(Access::Load(at)),
                Instruction::Store(at, from, width) => return Some(Access::Store(at, self.value(from, width))),
                Instruction::Modify { op, at, by, locked: true, width } => {
                    let by = self.value(by, width);
                    return Some(Access::Locked(
                        at,
                        match (op, width) {
                            (Op::Add, Width::Quad) => Locked::Add(by),
                            (Op::Sub, Width::Quad) => Locked::Add(by.wrapping_neg()),
                            _ => Locked::Compute(op, by, width),
                        },
                    ));
                }
                Instruction::Modify { at, locked: false, .. } => {
                    return Some(self.half.map_or(Access::Load(at), |value| Access::Store(at, value)));
                }
                Instruction::Exchange(register, at, width) => {
                    return Some(Access::Locked(at, Locked::Swap(width.low(self.registers[register]))));
                }
                Instruction::ExchangeAdd(register, at, width) => {
                    let by = width.low(self.registers[register]);
                    let locked =
                        if width == Width::Quad { Locked::Add(by) } else { Locked::Compute(Op::Add, by, width) };
                    return Some(Access::Locked(at, locked));
                }
                Instruction::CompareExchange(register, at, width) => {
                    let (expected, new) = (width.low(self.registers[RAX]), width.low(self.registers[register]));
                    return Some(Access::Locked(at, Locked::CompareExchange { expected, new }));
                }
                Instruction::Fence => return Some(Access::Fence),
                Instruction::Enqueue(item, to) => return Some(Access::Enqueue(to, self.value(item, Width::Quad))),
                Instruction::Dequeue(_, from) => return Some(Access::Dequeue(from)),
                Instruction::Prepush(at) => return Some(Access::Prepush(at)),
                Instruction::Jump(condition, to) => {
                    self.at = if condition.is_none_or(|equal| equal == self.equal) { to } else { self.at + 1 };
                }
                Instruction::Move(to, from, width) => {
                    self.registers[to] = self.value(from, width);
                    self.at += 1;
                }
                Instruction::Compute(op, to, by, width) => self.compute(op, to, self.value(by, width), width),
                Instruction::Compare(left, right, width) => {
                    self.compare(self.value(left, width), self.value(right, width));
                }
                Instruction::Test(left, right, width) => {
                    self.compare(width.low(self.registers[left]) & self.value(right, width), 0);
                }
                Instruction::Nothing => self.at += 1,
            }
        }
    }

    fn compute(&mut self, op: Op, to: usize, by: u64, width: Width) {
        let result = width.low(op.apply(self.registers[to], by));
        self.registers[to] = result;
        self.compare(result, 0);
    }

    fn compare(&mut self, left: u64, right: u64) {
        self.equal = left == right;
        self.at += 1;
    }

    /// Continues a thread whose load has read `value`.
    pub fn loaded(&mut self, code: &[Instruction], value: u64) {
        match code[self.at] {
            Instruction::Move(to, _, width) => {
                self.registers[to] = width.low(value);
                self.at += 1;
            }
            Instruction::Compute(op, to, _, width) => self.compute(op, to, width.low(value), width),
            Instruction::Compare(Source::Location(_), right, width) => {
                self.compare(width.low(value), self.value(right, width));
            }
            Instruction::Compare(left, _, width) => self.compare(self.value(left, width), width.low(value)),
            Instruction::Test(left, _, width) => self.compare(width.low(self.registers[left] & value), 0),
            Instruction::Modify { op, by, width, .. } => {
                let result = width.low(op.apply(value, self.value(by, width)));
                self.equal = result == 0;
                self.half = Some(result);
            }
            _ => unreachable!("only these load"),
        }
    }

    /// Continues a thread whose locked instruction has read `old` and written [`Locked::result`] of
    /// it.
    pub fn locked(&mut self, code: &[Instruction], locked: Locked, old: u64) {
        match code[self.at] {
            Instruction::Exchange(register, _, width) => self.registers[register] = width.low(old),
            Instruction::ExchangeAdd(register, _, width) => {
                self.registers[register] = width.low(old);
                self.equal = width.low(locked.result(old)) == 0;
            }
            Instruction::CompareExchange(_, _, width) => {
                self.equal = width.low(self.registers[RAX]) == old;
                if !self.equal {
                    self.registers[RAX] = old;
                }
            }
            Instruction::Modify { .. } => self.equal = locked.result(old) == 0,
            _ => unreachable!("only these are locked"),
        }
        self.at += 1;
    }

    /// Whether the register waits for a dequeue's item.
    fn waits(&self, register: usize) -> bool {
        self.pending >> register & 1 == 1
    }

    /// Continues a thread whose dequeue is under way. Returns the register that waits for the item.
    pub fn asked(&mut self, code: &[Instruction]) -> usize {
        let Instruction::Dequeue(register, _) = code[self.at] else { unreachable!("only a dequeue asks") };
        self.pending |= 1 << register;
        self.at += 1;
        register
    }

    /// Puts the item into the register that waits for it.
    pub fn answered(&mut self, register: usize, item: u64) {
        self.registers[register] = item;
        self.pending &= !(1 << register);
    }

    /// Continues a thread whose store, fence, enqueue or push is done.
    pub fn done(&mut self) {
        self.half = None;
        self.at += 1;
    }
}
