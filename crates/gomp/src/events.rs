//! Events of detached tasks. A handle is the event's address. A table holds the events that can
//! still be fulfilled, so that an unknown handle is reported.

use baton_machine::Native;
use baton_omp::Waits;
use baton_omp::fulfil;
use baton_omp::tasks::{Event, Shared};
use baton_omp::team::{Context, Team};
use baton_omp::tool::status;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An event that is not fulfilled, with the team of its task and the policies by which that team
/// waits.
struct Open {
    event: Shared<Native, Event<Native>>,
    team: *const Team<Native>,
    waits: Waits,
}

// SAFETY: the task of an event that is not fulfilled holds its region open, and with it the team.
unsafe impl Send for Open {}

/// Open events by their handles, alone in a pair of cache lines.
#[repr(align(128))]
struct Shelf(Mutex<BTreeMap<usize, Open>>);

/// Shelves that handles are spread over, so that threads that make and fulfil different events
/// seldom meet at one shelf.
const SHELVES: usize = 64;

static OPEN: [Shelf; SHELVES] = [const { Shelf(Mutex::new(BTreeMap::new())) }; SHELVES];

/// The shelf of a handle.
fn place_of(handle: usize) -> usize {
    // The bits from bit 6 on are hashed, because allocations of an event's size lie some 100 bytes
    // apart.
    (handle >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - SHELVES.ilog2())
}

fn shelf(handle: usize) -> MutexGuard<'static, BTreeMap<usize, Open>> {
    OPEN[place_of(handle)].0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes an event for a task that the calling thread is about to make. Returns the event and its
/// handle.
pub(crate) fn make(place: &Context<Native>) -> (Shared<Native, Event<Native>>, usize) {
    let event = place.make_event();
    let handle = event.address().expose_provenance();
    shelf(handle).insert(handle, Open { event: event.clone(), team: place.team, waits: *place.waits() });
    (event, handle)
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_fulfill_event(handle: usize) {
    let Some(open) = shelf(handle).remove(&handle) else {
        eprintln!("libbaton_gomp: omp_fulfill_event: {handle:#x} is no event, or was fulfilled before");
        std::process::exit(1);
    };
    if let Some(task) = open.event.record.get().filter(|_| !open.event.has_body_ended()) {
        task.tool.task_switches(task, status::EARLY_FULFIL, None);
    }
    // SAFETY: the event is not fulfilled, so its task is not done and holds the team open.
    unsafe { fulfil(open.team, &open.waits, &open.event) };
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_fulfill_event_(handle: usize) {
    omp_fulfill_event(handle);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_made_one_after_another_seldom_share_a_shelf() {
        let events: Vec<_> = (0..32).map(|_| Shared::<Native, _>::new(Event::<Native>::new())).collect();
        let places = events.iter().map(|event| place_of(event.address().addr()));
        let different = places.collect::<std::collections::BTreeSet<_>>().len();
        // 25 of 32 in 64 by chance; with one lock for all it is 1.
        assert!(different > 12, "{different}");
    }
}
