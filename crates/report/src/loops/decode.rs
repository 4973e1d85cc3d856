//! The instructions of x86-64 that short loops consist of, as `iced-x86` decodes them. Loops that wait use few
//! of them: moves, comparisons, jumps, and atomic read-modify-writes. All others are unknown here.

use iced_x86::{Code, Decoder, DecoderOptions, Instruction as Decoded, Mnemonic, OpKind, Register as Name};

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
    let decoded = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
    let action = action(&decoded)?;
    let width = match action {
        Action::Push(_) | Action::Pop(_) | Action::Return | Action::Call(_) => {
            // A push of two bytes is not known.
            (decoded.stack_pointer_increment().abs() == 8).then_some(8)?
        }
        _ => width(&decoded, 0),
    };
    let locked = decoded.has_lock_prefix() || matches!(action, Action::Exchange(..));
    Some(Instruction { action, width, locked, next: decoded.next_ip() })
}

/// Width of an operand in bytes.
fn width(decoded: &Decoded, operand: u32) -> u8 {
    match decoded.op_kind(operand) {
        OpKind::Register => decoded.op_register(operand).size() as u8,
        OpKind::Memory => decoded.memory_size().size() as u8,
        _ => 8,
    }
}

/// A register for integers. `None` for other ones, and for the second bytes of registers.
fn register(name: Name) -> Option<Register> {
    let is_whole = name.is_gpr() && !matches!(name, Name::AH | Name::BH | Name::CH | Name::DH);
    is_whole.then(|| name.full_register().number() as Register)
}

/// The operand in memory. `None` if its address has 4 bytes, or is in a segment other than the thread's own.
fn place(decoded: &Decoded) -> Option<Place> {
    let part = |name: Name| match name {
        Name::None | Name::RIP => Some(None),
        name => name.is_gpr64().then(|| register(name)),
    };
    let index = part(decoded.memory_index())?;
    Some(Place {
        base: part(decoded.memory_base())?,
        index: index.map(|index| (index, decoded.memory_index_scale() as u8)),
        // With RIP this is the address itself.
        offset: decoded.memory_displacement64() as i64,
        own: match decoded.segment_prefix() {
            Name::FS => true,
            Name::GS => return None,
            _ => false,
        },
    })
}

fn operand(decoded: &Decoded, at: u32) -> Option<Operand> {
    match decoded.op_kind(at) {
        OpKind::Register => register(decoded.op_register(at)).map(Operand::Register),
        OpKind::Memory => place(decoded).map(Operand::Memory),
        OpKind::NearBranch64 => Some(Operand::Constant(decoded.near_branch_target())),
        _ => constant(decoded, at).map(Operand::Constant),
    }
}

/// A constant operand, extended by its sign where the processor does that.
fn constant(decoded: &Decoded, at: u32) -> Option<u64> {
    decoded.try_immediate(at).ok()
}

fn action(decoded: &Decoded) -> Option<Action> {
    let to = || operand(decoded, 0);
    let from = || operand(decoded, 1);
    let [first, second] = [0, 1].map(|at| match operand(decoded, at) {
        Some(Operand::Register(register)) => Some(register),
        _ => None,
    });
    Some(match decoded.mnemonic() {
        Mnemonic::Nop | Mnemonic::Pause | Mnemonic::Endbr64 => Action::Nothing,
        Mnemonic::Mfence | Mnemonic::Lfence | Mnemonic::Sfence => Action::Nothing,
        Mnemonic::Prefetchnta | Mnemonic::Prefetcht0 | Mnemonic::Prefetcht1 => Action::Nothing,
        Mnemonic::Prefetcht2 | Mnemonic::Prefetchw => Action::Nothing,
        Mnemonic::Mov => Action::Move(to()?, from()?),
        Mnemonic::Movzx => Action::Extend(first?, from()?, width(decoded, 1), false),
        Mnemonic::Movsx | Mnemonic::Movsxd => Action::Extend(first?, from()?, width(decoded, 1), true),
        Mnemonic::Lea => Action::AddressOf(first?, place(decoded).filter(|place| !place.own)?),
        Mnemonic::Inc => Action::Step(to()?, 1),
        Mnemonic::Dec => Action::Step(to()?, u64::MAX),
        Mnemonic::Not => Action::Invert(to()?),
        Mnemonic::Cmp => Action::Compare(to()?, from()?),
        Mnemonic::Test => Action::Test(to()?, from()?),
        Mnemonic::Xchg => Action::Exchange(to()?, second?),
        Mnemonic::Cmpxchg => Action::CompareExchange(to()?, second?),
        Mnemonic::Xadd => Action::ExchangeAdd(to()?, second?),
        Mnemonic::Bt => Action::OneBit(Bit::Test, to()?, constant(decoded, 1)? as u8),
        Mnemonic::Bts => Action::OneBit(Bit::Set, to()?, constant(decoded, 1)? as u8),
        Mnemonic::Btr => Action::OneBit(Bit::Clear, to()?, constant(decoded, 1)? as u8),
        Mnemonic::Push => Action::Push(to()?),
        Mnemonic::Pop => Action::Pop(first?),
        Mnemonic::Leave if decoded.code() == Code::Leaveq => Action::Leave,
        Mnemonic::Ret if decoded.op_count() == 0 => Action::Return,
        Mnemonic::Call => Action::Call(to()?),
        Mnemonic::Jmp => Action::Jump(to()?),
        _ => return sum(decoded).or_else(|| conditional(decoded)),
    })
}

/// A computation whose result goes to its first operand. Shifts are known by constants only.
fn sum(decoded: &Decoded) -> Option<Action> {
    let sum = match decoded.mnemonic() {
        Mnemonic::Add => Sum::Add,
        Mnemonic::Or => Sum::Or,
        Mnemonic::And => Sum::And,
        Mnemonic::Sub => Sum::Sub,
        Mnemonic::Xor => Sum::Xor,
        Mnemonic::Imul if decoded.op_count() == 2 => Sum::Mul,
        Mnemonic::Shl if constant(decoded, 1).is_some() => Sum::Shl,
        Mnemonic::Shr if constant(decoded, 1).is_some() => Sum::Shr,
        Mnemonic::Sar if constant(decoded, 1).is_some() => Sum::Sar,
        _ => return None,
    };
    Some(Action::Compute(sum, operand(decoded, 0)?, operand(decoded, 1)?))
}

/// An instruction that depends on a condition.
fn conditional(decoded: &Decoded) -> Option<Action> {
    let condition = (decoded.condition_code() as Condition).checked_sub(1)?;
    match (decoded.op_count(), operand(decoded, 0)?) {
        (1, Operand::Constant(target)) => decoded.is_jcc_short_or_near().then_some(Action::Branch(condition, target)),
        (1, to) => Some(Action::Set(condition, to)),
        (2, Operand::Register(to)) => Some(Action::MoveIf(condition, to, operand(decoded, 1)?)),
        _ => None,
    }
}
