//! The verbs by which a guest reaches the devices of its chip. They are the simulated machine's alone: algorithms that use
//! them through [`Machine`](baton_machine::Machine) do so behind a verb of that trait.

use super::Simulated;
use crate::core::drain::drain;
use crate::device::packet::Place;
use crate::device::port::{Answer, Request};
use crate::engine::current::{is_any, kernel, operate, running, suspend, with};
use crate::engine::thread::{OUTSIDE, Reason, Waited};

/// A device of the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device(u32);

/// A request under way. Dropped, its answer is nobody's: it was posted.
#[derive(Debug)]
#[must_use = "dropped, the request is posted: nobody hears of its answer"]
pub struct Ticket(u32);

impl Simulated {
    /// How many devices the chip has.
    pub fn devices() -> u32 {
        with(|engine| engine.devices.as_ref().map_or(0, |devices| devices.config.count))
    }

    /// The chip's device of that number, if it has so many.
    pub fn device(number: u32) -> Option<Device> {
        (number < Simulated::devices()).then_some(Device(number))
    }
}

impl Device {
    /// Its number.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Sends a request, behind all older stores of the thread. It takes a cycle; if the thread has `device.outstanding`
    /// requests under way, it waits until one is answered.
    ///
    /// # Panics
    /// Outside of guest code.
    pub fn request(self, op: u32, words: [u64; 2]) -> Ticket {
        self.send(op, words, false, Reason::Device)
    }

    /// A system call to the device: the request comes privileged, and the core waits for its answer in the kernel.
    ///
    /// # Panics
    /// Outside of guest code.
    pub fn call(self, op: u32, words: [u64; 2]) -> Answer {
        kernel(with(|engine| engine.devices.as_ref().map_or(0, |devices| devices.of_one(self.0).call.0)));
        let ticket = self.send(op, words, true, Reason::Kernel);
        ticket.arrive();
        with(|engine| engine.charge_running(Reason::Kernel));
        ticket.take()
    }

    /// Sleeps until the device interrupts, if it has not done so since the last time: a driver's wait. It costs a system call.
    ///
    /// # Panics
    /// Outside of guest code.
    pub fn interrupt(self) {
        kernel(with(|engine| engine.devices.as_ref().map_or(0, |devices| devices.of_one(self.0).call.0)));
        let sleeps = with(|engine| {
            let id = engine.running;
            let Some(devices) = &mut engine.devices else { return false };
            let pending = &mut devices.pending[self.0 as usize];
            if *pending != 0 {
                *pending -= 1;
                return false;
            }
            devices.waiting[self.0 as usize].push(id);
            engine.sleep(Waited::Device(self.0), u64::MAX);
            true
        });
        if sleeps {
            suspend();
        }
    }

    fn send(self, op: u32, words: [u64; 2], privileged: bool, reason: Reason) -> Ticket {
        assert!(running() != OUTSIDE, "devices are for guest threads");
        drain();
        operate(reason, |engine| engine.after(1));
        let crowded = with(|engine| {
            let id = engine.running;
            let devices = engine.devices.as_mut()?;
            let most = devices.config.outstanding;
            (devices.outstanding.get(&id).is_some_and(|&n| n >= most)).then(|| {
                devices.crowded.push(id);
                engine.threads[id as usize].waits_on = Some((Waited::Device(self.0), engine.now));
            })
        });
        if crowded.is_some() {
            suspend();
            with(|engine| {
                engine.charge_stall(engine.running, None);
                engine.threads[engine.running as usize].waits_on = None;
            });
        }
        with(|engine| {
            let (id, now) = (engine.running, engine.now);
            let thread = &mut engine.threads[id as usize];
            thread.operations += 1;
            let cpu = thread.cpu;
            let request = Request { packet: 0, op, words, privileged, cpu };
            let mut upshots = Vec::new();
            let Some(devices) = &mut engine.devices else { unreachable!("a device of a chip without devices") };
            let packet = devices.send(self.0, id, request, now, &mut upshots);
            engine.devices_did(upshots);
            Ticket(packet)
        })
    }
}

impl Ticket {
    /// Whether the answer is here. It costs nothing to look.
    pub fn is_here(&self) -> bool {
        with(|engine| engine.devices.as_mut().is_none_or(|devices| devices.packet(self.0).place == Place::Here))
    }

    /// Stalls the core until the answer is here.
    pub fn wait(self) -> Answer {
        self.arrive();
        with(|engine| {
            let held = engine.devices.as_mut().and_then(|devices| devices.packet(self.0).held);
            engine.charge_stall(engine.running, held);
        });
        self.take()
    }

    fn arrive(&self) {
        if self.is_here() {
            return;
        }
        with(|engine| {
            let now = engine.now;
            let Some(devices) = &mut engine.devices else { return };
            let packet = devices.packet(self.0);
            packet.stalls = true;
            engine.threads[engine.running as usize].waits_on = Some((Waited::Device(packet.device), now));
        });
        suspend();
        with(|engine| engine.threads[engine.running as usize].waits_on = None);
    }

    fn take(self) -> Answer {
        let answer = with(|engine| engine.devices.as_mut().map(|devices| devices.packet(self.0).answer));
        answer.unwrap_or(Answer::done(0))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !is_any() {
            return;
        }
        with(|engine| {
            let Some(devices) = &mut engine.devices else { return };
            let packet = devices.packet(self.0);
            packet.wanted = false;
            if packet.place == Place::Here {
                devices.drop_packet(self.0);
            }
        });
    }
}
