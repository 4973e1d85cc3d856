//! Threads that end because another thread tells them to: a monitor, a flusher, a logger.
//!
//! Such a thread goes round in a loop until another thread sets a flag, and a thread then joins it.
//! The thread lives as long as the program, whatever its own work is. So the joiner does not wait
//! for the thread's work: it waits for the rest of one turn (one pass) of the loop. The critical
//! path therefore stays with the joiner, and a replay lets the thread's loop go round until the
//! joiner has come.
//!
//! The trace shows no flag. A joined thread counts as such a **background thread** if
//!
//! - it ended within one turn of its own loop after the joiner had come, and made at least
//!   [`TURNS`] turns before. The turn in which the joiner came is the last one that counts. A turn
//!   lies between two releases at one place in the code with no lock held after them, or between two
//!   sleeps, calls for input and output, or waits ended by a deadline, at one place; the place that
//!   the thread came to most often counts, and the longest turn there. A thread that came to no place
//!   at all has to be off the CPU for nearly all of its life, and to end soon after the joiner came;
//! - it is no **peer** of the joiner: peers come to the same places in the code. If the joiner
//!   joins several peers of each other in a row, it came at the first of these joins: workers with
//!   equal shares of the work end at about the same time, so that the last of them seem to end when
//!   they are joined.
//!
//! Threads of such a row that the same call created are told to end together. None of them is a
//! background thread if one was at work: it went on for more than a turn, or it ended before the
//! joiner came and more than [`APART`] usual turns before another one of them.
//!
//! A thread that no thread joins may live on until another one ends the process ([`What::Exit`]). It
//! is a background thread if it was still going round in its loop then, by the rules above, and acts
//! on other threads through locks alone: the end of the process takes the place of the join. If the
//! thread that ended the process only slept while others worked, those others are the program's workers,
//! and none of them is a background thread ([`exits()`]).
//!
//! Threads that take their locks through one function of the program (a wrapper) come to the same
//! place there, though they do different things. Such threads are no peers if different calls
//! created them, and either their locks begin at different places ([`Lives`]), or they waited with
//! different callers of that function. Where neither is known, the threads count as peers.

use super::exits::{ProcessExit, exits};
use super::lock_lives::Lives;
use super::serves::{is_told, moves_items, serves, tells};
use crate::clock::Ticks;
use crate::event::{Event, FutexEnd, SiteId, ThreadIndex, WakeReason, What};
use crate::process::ProcessIndex;
use crate::trace::Trace;
use std::collections::{BTreeMap, BTreeSet};

/// A loop counts as seen once a thread has gone round in it this often, so that the thread came to
/// the loop's place once more than this.
const TURNS: u64 = 3;
/// Threads that end this many usual turns apart were not told to end together.
const APART: u64 = 8;
/// A thread that came to no place in the code counts as a background thread if it was on a CPU for
/// less than 1/`ASLEEP` of its life, and ended less than 1/`ASLEEP` of its life after the joiner
/// came.
const ASLEEP: u64 = 10;

/// A background thread, and the join or the end of the process that it ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Background {
    /// The background thread.
    pub thread: ThreadIndex,
    /// The thread that waited for its end, or that ended the process.
    pub joiner: ThreadIndex,
    /// When the joiner began to wait, or told the thread to end, by a signal, a wake or a post that ended
    /// the thread's last wait; if it joined several peers one after the other, when it began to wait for
    /// the first of them. If the thread lived until the process ended, the time of that.
    pub came: Ticks,
    /// When the background thread ended.
    pub ended: Ticks,
    /// Whether a thread waited for its end.
    pub joined: bool,
    /// The place to which the background thread comes once in each turn of its loop; `None` if no
    /// place is known.
    pub turns_at: Option<LoopPoint>,
}

/// A place in the code to which a thread's loop comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoopPoint {
    /// A release of the only lock that the thread held.
    Release(SiteId),
    /// A call for input, output or sleep, with no lock held.
    Blocked(SiteId),
    /// A wait at a condition variable, a futex or a semaphore that its deadline ended, with no other lock
    /// held. The place is that of the wait.
    TimedOut(SiteId),
}

/// The names in `meta.json`'s `ends` that no thread of the trace has.
pub fn unknown_names(trace: &Trace) -> Vec<String> {
    let Some(ends) = trace.meta.as_ref().map(|meta| &meta.ends) else { return Vec::new() };
    let threads = || (0..trace.threads.len() as u32).map(ThreadIndex);
    let known = |said: &&String| threads().any(|thread| is_named(std::slice::from_ref(*said), trace, thread));
    ends.background.iter().chain(&ends.until).filter(|said| !known(said)).cloned().collect()
}

