//! Most workloads, at small size, on the real machine: the checks pass, and what cannot be is
//! refused.
#![expect(clippy::disallowed_methods, reason = "the workload runs on the native machine")]

use baton_machine::units::Cycles;
use baton_machine::{Native, Wait};
use baton_sync::barrier::{self, BarrierVisitor, RawBarrier};
use baton_sync::lock::{self, LockVisitor, RawLock, ZeroInit};
use baton_sync::queue::{self, QueueError, QueueVisitor, RawQueue, Side};
use baton_workloads::barrier::Meetings;
use baton_workloads::chase::Chase;
use baton_workloads::hot::Hot;
use baton_workloads::knobs::StreamKind;
use baton_workloads::lock::Contention;
use baton_workloads::loops::Loop;
use baton_workloads::models::{self, Channel, Model, ModelVisitor, lanes::Lanes};
use baton_workloads::mostly::Mostly;
use baton_workloads::pingpong::PingPong;
use baton_workloads::ring::{BadTransport, Transport};
use baton_workloads::sharing::Sharing;
use baton_workloads::stream::Stream;
use baton_workloads::{Knobs, Silent, Team, Workload};
use std::num::NonZeroU32;

fn run(team: Team) {
    let threads: Vec<_> = team.bodies.into_iter().map(std::thread::spawn).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!((team.verify)(), Ok(()));
}

const WAIT: Wait = Wait::SpinPark(100);

struct Each;
impl LockVisitor<Native> for Each {
    type Out = ();
    fn visit<L: RawLock<Native> + ZeroInit>(self) {
        let contention =
            Contention { threads: 2, critical: Cycles(10), think: Cycles(20), spread: 0.5, lines: 2, iterations: 300 };
        let wait = L::INFO.wait(None).unwrap();
        run(contention.team::<Native, L, _>(wait, Silent));
    }
}
impl BarrierVisitor<Native> for Each {
    type Out = ();
    fn visit<B: RawBarrier<Native>>(self) {
        let threads = NonZeroU32::new(3).unwrap();
        run(Meetings { threads, think: Cycles(10), spread: 0.2, iterations: 50 }.team::<Native, B>(WAIT));
    }
}
impl QueueVisitor<Native> for Each {
    type Out = ();
    fn visit<Q: RawQueue<Native, Item = u64>>(self) {
        let transport = Transport {
            producers: 1,
            consumers: 1,
            capacity: 4,
            think: Cycles(5),
            spread: 0.0,
            iterations: 200,
            bulk: 1,
            lines: 0,
        };
        if Q::INFO.device {
            let refused = transport.team::<Native, Q>(WAIT).err();
            assert_eq!(refused, Some(BadTransport::Queue(Q::INFO.name, QueueError::NoDevice)));
            return;
        }
        run(transport.team::<Native, Q>(WAIT).unwrap());
        // 200 is no multiple of 7: the last bulk is a smaller one.
        run(Transport { bulk: 7, ..transport }.team::<Native, Q>(WAIT).unwrap());
        let many = Transport { producers: 2, consumers: 2, ..transport };
        match many.team::<Native, Q>(WAIT) {
            Ok(team) => {
                run(team);
                run(Transport { bulk: 3, ..many }.team::<Native, Q>(WAIT).unwrap());
            }
            Err(refused) => {
                assert_eq!(Q::INFO.producers, Side::Single);
                assert_eq!(refused, BadTransport::Side("producer", 2));
            }
        }
        assert!(Transport { capacity: 3, ..transport }.team::<Native, Q>(WAIT).is_err());
    }
}

#[test]
fn locks() {
    for lock in lock::LOCKS {
        lock::visit::<Native, _>(lock.name, Each).unwrap();
    }
}

#[test]
fn barriers() {
    for barrier in barrier::BARRIERS {
        barrier::visit::<Native, _>(barrier.name, Each).unwrap();
    }
}

#[test]
fn queues() {
    for queue in queue::QUEUES {
        queue::visit::<Native, _>(queue.name, Each).unwrap();
    }
}

impl ModelVisitor<Native> for Each {
    type Out = ();
    fn visit<C: Model<Native>>(self) {
        let one = Transport {
            producers: 1,
            consumers: 1,
            capacity: 4,
            think: Cycles(5),
            spread: 0.0,
            iterations: 200,
            bulk: 1,
            lines: 0,
        };
        if C::INFO.device {
            let refused = one.team_of_model::<Native, C>(WAIT).err();
            assert_eq!(refused, Some(BadTransport::Queue(C::INFO.name, QueueError::NoDevice)));
            return;
        }
        for bulk in [1, 7, 300] {
            run(Transport { bulk, ..one }.team_of_model::<Native, C>(WAIT).unwrap());
            let many = Transport { producers: 2, consumers: 2, bulk, ..one };
            match many.team_of_model::<Native, C>(WAIT) {
                Ok(team) => run(team),
                Err(refused) => {
                    assert_eq!(C::INFO.producers, Side::Single);
                    assert_eq!(refused, BadTransport::Side("producer", 2));
                }
            }
        }
        let bad = Transport { capacity: 3, ..one }.team_of_model::<Native, C>(WAIT).err();
        assert_eq!(bad, Some(BadTransport::Queue(C::INFO.name, QueueError::Capacity(3))));
    }
}

