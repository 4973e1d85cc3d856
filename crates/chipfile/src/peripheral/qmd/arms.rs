//! Threads that leave their CPU while they wait: the device drops their requests where threads wait
//! for a CPU, and interrupts them when their queue has changed.

use super::Qmd;
use super::buffers::Waiting;
use super::rows::Row;
use super::storage::QueueState;
use crate::peripheral::port::{Port, Request};
use baton_machine::queues::{Direction, QueueId, QueueRefusal};

impl Qmd {
    /// Whether a request for a queue in a direction would be served, or answered in another way.
    fn is_ready(&self, Row { thread, queue, direction, .. }: Row) -> bool {
        let Some(slot) = self.storage.find(queue) else { return self.groups.has_room(queue, &self.storage) };
        if let Some(ready) = self.is_flow_ready(slot, direction, thread) {
            return ready;
        }
        let here = self.storage.queue(slot).filter(|_| self.storage.state(slot) == QueueState::Open);
        here.is_none_or(|queue| match direction {
            Direction::Enqueue => queue.free() > 0,
            Direction::Dequeue => queue.items() > 0,
        })
    }

    /// Arms a thread for a queue and direction, in place of what it was armed for before. Returns
    /// 0, or 1 if the queue is ready now, so that the thread is not armed.
    pub(super) fn arm(&mut self, request: &Request, queue: QueueId, direction: Direction) -> Result<u64, QueueRefusal> {
        let row = Row { cpu: request.cpu, thread: request.subject.thread, queue, direction };
        self.arms.forget(row.thread);
        if self.is_ready(row) {
            return Ok(1);
        }
        if self.arms.armed.len() as u64 >= self.settings.armed.0 {
            return Err(QueueRefusal::NoRoom);
        }
        self.arms.armed.push(row);
        Ok(0)
    }

    /// Interrupts the armed threads whose queues are ready, and disarms them. Each of these threads
    /// makes its request again, and may find that another thread was faster.
    pub(super) fn fire(&mut self, port: &mut Port<'_>) {
        if !self.arms.armed.is_empty() {
            let armed = std::mem::take(&mut self.arms.armed);
            let (ready, left) = armed.into_iter().partition(|row| self.is_ready(*row));
            self.arms.armed = left;
            self.interrupt_armed(ready, port);
        }
    }

    /// Interrupts a thread if it is armed for this queue.
    pub(super) fn fire_for(&mut self, thread: u32, queue: QueueId, port: &mut Port<'_>) {
        let is_its = |row: &mut Row| (row.thread, row.queue) == (thread, queue);
        let its = self.arms.armed.extract_if(.., is_its).collect();
        self.interrupt_armed(its, port);
    }

    fn interrupt_armed(&mut self, rows: Vec<Row>, port: &mut Port<'_>) {
        self.counts.fired += rows.len() as u64;
        for Row { cpu, thread, .. } in rows {
            if let Some(cpu) = port.cpu(u64::from(cpu)) {
                port.interrupt_for(cpu, thread);
            }
        }
    }

    /// Notes whether threads wait for a CPU.
    pub(super) fn set_crowded(&mut self, crowded: bool, port: &mut Port<'_>) {
        self.crowded = crowded;
        if let Some(at) = self.patience_ends().min() {
            self.look_by(at);
            self.sleep(port);
        }
    }

    /// Returns the times at which the device's patience with the first timed request of each line
    /// ends; none unless threads wait for a CPU.
    pub(super) fn patience_ends(&self) -> impl Iterator<Item = u64> {
        let patience = self.settings.patience.0;
        let came = self.came.iter().filter(|waiting| Row::of(waiting).is_some());
        let all = self.timed().map(|(waiting, _)| waiting).chain(came);
        all.filter(move |_| self.crowded && patience > 0).map(move |waiting| waiting.since + patience)
    }

    /// Returns the first timed request of each line, and whether its line's head was tried.
    fn timed(&self) -> impl Iterator<Item = (&Waiting, bool)> {
        self.engines.iter().flat_map(|engine| engine.buffers.firsts(|waiting| Row::of(waiting).is_some()))
    }

    /// Drops the rows whose first request has waited for long enough, if threads wait for a CPU. A
    /// request that has not had its turn yet is not dropped: it may find what it asks for.
    pub(super) fn lose_patience(&mut self, port: &mut Port<'_>) {
        let (now, patience) = (port.now(), self.settings.patience.0);
        if !self.crowded || patience == 0 {
            return;
        }
        let is_late = |(waiting, tried): &(&Waiting, bool)| *tried && waiting.since + patience <= now;
        let late: Vec<Row> = self.timed().filter(is_late).filter_map(|(waiting, _)| Row::of(waiting)).collect();
        if !late.is_empty() {
            let in_row = |waiting: &Waiting| Row::of(waiting).is_some_and(|row| late.contains(&row));
            self.counts.dropped += self.drop_requests(port, QueueRefusal::Dropped, in_row);
        }
    }
}
