//! Barriers of the run: by name, so each is called through its address.

use super::objects::WAIT;
use crate::change::Meeting;
use crate::program::Program;
use baton_chip::Simulated;
use baton_machine::{Owned, Wait};
use baton_sync::barrier::{BarrierVisitor, RawBarrier, UnknownBarrier, visit};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// A barrier whose type is not known.
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

/// Makes a barrier of the name that is looked up.
struct Make(NonZeroU32);

impl BarrierVisitor<Simulated> for Make {
    type Out = Box<dyn Meets>;
    fn visit<B: RawBarrier<Simulated>>(self) -> Box<dyn Meets> {
        Box::new(Owned::<Simulated, B>::new(B::new(self.0)))
    }
}

/// Asks whether there is such a barrier.
pub(crate) struct Exists;

impl BarrierVisitor<Simulated> for Exists {
    type Out = ();
    fn visit<B: RawBarrier<Simulated>>(self) {}
}

/// Tries of a thread at libgomp's barrier before it sleeps; and with more threads than CPUs.
const TRIES: u32 = 300_000;
const FEW_TRIES: u32 = 100;

/// A barrier, how its waiters wait, and which place each of its threads has.
pub(crate) struct Barrier {
    barrier: Box<dyn Meets>,
    wait: Wait,
    places: RefCell<BTreeMap<u32, u32>>,
}

impl Barrier {
    /// All of a program's, or those that were asked for in their place.
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

    /// A thread meets the others. It keeps the place that it gets when it comes for the first time.
    pub(crate) fn meet(&self, thread: u32) {
        let place = {
            let mut places = self.places.borrow_mut();
            let next = places.len() as u32;
            *places.entry(thread).or_insert(next)
        };
        self.barrier.wait(place.min(self.barrier.participants() - 1), self.wait);
    }
}
