//! Arbiters that a command adds to the built-in ones.
//!
//! The code of a router is compiled separately for each built-in arbiter. For arbiters that a
//! command adds, it is compiled once more, for the type [`Added`], which calls the added arbiter
//! through a trait object. So added arbiters do not slow down built-in ones.

use super::contract::{Arbiter, ArbiterInfo, Contender, Registered};
use super::ranked::Ranked;
use super::{ARBITERS, ArbiterKind};
use baton_units::open::{NotAdded, OpenList};
use std::any::Any;
use std::fmt;

/// An added arbiter, as a configuration names it.
#[derive(Clone, Copy)]
pub struct AddedKind(&'static Own);

/// An entry of the registry for an added arbiter: its declaration, and the function that creates
/// it.
struct Own {
    info: ArbiterInfo,
    make: fn(&Ranked) -> Box<dyn Erased>,
}

impl fmt::Debug for AddedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.info.name)
    }
}

impl PartialEq for AddedKind {
    fn eq(&self, other: &AddedKind) -> bool {
        self.0.info == other.0.info
    }
}

impl Eq for AddedKind {}

impl AddedKind {
    /// Returns the arbiter's declaration of name and properties.
    pub fn info(self) -> ArbiterInfo {
        self.0.info
    }

    /// Creates the arbiter. `ranked` holds the parameters of arbiters that use ranks.
    pub fn of(self, ranked: &Ranked) -> Added {
        Added((self.0.make)(ranked))
    }
}

static LIST: OpenList<(&'static str, ArbiterKind)> = OpenList::new("arbiter", &ARBITERS, |(name, _)| name);

/// Every arbiter by name, the added ones behind the built-in ones.
pub fn arbiters() -> &'static [(&'static str, ArbiterKind)] {
    LIST.all()
}

/// The names of all arbiters.
pub fn names() -> &'static [&'static str] {
    LIST.names()
}

/// Adds a command's own arbiter to the registry. The arbiter may have ranks ([`Arbiter::RANKS`]).
/// The router ignores [`Arbiter::POSITIONAL`] of an added arbiter.
///
/// # Errors
/// Fails if another arbiter has the name, if the name is empty or has characters that a name may
/// not have, or if the list of arbiters has been read already.
pub fn add<A: Registered>() -> Result<(), NotAdded> {
    let own = Own { info: A::INFO, make: |ranked| Box::new(A::of(ranked)) };
    LIST.add((A::INFO.name, ArbiterKind::Added(AddedKind(Box::leak(Box::new(own)))))).map(|_| ())
}

/// The operations of [`Arbiter`] as a trait object, for arbiters of a type that this crate does not
/// know.
trait Erased: Send {
    fn copy(&self) -> Box<dyn Erased>;
    fn state(&self, requesters: usize) -> State;
    fn key(&self, state: &State, requester: u32, who: &dyn Fn() -> Contender) -> u64;
    fn pick(&self, state: &State, set: u64, shift: u32, who: &dyn Fn(u32) -> Contender) -> u32;
    fn won(&self, state: &mut State, requester: u32);
    fn rank(&self, who: Contender) -> u64;
}

impl<A: Arbiter> Erased for A {
    fn copy(&self) -> Box<dyn Erased> {
        Box::new(self.clone())
    }
    fn state(&self, requesters: usize) -> State {
        State(Box::new(Arbiter::state(self, requesters)))
    }
    fn key(&self, state: &State, requester: u32, who: &dyn Fn() -> Contender) -> u64 {
        Arbiter::key(self, state.of::<A>(), requester, who)
    }
    fn pick(&self, state: &State, set: u64, shift: u32, who: &dyn Fn(u32) -> Contender) -> u32 {
        Arbiter::pick(self, state.of::<A>(), set, shift, who)
    }
    fn won(&self, state: &mut State, requester: u32) {
        let state: &mut dyn Any = state.0.any_mut();
        Arbiter::won(self, state.downcast_mut().expect(OF_ITS_OWN), requester);
    }
    fn rank(&self, who: Contender) -> u64 {
        if A::RANKS { Arbiter::rank(self, who) } else { 0 }
    }
}

const OF_ITS_OWN: &str = "an arbiter gets the states that it made";

/// The state of an added arbiter, of a type that this crate does not know.
#[derive(Debug)]
pub struct State(Box<dyn Remembers>);

trait Remembers: Send + fmt::Debug {
    fn copy(&self) -> Box<dyn Remembers>;
    fn any(&self) -> &dyn Any;
    fn any_mut(&mut self) -> &mut dyn Any;
}

impl<S: Clone + Send + fmt::Debug + 'static> Remembers for S {
    fn copy(&self) -> Box<dyn Remembers> {
        Box::new(self.clone())
    }
    fn any(&self) -> &dyn Any {
        self
    }
    fn any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl State {
    fn of<A: Arbiter>(&self) -> &A::State {
        self.0.any().downcast_ref().expect(OF_ITS_OWN)
    }
}

impl Clone for State {
    fn clone(&self) -> State {
        State((*self.0).copy())
    }
}

/// An added arbiter behind a trait object: the one type for which routers of added arbiters are
/// compiled.
pub struct Added(Box<dyn Erased>);

impl Clone for Added {
    fn clone(&self) -> Added {
        Added((*self.0).copy())
    }
}

impl Arbiter for Added {
    type State = State;

    /// Always set: an added arbiter without ranks gives every packet rank 0, so that no rank
    /// decides anything.
    const RANKS: bool = true;

    fn state(&self, requesters: usize) -> State {
        (*self.0).state(requesters)
    }

    fn key(&self, state: &State, requester: u32, who: impl FnOnce() -> Contender) -> u64 {
        // `who` can be called only once. That suffices, because an arbiter's `key` gets it as a
        // `FnOnce` and so looks up the packet at most once.
        let who = std::cell::Cell::new(Some(who));
        (*self.0).key(state, requester, &|| who.take().expect("a key looks the packet up once")())
    }

    fn pick(&self, state: &State, set: u64, shift: u32, who: impl Fn(u32) -> Contender) -> u32 {
        (*self.0).pick(state, set, shift, &who)
    }

    fn won(&self, state: &mut State, requester: u32) {
        (*self.0).won(state, requester);
    }

    fn rank(&self, who: Contender) -> u64 {
        (*self.0).rank(who)
    }
}
