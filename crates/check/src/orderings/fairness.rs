//! Waiting under loom without exploring for ever.
//!
//! Loom has no fairness. If two guests wait for a third, it explores executions in which the two
//! look at their cells in turns, longer and longer ones, and never ends. Such a look is *fruitless*
//! if nothing was written since the last one: the execution is then equivalent to one without the
//! look. If loom's own default would not have chosen a fruitless look, the look ends the execution
//! (it is "abandoned"), because the default was explored first and led to everything that could
//! follow. If the default did choose the look, the execution goes on, since nothing else would lead
//! there. The default takes the guest that has yielded least, so the others soon get their turn.
//!
//! What guests share may lie on the stack of one of them, such as a region's body, and loom does
//! not know reference counts. So in an abandoned execution each guest stops where it is, and none
//! unwinds before all have stopped.
//!
//! This bookkeeping is separate from loom and adds no happens-before edge.

use std::cell::RefCell;
use std::panic::resume_unwind;

/// Number of fruitless looks after which a guest that only relaxes goes on.
const TURNS: usize = 8;

/// What led to loom's last choice of a guest.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// A guest came to an access, and could have gone on.
    Access,
    /// The guest with this number gave way.
    Yield(usize),
    End,
}

/// What is known of a guest.
#[derive(Clone, Copy, Default)]
struct Guest {
    alive: bool,
    /// Whether the guest has seen that the execution is abandoned.
    stopped: bool,
    yields: usize,
    /// The number of writes at the guest's last look, if only a write lets the guest go on.
    looked: Option<usize>,
}

struct Guests {
    guests: Vec<Guest>,
    last: Choice,
    /// Number of writes of all guests to all cells, in the order in which loom runs them.
    writes: usize,
    abandoned: bool,
}

thread_local! {
    static STATE: RefCell<Guests> =
        const { RefCell::new(Guests { guests: Vec::new(), last: Choice::End, writes: 0, abandoned: false }) };
}

::loom::thread_local! {
    static NUMBER: core::cell::Cell<usize> = core::cell::Cell::new(usize::MAX);
}

/// The payload with which guests of an abandoned execution unwind.
pub(crate) struct Abandoned;

fn with<R>(f: impl FnOnce(&mut Guests) -> R) -> R {
    STATE.with(|state| f(&mut state.borrow_mut()))
}

/// Forgets the state of the last execution, because a new one begins.
pub(super) fn begin() {
    with(|state| *state = Guests { guests: Vec::new(), last: Choice::End, writes: 0, abandoned: false });
}

/// Announces guests before they are started. Returns the number of the first. Loom numbers its
/// threads in the same way.
pub(crate) fn announce(guests: usize) -> usize {
    with(|state| {
        let first = state.guests.len();
        state.guests.resize(first + guests, Guest { alive: true, ..Guest::default() });
        first
    })
}

/// Records that the calling guest begins under `number`.
pub(super) fn start(number: usize) {
    NUMBER.with(|mine| mine.set(number));
}

/// Records that the guest ends.
pub(super) fn end(number: usize) {
    with(|state| {
        state.guests[number].alive = false;
        state.last = Choice::End;
    });
}

/// Whether this execution was abandoned, so that nothing in it need hold.
pub(crate) fn abandoned() -> bool {
    with(|state| state.abandoned)
}

/// Records that a guest is about to access a cell, where loom may choose another guest.
pub(super) fn access() {
    with(|state| state.last = Choice::Access);
    leave_if_abandoned();
}

/// Records that a guest has written to a cell.
pub(super) fn written() {
    with(|state| state.writes += 1);
}

/// Number of writes so far.
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

impl Guests {
    /// Whether `me` is loom's default: the guest that has yielded least, and the lowest number
    /// among equals.
    fn is_default(&self, me: usize, yielder: Option<usize>) -> bool {
        let rank = |number: usize| (self.guests[number].yields, number);
        let others = (0..self.guests.len()).filter(|&g| g != me && Some(g) != yielder && self.guests[g].alive);
        others.min_by_key(|&other| rank(other)).is_none_or(|other| rank(me) < rank(other))
    }

    fn is_stuck(&self) -> bool {
        self.guests.iter().filter(|guest| guest.alive).all(|guest| guest.looked == Some(self.writes))
    }
}

/// Lets other guests go on once. Afterwards a read of a cell that was written before cannot return
/// what it returned before.
pub(super) fn yield_once() {
    leave_if_abandoned();
    give_way(NUMBER.with(core::cell::Cell::get));
    leave_if_abandoned();
}

/// Lets other guests go on until `news` says that another look can show something new. With
/// `or_else`, it returns after a few turns even without news; otherwise it reports when all guests
/// are stuck.
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

/// Abandons the execution, so that loom explores nothing further in it.
fn abandon() {
    with(|state| state.abandoned = true);
    ::loom::skip_branch();
}

/// Leaves an abandoned execution by unwinding, once all guests have stopped. Returns if the
/// execution was not abandoned or the guest already unwinds.
pub(super) fn leave_if_abandoned() {
    if !abandoned() || std::thread::panicking() {
        return;
    }
    let me = NUMBER.with(core::cell::Cell::get);
    if me == usize::MAX {
        // The thread that began the execution drops what is left of it after the guests have ended.
        return;
    }
    with(|state| state.guests[me].stopped = true);
    while with(|state| state.guests.iter().any(|guest| guest.alive && !guest.stopped)) {
        ::loom::thread::yield_now();
    }
    resume_unwind(Box::new(Abandoned));
}
