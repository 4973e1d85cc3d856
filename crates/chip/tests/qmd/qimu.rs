//! Translation of queue ids: what it costs, what a context keeps, and where queues are made.

use super::queues::{Body, allocate, chip, device, run};
use super::{count, dequeue, enqueue, word};
use baton_chip::{Chip, Outcome, act, moving};
use baton_machine::device::{Device, Ticket};
use baton_machine::queues::{QueueId, QueueRequest};
use baton_machine::units::Cycles;
use std::cell::RefCell;
use std::rc::Rc;

const QIMU: [&str; 2] = ["device.qimu=64", "device.qtlb=4"];

fn on_one(settings: &[&str], f: impl FnOnce() + 'static) -> Outcome {
    let all: Vec<&str> = QIMU.iter().chain(settings).copied().collect();
    run(&chip(&all), 1, vec![(0, Box::new(f))]).expect("it ends")
}

/// The cycles for which an enqueue keeps its thread that does not wait for the answer.
fn issue(queue: QueueId) -> u64 {
    let begins = act::time().0;
    drop(enqueue(queue, 1));
    let took = act::time().0 - begins;
    act::delay(Cycles(1_000));
    took
}

/// A request takes a cycle. If its translation is not cached, the load of its entry is added: from
/// the L1, whose latency is four cycles, or from another core's cache.
#[test]
fn a_walk_takes_the_load_of_its_entry_to_the_cycle() {
    for (entries, expected) in [("device.qtlb=1", [5; 6]), ("device.qtlb=2", [5, 5, 1, 1, 1, 1])] {
        let outcome = on_one(&[entries], move || {
            let first = allocate(16, 2);
            let took: Vec<u64> = (0..6).map(|turn| issue(first.plus(turn % 2))).collect();
            assert_eq!(took, expected, "{entries}");
        });
        let misses = expected.iter().filter(|&&cycles| cycles > 1).count() as u64;
        assert_eq!((count(&outcome, "qtlb_misses"), count(&outcome, "qtlb_hits")), (misses, 6 - misses), "{entries}");
    }
}

#[test]
fn another_cores_walk_loads_what_the_kernel_wrote_here() {
    let took = Rc::new(RefCell::new(Vec::new()));
    let out = took.clone();
    let first = || assert_eq!(allocate(16, 1), QueueId(0));
    let second = move || {
        act::delay(Cycles(10_000));
        *out.borrow_mut() = (0..2).map(|_| issue(QueueId(0))).collect();
    };
    let threads: Vec<(u32, Body)> = vec![(0, Box::new(first)), (1, Box::new(second))];
    run(&chip(&QIMU), 1, threads).expect("it ends");
    let took = took.take();
    assert!(took[0] > 45 && took[1] == 1, "{took:?}: the line lies in the first core's cache");
}

/// The entry that was used last is the last to go.
#[test]
fn a_qtlb_forgets_what_was_not_used_for_longest() {
    on_one(&["device.qtlb=2"], || {
        let first = allocate(16, 3);
        let took: Vec<u64> = [0, 1, 0, 2, 0, 1].into_iter().map(|queue| issue(first.plus(queue))).collect();
        assert_eq!(took, [5, 5, 1, 5, 1, 5]);
    });
}

/// The ids of a process begin at 0, whatever those of the device are, and are never given twice.
#[test]
fn ids_are_the_processes_own() {
    on_one(&[], || {
        let first = allocate(16, 2);
        assert_eq!(first, QueueId(0));
        assert_eq!(device().call(QueueRequest::Release(first)), Ok(0));
        let again = allocate(16, 1);
        assert_eq!(again, QueueId(1 << 12), "the same entry, and another allocation");
        word(enqueue(again, 5).wait());
        assert_eq!(word(dequeue(again).wait()), 5);
    });
}

/// On the mesh a queue is made at the device with the fewest hops to the core that asks. If that
/// device has no room, the queue is made at the next nearest one.
#[test]
fn a_queue_is_made_at_the_nearest_device_with_room() {
    let text = include_str!("../../../../chips/caf64.toml");
    let settings = ["device.qimu=64", "device.qtlb=4", "device.queue_home=nearest"].map(str::to_owned);
    let chip = Chip::from_toml_with(text, "caf64.toml", &settings).expect("a right chip");
    // Devices are at the nodes 9 11 13 15 25 27 29 31 and so on.
    let body = |home: u32, next: u32| {
        move || {
            let queues = [0; 2].map(|_| allocate(2048, 1));
            assert_eq!(queues.map(moving::home_of), [Some(home), Some(next)]);
            for queue in queues {
                word(enqueue(queue, 5).wait());
                assert_eq!(word(dequeue(queue).wait()), 5);
            }
        }
    };
    // From node 9 the devices at 11 and 25 are two hops away, and the lower number goes first; node
    // 63 has one, and 47 is next.
    for (core, home, next) in [(9, 0, 1), (63, 15, 11), (26, 4, 5)] {
        run(&chip, 1, vec![(core, Box::new(body(home, next)))]).expect("it ends");
    }
}

/// A device that is near takes less time than one that is far.
#[test]
fn a_near_queue_answers_sooner() {
    let text = include_str!("../../../../chips/caf64.toml");
    let took = |home: &str| {
        let settings = ["device.qimu=64", "device.qtlb=4", home].map(str::to_owned);
        let chip = Chip::from_toml_with(text, "caf64.toml", &settings).expect("a right chip");
        let took = Rc::new(RefCell::new(0));
        let out = took.clone();
        let body = move || {
            let queue = allocate(16, 1);
            word(enqueue(queue, 1).wait());
            let begins = act::time().0;
            word(dequeue(queue).wait());
            *out.borrow_mut() = act::time().0 - begins;
        };
        run(&chip, 1, vec![(63, Box::new(body))]).expect("it ends");
        took.take()
    };
    let (near, far) = (took("device.queue_home=nearest"), took("device.queue_home=named"));
    assert!(near + 24 <= far, "{near} {far}: twelve hops there, and as many back");
}

#[test]
fn what_does_not_fit_is_refused() {
    let text = include_str!("../../../../chips/caf16.toml");
    for (settings, says) in [
        (&["device.qimu=64"][..], "key `device.qtlb` is missing; expected a value with device.qimu"),
        (&["device.qtlb=4"], "key `device.qtlb` is given; expected none without device.qimu"),
        (
            &["device.queue_home=nearest"],
            "key `device.queue_home` is \"nearest\"; expected \"named\" without device.qimu",
        ),
        (&["device.qimu=0"], "expected a whole number from 1 to 4096"),
        (&["device.qtlb=0"], "expected a whole number from 1 to 1024"),
        (&["device.qimu=64", "device.qtlb=4", "device.qmd.buffers=shared"], "none with device.qmd.buffers \"shared\""),
        (&["device.queue_home=far"], "expected \"named\" or \"nearest\""),
    ] {
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let error = Chip::from_toml_with(text, "caf16.toml", &settings).expect_err("a chip that cannot be").to_string();
        assert!(error.contains(says), "{settings:?}: {error}");
    }
}
