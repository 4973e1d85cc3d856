//! Mechanisms: hardware in the cores' network interfaces that receives hints from locks and marks
//! packets accordingly.
//!
//! A mechanism is a folder here and a line in [`mechanisms`]. The folder holds its keys (`keys.rs`;
//! a chip file has them in a table with the mechanism's name) and its rules, an [`Annotator`]. A
//! mechanism has no counters of its own yet: packets of lock requests are counted in the same way
//! for all mechanisms. All other code finds a mechanism through the registry: the chip's
//! configuration, the guest's hints (`core/mark.rs` of `baton-chip`), the homes, and the network's
//! arbiters.
//!
//! | folder | holds |
//! | --- | --- |
//! | [`ocor`] | retry-aware priorities of lock and wake-up requests (Yao and Lu, ISCA 2016) |

use baton_machine::LockHint;
use baton_noc::Header;
use baton_units::Cycles;

/// A request of a lock: its class, and the hint that the lock gave before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockRequest {
    /// A try to take a lock, and the cycles for which its thread has waited for the lock.
    Try(LockHint, u64),
    /// The release of a lock.
    Release(LockHint),
    /// The registration of a sleeper in the lock's queue.
    Registration(LockHint),
    /// The request of an unlocking thread that looks for a sleeper at the queue's home.
    WakeUp(LockHint),
    /// The message by which the home of the queue wakes a sleeper.
    Woken(LockHint),
}

impl LockRequest {
    /// The lock request that follows a hint: a try if at least one is left, which is the one being
    /// made. `waited` is the thread's wait so far.
    pub fn of(hint: LockHint, waited: u64) -> LockRequest {
        if hint.retries_left == 0 { LockRequest::Release(hint) } else { LockRequest::Try(hint, waited) }
    }
}

/// Which messages inherit the mark of the request that caused them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inheritance {
    /// Whether requests themselves are marked. If not, nothing is.
    pub requests: bool,
    /// Whether forwards and invalidations inherit the mark.
    pub forwards: bool,
    /// Whether responses inherit the mark.
    pub responses: bool,
    /// A mark that messages of every class inherit, whatever the other fields say.
    pub always: Option<Header>,
}

/// How a home orders the requests that wait for one line: by the rank in their headers, the
/// smallest first, and by arrival among equal ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomeOrder {
    /// The number of requests for a line that are compared. Later ones queue behind them in order
    /// of arrival.
    pub places: u32,
    /// A request that others have passed this often goes first.
    pub passes: u32,
    /// Whether requests with a rank precede those without. Otherwise a request without a rank that
    /// is first in line is served first.
    pub ranked_first: bool,
}

/// The rules of a mechanism. Only writing the registers takes time; methods that are not overridden
/// mark nothing.
pub trait Annotator {
    /// Whether the chip has the mechanism. A mechanism that is off still classifies lock requests,
    /// so that they are counted.
    fn is_enabled(&self) -> bool;

    /// The cycles for writing the registers for a hint.
    fn hint_cycles(&self) -> Cycles {
        Cycles(0)
    }

    /// The cycles for writing a register when a critical section is entered or left.
    fn section_cycles(&self) -> Cycles {
        Cycles(0)
    }

    /// The header fields for a lock's request. The message class is filled in when the packet is
    /// made; until then a class other than 0 says that the request travels in the network of
    /// [`Annotator::has_release_network`].
    fn header(&self, request: LockRequest) -> Header;

    /// Whether the chip has a virtual network for releases alone.
    fn has_release_network(&self) -> bool {
        false
    }

    /// The header for everything that a thread sends from the hint of a release until it has left
    /// the section, if that is marked. A release may be a plain store, which takes no hint.
    fn leaving(&self) -> Option<Header> {
        None
    }

    /// The header for everything that a thread sends while it holds a lock; `None` if the mechanism
    /// does not mark this.
    fn holding(&self) -> Option<Header> {
        None
    }

    /// Checks values that must fit together. Returns the key that does not fit, its value, and what
    /// is expected.
    fn misfit(&self) -> Option<(&'static str, String, String)> {
        None
    }

    /// What messages inherit.
    fn inheritance(&self) -> Inheritance {
        Inheritance::default()
    }

