//! Events of detached tasks. A handle is the event's address; those that can be fulfilled are known, so that one that cannot is named.

use baton_machine::Native;
use baton_omp::Waits;
use baton_omp::tasks::{Event, Shared, fulfil};
use baton_omp::team::{Context, Team};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// An event that is not fulfilled, with the team of its task and how that waits.
struct Open {
    event: Shared<Native, Event<Native>>,
    team: *const Team<Native>,
    waits: Waits,
}

// SAFETY: the task of an event that is not fulfilled holds its region open, and with it the team.
unsafe impl Send for Open {}

static OPEN: Mutex<BTreeMap<usize, Open>> = Mutex::new(BTreeMap::new());

/// An event for a new task of the current one, and its handle.
pub(crate) fn make(place: &Context<Native>) -> (Shared<Native, Event<Native>>, usize) {
    let event = Shared::new(Event::new());
    let handle = event.address().expose_provenance();
    let open = Open { event: event.clone(), team: place.team, waits: *place.waits() };
    OPEN.lock().unwrap_or_else(PoisonError::into_inner).insert(handle, open);
    (event, handle)
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_fulfill_event(handle: usize) {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner).remove(&handle);
    let Some(open) = open else {
        eprintln!("libbaton_gomp: omp_fulfill_event: {handle:#x} is no event, or was fulfilled before");
        std::process::exit(1);
    };
    // SAFETY: the task of an event that is not fulfilled is not done.
    unsafe { fulfil(open.team, &open.waits, &open.event) };
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_fulfill_event_(handle: usize) {
    omp_fulfill_event(handle);
}