/// Whether a list has the thread's name or number.
fn is_named(list: &[String], trace: &Trace, thread: ThreadIndex) -> bool {
    let name = trace.thread(thread).and_then(|thread| thread.name.as_deref());
    list.iter().any(|said| Some(said.as_str()) == name || said.parse() == Ok(thread.0))
}

/// Whether a thread is among the background threads, which are in the order of their numbers.
pub fn is_background(background: &[Background], thread: ThreadIndex) -> bool {
    background.binary_search_by_key(&thread, |one| one.thread).is_ok()
}

/// Finds the background threads of a trace, in the order of their numbers. If the user has named a
/// thread in `meta.json`'s `ends`, that decides.
pub fn background(trace: &Trace) -> Vec<Background> {
    let mut walk = Walk::of(trace);
    for event in trace.complete_events() {
        walk.step(&event, trace.process_of(event.thread));
    }
    let mut found: BTreeMap<ThreadIndex, Background> = BTreeMap::new();
    for joiner in (0..walk.threads.len() as u32).map(ThreadIndex) {
        for number in 0..walk.life(joiner).joins.len() {
            if let Some(one) = walk.judge(trace, joiner, number) {
                found.insert(one.thread, one);
            }
        }
    }
    for thread in (0..walk.threads.len() as u32).map(ThreadIndex) {
        if let Some(one) = walk.judge_at_exit(trace, thread) {
            found.entry(thread).or_insert(one);
        }
    }
    keep_those_that_went_round(trace, &mut found);
    found.into_values().collect()
}

/// Removes the threads that have not made their turns before the joiner came: [`Walk::judge`] has
/// counted those of the whole life. Threads that the user named, and those that came to no place,
/// stay.
fn keep_those_that_went_round(trace: &Trace, found: &mut BTreeMap<ThreadIndex, Background>) {
    let named = |thread| trace.meta.as_ref().is_some_and(|meta| is_named(&meta.ends.background, trace, thread));
    let judged = |one: &&Background| one.turns_at.is_some() && !named(one.thread);
    let mut lives: BTreeMap<ThreadIndex, Life> = found
        .values()
        .filter(judged)
        .map(|one| (one.thread, Life { until: Some(one.came), ..Life::default() }))
        .collect();
    if lives.is_empty() {
        return;
    }
    for event in trace.complete_events() {
        let Some(life) = lives.get_mut(&event.thread) else { continue };
        if let Some(place) = life.goes_to(&event.what) {
            life.came_to(place, event.time, None);
        }
    }
    found.retain(|thread, one| match lives.get(thread).map(Life::turns) {
        Some(Some((place, longest))) => {
            one.turns_at = Some(place);
            one.ended.since(one.came) <= longest
        }
        Some(None) => false,
        None => true,
    });
}

/// Returns for each background thread whose place ([`Background::turns_at`]) is known the moments
/// at which the thread came to that place, in order.
pub fn turns(trace: &Trace, background: &[Background]) -> BTreeMap<ThreadIndex, Vec<Ticks>> {
    let mut turns: BTreeMap<ThreadIndex, (LoopPoint, Vec<Ticks>)> =
        background.iter().filter_map(|one| Some((one.thread, (one.turns_at?, Vec::new())))).collect();
    if turns.is_empty() {
        return BTreeMap::new();
    }
    let mut lives: Vec<Life> = trace.threads.iter().map(|_| Life::default()).collect();
    for event in trace.complete_events() {
        let (Some((of, times)), Some(life)) = (turns.get_mut(&event.thread), lives.get_mut(event.thread.index()))
        else {
            continue;
        };
        if life.goes_to(&event.what) == Some(*of) {
            times.push(event.time);
        }
    }
    turns.into_iter().map(|(thread, (_, times))| (thread, times)).collect()
}

/// How often a thread came to a place, and the longest time between two visits there.
struct Visits {
    count: u64,
    first: Ticks,
    last: Ticks,
    longest: Ticks,
    /// The call sites at which the locks that the thread released there began to live ([`Lives`]).
    locks: BTreeSet<SiteId>,
}

struct Join {
    child: ThreadIndex,
    begin: Ticks,
    /// Whether the joiner did nothing between the join before and this one.
    follows: bool,
}

