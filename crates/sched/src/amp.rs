//! The parameters of policies for chips with fast and slow cores.
//!
//! Names and defaults are those of Saez and others, "Operating System Support for Mitigating
//! Software Scalability Bottlenecks on Asymmetric Multicore Processors" (CF 2010), section 2.1.
//! Values that the paper does not give are a rule or a range in this file, and their comments say
//! so.

/// Declares an `enum` whose values have names in a chip file.
macro_rules! words {
    ($(#[$meta:meta])* $Name:ident { $($(#[$doc:meta])* $Word:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $Name { $($(#[$doc])* $Word,)+ }

        impl $Name {
            /// The names of all values in a chip file.
            pub const NAMES: &[&str] = &[$($text),+];

            /// The name of the value in a chip file.
            pub fn name(self) -> &'static str {
                match self { $($Name::$Word => $text,)+ }
            }

            /// Returns the value with this name.
            pub fn named(name: &str) -> Option<$Name> {
                match name { $($text => Some($Name::$Word),)+ _ => None }
            }
        }
    };
}

words! {
    /// When the last runnable thread of an application enters the class SP (not given in the
    /// paper).
    EnterSp {
        /// When the count of runnable threads falls to one.
        #[default] Falls = "falls",
        /// When the count falls to one and was above the HP threshold at some time since it was
        /// last one or zero.
        FromHp = "from-hp",
    }
}

words! {
    /// How much time an application has in the class SP when it enters the class again (not given
    /// in the paper).
    Renewal {
        /// All of `boost_ticks`, however soon it comes again.
        #[default] Whole = "whole",
        /// What it has not used up. Each cycle in a parallel phase gives back one cycle, up to
        /// `boost_ticks`.
        Earned = "earned",
    }
}

words! {
    /// The priority of a master thread for fast cores while it can run (not given in the paper).
    Master {
        /// The priority of the class SP, whatever the class of its application is.
        #[default] Sp = "sp",
        /// The priority is higher than that of the class SP.
        First = "first",
        /// The priority is between the classes: above the other threads of MP and below SP.
        Mp = "mp",
        /// No special priority.
        Ignored = "ignored",
    }
}

words! {
    /// When `linux` takes CPUs of higher priority although a thread fits where it is.
    Packing {
        /// In balancing, and when a CPU runs out of threads: the idle CPU takes a running thread
        /// from a CPU of lower priority.
        #[default] Balance = "balance",
        /// The same as `Balance`; in addition, a thread that wakes goes to the idle CPU of the
        /// highest priority among those that it fits.
        Wake = "wake",
        Off = "off",
    }
}

/// The parameters of policies for chips with fast and slow cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amp {
    /// Applications with more runnable threads than this are highly parallel; `None` means the
    /// number of fast cores plus 1.
    pub hp_threshold: Option<u32>,
    /// Time slices after which an application of the class SP is demoted, at least 1.
    pub boost_ticks: u64,
    /// Time slices from one round of swaps to the next, at least 1 (not given in the paper).
    pub swap_ticks: u64,
    /// When an application enters SP.
    pub enter_sp: EnterSp,
    /// How much time an application has in SP when it enters the class again.
    pub renew_boost: Renewal,
    /// The priority of a master thread.
    pub master: Master,
    /// Whether threads that have reported that they spin count as runnable when the phases of an
    /// application are detected (not given in the paper, which says only that such threads are
    /// marked).
    pub count_marked: bool,
    /// Whether the nearest of several threads with equal rights gets a fast core.
    pub topology: bool,
    /// Whether threads of one class take turns on a fast core only with threads under the same
    /// last-level cache. A thread then comes from another last-level cache only in the place of a
    /// thread of a lower class, or to a fast core that idles.
    pub stay_in_domain: bool,
    /// Under `linux`: cycles after which a thread's past counts half; `None` means 3.2 time slices,
    /// which is 32 ms if a slice is 10 ms.
    pub util_half_life: Option<u64>,
    /// Under `linux`: a thread fits a CPU if its utilisation is below this percentage of the CPU's
    /// capacity.
    pub misfit_percent: u32,
    /// Under `linux`: time slices from one balancing to the next, at least 1.
    pub balance_ticks: u64,
    /// Under `linux`: when threads prefer CPUs of higher priority.
    pub packing: Packing,
    /// Under `crit`: cycles for which a fast CPU takes part in no further swap after one; `None`
    /// means that the policy decides lock by lock.
    pub min_stay: Option<u64>,
    /// Under `crit`: the price of the two preemptions of a swap, in cycles; `None` means 0.
    pub swap_price: Option<u64>,
    /// Under `crit`: a thread comes to a fast CPU at once if at least this many threads wait for
    /// it.
    pub crit_waiters: u32,
    /// Under `crit`: whether a thread that is known to hold a lock makes room for no other thread
    /// on the fast CPU on which it runs. On any CPU, it then has up to one more time slice.
    pub holder_keeps: bool,
}

impl Amp {
    /// The paper's values, and ours where the paper has none.
    pub const DEFAULT: Amp = Amp {
        hp_threshold: None,
        boost_ticks: 100,
        swap_ticks: 10,
        enter_sp: EnterSp::Falls,
        renew_boost: Renewal::Whole,
        master: Master::Sp,
        count_marked: true,
        topology: false,
        stay_in_domain: false,
        util_half_life: None,
        misfit_percent: 80,
        balance_ticks: 1,
        packing: Packing::Balance,
        min_stay: None,
        swap_price: None,
        crit_waiters: 1,
        holder_keeps: false,
    };
}

impl Default for Amp {
    fn default() -> Amp {
        Amp::DEFAULT
    }
}
