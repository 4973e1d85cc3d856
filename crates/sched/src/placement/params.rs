//! The parameters of policies for chips with fast and slow cores.
//!
//! Names and defaults are those of Saez and others, "Operating System Support for Mitigating Software Scalability Bottlenecks on
//! Asymmetric Multicore Processors" (CF 2010), section 2.1. What that paper does not print has a rule or a range here, and is marked
//! as unprinted.

/// An `enum` of words, with the names that a chip file has for them.
macro_rules! words {
    ($(#[$meta:meta])* $Name:ident { $($(#[$doc:meta])* $Word:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $Name { $($(#[$doc])* $Word,)+ }

        impl $Name {
            /// Their names in a chip file.
            pub const NAMES: &[&str] = &[$($text),+];

            /// The name in a chip file.
            pub fn name(self) -> &'static str {
                match self { $($Name::$Word => $text,)+ }
            }

            /// The one of that name.
            pub fn named(name: &str) -> Option<$Name> {
                match name { $($text => Some($Name::$Word),)+ _ => None }
            }
        }
    };
}

words! {
    /// When an application's last runnable thread enters the class SP (unprinted).
    EnterSp {
        /// When the count of runnable threads falls to one.
        #[default] Falls = "falls",
        /// When it falls to one and has been above the HP threshold since it was last one or none.
        FromHp = "from-hp",
    }
}

words! {
    /// The priority of a master thread for fast cores while it can run (unprinted).
    Master {
        /// As that of the class SP, whatever the class of its application is.
        #[default] Sp = "sp",
        /// Above SP.
        First = "first",
        /// Above the other threads of the class MP, below SP.
        Mp = "mp",
        /// None: the notice says nothing.
        Ignored = "ignored",
    }
}

words! {
    /// When `linux` takes CPUs of higher priority although a thread fits where it is.
    Packing {
        /// In balancing: an idle CPU takes a running thread from a CPU of lower priority.
        #[default] Balance = "balance",
        /// A thread that wakes also goes to the idle CPU of the highest priority.
        Wake = "wake",
        /// Never.
        Off = "off",
    }
}

/// The parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amp {
    /// Applications with more runnable threads than this are highly parallel; `None`: fast cores + 1.
    pub hp_threshold: Option<u32>,
    /// Time slices after which a thread of the class SP is demoted. At least 1.
    pub boost_ticks: u64,
    /// Time slices from one round of swaps to the next. At least 1. Unprinted.
    pub swap_ticks: u64,
    /// When a thread enters SP.
    pub enter_sp: EnterSp,
    /// What a master thread gets.
    pub master: Master,
    /// Threads that have said that they spin count as runnable where the phases of an application are detected (unprinted; the paper
    /// says only that such threads are marked).
    pub count_marked: bool,
    /// Of threads with equal rights to a fast core the nearest gets it.
    pub topology: bool,
    /// Under `linux`: cycles after which a thread's past counts half; `None`: 3.2 time slices, 32 ms where a slice is 10 ms.
    pub util_half_life: Option<u64>,
    /// Under `linux`: a thread fits a CPU if its utilisation is below so many hundredths of the CPU's capacity.
    pub misfit_percent: u32,
    /// Under `linux`: time slices from one balancing to the next. At least 1.
    pub balance_ticks: u64,
    /// Under `linux`: when threads prefer CPUs of higher priority.
    pub packing: Packing,
    /// Under `crit`: cycles for which a fast CPU takes part in no swap after one; `None`: a time slice.
    pub min_stay: Option<u64>,
    /// Under `crit`: a thread comes at once if so many wait for it.
    pub crit_waiters: u32,
    /// Under `crit`: a thread that holds a lock keeps its CPU: it is not swapped for another, and has up to a time slice more.
    pub holder_keeps: bool,
}

impl Amp {
    /// The paper's values, and ours where it has none.
    pub const DEFAULT: Amp = Amp {
        hp_threshold: None,
        boost_ticks: 100,
        swap_ticks: 10,
        enter_sp: EnterSp::Falls,
        master: Master::Sp,
        count_marked: true,
        topology: false,
        util_half_life: None,
        misfit_percent: 80,
        balance_ticks: 1,
        packing: Packing::Balance,
        min_stay: None,
        crit_waiters: 1,
        holder_keeps: false,
    };
}

impl Default for Amp {
    fn default() -> Amp {
        Amp::DEFAULT
    }
}