#[derive(Default)]
struct Life {
    /// Visits after this moment do not count, and the turn in which it lies is the last one.
    until: Option<Ticks>,
    began: Option<Ticks>,
    ended: Option<Ticks>,
    /// The locks held, counted with each repeated acquisition.
    held: u32,
    places: BTreeMap<LoopPoint, Visits>,
    /// Whether the thread did something for other threads, or got something from them, other than by
    /// locks.
    serves: bool,
    /// Whether the thread moved items of a queue of the library: it ends when its items do, and not by a word.
    moves_items: bool,
    /// The call that created the thread, with its callers.
    created_at: Option<SiteId>,
    creating: Option<SiteId>,
    /// Where the thread waited for locks, with the callers.
    waited_at: BTreeSet<SiteId>,
    cpu_ns: Option<u64>,
    joins: Vec<Join>,
    joining: Option<(Ticks, bool)>,
    /// Whether the thread's last act was the end of a join.
    joined: bool,
    /// The place of the wait that the thread is in, or was in last.
    waits_at: SiteId,
    /// The thread that ended this thread's last wait by a signal, a wake or a post, and when it did.
    told: Option<(ThreadIndex, Ticks)>,
}

impl Life {
    /// Follows the locks that the thread holds. Returns the place to which an event of the thread
    /// comes, if that may be where a loop goes round.
    fn goes_to(&mut self, what: &What) -> Option<LoopPoint> {
        match *what {
            What::Acquire { .. } | What::Acquired { .. } => self.held += 1,
            What::Release { site, .. } => {
                self.held = self.held.saturating_sub(1);
                return (self.held == 0).then_some(LoopPoint::Release(site));
            }
            What::Blocked { site, .. } if self.held == 0 => return Some(LoopPoint::Blocked(site)),
            What::CondWait { site, .. } | What::FutexWait { site, .. } | What::SemWait { site, .. } => {
                self.waits_at = site;
            }
            What::CondWake { reason: WakeReason::TimedOut, .. }
            | What::FutexWaitEnd { end: FutexEnd::TimedOut, .. }
            | What::SemTimeout { .. }
                if self.held == 0 =>
            {
                return Some(LoopPoint::TimedOut(self.waits_at));
            }
            _ => {}
        }
        None
    }

    fn came_to(&mut self, place: LoopPoint, now: Ticks, lock: Option<SiteId>) {
        let new = || Visits { count: 0, first: now, last: now, longest: Ticks(0), locks: BTreeSet::new() };
        let visits = self.places.entry(place).or_insert_with(new);
        let until = self.until.unwrap_or(now);
        if visits.last > until {
            return;
        }
        visits.locks.extend(lock);
        visits.count += u64::from(now <= until);
        visits.longest = visits.longest.max(now.since(visits.last));
        visits.last = now;
    }

    /// The place that the thread came to most often, with the longest turn there; `None` if the
    /// thread made fewer than [`TURNS`] turns. A loop that waits with a deadline comes to the place of
    /// that wait, though a signal ends the last wait.
    fn turns(&self) -> Option<(LoopPoint, Ticks)> {
        let waits = |place: &LoopPoint| u64::from(matches!(place, LoopPoint::TimedOut(_)));
        let most = self.places.iter().max_by_key(|(place, visits)| visits.count + waits(place))?;
        (most.1.count > TURNS).then_some((*most.0, most.1.longest))
    }

    /// The mean time between two visits to the place that the thread came to most often, if it made
    /// [`TURNS`] turns.
    fn usual_turn(&self) -> Option<Ticks> {
        let visits = &self.places[&self.turns()?.0];
        Some(Ticks(visits.last.since(visits.first).0 / (visits.count - 1)))
    }

    /// Whether both threads come to one place in the code and, as far as is known, do the same
    /// thing there. Only places count to which this thread came at least `least` times.
    fn shares_a_place_with(&self, other: &Life, least: u64) -> bool {
        let created_alike = match (self.created_at, other.created_at) {
            (Some(mine), Some(theirs)) => mine == theirs,
            _ => true,
        };
        let callers_differ = are_apart(&self.waited_at, &other.waited_at);
        let shares = |(place, visits): (&LoopPoint, &Visits)| match other.places.get(place) {
            _ if visits.count < least => false,
            Some(theirs) => created_alike || !(callers_differ || are_apart(&visits.locks, &theirs.locks)),
            None => false,
        };
        self.places.iter().any(shares)
    }

    /// Whether the threads are peers. Threads that came to no place at all cannot be told apart, so
    /// they count as peers.
    fn is_peer_of(&self, other: &Life) -> bool {
        (self.places.is_empty() && other.places.is_empty()) || self.shares_a_place_with(other, 0)
    }

