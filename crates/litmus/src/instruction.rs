//! Instructions in AT&T syntax, those that litmus tests need.
//!
//! | instructions | operands |
//! | --- | --- |
//! | `mov` | value or register to register or memory, memory to register |
//! | `xchg` | register and memory; locked with or without the prefix |
//! | `lock` with `add sub and or xor inc dec xadd cmpxchg` | on memory |
//! | `add sub and or xor inc dec cmp test` | register, or memory without atomicity |
//! | `mfence`; `lfence sfence nop pause` (which order nothing more on write-back memory) | |
//! | `jmp je jz jne jnz` | a label further down |
//! | `enqueue dequeue prepush` | CAF's, in the dialect with queues ([`queue`](super::queue)) |
//!
//! Widths are 64 bits (`q`) and 32 bits (`l`); a location has one width.

/// Number of general registers.
pub const REGISTERS: usize = 16;
/// Number of the register that `cmpxchg` compares with.
pub const RAX: usize = 0;

const NAMES: [&str; 8] = ["ax", "bx", "cx", "dx", "si", "di", "bp", "sp"];

/// The width of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// 32 bits.
    Long,
    /// 64 bits.
    Quad,
}

impl Width {
    /// The lowest bits of `value` that have this width.
    pub fn low(self, value: u64) -> u64 {
        match self {
            Width::Long => value & 0xffff_ffff,
            Width::Quad => value,
        }
    }
}

/// What a request is for: a queue, and the request's priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aim {
    /// The number of the queue.
    pub queue: usize,
    /// The priority; a queue device with fewer priorities takes its highest one instead.
    pub priority: u8,
}

/// An arithmetic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Addition.
    Add,
    /// Subtraction.
    Sub,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

impl Op {
    /// The result of the operation, before it is cut to a width.
    pub fn apply(self, left: u64, right: u64) -> u64 {
        match self {
            Op::Add => left.wrapping_add(right),
            Op::Sub => left.wrapping_sub(right),
            Op::And => left & right,
            Op::Or => left | right,
            Op::Xor => left ^ right,
        }
    }
}

/// Where an instruction takes a value from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A register.
    Register(usize),
    /// A constant.
    Value(u64),
    /// A location.
    Location(usize),
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Moves a value from anywhere to a register.
    Move(usize, Source, Width),
    /// Moves a value to a location; the source is no location.
    Store(usize, Source, Width),
    /// Does arithmetic on a register.
    Compute(Op, usize, Source, Width),
    /// Sets the flag as `cmp` does.
    Compare(Source, Source, Width),
    /// Sets the flag as `test` does.
    Test(usize, Source, Width),
    /// Does arithmetic on memory, locked or as a load and a store.
    Modify {
        /// The operation.
        op: Op,
        /// The number of the location.
        at: usize,
        /// The other operand, which is no location.
        by: Source,
        /// Whether the instruction is one atomic access.
        locked: bool,
        /// The width of the access.
        width: Width,
    },
    /// `xchg` of a register and a location.
    Exchange(usize, usize, Width),
    /// `lock xadd` of a register to a location.
    ExchangeAdd(usize, usize, Width),
    /// `lock cmpxchg` of a register to a location, against `rax`.
    CompareExchange(usize, usize, Width),
    /// `mfence`.
    Fence,
    /// `enqueue` of a register or a value to a queue.
    Enqueue(Source, Aim),
    /// `dequeue` of a queue's first item to a register.
    Dequeue(usize, Aim),
    /// `prepush` of the line that a location lies in.
    Prepush(usize),
    /// Goes on at the given instruction: always (`None`), only if the flag says equal
    /// (`Some(true)`), or only if the flag says not equal (`Some(false)`).
    Jump(Option<bool>, usize),
    /// Does nothing that a thread could see.
    Nothing,
}

impl Instruction {
    /// The register that the instruction may write.
    pub(super) fn writes(&self) -> Option<usize> {
        match *self {
            Instruction::Move(to, ..) | Instruction::Compute(_, to, ..) | Instruction::Dequeue(to, _) => Some(to),
            Instruction::Exchange(register, ..) | Instruction::ExchangeAdd(register, ..) => Some(register),
            Instruction::CompareExchange(..) => Some(RAX),
            _ => None,
        }
    }

    /// Whether the instruction reads the register.
    fn reads(&self, register: usize) -> bool {
        let is = |source: Source| source == Source::Register(register);
        match *self {
            Instruction::Move(_, from, _) | Instruction::Store(_, from, _) | Instruction::Enqueue(from, _) => is(from),
            Instruction::Compute(_, to, by, _) | Instruction::Test(to, by, _) => to == register || is(by),
            Instruction::Compare(left, right, _) => is(left) || is(right),
            Instruction::Modify { by, .. } => is(by),
            Instruction::Exchange(with, ..) | Instruction::ExchangeAdd(with, ..) => with == register,
            Instruction::CompareExchange(with, ..) => with == register || register == RAX,
            Instruction::Dequeue(..)
            | Instruction::Prepush(_)
            | Instruction::Fence
            | Instruction::Jump(..)
            | Instruction::Nothing => false,
        }
    }

    /// Whether the instruction reads or writes the register.
    pub(super) fn uses(&self, register: usize) -> bool {
        self.writes() == Some(register) || self.reads(register)
    }
}

/// A register's number and width from its name, with or without `%`.
pub fn register(name: &str) -> Option<(usize, Width)> {
    let name = name.strip_prefix('%').unwrap_or(name).to_ascii_lowercase();
    if let Some(number) = name.strip_prefix('r').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        let (digits, width) = number.strip_suffix('d').map_or((number, Width::Quad), |digits| (digits, Width::Long));
        return digits.parse().ok().filter(|number| (8..REGISTERS).contains(number)).map(|number| (number, width));
    }
    let width = match name.as_bytes().first()? {
        b'r' => Width::Quad,
        b'e' => Width::Long,
        _ => return None,
    };
    NAMES.iter().position(|known| *known == &name[1..]).map(|number| (number, width))
}

/// The name of a register at a width.
pub fn register_name(register: usize, width: Width) -> String {
    match (NAMES.get(register), width) {
        (Some(name), Width::Quad) => format!("r{name}"),
        (Some(name), Width::Long) => format!("e{name}"),
        (None, Width::Quad) => format!("r{register}"),
        (None, Width::Long) => format!("r{register}d"),
    }
}

pub(super) fn no_register(name: &str) -> String {
    format!("`{name}` is no register; supported: rax rbx rcx rdx rsi rdi rbp rsp r8 to r15, and eax … r15d")
}

/// A decimal or `0x` number, with or without a minus sign.
pub fn number(text: &str) -> Option<u64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None if digits.starts_with(|c: char| c.is_ascii_digit()) => digits.parse().ok()?,
        None => return None,
    };
    Some(if negative { value.wrapping_neg() } else { value })
}
