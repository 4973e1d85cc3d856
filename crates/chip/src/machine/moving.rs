//! Queues that move between devices while threads use them, and queues that processes share (CAF,
//! section 5.2); threads whose waiting requests a guard thread drops (section 3.2).

use super::Simulated;
use super::kernel::system_call;
use super::qimu::{ask, call_as_is, here, owned, qimu, shoot_down, touch};
use super::thread::{Guest, assert_guest};
use crate::device::qimu::{Location, Qimu, Queue};
use crate::engine::current::with;
use crate::engine::state::Engine;
use crate::engine::thread::{Thread, ThreadState};
use crate::os::app::App;
use baton_chipfile::peripheral::port::Answer;
use baton_chipfile::peripheral::qmd::{Carried, Step};
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
/// All queues with flows of a process move together, with the tokens of their items in hand, as a
/// token is of use for all of them.
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
    let own =
        |qimu: &mut Qimu| qimu.flows_of(record.domain).into_iter().map(|(number, of)| (number, of.clone())).collect();
    let group: Vec<(usize, Queue)> = if record.flows.is_some() { qimu(own).unwrap_or_default() } else { Vec::new() };
    let numbers: Vec<usize> = group.iter().map(|(number, _)| *number).chain([number]).collect();
    let mark = |moving| {
        let each = |qimu: &mut Qimu| {
            for &number in &numbers {
                qimu.queue(number).into_iter().for_each(|queue| queue.moving = moving);
            }
        };
        qimu(each);
    };
    mark(true);
    let moved = if group.is_empty() { carry(number, &record, to) } else { carry_flows(&group, to) };
    mark(false);
    with(Engine::move_is_over);
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

fn carry(number: usize, record: &Queue, to: u32) -> Result<u64, QueueRefusal> {
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
    arrives(number, new);
    surely(from.device, Step::SendOn, [old, now, u64::from(to)]);
    Ok(frozen.value)
}

/// Records that a queue is at a new place.
fn arrives(number: usize, new: Location) {
    let id = qimu(|qimu| {
        qimu.counts.moved += 1;
        if let Some(queue) = qimu.queue(number) {
            let before = std::mem::replace(&mut queue.at, new);
            queue.before.push(before);
        }
        qimu.id_of(number)
    });
    if let Some(Some((process, id))) = id {
        touch(process, id);
    }
}

/// Moves all queues with flows of a process. Consumers come first: they reserve their tokens, and if
/// the new device has not enough of these, or no room, nothing has changed.
fn carry_flows(group: &[(usize, Queue)], to: u32) -> Result<u64, QueueRefusal> {
    let (mut items, mut new, mut rows) = (0, Vec::new(), Vec::new());
    for (_, Queue { flows, .. }) in group {
        let made = flows.ok_or(QueueRefusal::Refused).and_then(|asked| ask(to, QueueRequest::Flow(asked)));
        match made {
            Ok(id) => {
                surely(to, Step::Close, [id, 0, 0]);
                new.push(QueueId(id as u32));
            }
            Err(why) => return give_up(to, &new, why),
        }
    }
    let closed = group.iter().map(|(_, queue)| surely(queue.at.device, Step::Close, [queue.at.queue.0.into(), 0, 0]));
    let closed: Vec<Answer> = closed.collect();
    for ((_, queue), Answer { value, more: [count, _], .. }) in group.iter().zip(closed) {
        items += value;
        rows.push(tables(queue.at, count));
    }
    let reserves = |row: &Carried| matches!(row, Carried::Uses(_) | Carried::Consumer { .. });
    let map: Vec<(QueueId, QueueId)> = group.iter().map(|(_, old)| old.at.queue).zip(new.iter().copied()).collect();
    for first in [true, false] {
        for (&queue, rows) in new.iter().zip(&rows) {
            for row in rows.iter().filter(|row| reserves(row) == first) {
                let answer = step(to, Step::SetRow, row_words(queue, renamed(*row, &map)));
                if first && answer.status != 0 {
                    for (_, Queue { at, .. }) in group {
                        surely(at.device, Step::Open, [at.queue.0.into(), 0, 0]);
                    }
                    return give_up(to, &new, QueueRefusal::NoRoom);
                }
                assert_eq!(answer.status, 0, "{row:?} at device {to}");
            }
        }
    }
    new.iter().for_each(|queue| _ = surely(to, Step::Open, [queue.0.into(), 0, 0]));
    for ((number, _), &queue) in group.iter().zip(&new) {
        arrives(*number, Location { device: to, queue });
    }
    for ((_, Queue { at, .. }), queue) in group.iter().zip(&new) {
        surely(at.device, Step::SendOn, [at.queue.0.into(), queue.0.into(), to.into()]);
    }
    Ok(items)
}

/// Releases queues to which nothing has moved.
fn give_up(device: u32, queues: &[QueueId], why: QueueRefusal) -> Result<u64, QueueRefusal> {
    for queue in queues {
        ask(device, QueueRequest::Release(*queue))?;
    }
    Err(why)
}

/// Reads the tables of a closed queue with flows, which have `count` rows.
fn tables(at: Location, count: u64) -> Vec<Carried> {
    let row = |number: u64| {
        let Answer { value, more: [second, kind], .. } = surely(at.device, Step::Row, [at.queue.0.into(), number, 0]);
        Carried::from_words([value, second], kind as u32).expect("a device's row")
    };
    (0..count).map(row).collect()
}

/// The words of a step that writes a row.
fn row_words(queue: QueueId, row: Carried) -> [u64; 3] {
    let ([first, second], kind) = row.to_words();
    [u64::from(queue.0) | u64::from(kind) << 32, first, second]
}

/// A row as the new device has it: items that wait in reorder buffers are for the queues there.
fn renamed(row: Carried, queues: &[(QueueId, QueueId)]) -> Carried {
    match row {
        Carried::Output { to, item, flow } => {
            // A queue that was released has no new id, and the old one is no queue of the new device.
            let new = queues.iter().find(|(old, _)| *old == to).map_or(QueueId(u32::MAX), |(_, new)| *new);
            Carried::Output { to: new, item, flow }
        }
        other => other,
    }
}
