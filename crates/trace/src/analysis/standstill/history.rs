//! What came before a standstill: the last signal of a condition variable, and the posts of a
//! semaphore. This takes a second walk over the trace, made only if threads stand at a condition
//! variable or a semaphore.

use super::stuck::{Posts, Signal, Signals, Standstill, Why};
use crate::analysis::objects::{ObjectId, Objects};
use crate::event::{Event, SiteId, ThreadIndex, WakeReason, What};
use crate::trace::Trace;
use std::collections::BTreeMap;

#[derive(Default)]
struct History {
    signals: Signals,
    waiting: u32,
    posts: Posts,
}

/// The histories of the objects at which threads stand, and how often each standing thread has
/// taken its mutex since the last signal.
#[derive(Default)]
struct Histories {
    objects: BTreeMap<ObjectId, History>,
    /// For each thread that stands at a condition variable: the mutex, the condition variable, and
    /// how often it has taken the mutex since the last signal.
    looks: BTreeMap<ThreadIndex, (ObjectId, ObjectId, u32)>,
}

/// Fills in what came before: the signals and posts at the objects of the standstills.
pub(super) fn add(trace: &Trace, standstills: &mut [Standstill]) {
    let mut histories = Histories::default();
    for stuck in standstills.iter().flat_map(|standstill| &standstill.threads) {
        let (Why::Condition(_) | Why::Semaphore(_), Some(id)) = (&stuck.why, stuck.wait.object) else { continue };
        histories.objects.entry(id).or_default();
        if let Some(mutex) = stuck.wait.mutex {
            histories.looks.insert(stuck.wait.thread, (mutex, id, 0));
        }
    }
    if histories.objects.is_empty() {
        return;
    }
    let mut objects = Objects::new(trace);
    for event in trace.complete_events() {
        let object = objects.follow(&event, trace.process_of(event.thread));
        if let What::Attribute { address, value } = event.what {
            let id = objects.living(trace.process_of(event.thread), address);
            if let Some(history) = id.and_then(|id| histories.objects.get_mut(&id)) {
                history.posts.initial = Some(value);
            }
        }
        if let Some(id) = object {
            histories.step(&event, id);
        }
    }
    for stuck in standstills.iter_mut().flat_map(|standstill| &mut standstill.threads) {
        let Some(history) = stuck.wait.object.and_then(|id| histories.objects.get(&id)) else { continue };
        let looked = histories.looks.get(&stuck.wait.thread).map_or(0, |(.., count)| *count);
        match &mut stuck.why {
            Why::Condition(signals) => *signals = Signals { looked, ..history.signals },
            Why::Semaphore(posts) => *posts = history.posts,
            _ => {}
        }
    }
}

impl Histories {
    fn step(&mut self, event: &Event, id: ObjectId) {
        if let What::Acquire { .. } | What::Acquired { .. } = event.what {
            if let Some((mutex, _, count)) = self.looks.get_mut(&event.thread)
                && *mutex == id
            {
                *count += 1;
            }
            return;
        }
        let Some(history) = self.objects.get_mut(&id) else { return };
        match event.what {
            What::CondWait { .. } => history.waiting += 1,
            What::CondWake { reason, .. } => {
                history.waiting = history.waiting.saturating_sub(1);
                if let (Some(last), WakeReason::Woken) = (&mut history.signals.last, reason) {
                    last.woke.get_or_insert(event.thread);
                }
            }
            What::CondSignal { site, .. } => self.signal(event, id, site, false),
            What::CondBroadcast { site, .. } => self.signal(event, id, site, true),
            What::SemPost { site, .. } => {
                history.posts.posts += 1;
                history.posts.last = Some((event.time, event.thread, site));
            }
            What::SemTake { .. } | What::SemTaken { .. } => history.posts.takes += 1,
            _ => {}
        }
    }

    fn signal(&mut self, event: &Event, id: ObjectId, site: SiteId, broadcast: bool) {
        let Some(history) = self.objects.get_mut(&id) else { return };
        history.signals.count += 1;
        let (time, thread, waiters) = (event.time, event.thread, history.waiting);
        history.signals.last = Some(Signal { time, thread, site, broadcast, waiters, woke: None });
        let looks = self.looks.values_mut().filter(|(_, condition, _)| *condition == id);
        looks.for_each(|(.., count)| *count = 0);
    }
}
