//! How a guest reaches the devices of its chip: [`Devices`], an extension of
//! [`Machine`](baton_machine::Machine) with typed requests and answers of a protocol, and below it
//! the words that travel.

use super::access::place;
use super::cell::SimulatedAtomic;
use super::qimu::Aimed;
use super::{Simulated, qimu};
use crate::base::thread::OUTSIDE;
use crate::core::pipeline::Stall;
use crate::device::packet::{Landing, PacketAt};
use crate::engine::current::{devices, is_any, running};
use crate::engine::reason::Reason;
use crate::engine::waiting::Waited;
use crate::issue::requests::{issue, post};
use crate::issue::stall::stall;
use crate::machine::kernel::{kernel, until_woken};
use baton_chipfile::peripheral::port::{Answer, Request, Subject};
use baton_machine::Devices;
use baton_machine::device::{self as verbs, Payload, Protocol, Words};
use baton_machine::flows::{FlowAnswer, FlowDevice, FlowRequest, Flows};
use baton_machine::queues::{Mode, Operand, Post, QueueDevice, QueueRequest};
use std::marker::PhantomData;

/// A device of the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device(u32);

/// A request under way. If this is dropped, the request goes on, no thread waits for its answer,
/// and the answer is discarded.
#[derive(Debug)]
#[must_use = "dropped, the request is posted and its answer discarded"]
pub struct Ticket(u32);

/// Whether the device speaks the protocol of this kind.
fn speaks(device: u32, kind: &str) -> bool {
    devices(|devices| devices.protocol(device) == kind).unwrap_or(false)
}

impl Simulated {
    /// The number of devices of the chip.
    pub fn devices() -> u32 {
        devices(|devices| devices.config.count).unwrap_or(0)
    }

    /// The chip's device with this number, if it exists.
    pub fn device(number: u32) -> Option<Device> {
        (number < Simulated::devices()).then_some(Device(number))
    }
}

impl Device {
    /// The device's number.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Issues a request: an entry of the store buffer that leaves for the device when all older
    /// stores of the thread have been written. This takes a cycle. Without a free entry, or with
    /// `device.outstanding` unanswered requests, the thread stalls.
    ///
    /// # Panics
    /// Outside of guest code.
    pub fn request(self, op: u32, words: [u64; 2]) -> Ticket {
        self.send(Words::new(op, words))
    }

    /// A system call to the device. The request is privileged, and the core waits for the answer in
    /// the kernel. Outside of guest code the request counts as CPU 0's, is answered at once, and
    /// takes no time.
    ///
    /// # Panics
    /// Outside of guest code, if the device does not answer at once.
    pub fn call(self, op: u32, words: [u64; 2]) -> Answer {
        self.call_with(Words::new(op, words))
    }

    fn call_with(self, words: Words) -> Answer {
        if speaks(self.0, QueueDevice::KIND) { qimu::call(self.0, words) } else { qimu::call_as_is(self.0, words) }
    }

    /// Sleeps until the device interrupts: the wait of a driver. An interrupt that comes while no
    /// thread waits for one is kept, and ends one later call at once. Costs a system call.
    ///
    /// # Panics
    /// Outside of guest code.
    pub fn interrupt(self) {
        while !self.interrupt_once() {}
    }

    /// Like [`interrupt`](Self::interrupt), but returns at a signal. Returns whether the device has
    /// interrupted.
    fn interrupt_once(self) -> bool {
        kernel(qimu::call_price(self.0));
        until_woken(|engine| {
            let id = engine.running;
            let Some(devices) = &mut engine.devices else { return true };
            let pending = &mut devices.pending[self.0 as usize];
            if *pending != 0 {
                *pending -= 1;
                return true;
            }
            devices.waiting[self.0 as usize].push(id);
            engine.sleep(Waited::Device(self.0), u64::MAX);
            false
        })
    }

    /// Sleeps until a device interrupts the calling thread, which has asked for that. Returns at
    /// once if a device has interrupted the thread since its last call, and at a signal. Costs a
    /// system call.
    ///
    /// # Panics
    /// Outside of guest code.
    pub fn armed(self) {
        kernel(qimu::call_price(self.0));
        until_woken(|engine| {
            let id = engine.running;
            let Some(devices) = &mut engine.devices else { return true };
            if devices.subjects.was_fired(id) {
                return true;
            }
            devices.subjects.asleep.push(id);
            engine.sleep(Waited::Armed(self.0), u64::MAX);
            false
        });
    }

    /// Notes that the thread asks for an interrupt, if it does, so that devices forget the thread
    /// when it ends.
    fn note_arm(self, words: Words) {
        if let Some(QueueRequest::Dequeue { from: Operand { mode: Mode::Arm(_), .. } }) =
            QueueRequest::from_words(words)
            && speaks(self.0, QueueDevice::KIND)
        {
            qimu::joins();
        }
    }

