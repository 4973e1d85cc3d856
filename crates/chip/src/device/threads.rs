//! What devices are told of threads: to which thread a CPU switches, and which thread ends.

use super::attached::Devices;
use super::packet::PacketAt;
use super::qimu::Qimu;
use crate::base::thread::ThreadId;
use baton_chipfile::peripheral::port::Subject;
use baton_chipfile::peripheral::qmd::{ANY_QUEUE, Step};
use baton_machine::device::Words;

impl Devices {
    /// A CPU switches to a thread of a process: its requests are for both from now on.
    #[inline]
    pub(crate) fn switches(&mut self, cpu: u32, thread: ThreadId, process: u32) {
        if let Some(loaded) = self.subjects.loaded.get_mut(cpu as usize) {
            *loaded = Subject { thread, domain: process };
        }
        if let Some(qimu) = &mut self.qimu {
            qimu.switches(cpu, process);
        }
    }

    /// A thread ends: the devices take its credits and its items in hand back, and forget for what
    /// the thread is armed: at once, or when the last of its posted requests is over and no queue is
    /// being moved, since what a thread has might be in neither device then. This takes no time.
    pub(crate) fn retire(&mut self, thread: ThreadId, now: u64) {
        if !self.subjects.joined.contains(&thread) {
            return;
        }
        let posted = |id: &u32| self.packet(*id).lands.is_some() && self.packet(*id).place != PacketAt::Cancel;
        let moving = self.qimu.as_ref().is_some_and(Qimu::is_moving);
        if moving || self.packets.of(thread).iter().any(posted) {
            self.subjects.leaving.push(thread);
            return;
        }
        self.subjects.joined.retain(|joined| *joined != thread);
        self.subjects.was_fired(thread);
        for device in 0..self.config.count {
            let words = [u64::from(thread), ANY_QUEUE, 0];
            let _ = self.call_at_once(device, Words { tag: Step::Retire.tag(), words }, now);
        }
    }

    /// A move of queues is over: threads that have ended meanwhile may be retired now.
    pub(crate) fn move_is_over(&mut self, now: u64) {
        for thread in std::mem::take(&mut self.subjects.leaving) {
            self.retire(thread, now);
        }
    }

    /// A posted request of a thread is over: if the thread has ended, it may be retired now.
    pub(crate) fn posted_is_over(&mut self, thread: ThreadId, now: u64) {
        if let Some(at) = self.subjects.leaving.iter().position(|leaving| *leaving == thread) {
            self.subjects.leaving.remove(at);
            self.retire(thread, now);
        }
    }
}
