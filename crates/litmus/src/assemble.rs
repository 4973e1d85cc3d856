//! Puts an instruction together from its name and its operands.

use super::instruction::{Instruction, Op, Source, Width};

pub(super) const SUPPORTED: &str = "supported: mov, xchg, add sub and or xor inc dec xadd cmpxchg (on memory with `lock`), cmp, \
                                    test, mfence lfence sfence nop pause, jumps down, each with suffix q or l; enqueue, \
                                    dequeue, prepush";

/// An operand.
#[derive(Clone, Copy)]
pub(super) enum Operand {
    Register(usize, Width),
    Value(u64),
    Location(usize),
}

/// Splits off the prefix `lock`. Returns whether it was there, and the text behind it.
pub(super) fn without_lock(text: &str) -> (bool, &str) {
    let lower = text.to_ascii_lowercase();
    let behind = lower.strip_prefix("lock").filter(|rest| rest.starts_with(|c: char| c == ';' || c.is_whitespace()));
    match behind {
        Some(rest) => (true, &text[text.len() - rest.trim_start_matches(';').trim_start().len()..]),
        None => (false, text),
    }
}

/// An instruction without operands, by its name.
pub(super) fn bare(mnemonic: &str) -> Option<Instruction> {
    match mnemonic {
        "mfence" => Some(Instruction::Fence),
        "lfence" | "sfence" | "nop" | "pause" => Some(Instruction::Nothing),
        _ => None,
    }
}

/// Returns the condition of the jump with this name: `Some(None)` for `jmp`, otherwise whether the
/// last comparison must have found equality. Returns `None` if the name is not a jump's.
pub(super) fn jump(mnemonic: &str) -> Option<Option<bool>> {
    match mnemonic {
        "jmp" => Some(None),
        "je" | "jz" => Some(Some(true)),
        "jne" | "jnz" => Some(Some(false)),
        _ => None,
    }
}

const WITH_OPERANDS: [&str; 13] =
    ["mov", "xchg", "xadd", "cmpxchg", "add", "sub", "and", "or", "xor", "inc", "dec", "cmp", "test"];

/// Splits the name of an instruction with operands into the bare name and the width of its suffix.
pub(super) fn with_operands(mnemonic: &str) -> Option<(&str, Option<Width>)> {
    let known = |name: &&str| WITH_OPERANDS.contains(name);
    let suffixed = |suffix, width| mnemonic.strip_suffix(suffix).filter(known).map(|name| (name, Some(width)));
    let plain = Some(mnemonic).filter(known).map(|name| (name, None));
    plain.or_else(|| suffixed('q', Width::Quad)).or_else(|| suffixed('l', Width::Long))
}

/// Puts an instruction together; `None` if its operands do not fit.
pub(super) fn assemble(name: &str, locked: bool, width: Width, operands: &[Operand]) -> Option<Instruction> {
    let op = match name {
        "add" | "inc" => Some(Op::Add),
        "sub" | "dec" => Some(Op::Sub),
        "and" => Some(Op::And),
        "or" => Some(Op::Or),
        "xor" => Some(Op::Xor),
        _ => None,
    };
    let source = |operand: Operand| match operand {
        Operand::Register(register, _) => Source::Register(register),
        Operand::Value(value) => Source::Value(value),
        Operand::Location(at) => Source::Location(at),
    };
    let one = matches!(name, "inc" | "dec");
    match (op, operands) {
        (Some(op), &[Operand::Location(at)]) if one => {
            Some(Instruction::Modify { op, at, by: Source::Value(1), locked, width })
        }
        (Some(op), &[Operand::Register(to, _)]) if one && !locked => {
            Some(Instruction::Compute(op, to, Source::Value(1), width))
        }
        _ if one => None,
        (Some(op), &[by @ (Operand::Register(..) | Operand::Value(_)), Operand::Location(at)]) => {
            Some(Instruction::Modify { op, at, by: source(by), locked, width })
        }
        (
            None,
            &[Operand::Register(register, _), Operand::Location(at)]
            | &[Operand::Location(at), Operand::Register(register, _)],
        ) if name == "xchg" => Some(Instruction::Exchange(register, at, width)),
        (None, &[Operand::Register(register, _), Operand::Location(at)]) if locked && name == "xadd" => {
            Some(Instruction::ExchangeAdd(register, at, width))
        }
        (None, &[Operand::Register(register, _), Operand::Location(at)]) if locked && name == "cmpxchg" => {
            Some(Instruction::CompareExchange(register, at, width))
        }
        _ if locked => None,
        (Some(op), &[by, Operand::Register(to, _)]) => Some(Instruction::Compute(op, to, source(by), width)),
        (None, &[from, Operand::Register(to, _)]) if name == "mov" => Some(Instruction::Move(to, source(from), width)),
        (None, &[from @ (Operand::Register(..) | Operand::Value(_)), Operand::Location(at)]) if name == "mov" => {
            Some(Instruction::Store(at, source(from), width))
        }
        // AT&T order: `cmp b, a` compares a with b. For equality the order makes no difference.
        (None, &[right, left]) if name == "cmp" => match (left, right) {
            (Operand::Value(_), _) | (Operand::Location(_), Operand::Location(_)) => None,
            _ => Some(Instruction::Compare(source(left), source(right), width)),
        },
        (None, &[right, Operand::Register(left, _)] | &[Operand::Register(left, _), right @ Operand::Location(_)])
            if name == "test" =>
        {
            Some(Instruction::Test(left, source(right), width))
        }
        _ => None,
    }
}
