//! What the ends of a queue between processes tell `baton profile`, with the feature `record`; nothing
//! without it.

#![allow(clippy::disallowed_types, reason = "the recorder stands beside the algorithm, and is no part of it")]

use crate::recorder::{Act, Place};

static BETWEEN: Place = Place::new(c"baton_preload_process_queue");

/// Tells what happens to a queue between processes, by the number of its file.
#[inline(always)]
pub(super) fn between(act: Act, id: u64, number: u64) {
    if cfg!(any(test, feature = "record")) {
        BETWEEN.tell(act as u32, id as usize, number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::{Kind, Receiver, Sender, create};
    use crate::recorder::NONE;
    use baton_machine::units::Nanos;
    use baton_machine::{Clock, Deadline, Machine, Native};
    use core::ffi::c_void;
    use core::sync::atomic::Ordering::Relaxed;
    use std::sync::Mutex;

    fn after_a_millisecond() -> Deadline {
        Deadline { at: Nanos(Native::now(Clock::Monotonic).0 + 1_000_000), clock: Clock::Monotonic }
    }

    static TOLD_BETWEEN: Mutex<Vec<(u32, u64, u64)>> = Mutex::new(Vec::new());

    unsafe extern "C" fn tell_between(act: u32, id: usize, number: u64) {
        TOLD_BETWEEN.lock().unwrap().push((act, id as u64, number));
    }

    /// The only test that sets the recorder.
    #[test]
    fn the_recorder_hears_of_queues_between_processes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queue");
        create(&path, Kind::OneToOne, 2, 4).unwrap();
        BETWEEN.at.store(tell_between as *mut c_void, Relaxed);
        let (mut sender, mut receiver) = (Sender::open(&path).unwrap(), Receiver::open(&path).unwrap());
        let soon = || Some(after_a_millisecond());
        let mut item = [0; 4];
        assert!(receiver.try_receive(&mut item).is_err() && receiver.receive(&mut item, soon()).is_err());
        sender.send(&item, None).unwrap();
        sender.try_send(&item).unwrap();
        assert!(sender.send(&item, soon()).is_err());
        receiver.receive(&mut item, None).unwrap();
        sender.close();
        BETWEEN.at.store(NONE, Relaxed);
        assert_eq!(sender.id(), receiver.id());
        let told = std::mem::take(&mut *TOLD_BETWEEN.lock().unwrap());
        // Other tests may use other queues at the same time.
        let own: Vec<_> = told.into_iter().filter(|told| told.1 == sender.id()).map(|told| (told.0, told.2)).collect();
        let expected = [
            (Act::Made, 2),
            (Act::Made, 2),
            (Act::Empty, 0),
            (Act::GoesOn, 0),
            (Act::Put, 1),
            (Act::Put, 1),
            (Act::Full, 0),
            (Act::GoesOn, 0),
            (Act::Taken, 1),
            (Act::Closes, 0),
        ];
        assert_eq!(own, expected.map(|(act, number)| (act as u32, number)));
    }
}