    /// How homes order requests that wait for a line; `None` for order of arrival.
    fn home_order(&self) -> Option<HomeOrder> {
        None
    }

    /// The network with the mechanism's arbiters. `seed` draws a random number for the run.
    fn routers(&self, network: baton_noc::Config, seed: &mut dyn FnMut() -> u64) -> baton_noc::Config {
        let _ = seed;
        network
    }
}

/// A named variant of a mechanism, for tables that compare networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The name of the variant.
    pub name: &'static str,
    /// The effect of the variant, in one line.
    pub what: &'static str,
    /// The keys that select the variant. They state the rule, so that a name means the same for any
    /// chip file.
    pub settings: &'static [&'static str],
}

/// The registry: for each mechanism, its folder and its type. `$with` is a macro that takes the
/// list.
macro_rules! mechanisms {
    ($with:ident) => {
        $with! {
            ocor: Ocor,
        }
    };
}
pub(crate) use mechanisms;

macro_rules! declare {
    ($($folder:ident: $type:ident,)+) => {
        $(pub mod $folder;)+

        /// The mechanisms of a chip, as its file describes them.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct Mechanisms {
            $(
                #[doc = concat!("The keys `", stringify!($folder), ".*`.")]
                pub $folder: $folder::$type,
            )+
        }

        impl Mechanisms {
            /// The keys that switch on the chip's mechanisms; a chip has at most one.
            pub fn enabled(&self) -> Vec<&'static str> {
                let all = [$((concat!(stringify!($folder), ".enabled"), self.$folder.is_enabled())),+];
                all.into_iter().filter(|each| each.1).map(|each| each.0).collect()
            }

            /// Returns the first key of a mechanism whose value does not fit the others, with the
            /// value found and the value expected.
            pub fn misfit(&self) -> Option<(&'static str, String, String)> {
                None$(.or_else(|| self.$folder.misfit()))+
            }

            /// The chip's mechanism, or the registry's first one, switched off, if the chip has
            /// none.
            pub fn active(&self) -> Active {
                let all = [$(Active::$type(self.$folder)),+];
                *all.iter().find(|each| each.is_enabled()).unwrap_or(&all[0])
            }
        }

        /// A mechanism, dispatched statically.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Active {
            $(
                #[doc = concat!("That of `", stringify!($folder), "`.")]
                $type($folder::$type),
            )+
        }

        /// Returns the variants of all mechanisms, in the order of the registry.
        pub fn variants() -> impl Iterator<Item = &'static Variant> {
            [$($folder::VARIANTS),+].into_iter().flatten()
        }

        /// The keys that switch mechanisms on.
        pub const SWITCHES: &[&str] = &[$(concat!(stringify!($folder), ".enabled")),+];

        impl Annotator for Active {
            fn is_enabled(&self) -> bool {
                match self { $(Active::$type(each) => each.is_enabled()),+ }
            }
            fn hint_cycles(&self) -> Cycles {
                match self { $(Active::$type(each) => each.hint_cycles()),+ }
            }
            fn section_cycles(&self) -> Cycles {
                match self { $(Active::$type(each) => each.section_cycles()),+ }
            }
            fn header(&self, request: LockRequest) -> Header {
                match self { $(Active::$type(each) => each.header(request)),+ }
            }
            fn has_release_network(&self) -> bool {
                match self { $(Active::$type(each) => each.has_release_network()),+ }
            }
            fn leaving(&self) -> Option<Header> {
                match self { $(Active::$type(each) => each.leaving()),+ }
            }
            fn holding(&self) -> Option<Header> {
                match self { $(Active::$type(each) => each.holding()),+ }
            }
            fn inheritance(&self) -> Inheritance {
                match self { $(Active::$type(each) => each.inheritance()),+ }
            }
            fn home_order(&self) -> Option<HomeOrder> {
                match self { $(Active::$type(each) => each.home_order()),+ }
            }
            fn routers(&self, network: baton_noc::Config, seed: &mut dyn FnMut() -> u64) -> baton_noc::Config {
                match self { $(Active::$type(each) => each.routers(network, seed)),+ }
            }
        }
    };
}

mechanisms!(declare);
