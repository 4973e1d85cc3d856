//! Random programs against a reference queue: nothing is lost, doubled, delivered to another queue,
//! or reordered within a producer and a queue, whatever the device's buffers, engines and links
//! are.
//!
//! A second hundred has queues that move between devices meanwhile.
//!
//! `cargo test -p baton-chip --test qmd random:: -- --ignored` runs 10,000 of each.

use super::{Body, allocate, count, device, enqueue, run, word};
use baton_chip::{Chip, act, moving};
use baton_machine::device::{Device, Ticket};
use baton_machine::queues::{Mode, Operand, QueueId, QueueRefusal, QueueRequest};
use baton_machine::units::Cycles;
use std::cell::RefCell;
use std::rc::Rc;

/// A generator of random numbers.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    pub(super) fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }
}

/// Whether queues stay at their device.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Queues {
    Stay,
    Move,
}

/// A chip whose queue devices have random settings. Where queues move, there are several devices,
/// each hardware context has request buffers of its own at each device, and a QIMU, which
/// translates the queue ids of programs.
pub(super) fn chip(dice: &mut Dice, queues: Queues) -> Chip {
    let on_mesh = dice.below(2) == 0;
    let text = match on_mesh {
        true => include_str!("../../../../chips/caf64.toml"),
        false => include_str!("../../../../chips/caf16.toml"),
    };
    let mut settings: Vec<String> = [
        format!("device.qmd.engines={}", 1 + dice.below(2)),
        format!("device.qmd.buffers={}", dice.of(&["shared", "context"])),
        format!("device.qmd.schedule={}", dice.of(&["round-robin", "weighted"])),
        format!("device.qmd.retry={}", dice.of(&["slot", "free"])),
        format!("device.qmd.pointers={}", dice.of(&["grant", "access"])),
        format!("device.qmd.latency={}", dice.below(60)),
        format!("device.outstanding={}", 1 + dice.below(16)),
        format!("device.younger_stores={}", dice.of(&["wait", "pass"])),
    ]
    .into();
    if on_mesh {
        settings.extend([
            format!("network.routing={}", dice.of(&["auto", "minimal-adaptive", "o1turn"])),
            "network.vcs=4".to_owned(),
        ]);
    }
    if queues == Queues::Move {
        settings.extend([
            "device.qmd.buffers=context".to_owned(),
            "device.qimu=16".to_owned(),
            format!("device.qtlb={}", 1 + dice.below(4)),
            format!("device.queue_home={}", dice.of(&["named", "nearest"])),
        ]);
        if !on_mesh {
            settings.push(format!("device.count={}", 2 + dice.below(3)));
        }
    }
    Chip::from_toml_with(text, "caf.toml", &settings).unwrap_or_else(|error| panic!("{settings:?}: {error}"))
}

/// What each consumer got: from which queue, and which item. An item holds its producer, its queue
/// and its number.
type Got = Rc<RefCell<Vec<Vec<(usize, u64)>>>>;

fn item(producer: u64, queue: usize, number: u64) -> u64 {
    producer << 48 | (queue as u64) << 32 | number
}

/// Runs producers and consumers on cores of their own. Each producer has a number of items for each
/// queue, and each consumer takes a number of each queue's items; the sums are equal for each
/// queue. Returns how many requests were sent on, or 0 where queues stay.
fn program(seed: u64, moves: Queues) -> u64 {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
    let chip = chip(&mut dice, moves);
    let (producers, consumers) = (1 + dice.below(4) as usize, 1 + dice.below(4) as usize);
    let queues = 1 + dice.below(3) as usize;
    let entries = 1 + dice.below(12) as u32;
    let mut quota = vec![vec![0; queues]; consumers];
    let mut plans: Vec<Vec<usize>> = Vec::new();
    for _ in 0..producers {
        // Shared buffers can lock where a thread has requests for several queues, so a producer
        // sends all items of a queue before those of the next.
        let items = |queue| std::iter::repeat_n(queue, dice.below(40) as usize);
        let plan: Vec<usize> = (0..queues).flat_map(items).collect();
        for &queue in &plan {
            quota[dice.below(consumers as u64) as usize][queue] += 1;
        }
        plans.push(plan);
    }
    let got: Got = Rc::new(RefCell::new(vec![Vec::new(); consumers]));
    let all: usize = plans.iter().map(Vec::len).sum();
    let mut mover = Dice(dice.below(1 << 30));
    let devices = chip.devices.as_ref().map_or(1, |devices| devices.count);
    let first = move || {
        assert_eq!(allocate(entries, queues as u32), QueueId(0));
        if moves == Queues::Move {
            move_about(&mut mover, queues as u64, devices.into());
        }
    };
    let mut threads: Vec<(u32, Body)> = vec![(0, Box::new(first))];
    for (producer, plan) in (0..).zip(plans) {
        let keep = 1 + dice.below(16) as usize;
        let think = dice.below(60);
        threads.push((1 + producer as u32, Box::new(move || produce(producer, &plan, keep, think))));
    }
    for (consumer, quota) in quota.into_iter().enumerate() {
        let (out, pause, tries) = (got.clone(), dice.below(300), dice.below(2) == 0);
        let body = move || out.borrow_mut()[consumer] = consume(&quota, pause, tries);
        threads.push(((1 + producers + consumer) as u32, Box::new(body)));
    }
    let outcome = run(&chip, seed, threads).unwrap_or_else(|error| panic!("program {seed}: {error}"));
    assert_eq!((count(&outcome, "enqueued"), count(&outcome, "dequeued")), (all as u64, all as u64), "program {seed}");
    check(seed, all, &got.take());
    if moves == Queues::Move { count(&outcome, "sent_on") } else { 0 }
}

