//! Futile wake-ups: a call wakes several threads at once, and most of them find nothing to do, and
//! wait again.
//!
//! | file | holds |
//! | --- | --- |
//! | `awake` | how long a woken thread has run |
//! | `conditions` | broadcasts of condition variables |
//! | `futexes` | wakes of futexes of the program's own |

mod awake;
mod conditions;
mod futexes;

use super::causes::Ended;
use super::objects::ObjectId;
use super::vain::{Stretch, Vain};
use super::window::Window;
use crate::clock::{Clock, Ticks};
use crate::event::{Event, SiteId};
use conditions::Conditions;
use futexes::Futexes;
use std::collections::BTreeMap;

/// Counts for one condition variable or futex: how often a call there woke several threads, and for
/// nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FutileWakes {
    /// Number of broadcasts, or wakes of a futex, that woke at least two threads.
    pub broadcasts: u64,
    /// Number of threads that these calls woke.
    pub woken: u64,
    /// Number of these threads that found nothing to do.
    pub futile: u64,
    /// Number of futile wake-ups, by the call site of the broadcast or wake that caused them.
    pub sites: BTreeMap<SiteId, u64>,
}

impl FutileWakes {
    /// Whether more than half of the wake-ups are futile.
    pub fn is_herd(&self) -> bool {
        self.futile * 2 > self.woken
    }
}

/// A call that may wake several threads: a broadcast, or a wake of a futex.
struct Broadcast {
    object: ObjectId,
    site: SiteId,
    time: Ticks,
    woken: u64,
    /// The woken threads that waited again without having acted, in the order in which they waited:
    /// for each, the time from the broadcast to the new wait.
    again: Vec<Stretch>,
}

impl Broadcast {
    fn new(object: ObjectId, site: SiteId, time: Ticks) -> Broadcast {
        Broadcast { object, site, time, woken: 0, again: Vec::new() }
    }
}

/// The search for futile wake-ups, fed by a walk over the events.
#[derive(Default)]
pub(super) struct Wakes {
    conditions: Conditions,
    futexes: Futexes,
}

impl Wakes {
    pub(super) fn new(clock: &Clock) -> Wakes {
        Wakes { conditions: Conditions::new(clock), futexes: Futexes::new(clock) }
    }

    /// Follows an event: `number` is its number in the walk, `ended` the wait that it ended.
    pub(super) fn step(&mut self, event: &Event, number: u64, object: Option<ObjectId>, ended: Option<&Ended<()>>) {
        self.conditions.step(event, number, object, ended);
        self.futexes.step(event, number, object, ended);
    }

    /// Returns the counts of each condition variable and futex for calls inside the window. Where
    /// most wake-ups of an object are futile, adds them to `vain`.
    pub(super) fn finish(self, window: &Window, vain: &mut Vain, cpus: usize) -> BTreeMap<ObjectId, FutileWakes> {
        let mut numbers: BTreeMap<ObjectId, FutileWakes> = BTreeMap::new();
        let mut stretches: BTreeMap<ObjectId, Vec<Stretch>> = BTreeMap::new();
        let mut locks = BTreeMap::new();
        let counted = |broadcast: &Broadcast| broadcast.woken > 1 && window.contains(broadcast.time);
        let broadcasts = self.conditions.finish(&mut locks).chain(self.futexes.finish(&mut locks));
        for broadcast in broadcasts.filter(counted) {
            let of = numbers.entry(broadcast.object).or_default();
            of.broadcasts += 1;
            of.woken += broadcast.woken;
            of.futile += broadcast.again.len() as u64;
            *of.sites.entry(broadcast.site).or_default() += broadcast.again.len() as u64;
            stretches.entry(broadcast.object).or_default().extend(broadcast.again);
        }
        for (object, stretches) in stretches.iter().filter(|(object, _)| numbers[object].is_herd()) {
            vain.add(*object, locks.get(object).copied(), stretches, cpus);
        }
        numbers
    }
}
