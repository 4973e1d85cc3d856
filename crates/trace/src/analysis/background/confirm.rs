//! A second walk over the events, which drops threads that the first one took for background threads:
//!
//! - those that had not made their turns when the joiner came: the first walk counted the turns of the
//!   whole life;
//! - those for which the joiner came when it joined a thread that is no background thread.

use super::joined::Found;
use super::life::Life;
use crate::event::ThreadIndex;
use crate::trace::Trace;
use std::collections::{BTreeMap, BTreeSet};

/// Drops threads from `found`, and sets the others' places to those of the turns before the joiner came.
pub(super) fn confirm(trace: &Trace, found: &mut BTreeMap<ThreadIndex, Found>) {
    let named = named_in(found, trace);
    let judged = |one: &&Found| !named.contains(&one.background.thread);
    let lives = found.values().filter(judged).filter(|one| one.background.turns_at.is_some());
    let until = |one: &Found| Life { until: Some(one.background.came), ..Life::default() };
    let mut lives: BTreeMap<_, _> = lives.map(|one| (one.background.thread, until(one))).collect();
    if lives.is_empty() {
        return;
    }
    for event in trace.complete_events() {
        if let Some(life) = lives.get_mut(&event.thread)
            && let Some(place) = life.goes_to(&event.what)
        {
            life.came_to(place, event.time, None);
        }
    }
    found.retain(|thread, one| match lives.get(thread).map(Life::turns) {
        Some(Some((place, longest))) => {
            one.background.turns_at = Some(place);
            one.background.ended.since(one.background.came) <= longest
        }
        Some(None) => false,
        None => true,
    });
    drop_those_that_rely_on_others(found);
}

/// Drops threads for which the joiner came when it joined a thread that is no background thread.
fn drop_those_that_rely_on_others(found: &mut BTreeMap<ThreadIndex, Found>) {
    loop {
        let left: BTreeSet<ThreadIndex> = found.keys().copied().collect();
        found.retain(|_, one| one.after.is_none_or(|after| left.contains(&after)));
        if found.len() == left.len() {
            return;
        }
    }
}

/// The threads that the user named.
fn named_in(found: &BTreeMap<ThreadIndex, Found>, trace: &Trace) -> BTreeSet<ThreadIndex> {
    let Some(ends) = trace.meta.as_ref().map(|meta| &meta.ends) else { return BTreeSet::new() };
    found.keys().copied().filter(|thread| super::is_named(&ends.background, trace, *thread)).collect()
}
