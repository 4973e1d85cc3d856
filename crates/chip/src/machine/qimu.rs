//! Queue ids of programs on a guest's side. A request's id is translated before the request is
//! issued, and system calls that create, release or share queues maintain the tables. Without
//! `device.qimu` programs use the devices' own ids, and nothing here has a cost.

use super::access::{access, one};
use crate::base::thread::OUTSIDE;
use crate::core::pipeline::Stall;
use crate::device::qimu::{ENTRY_BYTES, Location, Qimu, Queue};
use crate::device::subjects::NO_GUEST;
use crate::engine::current::{chip, devices, guest, memory, operate, running, with};
use crate::engine::reason::Reason;
use crate::issue::requests::issue;
use crate::issue::stall::stall;
use crate::machine::kernel::kernel;
use baton_chipfile::peripheral::port::{Answer, Request, Subject};
use baton_machine::device::{Payload, Refusal, Words};
use baton_machine::flows::FlowRequest;
use baton_machine::queues::{Combine, Direction, Mode, Operand, QueueId, QueueRefusal, QueueRequest};
use baton_memory::Access;
use std::alloc::Layout;

type QueueAnswer = Result<u64, QueueRefusal>;

/// The chip's QIMU, if it has one.
pub(super) fn qimu<R>(f: impl FnOnce(&mut Qimu) -> R) -> Option<R> {
    devices(|devices| devices.qimu.as_mut().map(f)).flatten()
}

/// The process and the hardware context of the running code.
pub(super) fn here() -> (u32, u32) {
    guest(|thread| (thread.os.app.0, thread.cpu)).unwrap_or((0, 0))
}

/// The thread and the process for which the running code sends its requests.
pub(super) fn subject() -> Subject {
    let cpu = guest(|thread| thread.cpu);
    cpu.and_then(|cpu| devices(|devices| devices.subjects.of(cpu))).unwrap_or(NO_GUEST)
}

/// Where a request for a queue goes: the process, its id of the queue, and the queue's place and
/// domain at a device.
pub(super) struct Aimed {
    pub(super) process: u32,
    pub(super) id: QueueId,
    pub(super) at: Location,
    pub(super) domain: u32,
}

/// Where a request for a queue goes, with the process and its id; `None` for other requests, which
/// are not translated. A translation that the context has not cached is loaded from the process's
/// table by a load of the core.
pub(super) fn translate(words: Words) -> Result<Option<Aimed>, QueueRefusal> {
    let (operand, direction) = match QueueRequest::from_words(words) {
        Some(QueueRequest::Enqueue { to, .. } | QueueRequest::Flow(FlowRequest::Send { to, .. })) => {
            (to, Direction::Enqueue)
        }
        Some(QueueRequest::Dequeue { from } | QueueRequest::Flow(FlowRequest::Receive { from })) => {
            (from, Direction::Dequeue)
        }
        Some(QueueRequest::Flow(FlowRequest::Complete { queue, .. })) => (Operand::of(queue), Direction::Dequeue),
        _ => return Ok(None),
    };
    let direction = if let Mode::TakeCredits(of) | Mode::Arm(of) = operand.mode { of } else { direction };
    let (id, (process, cpu)) = (operand.queue, here());
    let cached = match qimu(|qimu| qimu.look_up(cpu, id)).flatten() {
        Some(cached) => Some(cached),
        None => match qimu(|qimu| qimu.address(process, id)).flatten() {
            Some(address) => {
                one(address, Access::Load);
                // The thread may have moved to another context in the meantime.
                let (_, cpu) = here();
                qimu(|qimu| qimu.fill(cpu, process, id)).flatten()
            }
            None => None,
        },
    };
    let refusal = match cached {
        Some(cached) if cached.may(direction) => {
            return Ok(Some(Aimed { process, id, at: cached.at, domain: cached.domain }));
        }
        Some(_) => QueueRefusal::Refused,
        None => QueueRefusal::NoQueue,
    };
    qimu(|qimu| qimu.counts.refused += 1);
    Err(refusal)
}

/// A request that its core refuses. Returns its packet, which is answered and never leaves.
pub(super) fn refuse(device: u32, refusal: QueueRefusal) -> u32 {
    operate(Reason::Device, |engine| engine.after(1));
    let (id, answer) = (running(), Answer::refused(refusal.code()));
    devices(|devices| devices.answered_at_once(device, id, answer)).unwrap_or_else(|| no_devices())
}

