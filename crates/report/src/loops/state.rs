//! The registers and the memory that a loop has changed so far.

use super::decode::{Operand, Place, RBP, RSP, Register};
use super::values::{Value, Values, narrowed};
use std::collections::BTreeMap;

/// What the last comparison or computation left for conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flags {
    Unknown,
    /// Two values were compared, of a width in bytes.
    Compared(u8, Value, Value),
    /// A computation had this result; it may have had a carry.
    Result(u8, Value),
    /// Whether two values were equal is known, and nothing else.
    Equal(bool),
    /// A bit of a value is the carry.
    Bit(Value),
}

/// An address: what it is counted from (`None`: from 0), and the distance.
type Address = (Option<Value>, i64);

/// A thread's state.
#[derive(Clone)]
pub(super) struct State {
    registers: [Value; 16],
    /// What has been written, with its width; `None` where only a part of the former value is left.
    written: BTreeMap<Address, (u8, Option<Value>)>,
    pub(super) flags: Flags,
    /// Whether what memory held has decided where the thread goes.
    pub(super) looked: bool,
    /// The values that an exchange took to be different, if the last instruction was one.
    pub(super) failed: Option<Flags>,
    /// The two registers by which functions address their own variables, as they were at first.
    frames: [Value; 2],
}

/// Memory that never changes, in the addresses of the object file.
pub(super) trait Unchanging {
    fn read(&self, address: u64, width: u8) -> Option<u64>;
}

impl State {
    pub(super) fn new(values: &mut Values) -> State {
        let registers = std::array::from_fn(|register| values.register(register as Register));
        let frames = [registers[usize::from(RSP)], registers[usize::from(RBP)]];
        State { registers, written: BTreeMap::new(), flags: Flags::Unknown, looked: false, failed: None, frames }
    }

    /// Whether registers and memory are the same in both states.
    pub(super) fn is(&self, other: &State) -> bool {
        self.registers == other.registers && self.written == other.written
    }

    pub(super) fn register(&self, register: Register) -> Value {
        self.registers[usize::from(register)]
    }

    /// Writes the lowest `width` bytes of a register, as the processor does: 4 bytes clear those above.
    pub(super) fn set_register(&mut self, values: &mut Values, register: Register, width: u8, value: Value) {
        let old = &mut self.registers[usize::from(register)];
        *old = match width {
            1 | 2 => values.merged(width, *old, value),
            _ => value,
        };
    }

    pub(super) fn address(&self, values: &mut Values, place: &Place) -> Value {
        let mut address = match (place.own, place.base) {
            (true, None) => values.segment(),
            (_, Some(base)) => self.register(base),
            (false, None) => values.constant(0),
        };
        if let (true, Some(_)) = (place.own, place.base) {
            let segment = values.segment();
            address = values.sum(super::decode::Sum::Add, 8, segment, address);
        }
        if let Some((index, scale)) = place.index {
            let scale = values.constant(u64::from(scale));
            let scaled = values.sum(super::decode::Sum::Mul, 8, self.register(index), scale);
            address = values.sum(super::decode::Sum::Add, 8, address, scaled);
        }
        values.add(address, place.offset)
    }

    /// Reads an operand. `None` if it is not known what it holds.
    pub(super) fn read(
        &self,
        values: &mut Values,
        unchanging: &impl Unchanging,
        operand: &Operand,
        width: u8,
    ) -> Option<Value> {
        match operand {
            Operand::Constant(constant) => Some(values.constant(narrowed(*constant, width))),
            Operand::Register(register) => Some(values.narrow(width, self.register(*register))),
            Operand::Memory(place) => {
                let address = self.address(values, place);
                self.load(values, unchanging, address, width)
            }
        }
    }

    pub(super) fn load(
        &self,
        values: &mut Values,
        unchanging: &impl Unchanging,
        address: Value,
        width: u8,
    ) -> Option<Value> {
        let at = values.apart(address);
        let mut over = self.over(at, width);
        match (over.next(), over.next()) {
            (None, _) => {
                let known = values.known(address).and_then(|address| unchanging.read(address, width));
                Some(match known {
                    Some(known) => values.constant(known),
                    None => values.memory(address, width),
                })
            }
            (Some((begin, (written, value))), None) if begin == at.1 && written >= width => {
                let value = value?;
                Some(values.narrow(width, value))
            }
            _ => None,
        }
    }

    /// What has been written within `width` bytes from an address on.
    fn over(&self, (base, at): Address, width: u8) -> impl Iterator<Item = (i64, (u8, Option<Value>))> + '_ {
        let range = (base, at.saturating_sub(7))..(base, at.saturating_add(i64::from(width)));
        let near = self.written.range(range).map(|((_, begin), written)| (*begin, *written));
        near.filter(move |(begin, (width, _))| *begin + i64::from(*width) > at)
    }

    /// Writes an operand. `None` if the place may belong to other threads, and the write is no atomic one.
    pub(super) fn write(
        &mut self,
        values: &mut Values,
        operand: &Operand,
        (width, atomic): (u8, bool),
        value: Value,
    ) -> Option<()> {
        match operand {
            Operand::Register(register) => self.set_register(values, *register, width, value),
            Operand::Constant(_) => return None,
            Operand::Memory(place) => {
                let address = self.address(values, place);
                self.store(values, address, (width, atomic), value)?;
            }
        }
        Some(())
    }

    pub(super) fn store(
        &mut self,
        values: &Values,
        address: Value,
        (width, atomic): (u8, bool),
        value: Value,
    ) -> Option<()> {
        let (base, at) = values.apart(address);
        if !atomic && !base.is_some_and(|base| self.frames.contains(&base)) {
            return None;
        }
        let end = at + i64::from(width);
        let over: Vec<_> = self.over((base, at), width).collect();
        for (begin, (old, _)) in over {
            self.written.remove(&(base, begin));
            if begin < at {
                self.written.insert((base, begin), ((at - begin) as u8, None));
            }
            if begin + i64::from(old) > end {
                self.written.insert((base, end), ((begin + i64::from(old) - end) as u8, None));
            }
        }
        self.written.insert((base, at), (width, Some(value)));
        Some(())
    }
}
