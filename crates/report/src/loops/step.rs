//! What one instruction does to a state.

use super::decode::{Action, Bit, Condition, Instruction, Operand, RAX, RBP, RSP, Register, Sum};
use super::state::{Flags, State, Unchanging};
use super::values::{Value, Values, extended, narrowed};

/// Where the thread goes on.
pub(super) enum Then {
    At(u64),
    /// To the first address if the condition holds, or else to the second. What decides is not known.
    If(Condition, u64, u64),
}

/// Whether a condition holds, if that is known; else whether it depends on what memory held.
enum Truth {
    Known(bool),
    Open(bool),
}

/// Does what an instruction does. `None` if the instruction writes to memory that may belong to other threads
/// (other than by an atomic exchange), or if what it does is not known.
pub(super) fn step(
    state: &mut State,
    values: &mut Values,
    unchanging: &impl Unchanging,
    instruction: &Instruction,
) -> Option<Then> {
    let Instruction { action, width, locked, next } = *instruction;
    let mut step = Step { state, values, unchanging, width, locked };
    match action {
        Action::Nothing => {}
        Action::Leave => {
            let frame = step.state.register(RBP);
            step.state.set_register(step.values, RSP, 8, frame);
            let old = step.pop()?;
            step.state.set_register(step.values, RBP, 8, old);
        }
        Action::Push(from) => {
            let value = step.read(&from)?;
            step.push(value)?;
        }
        Action::Pop(to) => {
            let value = step.pop()?;
            step.state.set_register(step.values, to, 8, value);
        }
        Action::Return => {
            let to = step.pop()?;
            return Some(Then::At(step.values.known(to)?));
        }
        Action::Call(to) => {
            let back = step.values.constant(next);
            let to = step.target(&to)?;
            step.push(back)?;
            return Some(Then::At(to));
        }
        Action::Jump(to) => return Some(Then::At(step.target(&to)?)),
        Action::Branch(condition, target) => {
            return Some(match step.truth(condition) {
                Truth::Known(holds) => Then::At(if holds { target } else { next }),
                Truth::Open(read) => {
                    step.state.looked |= read;
                    Then::If(condition, target, next)
                }
            });
        }
        Action::Set(condition, to) => {
            let value = step.whether(condition)?;
            step.write(&to, value)?;
        }
        Action::MoveIf(condition, to, from) => {
            let Truth::Known(holds) = step.truth(condition) else { return None };
            let from = if holds { from } else { Operand::Register(to) };
            let value = step.read(&from)?;
            step.write(&Operand::Register(to), value)?;
        }
        action => step.compute(action)?,
    }
    Some(Then::At(next))
}

struct Step<'a, M> {
    state: &'a mut State,
    values: &'a mut Values,
    unchanging: &'a M,
    width: u8,
    locked: bool,
}

