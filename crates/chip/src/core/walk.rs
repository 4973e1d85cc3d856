//! Loads that do not depend on each other and are under way at once: a guest walks over the lines of a range.
//!
//! Loads are issued in order, each with the walk's own instructions, as long as the reorder buffer and the load queue have
//! room and a miss-status register is free. They retire in order: the oldest one leaves its entries when its line has come,
//! and until then they are taken, whatever came for the younger ones. The thread waits for the oldest, and its waiting
//! goes to what that load's time went to (the stall at the head of the reorder buffer).

use super::{WALK, token};
use crate::engine::current::{operate, suspend, with};
use crate::engine::queue::Rank;
use crate::engine::thread::{Reason, ThreadId};
use crate::engine::{Engine, PENDING, own};
use crate::memory::{Access, Answer, Line, Memory, Part, Parts, Request};
use baton_units::Cycles;
use std::collections::VecDeque;

/// Loads of one walk at most: their numbers have to fit into a token.
pub(crate) const MOST: u32 = 512;

/// A load under way.
#[derive(Clone, Copy)]
struct Load {
    /// When its line is there; [`PENDING`]: the memory system will tell.
    due: u64,
    /// What its time goes to.
    parts: Parts,
}

/// What the thread waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    Nothing,
    /// The oldest load.
    Oldest,
    /// A miss-status register: any load that misses.
    Any,
}

/// The loads of a thread's walk.
pub(crate) struct Walk {
    /// Oldest first.
    loads: VecDeque<Load>,
    /// Number of the oldest.
    first: u32,
    /// How many of them the memory system has not answered yet.
    misses: u32,
    waits: Waits,
    /// What the load went to that the thread waited for last.
    came: Parts,
}

impl Default for Walk {
    fn default() -> Walk {
        Walk { loads: VecDeque::new(), first: 0, misses: 0, waits: Waits::Nothing, came: Parts::default() }
    }
}

impl Walk {
    /// The oldest loads leave, as far as their lines have come by `now`.
    fn retire(&mut self, now: u64) {
        while self.loads.front().is_some_and(|load| load.due <= now) {
            self.loads.pop_front();
            self.first = (self.first + 1) % MOST;
        }
    }
}

impl Engine {
    /// The window of the running thread.
    #[inline]
    pub(crate) fn window(&self) -> super::window::Window {
        self.windows[self.threads[self.running as usize].cpu as usize]
    }

    /// The running thread asks for a line and does not wait.
    fn issue(&mut self, line: Line) {
        let (id, now) = (self.running, self.now);
        let core = self.core_of(id);
        let hit = self.memory.hit(core).0;
        let thread = &mut self.threads[id as usize];
        thread.operations += 1;
        let number = (thread.walk.first + thread.walk.loads.len() as u32) % MOST;
        let mark = thread.standing;
        let request = Request { token: token(id, WALK | number), core, line, access: Access::Load, mark };
        let load = match self.memory.request(request, Cycles(now)) {
            Answer::Served(served) => {
                let mut parts = Parts::default();
                let took = served.at.0 - now;
                parts.add(Part::L1, took.min(hit));
                parts.add(served.beyond, took.saturating_sub(hit));
                Load { due: served.at.0, parts }
            }
            Answer::Pending => Load { due: PENDING, parts: Parts::default() },
        };
        let walk = &mut self.threads[id as usize].walk;
        walk.misses += u32::from(load.due == PENDING);
        walk.loads.push_back(load);
    }

    /// The memory system tells when a load of a walk is served.
    pub(crate) fn walked(&mut self, id: ThreadId, part: u32, at: u64, parts: Parts) {
        let walk = &mut self.threads[id as usize].walk;
        let place = (part % WALK + MOST - walk.first) % MOST;
        walk.loads[place as usize] = Load { due: at, parts };
        walk.misses -= 1;
        if walk.waits == Waits::Any || (walk.waits == Waits::Oldest && place == 0) {
            walk.waits = Waits::Nothing;
            walk.came = parts;
            self.queue.put(own(id), at, Rank::Next);
        }
    }

    /// What the running thread must wait for before another load is issued; `None`: nothing.
    fn next_wait(&mut self, instructions: u32) -> Option<Waits> {
        let (now, window) = (self.now, self.window());
        let walk = &mut self.threads[self.running as usize].walk;
        walk.retire(now);
        if walk.loads.len() >= window.loads(instructions) {
            Some(Waits::Oldest)
        } else {
            (walk.misses >= window.mshrs).then_some(Waits::Any)
        }
    }

    /// The running thread begins to wait; when that is over, if it is known.
    fn begin_wait(&mut self, what: Waits) -> u64 {
        let walk = &mut self.threads[self.running as usize].walk;
        match walk.loads.front() {
            Some(oldest) if what == Waits::Oldest && oldest.due != PENDING => {
                walk.came = oldest.parts;
                oldest.due
            }
            _ => {
                walk.waits = what;
                PENDING
            }
        }
    }

    /// The running thread's wait is over: its time goes to what the load's did.
    fn end_wait(&mut self) {
        let now = self.now;
        let thread = &mut self.threads[self.running as usize];
        let waited = now - thread.since;
        let came = thread.walk.came.scaled(waited);
        thread.parts.iter_mut().zip(came.0).for_each(|(sum, part)| *sum += u64::from(part));
        thread.charge(Reason::Memory, now);
    }
}

fn wait(what: Waits) {
    let over = with(|engine| {
        let at = engine.begin_wait(what);
        engine.over(at, Rank::Next)
    });
    if !over {
        suspend();
    }
    with(Engine::end_wait);
}

/// Loads of lines that do not depend on each other, each with `instructions` of its own; ends when all have come.
pub(crate) fn load_all(lines: impl Iterator<Item = Line>, instructions: u32) {
    for line in lines {
        while let Some(what) = with(|engine| engine.next_wait(instructions)) {
            wait(what);
        }
        operate(Reason::Work, |engine| {
            let cycles = engine.instructions(u64::from(instructions) * super::instructions::UNIT);
            // The cache takes one load a cycle.
            engine.after(cycles.max(1))
        });
        with(|engine| engine.issue(line));
    }
    loop {
        let left = with(|engine| {
            let now = engine.now;
            let walk = &mut engine.threads[engine.running as usize].walk;
            walk.retire(now);
            !walk.loads.is_empty()
        });
        if !left {
            return;
        }
        wait(Waits::Oldest);
    }
}