    /// Whether the thread's loop comes to a place to which the thread that ends it comes as well. What
    /// the thread does once, behind its loop, does not count.
    fn goes_round_with(&self, joiner: &Life) -> bool {
        self.shares_a_place_with(joiner, if self.turns().is_some() { TURNS + 1 } else { 0 })
    }
}

/// Whether both sets have members, and none in common.
fn are_apart(mine: &BTreeSet<SiteId>, theirs: &BTreeSet<SiteId>) -> bool {
    !mine.is_empty() && !theirs.is_empty() && mine.is_disjoint(theirs)
}

struct Walk {
    threads: Vec<Life>,
    exits: BTreeMap<ProcessIndex, ProcessExit>,
    alive: BTreeMap<(ProcessIndex, u64), ThreadIndex>,
    /// Calls that have created a thread that has not yet started.
    created: BTreeMap<(ProcessIndex, u64), SiteId>,
    locks: Lives,
    /// The last signal, wake or post at each object.
    tells: BTreeMap<(ProcessIndex, u64), (ThreadIndex, Ticks)>,
}

impl Walk {
    fn of(trace: &Trace) -> Walk {
        Walk {
            threads: trace.threads.iter().map(|_| Life::default()).collect(),
            exits: exits(trace),
            alive: BTreeMap::new(),
            created: BTreeMap::new(),
            locks: Lives::default(),
            tells: BTreeMap::new(),
        }
    }

    /// A call has created the thread of this handle, which may have started already.
    fn created(&mut self, by: ThreadIndex, key: (ProcessIndex, u64)) {
        let Some(site) = self.threads.get_mut(by.index()).and_then(|life| life.creating.take()) else { return };
        let started = self.alive.get(&key).and_then(|thread| self.threads.get_mut(thread.index()));
        match started.filter(|life| life.created_at.is_none()) {
            Some(life) => life.created_at = Some(site),
            None => drop(self.created.insert(key, site)),
        }
    }

    fn started(&mut self, thread: ThreadIndex, key: (ProcessIndex, u64)) {
        self.alive.insert(key, thread);
        if let Some(life) = self.threads.get_mut(thread.index()) {
            life.created_at = self.created.remove(&key);
        }
    }

    fn life(&self, thread: ThreadIndex) -> &Life {
        &self.threads[thread.index()]
    }

    fn step(&mut self, event: &Event, process: ProcessIndex) {
        let now = event.time;
        match event.what {
            What::ThreadStart { handle } => self.started(event.thread, (process, handle)),
            What::Created { handle, error: 0 } => self.created(event.thread, (process, handle)),
            _ => {}
        }
        self.locks.follow(&event.what, process);
        if let Some(object) = tells(&event.what) {
            self.tells.insert((process, object), (event.thread, now));
        }
        let child = match event.what {
            What::JoinEnd { handle, error: 0 } => self.alive.remove(&(process, handle)),
            _ => None,
        };
        let Some(life) = self.threads.get_mut(event.thread.index()) else { return };
        life.began.get_or_insert(now);
        life.serves |= serves(&event.what);
        if let Some(object) = is_told(&event.what) {
            life.told = self.tells.get(&(process, object)).copied();
        }
        life.moves_items |= moves_items(&event.what);
        if let Some(place) = life.goes_to(&event.what) {
            life.told = life.told.filter(|_| !matches!(place, LoopPoint::TimedOut(_)));
            life.came_to(place, now, self.locks.released(&event.what, process));
        }
        match event.what {
            What::Create { site } => life.creating = Some(site).filter(|site| *site != SiteId::UNKNOWN),
            What::Request { site, .. } if site != SiteId::UNKNOWN => drop(life.waited_at.insert(site)),
            What::CpuTime { ns } => life.cpu_ns = Some(ns),
            What::ThreadEnd { .. } => life.ended = Some(now),
            What::JoinBegin { .. } => life.joining = Some((now, life.joined)),
            What::JoinEnd { .. } => {
                let begun = life.joining.take();
                life.joins.extend(begun.zip(child).map(|((begin, follows), child)| Join { child, begin, follows }));
            }
            _ => {}
        }
        if event.what.is_act() {
            life.joined = matches!(event.what, What::JoinEnd { .. });
        }
    }

    /// The row of peers that the joiner joined one after the other, of which this join is one. The
    /// joiner came for all of them at the first join of the row.
    fn row(&self, joiner: ThreadIndex, number: usize) -> &[Join] {
        let joins = &self.life(joiner).joins;
        let child = self.life(joins[number].child);
        let is_peer = |join: &Join| self.life(join.child).is_peer_of(child);
        let mut first = number;
        while joins[first].follows && first > 0 && is_peer(&joins[first - 1]) {
            first -= 1;
        }
        let after = joins[number + 1..].iter().take_while(|join| join.follows && is_peer(join)).count();
        &joins[first..=number + after]
    }

