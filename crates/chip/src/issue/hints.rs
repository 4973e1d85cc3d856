//! Hints: prefetches, and pushes that give a line up. Each costs an instruction per line; no thread
//! waits for its effect.
//!
//! A prefetch goes to the caches at once, and is dropped there if the line is on its way already or
//! no miss-status register is free. A push is queued behind the stores in the store buffer, so that
//! the line that it gives up has their values.

use crate::base::token::{Asked, Token};
use crate::core::buffer::Store;
use crate::engine::current::{operate, with};
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::issue::drain;
use baton_memory::{Access, Line, Memory, Request};
use baton_units::{CoreId, Cycles};

/// The lines of a range, each with the offset in guest memory at which its part of the range
/// begins.
type Lines<'a> = &'a mut dyn Iterator<Item = (usize, Line)>;

impl Engine {
    /// The running thread's core gives a hint.
    fn hint(&mut self, line: Line, access: Access) {
        self.threads[self.running as usize].stats.counts.operations += 1;
        let core = self.core_of(self.running);
        let request =
            Request { token: Token::new(self.running, Asked::Hint), core, line, access, mark: Default::default() };
        let _ = self.memory.request(request, Cycles(self.now));
    }
}

fn hint(line: Line, access: Access) {
    with(|engine| engine.hint(line, access));
}

/// Executes the instruction of a hint. It takes a cycle at least, because the cache accepts one
/// hint a cycle.
fn instruction() {
    operate(Reason::Work, |engine| {
        let cycles = engine.instructions(crate::core::instructions::UNIT).max(1);
        engine.after(cycles)
    });
}

/// Prefetches these lines, which the running thread will read or, if `write`, write.
pub(crate) fn prefetch(lines: Lines<'_>, write: bool) {
    let access = if write { Access::PrefetchExclusive } else { Access::Prefetch };
    for (_, line) in lines {
        instruction();
        hint(line, access);
    }
}

/// Gives these lines from the running thread's core to another core or, if `to` is `None`, to their
/// homes.
pub(crate) fn push(lines: Lines<'_>, to: Option<CoreId>) {
    let (buffers, own, cores) =
        with(|engine| (engine.buffers(), engine.core_of(engine.running), engine.chip.core.count));
    let no_receiver = to.is_some_and(|to| to == own || to.0 >= cores);
    let access = Access::Push { to };
    for (offset, line) in lines {
        if no_receiver || !buffers {
            instruction();
        }
        if no_receiver {
            continue;
        }
        if buffers {
            drain::store(|core| Store { offset, bytes: 0, value: 0, write: None, line, access, core });
        } else {
            hint(line, access);
        }
    }
}
