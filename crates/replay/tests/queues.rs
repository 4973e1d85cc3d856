//! Other queues in the place of recorded ones. The recorded programs run on the simulated chip with the
//! library's own queues, so that what is foretold can be compared with a run of the queue that was
//! foretold.

mod common;

use baton_chip::{Chip, Options, Simulated, Simulation};
use baton_machine::units::Cycles;
use baton_machine::{Machine, Owned, Wait};
use baton_replay::change::{Change, Life, QueuePart};
use baton_replay::predict::PredictError;
use baton_replay::queues::{QueueKind, Service};
use baton_replay::{Ask, Prediction, predict};
use baton_sync::queue::ExactQueue;
use baton_sync::queue::channel::{Channel, NotReceived, NotSent};
use baton_sync::queue::mpmc::ExactMpmc;
use baton_sync::queue::ring::ExactRing;
use baton_sync::queue::segments::Segments;
use baton_sync::queue::spsc::ExactSpsc;
use baton_trace::{Clock, ProcessIndex, SiteId, ThreadIndex, Ticks, Trace, TraceBuilder, Waitable, What};
use common::note;
use std::rc::Rc;

const QUEUE: u64 = 0x1000;
const SITE: SiteId = SiteId(1);
const WAIT: Wait = Wait::Adaptive(10_000);

/// A queue between producers and one consumer.
#[derive(Clone, Copy)]
struct Line {
    producers: u32,
    /// Items of each producer.
    items: u32,
    /// How many items fit.
    capacity: u32,
    /// Cycles between two items, of a producer and of the consumer.
    work: (u64, u64),
}

/// Runs the program with the queue `Q`, and records it as the library does with the feature `record`.
fn record<Q: ExactQueue<Simulated, Item = u64>>(chip: &Chip, line: Line) -> (Trace, Cycles) {
    let options = Options { record: true, ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).unwrap();
    let channel = simulation.outside(|| {
        let queue = Q::exactly(line.capacity as usize).expect("a capacity that is allowed");
        Rc::new(Owned::<Simulated, _>::new(Channel::<Simulated, Q>::new(queue)))
    });
    common::in_threads(simulation, line.producers + 1, move |number| {
        let channel = channel.clone();
        move || {
            if number == 0 {
                note(What::ProbeCost { probe: 0, picoseconds: 0 });
                note(What::Init { sort: Waitable::Queue, address: QUEUE, site: SITE });
                note(What::QueueCapacity { queue: QUEUE, capacity: line.capacity });
            }
            match number.checked_sub(1) {
                Some(producer) => produces(&channel, line, producer),
                None => consumes(&channel, line),
            }
        }
    })
}

fn produces<Q: ExactQueue<Simulated, Item = u64>>(channel: &Channel<Simulated, Q>, line: Line, producer: u32) {
    for item in 0..line.items {
        Simulated::work(Cycles(line.work.0 + u64::from((item * 7 + producer * 13) % 40)));
        // SAFETY: a queue for one producer has one.
        match unsafe { channel.try_send(0, WAIT) } {
            Err(NotSent::Full(item)) => {
                note(What::PutWait { queue: QUEUE, site: SITE });
                // SAFETY: as above.
                assert!(unsafe { channel.send(item, WAIT, None) }.is_ok());
                note(What::PutWaited { queue: QUEUE, gave_up: false });
            }
            sent => assert!(sent.is_ok()),
        }
        note(What::Put { queue: QUEUE, items: 1 });
    }
}

fn consumes<Q: ExactQueue<Simulated, Item = u64>>(channel: &Channel<Simulated, Q>, line: Line) {
    for item in 0..line.items * line.producers {
        // SAFETY: there is one consumer.
        match unsafe { channel.try_receive(WAIT) } {
            Err(NotReceived::Empty) => {
                note(What::TakeWait { queue: QUEUE, site: SITE });
                // SAFETY: as above.
                assert!(unsafe { channel.receive(WAIT, None) }.is_ok());
                note(What::TakeWaited { queue: QUEUE, gave_up: false });
            }
            received => assert!(received.is_ok()),
        }
        note(What::Take { queue: QUEUE, items: 1 });
        Simulated::work(Cycles(line.work.1 + u64::from(item % 30)));
    }
}