/// The price of a system call to the device, in cycles.
pub(super) fn call_price(device: u32) -> u64 {
    devices(|devices| devices.of_one(device).call.0).unwrap_or(0)
}

/// Asks a device by a system call. The ids of queues in `asked` and in the answer are the device's
/// own.
pub(super) fn ask(device: u32, asked: QueueRequest) -> QueueAnswer {
    said(call_as_is(device, asked.to_words()))
}

/// A system call with the device's own words; the core waits for the answer in the kernel. Outside
/// of guest code it takes no time.
pub(super) fn call_as_is(device: u32, words: Words) -> Answer {
    call_for(device, words, subject())
}

/// Like [`call_as_is`], on behalf of this subject.
fn call_for(device: u32, words: Words, subject: Subject) -> Answer {
    if running() == OUTSIDE {
        return with(|engine| engine.call_device(device, words));
    }
    kernel(call_price(device));
    let Words { tag: op, words } = words;
    let packet =
        issue(device, Request { packet: 0, op, words, privileged: true, cpu: 0, subject }, None, Reason::Kernel);
    stall(Stall::Answer { packet, kernel: true });
    let answer = devices(|devices| {
        let answer = devices.packet(packet).answer;
        devices.drop_packet(packet);
        answer
    });
    answer.unwrap_or_else(|| no_devices())
}

fn no_devices() -> ! {
    unreachable!("a device of a chip without devices")
}

fn said(answer: Answer) -> QueueAnswer {
    QueueAnswer::from_words(answer.into()).unwrap_or(Err(QueueRefusal::Refused))
}

/// A program's system call to a queue device: what a program may configure is listed here, and all
/// else is refused before it leaves the core. A request for items is no system call: it would go by
/// the device's own ids, past the translation.
pub(super) fn call(device: u32, words: Words) -> Answer {
    let translated = qimu(|_| ()).is_some();
    let said = match QueueRequest::from_words(words) {
        Some(asked @ QueueRequest::Join { queue, direction, weight }) => match translated {
            true => join(queue, direction, weight),
            false => ask(device, asked).inspect(|_| joins()),
        },
        Some(QueueRequest::Allocate { entries, queues, enqueue_credits, dequeue_credits }) if translated => {
            allocate(device, entries, queues, [enqueue_credits, dequeue_credits])
        }
        Some(QueueRequest::Release(id)) if translated => release(id),
        Some(QueueRequest::Balance { first, count }) if translated => balance(first, count),
        Some(QueueRequest::Reduce { by, from, to, count }) if translated => reduce(by, from, to, count),
        Some(
            asked @ (QueueRequest::Allocate { .. }
            | QueueRequest::Release(_)
            | QueueRequest::Balance { .. }
            | QueueRequest::Reduce { .. }),
        ) => ask(device, asked),
        Some(QueueRequest::Flow(asked @ FlowRequest::Make { .. })) => match translated {
            true => make(device, asked),
            false => ask(device, QueueRequest::Flow(asked)),
        },
        Some(asked @ QueueRequest::Flow(FlowRequest::Bind { queue, weight, most })) => match translated {
            true => bind(queue, weight, most),
            false => ask(device, asked).inspect(|_| joins()),
        },
        Some(QueueRequest::Enqueue { .. } | QueueRequest::Dequeue { .. } | QueueRequest::Flow(_)) | None => {
            if running() != OUTSIDE {
                kernel(call_price(device));
            }
            Err(QueueRefusal::Refused)
        }
    };
    Answer::from(said.to_words())
}

/// Records that the running thread has something at devices: credits of a queue, a queue with flows
/// from which it receives, or an interrupt that it asked for.
pub(super) fn joins() {
    devices(|devices| devices.subjects.joins(running()));
}

/// Joins the credits of a queue that the process made, or that it was granted for this direction.
fn join(id: QueueId, direction: Direction, weight: u32) -> QueueAnswer {
    enrol(id, direction, |queue| QueueRequest::Join { queue, direction, weight })
}

/// Binds the calling thread to a queue with flows that the process made, or that it was granted.
fn bind(id: QueueId, weight: u16, most: u16) -> QueueAnswer {
    enrol(id, Direction::Dequeue, |queue| QueueRequest::Flow(FlowRequest::Bind { queue, weight, most }))
}

