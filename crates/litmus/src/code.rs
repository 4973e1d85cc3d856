//! Reads the table of code, which has a column for each thread.

use super::Thread;
use super::assemble::{Operand, SUPPORTED, assemble, bare, jump, with_operands, without_lock};
use super::initial::{Names, Pointer, Target};
use super::instruction::{self, Instruction, Width};

/// Largest number of threads.
const MOST_THREADS: usize = 64;

type Wrong = (usize, String);

/// The threads, as far as their rows have been read.
pub(super) struct Code {
    pub(super) threads: Vec<Thread>,
    /// For each thread, its labels, each with the number of the instruction behind it.
    labels: Vec<Vec<(String, usize)>>,
    /// The jumps, whose targets are not known yet: thread, instruction, label and line.
    jumps: Vec<(usize, usize, String, usize)>,
    /// The uses of registers to which the initial state gives a location or a queue: thread,
    /// register and line.
    pub(super) used: Vec<(usize, usize, usize)>,
}

impl Code {
    /// Reads the row with the threads' names, `P0 | P1 ;`.
    pub(super) fn header(row: Option<&(usize, &str)>, last: usize) -> Result<Code, Wrong> {
        let Some(&(line, row)) = row else { return Err((last, "there is no code: expected ` P0 | P1 ;`".into())) };
        let row = row.trim().strip_suffix(';').ok_or((line, "expected `;` at the end of the row".to_owned()))?;
        let mut threads = 0;
        for cell in row.split('|').map(str::trim) {
            if cell.strip_prefix('P').and_then(|number| number.parse().ok()) != Some(threads) {
                return Err((line, format!("expected `P{threads}`, found `{cell}`")));
            }
            threads += 1;
        }
        if threads > MOST_THREADS {
            return Err((line, format!("more than {MOST_THREADS} threads")));
        }
        let none = vec![Vec::new(); threads];
        Ok(Code { threads: vec![Thread::default(); threads], labels: none, jumps: Vec::new(), used: Vec::new() })
    }

    /// Reads a row of instructions.
    pub(super) fn row(&mut self, line: usize, row: &str, names: &mut Names, at: &[Pointer]) -> Result<(), Wrong> {
        let row = row.trim().strip_suffix(';').ok_or((line, "expected `;` at the end of the row".to_owned()))?;
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        if cells.len() != self.threads.len() {
            return Err((line, format!("{} columns, expected {}", cells.len(), self.threads.len())));
        }
        for (thread, cell) in cells.into_iter().enumerate() {
            self.cell(thread, cell, line, names, at).map_err(|message| (line, message))?;
        }
        Ok(())
    }

    fn cell(&mut self, id: usize, cell: &str, line: usize, names: &mut Names, at: &[Pointer]) -> Result<(), String> {
        let mut text = cell;
        while let Some((label, rest)) = text.split_once(':') {
            let label = label.trim();
            if self.labels[id].iter().any(|(known, _)| known == label) {
                return Err(format!("label `{label}` stands twice in P{id}"));
            }
            self.labels[id].push((label.to_owned(), self.threads[id].code.len()));
            text = rest.trim();
        }
        if text.is_empty() {
            return Ok(());
        }
        let instruction = self.instruction(id, text, line, names, at)?;
        self.threads[id].code.push(instruction);
        Ok(())
    }

