//! Threads that stall: until their store buffers have room or are empty, and for devices.
//!
//! The cycles of a stall are charged to what the oldest entry of the store buffer waited for in the
//! meantime: a store for its line, or a request for its device. A wait for one answer is charged to
//! what that request waited for.

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::base::thread::ThreadId;
use crate::core::pipeline::Stall;
use crate::device::packet::PacketAt;
use crate::engine::current::{give_up_core, own, suspend, with};
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::engine::waiting::Waited;

impl Engine {
    /// Whether the condition that ends the stall holds.
    fn is_over(&self, id: ThreadId, stall: Stall) -> bool {
        let buffer = &self.threads[id as usize].pipeline.buffer;
        match stall {
            Stall::Entries(most) => buffer.len() <= most,
            Stall::Stores(most) => buffer.stores() <= most,
            Stall::Requests(few) => buffer.requests() < few,
            Stall::Left => {
                // With a QIMU, a request may have to be sent on to another device, which needs the
                // thread.
                let translated = self.devices.as_ref().is_some_and(|devices| devices.qimu.is_some());
                let left = if translated { 0 } else { buffer.under_way() };
                buffer.stores() == 0 && left == buffer.requests()
            }
            Stall::Answer { packet, .. } => {
                self.devices.as_ref().is_none_or(|devices| devices.packet(packet).place == PacketAt::Here)
            }
        }
    }

    /// Resumes the thread if its stall is over, after an entry has left its store buffer or an
    /// answer has arrived.
    #[inline]
    pub(crate) fn look_at_stall(&mut self, id: ThreadId) {
        if let Some(stall) = self.threads[id as usize].pipeline.stall
            && self.is_over(id, stall)
        {
            self.threads[id as usize].pipeline.stall = None;
            self.queue.put(Event::thread(id), self.now, Rank::Next);
        }
    }

    /// The device that a stalled thread waits for; `None` if the thread stalls for stores only.
    fn device_of(&self, id: ThreadId, stall: Stall) -> Option<u32> {
        let packet = match stall {
            Stall::Answer { packet, .. } => packet,
            _ => self.threads[id as usize].pipeline.buffer.asked().next()?.packet,
        };
        self.devices.as_ref().map(|devices| devices.packet(packet).device)
    }

    /// Charges the thread's stall until now to what the thread waited for.
    pub(crate) fn charge_stall(&mut self, id: ThreadId, stall: Stall) {
        let now = self.now;
        let thread = &mut self.threads[id as usize];
        let packet = match stall {
            Stall::Answer { kernel: true, .. } => return thread.charge(Reason::Kernel, now),
            Stall::Answer { packet, .. } => Some(packet),
            _ => thread.pipeline.buffer.oldest_request(),
        };
        match packet {
            None => thread.charge(Reason::StoreBuffer, now),
            Some(packet) => self.charge_request(id, packet),
        }
    }

    /// An entry is about to leave the thread's store buffer: charges the thread's stall until now,
    /// if it stalls, because another entry is the oldest afterwards.
    pub(crate) fn charge_before_leaving(&mut self, id: ThreadId) {
        match self.threads[id as usize].pipeline.stall {
            None | Some(Stall::Answer { .. }) => {}
            Some(stall) => self.charge_stall(id, stall),
        }
    }

    /// The thread's stall, if the thread has unanswered requests to devices. Its CPU can then be
    /// taken away.
    pub(crate) fn stalls_for_device(&self, id: ThreadId) -> Option<Stall> {
        let pipeline = &self.threads[id as usize].pipeline;
        pipeline.stall.filter(|_| pipeline.buffer.requests() != 0)
    }

    /// At the end of a run, charges the stalls of the threads that have requests to devices.
    pub(crate) fn charge_stalls(&mut self) {
        for id in 0..self.threads.len() as u32 {
            if let Some(stall) = self.stalls_for_device(id) {
                self.charge_stall(id, stall);
            }
        }
    }
}

/// Stalls the running thread until the reason for the stall is gone.
#[cold]
pub(crate) fn stall(what: Stall) {
    let outer = with(|engine| {
        let device = engine.device_of(engine.running, what)?;
        let on = (Waited::Device(device), engine.now);
        Some(engine.threads[engine.running as usize].wait.waits_on.replace(on))
    });
    while with(|engine| !engine.is_over(engine.running, what)) {
        let leaves = own(|thread| {
            let wanted = thread.os.leaves || thread.os.attends();
            let leaves = wanted && thread.pipeline.buffer.requests() != 0;
            if !leaves {
                thread.pipeline.stall = Some(what);
            }
            leaves
        });
        if leaves {
            // The thread gives its CPU up, because a device may keep it waiting for long.
            give_up_core();
            continue;
        }
        suspend();
        with(|engine| engine.charge_stall(engine.running, what));
    }
    if let Some(outer) = outer {
        own(|thread| thread.wait.waits_on = outer);
    }
}
