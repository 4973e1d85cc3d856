//! Points that the user named, looked up in the trace.

use super::found::site;
use crate::analysis::objects::ObjectId;
use crate::event::{Event, Outcome, SiteId, What};
use crate::process::ProcessIndex;
use crate::trace::Trace;
use std::collections::BTreeSet;

/// The call sites at which passages of a point count; `None` for all call sites.
pub type Places = Option<BTreeSet<(ProcessIndex, SiteId)>>;

/// A point, described by the events that count as passing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counted {
    /// System calls of this number that did what they were called for.
    Call(u8, Places),
    /// Acquisitions of these locks, from these call sites.
    Locks(BTreeSet<ObjectId>, Places),
    /// Ends of waits at these condition variables, from these call sites.
    Conditions(BTreeSet<ObjectId>, Places),
    /// Markers that have this name.
    Marker(String),
}

/// What the user asked for: which point or requests to follow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Asked {
    /// The user named nothing: requests are found at sockets.
    #[default]
    Find,
    /// Follow the passages of this point.
    Point(Counted),
    /// Follow requests, each from the first point to the second one in the same thread.
    Request(Counted, Counted),
}

impl Counted {
    /// Whether the event passes the point. An event that ends a wait has no call site, so
    /// `waits_at` gives the call site of the thread's last wait.
    pub(super) fn passes(
        &self,
        trace: &Trace,
        event: &Event,
        (process, object): (ProcessIndex, Option<ObjectId>),
        waits_at: SiteId,
    ) -> bool {
        let there = |places: &Places, at: SiteId| places.as_ref().is_none_or(|places| places.contains(&(process, at)));
        match (self, event.what) {
            (Counted::Call(number, places), What::Called { call, site }) => {
                call.number == *number && call.outcome == Outcome::Done && there(places, site)
            }
            (Counted::Locks(locks, places), What::Acquire { .. } | What::Acquired { .. }) => {
                let at = match event.what {
                    What::Acquire { .. } => site(&event.what),
                    _ => waits_at,
                };
                object.is_some_and(|object| locks.contains(&object)) && there(places, at)
            }
            (Counted::Conditions(conditions, places), What::CondWake { .. }) => {
                object.is_some_and(|object| conditions.contains(&object)) && there(places, waits_at)
            }
            (Counted::Marker(wanted), What::Marker { name, .. }) => {
                trace.marker_name(process, name).is_some_and(|name| name == wanted)
            }
            _ => false,
        }
    }
}
