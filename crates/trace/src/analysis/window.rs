//! Which part of a run is looked at: the whole, or the regions that the program marked as of interest.

use crate::clock::Ticks;
use crate::event::What;
use crate::trace::Trace;

/// Stretches of time, in order and apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window(Vec<(Ticks, Ticks)>);

/// Why there is nothing to look at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    /// No region of that name.
    #[error("no region of interest named {name:?} in this trace; {}", list(.known))]
    UnknownRegion {
        /// The name asked for.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) }
}

impl Window {
    /// All that is complete: from the first event to the last, or to the time from which on events were dropped.
    pub fn whole(trace: &Trace) -> Window {
        let (first, last) = trace.span();
        Window::between(trace, &[(first, last)])
    }

    /// The given stretches, joined where they overlap, cut to what is complete.
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

    /// All stretches in which a region of that name was open, in any thread: each `RoiBegin` up to the next `RoiEnd` of the
    /// same name in the same process. One that never ends lasts to the trace's end.
    ///
    /// # Errors
    /// If no region has that name; the error lists those that there are.
    pub fn region(trace: &Trace, name: &str) -> Result<Window, WindowError> {
        let mut stretches = Vec::new();
        let mut open = None;
        let mut seen = std::collections::BTreeSet::new();
        for event in trace.events() {
            let (What::RoiBegin { name: number } | What::RoiEnd { name: number }) = event.what else { continue };
            let process = trace.process_of(event.thread);
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

    /// The stretches.
    pub fn stretches(&self) -> &[(Ticks, Ticks)] {
        &self.0
    }

    /// Their length together.
    pub fn length(&self) -> Ticks {
        self.0.iter().map(|(begin, end)| end.since(*begin)).sum()
    }

    /// How much of `begin..end` lies inside.
    pub fn overlap(&self, begin: Ticks, end: Ticks) -> Ticks {
        let from = self.0.partition_point(|(_, e)| *e <= begin);
        self.0[from..].iter().take_while(|(b, _)| *b < end).map(|(b, e)| end.min(*e).since(begin.max(*b))).sum()
    }

    /// Whether a moment lies inside.
    pub fn contains(&self, time: Ticks) -> bool {
        let from = self.0.partition_point(|(_, e)| *e < time);
        self.0.get(from).is_some_and(|(begin, _)| *begin <= time)
    }
}
