//! The part of a run that is analysed: the whole, or the regions of interest that the program
//! marked.

use crate::clock::Ticks;
use crate::event::What;
use crate::process::ProcessIndex;
use crate::trace::Trace;

/// The part of a run that is analysed, as intervals of time, in order and without overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window(Vec<(Ticks, Ticks)>);

/// Why there is nothing to analyse: the window cannot be found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    /// No region of interest of the process has this name.
    #[error("no region of interest named {name:?} in this process; {}", list(.known))]
    UnknownRegion {
        /// The requested name.
        name: String,
        /// The names of the process's regions that exist.
        known: Vec<String>,
    },
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) }
}

impl Window {
    /// The complete part of the trace: from the first event to the last, or to the time from which
    /// on events were dropped.
    pub fn whole(trace: &Trace) -> Window {
        let (first, last) = trace.span();
        Window::between(trace, &[(first, last)])
    }

    /// The whole trace, and the time after its last event up to `end`, in which threads still wait.
    /// Like [`Window::whole`] if `end` does not lie after the last event, or if events were
    /// dropped.
    pub fn until(trace: &Trace, end: Option<Ticks>) -> Window {
        let (first, last) = trace.span();
        match end.filter(|end| *end > last && trace.complete_until().is_none()) {
            Some(end) => Window(vec![(first, end)]),
            None => Window::whole(trace),
        }
    }

    /// Returns where the last interval ends.
    pub fn end(&self) -> Ticks {
        self.0.last().map_or(Ticks(0), |(_, end)| *end)
    }

    /// The intervals `stretches`, merged where they overlap, and clipped to the complete part of
    /// the trace.
    pub fn between(trace: &Trace, stretches: &[(Ticks, Ticks)]) -> Window {
        let last = trace.span().1;
        let end = trace.complete_until().map_or(last, |complete| complete.min(last));
        let mut sorted: Vec<_> = stretches.iter().map(|(a, b)| (*a, (*b).min(end))).filter(|(a, b)| a <= b).collect();
        sorted.sort_unstable();
        let mut joined: Vec<(Ticks, Ticks)> = Vec::new();
        for (begin, end) in sorted {
            match joined.last_mut() {
                Some(last) if begin <= last.1 => last.1 = last.1.max(end),
                _ => joined.push((begin, end)),
            }
        }
        Window(joined)
    }

    /// The regions of interest called `name` of a process: each `RoiBegin` of that name up to the
    /// next `RoiEnd`, whichever of the process's threads recorded them. A region that never ends
    /// lasts to the end of the trace. Regions of this name in other processes are left out.
    ///
    /// # Errors
    /// Fails if no region of the process has that name; the error lists the names of its regions.
    pub fn region(trace: &Trace, process: ProcessIndex, name: &str) -> Result<Window, WindowError> {
        let mut stretches = Vec::new();
        let mut open = None;
        let mut seen = std::collections::BTreeSet::new();
        for event in trace.events().filter(|event| trace.process_of(event.thread) == process) {
            let (What::RoiBegin { name: number } | What::RoiEnd { name: number }) = event.what else { continue };
            let found = trace.marker_name(process, number).map_or_else(|| number.to_string(), str::to_owned);
            if found == name {
                match event.what {
                    What::RoiBegin { .. } => open = open.or(Some(event.time)),
                    _ => stretches.extend(open.take().map(|begin| (begin, event.time))),
                }
            }
            seen.insert(found);
        }
        stretches.extend(open.map(|begin| (begin, trace.span().1)));
        if stretches.is_empty() {
            return Err(WindowError::UnknownRegion { name: name.to_owned(), known: seen.into_iter().collect() });
        }
        Ok(Window::between(trace, &stretches))
    }

    /// Returns the intervals.
    pub fn stretches(&self) -> &[(Ticks, Ticks)] {
        &self.0
    }

    /// Returns the total length of the intervals.
    pub fn length(&self) -> Ticks {
        self.0.iter().map(|(begin, end)| end.since(*begin)).sum()
    }

    /// Returns how much of `begin..end` lies inside the window.
    pub fn overlap(&self, begin: Ticks, end: Ticks) -> Ticks {
        overlap(&self.0, begin, end)
    }

    /// Whether `time` lies inside the window, borders included.
    pub fn contains(&self, time: Ticks) -> bool {
        let from = self.0.partition_point(|(_, e)| *e < time);
        self.0.get(from).is_some_and(|(begin, _)| *begin <= time)
    }
}

/// How much of `begin..end` lies in the intervals, which are in order and do not overlap.
pub(super) fn overlap(intervals: &[(Ticks, Ticks)], begin: Ticks, end: Ticks) -> Ticks {
    let from = intervals.partition_point(|(_, last)| *last <= begin);
    let within = intervals[from..].iter().take_while(|(first, _)| *first < end);
    within.map(|(first, last)| end.min(*last).since(begin.max(*first))).sum()
}
