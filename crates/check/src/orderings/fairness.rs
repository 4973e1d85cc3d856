//! Waiting under loom without exploring for ever.
//!
//! Loom has no fairness: where two guests wait for a third, it explores executions in which the two take turns at
//! looking, longer and longer ones, and never ends. Such a look is fruitless: nothing was written since the last one,
//! so the execution is the same as the one without it. Here a fruitless look that loom's own default would not have
//! chosen ends the execution ("abandoned"): the default was explored first and led to everything that could follow.
//! A fruitless look that loom's default did choose is let go on, as nothing else would lead there; the default takes
//! the guest that has yielded least, so the others get their turn soon.
//!
//! What guests share may lie on the stack of one of them, as a region's body does, and loom knows nothing of counted references. So in an
//! abandoned execution each guest stops where it is, and none unwinds before all have stopped.
//!
//! All of this is bookkeeping beside loom: it adds no happens-before edge.

use std::cell::RefCell;
use std::panic::resume_unwind;

/// Fruitless looks after which a guest that only relaxes goes on all the same.
const TURNS: usize = 8;

/// What led to loom's last choice of a guest.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// A guest came to an access and could have gone on.
    Access,
    /// This guest gave way.
    Yield(usize),
    /// A guest ended.
    End,
}

/// What is known of a guest.
#[derive(Clone, Copy, Default)]
struct Guest {
    alive: bool,
    /// It has seen that the execution is abandoned.
    stopped: bool,
    yields: usize,
    /// If the guest can go on only after a write: the writes there were at its last look.
    looked: Option<usize>,
}

struct State {
    guests: Vec<Guest>,
    last: Choice,
    /// Writes of all guests to all cells, in the order in which loom runs them.
    writes: usize,
    abandoned: bool,
}

thread_local! {
    static STATE: RefCell<State> =
        const { RefCell::new(State { guests: Vec::new(), last: Choice::End, writes: 0, abandoned: false }) };
}

::loom::thread_local! {
    static NUMBER: core::cell::Cell<usize> = core::cell::Cell::new(usize::MAX);
}

/// What an abandoned guest unwinds with.
pub(crate) struct Abandoned;

fn with<R>(f: impl FnOnce(&mut State) -> R) -> R {
    STATE.with(|state| f(&mut state.borrow_mut()))
}

/// Begins an execution.
pub(super) fn begin() {
    with(|state| *state = State { guests: Vec::new(), last: Choice::End, writes: 0, abandoned: false });
}

/// Announces guests before they are started; returns the number of the first. Loom numbers its threads likewise.
pub(crate) fn announce(guests: usize) -> usize {
    with(|state| {
        let first = state.guests.len();
        state.guests.resize(first + guests, Guest { alive: true, ..Guest::default() });
        first
    })
}

/// The calling guest begins under `number`.
pub(super) fn start(number: usize) {
    NUMBER.with(|mine| mine.set(number));
}

/// The guest ends.
pub(super) fn end(number: usize) {
    with(|state| {
        state.guests[number].alive = false;
        state.last = Choice::End;
    });
}

/// Whether this execution was abandoned: nothing in it need hold.
pub(crate) fn abandoned() -> bool {
    with(|state| state.abandoned)
}

/// A guest is about to access a cell: loom may choose another here.
pub(super) fn access() {
    with(|state| state.last = Choice::Access);
    leave_if_abandoned();
}

/// A guest has written to a cell.
pub(super) fn written() {
    with(|state| state.writes += 1);
}

/// Writes so far.
pub(super) fn writes() -> usize {
    with(|state| state.writes)
}

/// Gives way once. Returns whether loom chose the calling guest again as its default.
fn give_way(me: usize) -> bool {
    with(|state| {
        state.guests[me].yields += 1;
        state.last = Choice::Yield(me);
    });
    ::loom::thread::yield_now();
    with(|state| match state.last {
        Choice::Yield(yielder) if yielder == me => true,
        Choice::Access => false,
        Choice::Yield(yielder) => state.is_default(me, Some(yielder)),
        Choice::End => state.is_default(me, None),
    })
}

impl State {
    /// Loom's default is the guest that has yielded least, the lowest number among equals.
    fn is_default(&self, me: usize, yielder: Option<usize>) -> bool {
        let rank = |number: usize| (self.guests[number].yields, number);
        let others = (0..self.guests.len()).filter(|&g| g != me && Some(g) != yielder && self.guests[g].alive);
        others.min_by_key(|&other| rank(other)).is_none_or(|other| rank(me) < rank(other))
    }

    fn is_stuck(&self) -> bool {
        self.guests.iter().filter(|guest| guest.alive).all(|guest| guest.looked == Some(self.writes))
    }
}

/// Lets others go on once; afterwards a read of a cell that was written before cannot return what it returned before.
pub(super) fn yield_once() {
    leave_if_abandoned();
    give_way(NUMBER.with(core::cell::Cell::get));
    leave_if_abandoned();
}

/// Lets others go on until `news` says that looking again can show something new. With `or_else` after a few turns
/// even if it does not; without, it is reported when all guests are stuck.
pub(super) fn yield_until(news: impl Fn() -> bool, or_else: bool) {
    let me = NUMBER.with(core::cell::Cell::get);
    let mut turns = 0;
    loop {
        leave_if_abandoned();
        let chosen_by_default = give_way(me);
        leave_if_abandoned();
        if news() {
            with(|state| state.guests[me].looked = None);
            return;
        }
        if !chosen_by_default {
            abandon();
            leave_if_abandoned();
        }
        turns += 1;
        if or_else {
            if turns == TURNS {
                return;
            }
        } else {
            let stuck = with(|state| {
                state.guests[me].looked = Some(state.writes);
                state.is_stuck()
            });
            assert!(!stuck, "guests are stuck: each waits, and nobody is left to end it");
        }
    }
}

/// Ends the execution, of which loom need explore nothing more.
fn abandon() {
    with(|state| state.abandoned = true);
    ::loom::skip_branch();
}

/// Leaves an execution that was abandoned, once all guests have stopped. One that unwinds comes back.
pub(super) fn leave_if_abandoned() {
    if !abandoned() || std::thread::panicking() {
        return;
    }
    let me = NUMBER.with(core::cell::Cell::get);
    if me == usize::MAX {
        // Who began the execution drops what is left of it, and the guests have ended.
        return;
    }
    with(|state| state.guests[me].stopped = true);
    while with(|state| state.guests.iter().any(|guest| guest.alive && !guest.stopped)) {
        ::loom::thread::yield_now();
    }
    resume_unwind(Box::new(Abandoned));
}
