//! Queues: one half of the threads sends, the other half receives, waiting at a full queue and at an
//! empty one. Thread 0, which is stopped for a while in a window of its own, sends. An item is the time at which it was sent, or 0 outside of the window for times.

use crate::Subject;
use crate::window::{Load, Outcome, Stop, Worker, run};
use baton_machine::units::Cycles;
use baton_machine::{Machine, Native};
use baton_sync::{
    Kind, ManyReceivers, ManySenders, ManyToMany, OneToOne, Park, Segmented, Watched, queue_of, queue_with,
};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Items of a bounded queue.
pub const CAPACITY: usize = 1024;
/// What a sender computes between two items whose time is measured, so that the queue is nearly empty.
const THINK: Cycles = Cycles(6_000);

/// Sends an item. Returns false if the queue is closed.
pub type Send = Box<dyn FnMut(u64) -> bool + std::marker::Send>;
/// Receives an item, or `None` if the queue is closed and empty.
pub type Receive = Box<dyn FnMut() -> Option<u64> + std::marker::Send>;

/// The ends of a queue for a run.
pub struct Ends {
    pub senders: Vec<Send>,
    pub receivers: Vec<Receive>,
}

pub fn time(ends: Ends, load: &Load) -> Outcome {
    let (senders, receivers) = (ends.senders.len(), ends.receivers.len());
    // A sender is stopped wherever it is, also in the middle of a send.
    let load = Load {
        threads: senders + receivers,
        window: load.window,
        pins: load.pins.clone(),
        stops: Some(Stop::Anywhere),
    };
    let senders: Vec<_> = ends.senders.into_iter().map(|end| Mutex::new(Some(end))).collect();
    let receivers: Vec<_> = ends.receivers.into_iter().map(|end| Mutex::new(Some(end))).collect();
    let (epoch, handovers, left) = (Instant::now(), AtomicU64::new(0), AtomicUsize::new(senders.len()));
    let send = |worker: &mut Worker<'_>, mut end: Send| {
        while worker.goes_on() {
            let sent = if worker.is_timed() {
                Native::work(THINK);
                epoch.elapsed().as_nanos() as u64
            } else {
                0
            };
            if !end(sent) {
                break;
            }
            worker.done();
        }
        left.fetch_sub(1, Relaxed);
    };
    // A receiver goes on until all senders have dropped their ends, and the queue is empty.
    let receive = |worker: &mut Worker<'_>, mut end: Receive| {
        while let Some(sent) = end() {
            handovers.fetch_add(1, Relaxed);
            if sent != 0 {
                worker.times.add(epoch.elapsed().saturating_sub(Duration::from_nanos(sent)));
            }
            worker.done();
        }
    };
    let take = |end: &Mutex<Option<Send>>| end.lock().expect("no thread panics").take().expect("one thread an end");
    let mut outcome = run(
        &load,
        || handovers.load(Relaxed),
        || {},
        |worker| {
            let at = worker.number / 2;
            // Senders and receivers alternate, so that two neighbours of a pinned pair share no CPU.
            if worker.number % 2 == 0 {
                send(worker, take(&senders[at]));
            } else {
                let end = receivers[at].lock().expect("no thread panics").take().expect("one thread an end");
                receive(worker, end);
            }
        },
    );
    // An item is an operation of its receiver.
    outcome.operations = outcome.operations.iter().skip(1).step_by(2).copied().collect();
    outcome
}

/// Ends of a queue both of whose ends can be cloned, for half of the threads each.
macro_rules! many {
    ($load:ident, $ends:expr, $sender:ident $item:ident => $send:expr, $receiver:ident => $receive:expr) => {{
        let ($sender, $receiver) = $ends;
        let each = ($load.threads / 2).max(1);
        let senders = (0..each).map(|_| {
            #[allow(unused_mut)]
            let mut $sender = $sender.clone();
            Box::new(move |$item: u64| $send) as Send
        });
        let receivers = (0..each).map(|_| {
            #[allow(unused_mut)]
            let mut $receiver = $receiver.clone();
            Box::new(move || $receive) as Receive
        });
        let ends = Ends { senders: senders.collect(), receivers: receivers.collect() };
        drop(($sender, $receiver));
        time(ends, $load)
    }};
}

fn baton<K: Kind + ManySenders + ManyReceivers>(load: &Load) -> Outcome {
    let ends = queue_of::<u64, K>(CAPACITY).expect("a capacity that is allowed");
    many!(load, ends, sender item => sender.send(item).is_ok(), receiver => receiver.receive().ok())
}

