//! What interrupt handlers do in memory.
//!
//! With `os.interrupt_lines` a handler reads that number of lines of its CPU's kernel data, and
//! with `os.queue_lines` it writes the lines of its CPU's run queue. It accesses them one after the
//! other through the core's caches, so they miss, take lines from other cores, and evict the
//! thread's lines. The price of the handler's code is paid afterwards. In the meantime the thread
//! stands still, whatever it did.

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::base::thread::ThreadId;
use crate::base::token::{Asked, Token};
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::engine::thread::{Resume, ThreadState};
use crate::os::task::Handler;
use baton_memory::{Access, Answer, Memory, Request};
use baton_units::Cycles;

impl Engine {
    /// The number of lines that a handler accesses.
    pub(super) fn handler_lines(&self) -> u32 {
        self.chip.os.lines.interrupt + self.chip.os.lines.queue
    }

    /// Runs `handlers` handlers on the thread's CPU, whose code takes `code` cycles in total. The
    /// thread then continues as its `resume` says.
    pub(crate) fn begin_handlers(&mut self, id: ThreadId, handlers: u32, code: u64) {
        let left = handlers * self.handler_lines();
        let thread = &mut self.threads[id as usize];
        (thread.state, thread.os.handler) = (ThreadState::Interrupted, Handler { left, code });
        self.handler_goes_on(id);
    }

    /// Carries out the next step of a thread's handlers. Returns false if they are finished.
    fn handler_goes_on(&mut self, id: ThreadId) -> bool {
        let each = self.handler_lines();
        let Handler { left, code } = self.threads[id as usize].os.handler;
        let handler = &mut self.threads[id as usize].os.handler;
        if left != 0 {
            handler.left = left - 1;
            self.handler_touches(id, (each - left % each) % each);
        } else if code != 0 {
            handler.code = 0;
            self.queue.put(Event::thread(id), self.now + code, Rank::Next);
        } else {
            return false;
        }
        true
    }

    fn handler_touches(&mut self, id: ThreadId, number: u32) {
        let (cpu, data) = (self.threads[id as usize].cpu, self.chip.os.lines.interrupt);
        let (offset, access) = match number.checked_sub(data) {
            None => (self.os.layout.cpu_line(cpu, number), Access::Load),
            Some(number) => (self.os.layout.queue_line(cpu, number), Access::Store),
        };
        let (core, line) = (self.core_of(id), self.guest.line(offset));
        let request = Request { token: Token::new(id, Asked::Handler), core, line, access, mark: Default::default() };
        if let Answer::Served(served) = self.memory.request(request, Cycles(self.now)) {
            self.queue.put(Event::thread(id), served.at.0, Rank::Next);
        }
    }

    /// Handles the event of a thread whose CPU runs handlers. Returns whether its guest continues.
    pub(crate) fn handler_event(&mut self, id: ThreadId) -> bool {
        if self.handler_goes_on(id) {
            return false;
        }
        let now = self.now;
        let thread = &mut self.threads[id as usize];
        thread.charge(Reason::Kernel, now);
        let Resume::Work(left) = std::mem::replace(&mut thread.resume, Resume::Guest) else {
            thread.state = ThreadState::Running;
            return true;
        };
        if self.computes_on(id, left) {
            self.preempt(self.threads[id as usize].cpu);
        }
        false
    }
}
