//! Threads that each run one point at a time. The pool gives up a point that runs too long: its
//! thread runs it to its end in the background, and a new thread takes the thread's place.

use super::plan::Plan;
use crate::hash::Key;
use crate::subject::{Failure, Why};
use crate::value::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of a thread's stack: as many as a main thread usually has.
const STACK: usize = 8 << 20;

/// What a point gave: the values of the metrics.
pub(super) type Outcome = Result<Vec<Option<Value>>, Failure>;

/// What a thread has come to the end of.
pub(super) enum Ended {
    /// The point with this ticket, and what it gave.
    Point(u64, Outcome),
    /// The point with this ticket, which had been given up.
    GivenUp(u64),
}

/// A point for a thread.
struct Order {
    ticket: u64,
    number: u64,
    seed: u64,
    /// The key that the point had when it began to wait.
    key: Key,
}

struct Worker {
    orders: Sender<Order>,
    /// The ticket of the point that runs, and when it began.
    runs: Option<(u64, Instant)>,
}

/// The threads.
pub(super) struct Pool {
    plan: Arc<Plan>,
    workers: Vec<Worker>,
    results: Receiver<(u64, Outcome)>,
    sender: Sender<(u64, Outcome)>,
    tickets: u64,
}

impl Pool {
    pub(super) fn new(plan: &Arc<Plan>, workers: usize) -> Pool {
        let (sender, results) = channel();
        let mut pool = Pool { plan: plan.clone(), workers: Vec::new(), results, sender, tickets: 0 };
        pool.workers = (0..workers).map(|_| pool.worker()).collect();
        pool
    }

    fn worker(&self) -> Worker {
        let (orders, next) = channel::<Order>();
        let (plan, results) = (self.plan.clone(), self.sender.clone());
        let work = move || {
            while let Ok(Order { ticket, number, seed, key }) = next.recv() {
                if results.send((ticket, run(&plan, number, seed, key))).is_err() {
                    break;
                }
            }
        };
        // If no thread can be made, `orders` is closed, and `start` answers each order with a
        // failure.
        let _ = thread::Builder::new().name("point".to_owned()).stack_size(STACK).spawn(work);
        Worker { orders, runs: None }
    }

    /// The number of points that run.
    pub(super) fn running(&self) -> usize {
        self.workers.iter().filter(|worker| worker.runs.is_some()).count()
    }

    /// Whether a thread has nothing to do.
    pub(super) fn is_free(&self) -> bool {
        self.running() < self.workers.len()
    }

    /// Runs a point on a thread that has nothing to do. Returns the ticket of its result.
    pub(super) fn start(&mut self, number: u64, seed: u64, key: Key) -> u64 {
        self.tickets += 1;
        let ticket = self.tickets;
        if let Some(worker) = self.workers.iter_mut().find(|worker| worker.runs.is_none()) {
            worker.runs = Some((ticket, Instant::now()));
            if worker.orders.send(Order { ticket, number, seed, key }).is_err() {
                let failure = Failure::new(Why::Failed, "no thread could be made for it");
                // This cannot fail: the pool owns the receiver.
                let _ = self.sender.send((ticket, Err(failure)));
            }
        }
        ticket
    }

    /// The next point that ends; `None` if none does within `longest`.
    pub(super) fn wait(&mut self, longest: Duration) -> Option<Ended> {
        let (ticket, outcome) = self.results.recv_timeout(longest).ok()?;
        // A point that was given up has no worker.
        let worker = self.workers.iter_mut().find(|worker| worker.runs.is_some_and(|(of, _)| of == ticket));
        Some(match worker {
            Some(worker) => {
                worker.runs = None;
                Ended::Point(ticket, outcome)
            }
            None => Ended::GivenUp(ticket),
        })
    }

    /// Gives up the points that have run for longer than `limit`. Returns their tickets.
    pub(super) fn give_up(&mut self, limit: Duration) -> Vec<u64> {
        let mut given_up = Vec::new();
        for at in 0..self.workers.len() {
            if let Some((ticket, _)) = self.workers[at].runs.filter(|(_, began)| began.elapsed() > limit) {
                given_up.push(ticket);
                self.workers[at] = self.worker();
            }
        }
        given_up
    }
}

/// Runs a point. A panic is a failure of the point.
fn run(plan: &Plan, number: u64, seed: u64, key: Key) -> Outcome {
    caught(|| plan.run(number, seed, key)).unwrap_or_else(|text| Err(Failure::new(Why::Panic, text)))
}

/// Calls `run`. Returns what it returns, or the text of its panic.
pub(super) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panicked".to_owned())
    })
}
