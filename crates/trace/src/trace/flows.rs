//! Waits at the streams of the kernel ([`Stream::is_kernels`]): pipes, sockets, eventfds.
//!
//! The recorder writes what goes into a stream ([`What::Put`], stamped before the call) and what comes out
//! of it ([`What::Take`], stamped after the call; no items at the stream's end), and the calls themselves
//! ([`What::Blocked`], [`What::Called`]). It does not know who holds the other end. So
//! [`crate::Trace::interpreted_events`] shows the puts and takes only of streams whose two ends are
//! recorded, and adds [`What::TakeWait`], [`What::PutWait`] and their ends where a thread waited there for
//! another recorded thread:
//!
//! - A read waited for the put of its first byte if the put began after the read. At the end of the stream
//!   it waited for the last close.
//! - A wait for readiness (`poll`, `epoll_wait`) waited for the put of the first byte that the thread reads
//!   next, if that put began in the wait.
//! - A write that left its CPU waited for the last take in the call, which made room, if the stream may have
//!   been full. Otherwise the reader that it woke may just have taken its CPU.
//!
//! A stream's ends are recorded if something went in and came out, and no more came out than went in.

use crate::clock::Ticks;
use crate::event::{Address, Event, Outcome, SiteId, SystemCall, ThreadIndex, What};
use crate::stream::Stream;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::iter::Peekable;

/// Most puts of a stream that have not been taken. If there are more, the reader is not recorded.
const MOST_UNREAD: usize = 1 << 16;

/// A stream with less in it, and fewer puts, has room: a pipe holds a page, and a socket more.
const LEAST_FULL: (u64, usize) = (4096, 64);

/// The streams whose two ends are recorded, and the waits there in the order of their beginnings.
#[derive(Default)]
pub(crate) struct Flows {
    known: BTreeSet<Address>,
    waits: Vec<Wait>,
    /// Whether the trace has no streams at all.
    none: bool,
}

impl Flows {
    /// Whether the events are shown as they were recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.none
    }
}

/// What a thread waited for at a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    Item,
    Room,
    End,
}

/// A wait of a thread for another one at a stream.
struct Wait {
    thread: ThreadIndex,
    queue: Address,
    what: For,
    site: SiteId,
    begin: Ticks,
    end: Ticks,
}

impl Wait {
    fn begins(&self) -> Event {
        let (queue, site) = (self.queue, self.site);
        let what = match self.what {
            For::Room => What::PutWait { queue, site },
            For::Item | For::End => What::TakeWait { queue, site },
        };
        Event { time: self.begin, thread: self.thread, what }
    }

    fn ends(&self) -> Event {
        let queue = self.queue;
        let what = match self.what {
            For::Room => What::PutWaited { queue, gave_up: false },
            what => What::TakeWaited { queue, gave_up: what == For::End },
        };
        Event { time: self.end, thread: self.thread, what }
    }
}

/// An act of a thread at a stream.
#[derive(Clone, Copy)]
struct Act {
    thread: ThreadIndex,
    time: Ticks,
}

/// What has gone through a stream so far.
#[derive(Default)]
struct Flow {
    put: u64,
    taken: u64,
    /// The puts whose last item has not been taken yet, each with the number of items up to its end.
    unread: VecDeque<(u64, Act)>,
    last_take: Option<Act>,
    closed: Option<Act>,
    /// Whether a thread put something in, or took it out, that is not recorded.
    has_strangers: bool,
}

impl Flow {
    fn puts(&mut self, items: u32, act: Act) {
        self.put += u64::from(items);
        self.has_strangers |= self.unread.len() == MOST_UNREAD;
        if !self.has_strangers {
            self.unread.push_back((self.put, act));
        }
    }

    /// Records a take. Returns the put of its first item, or the close before the stream's end.
    fn takes(&mut self, items: u32, act: Act) -> Option<Act> {
        if items == 0 {
            return self.closed;
        }
        let first = self.unread.front().map(|(_, put)| *put);
        self.taken += u64::from(items);
        while self.unread.pop_front_if(|(end, _)| *end <= self.taken).is_some() {}
        self.has_strangers |= self.taken > self.put;
        self.last_take = Some(act);
        first
    }

    fn may_be_full(&self) -> bool {
        self.put.saturating_sub(self.taken) >= LEAST_FULL.0 || self.unread.len() >= LEAST_FULL.1
    }

    fn is_known(&self) -> bool {
        self.put > 0 && self.taken > 0 && !self.has_strangers
    }
}

/// What a thread did at a stream in the call whose `Called` follows.
enum Moved {
    Put { queue: Address, time: Ticks, fills: bool },
    Take { queue: Address, time: Ticks, from: Option<Act>, what: For },
}

/// A call that waited until files were ready.
struct Readiness {
    begin: Ticks,
    end: Ticks,
    site: SiteId,
}

#[derive(Default)]
struct Search {
    flows: BTreeMap<Address, Flow>,
    moved: BTreeMap<ThreadIndex, Moved>,
    /// Length and end of the call that the thread's event before was about.
    blocked: BTreeMap<ThreadIndex, (u64, Ticks)>,
    ready: BTreeMap<ThreadIndex, Readiness>,
    waits: Vec<Wait>,
}