#[test]
fn models_of_queues() {
    for model in models::MODELS {
        models::visit::<Native, _>(model.name, Each).unwrap();
    }
    assert!(models::visit::<Native, _>("ring", Each).is_none());
}

/// `Lanes::share` tells each consumer how many items the producers deal to it, which the test
/// counts bulk by bulk.
#[test]
fn lanes_deal_all_items_out() {
    for (sides, items, bulk) in [([1, 1], 10, 3), ([3, 2], 25, 4), ([2, 5], 7, 8), ([4, 4], 96, 8), ([5, 3], 100, 1)] {
        let lanes = <Lanes<Native> as Model<Native>>::new(sides, 8).unwrap();
        let dealt: Vec<u64> = (0..sides[1]).map(|c| lanes.share(c, sides, items, bulk)).collect();
        let mut expected = vec![0; sides[1] as usize];
        for producer in 0..u64::from(sides[0]) {
            for (number, first) in (0..items).step_by(bulk as usize).enumerate() {
                expected[(producer as usize + number) % sides[1] as usize] += bulk.min(items - first);
            }
        }
        assert_eq!(dealt, expected, "{sides:?} {items} {bulk}");
    }
}

/// Three threads run a loop that is divided beforehand, and one whose iterations they take by
/// grains: also with uneven shares, a grain larger than the loop, and fewer iterations than
/// threads.
#[test]
fn loops_do_each_iteration_once() {
    for (size, grain) in [(100, None), (7, None), (2, None), (100, Some(1)), (100, Some(7)), (5, Some(100))] {
        let threads = Some(3);
        let knobs = Knobs { threads, think: 5, size: Some(size), grain, iterations: Some(20), ..Knobs::default() };
        run(Loop::choose(&knobs).unwrap().team::<Native, _>(WAIT, Silent).unwrap());
    }
    let refused = |knobs| Loop::choose(&knobs).err().map(|refused| refused.to_string());
    let none = refused(Knobs { threads: Some(0), ..Knobs::default() });
    assert_eq!(none.as_deref(), Some("a loop needs a thread"));
    let zero = refused(Knobs { grain: Some(0), ..Knobs::default() });
    assert_eq!(zero.as_deref(), Some("a grain of a loop has an iteration at least"));
    let barrier = refused(Knobs { barrier: "centrl", ..Knobs::default() });
    assert!(barrier.is_some_and(|why| why.starts_with("unknown barrier `centrl`; expected one of ")));
}

#[test]
fn ping_pong() {
    run(PingPong { iterations: 500 }.team::<Native>(WAIT));
}

/// Runs a team that measures itself. Returns its one figure.
fn measured(team: Team) -> f64 {
    let figures = team.figures;
    run(Team { figures: Box::new(Vec::new), ..team });
    let figures = figures();
    assert!(figures.len() == 1 && figures[0].value.is_finite() && figures[0].value > 0.0, "{figures:?}");
    figures[0].value
}

#[test]
fn memory_workloads_check_and_measure_themselves() {
    for stride in [64, 128] {
        measured(Chase { bytes: 64 << 10, stride, iterations: 20_000 }.team::<Native>());
    }
    for kind in [StreamKind::Read, StreamKind::Write, StreamKind::Copy] {
        measured(Stream { threads: 2, kind, bytes: 1 << 16, iterations: 20 }.team::<Native>());
    }
    for spacing in [8, 64, 200] {
        measured(Sharing { threads: 3, spacing, iterations: 5000 }.team::<Native>());
    }
    let (think, spread) = (Cycles(5), 0.5);
    for one_write_in in [0, 1, 50] {
        measured(Mostly { threads: 3, lines: 4, one_write_in, think, spread, iterations: 5000 }.team::<Native>());
    }
    measured(Hot { threads: 3, think, spread, iterations: 5000 }.team::<Native>());
}

/// The queue with flows in memory, between threads of the host.
#[test]
fn flows() {
    use baton_sync::flow::{FlowOrder, Shape, soft::Soft};
    for order in [FlowOrder::Parallel, FlowOrder::Atomic, FlowOrder::Ordered] {
        for (capacity, window) in [(1, 1), (8, 4)] {
            let settings = baton_workloads::flows::FlowSettings {
                producers: 2,
                workers: 3,
                shape: Shape { order, capacity, window },
                flows: 5,
                zipf: 0.9,
                elephant: 0.1,
                think: Cycles(20),
                spread: 0.5,
                gap: 0,
                packets: 2000,
                seed: 3,
            };
            run(settings.team::<Native, Soft<Native>>(Wait::Futex).unwrap());
        }
    }
}
