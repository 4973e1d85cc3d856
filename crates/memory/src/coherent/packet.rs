//! The properties of messages as packets: their class, their length and their mark.

use super::message::{Content, Flight, Unit};
use super::places::REQUESTS;
use super::spec::PacketSpec;
use baton_chipfile::config::plan::DEVICE_CLASS;
use baton_coherence::Class;
use baton_noc::Header;

/// A message as a packet.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) class: u8,
    pub(super) flits: u32,
    /// Whether the packet takes a place at its receiver's endpoint, if it travels through the
    /// network.
    pub(super) placed: bool,
}

impl PacketSpec {
    /// The class and the length of a message.
    #[inline]
    pub(super) fn shape(&self, flight: &Flight) -> Shape {
        let (short, long) = (self.control_flits, self.data_flits);
        let always_taken = |class: Class, flits| Shape { class: class as u8, flits, placed: false };
        match flight.content {
            Content::Protocol(message) => {
                let class = message.kind.class() as u8;
                let flits = if message.kind.carries_line() { long } else { short };
                match self.releases.filter(|_| class == REQUESTS && flight.mark.class != 0) {
                    // A thread has one release under way at most, so that its home always takes it.
                    Some(class) => Shape { class, flits, placed: false },
                    None => Shape { class, flits, placed: class == REQUESTS && self.bounded },
                }
            }
            Content::Read => always_taken(Class::Forward, short),
            Content::Write => always_taken(Class::Forward, long),
            Content::Line => always_taken(Class::Response, long),
            Content::Interrupt(_) => always_taken(Class::Response, short),
            Content::Carried(_) | Content::Cancel(_) => {
                let (device, answer) = match (flight.from, flight.to) {
                    (Unit::Device(device), _) => (device, true),
                    (_, Unit::Device(device)) => (device, false),
                    (from, to) => unreachable!("a packet of no device goes from {from:?} to {to:?}"),
                };
                let answer = answer || matches!(flight.content, Content::Cancel(_));
                let (flits, bounded) = self.devices[device as usize];
                Shape { class: DEVICE_CLASS as u8 + u8::from(answer), flits, placed: bounded && !answer }
            }
        }
    }

    /// Returns the header of a message that travels in `class`, with the message's mark if its
    /// class keeps marks.
    #[inline]
    pub(super) fn header(&self, flight: &Flight, class: u8) -> Header {
        let mark = flight.mark;
        let marked = self.marks.get(usize::from(self.rules(flight, class))).is_some_and(|&marked| marked)
            || self.urgent.is_some_and(|urgent| mark == Header { class: mark.class, ..urgent });
        if marked { Header { class, ..mark } } else { Header::of_class(class) }
    }

    /// The class whose rules a message's mark follows. An interrupt answers no request, so that its
    /// mark is its sender's own; a release is a request in whatever class it travels.
    #[inline(always)]
    pub(super) fn rules(&self, flight: &Flight, class: u8) -> u8 {
        let own = matches!(flight.content, Content::Interrupt(_)) || self.releases == Some(class);
        if own { REQUESTS } else { class }
    }
}