/// Moves queues twelve times, with random pauses between, while the others run.
fn move_about(dice: &mut Dice, queues: u64, devices: u64) {
    act::delay(Cycles(3_000));
    let pause = 1 + dice.below(3_000);
    for _ in 0..12 {
        let (queue, to) = (QueueId(dice.below(queues) as u32), dice.below(devices) as u32);
        match moving::migrate(queue, to) {
            Ok(_) => assert_eq!(moving::home_of(queue), Some(to)),
            // A device may have no slot left, because each move leaves one taken.
            Err(refusal) => assert_eq!(refusal, QueueRefusal::NoRoom),
        }
        act::delay(Cycles(dice.below(pause)));
    }
}

/// Enqueues the plan's items with at most `keep` under way, then waits for all.
fn produce(producer: u64, plan: &[usize], keep: usize, think: u64) {
    act::delay(Cycles(5_000));
    let mut numbers = [0; 8];
    let mut under_way = std::collections::VecDeque::new();
    for &queue in plan {
        if under_way.len() == keep {
            let first: Option<_> = under_way.pop_front();
            assert_eq!(first.map(|ticket| word(Ticket::wait(ticket))), Some(0));
        }
        under_way.push_back(enqueue(QueueId(queue as u32), item(producer, queue, numbers[queue])));
        numbers[queue] += 1;
        act::delay(Cycles(think));
    }
    under_way.into_iter().for_each(|ticket| assert_eq!(word(ticket.wait()), 0));
}

/// Takes as many items of each queue as the quota says. It tries again and again, or it waits for
/// items of its only queue.
fn consume(quota: &[usize], pause: u64, tries: bool) -> Vec<(usize, u64)> {
    act::delay(Cycles(6_000));
    let mut left = quota.to_vec();
    let mut got = Vec::new();
    let mut queue = 0;
    while left.iter().any(|&left| left > 0) {
        queue = (queue + 1) % left.len();
        if left[queue] == 0 {
            continue;
        }
        // A consumer that waits for one queue, while that queue's producer waits for room in
        // another, would be in a deadlock of its own making. So a consumer of several queues only
        // tries.
        let mode = if tries || left.len() > 1 { Mode::Try } else { Mode::Block };
        let from = Operand { mode, ..Operand::of(QueueId(queue as u32)) };
        let answer = device().request(QueueRequest::Dequeue { from }).wait();
        match answer {
            Ok(item) => {
                got.push((queue, item));
                left[queue] -= 1;
            }
            Err(refusal) => assert_eq!(refusal, QueueRefusal::Empty),
        }
        act::delay(Cycles(pause));
    }
    got
}

/// Asserts that each item came once, out of its own queue, and that each consumer got the items of
/// a producer and a queue in their order.
fn check(seed: u64, all: usize, got: &[Vec<(usize, u64)>]) {
    let mut seen = std::collections::BTreeSet::new();
    for of_one in got {
        let mut last = std::collections::BTreeMap::new();
        for &(queue, item) in of_one {
            assert_eq!((item >> 32) as usize & 0xffff, queue, "program {seed}: {item:#x} came out of another queue");
            assert!(seen.insert(item), "program {seed}: {item:#x} came twice");
            let before = last.insert((item >> 48, queue), item);
            assert!(before.is_none_or(|before| before < item), "program {seed}: {item:#x} behind {before:#x?}");
        }
    }
    assert_eq!(seen.len(), all, "program {seed}: items are missing");
}

fn programs(seeds: std::ops::Range<u64>, queues: Queues) -> u64 {
    seeds.map(|seed| program(seed, queues)).sum()
}

#[test]
fn a_hundred_programs_lose_double_and_reorder_nothing() {
    programs(0..100, Queues::Stay);
}

#[test]
#[ignore = "ten thousand programs take minutes"]
fn ten_thousand_programs_lose_double_and_reorder_nothing() {
    programs(0..10_000, Queues::Stay);
}

#[test]
fn a_hundred_programs_whose_queues_move_lose_double_and_reorder_nothing() {
    let sent_on = programs(0..100, Queues::Move);
    assert!(sent_on > 500, "{sent_on} requests were sent on: the queues moved where none was under way");
}

#[test]
#[ignore = "ten thousand programs take minutes"]
fn ten_thousand_programs_whose_queues_move_lose_double_and_reorder_nothing() {
    programs(0..10_000, Queues::Move);
}