    fn judge(&self, trace: &Trace, joiner: ThreadIndex, number: usize) -> Option<Background> {
        let join = &self.life(joiner).joins[number];
        let (thread, life) = (join.child, self.life(join.child));
        let (began, ended) = (life.began?, life.ended?);
        let ends = trace.meta.as_ref().map(|meta| &meta.ends);
        let turns = life.turns();
        let turns_at = turns.map(|(place, _)| place);
        // The joiner may have told the thread to end before it came to join it.
        let waits = matches!(turns_at, Some(LoopPoint::TimedOut(_)));
        let told = life.told.filter(|(by, _)| waits && *by == joiner).map(|(_, time)| time);
        let came_by = |begin: Ticks| told.map_or(begin, |told| told.min(begin));
        if ended <= came_by(join.begin) || ends.is_some_and(|ends| is_named(&ends.until, trace, thread)) {
            return None;
        }
        let found = |came| Background { thread, joiner, came, ended, joined: true, turns_at };
        if ends.is_some_and(|ends| is_named(&ends.background, trace, thread)) {
            return Some(found(came_by(join.begin)));
        }
        if life.moves_items {
            return None;
        }
        let row = self.row(joiner, number);
        let came = came_by(row[0].begin);
        let tail = ended.since(came);
        let soon = match turns {
            Some((_, longest)) => tail <= longest,
            None => {
                let all = ended.since(began);
                let on_cpu = trace.clock.ticks(baton_units::Nanos(life.cpu_ns?));
                life.places.is_empty() && on_cpu < all.0 / ASLEEP && tail.0 < all.0 / ASLEEP
            }
        };
        let is_told = soon && !life.goes_round_with(self.life(joiner)) && !self.works(row, life);
        is_told.then(|| found(came))
    }

    /// Whether a thread of the row was at work rather than told to end: one that the same call created as
    /// `life`'s thread. It ended before the joiner came and long before `life`'s thread, or it went on
    /// for more than a turn.
    fn works(&self, row: &[Join], life: &Life) -> bool {
        let (Some(ended), Some(turn)) = (life.ended, life.usual_turn()) else { return false };
        let (came, created_at) = (row[0].begin, life.created_at);
        let created_alike = |peer: &&Life| created_at.is_some() && peer.created_at == created_at;
        row.iter().map(|join| self.life(join.child)).filter(created_alike).any(|peer| match peer.ended {
            Some(end) if end <= came => ended.since(end).0 > APART * turn.0,
            Some(end) => peer.turns().is_some_and(|(_, longest)| end.since(came) > longest),
            None => false,
        })
    }

    /// Judges a thread that no thread joined, and that lived until its process ended. The end of a
    /// process that no thread says to have ended it counts only for threads that the user named.
    fn judge_at_exit(&self, trace: &Trace, thread: ThreadIndex) -> Option<Background> {
        let (life, process) = (self.life(thread), trace.process_of(thread));
        let ends = trace.meta.as_ref().map(|meta| &meta.ends);
        let until = ends.is_some_and(|ends| is_named(&ends.until, trace, thread));
        life.began.filter(|_| life.ended.is_none() && !until)?;
        let exit = self.exits.get(&process);
        let named = ends.is_some_and(|ends| is_named(&ends.background, trace, thread));
        let left = exit.map(|exit| (exit.thread, exit.time));
        let (joiner, came) = left.or_else(|| self.first(trace, process).filter(|_| named))?;
        if joiner == thread {
            return None;
        }
        let turns_at = life.turns().map(|(place, _)| place);
        let found = Background { thread, joiner, came, ended: came, joined: false, turns_at };
        let goes_round = |(place, longest): (LoopPoint, Ticks)| {
            life.places.get(&place).is_some_and(|visits| came.since(visits.last) <= longest)
        };
        let works = exit.is_some_and(|exit| exit.working.contains(&thread));
        let seen = life.turns().is_some_and(goes_round) && !life.serves && !works;
        (named || seen && !life.goes_round_with(self.life(joiner))).then_some(found)
    }

    /// The first thread of a process, and when the last of its threads acted.
    fn first(&self, trace: &Trace, process: ProcessIndex) -> Option<(ThreadIndex, Ticks)> {
        let threads = || (0..).map(ThreadIndex).zip(&trace.threads).filter(|(_, thread)| thread.process == process);
        Some((threads().next()?.0, threads().map(|(_, thread)| thread.last).max()?))
    }
}
