//! The firewall on queues with flows: a packet's flow is a hash of its addresses, protocol and
//! ports, as a network card computes it.
//!
//! The filters take packets one by one from a queue that is directed, parallel, atomic or ordered,
//! and pass each packet on to the sink or to the analyser. Filters of an atomic queue count each
//! flow's packets in a table without a lock, since no two filters have packets of one flow.
//!
//! The run is checked: as the firewall is on any queue; the packets of a flow come to the sink, and
//! to the analyser, in the order in which they were sent (all packets do, if the queue is ordered or
//! directed); and the atomic queue's table has each flow's packets. A parallel queue promises no
//! order, and the run counts packets that come late.

use super::buffers::View;
use super::firewall::{FirewallSettings, HEADER, Input, Outcome, decide};
use super::pool::{INSPECT, LAST, MARKS, Pool};
use super::rules::Action;
use super::traffic::FLOWS;
use crate::places::Places;
use baton_machine::{Machine, Wait};
use baton_sync::flow::{FlowOrder, FlowQueue, Shape};
use baton_sync::queue::RawQueue;
use baton_workloads::work::Work;
use baton_workloads::{Body, Refused, Shared, expect, share};
use std::sync::{Arc, Mutex, PoisonError};

/// Packets of a flow: their count, and the number of the last one, plus one.
type Known = [u64; 2];

/// Bytes of guest memory of the table that filters of an atomic queue have.
pub(super) const TABLE_BYTES: usize = FLOWS * size_of::<Known>();

/// What the threads share.
struct Guarded<M: Machine, Q: RawQueue<M, Item = u64>, F: FlowQueue<M>> {
    input: Input,
    filters: u32,
    order: FlowOrder,
    pool: Arc<Pool<M, Q>>,
    incoming: Shared<M, F>,
    /// The ways out of a filter: to the analyser, and to the sink.
    ways: [Shared<M, F>; 2],
    /// By flow, if the queue is atomic.
    table: Option<Places<M, Known>>,
    total: Mutex<Outcome>,
    wait: Wait,
}

const ANALYSER: usize = 0;
const SINK: usize = 1;

impl FirewallSettings {
    /// The threads, as those of [`FirewallSettings::work`], at queues with flows of the type `F` of
    /// this shape, and a pool of buffers that is a queue of the type `Q`.
    ///
    /// # Errors
    /// Fails if a setting has a value that the firewall cannot have.
    pub fn on_flows<M: Machine, Q: RawQueue<M, Item = u64>, F: FlowQueue<M>>(
        &self,
        input: &Input,
        shape: Shape,
        wait: Wait,
    ) -> Result<Work<Outcome>, Refused> {
        let (flow, filters) = (self.flow, self.filters);
        if flow.bulk != 1 {
            return Err(Refused::because(format!("a bulk of {} packets; a queue with flows gives one", flow.bulk)));
        }
        if shape.order == FlowOrder::Directed && filters != 1 {
            return Err(Refused::because(format!("{filters} filters; a directed queue has one consumer")));
        }
        let pool = Pool::<M, Q>::new(flow, self.threads(), (2, 1), wait)?;
        let new = |shape, to: &[_]| F::new(shape, to).map(share::<M, F>).map_err(Refused::because);
        let out = Shape { order: FlowOrder::Directed, ..shape };
        let ways = [new(out, &[])?, new(out, &[])?];
        let guarded = Arc::new(Guarded {
            input: input.clone(),
            filters,
            order: shape.order,
            incoming: new(shape, &ways)?,
            ways,
            table: (shape.order == FlowOrder::Atomic).then(|| Places::new(FLOWS, |_| [0; 2])),
            total: Mutex::new(Outcome { late: Some(0), ..Outcome::new(&input.rules) }),
            pool,
            wait,
        });
        let mut bodies: Vec<Body> = Vec::new();
        let mut add = |part: fn(&Guarded<M, Q, F>, u32)| {
            let (me, guarded) = (bodies.len() as u32, guarded.clone());
            bodies.push(Box::new(move || guarded.pool.run(me, || part(&guarded, me))));
        };
        add(|guarded, _| guarded.source());
        (0..filters).for_each(|_| add(|guarded, me| guarded.filter(me - 1)));
        add(|guarded, _| guarded.drain(ANALYSER));
        add(|guarded, _| guarded.drain(SINK));
        Ok(Work { bodies, result: Box::new(move || guarded.judge()) })
    }
}

impl<M: Machine, Q: RawQueue<M, Item = u64>, F: FlowQueue<M>> Guarded<M, Q, F> {
    /// The calling thread receives from a queue.
    fn bind(queue: &F) {
        if let Err(why) = queue.bind() {
            panic!("{why}");
        }
    }

