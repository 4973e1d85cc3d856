//! The queues of the dialect, as CAF has them (Wang and others, PACT 2016): their declaration in
//! the initial state, and the instructions that use them.
//!
//! ```text
//! { queue q[2]=5,6; queue full[1]=1; 0:rdi=q; }
//!  P0               | P1               ;
//!  enqueue $7,%rdi  | dequeue %rax,q   ;
//!  enqueue %rbx,q   | prepush (x)      ;
//! ```
//! The operands stand in the order of CAF's paper: the register, then the queue. A dequeue gives
//! its register the item when the device has answered; until then the thread goes on, up to the
//! first instruction that uses the register. `q@1` is the queue `q` with priority 1.

use super::code::Code;
use super::initial::{Names, Pointer, Target};
use super::instruction::{self, Aim, Instruction, Source, Width};

/// The fences of which CAF's paper does not say whether they wait for requests.
const UNCLEAR: [&str; 2] = ["lfence", "sfence"];

impl Code {
    /// Reads an instruction of the dialect; `None` if the instruction is not of the dialect.
    pub(super) fn dialect(
        &mut self,
        id: usize,
        mnemonic: &str,
        operands: &str,
        line: usize,
        names: &mut Names,
        at: &[Pointer],
    ) -> Option<Result<Instruction, String>> {
        if UNCLEAR.contains(&mnemonic) && !names.queues.is_empty() {
            let says = "the paper does not say whether it waits for requests; `mfence` does";
            return Some(Err(format!("`{mnemonic}` is not supported in a test with queues: {says}")));
        }
        let operands: Vec<&str> = operands.split(',').map(str::trim).filter(|operand| !operand.is_empty()).collect();
        Some(match (mnemonic, operands.as_slice()) {
            ("prepush", &[address]) => self.location(id, address, line, names, at).map(Instruction::Prepush),
            ("prepush", _) => Err("`prepush`: expected an address, as in `prepush (x)`".into()),
            ("enqueue", &[item, to]) => {
                let item = item_of(item);
                item.and_then(|item| Ok(Instruction::Enqueue(item, self.queue_of(id, to, line, names, at)?)))
            }
            ("enqueue", _) => Err("`enqueue`: expected an item and a queue, as in `enqueue %rax,q`".into()),
            ("dequeue", &[to, from]) => {
                let register = quad(to);
                register.and_then(|to| Ok(Instruction::Dequeue(to, self.queue_of(id, from, line, names, at)?)))
            }
            ("dequeue", _) => Err("`dequeue`: expected a register and a queue, as in `dequeue %rax,q`".into()),
            _ => return None,
        })
    }

    /// The queue and the priority that an operand names, directly or by a register that holds them.
    fn queue_of(&mut self, id: usize, text: &str, line: usize, names: &Names, at: &[Pointer]) -> Result<Aim, String> {
        let none = || format!("`{text}` is no queue; the initial state declares them, as in `queue q[2];`");
        if !text.starts_with('%') {
            return names.aim(text)?.ok_or_else(none);
        }
        let register = quad(text)?;
        let pointer = at.iter().find(|pointer| (pointer.thread, pointer.register) == (id, register));
        match pointer.map(|pointer| pointer.to) {
            Some(Target::Queue(aim)) => {
                self.used.push((id, register, line));
                Ok(aim)
            }
            _ => Err(format!("`{text}`: the initial state gives it no queue, as in `{id}:{}=q`", &text[1..])),
        }
    }
}

/// The number of the 64-bit register with that name.
fn quad(text: &str) -> Result<usize, String> {
    let register = text.starts_with('%').then(|| instruction::register(text)).flatten();
    match register {
        Some((register, Width::Quad)) => Ok(register),
        Some(_) => Err(format!("`{text}`: items are 64 bits wide")),
        None if text.starts_with('%') => Err(instruction::no_register(text)),
        None => Err(format!("`{text}`: expected a register, as in `%rax`")),
    }
}

/// The value that an enqueue puts into the queue.
fn item_of(text: &str) -> Result<Source, String> {
    match text.strip_prefix('$') {
        Some(value) => {
            let number = instruction::number(value);
            number.map(Source::Value).ok_or_else(|| format!("`{text}`: expected a number after `$`"))
        }
        None => quad(text).map(Source::Register),
    }
}
