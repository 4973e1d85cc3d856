//! When processes ended. A process that ends in order records its end in its file. The end of a
//! killed process is known from the launcher, or from the program that replaced the process's
//! program.

use crate::clock::{self, Ticks};
use crate::process::{Process, ProcessIndex};
use crate::trace::Trace;
use baton_units::Nanos;

impl Trace {
    /// Fills in the ends of processes that did not record their own end.
    pub(crate) fn find_ends(&mut self) {
        for index in 0..self.processes.len() {
            if self.processes[index].end.is_none() {
                let end = self.replaced_at(index).or_else(|| self.seen_to_end(index));
                self.processes[index].end = end.map(|end| end.max(self.last_event(index)));
            }
        }
    }

    /// For a program that still runs: sets the end of the started process to the present time, if
    /// the process has not recorded its end.
    pub fn ends_now(&mut self) {
        let now = Ticks(clock::now(self.clock.source).saturating_sub(self.clock.origin));
        let root = self.processes.first().map(|root| root.pid);
        for process in self.processes.iter_mut().filter(|process| Some(process.pid) == root) {
            process.end.get_or_insert(now);
        }
    }

    /// Returns when another program replaced the program of a process (`exec`): the first later
    /// entry with the same process number began then.
    fn replaced_at(&self, index: usize) -> Option<Ticks> {
        let pid = self.processes[index].pid;
        self.processes[index + 1..].iter().find(|later| later.pid == pid).map(|later| later.started)
    }

    /// Returns when the launcher saw the process end. The launcher only sees the process that it
    /// started, which is the first one in the trace.
    fn seen_to_end(&self, index: usize) -> Option<Ticks> {
        let process = self.processes.get(index).filter(|process| process.pid == self.processes[0].pid)?;
        let meta = self.meta.as_ref().filter(|meta| meta.elapsed_ns > 0 && meta.started_realtime_ns > 0)?;
        let end = meta.started_realtime_ns.checked_add(meta.elapsed_ns)?;
        let lived = end.checked_sub(Some(process.realtime_ns).filter(|&ns| ns > 0)?)?;
        Some(process.started + Ticks(self.clock.ticks(Nanos(lived))))
    }

    /// Returns the latest time at which a process is known to have lived.
    pub(crate) fn lived_until(&self, process: ProcessIndex) -> Ticks {
        match self.process(process) {
            Some(Process { end: Some(end), .. }) => *end,
            // A trace built in memory gives no end: its process counts as living for ever.
            Some(Process { finished: true, .. }) => Ticks(u64::MAX),
            _ => self.last_event(process.0 as usize),
        }
    }

    fn last_event(&self, index: usize) -> Ticks {
        let process = ProcessIndex(index as u32);
        self.threads
            .iter()
            .filter(|thread| thread.process == process)
            .map(|thread| thread.last)
            .max()
            .unwrap_or_default()
    }

    /// Returns the process with this index.
    pub(crate) fn process(&self, index: ProcessIndex) -> Option<&Process> {
        self.processes.get(index.0 as usize)
    }
}
