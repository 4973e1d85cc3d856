//! Decodes the instructions of x86-64 that short loops consist of. Loops that wait use few of them: moves,
//! comparisons, jumps, and atomic read-modify-writes. All others are unknown here.

/// A register's number, as the processor encodes it.
pub(super) type Register = u8;
pub(super) const RAX: Register = 0;
pub(super) const RSP: Register = 4;
pub(super) const RBP: Register = 5;

/// An address in memory: `base + index * scale + offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) base: Option<Register>,
    pub(super) index: Option<(Register, u8)>,
    pub(super) offset: i64,
    /// Whether the address is in the thread's own segment (`fs`).
    pub(super) own: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    Register(Register),
    Memory(Place),
    Constant(u64),
}

/// What an instruction computes from two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sum {
    Add,
    Or,
    And,
    Sub,
    Xor,
    Shl,
    Shr,
    Sar,
    Mul,
}

/// What an instruction does with one bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bit {
    Test,
    Set,
    Clear,
}

/// A condition's number, as the processor encodes it: the lowest bit negates it.
pub(super) type Condition = u8;
/// Two values are equal, or a result is 0.
pub(super) const EQUAL: Condition = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Nothing,
    Move(Operand, Operand),
    /// The operand of the given width in bytes, extended by its sign (`true`) or by zeros.
    Extend(Register, Operand, u8, bool),
    AddressOf(Register, Place),
    /// The result goes to the first operand.
    Compute(Sum, Operand, Operand),
    /// Adds the constant, without a carry.
    Step(Operand, u64),
    Invert(Operand),
    Compare(Operand, Operand),
    Test(Operand, Operand),
    Exchange(Operand, Register),
    /// Stores the register if the operand is as RAX; else RAX gets the operand.
    CompareExchange(Operand, Register),
    ExchangeAdd(Operand, Register),
    OneBit(Bit, Operand, u8),
    Push(Operand),
    Pop(Register),
    Leave,
    Return,
    Call(Operand),
    Jump(Operand),
    Branch(Condition, u64),
    Set(Condition, Operand),
    MoveIf(Condition, Register, Operand),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) action: Action,
    /// Width of the operands in bytes.
    pub(super) width: u8,
    /// Whether no other processor writes the operand in the middle of the instruction.
    pub(super) locked: bool,
    /// Address of the next instruction.
    pub(super) next: u64,
}

/// Decodes the instruction at `address`, of which `bytes` are the first bytes. `None` if the instruction is
/// not known.
pub(super) fn decode(address: u64, bytes: &[u8]) -> Option<Instruction> {
    let mut reader = Reader { bytes, at: 0, address, prefixes: Prefixes::default() };
    reader.prefixes()?;
    let (action, width) = reader.action()?;
    let locked = reader.prefixes.locked || matches!(action, Action::Exchange(..));
    Some(Instruction { action, width, locked, next: reader.here() })
}

#[derive(Default)]
struct Prefixes {
    rex: u8,
    narrow: bool,
    repeat: bool,
    locked: bool,
    own: bool,
    /// The prefix of short addresses, which compilers put before calls as padding.
    padding: bool,
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    address: u64,
    prefixes: Prefixes,
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Reads a constant of 1 or 4 bytes, extended by its sign.
    fn signed(&mut self, bytes: u8) -> Option<i64> {
        if bytes == 1 {
            return Some(i64::from(self.byte()? as i8));
        }
        let four = self.bytes.get(self.at..self.at + 4)?;
        self.at += 4;
        Some(i64::from(i32::from_le_bytes(four.try_into().ok()?)))
    }

    fn here(&self) -> u64 {
        self.address.wrapping_add(self.at as u64)
    }

    fn target(&mut self, bytes: u8) -> Option<u64> {
        let distance = self.signed(bytes)?;
        Some(self.here().wrapping_add_signed(distance))
    }

