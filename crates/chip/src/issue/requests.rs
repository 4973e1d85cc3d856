//! Requests to devices leave the store buffer: each leaves when all older stores of its thread have
//! been written. Its entry is free when its answer has arrived or, if it is posted, when it has
//! left.

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::base::thread::ThreadId;
use crate::core::pipeline::Stall;
use crate::device::packet::{Landing, PacketAt};
use crate::engine::current::{charge, devices, operate, own, suspend, with};
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::engine::thread::ThreadState;
use crate::issue::drain::{buffered, most_entries, room};
use crate::issue::stall::stall;
use baton_chipfile::peripheral::port::{Hold, Request};
use baton_machine::device::{Payload, Protocol};
use baton_machine::flows::FlowRequest;
use baton_machine::queues::{QueueDevice, QueueId, QueueRequest};

impl Engine {
    /// Sends the thread's requests to their devices, up to the first one that must wait for an
    /// older store or, on a chip with a QIMU, for a request under way. Does nothing for a thread
    /// that has no CPU, or is coming to it or leaving it.
    pub(crate) fn send_requests(&mut self, id: ThreadId) {
        let now = self.now;
        let thread = &mut self.threads[id as usize];
        if matches!(
            thread.state,
            ThreadState::Ready
                | ThreadState::Starting
                | ThreadState::Cancelling
                | ThreadState::Asleep
                | ThreadState::Done
        ) {
            return;
        }
        let Some(devices) = &mut self.devices else { return };
        let (mut any, translated) = (false, devices.qimu.is_some());
        while let Some(packet) = thread.pipeline.buffer.next_request().map(|next| next.packet) {
            let waits = {
                let under_way = thread.pipeline.buffer.asked().filter(|request| request.sent);
                translated && devices.waits_for(packet, under_way.map(|request| request.packet))
            };
            if waits {
                break;
            }
            thread.pipeline.buffer.sent();
            devices.send(packet, thread.cpu, now);
            any = true;
        }
        if any {
            (self.above.devices_did)(self);
        }
    }

    /// The answer to a thread's request has arrived: the request's entry of the store buffer is
    /// free.
    pub(crate) fn request_answered(&mut self, id: ThreadId, packet: u32) {
        self.charge_before_leaving(id);
        let buffer = &mut self.threads[id as usize].pipeline.buffer;
        if buffer.stores() == 0 {
            buffer.answered(packet);
        } else {
            let blocked = self.is_blocked(id);
            if self.threads[id as usize].pipeline.buffer.answered(packet) && blocked && !self.is_blocked(id) {
                self.ask(id);
            }
        }
        self.look_at_stall(id);
        self.look_at_cancelling(id);
        self.send_forwarded(id);
    }

    /// On a chip with a QIMU, whose queues can move, sends requests that waited for another request
    /// of the thread to come back or to be answered.
    fn send_forwarded(&mut self, id: ThreadId) {
        let translated = self.devices.as_ref().is_some_and(|devices| devices.qimu.is_some());
        if translated && !self.threads[id as usize].os.dying {
            self.send_requests(id);
        }
    }

    /// The thread must leave its CPU or end, and first calls its requests back. It leaves or ends
    /// when it knows of each request whether the device has answered it or given it back.
    pub(crate) fn call_back_requests(&mut self, id: ThreadId) {
        let now = self.now;
        let thread = &mut self.threads[id as usize];
        thread.state = ThreadState::Cancelling;
        let Some(devices) = &mut self.devices else { return };
        let under_way = thread.pipeline.buffer.asked().filter(|request| request.sent);
        devices.call_back(id, thread.cpu, under_way.map(|request| request.packet), now);
        (self.above.devices_did)(self);
    }

    /// A request that its thread called back is in the store buffer again, unsent.
    pub(crate) fn request_back(&mut self, packet: u32) {
        let Some(devices) = &self.devices else { return };
        let id = devices.packet(packet).thread;
        self.threads[id as usize].pipeline.buffer.returned(packet);
        self.look_at_cancelling(id);
        self.send_forwarded(id);
    }

    /// If the thread has called its requests back and knows what became of each, it leaves its CPU;
    /// if the thread is ending, its coroutine continues instead.
    fn look_at_cancelling(&mut self, id: ThreadId) {
        let thread = &self.threads[id as usize];
        if thread.state != ThreadState::Cancelling || thread.pipeline.buffer.under_way() != 0 {
            return;
        }
        let dying = thread.os.dying;
        if let Some(devices) = &mut self.devices {
            devices.begin_anew(id);
        }
        if dying {
            self.threads[id as usize].state = ThreadState::Running;
            self.queue.put(Event::thread(id), self.now, Rank::Next);
        } else {
            (self.above.stand_aside)(self, id, Reason::Device);
        }
    }

    /// Whether the chip's devices are queue devices.
    fn has_queues(&self) -> bool {
        self.devices.as_ref().is_some_and(|devices| devices.protocol(0) == QueueDevice::KIND)
    }

    /// The thread's requests that are dequeues.
    fn dequeues(&self, id: ThreadId) -> Vec<u32> {
        let Some(devices) = &self.devices else { return Vec::new() };
        let asked = self.threads[id as usize].pipeline.buffer.asked();
        let is_dequeue = |packet: &u32| {
            let words = devices.packet(*packet).request.words();
            matches!(
                QueueRequest::from_words(words),
                Some(QueueRequest::Dequeue { .. } | QueueRequest::Flow(FlowRequest::Receive { .. }))
            )
        };
        asked.map(|request| request.packet).filter(is_dequeue).collect()
    }

    /// The thread is about to end: queue devices take its credits back, and forget for what the
    /// thread is armed.
    pub(crate) fn retire(&mut self, id: ThreadId) {
        let now = self.now;
        if let Some(devices) = &mut self.devices {
            devices.retire(id, now);
            (self.above.devices_did)(self);
        }
    }