/// Asks a queue's device for something that the calling thread will have there. `asked` gives the
/// request for the device's own id.
fn enrol(id: QueueId, direction: Direction, asked: impl Fn(QueueId) -> QueueRequest) -> QueueAnswer {
    let (process, _) = here();
    let (number, rights) = qimu(|qimu| qimu.find(process, id)).flatten().ok_or(QueueRefusal::NoQueue)?;
    let queue = qimu(|qimu| qimu.queue(number).cloned()).flatten().ok_or(QueueRefusal::NoQueue)?;
    if !rights.may[direction as usize] || queue.moving {
        return Err(QueueRefusal::Refused);
    }
    let subject = Subject { domain: queue.domain, ..subject() };
    said(call_for(queue.at.device, asked(queue.at.queue).to_words(), subject)).inspect(|_| joins())
}

/// Gives the process a table in guest memory, if it has none.
pub(super) fn with_table(process: u32) {
    if qimu(|qimu| qimu.has_table(process)) == Some(false) {
        let ids = qimu(|qimu| qimu.ids as usize).unwrap_or(1);
        let layout = Layout::from_size_align(ids * ENTRY_BYTES, 64).expect("4096 entries of 16 bytes at most");
        // Without memory for a table the process gets no ids.
        let address = memory(|memory| memory.heap.keep(layout).map(|offset| memory.base + offset));
        address.map(|address| qimu(|qimu| qimu.give_table(process, address)));
    }
}

/// The operating system writes the entry of an id in a process's table.
pub(super) fn touch(process: u32, id: QueueId) {
    if let Some(address) = qimu(|qimu| qimu.address(process, id)).flatten()
        && running() != OUTSIDE
    {
        access(address, Access::Store);
    }
}

/// Adds new queues of this process. Returns the first one's id.
fn enter(process: u32, queues: Vec<Queue>) -> Option<QueueId> {
    let count = queues.len() as u32;
    with_table(process);
    let first = qimu(|qimu| qimu.add(process, queues)).flatten()?;
    (0..count).for_each(|queue| touch(process, first.plus(queue)));
    Some(first)
}

fn allocate(named: u32, entries: u32, queues: u32, credits: [bool; 2]) -> QueueAnswer {
    let (process, cpu) = here();
    let core = chip(|chip| chip.core_of(cpu).0);
    let [enqueue_credits, dequeue_credits] = credits;
    let asked = QueueRequest::Allocate { entries, queues, enqueue_credits, dequeue_credits };
    for device in qimu(|qimu| qimu.homes(core, named)).unwrap_or_default() {
        let first = match ask(device, asked) {
            Err(QueueRefusal::NoRoom) => continue,
            said => QueueId(said? as u32),
        };
        let at = |queue| Location { device, queue: first.plus(queue) };
        let made = (0..queues).map(|queue| Queue::new(at(queue), process, entries, credits)).collect();
        return enter(process, made).map(|id| u64::from(id.0)).ok_or_else(|| {
            for queue in 0..queues {
                let _ = ask(device, QueueRequest::Release(first.plus(queue)));
            }
            QueueRefusal::NoRoom
        });
    }
    Err(QueueRefusal::NoRoom)
}

/// Makes a queue with flows. Tokens are of use for all queues with flows of their process, so these
/// are all at one device: the first of them decides at which.
fn make(named: u32, asked: FlowRequest) -> QueueAnswer {
    let (process, cpu) = here();
    let core = chip(|chip| chip.core_of(cpu).0);
    let home =
        || qimu(|qimu| qimu.flows_of(process).first().map(|(_, queue)| (queue.at.device, queue.moving))).flatten();
    let devices = match home() {
        Some((_, true)) => return Err(QueueRefusal::Refused),
        Some((device, _)) => vec![device],
        None => qimu(|qimu| qimu.homes(core, named)).unwrap_or_default(),
    };
    for device in devices {
        let queue = match ask(device, QueueRequest::Flow(asked)) {
            Err(QueueRefusal::NoRoom) => continue,
            said => QueueId(said? as u32),
        };
        // Meanwhile other threads of the process may have made or moved such queues.
        let fits = home().is_none_or(|now| now == (device, false));
        let made = Queue { flows: Some(asked), ..Queue::new(Location { device, queue }, process, 0, [false; 2]) };
        return match if fits { enter(process, vec![made]) } else { None } {
            Some(id) => Ok(id.0.into()),
            None => {
                let _ = ask(device, QueueRequest::Release(queue));
                if fits { Err(QueueRefusal::NoRoom) } else { make(named, asked) }
            }
        };
    }
    Err(QueueRefusal::NoRoom)
}

