//! The dialect's queues, as CAF has them (Wang and others, PACT 2016): their declaration in the initial state, and the
//! instructions that reach them.
//!
//! ```text
//! { queue q[2]=5,6; queue full[1]=1; 0:rdi=q; }
//!  P0               | P1               ;
//!  enqueue $7,%rdi  | dequeue %rax,q   ;
//!  enqueue %rbx,q   | prepush (x)      ;
//! ```
//! The operands stand in the paper's order: the register, then the queue. A dequeue gives its register the item when the
//! device has answered; until then the thread goes on, up to the first instruction that uses the register.

use super::code::Code;
use super::initial::{Names, Pointer, Target};
use super::instruction::{self, Instruction, Source, Width};

/// Queues at most.
pub const MOST_QUEUES: usize = 16;
/// Entries of a queue at most: a test shows nothing with more, and models keep them all.
pub const MOST_ENTRIES: u32 = 64;

/// A queue of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Its name in the file.
    pub name: String,
    /// How many items it has room for.
    pub entries: u32,
    /// The items in it at first, the oldest first.
    pub initial: Vec<u64>,
}

/// Whether something can be called that.
pub(super) fn is_name(name: &str) -> bool {
    let letters = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
    !name.is_empty() && letters && !name.starts_with(|c: char| c.is_ascii_digit())
}

impl Queue {
    /// Reads `q[2]=5,6`, what stands behind the word `queue`.
    pub(super) fn read(text: &str) -> Result<Queue, String> {
        let (left, items) = text.split_once('=').map_or((text, None), |(left, items)| (left.trim(), Some(items)));
        let wrong = || format!("`queue {text}`: expected a name, its room and its items, as in `queue q[2]=5,6`");
        let (name, room) = left.strip_suffix(']').and_then(|left| left.split_once('[')).ok_or_else(wrong)?;
        let name = name.trim();
        if !is_name(name) {
            return Err(wrong());
        }
        let entries = room.trim().parse::<u32>().ok().filter(|entries| (1..=MOST_ENTRIES).contains(entries));
        let entries =
            entries.ok_or_else(|| format!("`{name}[{room}]`: expected room for 1 to {MOST_ENTRIES} items"))?;
        let mut initial = Vec::new();
        for item in items.into_iter().flat_map(|items| items.split(',')).map(str::trim) {
            initial
                .push(instruction::number(item).ok_or_else(|| format!("`{item}` is no number (an item of `{name}`)"))?);
        }
        if initial.len() > entries as usize {
            return Err(format!("`{name}` has {} items at first and room for {entries}", initial.len()));
        }
        Ok(Queue { name: name.to_owned(), entries, initial })
    }
}

/// Fences of which the paper does not say whether they wait for requests.
const UNCLEAR: [&str; 2] = ["lfence", "sfence"];

impl Code {
    /// Reads an instruction of the dialect; `None`: it is another.
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

    /// The queue that an operand names, by its name or by a register with its id.
    fn queue_of(&mut self, id: usize, text: &str, line: usize, names: &Names, at: &[Pointer]) -> Result<usize, String> {
        let none = || format!("`{text}` is no queue; the initial state declares them, as in `queue q[2];`");
        if !text.starts_with('%') {
            return names.queue(text).ok_or_else(none);
        }
        let register = quad(text)?;
        let pointer = at.iter().find(|pointer| (pointer.thread, pointer.register) == (id, register));
        match pointer.map(|pointer| pointer.to) {
            Some(Target::Queue(queue)) => {
                self.used.push((id, register, line));
                Ok(queue)
            }
            _ => Err(format!("`{text}`: the initial state gives it no queue, as in `{id}:{}=q`", &text[1..])),
        }
    }
}

/// The register of 64 bits of that name.
fn quad(text: &str) -> Result<usize, String> {
    let register = text.starts_with('%').then(|| instruction::register(text)).flatten();
    match register {
        Some((register, Width::Quad)) => Ok(register),
        Some(_) => Err(format!("`{text}`: items are 64 bits wide")),
        None if text.starts_with('%') => Err(instruction::no_register(text)),
        None => Err(format!("`{text}`: expected a register, as in `%rax`")),
    }
}

/// What an enqueue puts in.
fn item_of(text: &str) -> Result<Source, String> {
    match text.strip_prefix('$') {
        Some(value) => {
            let number = instruction::number(value);
            number.map(Source::Value).ok_or_else(|| format!("`{text}`: expected a number after `$`"))
        }
        None => quad(text).map(Source::Register),
    }
}
