//! Barriers of a run. The barrier's type is chosen by name at run time, so it is called through a
//! trait object.

use super::objects::WAIT;
use crate::change::Meeting;
use crate::program::Program;
use baton_chip::Simulated;
use baton_machine::{Owned, Wait};
use baton_sync::barrier::{BarrierVisitor, RawBarrier, UnknownBarrier, visit};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// A barrier of any type.
trait Meets {
    fn wait(&self, index: u32, wait: Wait);
    fn participants(&self) -> u32;
}

impl<B: RawBarrier<Simulated>> Meets for Owned<Simulated, B> {
    fn wait(&self, index: u32, wait: Wait) {
        RawBarrier::wait(&**self, index, wait);
    }
    fn participants(&self) -> u32 {
        RawBarrier::participants(&**self)
    }
}

/// Creates a barrier for this many threads, of the type that is looked up by name.
struct Make(NonZeroU32);

impl BarrierVisitor<Simulated> for Make {
    type Out = Box<dyn Meets>;
    fn visit<B: RawBarrier<Simulated>>(self) -> Box<dyn Meets> {
        Box::new(Owned::<Simulated, B>::new(B::new(self.0)))
    }
}

/// Tests whether the registry has a barrier of the name that is looked up.
pub(crate) struct Exists;

impl BarrierVisitor<Simulated> for Exists {
    type Out = ();
    fn visit<B: RawBarrier<Simulated>>(self) {}
}

/// How often a thread looks at libgomp's barrier before it sleeps; `FEW_TRIES` applies if the
/// barrier's threads outnumber the CPUs.
const TRIES: u32 = 300_000;
const FEW_TRIES: u32 = 100;

/// A barrier with the wait policy of its waiters, and the slot that each thread has at the barrier.
pub(crate) struct Barrier {
    barrier: Box<dyn Meets>,
    wait: Wait,
    places: RefCell<BTreeMap<u32, u32>>,
}

impl Barrier {
    /// Returns the program's barriers, or, if a barrier was asked for, that barrier in place of
    /// each.
    pub(crate) fn all(program: &Program, asked: Option<&Meeting>, cpus: u32) -> Vec<Barrier> {
        let one = |(number, &size): (u32, &u32)| {
            let participants = NonZeroU32::new(size).unwrap_or(NonZeroU32::MIN);
            let tries = if size > cpus { FEW_TRIES } else { TRIES };
            let (name, wait) = match asked {
                Some(asked) => (asked.barrier.as_str(), asked.wait),
                None if program.teams.contains(&number) => ("gomp", Wait::SpinPark(tries)),
                None => ("central", WAIT),
            };
            let made: Result<_, UnknownBarrier> = visit::<Simulated, _>(name, Make(participants));
            Barrier { barrier: made.expect("looked up before the run"), wait, places: RefCell::default() }
        };
        (0..).zip(&program.barriers).map(one).collect()
    }

    /// Makes a thread wait until all participants have come. A thread keeps the slot that it gets
    /// at its first call.
    pub(crate) fn meet(&self, thread: u32) {
        let place = {
            let mut places = self.places.borrow_mut();
            let next = places.len() as u32;
            *places.entry(thread).or_insert(next)
        };
        self.barrier.wait(place.min(self.barrier.participants() - 1), self.wait);
    }
}
