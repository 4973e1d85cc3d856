//! Queues that move between devices while threads use them, and queues that processes share (CAF,
//! section 5.2); threads whose waiting requests a guard thread drops (section 3.2).

use super::Simulated;
use super::kernel::system_call;
use super::qimu::{ask, call_as_is, here, owned, qimu, shoot_down, touch};
use super::thread::{Guest, assert_guest};
use crate::device::qimu::{Location, Queue};
use crate::engine::current::with;
use crate::engine::state::Engine;
use crate::engine::thread::{Thread, ThreadState};
use crate::os::app::App;
use baton_chipfile::peripheral::port::Answer;
use baton_chipfile::peripheral::qmd::Step;
use baton_machine::device::Words;
use baton_machine::queues::{Direction, QueueId, QueueRefusal, QueueRequest};

/// The number of the device that has the calling process's queue; `None` if the process has no such
/// queue, or if the chip translates no ids.
pub fn home_of(queue: QueueId) -> Option<u32> {
    let (process, _) = here();
    let (number, _) = qimu(|qimu| qimu.find(process, queue)).flatten()?;
    qimu(|qimu| qimu.queue(number).map(|queue| queue.at.device)).flatten()
}

/// Gives another application an id for a queue that the calling application created, with the
/// rights to enqueue and to dequeue. Costs `os.syscall`.
///
/// # Errors
/// If the caller did not create the queue, if the queue is being moved, or if the other application
/// has no id left.
///
/// # Panics
/// Outside of guest code.
pub fn grant(queue: QueueId, to: App, [enqueue, dequeue]: [bool; 2]) -> Result<QueueId, QueueRefusal> {
    assert_guest("grant");
    system_call();
    let number = owned(queue)?;
    super::qimu::with_table(to.0);
    let given = qimu(|qimu| qimu.grant(number, to.0, [enqueue, dequeue])).flatten().ok_or(QueueRefusal::NoRoom)?;
    touch(to.0, given);
    Ok(given)
}

/// Takes back what [`grant`] gave: the other application's ids of the queue are unknown from now on.
/// Its threads' credits for the queue come back, and its requests that wait for the queue are
/// refused. A request that is on its way to the device is still served. Costs `os.syscall` and a
/// call to the device for each thread of the other application.
///
/// # Errors
/// If the caller did not create the queue, if the queue is being moved, or if the other application
/// was granted no id of it.
///
/// # Panics
/// Outside of guest code.
pub fn revoke(queue: QueueId, from: App) -> Result<(), QueueRefusal> {
    assert_guest("revoke");
    system_call();
    // A thread that is killed in the meantime ends only afterwards, so that no grant is left half
    // taken back.
    Engine::shielded(|| take_back(queue, from))
}

fn take_back(queue: QueueId, from: App) -> Result<(), QueueRefusal> {
    let number = owned(queue)?;
    let (_, cpu) = here();
    let shot_down = qimu(|qimu| qimu.revoke(number, from.0, cpu)).flatten().ok_or(QueueRefusal::NoQueue)?;
    touch(here().0, queue);
    let Some(Some(at)) = qimu(|qimu| qimu.queue(number).map(|queue| queue.at)) else {
        return Err(QueueRefusal::NoQueue);
    };
    shoot_down(at.device, &shot_down);
    let its = |(_, thread): &(u32, &Thread)| thread.os.app == from && thread.state != ThreadState::Done;
    let threads: Vec<u32> =
        with(|engine| (0..).zip(engine.threads.iter()).filter(its).map(|(thread, _)| thread).collect());
    for thread in threads {
        surely(at.device, Step::Retire, [u64::from(thread), u64::from(at.queue.0), 0]);
    }
    Ok(())
}

/// Drops the requests of a thread of the calling application that wait at queue devices, and
/// interrupts the contexts that sent them: what a guard thread does for a thread that would wait
/// for ever. Returns the number of requests. Costs `os.syscall` and a call to each device.
///
/// # Errors
/// If the thread belongs to another application.
///
/// # Panics
/// Outside of guest code.
pub fn drain(guest: Guest) -> Result<u64, QueueRefusal> {
    assert_guest("drain");
    system_call();
    let process = with(|engine| engine.threads[guest.number() as usize].os.app.0);
    if process != here().0 {
        return Err(QueueRefusal::Refused);
    }
    let drain = |device| step(device, Step::Drain, [u64::from(guest.number()), 0, 0]).value;
    Ok(Engine::shielded(|| (0..Simulated::devices()).map(drain).sum()))
}

