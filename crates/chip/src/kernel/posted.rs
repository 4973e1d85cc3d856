//! Answers to posted requests. The caches of the core that asked write each answer to two words of
//! guest memory: they acquire the line as for a store, and give it to the shared level if the chip
//! says so (`device.posted_to`).

use crate::base::token::{Asked, Token};
use crate::device::packet::{Landing, Packet, PacketAt};
use crate::engine::state::Engine;
use baton_chipfile::config::device::PostedTo;
use baton_machine::device::Words;
use baton_machine::queues::answer_word;
use baton_memory::{Access, Answer, Memory, Request};
use baton_units::{CoreId, Cycles};

impl Engine {
    /// The posted request's packet, where its answer goes, and the core that writes the answer.
    fn landing(&self, id: u32) -> Option<(Packet, Landing, CoreId)> {
        let packet = *self.devices.as_ref()?.packet(id);
        Some((packet, packet.lands?, self.chip.core_of(packet.cpu)))
    }

    fn ask_for_answer(&mut self, id: u32, access: Access) -> Option<Answer> {
        let (_, landing, core) = self.landing(id)?;
        let asked = if access == Access::Store { Asked::Posted } else { Asked::Hint };
        let (token, line) = (Token::new(id, asked), self.guest.line(landing.offset));
        let request = Request { token, core, line, access, mark: Default::default() };
        Some(self.memory.request(request, Cycles(self.now)))
    }

    /// The answer has arrived at its core.
    pub(super) fn write_answer(&mut self, id: u32) {
        if let Some(Answer::Served(served)) = self.ask_for_answer(id, Access::Store) {
            if let Some((_, landing, _)) = self.landing(id)
                && served.invalidates
                && self.guest.is_watched(self.guest.line(landing.offset))
            {
                self.invalidated(self.guest.line(landing.offset));
            }
            self.answer_written_at(id, served.at.0);
        }
    }

    /// The core will own the answer's line at `at`, and writes the answer then.
    pub(crate) fn answer_written_at(&mut self, id: u32, at: u64) {
        if let Some(devices) = &mut self.devices {
            devices.written_at(id, at);
        }
        self.devices_did();
    }

    /// The core owns the line of the answer. If the line is to lie in the shared level, it leaves
    /// the core before its words change, so that a look that has begun (of a spinning thread, for
    /// example) does not see them.
    pub(super) fn answer_written(&mut self, id: u32) {
        let Some((packet, Landing { offset, .. }, core)) = self.landing(id) else { return };
        let line = self.guest.line(offset);
        let goes = self.devices.as_ref().is_some_and(|devices| devices.config.posted_to == PostedTo::Home);
        if goes && packet.place != PacketAt::Landing {
            let _ = self.ask_for_answer(id, Access::Push { to: None });
            if let Some(devices) = &mut self.devices {
                devices.packet_mut(id).place = PacketAt::Landing;
            }
            let hit = self.memory.hit(core).0;
            self.answer_written_at(id, self.now + hit);
        } else {
            self.write_words(id);
        }
        if self.guest.is_watched(line) {
            // The core keeps the line when it writes the words itself, so no invalidation makes the
            // threads that watch the line on this core read again: they must be made to here.
            self.invalidated(line);
        }
    }

    fn write_words(&mut self, id: u32) {
        let Some((packet, Landing { offset, stamp }, _)) = self.landing(id) else { return };
        let Words { tag, words: [value, ..] } = packet.answer.into();
        // SAFETY: two words of guest memory, which live by the contract of `Machine::post`; no guest runs now.
        unsafe { self.guest.arena.at(offset).cast::<[u64; 2]>().write([value, answer_word(stamp, tag)]) };
        [offset, offset + 8].into_iter().for_each(|word| self.wrote(word, packet.thread));
        let now = self.now;
        if let Some(devices) = &mut self.devices {
            devices.drop_packet(id);
            devices.posted_is_over(packet.thread, now);
        }
    }
}