    fn send(self, Words { tag: op, words }: Words) -> Ticket {
        assert!(running() != OUTSIDE, "devices are for guest threads");
        self.note_arm(Words { tag: op, words });
        let subject = qimu::subject();
        let request = Request { packet: 0, op, words, privileged: false, cpu: 0, subject };
        if qimu::qimu(|_| ()).is_none() {
            return Ticket(issue(self.0, request, None, Reason::Device));
        }
        match qimu::translate(Words { tag: op, words }) {
            Ok(None) => Ticket(issue(self.0, request, None, Reason::Device)),
            Ok(Some(Aimed { process, id, at, domain })) => {
                let (words, subject) = (at.aim(words), Subject { domain, ..subject });
                Ticket(issue(at.device, Request { words, subject, ..request }, Some((process, id)), Reason::Device))
            }
            Err(refusal) => Ticket(qimu::refuse(self.0, refusal)),
        }
    }
}

/// A device that speaks a protocol.
#[derive(Debug, PartialEq, Eq)]
pub struct DeviceOf<P>(Device, PhantomData<P>);

impl<P> Clone for DeviceOf<P> {
    fn clone(&self) -> DeviceOf<P> {
        *self
    }
}

impl<P> Copy for DeviceOf<P> {}

impl DeviceOf<QueueDevice> {
    /// Implements [`Machine::post`](baton_machine::Machine::post). A chip whose queues can move has
    /// no posted requests, because a request that is forwarded to another device needs its core.
    pub(super) fn post(self, requests: &[Post<'_, SimulatedAtomic<u64>>]) -> bool {
        let can = devices(|devices| devices.qimu.is_none()).unwrap_or(false);
        if can && !requests.is_empty() {
            assert!(running() != OUTSIDE, "devices are for guest threads");
            let subject = qimu::subject();
            let posts = requests.iter().map(|post| {
                let Words { tag: op, words } = post.request.to_words();
                let (offset, _) = place(post.answer.value.address());
                let request = Request { packet: 0, op, words, privileged: false, cpu: 0, subject };
                (request, Landing { offset, stamp: post.stamp })
            });
            post(self.0.0, posts);
        }
        can
    }
}

impl Flows for DeviceOf<QueueDevice> {
    type Asked = TicketOf<FlowDevice>;

    fn ask(self, request: FlowRequest) -> TicketOf<FlowDevice> {
        TicketOf(self.0.send(request.to_words()), PhantomData)
    }

    fn configure(self, request: FlowRequest) -> FlowAnswer {
        value::<FlowDevice>(self.0.call_with(request.to_words()))
    }
}

/// A request of a protocol, under way. If this is dropped, the request goes on, and its answer is
/// discarded.
#[derive(Debug)]
#[must_use = "dropped, the request is posted: its answer is thrown away"]
pub struct TicketOf<P>(Ticket, PhantomData<P>);

impl Devices for Simulated {
    type Device<P: Protocol> = DeviceOf<P>;

    fn count() -> u32 {
        Simulated::devices()
    }

    fn at<P: Protocol>(number: u32) -> Option<DeviceOf<P>> {
        let device = Simulated::device(number)?;
        speaks(number, P::KIND).then_some(DeviceOf(device, PhantomData))
    }
}

impl<P: Protocol> verbs::Device<P> for DeviceOf<P> {
    type Ticket = TicketOf<P>;

    fn request(self, request: P::Request) -> TicketOf<P> {
        TicketOf(self.0.send(request.to_words()), PhantomData)
    }

    fn call(self, request: P::Request) -> P::Answer {
        value::<P>(self.0.call_with(request.to_words()))
    }

    fn interrupt(self) {
        self.0.interrupt();
    }

    fn armed(self) {
        self.0.armed();
    }
}

impl<P: Protocol> verbs::Ticket<P> for TicketOf<P> {
    fn is_here(&self) -> bool {
        self.0.is_here()
    }

    fn wait(self) -> P::Answer {
        value::<P>(self.0.wait())
    }
}

/// An answer as a value of its protocol.
fn value<P: Protocol>(answer: Answer) -> P::Answer {
    let value = P::Answer::from_words(answer.into());
    value.unwrap_or_else(|| panic!("a device of kind {} gives {answer:?}, which is no answer of its protocol", P::KIND))
}

impl Ticket {
    /// Whether the answer has arrived. The check takes no time.
    pub fn is_here(&self) -> bool {
        devices(|devices| devices.packet(self.0).place == PacketAt::Here).unwrap_or(true)
    }

    /// Stalls the core until the answer arrives.
    ///
    /// # Panics
    /// In a thread that has not made the request.
    pub fn wait(self) -> Answer {
        self.arrive();
        self.take()
    }

    fn arrive(&self) {
        let thread = devices(|devices| devices.packet(self.0).thread);
        assert!(thread == Some(running()), "a ticket is waited for by the thread that made the request");
        stall(Stall::Answer { packet: self.0, kernel: false });
    }

    fn take(self) -> Answer {
        let answer = devices(|devices| devices.packet(self.0).answer);
        answer.unwrap_or(Answer::done(0))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !is_any() {
            return;
        }
        devices(|devices| {
            let packet = devices.packet_mut(self.0);
            packet.wanted = false;
            if packet.place == PacketAt::Here {
                devices.drop_packet(self.0);
            }
        });
    }
}
