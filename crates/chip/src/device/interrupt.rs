//! The engine's side of devices: their events, answers that come, and what an interrupt does at its core.

use super::attached::{Event, Upshot};
use super::port::Hold;
use crate::engine::queue::Rank;
use crate::engine::thread::{Reason, State, ThreadId};
use crate::engine::{Engine, Step, own, slice, timeout};
use crate::memory::{Carried, Memory};
use baton_units::Cycles;

impl Engine {
    /// The event of all devices: behind those of the CPUs' time slices.
    fn devices_event(&self) -> u32 {
        slice(self.chip.cpus())
    }

    /// Whether an event of a CPU's number is the devices'.
    #[inline]
    pub(crate) fn is_devices(&self, cpu: u32) -> bool {
        cpu == self.chip.cpus()
    }

    /// The time of the devices' event has come.
    pub(crate) fn devices_step(&mut self) -> Step {
        let Some(mut devices) = self.devices.take() else { return Step::Handled };
        let now = self.now;
        devices.scheduled = u64::MAX;
        let mut upshots = Vec::new();
        while let Some(event) = devices.pop(now) {
            match event {
                Event::Arrives(packet) => devices.arrives(packet, false, now, &mut upshots),
                Event::Edge(device, cycle) => devices.at_edge(device, cycle, now, &mut upshots),
                Event::Leaves(packet) => devices.leaves(packet, now, &mut upshots),
            }
        }
        self.devices = Some(devices);
        self.devices_did(upshots);
        Step::Handled
    }

    /// The network has carried a packet to its end; `placed`: to a place of a device's endpoint.
    pub(crate) fn carried(&mut self, packet: u32, placed: bool) {
        let now = self.now;
        let mut upshots = Vec::new();
        if let Some(devices) = &mut self.devices {
            devices.arrives(packet, placed, now, &mut upshots);
        }
        self.devices_did(upshots);
    }

    /// Does what follows from what the devices did, and puts their next event in.
    pub(crate) fn devices_did(&mut self, upshots: Vec<Upshot>) {
        for upshot in upshots {
            match upshot {
                Upshot::Carry { packet, to_core } => {
                    let Some(devices) = &mut self.devices else { continue };
                    let there = *devices.packet(packet);
                    let (core, device) = (self.chip.core_of(there.cpu), there.device);
                    self.memory.carry(Carried { tag: packet, core, device, to_core }, Cycles(self.now));
                }
                Upshot::Place(device) => self.memory.place(device, Cycles(self.now)),
                Upshot::Here(packet) => self.answer_here(packet),
                Upshot::Interrupt { device, cpu } => self.interrupt(device, cpu),
            }
        }
        let event = self.devices_event();
        let Some(devices) = &mut self.devices else { return };
        let next = devices.next();
        if next != devices.scheduled {
            if devices.scheduled != u64::MAX {
                self.queue.cancel(event);
            }
            devices.scheduled = next;
            if next != u64::MAX {
                self.queue.put(event, next.max(self.now), Rank::Next);
            }
        }
    }

    fn answer_here(&mut self, id: u32) {
        let Some(devices) = &mut self.devices else { return };
        let packet = *devices.packet(id);
        let thread = packet.thread;
        *devices.outstanding.entry(thread).or_default() -= 1;
        if let Some(at) = devices.crowded.iter().position(|&crowded| crowded == thread) {
            devices.crowded.swap_remove(at);
            self.queue.put(own(thread), self.now, Rank::Next);
        } else if packet.stalls {
            self.queue.put(own(thread), self.now, Rank::Next);
        }
        if !packet.wanted {
            devices.drop_packet(id);
        }
    }

    /// A device interrupts a CPU: its handler takes `device.interrupt` cycles there, as those of ticks and of calls between
    /// CPUs take theirs, and wakes the thread that waits for the device longest; without one the interrupt is kept for
    /// the next that asks.
    fn interrupt(&mut self, device: u32, cpu: u32) {
        // A device can name only CPUs that there are.
        let Some(core) = self.cpus.get(cpu as usize).map(|cpu| cpu.core) else { return };
        let Some(devices) = &mut self.devices else { return };
        let cost = devices.of_one(device).interrupt.0;
        let waiting = &mut devices.waiting[device as usize];
        let waiter = (!waiting.is_empty()).then(|| waiting.remove(0));
        devices.pending[device as usize] += u64::from(waiter.is_none());
        self.interrupt_cpu(cpu, cost);
        let Some(waiter) = waiter else { return };
        let running = self.cpus[cpu as usize].current.map(|id| &self.threads[id as usize]);
        let ends = match running {
            // Behind the handlers that have put the computation off already.
            Some(thread) if matches!(thread.state, State::Working(_)) => thread.still_until.max(self.now),
            _ => self.now + self.clocks.whole(core, cost),
        };
        self.queue.put(timeout(waiter), ends, Rank::Next);
    }

    /// Charges the time that a thread has stalled for a device: what it was held there has its own reasons.
    pub(crate) fn charge_stall(&mut self, id: ThreadId, held: Option<(Hold, u64, u64)>) {
        let now = self.now;
        let thread = &mut self.threads[id as usize];
        if let Some((why, from, until)) = held {
            let reason = match why {
                Hold::Full => Reason::QueueFull,
                Hold::Empty => Reason::QueueEmpty,
            };
            let held = until.min(now).saturating_sub(from.max(thread.since));
            thread.charge(reason, thread.since + held);
        }
        thread.charge(Reason::Device, now);
    }

    /// The run is cut off: charges the threads that stall for a device.
    pub(crate) fn charge_stalls(&mut self) {
        let Some(devices) = &self.devices else { return };
        let stalls: Vec<_> = devices.stalls().map(|packet| (packet.thread, packet.held)).collect();
        let crowded = devices.crowded.clone();
        for (thread, held) in stalls {
            self.charge_stall(thread, held);
        }
        for thread in crowded {
            self.charge_stall(thread, None);
        }
    }
}