    /// A move of queues is over: threads that have ended meanwhile are retired.
    pub(crate) fn move_is_over(&mut self) {
        let now = self.now;
        if let Some(devices) = &mut self.devices {
            devices.move_is_over(now);
            (self.above.devices_did)(self);
        }
    }

    /// The thread was killed, and none of its requests is under way: the remaining requests are
    /// never sent, and answers that have arrived are dropped.
    pub(crate) fn drop_requests(&mut self, id: ThreadId) {
        let Some(devices) = &mut self.devices else { return };
        devices.drop_of(id);
        let blocked = self.is_blocked(id);
        self.threads[id as usize].pipeline.buffer.forget_requests();
        if blocked {
            self.ask(id);
        }
        self.retire(id);
    }

    /// Charges all of the thread's time since its last charge to the wait for a request: the time
    /// for which the device held the request to the reason of that (queue full or empty), the rest
    /// to the device.
    pub(super) fn charge_request(&mut self, id: ThreadId, packet: u32) {
        let now = self.now;
        let held = self.devices.as_ref().and_then(|devices| devices.packet(packet).held);
        let thread = &mut self.threads[id as usize];
        if let Some((why, from, until)) = held {
            let reason = match why {
                Hold::Full => Reason::QueueFull,
                Hold::Empty => Reason::QueueEmpty,
            };
            let held = until.min(now).saturating_sub(from.max(thread.stats.since));
            thread.charge(reason, thread.stats.since + held);
        }
        thread.charge(Reason::Device, now);
    }
}

/// The running thread issues a request to a device, which takes a cycle. Before that cycle the
/// thread waits for a free entry of its store buffer (on a chip that has store buffers), and after
/// it until fewer than `device.outstanding` of its requests are unanswered. Returns the number of
/// the request's packet.
pub(crate) fn issue(device: u32, request: Request, queue: Option<(u32, QueueId)>, reason: Reason) -> u32 {
    room();
    operate(reason, |engine| engine.after(1));
    let most = devices(|devices| devices.config.outstanding as usize).unwrap_or(1);
    if own(|thread| thread.pipeline.buffer.requests()) >= most {
        stall(Stall::Requests(most));
    }
    with(|engine| {
        let id = engine.running;
        let Some(devices) = &mut engine.devices else { unreachable!("a device of a chip without devices") };
        let packet = devices.issue(device, id, request);
        devices.packet_mut(packet).queue = queue;
        let thread = &mut engine.threads[id as usize];
        thread.stats.counts.operations += 1;
        thread.pipeline.buffer.ask(packet, false);
        engine.send_requests(id);
        packet
    })
}

/// The running thread posts requests, four in a store of 64 bytes. Each such store takes a cycle.
/// Each request waits for a free entry of the store buffer (on a chip that has store buffers), and
/// keeps the entry until it leaves for the device.
pub(crate) fn post(device: u32, requests: impl ExactSizeIterator<Item = (Request, Landing)>) {
    let most = most_entries();
    for (number, (request, landing)) in requests.enumerate() {
        room();
        if number % A_STORE == 0 {
            operate(Reason::Device, |engine| engine.after(1));
        }
        with(|engine| {
            let id = engine.running;
            let Some(devices) = &mut engine.devices else { unreachable!("a device of a chip without devices") };
            let packet = devices.issue(device, id, request);
            let posted = devices.packet_mut(packet);
            (posted.lands, posted.wanted) = (Some(landing), false);
            let thread = &mut engine.threads[id as usize];
            thread.stats.counts.operations += u64::from(number % A_STORE == 0);
            thread.pipeline.buffer.ask(packet, true);
            engine.send_requests(id);
        });
    }
    // Without a store buffer, only this wait bounds the number of posted requests that have not
    // left.
    if most == 0 {
        stall(Stall::Left);
    }
}

/// The number of posted requests in a store of 64 bytes.
const A_STORE: usize = 4;

/// The running thread ends: its stores are written, and its requests leave for their devices and
/// proceed without the thread. Queue devices keep nothing of the thread: its dequeues, whose items
/// no thread would take, are called back, its enqueues are waited for, and its credits are
/// returned.
pub(crate) fn leave() {
    if buffered() != 0 {
        if with(|engine| engine.has_queues()) {
            call_dequeues_back();
            stall(Stall::Requests(1));
            stall(Stall::Stores(0));
        } else {
            stall(Stall::Left);
            own(|thread| thread.pipeline.buffer.forget_requests());
        }
    }
    with(|engine| engine.retire(engine.running));
}

/// If dequeues are among the running thread's requests, calls all of its requests back, drops the
/// dequeues, and sends the others again.
fn call_dequeues_back() {
    if with(|engine| engine.dequeues(engine.running).is_empty()) {
        return;
    }
    let waits = |engine: &mut Engine| {
        let id = engine.running;
        let waits = engine.threads[id as usize].pipeline.buffer.under_way() != 0;
        if waits {
            engine.threads[id as usize].os.dying = true;
            engine.call_back_requests(id);
        }
        waits
    };
    if with(waits) {
        suspend();
        charge(Reason::Device);
        own(|thread| thread.os.dying = false);
    }
    with(|engine| {
        let id = engine.running;
        for packet in engine.dequeues(id) {
            engine.threads[id as usize].pipeline.buffer.answered(packet);
            if let Some(devices) = &mut engine.devices {
                // If another thread keeps the request's ticket, the ticket frees the packet.
                match devices.packet(packet).wanted {
                    true => devices.packet_mut(packet).place = PacketAt::Here,
                    false => devices.drop_packet(packet),
                }
            }
        }
        engine.send_requests(id);
    });
}
