//! What is known of values while a loop is gone through: each is computed from constants, from what the
//! registers held at first, and from what memory held at first. Equal numbers mean equal values.

use super::decode::{Register, Sum};
use std::collections::BTreeMap;

/// The number of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Value(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Made {
    Constant(u64),
    /// What a register held at first.
    Register(Register),
    /// What the thread's own segment begins at.
    Segment,
    /// What memory held at first at an address, with the width in bytes.
    Memory(Value, u8),
    Sum(Sum, u8, Value, Value),
    /// The lowest bytes of a value; zeros are above.
    Narrow(u8, Value),
    /// A value whose lowest bytes are replaced by the second one.
    Merged(u8, Value, Value),
    /// The lowest bytes of a value, extended by the sign.
    Signed(u8, Value),
    /// 1 if a condition on two values holds, else 0.
    Whether(u8, u8, Value, Value),
}

/// All values of one look at a loop.
#[derive(Default)]
pub(super) struct Values {
    made: Vec<Made>,
    numbers: BTreeMap<Made, Value>,
    /// For each value, whether it depends on what memory held.
    read: Vec<bool>,
}

/// Keeps the lowest `width` bytes.
pub(super) fn narrowed(value: u64, width: u8) -> u64 {
    match width {
        8.. => value,
        _ => value & ((1 << (8 * width)) - 1),
    }
}

/// Extends the lowest `width` bytes by their sign.
pub(super) fn extended(value: u64, width: u8) -> i64 {
    let rest = 64 - 8 * u32::from(width.min(8));
    (value << rest) as i64 >> rest
}

impl Values {
    fn make(&mut self, made: Made) -> Value {
        if let Some(value) = self.numbers.get(&made) {
            return *value;
        }
        let read = match made {
            Made::Constant(_) | Made::Register(_) | Made::Segment => false,
            Made::Memory(..) => true,
            Made::Narrow(_, of) | Made::Signed(_, of) => self.is_read(of),
            Made::Sum(_, _, a, b) | Made::Merged(_, a, b) | Made::Whether(_, _, a, b) => {
                self.is_read(a) || self.is_read(b)
            }
        };
        let value = Value(self.made.len() as u32);
        self.made.push(made);
        self.read.push(read);
        self.numbers.insert(made, value);
        value
    }

    /// Whether the value depends on what memory held.
    pub(super) fn is_read(&self, value: Value) -> bool {
        self.read[value.0 as usize]
    }

    pub(super) fn constant(&mut self, value: u64) -> Value {
        self.make(Made::Constant(value))
    }

    pub(super) fn register(&mut self, register: Register) -> Value {
        self.make(Made::Register(register))
    }

    pub(super) fn segment(&mut self) -> Value {
        self.make(Made::Segment)
    }

    pub(super) fn memory(&mut self, address: Value, width: u8) -> Value {
        self.make(Made::Memory(address, width))
    }

    pub(super) fn whether(&mut self, condition: u8, width: u8, a: Value, b: Value) -> Value {
        self.make(Made::Whether(condition, width, a, b))
    }

    /// Returns the value if it is a constant.
    pub(super) fn known(&self, value: Value) -> Option<u64> {
        match self.made[value.0 as usize] {
            Made::Constant(constant) => Some(constant),
            _ => None,
        }
    }

    /// Takes an address apart: what it is counted from, if that is no constant, and the distance.
    pub(super) fn apart(&self, address: Value) -> (Option<Value>, i64) {
        match self.made[address.0 as usize] {
            Made::Constant(constant) => (None, constant as i64),
            Made::Sum(Sum::Add, 8, base, distance) => match self.known(distance) {
                Some(distance) => (Some(base), distance as i64),
                None => (Some(address), 0),
            },
            _ => (Some(address), 0),
        }
    }

    pub(super) fn narrow(&mut self, width: u8, value: Value) -> Value {
        match self.made[value.0 as usize] {
            _ if width >= 8 => value,
            Made::Constant(constant) => self.constant(narrowed(constant, width)),
            Made::Memory(_, read) if read <= width => value,
            Made::Whether(..) => value,
            Made::Narrow(kept, of) => match kept <= width {
                true => value,
                false => self.narrow(width, of),
            },
            Made::Sum(_, computed, ..) if computed <= width => value,
            Made::Merged(lowest, _, of) if lowest >= width => self.narrow(width, of),
            _ => self.make(Made::Narrow(width, value)),
        }
    }

    pub(super) fn merged(&mut self, width: u8, old: Value, new: Value) -> Value {
        let old = match self.made[old.0 as usize] {
            Made::Merged(before, older, _) if before <= width => older,
            _ => old,
        };
        match (self.known(old), self.known(new)) {
            (Some(old), Some(new)) => self.constant(old & !narrowed(u64::MAX, width) | new),
            _ => self.make(Made::Merged(width, old, new)),
        }
    }

    pub(super) fn signed(&mut self, width: u8, value: Value) -> Value {
        match self.known(value) {
            Some(constant) => self.constant(extended(constant, width) as u64),
            None => self.make(Made::Signed(width, value)),
        }
    }

    pub(super) fn add(&mut self, value: Value, distance: i64) -> Value {
        let distance = self.constant(distance as u64);
        self.sum(Sum::Add, 8, value, distance)
    }

    /// Computes with the lowest `width` bytes of two values.
    pub(super) fn sum(&mut self, sum: Sum, width: u8, a: Value, b: Value) -> Value {
        if let (Some(a), Some(b)) = (self.known(a), self.known(b)) {
            let result = computed(sum, width, a, b);
            return self.constant(narrowed(result, width));
        }
        let (mut sum, mut a, mut b) = (sum, a, b);
        match sum {
            Sum::Sub | Sum::Xor if a == b => return self.constant(0),
            Sum::And | Sum::Or if a == b => return a,
            Sum::Sub if let Some(known) = self.known(b) => {
                (sum, b) = (Sum::Add, self.constant(narrowed(known.wrapping_neg(), width)));
            }
            Sum::Add | Sum::Or | Sum::And | Sum::Xor | Sum::Mul if self.known(a).is_some() => (a, b) = (b, a),
            _ => {}
        }
        match (sum, self.known(b), self.made[a.0 as usize]) {
            (Sum::Add | Sum::Or | Sum::Xor, Some(0), _) => a,
            (Sum::And, Some(0), _) => b,
            // Constants are put together, so that one place has one address, and a bit that is set twice
            // is set once.
            (_, Some(second), Made::Sum(before, same, of, first))
                if before == sum && same == width && matches!(sum, Sum::Add | Sum::Or | Sum::And | Sum::Xor) =>
            {
                match self.known(first) {
                    Some(first) => {
                        let both = self.constant(narrowed(computed(sum, width, first, second), width));
                        self.sum(sum, width, of, both)
                    }
                    None => self.make(Made::Sum(sum, width, a, b)),
                }
            }
            _ => self.make(Made::Sum(sum, width, a, b)),
        }
    }
}

fn computed(sum: Sum, width: u8, a: u64, b: u64) -> u64 {
    let count = b as u32 & if width == 8 { 63 } else { 31 };
    match sum {
        Sum::Add => a.wrapping_add(b),
        Sum::Or => a | b,
        Sum::And => a & b,
        Sum::Sub => a.wrapping_sub(b),
        Sum::Xor => a ^ b,
        Sum::Shl => a << count,
        Sum::Shr => narrowed(a, width) >> count,
        Sum::Sar => (extended(a, width) >> count) as u64,
        Sum::Mul => a.wrapping_mul(b),
    }
}