fn queue(address: u64) -> (String, Life) {
    (format!("{address:#x}"), Life { process: ProcessIndex(0), address, time: Ticks(0)..Ticks(u64::MAX) })
}

fn change(kind: QueueKind, capacity: Option<u32>, addresses: &[u64]) -> Change {
    let service = Service { kind, capacity, wait: WAIT };
    let part = QueuePart { queues: addresses.iter().map(|address| queue(*address)).collect(), service };
    Change { text: format!("queue {}", kind.name()), queues: vec![part], ..Change::default() }
}

fn foretell(trace: &Trace, chip: &Chip, changes: Vec<Change>) -> Result<Prediction, PredictError> {
    predict(trace, chip, &Ask { changes, ..Ask::default() }, &|| {})
}

fn chip() -> Chip {
    common::chip(&["core.count=4", "core.per_cluster=4", "noise.latency=0", "noise.start=0"])
}

/// The queue that the program has, another one, and another capacity are foretold as they then run.
#[test]
fn a_queue_is_foretold_as_it_then_runs() {
    let chip = chip();
    let ns = |cycles: Cycles| chip.core.clock.nanos(cycles).0;
    let line = |producers, capacity, work| Line { producers, items: 400, capacity, work };
    for line in [line(1, 64, (900, 700)), line(2, 8, (2_000, 900)), line(3, 64, (3_000, 400))] {
        let mpmc = record::<ExactMpmc<Simulated, u64>>(&chip, line);
        let spsc = (line.producers == 1).then(|| record::<ExactSpsc<Simulated, u64>>(&chip, line));
        let trace = &spsc.as_ref().unwrap_or(&mpmc).0;
        let one = Line { capacity: 1, ..line };
        let mut ran = vec![
            ((QueueKind::Mpmc, None), mpmc.1),
            ((QueueKind::Ring, None), record::<ExactRing<Simulated, u64>>(&chip, line).1),
            ((QueueKind::Segments, None), record::<Segments<Simulated, u64, 32>>(&chip, line).1),
            ((QueueKind::Mpmc, Some(1)), record::<ExactMpmc<Simulated, u64>>(&chip, one).1),
        ];
        ran.extend(spsc.as_ref().map(|(_, time)| ((QueueKind::Spsc, None), *time)));
        let changes = ran.iter().map(|((kind, capacity), _)| change(*kind, *capacity, &[QUEUE])).collect();
        let foretold = foretell(trace, &chip, changes).unwrap();
        assert!(foretold.trustworthy, "{:?}", foretold.reasons);
        for (row, ((kind, capacity), cycles)) in foretold.results[1..].iter().zip(&ran) {
            let (told, is) = (row.time_ns.median as f64, ns(*cycles) as f64);
            let what = format!("{kind:?} {capacity:?}, {} producers: foretold {told}, is {is}", line.producers);
            eprintln!("{what}");
            assert!(row.failed.is_none() && (told / is - 1.0).abs() < 0.12, "{what}");
        }
    }
}

