//! Many cores at several queue devices on a mesh (figure 16). Each core takes from a queue of its
//! own, which lies in the device nearest to it, and enqueues to the queues of all cores, so that as
//! many requests enqueue as dequeue.
//!
//! In an open loop requests come at a fixed mean rate, regardless of earlier ones. In a closed loop
//! a core keeps a fixed number of requests under way.

use super::channel::{Asked, InDevice, word};
use super::placement::{NODES, nearest};
use crate::kit::{Body, Crew};
use baton_chip::{Simulated, act};
use baton_machine::Machine;
use baton_machine::device::Ticket;
use baton_machine::units::Cycles;
use baton_workloads::xorshift;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// How requests arrive at a core.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) enum Load {
    /// Requests of a core arrive with this many cycles between two of them, on average.
    Open(u64),
    /// A core keeps this many requests under way.
    Closed(u64),
}

/// One run with many cores and several queue devices on the mesh.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Mesh {
    /// Nodes of the devices, in their order.
    pub(super) places: Vec<u32>,
    pub(super) load: Load,
    /// The number of requests of a core that are measured. A quarter as many come before them.
    pub(super) requests: u64,
    pub(super) seed: u64,
}

/// The entries of a core's queue. Half of them are filled before the requests begin, so that
/// requests seldom wait for room or for items.
const ENTRIES: usize = 256;
/// In an open loop, a core looks for answers every this many cycles.
const LOOK: u64 = 4;

/// The measured requests of a run. A request's time is that from its arrival at the core, which may
/// be before the core issues it, to its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Requests {
    /// The number of requests that were measured.
    pub count: u64,
    /// The sum of the cycles that the measured requests took.
    pub cycles: u64,
    /// The measured requests that dequeue.
    pub dequeues: u64,
    /// The sum of the cycles that the measured requests that dequeue took.
    pub dequeue_cycles: u64,
    /// The most requests that a core had under way.
    pub most: u64,
    /// The cycles in which all cores were at work: from when the last core began its measured
    /// requests to when the first core had issued its last one.
    pub span: u64,
    /// The mean number of answers to all cores in a cycle of `span`.
    pub rate: f64,
}

#[derive(Default)]
pub(super) struct Notes {
    requests: Requests,
    began: u64,
    ended: u64,
    answers: Vec<u64>,
}

impl Notes {
    /// The figures of the run, with the span and the rate.
    pub(super) fn figures(&self) -> Requests {
        let (from, to) = (self.began, self.ended);
        let span = to.saturating_sub(from);
        let answered = self.answers.iter().filter(|at| (from..to).contains(at)).count();
        Requests { span, rate: if span == 0 { 0.0 } else { answered as f64 / span as f64 }, ..self.requests }
    }
}

struct UnderWay {
    ticket: Asked,
    came: u64,
    dequeues: bool,
    measured: bool,
}

struct Core {
    queues: Rc<Vec<InDevice>>,
    notes: Rc<RefCell<Notes>>,
    own: usize,
    random: u64,
    under_way: VecDeque<UnderWay>,
}

impl Core {
    fn next(&mut self, below: u64) -> u64 {
        (xorshift(&mut self.random) >> 11) % below.max(1)
    }

    fn request(&mut self, number: u64, came: u64, measured: bool) {
        let dequeues = number.is_multiple_of(2);
        let to = self.next(u64::from(NODES)) as usize;
        let ticket = if dequeues { self.queues[self.own].dequeue() } else { self.queues[to].enqueue(number) };
        self.under_way.push_back(UnderWay { ticket, came, dequeues, measured });
        let mut notes = self.notes.borrow_mut();
        notes.requests.most = notes.requests.most.max(self.under_way.len() as u64);
    }

    fn answered(&self, done: UnderWay) {
        let _ = word(done.ticket.wait());
        let (now, mut notes) = (act::time().0, self.notes.borrow_mut());
        notes.answers.push(now);
        if done.measured {
            let requests = &mut notes.requests;
            (requests.count, requests.cycles) = (requests.count + 1, requests.cycles + now - done.came);
            if done.dequeues {
                requests.dequeues += 1;
                requests.dequeue_cycles += now - done.came;
            }
        }
    }

    /// Takes the answers that have come.
    fn looks(&mut self) {
        for _ in 0..self.under_way.len() {
            let Some(one) = self.under_way.pop_front() else { return };
            if one.ticket.is_here() { self.answered(one) } else { self.under_way.push_back(one) }
        }
    }

    fn open(&mut self, mean: u64, warm: u64, all: u64) {
        let mut due = act::time().0;
        for number in 0..all {
            // The time between two requests is drawn from a quarter of the mean to seven quarters.
            due += mean / 4 + self.next(mean + mean / 2 + 1);
            while act::time().0 < due {
                let left = due - act::time().0;
                Simulated::work(Cycles(if self.under_way.is_empty() { left } else { left.min(LOOK) }));
                self.looks();
            }
            if number == warm {
                self.began();
            }
            self.request(number, due, number >= warm);
        }
        self.ended();
        while !self.under_way.is_empty() {
            Simulated::work(Cycles(LOOK));
            self.looks();
        }
    }

    fn closed(&mut self, most: u64, warm: u64, all: u64) {
        for number in 0..all {
            if number == warm {
                self.began();
            }
            if self.under_way.len() as u64 == most
                && let Some(first) = self.under_way.pop_front()
            {
                self.answered(first);
            }
            self.request(number, act::time().0, number >= warm);
        }
        self.ended();
        while let Some(one) = self.under_way.pop_front() {
            self.answered(one);
        }
    }

    fn began(&self) {
        let mut notes = self.notes.borrow_mut();
        notes.began = notes.began.max(act::time().0);
    }

    fn ended(&self) {
        let mut notes = self.notes.borrow_mut();
        let now = act::time().0;
        notes.ended = if notes.ended == 0 { now } else { notes.ended.min(now) };
    }
}

impl Mesh {
    /// Makes the threads of all cores, which note their requests in `notes`.
    pub(super) fn crew(&self, notes: Rc<RefCell<Notes>>) -> Result<Crew, String> {
        let nearest = nearest(&self.places);
        let queues = nearest.iter().map(|device| InDevice::new(*device as u32, ENTRIES, false));
        let queues = Rc::new(queues.collect::<Result<Vec<_>, _>>()?);
        let (load, requests, seed) = (self.load, self.requests, self.seed);
        let core = |core: u32| {
            let random = (seed << 8 | u64::from(core)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let (queues, notes, own) = (queues.clone(), notes.clone(), core as usize);
            let body: Body = Box::new(move || {
                let filled: Vec<Asked> = (0..ENTRIES as u64 / 2).map(|item| queues[own].enqueue(item)).collect();
                for ticket in filled {
                    word(ticket.wait());
                }
                // All cores begin at cycle 40,000. By then all have put in the items that their
                // queues hold beforehand, even at a single device.
                Simulated::work(Cycles(40_000u64.saturating_sub(act::time().0)));
                let mut core = Core { queues, notes, own, random, under_way: VecDeque::new() };
                let (warm, all) = (requests / 4, requests / 4 + requests);
                match load {
                    Load::Open(mean) => core.open(mean, warm, all),
                    Load::Closed(most) => core.closed(most, warm, all),
                }
            });
            (core, body)
        };
        let bodies = (0..NODES).map(core).collect();
        let count = u64::from(NODES) * requests;
        let check = move || {
            let found = notes.borrow().requests.count;
            if found == count { Ok(()) } else { Err(format!("{found} requests were answered, expected {count}")) }
        };
        Ok(Crew { bodies, check: Box::new(check) })
    }
}
