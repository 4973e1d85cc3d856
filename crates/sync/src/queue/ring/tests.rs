use super::{Ask, ExactRing, Exactly, Many};
use crate::queue::ExactQueue;
use baton_machine::{Native, Wait};
use std::sync::mpsc;
use std::time::Duration;

/// Looks, a millisecond apart, at which a thread that sleeps is found asleep, and the most looks.
const LOOKS: usize = 20;
const MOST: u32 = 20_000;

/// Whether the kernel says that a thread sleeps, by its folder in `/proc`.
fn sleeps(thread: &std::path::Path) -> bool {
    let stat = std::fs::read_to_string(thread.join("stat")).expect("the thread lives");
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}

/// Before, such a thread spun: with more threads than CPUs it kept the thread in front of it off the
/// CPU for a time slice, for each item.
#[test]
fn a_thread_that_waits_for_its_turn_sleeps_between_tries() {
    let ring = ExactRing::<Native, u32>::exactly(4).unwrap();
    for item in [1, 2] {
        assert!(ring.put_one(item, Wait::Pause).is_ok());
    }
    let Ok(first) = ring.claim_items(1, Ask::Bulk) else { panic!("there are two items") };
    let (tell, told) = mpsc::channel();
    std::thread::scope(|scope| {
        let second = scope.spawn(|| {
            tell.send(std::fs::read_link("/proc/thread-self").unwrap()).unwrap();
            ring.take_one(Wait::Pause).ok()
        });
        let thread = std::path::Path::new("/proc").join(told.recv().unwrap());
        let asleep = (0..MOST).filter(|_| {
            std::thread::sleep(Duration::from_millis(1));
            sleeps(&thread)
        });
        let looks = asleep.take(LOOKS).count();
        // SAFETY: the place is claimed, and its producer has finished with it.
        assert_eq!(unsafe { ring.place(first.first).get() }, 1);
        ring.consumers.publish::<Exactly<Many>>(first, Wait::Pause);
        assert_eq!(second.join().unwrap(), Some(2));
        assert_eq!(looks, LOOKS, "looks of {MOST} at which the thread was asleep");
    });
}