#[test]
fn a_kind_that_cannot_serve_is_refused_with_the_queue_and_the_threads() {
    let chip = chip();
    let line = Line { producers: 2, items: 20, capacity: 8, work: (900, 700) };
    let (trace, _) = record::<ExactMpmc<Simulated, u64>>(&chip, line);
    for (change, says) in [
        (
            change(QueueKind::Spsc, None, &[QUEUE]),
            "queue `0x1000`: `spsc` serves one thread that puts items in, and 2 did: ",
        ),
        (change(QueueKind::Ring, None, &[0x2000]), "queue `0x2000`: the recording does not show how it was made"),
        (change(QueueKind::Ring, None, &[QUEUE, QUEUE]), "queue `0x1000` is named twice"),
    ] {
        let error = foretell(&trace, &chip, vec![change]).unwrap_err().to_string();
        assert!(error.starts_with(says), "{error}");
    }
    let no_device = foretell(&trace, &chip, vec![change(QueueKind::Qmd, None, &[QUEUE])]).unwrap();
    let why = &no_device.results[1].failed.as_ref().expect("the chip has no device").why;
    assert!(why.contains("no queue device"), "{why}");
}

/// In the order of arrival the second worker would take the first client's request, and answer the second
/// client, which begins only after the first one has its answer.
#[test]
fn threads_that_would_wait_for_ever_use_the_queues_in_the_recorded_order() {
    const ASKED: u64 = 0x1000;
    const ANSWER_A: u64 = 0x2000;
    const ANSWER_B: u64 = 0x3000;
    const DONE: u64 = 0x4000;
    let start = |handle| What::ThreadStart { handle };
    let made = |queue| {
        [What::Init { sort: Waitable::Queue, address: queue, site: SITE }, What::QueueCapacity { queue, capacity: 4 }]
    };
    let put = |queue| What::Put { queue, items: 1 };
    let take = |queue| What::Take { queue, items: 1 };
    let mut events = vec![(0, 0, start(1)), (0, 1, start(2)), (0, 2, start(3)), (0, 3, start(4))];
    events.extend([ASKED, ANSWER_A, ANSWER_B].into_iter().flat_map(made).map(|what| (1, 0, what)));
    events.push((1, 0, What::Init { sort: Waitable::Semaphore, address: DONE, site: SITE }));
    events.push((1, 0, What::Attribute { address: DONE, value: 0 }));
    // Threads: the clients 0 and 1, the workers 2 and 3. Worker 3 comes to the queue first.
    events.extend([
        (1_000, 0, put(ASKED)),
        (5_000, 2, take(ASKED)),
        (6_000, 2, put(ANSWER_A)),
        (7_000, 0, take(ANSWER_A)),
        (8_000, 0, What::SemPost { semaphore: DONE, site: SITE }),
        (9_000, 1, What::SemTake { semaphore: DONE, site: SITE }),
        (10_000, 1, put(ASKED)),
        (11_000, 3, take(ASKED)),
        (12_000, 3, put(ANSWER_B)),
        (13_000, 1, take(ANSWER_B)),
    ]);
    // Worker 3 begins to wait at once, worker 2 later.
    events.extend([
        (2, 3, What::TakeWait { queue: ASKED, site: SITE }),
        (11_000, 3, What::TakeWaited { queue: ASKED, gave_up: false }),
        (4_000, 2, What::TakeWait { queue: ASKED, site: SITE }),
        (5_000, 2, What::TakeWaited { queue: ASKED, gave_up: false }),
    ]);
    events.extend((0..4).map(|thread| (20_000, thread, What::ThreadEnd { handle: u64::from(thread) + 1 })));
    let after = |what: &What| !matches!(what, What::TakeWaited { .. });
    events.sort_by_key(|(time, thread, what)| (*time, *thread, after(what)));
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    for (time, thread, what) in events {
        builder.push(Ticks(time), ThreadIndex(thread), what);
    }
    let (trace, all) = (builder.build(), [ASKED, ANSWER_A, ANSWER_B]);
    let foretold = foretell(&trace, &chip(), vec![change(QueueKind::Mpmc, None, &all)]).unwrap();
    assert!(foretold.results[1].failed.is_none(), "{:?}", foretold.results[1].failed);
    let says = "in 1 of 1 runs the threads would have waited for ever";
    assert!(foretold.notes.iter().any(|note| note.contains(says)), "{:?}", foretold.notes);
}