    fn prefixes(&mut self) -> Option<()> {
        loop {
            match *self.bytes.get(self.at)? {
                0x66 => self.prefixes.narrow = true,
                0xf0 => self.prefixes.locked = true,
                0xf2 | 0xf3 => self.prefixes.repeat = true,
                0x64 => self.prefixes.own = true,
                0x67 => self.prefixes.padding = true,
                0x2e | 0x3e => {}
                rex @ 0x40..=0x4f => {
                    self.prefixes.rex = rex;
                    self.at += 1;
                    return Some(());
                }
                _ => return Some(()),
            }
            self.at += 1;
        }
    }

    /// Width of the operands of an instruction whose opcode has 0 in its lowest bit for bytes.
    fn width(&self, opcode: u8) -> u8 {
        match opcode & 1 {
            0 => 1,
            _ if self.prefixes.rex & 8 != 0 => 8,
            _ if self.prefixes.narrow => 2,
            _ => 4,
        }
    }

    /// Width of the operands of instructions for the stack and for jumps.
    fn wide(&self) -> Option<u8> {
        (!self.prefixes.narrow).then_some(8)
    }

    fn register(&self, number: u8, bit: u8) -> Register {
        number & 7 | if self.prefixes.rex & bit != 0 { 8 } else { 0 }
    }

    /// A register of the given width. `None` for the second bytes of registers.
    fn named(&self, register: Register, width: u8) -> Option<Register> {
        (width > 1 || self.prefixes.rex != 0 || register < 4).then_some(register)
    }

    /// Reads the byte that names two operands: the register (or number), and a register or place.
    /// `constant` is the number of bytes of the constant that follows.
    fn pair(&mut self, width: u8, constant: u8) -> Option<(Register, Operand)> {
        let byte = self.byte()?;
        let first = self.register(byte >> 3, 4);
        if byte >> 6 == 3 {
            return Some((first, Operand::Register(self.named(self.register(byte, 1), width)?)));
        }
        if self.prefixes.padding {
            return None;
        }
        let mut place = Place { base: None, index: None, offset: 0, own: self.prefixes.own };
        let mut from_here = false;
        match (byte & 7, byte >> 6) {
            (4, mode) => {
                let byte = self.byte()?;
                let index = self.register(byte >> 3, 2);
                place.index = (index != RSP).then_some((index, 1 << (byte >> 6)));
                let bare = byte & 7 == 5 && mode == 0;
                place.base = (!bare).then(|| self.register(byte, 1));
                place.offset = if bare { self.signed(4)? } else { 0 };
            }
            (5, 0) => from_here = true,
            _ => place.base = Some(self.register(byte, 1)),
        }
        match byte >> 6 {
            1 => place.offset = self.signed(1)?,
            2 => place.offset = self.signed(4)?,
            _ if from_here => {
                let distance = self.signed(4)?;
                place.offset = self.here().wrapping_add(u64::from(constant)).wrapping_add_signed(distance) as i64;
            }
            _ => {}
        }
        Some((first, Operand::Memory(place)))
    }

    /// Like [`Reader::pair`], where the first is a register of the same width.
    fn registers(&mut self, width: u8) -> Option<(Register, Operand)> {
        let (register, operand) = self.pair(width, 0)?;
        Some((self.named(register, width)?, operand))
    }

    fn constant(&mut self, width: u8) -> Option<Operand> {
        let bytes = if width == 1 { 1 } else { 4 };
        if width == 2 {
            return None;
        }
        Some(Operand::Constant(self.signed(bytes)? as u64))
    }