impl<M: Unchanging> Step<'_, M> {
    fn read(&mut self, from: &Operand) -> Option<Value> {
        self.state.read(self.values, self.unchanging, from, self.width)
    }

    fn write(&mut self, to: &Operand, value: Value) -> Option<()> {
        self.state.write(self.values, to, (self.width, self.locked), value)
    }

    fn push(&mut self, value: Value) -> Option<()> {
        let top = self.values.add(self.state.register(RSP), -8);
        self.state.set_register(self.values, RSP, 8, top);
        self.state.store(self.values, top, (8, false), value)
    }

    fn pop(&mut self) -> Option<Value> {
        let top = self.state.register(RSP);
        let value = self.state.load(self.values, self.unchanging, top, 8)?;
        let above = self.values.add(top, 8);
        self.state.set_register(self.values, RSP, 8, above);
        Some(value)
    }

    /// The address that a call or a jump goes to. `None` if it is not known, as it is of functions in other
    /// object files.
    fn target(&mut self, to: &Operand) -> Option<u64> {
        let to = match to {
            Operand::Constant(address) => return Some(*address),
            to => self.read(to)?,
        };
        self.values.known(to)
    }

    fn compute(&mut self, action: Action) -> Option<()> {
        let width = self.width;
        match action {
            Action::Move(to, from) => {
                let value = self.read(&from)?;
                self.write(&to, value)
            }
            Action::Extend(to, from, narrow, sign) => {
                let value = self.state.read(self.values, self.unchanging, &from, narrow)?;
                let value = if sign { self.values.signed(narrow, value) } else { value };
                let value = self.values.narrow(width, value);
                self.write(&Operand::Register(to), value)
            }
            Action::AddressOf(to, place) => {
                let address = self.state.address(self.values, &place);
                let address = self.values.narrow(width, address);
                self.write(&Operand::Register(to), address)
            }
            Action::Compute(sum, to, from) => {
                let (a, b) = (self.read(&to)?, self.read(&from)?);
                let result = self.values.sum(sum, width, a, b);
                self.state.flags = match sum {
                    Sum::Sub => Flags::Compared(width, a, b),
                    Sum::And | Sum::Or | Sum::Xor => self.tested(result),
                    _ => Flags::Result(width, result),
                };
                self.write(&to, result)
            }
            Action::Step(to, by) => {
                let (a, by) = (self.read(&to)?, self.values.constant(narrowed(by, width)));
                let result = self.values.sum(Sum::Add, width, a, by);
                self.state.flags = Flags::Result(width, result);
                self.write(&to, result)
            }
            Action::Invert(to) => {
                let (a, ones) = (self.read(&to)?, self.values.constant(narrowed(u64::MAX, width)));
                let result = self.values.sum(Sum::Xor, width, a, ones);
                self.write(&to, result)
            }
            Action::Compare(a, b) => {
                self.state.flags = Flags::Compared(width, self.read(&a)?, self.read(&b)?);
                Some(())
            }
            Action::Test(a, b) => {
                let (a, b) = (self.read(&a)?, self.read(&b)?);
                let both = self.values.sum(Sum::And, width, a, b);
                self.state.flags = self.tested(both);
                Some(())
            }
            _ => self.exchange(action),
        }
    }

    /// Atomic read-modify-writes, which may also be at a thread's own memory.
    fn exchange(&mut self, action: Action) -> Option<()> {
        let width = self.width;
        match action {
            Action::Exchange(at, register) => {
                let (old, new) = (self.read(&at)?, self.read(&Operand::Register(register))?);
                self.write(&at, new)?;
                self.write(&Operand::Register(register), old)
            }
            Action::CompareExchange(at, register) => self.compare_exchange(&at, register),
            Action::ExchangeAdd(at, register) => {
                let (old, by) = (self.read(&at)?, self.read(&Operand::Register(register))?);
                let sum = self.values.sum(Sum::Add, width, old, by);
                self.state.flags = Flags::Result(width, sum);
                self.write(&Operand::Register(register), old)?;
                self.write(&at, sum)
            }
            Action::OneBit(bit, at, number) => {
                let old = self.read(&at)?;
                let bits = 1u64 << (u32::from(number) % (8 * u32::from(width)));
                let mask = self.values.constant(bits);
                let carry = self.values.sum(Sum::And, width, old, mask);
                self.state.flags = Flags::Bit(carry);
                match bit {
                    Bit::Test => Some(()),
                    Bit::Set => {
                        let new = self.values.sum(Sum::Or, width, old, mask);
                        self.write(&at, new)
                    }
                    Bit::Clear => {
                        let mask = self.values.constant(narrowed(!bits, width));
                        let new = self.values.sum(Sum::And, width, old, mask);
                        self.write(&at, new)
                    }
                }
            }
            _ => None,
        }
    }

    /// Compares and exchanges. Values that may be equal count as different: a loop goes round where the
    /// exchange fails.
    fn compare_exchange(&mut self, at: &Operand, register: Register) -> Option<()> {
        let (old, expected) = (self.read(at)?, self.read(&Operand::Register(RAX))?);
        self.state.flags = Flags::Equal(old == expected);
        self.state.looked |= self.values.is_read(old);
        self.state.failed = (old != expected).then_some(Flags::Compared(self.width, old, expected));
        if old == expected {
            let new = self.read(&Operand::Register(register))?;
            return self.write(at, new);
        }
        self.write(&Operand::Register(RAX), old)
    }

    fn tested(&mut self, result: Value) -> Flags {
        Flags::Compared(self.width, result, self.values.constant(0))
    }

    fn truth(&self, condition: Condition) -> Truth {
        let known = |holds: bool| Truth::Known(holds != (condition & 1 == 1));
        let is_equal = condition >> 1 == 2;
        match self.state.flags {
            Flags::Equal(equal) if is_equal => known(equal),
            Flags::Compared(width, a, b) if a == b => known(holds(condition >> 1, width, 0, 0)),
            Flags::Compared(width, a, b) => match (self.values.known(a), self.values.known(b)) {
                (Some(a), Some(b)) => known(holds(condition >> 1, width, a, b)),
                _ => Truth::Open(self.values.is_read(a) || self.values.is_read(b)),
            },
            Flags::Result(width, value) => match self.values.known(value) {
                Some(value) if matches!(condition >> 1, 2 | 4) => known(holds(condition >> 1, width, value, 0)),
                _ => Truth::Open(self.values.is_read(value)),
            },
            Flags::Bit(value) => match self.values.known(value) {
                Some(value) if condition >> 1 == 1 => known(value != 0),
                _ => Truth::Open(self.values.is_read(value)),
            },
            Flags::Equal(_) | Flags::Unknown => Truth::Open(false),
        }
    }

    /// The value of a condition, 0 or 1.
    fn whether(&mut self, condition: Condition) -> Option<Value> {
        if let Truth::Known(holds) = self.truth(condition) {
            return Some(self.values.constant(u64::from(holds)));
        }
        let zero = self.values.constant(0);
        let (width, a, b) = match self.state.flags {
            Flags::Compared(width, a, b) => (width, a, b),
            Flags::Result(width, value) => (width | 0x10, value, zero),
            Flags::Bit(value) => (0x20, value, zero),
            Flags::Equal(_) | Flags::Unknown => return None,
        };
        Some(self.values.whether(condition, width, a, b))
    }
}

/// Whether a condition (without its negation) holds after a comparison.
fn holds(condition: u8, width: u8, a: u64, b: u64) -> bool {
    let (a, b) = (narrowed(a, width), narrowed(b, width));
    let difference = extended(narrowed(a.wrapping_sub(b), width), width);
    let less = extended(a, width) < extended(b, width);
    match condition {
        0 => (difference < 0) != less,
        1 => a < b,
        2 => a == b,
        3 => a <= b,
        4 => difference < 0,
        5 => (difference as u8).count_ones().is_multiple_of(2),
        6 => less,
        _ => less || a == b,
    }
}