    fn instruction(
        &mut self,
        id: usize,
        text: &str,
        line: usize,
        names: &mut Names,
        at: &[Pointer],
    ) -> Result<Instruction, String> {
        let (locked, body) = without_lock(text);
        let (mnemonic, operands) = body.split_once(char::is_whitespace).unwrap_or((body, ""));
        let mnemonic = mnemonic.to_ascii_lowercase();
        if let Some(instruction) = self.dialect(id, &mnemonic, operands, line, names, at).filter(|_| !locked) {
            return instruction;
        }
        if let Some(instruction) = bare(&mnemonic) {
            return match (locked, operands.trim()) {
                (false, "") => Ok(instruction),
                _ => Err(format!("`{text}`: `{mnemonic}` takes no operand and no prefix")),
            };
        }
        if let (Some(condition), false) = (jump(&mnemonic), locked) {
            self.jumps.push((id, self.threads[id].code.len(), operands.trim().to_owned(), line));
            return Ok(Instruction::Jump(condition, 0));
        }
        let (name, suffix) = with_operands(&mnemonic)
            .ok_or_else(|| format!("instruction `{mnemonic}` is not supported; {SUPPORTED}"))?;
        let mut found = Vec::new();
        for operand in operands.split(',').map(str::trim).filter(|operand| !operand.is_empty()) {
            found.push(self.operand(id, operand, line, names, at)?);
        }
        let mut width = suffix;
        for operand in &found {
            if let Operand::Register(_, its) = *operand {
                if width.is_some_and(|width| width != its) {
                    return Err(format!("`{text}`: the register has another width than the instruction"));
                }
                width = Some(its);
            }
        }
        let width = width.ok_or_else(|| format!("`{text}`: the width is not clear; write `{name}q` or `{name}l`"))?;
        for operand in &found {
            if let Operand::Location(at) = *operand {
                names.settle(at, width)?;
            }
        }
        assemble(name, locked, width, &found).ok_or_else(|| {
            let lock = if locked { "lock " } else { "" };
            format!("`{text}`: these operands of `{lock}{name}` are not supported; {SUPPORTED}")
        })
    }

    fn operand(
        &mut self,
        id: usize,
        text: &str,
        line: usize,
        names: &mut Names,
        at: &[Pointer],
    ) -> Result<Operand, String> {
        if let Some(value) = text.strip_prefix('$') {
            let number = instruction::number(value);
            return number.map(Operand::Value).ok_or_else(|| format!("`{text}`: expected a number after `$`"));
        }
        if text.starts_with('%') {
            let (register, width) = instruction::register(text).ok_or_else(|| instruction::no_register(text))?;
            return Ok(Operand::Register(register, width));
        }
        let (before, inside) = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
            Some((before, inside)) => (before.trim(), inside.trim()),
            None => ("", text),
        };
        if let Some(name) = inside.strip_prefix('%') {
            if name == "rip" && !before.is_empty() {
                return names.of(before).map(Operand::Location);
            }
            let (register, _) = instruction::register(name).ok_or_else(|| instruction::no_register(name))?;
            let pointer = at.iter().find(|pointer| (pointer.thread, pointer.register) == (id, register));
            return match pointer.map(|pointer| pointer.to) {
                Some(Target::Location(to)) if before.is_empty() => {
                    self.used.push((id, register, line));
                    Ok(Operand::Location(to))
                }
                Some(Target::Queue(aim)) => {
                    let queue = &names.queues[aim.queue].name;
                    Err(format!("`{text}`: the register names the queue `{queue}`, which has no place in memory"))
                }
                Some(Target::Location(_)) => Err(format!("`{text}`: addresses with an offset are not supported")),
                None => Err(format!("`{text}`: the initial state gives {id}:{name} no address, as in `{id}:{name}=x`")),
            };
        }
        if !before.is_empty() || inside.contains([' ', '[', '(']) {
            return Err(format!("address `{text}` is not supported; supported: (x), x(%rip), (%rdi)"));
        }
        names.of(inside).map(Operand::Location)
    }

    /// The location that an operand addresses.
    pub(super) fn location(
        &mut self,
        id: usize,
        text: &str,
        line: usize,
        names: &mut Names,
        at: &[Pointer],
    ) -> Result<usize, String> {
        match self.operand(id, text, line, names, at)? {
            Operand::Location(at) => Ok(at),
            Operand::Register(..) | Operand::Value(_) => Err(format!("`{text}`: expected an address, as in `(x)`")),
        }
    }

    /// The threads, with every jump to its instruction.
    pub(super) fn finish(mut self) -> Result<Vec<Thread>, Wrong> {
        for (thread, at, label, line) in self.jumps {
            let to = self.labels[thread].iter().find(|(known, _)| *known == label);
            let Some(&(_, to)) = to else { return Err((line, format!("P{thread} has no label `{label}`"))) };
            if to <= at {
                return Err((line, format!("jump back to `{label}`: loops are not supported")));
            }
            if let Instruction::Jump(_, target) = &mut self.threads[thread].code[at] {
                *target = to;
            }
        }
        for (thread, register, line) in self.used {
            if self.threads[thread].code.iter().any(|instruction| instruction.writes() == Some(register)) {
                let name = instruction::register_name(register, Width::Quad);
                return Err((line, format!("P{thread} computes the address in {name}, which is not supported")));
            }
        }
        Ok(self.threads)
    }
}
