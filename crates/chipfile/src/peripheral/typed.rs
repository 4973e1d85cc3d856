//! Devices whose protocol has a type: they receive requests and give answers as values of that
//! type.

use super::port::{Answer, Cancelled, Port, Request, Taken};
use super::{Device, SettingMisfit, may_do};
use baton_machine::device::{Payload, Protocol};

/// A device that speaks a protocol. Like [`Device`], with the request as a value.
pub trait TypedDevice {
    /// The protocol, which defines the requests and answers of the device.
    type Protocol: Protocol;

    /// Like [`Device::take`]. `asked` is the request's value; `None` if its words are not of the
    /// protocol.
    fn take(&mut self, request: &Request, asked: Option<Asked<Self>>, port: &mut Port<'_>) -> Taken;

    may_do!();
}

/// The requests of a device.
pub type Asked<D> = <<D as TypedDevice>::Protocol as Protocol>::Request;

/// A device whose protocol has a type, in the form in which the chip drives devices.
pub struct Typed<D>(pub D);

impl<D: TypedDevice> Device for Typed<D> {
    fn take(&mut self, request: Request, port: &mut Port<'_>) -> Taken {
        self.0.take(&request, Payload::from_words(request.words()), port)
    }

    fn tick(&mut self, port: &mut Port<'_>) {
        self.0.tick(port);
    }

    fn cancel(&mut self, request: &Request, port: &mut Port<'_>) -> Cancelled {
        self.0.cancel(request, port)
    }

    fn left(&mut self, answered: &Request, port: &mut Port<'_>) {
        self.0.left(answered, port);
    }

    fn crowded(&mut self, crowded: bool, port: &mut Port<'_>) {
        self.0.crowded(crowded, port);
    }

    fn misfit(&self, outstanding: u32) -> Option<SettingMisfit> {
        self.0.misfit(outstanding)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.0.counts()
    }

    fn protocol(&self) -> &'static str {
        D::Protocol::KIND
    }
}

impl Port<'_> {
    /// Like [`Port::answer`], with a value of the protocol.
    pub fn reply(&mut self, request: &Request, at: u64, answer: impl Payload) {
        self.answer(request, at, Answer::from(answer.to_words()));
    }
}
