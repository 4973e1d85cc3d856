//! Where in its loop a background thread looks whether it is to end.

use crate::program::{Op, Ops};
use baton_chip::act;
use baton_units::Cycles;

/// How often a thread that another one tells to end looks for that in one sleep.
const LOOKS: u64 = 64;

/// Sleeps for `cycles` cycles, or until `over` returns true: too long by at most 1/[`LOOKS`] of them.
/// Returns whether `over` did.
pub(super) fn sleep(cycles: u64, over: impl Fn() -> bool) -> bool {
    let (mut left, slice) = (cycles, cycles.div_ceil(LOOKS));
    while left > 0 && !over() {
        act::delay(Cycles(slice.min(left)));
        left -= slice.min(left);
    }
    over()
}

/// Finds the place in each turn of a loop at which its thread looks whether to go on.
pub(super) struct Look {
    /// The steps from a turn's beginning to that place. Work counts only if there is nothing else.
    steps: Vec<Op>,
    /// How many of these steps the thread has followed in this turn; `None` if it does other steps.
    followed: Option<usize>,
}

impl Look {
    /// The steps are those from `from` to the end of the recording.
    pub(super) fn behind(ops: &Ops, from: usize) -> Look {
        let all = || (from..ops.len()).map(|at| ops.at(at));
        let steps: Vec<Op> = all().filter(|op| !matches!(op, Op::Work(_))).collect();
        Look { steps: if steps.is_empty() { all().collect() } else { steps }, followed: None }
    }

    /// A turn begins.
    pub(super) fn begins(&mut self) {
        self.followed = Some(0);
    }

    /// Takes the step that the thread has just followed into account. Returns whether the thread is
    /// at the place.
    pub(super) fn is_behind(&mut self, op: Op) -> bool {
        let (Some(followed), false) = (self.followed, op == Op::Turn) else { return false };
        let alike = |awaited: &Op| match (op, *awaited) {
            (Op::Work(_), Op::Work(_)) | (Op::Delay(_), Op::Delay(_)) => true,
            (op, awaited) => op == awaited,
        };
        match self.steps.get(followed) {
            Some(awaited) if alike(awaited) => self.followed = Some(followed + 1),
            Some(_) if matches!(op, Op::Work(_)) => {}
            _ => self.followed = None,
        }
        self.followed == Some(self.steps.len())
    }
}