/// Finds the streams of a trace whose two ends are recorded, and the waits there. `events` are those of
/// [`Kinds::FLOWS`](crate::Kinds).
pub(crate) fn flows(events: impl Iterator<Item = Event>) -> Flows {
    let mut search = Search::default();
    events.for_each(|event| search.step(&event));
    let known: BTreeSet<Address> =
        search.flows.iter().filter(|(_, flow)| flow.is_known()).map(|(queue, _)| *queue).collect();
    let mut waits = search.waits;
    waits.retain(|wait| known.contains(&wait.queue));
    waits.sort_by_key(|wait| (wait.begin, wait.thread));
    Flows { known, waits, none: search.flows.is_empty() }
}

impl Search {
    fn step(&mut self, event: &Event) {
        let Event { time, thread, what } = *event;
        let act = Act { thread, time };
        match what {
            What::Put { queue, items } if Stream::is_kernels(queue) => {
                let flow = self.flows.entry(queue).or_default();
                flow.puts(items, act);
                self.moved.insert(thread, Moved::Put { queue, time, fills: flow.may_be_full() });
            }
            What::Take { queue, items } if Stream::is_kernels(queue) => self.take(queue, items, act),
            What::QueueClose { queue, .. } if Stream::is_kernels(queue) => {
                self.flows.entry(queue).or_default().closed = Some(act);
            }
            What::Blocked { ticks, .. } => drop(self.blocked.insert(thread, (ticks, time))),
            What::Called { call, site } => self.called(act, call, site),
            _ => {}
        }
    }

    fn take(&mut self, queue: Address, items: u32, act: Act) {
        let from = self.flows.entry(queue).or_default().takes(items, act).filter(|from| from.thread != act.thread);
        let what = if items == 0 { For::End } else { For::Item };
        let in_wait = |ready: &Readiness| from.is_some_and(|from| ready.begin < from.time && from.time <= ready.end);
        if self.ready.get(&act.thread).is_some_and(in_wait)
            && let Some(Readiness { begin, end, site }) = self.ready.remove(&act.thread)
        {
            self.waits.push(Wait { thread: act.thread, queue, what, site, begin, end });
            return;
        }
        self.moved.insert(act.thread, Moved::Take { queue, time: act.time, from, what });
    }

    fn called(&mut self, Act { thread, time }: Act, call: SystemCall, site: SiteId) {
        let blocked = self.blocked.remove(&thread);
        let end = blocked.map_or(time, |(_, end)| end);
        let begin = Ticks(end.0.saturating_sub(call.length(blocked.map(|(ticks, _)| ticks)).0));
        match self.moved.remove(&thread) {
            // Takes of an eventfd have no `Called` if they did not block: this may be a later call.
            Some(Moved::Take { queue, time, from: Some(from), what }) if begin < from.time && from.time <= time => {
                self.waits.push(Wait { thread, queue, what, site, begin, end: time });
            }
            // An eventfd always has room.
            Some(Moved::Put { queue, time, fills: true })
                if blocked.is_some() && Stream::of(queue) != Some(Stream::Eventfd) =>
            {
                let made_room = self.flows.get(&queue).and_then(|flow| flow.last_take);
                if made_room.is_some_and(|take| take.thread != thread && take.time > time) {
                    self.waits.push(Wait { thread, queue, what: For::Room, site, begin: time, end });
                }
            }
            Some(_) => {}
            None if call.is_for_readiness() => {
                self.ready.remove(&thread);
                if call.outcome == Outcome::Done {
                    self.ready.insert(thread, Readiness { begin, end, site });
                }
            }
            None => {}
        }
    }
}

/// Events in the order of time, with the waits at streams.
pub(crate) struct WithWaits<'a, E> {
    events: E,
    known: &'a BTreeSet<Address>,
    coming: Peekable<std::slice::Iter<'a, Wait>>,
    /// The waits that have begun and not ended: at most one of each thread.
    open: Vec<&'a Wait>,
    /// An event before which other ones are shown.
    held: Option<Event>,
}

impl<'a, E> WithWaits<'a, E> {
    pub(crate) fn new(events: E, flows: &'a Flows) -> WithWaits<'a, E> {
        WithWaits { events, known: &flows.known, coming: flows.waits.iter().peekable(), open: Vec::new(), held: None }
    }

    fn shows(&self, what: &What) -> bool {
        match *what {
            What::Put { queue, .. } | What::Take { queue, .. } | What::QueueClose { queue, .. } => {
                !Stream::is_kernels(queue) || self.known.contains(&queue)
            }
            _ => true,
        }
    }
}

impl<E: Iterator<Item = Event>> Iterator for WithWaits<'_, E> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        loop {
            let event = match self.held.take() {
                Some(event) => event,
                None => self.events.next()?,
            };
            if let Some(wait) = self.coming.next_if(|wait| wait.begin < event.time) {
                self.open.push(wait);
                self.held = Some(event);
                return Some(wait.begins());
            }
            let ends = |wait: &&Wait| wait.thread == event.thread && wait.end <= event.time;
            if !self.open.is_empty()
                && let Some(at) = self.open.iter().position(ends)
            {
                self.held = Some(event);
                return Some(self.open.swap_remove(at).ends());
            }
            if self.shows(&event.what) {
                return Some(event);
            }
        }
    }
}
