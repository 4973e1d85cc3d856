//! The engine's side of devices: their events, answers that arrive, and what an interrupt does at
//! its core.

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::base::thread::{OUTSIDE, ThreadId};
use crate::device::agenda::DeviceEvent;
use crate::device::attached::Consequence;
use crate::device::packet::{Packet, PacketAt};
use crate::engine::state::{Engine, Step};
use crate::engine::thread::ThreadState;
use baton_chipfile::peripheral::port::Answer;
use baton_machine::device::Words;
use baton_memory::{Carried, Transport};
use baton_units::Cycles;

impl Engine {
    /// The time of the devices' event has come.
    pub(crate) fn devices_step(&mut self) -> Step {
        let Some(mut devices) = self.devices.take() else { return Step::Handled };
        let now = self.now;
        devices.scheduled = u64::MAX;
        while let Some(event) = devices.pop(now) {
            match event {
                DeviceEvent::Arrives(packet) => devices.arrives(packet, false, now),
                DeviceEvent::Written(packet) => devices.out.push_back(Consequence::Written(packet)),
                DeviceEvent::Edge(device, cycle) => devices.at_edge(device, cycle, now),
                DeviceEvent::Leaves(packet) => devices.leaves(packet, now),
            }
        }
        self.devices = Some(devices);
        self.devices_did();
        Step::Handled
    }

    /// The network has delivered a packet. `placed` says whether it took a place of a device's
    /// endpoint.
    pub(crate) fn carried(&mut self, packet: u32, placed: bool) {
        let now = self.now;
        if let Some(devices) = &mut self.devices {
            devices.arrives(packet, placed, now);
        }
        self.devices_did();
    }

    /// Carries out the consequences of what devices did, and inserts their next event.
    pub(crate) fn devices_did(&mut self) {
        while let Some(outcome) = self.devices.as_mut().and_then(|devices| devices.out.pop_front()) {
            match outcome {
                Consequence::Carry { packet, to_core } => {
                    let Some(devices) = &mut self.devices else { continue };
                    let there = *devices.packet(packet);
                    let (core, device) = (self.chip.core_of(there.cpu), there.device);
                    let always_taken = there.place == PacketAt::Cancel;
                    if let Some(mut transport) = self.memory.transport() {
                        let carried = Carried { tag: packet, core, device, to_core, always_taken };
                        transport.carry(carried, Cycles(self.now));
                    }
                }
                Consequence::Place(device) => {
                    if let Some(mut transport) = self.memory.transport() {
                        transport.free_place(device, Cycles(self.now));
                    }
                }
                Consequence::Here(packet) => self.answer_here(packet),
                Consequence::Back(packet) => self.request_back(packet),
                Consequence::Write(packet) => self.write_answer(packet),
                Consequence::Written(packet) => self.answer_written(packet),
                Consequence::Interrupt { device, cpu, thread } => self.interrupt(device, cpu, thread),
            }
        }
        let Some(devices) = &mut self.devices else { return };
        let next = devices.next();
        if next != devices.scheduled {
            if devices.scheduled != u64::MAX {
                self.queue.cancel(Event::DEVICES);
            }
            devices.scheduled = next;
            if next != u64::MAX {
                self.queue.put(Event::DEVICES, next.max(self.now), Rank::Next);
            }
        }
    }

    /// A system call from outside of guest code, which takes no time.
    pub(crate) fn call_device(&mut self, device: u32, words: Words) -> Answer {
        let now = self.now;
        let answer = self.devices.as_mut().and_then(|devices| devices.call_at_once(device, words, now));
        self.devices_did();
        answer.unwrap_or_else(|| {
            panic!("device {device} is called from outside of guest code, and does not answer at once")
        })
    }

    /// Tells the devices whether a thread waits for a CPU.
    #[inline]
    pub(super) fn tell_of_crowd(&mut self) {
        let now = self.now;
        if let Some(devices) = &mut self.devices {
            devices.crowd(self.os.ready > 0, now);
            self.devices_did();
        }
    }

    fn answer_here(&mut self, id: u32) {
        let Some(devices) = &mut self.devices else { return };
        let Packet { thread, wanted, .. } = *devices.packet(id);
        self.request_answered(thread, id);
        if !wanted && let Some(devices) = &mut self.devices {
            devices.drop_packet(id);
        }
    }

    /// A device interrupts a CPU. Its handler takes `device.interrupt` cycles there, as ticks and
    /// calls between CPUs take theirs, and wakes the thread that the interrupt is for, else the one
    /// that has waited for the device for longest. If that thread does not sleep yet, or none
    /// waits, the interrupt is kept and ends such a thread's next sleep at once.
    fn interrupt(&mut self, device: u32, cpu: u32, thread: ThreadId) {
        // A device may name a CPU that does not exist.
        let Some(core) = self.os.cpus.get(cpu as usize).map(|cpu| cpu.core) else { return };
        let Some(devices) = &mut self.devices else { return };
        let cost = devices.of_one(device).interrupt.0;
        let waiter = if thread == OUTSIDE {
            let waiting = &mut devices.waiting[device as usize];
            let waiter = (!waiting.is_empty()).then(|| waiting.remove(0));
            devices.pending[device as usize] += u64::from(waiter.is_none());
            waiter
        } else {
            devices.subjects.fires(thread).then_some(thread)
        };
        self.interrupt_cpu(cpu, cost);
        let Some(waiter) = waiter else { return };
        let running = self.os.cpus[cpu as usize].current.map(|id| &self.threads[id as usize]);
        let ends = match running {
            // Handlers that have already delayed the computation come first.
            Some(thread) if matches!(thread.state, ThreadState::Working(_)) => thread.pace.still_until.max(self.now),
            _ => self.now + self.cores.clocks.whole(core, cost),
        };
        self.queue.put(Event::timeout(waiter), ends, Rank::Next);
    }
}
