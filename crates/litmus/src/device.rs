//! A test's queues in a machine's queue devices, made anew for each run, and the requests that a
//! thread has under way.

use super::Test;
use super::cpu::Cpu;
use super::instruction::{Aim, Instruction};
use baton_machine::Machine;
use baton_machine::device::{Device, Ticket};
use baton_machine::queues::{Operand, QueueDevice, QueueId, QueueRefusal, QueueRequest};
use baton_machine::units::Cycles;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The device and the identifier of a queue.
type Held<M> = (<M as Machine>::Queues, QueueId);

/// The queues of one run.
struct Made<M: Machine> {
    /// The run for which the queues were made; `None`: no run has begun.
    run: Option<u32>,
    queues: Vec<Held<M>>,
    /// Number of threads whose requests of the run are all answered.
    done: usize,
}

/// The queues of a test's threads. They are kept on the host: reading them takes the threads no
/// time and orders nothing.
pub(super) struct Queues<M: Machine> {
    test: Arc<Test>,
    made: Mutex<Made<M>>,
}

/// Cycles from one look to the next of a thread that waits for the queues of its run.
const LOOK: Cycles = Cycles(200);
/// Largest number of looks, many times what a run takes.
const LOOKS: u32 = 10_000_000;

fn served(answer: Result<u64, QueueRefusal>) -> u64 {
    answer.unwrap_or_else(|why| panic!("the queue device refuses a request of a litmus test: {why:?}"))
}

impl<M: Machine> Queues<M> {
    /// The queues of a test before they are made; the thread that calls [`Queues::make`] makes
    /// them.
    pub(super) fn new(test: &Arc<Test>) -> Queues<M> {
        let made = Made { run: None, queues: Vec::new(), done: test.threads.len() };
        Queues { test: test.clone(), made: Mutex::new(made) }
    }

    fn made(&self) -> MutexGuard<'_, Made<M>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks again and again until `is` holds.
    fn until(&self, what: &str, is: impl Fn(&Made<M>) -> bool) {
        for _ in 0..LOOKS {
            if is(&self.made()) {
                return;
            }
            M::work(LOOK);
        }
        panic!("litmus test {}: {what}", self.test.name);
    }

    /// Waits until the run before has ended, gives back its queues and makes the queues of this
    /// run, by system calls. Only one thread may call this. For each queue, `place` gets the number
    /// of devices and returns the device at which the search for room begins.
    pub(super) fn make(&self, run: u32, mut place: impl FnMut(u64) -> u64) {
        if self.test.queues.is_empty() {
            return;
        }
        self.until("the run before does not end", |made| made.done == self.test.threads.len());
        for (device, queue) in std::mem::take(&mut self.made().queues) {
            served(device.call(QueueRequest::Release(queue)));
        }
        let devices: Vec<M::Queues> = (0..).map_while(M::queues).collect();
        let mut queues = Vec::new();
        for queue in &self.test.queues {
            let asked = QueueRequest::Allocate {
                entries: queue.entries,
                queues: 1,
                enqueue_credits: false,
                dequeue_credits: false,
            };
            let first = place(devices.len() as u64) as usize;
            let mut tried = (first..first + devices.len()).map(|at| devices[at % devices.len()]);
            let held = tried.find_map(|device| Some((device, QueueId(device.call(asked).ok()? as u32))));
            let (device, id) = held.unwrap_or_else(|| panic!("no queue device has room for `{}`", queue.name));
            for &item in &queue.initial {
                served(device.request(QueueRequest::Enqueue { to: Operand::of(id), item }).wait());
            }
            queues.push((device, id));
        }
        *self.made() = Made { run: Some(run), queues, done: 0 };
    }

    /// Waits until the queues of a run are made, and returns them.
    pub(super) fn of(&self, run: u32) -> Vec<Held<M>> {
        if self.test.queues.is_empty() {
            return Vec::new();
        }
        self.until("its queues are never made", |made| made.run == Some(run));
        self.made().queues.clone()
    }

    /// Notes that all requests of one thread are answered.
    pub(super) fn done(&self) {
        self.made().done += 1;
    }
}

type TicketOf<M> = <<M as Machine>::Queues as Device<QueueDevice>>::Ticket;

/// A thread's requests in one run.
pub(super) struct Requests<M: Machine> {
    queues: Vec<Held<M>>,
    /// The requests whose answers the thread has not taken, with the register that waits for each
    /// answer.
    under_way: Vec<(Option<usize>, TicketOf<M>)>,
}

impl<M: Machine> Requests<M> {
    /// No requests yet, to the given queues.
    pub(super) fn new(queues: Vec<Held<M>>) -> Requests<M> {
        Requests { queues, under_way: Vec::new() }
    }

    pub(super) fn enqueue(&mut self, Aim { queue, priority }: Aim, item: u64) {
        let (device, id) = self.queues[queue];
        let to = Operand { priority, ..Operand::of(id) };
        self.under_way.push((None, device.request(QueueRequest::Enqueue { to, item })));
    }

    /// Makes the request of the current dequeue; its register waits for the item from here on.
    pub(super) fn dequeue(&mut self, Aim { queue, priority }: Aim, cpu: &mut Cpu, code: &[Instruction]) {
        let (device, id) = self.queues[queue];
        let from = Operand { priority, ..Operand::of(id) };
        let ticket = device.request(QueueRequest::Dequeue { from });
        self.under_way.push((Some(cpu.asked(code)), ticket));
    }

    /// Waits until the register's item has come.
    pub(super) fn wait(&mut self, register: usize, cpu: &mut Cpu) {
        let Some(at) = self.under_way.iter().position(|(of, _)| *of == Some(register)) else {
            unreachable!("a register waits for a dequeue that was never made")
        };
        let (_, ticket) = self.under_way.remove(at);
        cpu.answered(register, served(ticket.wait()));
    }

    /// Waits until all answers have come.
    pub(super) fn end(self, cpu: &mut Cpu) {
        for (register, ticket) in self.under_way {
            let item = served(ticket.wait());
            if let Some(register) = register {
                cpu.answered(register, item);
            }
        }
    }
}
