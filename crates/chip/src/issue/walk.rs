//! Issues independent loads, receives them and waits for them: see [`walk`](crate::core::walk).

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::base::thread::ThreadId;
use crate::base::token::{Asked, LOADS, Token};
use crate::core::instructions::UNIT;
use crate::core::walk::{Load, Waits};
use crate::engine::current::{now, operate, own, suspend_unless, with};
use crate::engine::reason::Reason;
use crate::engine::state::{Engine, PENDING};
use baton_memory::{Access, Answer, Line, Memory, Part, Parts, Request};
use baton_units::Cycles;

impl Engine {
    /// The window of the running thread.
    #[inline]
    pub(crate) fn window(&self) -> crate::core::window::Window {
        self.cores.windows[self.threads[self.running as usize].cpu as usize]
    }

    /// The running thread asks for a line and does not wait.
    fn issue(&mut self, line: Line) {
        let (id, now) = (self.running, self.now);
        let core = self.core_of(id);
        let hit = self.memory.hit(core).0;
        let thread = &mut self.threads[id as usize];
        thread.stats.counts.operations += 1;
        let number = (thread.pipeline.walk.first + thread.pipeline.walk.loads.len() as u32) % LOADS;
        let mark = thread.mechanism.standing;
        let request = Request { token: Token::new(id, Asked::Load(number)), core, line, access: Access::Load, mark };
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
        let walk = &mut self.threads[id as usize].pipeline.walk;
        walk.misses += u32::from(load.due == PENDING);
        walk.loads.push_back(load);
    }

    /// The memory system announces that a load of the thread's walk is served at `at`.
    pub(crate) fn walked(&mut self, id: ThreadId, number: u32, at: u64, parts: Parts) {
        let walk = &mut self.threads[id as usize].pipeline.walk;
        let place = (number + LOADS - walk.first) % LOADS;
        walk.loads[place as usize] = Load { due: at, parts };
        walk.misses -= 1;
        if walk.waits == Waits::Any || (walk.waits == Waits::Oldest && place == 0) {
            walk.waits = Waits::Nothing;
            walk.came = parts;
            self.queue.put(Event::thread(id), at, Rank::Next);
        }
    }

    /// What the running thread must wait for before it can issue another load; `None` for nothing.
    fn next_wait(&mut self, instructions: u32) -> Option<Waits> {
        let (now, window) = (self.now, self.window());
        let walk = &mut self.threads[self.running as usize].pipeline.walk;
        walk.retire(now);
        if walk.loads.len() >= window.loads(instructions) {
            Some(Waits::Oldest)
        } else {
            (walk.misses >= window.mshrs).then_some(Waits::Any)
        }
    }

    /// The running thread begins to wait. Returns the end of the wait, or [`PENDING`] if it is not
    /// known yet.
    fn begin_wait(&mut self, what: Waits) -> u64 {
        let walk = &mut self.threads[self.running as usize].pipeline.walk;
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

    /// The running thread's wait for a load is over: charges the wait to the parts of the memory
    /// system in the proportions of the load's own time.
    fn end_wait(&mut self) {
        let now = self.now;
        let thread = &mut self.threads[self.running as usize];
        let waited = now - thread.stats.since;
        let came = thread.pipeline.walk.came.scaled(waited);
        thread.stats.parts.iter_mut().zip(came.0).for_each(|(sum, part)| *sum += u64::from(part));
        thread.charge(Reason::Memory, now);
    }
}

fn wait(what: Waits) {
    suspend_unless(|engine| {
        let at = engine.begin_wait(what);
        engine.over(at, Rank::Next)
    });
    with(Engine::end_wait);
}

/// The entries of the reorder buffer that `units` units of instructions take.
pub(crate) fn entries(units: u64) -> u32 {
    u32::try_from(units.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

/// Loads these lines, which do not depend on each other, each with `instructions` of its own.
/// Returns when all lines have arrived.
pub(crate) fn load_all(lines: impl Iterator<Item = Line>, instructions: u32) {
    load_lines(lines, u64::from(instructions) * UNIT);
}

/// Like [`load_all`], with the instructions of a load in units.
pub(crate) fn load_lines(lines: impl Iterator<Item = Line>, units: u64) {
    for line in lines {
        while let Some(what) = with(|engine| engine.next_wait(entries(units))) {
            wait(what);
        }
        operate(Reason::Work, |engine| {
            let cycles = engine.instructions(units);
            // This load's instructions take `cycles`, perhaps none; the cache takes at most one
            // load a cycle.
            engine.after(cycles.max(1))
        });
        with(|engine| engine.issue(line));
    }
    loop {
        let now = now();
        let left = own(|thread| {
            thread.pipeline.walk.retire(now);
            !thread.pipeline.walk.loads.is_empty()
        });
        if !left {
            return;
        }
        wait(Waits::Oldest);
    }
}