/// Moves a queue that the calling process created to another device, while threads use it. Requests
/// for the queue wait at the old device while its items are copied one by one, and are then
/// forwarded by their cores; nothing is lost, doubled or reordered. Returns the number of items
/// that were moved. Costs `os.syscall` and the calls to both devices.
///
/// # Errors
/// If the caller did not create the queue; if the queue is being moved or belongs to a group or a
/// reducer; if there is no such device, or no room in it.
///
/// # Panics
/// Outside of guest code.
pub fn migrate(queue: QueueId, to: u32) -> Result<u64, QueueRefusal> {
    assert_guest("migrate");
    system_call();
    // A thread that is killed in the meantime ends only afterwards, so that no queue is left half
    // moved.
    Engine::shielded(|| move_to(queue, to))
}

fn move_to(queue: QueueId, to: u32) -> Result<u64, QueueRefusal> {
    let number = owned(queue)?;
    let Some(Some(record)) = qimu(|qimu| qimu.queue(number).cloned()) else { return Err(QueueRefusal::NoQueue) };
    if record.pinned || to >= Simulated::devices() {
        return Err(QueueRefusal::Refused);
    }
    if record.at.device == to {
        return Ok(0);
    }
    qimu(|qimu| qimu.queue(number).map(|queue| queue.moving = true));
    let moved = carry(queue, number, &record, to);
    qimu(|qimu| qimu.queue(number).map(|queue| queue.moving = false));
    moved
}

/// A step that a device carries out for the operating system.
fn step(device: u32, step: Step, words: [u64; 3]) -> Answer {
    call_as_is(device, Words { tag: step.tag(), words })
}

/// A step that the device does not refuse: the retirement of a thread, or a step of a move, during
/// which both queues belong to the operating system alone.
fn surely(device: u32, what: Step, words: [u64; 3]) -> Answer {
    let answer = step(device, what, words);
    assert_eq!(answer.status, 0, "{what:?} at device {device}");
    answer
}

fn carry(id: QueueId, number: usize, record: &Queue, to: u32) -> Result<u64, QueueRefusal> {
    let Queue { at: from, entries, credits, .. } = *record;
    let asked = QueueRequest::Allocate { entries, queues: 1, enqueue_credits: credits[0], dequeue_credits: credits[1] };
    let new = Location { device: to, queue: QueueId(ask(to, asked)? as u32) };
    let (old, now) = (u64::from(from.queue.0), u64::from(new.queue.0));
    surely(to, Step::Close, [now, 0, 0]);
    let frozen = step(from.device, Step::Close, [old, 0, 0]);
    if frozen.status != 0 {
        ask(to, QueueRequest::Release(new.queue))?;
        return Err(QueueRefusal::Refused);
    }
    for place in 0..frozen.value {
        let item = surely(from.device, Step::Peek, [old, place, 0]).value;
        surely(to, Step::Load, [now, item, 0]);
    }
    for direction in [Direction::Enqueue, Direction::Dequeue].into_iter().filter(|way| credits[*way as usize]) {
        let way = direction as u64;
        let Answer { value: global, more: [members, turn], .. } = surely(from.device, Step::Pool, [old, way, 0]);
        surely(to, Step::SetPool, [now | way << 32, global, turn]);
        for place in 0..members {
            let Answer { value: whose, more: [has, _], .. } = surely(from.device, Step::Member, [old, way, place]);
            surely(to, Step::SetMember, [now | way << 32, whose, has]);
        }
    }
    surely(to, Step::Open, [now, 0, 0]);
    qimu(|qimu| {
        qimu.counts.moved += 1;
        if let Some(queue) = qimu.queue(number) {
            queue.at = new;
            queue.before.push(from);
        }
    });
    touch(here().0, id);
    surely(from.device, Step::SendOn, [old, now, u64::from(to)]);
    Ok(frozen.value)
}