    fn action(&mut self) -> Option<(Action, u8)> {
        let opcode = self.byte()?;
        if self.prefixes.repeat && !matches!(opcode, 0x0f | 0x90 | 0xc3 | 0xe8 | 0xe9 | 0xff | 0x70..=0x7f) {
            return None;
        }
        let width = self.width(opcode);
        let action = match opcode {
            0x0f => return self.second(),
            0x00..=0x3d if opcode & 7 < 6 => self.sum(opcode, width)?,
            0x50..=0x57 => Action::Push(Operand::Register(self.register(opcode, 1))),
            0x58..=0x5f => Action::Pop(self.register(opcode, 1)),
            0x63 => {
                let (to, from) = self.registers(4)?;
                return Some((Action::Extend(to, from, 4, true), self.width(1)));
            }
            0x68 => Action::Push(Operand::Constant(self.signed(4)? as u64)),
            0x6a => Action::Push(Operand::Constant(self.signed(1)? as u64)),
            0x70..=0x7f => Action::Branch(opcode & 15, self.target(1)?),
            0x80 | 0x81 | 0x83 => {
                let bytes = if opcode == 0x81 { 4 } else { 1 };
                let (number, to) = self.pair(width, bytes)?;
                if opcode == 0x81 && width == 2 {
                    return None;
                }
                let from = Operand::Constant(self.signed(bytes)? as u64);
                sum(number & 7, to, from)?
            }
            0x84 | 0x85 => {
                let (register, operand) = self.registers(width)?;
                Action::Test(operand, Operand::Register(register))
            }
            0x86 | 0x87 => {
                let (register, operand) = self.registers(width)?;
                Action::Exchange(operand, register)
            }
            0x88 | 0x89 => {
                let (register, operand) = self.registers(width)?;
                Action::Move(operand, Operand::Register(register))
            }
            0x8a | 0x8b => {
                let (register, operand) = self.registers(width)?;
                Action::Move(Operand::Register(register), operand)
            }
            0x8d => match self.pair(8, 0)? {
                (to, Operand::Memory(place)) if !place.own && width > 2 => Action::AddressOf(to, place),
                _ => return None,
            },
            0x90 if self.prefixes.rex & 1 == 0 => Action::Nothing,
            0xa8 | 0xa9 => Action::Test(Operand::Register(RAX), self.constant(width)?),
            0xb0..=0xbf => return self.load_constant(opcode),
            0xc0 | 0xc1 | 0xd0 | 0xd1 => self.shift(opcode, width)?,
            0xc3 => Action::Return,
            0xc6 | 0xc7 => match self.pair(width, if width == 1 { 1 } else { 4 })? {
                (0 | 8, to) => Action::Move(to, self.constant(width)?),
                _ => return None,
            },
            0xc9 => Action::Leave,
            0xe8 => Action::Call(Operand::Constant(self.target(4)?)),
            0xe9 => Action::Jump(Operand::Constant(self.target(4)?)),
            0xeb => Action::Jump(Operand::Constant(self.target(1)?)),
            0xf6 | 0xf7 => self.unary(width)?,
            0xfe | 0xff => return self.count(width),
            _ => return None,
        };
        match action {
            Action::Push(_) | Action::Pop(_) | Action::Leave | Action::Return | Action::Call(_) => {
                Some((action, self.wide()?))
            }
            _ => Some((action, width)),
        }
    }

    fn sum(&mut self, opcode: u8, width: u8) -> Option<Action> {
        let (to, from) = match opcode & 7 {
            0 | 1 => {
                let (register, operand) = self.registers(width)?;
                (operand, Operand::Register(register))
            }
            2 | 3 => {
                let (register, operand) = self.registers(width)?;
                (Operand::Register(register), operand)
            }
            _ => (Operand::Register(RAX), self.constant(width)?),
        };
        sum(opcode >> 3, to, from)
    }

    fn load_constant(&mut self, opcode: u8) -> Option<(Action, u8)> {
        let to = self.register(opcode, 1);
        if opcode < 0xb8 {
            let to = Operand::Register(self.named(to, 1)?);
            return Some((Action::Move(to, Operand::Constant(u64::from(self.byte()?))), 1));
        }
        let width = self.width(1);
        let value = match width {
            8 => {
                let eight = self.bytes.get(self.at..self.at + 8)?;
                self.at += 8;
                u64::from_le_bytes(eight.try_into().ok()?)
            }
            4 => self.signed(4)? as u64,
            _ => return None,
        };
        Some((Action::Move(Operand::Register(to), Operand::Constant(value)), width))
    }