/// Ends of a queue for one sender and one receiver.
fn pair(
    load: &Load,
    send: impl FnMut(u64) -> bool + std::marker::Send + 'static,
    receive: impl FnMut() -> Option<u64> + std::marker::Send + 'static,
) -> Outcome {
    time(Ends { senders: vec![Box::new(send)], receivers: vec![Box::new(receive)] }, load)
}

/// Tries until something comes of it, as programs do with queues that cannot wait.
pub fn spin<R>(mut again: impl FnMut() -> Option<R>) -> R {
    loop {
        for _ in 0..64 {
            if let Some(done) = again() {
                return done;
            }
            std::hint::spin_loop();
        }
        std::thread::yield_now();
    }
}

pub fn subjects() -> Vec<Subject> {
    vec![
        Subject::new("baton ManyToMany", baton::<ManyToMany>),
        Subject::new("baton Segmented", baton::<Segmented>),
        Subject::new("baton Segmented unbounded", |load| {
            let ends = baton_sync::unbounded::<u64>();
            many!(load, ends, sender item => sender.send(item).is_ok(), receiver => receiver.receive().ok())
        }),
        Subject::new("baton Watched<ManyToMany>", baton::<Watched<ManyToMany>>),
        Subject::new("baton OneToOne (1 to 1)", |load| {
            let (mut sender, mut receiver) = queue_of::<u64, OneToOne>(CAPACITY).expect("a capacity that is allowed");
            pair(load, move |item| sender.send(item).is_ok(), move || receiver.receive().ok())
        }),
        Subject::new("baton OneToOne that sleeps (1 to 1)", |load| {
            let ends = queue_with::<u64, OneToOne, Park>(CAPACITY);
            let (mut sender, mut receiver) = ends.expect("a capacity that is allowed");
            pair(load, move |item| sender.send(item).is_ok(), move || receiver.receive().ok())
        }),
        Subject::new("crossbeam bounded", |load| {
            let ends = crossbeam_channel::bounded::<u64>(CAPACITY);
            many!(load, ends, sender item => sender.send(item).is_ok(), receiver => receiver.recv().ok())
        }),
        Subject::new("crossbeam unbounded", |load| {
            let ends = crossbeam_channel::unbounded::<u64>();
            many!(load, ends, sender item => sender.send(item).is_ok(), receiver => receiver.recv().ok())
        }),
        Subject::new("flume bounded", |load| {
            let ends = flume::bounded::<u64>(CAPACITY);
            many!(load, ends, sender item => sender.send(item).is_ok(), receiver => receiver.recv().ok())
        }),
        Subject::new("kanal bounded", |load| {
            let ends = kanal::bounded::<u64>(CAPACITY);
            many!(load, ends, sender item => sender.send(item).is_ok(), receiver => receiver.recv().ok())
        }),
        Subject::new("std sync_channel (1 to 1)", |load| {
            let (sender, receiver) = std::sync::mpsc::sync_channel::<u64>(CAPACITY);
            pair(load, move |item| sender.send(item).is_ok(), move || receiver.recv().ok())
        }),
        Subject::new("concurrent-queue, spinning", |load| {
            let queue = std::sync::Arc::new(concurrent_queue::ConcurrentQueue::<u64>::bounded(CAPACITY));
            let ends = (Closes(queue.clone(), Default::default()), queue);
            many!(load, ends, sender item => spin(|| match sender.0.push(item) {
                Ok(()) => Some(true),
                Err(concurrent_queue::PushError::Full(_)) => None,
                Err(concurrent_queue::PushError::Closed(_)) => Some(false),
            }), receiver => spin(|| match receiver.pop() {
                Ok(item) => Some(Some(item)),
                Err(concurrent_queue::PopError::Empty) => None,
                Err(concurrent_queue::PopError::Closed) => Some(None),
            }))
        }),
        Subject::new("rtrb, spinning (1 to 1)", |load| {
            let (mut producer, mut consumer) = rtrb::RingBuffer::<u64>::new(CAPACITY);
            let send = move |item| spin(|| producer.push(item).is_ok().then_some(true));
            let receive = move || {
                spin(|| match consumer.pop() {
                    Ok(item) => Some(Some(item)),
                    Err(_) if consumer.is_abandoned() => Some(consumer.pop().ok()),
                    Err(_) => None,
                })
            };
            pair(load, send, receive)
        }),
    ]
}

/// A sender of a queue that has no ends of its own: the last one to be dropped closes it.
struct Closes(std::sync::Arc<concurrent_queue::ConcurrentQueue<u64>>, std::sync::Arc<()>);

impl Clone for Closes {
    fn clone(&self) -> Self {
        Closes(self.0.clone(), self.1.clone())
    }
}

impl Drop for Closes {
    fn drop(&mut self) {
        if std::sync::Arc::strong_count(&self.1) == 1 {
            self.0.close();
        }
    }
}
