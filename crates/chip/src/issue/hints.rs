//! Hints: prefetches, and pushes that give a line up. Each takes an instruction a line; no thread waits for what it does.
//!
//! A prefetch goes to the caches at once, and is dropped there if the line is on its way already or no miss-status register
//! is free. A push goes behind the stores that are in the store buffer, so that it gives up what they wrote.

use crate::base::token::{Asked, Token};
use crate::core::buffer::Store;
use crate::engine::current::{operate, with};
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::issue::drain;
use baton_memory::{Access, Line, Memory, Request};
use baton_units::{CoreId, Cycles};

/// Lines of a range, and where in guest memory each part of it begins.
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

/// The instruction itself; the cache takes one a cycle.
fn instruction() {
    operate(Reason::Work, |engine| {
        let cycles = engine.instructions(crate::core::instructions::UNIT).max(1);
        engine.after(cycles)
    });
}

/// The running thread will read, or write, these lines.
pub(crate) fn prefetch(lines: Lines<'_>, write: bool) {
    let access = if write { Access::PrefetchExclusive } else { Access::Prefetch };
    for (_, line) in lines {
        instruction();
        hint(line, access);
    }
}

/// The running thread gives these lines to another core, or, `None`, to their homes.
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