/// The number of a queue that the running process owns and that is not being moved.
pub(super) fn owned(id: QueueId) -> Result<usize, QueueRefusal> {
    let (process, _) = here();
    let (number, rights) = qimu(|qimu| qimu.find(process, id)).flatten().ok_or(QueueRefusal::NoQueue)?;
    let moving = qimu(|qimu| qimu.queue(number).is_none_or(|queue| queue.moving)).unwrap_or(true);
    if rights.owns && !moving { Ok(number) } else { Err(QueueRefusal::Refused) }
}

/// The place of the first of `count` consecutive queues that the process owns, if they are
/// consecutive at their device too.
fn still(first: QueueId, count: u32) -> Result<Location, QueueRefusal> {
    let ids = qimu(|qimu| qimu.ids).unwrap_or(0);
    if count == 0 || count > ids || first.0.checked_add(count).is_none() {
        return Err(QueueRefusal::Refused);
    }
    let mut begins = None;
    for place in 0..count {
        let number = owned(first.plus(place))?;
        let at = qimu(|qimu| qimu.queue(number).map(|queue| queue.at)).flatten().ok_or(QueueRefusal::NoQueue)?;
        let begin = *begins.get_or_insert(at);
        if at != (Location { device: begin.device, queue: begin.queue.plus(place) }) {
            return Err(QueueRefusal::Refused);
        }
    }
    begins.ok_or(QueueRefusal::Refused)
}

/// Marks that these queues belong to a group or a reducer from now on.
fn pin(first: QueueId, count: u32) {
    for place in 0..count {
        if let Ok(number) = owned(first.plus(place)) {
            qimu(|qimu| qimu.queue(number).map(|queue| queue.pinned = true));
        }
    }
}

fn balance(first: QueueId, count: u32) -> QueueAnswer {
    let at = still(first, count)?;
    let group = QueueId(ask(at.device, QueueRequest::Balance { first: at.queue, count })? as u32);
    let at = Location { device: at.device, queue: group };
    let made = Queue { pinned: true, ..Queue::new(at, here().0, 0, [false; 2]) };
    let Some(id) = enter(here().0, vec![made]) else {
        let _ = ask(at.device, QueueRequest::Release(group));
        return Err(QueueRefusal::NoRoom);
    };
    pin(first, count);
    Ok(u64::from(id.0))
}

fn reduce(by: Combine, from: QueueId, to: QueueId, count: u32) -> QueueAnswer {
    let [reads, writes] = [still(from, count)?, still(to, count)?];
    if reads.device != writes.device {
        return Err(QueueRefusal::Refused);
    }
    let said = ask(reads.device, QueueRequest::Reduce { by, from: reads.queue, to: writes.queue, count })?;
    pin(from, count);
    pin(to, count);
    Ok(said)
}

/// Interrupts contexts that kept a translation which is no longer right.
pub(super) fn shoot_down(device: u32, cpus: &[u32]) {
    if running() != OUTSIDE {
        with(|engine| {
            let cost = engine.devices.as_ref().map_or(0, |devices| devices.of_one(device).interrupt.0);
            cpus.iter().for_each(|&cpu| engine.interrupt_cpu(cpu, cost));
        });
    }
}

/// Removes a queue from all tables and QTLBs, and releases its entries and its slots in former
/// devices. Contexts that had a translation cached are interrupted.
fn release(id: QueueId) -> QueueAnswer {
    let number = owned(id)?;
    let (process, cpu) = here();
    touch(process, id);
    let (queue, shot_down) = qimu(|qimu| qimu.remove(number, cpu)).unwrap_or_default();
    let queue = queue.ok_or(QueueRefusal::NoQueue)?;
    shoot_down(queue.at.device, &shot_down);
    for before in queue.before {
        ask(before.device, QueueRequest::Release(before.queue))?;
    }
    ask(queue.at.device, QueueRequest::Release(queue.at.queue))
}