    /// Sends the packets. When all buffers are home, no packet is on its way: the other threads are
    /// told to leave.
    fn source(&self) {
        let (pool, flow) = (&self.pool, self.pool.flow);
        let (mut free, push) = (pool.link.receiver(0), flow.push_to(self.filters, 1));
        for number in 0..flow.packets {
            let mut buffer = [0];
            free.receive(&mut buffer);
            self.input.traffic.with(number, |bytes, length| {
                // SAFETY: the pool has given the buffer to this thread.
                unsafe { pool.buffers.fill(buffer[0], (number, length), bytes, flow.blocks) };
            });
            self.incoming.send(buffer[0], self.input.traffic.flow(number), self.wait);
            if let Some(level) = push {
                pool.buffers.push(buffer[0], flow.blocks, level);
            }
        }
        pool.all_home(&mut free);
        (0..self.filters).for_each(|filter| self.incoming.send(LAST, filter as u16, self.wait));
        self.ways.iter().for_each(|way| way.send(LAST, 0, self.wait));
    }

    fn filter(&self, filter: u32) {
        Self::bind(&self.incoming);
        let (pool, blocks) = (&self.pool, self.pool.flow.blocks.min(HEADER));
        let pushes = [1 + self.filters, 2 + self.filters].map(|to| pool.flow.push_to(1, to));
        let (mut view, mut outcome) = (View::new(), Outcome::new(&self.input.rules));
        loop {
            let item = self.incoming.receive(filter, self.wait);
            if item.word == LAST {
                // SAFETY: (here and below) the item came from this queue.
                unsafe { self.incoming.complete(item, self.wait) };
                break;
            }
            let buffer = item.word;
            // SAFETY: the queue has given the buffer to this thread.
            unsafe { pool.buffers.read(buffer, blocks, &mut view) };
            self.know(item.flow, view.number);
            let (way, word) = match decide::<M>(&self.input, &view, &mut outcome) {
                Action::Allow => (SINK, buffer),
                Action::Deny => (ANALYSER, buffer),
                Action::Inspect => (ANALYSER, buffer | INSPECT),
            };
            // SAFETY: as above.
            unsafe { self.incoming.pass_on(item, way, word, self.wait) };
            if let Some(level) = pushes[way] {
                pool.buffers.push(buffer, pool.flow.blocks, level);
            }
        }
        outcome.put(&self.total);
    }

    /// Counts a packet of a flow in the atomic queue's table. A packet that comes behind a later
    /// one of its flow is not counted, so that the run fails.
    fn know(&self, flow: u16, number: u64) {
        let Some(table) = &self.table else { return };
        let flow = usize::from(flow);
        // SAFETY: an atomic queue gives a flow to one thread at a time.
        unsafe {
            let [count, last] = table.get(flow);
            if last <= number {
                table.set(flow, [count + 1, number + 1]);
            }
        }
    }

    /// Takes packets of a way, works on them and gives their buffers back.
    fn drain(&self, way: usize) {
        let (queue, mut back) = (&self.ways[way], self.pool.link.sender(way as u32));
        Self::bind(queue);
        let (mut view, mut outcome) = (View::new(), Outcome::new(&self.input.rules));
        let whole = matches!(self.order, FlowOrder::Ordered | FlowOrder::Directed);
        let (mut last, mut late) = (vec![0; FLOWS], 0);
        loop {
            let item = queue.receive(0, self.wait);
            let (word, flow) = (item.word, item.flow);
            // SAFETY: the item came from this queue.
            unsafe { queue.complete(item, self.wait) };
            if word == LAST {
                break;
            }
            match way {
                ANALYSER => FirewallSettings::analyse(&self.pool, word, &mut view, &mut outcome),
                _ => FirewallSettings::consume(&self.pool, word, &mut view, &mut outcome),
            }
            let before = &mut last[if whole { 0 } else { usize::from(flow) }];
            late += u64::from(*before > view.number);
            *before = view.number + 1;
            back.send(&[word & !MARKS]);
        }
        outcome.late = Some(late);
        outcome.put(&self.total);
    }

    fn judge(&self) -> Result<Outcome, String> {
        let found = self.total.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (flow, traffic) = (self.pool.flow, &self.input.traffic);
        FirewallSettings::compare(flow, &self.input, &found)?;
        if self.order != FlowOrder::Parallel {
            expect("packets out of their flow's order", found.late.unwrap_or(0), 0)?;
        }
        if let Some(table) = &self.table {
            let mut counts = vec![0; FLOWS];
            (0..flow.packets).for_each(|number| counts[usize::from(traffic.flow(number))] += 1);
            for (flow, count) in counts.into_iter().enumerate() {
                // SAFETY: the threads have ended.
                let [known, _] = unsafe { table.get(flow) };
                expect("packets of a flow in the filters' table", known, count)?;
            }
        }
        Ok(Outcome { nanoseconds: self.pool.nanoseconds(), ..found })
    }
}
