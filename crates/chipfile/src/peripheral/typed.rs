//! Devices of a protocol: they see requests and give answers as values of its types.

use super::port::{Answer, Cancelled, Port, Request, Taken};
use super::{Device, SettingMisfit, may_do};
use baton_machine::device::{Payload, Protocol};

/// A device that speaks a protocol. Like [`Device`], with the request as a value.
pub trait TypedDevice {
    /// What it is asked, and what it answers.
    type Protocol: Protocol;

    /// Like [`Device::take`]. `asked` is the request's value; `None` if its words are not of the
    /// protocol.
    fn take(&mut self, request: &Request, asked: Option<Asked<Self>>, port: &mut Port<'_>) -> Taken;

    may_do!();
}

/// What a device is asked.
pub type Asked<D> = <<D as TypedDevice>::Protocol as Protocol>::Request;

/// A device of a protocol, as the chip drives it.
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
