//! Computes the share of a core that a context gets, from the core's resources and from what its
//! contexts do.
//!
//! **Window.** In a window of `W` instructions, `√W` of them are ready to issue in a cycle: the square-root law of
//! Riseman and Foster (IEEE Trans. Computers C-21, 1972) and of Michaud, Seznec and Jourdan (PACT 1999). Each takes `L`
//! cycles to its result, so a computation sustains `√W / L` instructions a cycle, and never more than the core issues
//! (Karkhanis and Smith, ISCA 2004, section 3; their exponents for single programs lie between 0.3 and 0.7). `W` is
//! the reorder buffer, or what fits into the load and store queues if that is less: one instruction in four loads, one
//! in eight stores. `L` is `core.result_latency`.
//!
//! **Partition.** Reorder buffer and queues are divided into equal parts among the contexts that are active.
//!
//! **Slots.** Each active context asks for issue slots; they are given out evenly, and what one does not use goes to
//! the others: the outcome of taking turns cycle by cycle.
//!
//! Rates are instructions a cycle in 2^20ths, so that a run is the same on every host.

use baton_chipfile::config::Core;
use baton_chipfile::config::limits::MOST_CONTEXTS;

/// One, in 2^20ths.
pub(crate) const ONE: u64 = 1 << 20;
/// One in `LOADS` instructions is a load, and one in `STORES` is a store.
const LOADS: u64 = 4;
const STORES: u64 = 8;
/// The instructions of one iteration of a spin loop: load, compare, branch, and PAUSE or what
/// stands for it.
const TURN: u64 = 4;

/// The demand of a context for its core's issue slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Demand {
    /// No slots: the context waits for memory, or for a price of the kernel to pass.
    #[default]
    Nothing,
    /// All slots that its part of the window sustains: the context computes.
    Computes,
    /// The instructions of one iteration in every `n` cycles: the context spins with PAUSE.
    Turns(u64),
    /// All slots: the context spins without PAUSE, and its branches are predicted far ahead.
    Everything,
}

/// The resources of a core that its contexts share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    width: u64,
    window: u64,
    /// The latency of a result, in 1024ths of a cycle.
    latency: u64,
}

impl Shares {
    /// The resources of a core. `None` if the chip file states no reorder buffer or no width, or if
    /// the core has one context.
    pub(crate) fn of(core: &Core) -> Option<Shares> {
        if core.contexts == 1 || core.width == 0 || core.rob == 0 {
            return None;
        }
        let queue = |entries: u32, of: u64| if entries == 0 { u64::MAX } else { u64::from(entries) * of };
        let window = u64::from(core.rob).min(queue(core.load_queue, LOADS)).min(queue(core.store_queue, STORES));
        let latency = ((core.result_latency * 1024.0).round() as u64).max(1);
        Some(Shares { width: u64::from(core.width) * ONE, window, latency })
    }

    /// The rate that a computation sustains when the core's window is divided into `parts`.
    pub(crate) fn sustained(&self, parts: u64) -> u64 {
        let window = (self.window / parts.max(1)).max(1);
        // √(W · 2^40) is √W in 2^20ths.
        let ready = (window << 40).isqrt();
        (ready * 1024 / self.latency).clamp(1, self.width)
    }

    /// The issue slots per cycle that each of `active` contexts gets.
    pub(crate) fn slots(&self, active: u64, demands: &[Demand; MOST_CONTEXTS]) -> [u64; MOST_CONTEXTS] {
        let asked = demands.map(|demand| match demand {
            Demand::Nothing => 0,
            Demand::Computes => self.sustained(active),
            Demand::Turns(cycles) => (TURN * ONE / cycles.max(1)).min(self.width),
            Demand::Everything => self.width,
        });
        let mut order = [0, 1, 2, 3];
        order.sort_by_key(|&context: &usize| asked[context]);
        let (mut given, mut left) = ([0; MOST_CONTEXTS], self.width);
        for (turn, &context) in order.iter().enumerate() {
            given[context] = asked[context].min(left / (MOST_CONTEXTS - turn) as u64);
            left -= given[context];
        }
        given
    }