    fn shift(&mut self, opcode: u8, width: u8) -> Option<Action> {
        let by_one = opcode & 0x10 != 0;
        let (number, to) = self.pair(width, u8::from(!by_one))?;
        let count = if by_one { 1 } else { self.byte()? };
        let what = match number & 7 {
            4 => Sum::Shl,
            5 => Sum::Shr,
            7 => Sum::Sar,
            _ => return None,
        };
        Some(Action::Compute(what, to, Operand::Constant(u64::from(count))))
    }

    fn unary(&mut self, width: u8) -> Option<Action> {
        let number = *self.bytes.get(self.at)? >> 3 & 7;
        let bytes = if number > 1 { 0 } else { width.min(4) };
        let (_, operand) = self.pair(width, bytes)?;
        match number {
            0 => Some(Action::Test(operand, self.constant(width)?)),
            2 => Some(Action::Invert(operand)),
            _ => None,
        }
    }

    /// Opcodes 0xfe and 0xff: steps by one, and jumps through registers and memory.
    fn count(&mut self, width: u8) -> Option<(Action, u8)> {
        let (number, operand) = self.pair(width, 0)?;
        match (number & 7, width) {
            (0, _) => Some((Action::Step(operand, 1), width)),
            (1, _) => Some((Action::Step(operand, u64::MAX), width)),
            (2, 2..) => Some((Action::Call(operand), self.wide()?)),
            (4, 2..) => Some((Action::Jump(operand), self.wide()?)),
            (6, 2..) => Some((Action::Push(operand), self.wide()?)),
            _ => None,
        }
    }

    /// The opcodes that begin with 0x0f.
    fn second(&mut self) -> Option<(Action, u8)> {
        let opcode = self.byte()?;
        if self.prefixes.repeat && opcode != 0x1e {
            return None;
        }
        let width = self.width(opcode);
        let full = self.width(1);
        let action = match opcode {
            0x18..=0x1f => {
                self.pair(8, 0)?;
                Action::Nothing
            }
            0x40..=0x4f => {
                let (to, from) = self.registers(full)?;
                return Some((Action::MoveIf(opcode & 15, to, from), full));
            }
            0x80..=0x8f => Action::Branch(opcode & 15, self.target(4)?),
            0x90..=0x9f => {
                let (_, to) = self.pair(1, 0)?;
                return Some((Action::Set(opcode & 15, to), 1));
            }
            // Fences.
            0xae if matches!(self.byte()?, 0xe8 | 0xf0 | 0xf8) => Action::Nothing,
            0xaf => {
                let (to, from) = self.registers(full)?;
                Action::Compute(Sum::Mul, Operand::Register(to), from)
            }
            0xba => {
                let (number, operand) = self.pair(full, 1)?;
                let bit = match number & 7 {
                    4 => Bit::Test,
                    5 => Bit::Set,
                    6 => Bit::Clear,
                    _ => return None,
                };
                return Some((Action::OneBit(bit, operand, self.byte()?), full));
            }
            0xb0 | 0xb1 => {
                let (register, operand) = self.registers(width)?;
                Action::CompareExchange(operand, register)
            }
            0xb6 | 0xb7 | 0xbe | 0xbf => {
                let from = if opcode & 1 == 0 { 1 } else { 2 };
                let (to, operand) = self.pair(from, 0)?;
                return Some((Action::Extend(to, operand, from, opcode >= 0xbe), full));
            }
            0xc0 | 0xc1 => {
                let (register, operand) = self.registers(width)?;
                Action::ExchangeAdd(operand, register)
            }
            _ => return None,
        };
        Some((action, width))
    }
}

/// The computation of a number in an opcode. `None` for computations with a carry.
fn sum(number: u8, to: Operand, from: Operand) -> Option<Action> {
    Some(match number {
        0 => Action::Compute(Sum::Add, to, from),
        1 => Action::Compute(Sum::Or, to, from),
        4 => Action::Compute(Sum::And, to, from),
        5 => Action::Compute(Sum::Sub, to, from),
        6 => Action::Compute(Sum::Xor, to, from),
        7 => Action::Compare(to, from),
        _ => return None,
    })
}