    /// The speed of each context, in 2^20ths of the speed on a core of its own.
    pub(crate) fn speeds(&self, active: u64, demands: &[Demand; MOST_CONTEXTS]) -> [u64; MOST_CONTEXTS] {
        let alone = self.sustained(1);
        self.slots(active, demands).map(|slots| (slots * ONE / alone).clamp(1, ONE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Demand::{Computes, Everything, Nothing, Turns};
    use proptest::prelude::*;

    fn core(rob: u32, width: u32, result_latency: f64) -> Core {
        Core { contexts: 2, rob, width, result_latency, load_queue: 48, store_queue: 24, ..Core::default() }
    }

    fn speed(core: &Core, active: u64, demands: [Demand; MOST_CONTEXTS]) -> u64 {
        Shares::of(core).expect("two contexts").speeds(active, &demands)[0]
    }

    #[test]
    fn half_a_window_is_the_root_of_two_slower() {
        // A window of 100 entries has 10 ready; with results after 5 cycles, it sustains 2 a cycle,
        // of 4 slots.
        let core = core(100, 4, 5.0);
        let shares = Shares::of(&core).unwrap();
        assert_eq!((shares.sustained(1), shares.sustained(4)), (2 * ONE, ONE));
        assert_eq!(speed(&core, 1, [Computes, Nothing, Nothing, Nothing]), ONE);
        let half = speed(&core, 2, [Computes, Nothing, Nothing, Nothing]);
        assert_eq!(half, (50u64 << 40).isqrt() * 1024 / 5120 / 2);
        // This reorder buffer is larger than the slots can use, so half of it is enough.
        let large = Core { rob: 1024, load_queue: 0, store_queue: 0, ..core.clone() };
        assert_eq!(speed(&large, 2, [Computes, Nothing, Nothing, Nothing]), ONE);
        // The load and store queues bound the window, too.
        let loads = Core { load_queue: 4, ..core.clone() };
        assert_eq!(Shares::of(&loads).unwrap().sustained(1), 4 * ONE / 5);
    }

    #[test]
    fn slots_go_round_and_what_is_left_over_is_used() {
        // With short results, the slots are the bound.
        let core = core(100, 2, 1.0);
        assert_eq!(speed(&core, 2, [Computes, Nothing, Nothing, Nothing]), ONE);
        assert_eq!(speed(&core, 2, [Computes, Computes, Nothing, Nothing]), ONE / 2);
        assert_eq!(speed(&core, 2, [Computes, Everything, Nothing, Nothing]), ONE / 2);
        // An iteration of the sibling's loop takes four slots in 44 cycles, which have 2 slots
        // each; the rest is left to the computation.
        assert_eq!(speed(&core, 2, [Computes, Turns(44), Nothing, Nothing]), ONE - 4 * ONE / 44 / 2 - 1);
        let three = Core { contexts: 4, ..core.clone() };
        assert_eq!(speed(&three, 4, [Computes, Everything, Everything, Computes]), ONE / 4);
    }

    #[test]
    fn without_a_window_nothing_is_shared() {
        let core = core(100, 2, 1.0);
        for (rob, width, contexts) in [(0, 2, 2), (100, 0, 2), (100, 2, 1)] {
            assert!(Shares::of(&Core { rob, width, contexts, ..core.clone() }).is_none());
        }
    }

    fn demand() -> impl Strategy<Value = Demand> {
        prop_oneof![Just(Nothing), Just(Computes), (1u64..200).prop_map(Turns), Just(Everything)]
    }

    proptest! {
        #![proptest_config(baton_needs::property!(256))]
        /// No slot is given twice, no slot is left while a context asks for one, and no context
        /// gets more than it asks for.
        #[test]
        fn slots_are_conserved(
            rob in 1u32..1024, width in 1u32..9, latency in 1.0f64..20.0, active in 1u64..5,
            demands in prop::array::uniform4(demand()),
        ) {
            let shares = Shares::of(&core(rob, width, latency)).unwrap();
            let given = shares.slots(active, &demands);
            let sum: u64 = given.iter().sum();
            prop_assert!(sum <= shares.width);
            let alone = |context: usize| {
                let mut only = [Nothing; MOST_CONTEXTS];
                only[context] = demands[context];
                shares.slots(active, &only)[context]
            };
            for context in 0..MOST_CONTEXTS {
                prop_assert!(given[context] <= alone(context));
                if given[context] + 3 < alone(context) {
                    prop_assert!(sum + 3 >= shares.width, "{given:?} of {}", shares.width);
                }
            }
        }
    }
}
