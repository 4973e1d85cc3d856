//! Mechanisms: hardware in the cores' network interfaces that hears what locks tell, and marks packets by it.
//!
//! A mechanism is a folder here and a line in [`mechanisms`]. The folder holds its keys (`keys.rs`: they are read from a chip
//! file's table of the mechanism's name) and its rules, [`Annotator`]. A mechanism has no counters of its own yet: packets of lock
//! requests are counted for all alike. Everything else goes by the registry: the chip's configuration, the guest's hints (`core/mark.rs` of `baton-chip`), what a home's messages take
//! over, the network's arbiters.
//!
//! | folder | holds |
//! | --- | --- |
//! | [`ocor`] | retry-aware priorities of lock and wake-up requests (Yao and Lu, ISCA 2016) |

use baton_machine::LockHint;
use baton_noc::Header;
use baton_units::Cycles;

/// What a request of a lock is: its class, and what the lock told before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockRequest {
    /// A try to take a lock, and for how many cycles its thread has waited for it.
    Try(LockHint, u64),
    /// The release of one.
    Release(LockHint),
    /// A sleeper enters the lock's queue.
    Registration(LockHint),
    /// An unlocking thread looks for a sleeper at the queue's home.
    WakeUp(LockHint),
    /// The home of the queue wakes a sleeper.
    Woken(LockHint),
}

impl LockRequest {
    /// What a hint from a lock is for: tries have at least one left, the one that is made. `waited`: the thread's wait so far.
    pub fn of(hint: LockHint, waited: u64) -> LockRequest {
        if hint.retries_left == 0 { LockRequest::Release(hint) } else { LockRequest::Try(hint, waited) }
    }
}

/// Which messages take over the mark of the request that caused them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inheritance {
    /// Requests themselves; off: nothing is marked.
    pub requests: bool,
    /// Forwards and invalidations.
    pub forwards: bool,
    /// Responses.
    pub responses: bool,
    /// A mark that all messages take over.
    pub always: Option<Header>,
}

/// How a home chooses among the requests that wait for one line: by their headers' ranks, the smallest first, of equal ones the
/// first to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomeOrder {
    /// So many requests of a line are compared; later ones stand behind them in order of arrival.
    pub places: u32,
    /// A request that others have passed so often goes first.
    pub passes: u32,
    /// Requests with a rank go before those without; otherwise one without that is first in line keeps its turn.
    pub ranked_first: bool,
}

/// A mechanism's rules. Nothing here takes time but the registers; what is not overridden marks nothing.
pub trait Annotator {
    /// Whether the chip has it. One that the chip lacks tells lock requests from others all the same, so that they are counted.
    fn is_enabled(&self) -> bool;

    /// Writing the registers for a hint.
    fn hint_cycles(&self) -> Cycles {
        Cycles(0)
    }

    /// Writing a register when a critical section is entered or left.
    fn section_cycles(&self) -> Cycles {
        Cycles(0)
    }

    /// The header fields of a lock's request. The message class is filled in when the packet is made.
    fn header(&self, request: LockRequest) -> Header;

    /// The header of all that a thread sends from the hint of a release until it has left the section, if it is marked: a
    /// release may be a plain store, which takes no hint.
    fn leaving(&self) -> Option<Header> {
        None
    }

    /// The header of all that a thread sends while it holds a lock, if it is marked.
    fn holding(&self) -> Option<Header> {
        None
    }

    /// Values that must fit together: the key that does not, its value, and what is expected of it.
    fn misfit(&self) -> Option<(&'static str, String, String)> {
        None
    }

    /// What messages inherit.
    fn inheritance(&self) -> Inheritance {
        Inheritance::default()
    }

    /// How homes choose among requests that wait for a line; `None`: in order of arrival.
    fn home_order(&self) -> Option<HomeOrder> {
        None
    }

    /// The network with the mechanism's arbiters; `seed` draws a number of the run's own.
    fn routers(&self, network: baton_noc::Config, seed: &mut dyn FnMut() -> u64) -> baton_noc::Config {
        let _ = seed;
        network
    }
}

/// A way in which a mechanism can be had, for tables that compare networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Its name.
    pub name: &'static str,
    /// One line: what it does.
    pub what: &'static str,
    /// The keys that make it: they name the rule, so that a name means the same whatever the chip file says.
    pub settings: &'static [&'static str],
}

/// The registry: a line for each mechanism, its folder and its type. `$with` is a macro that takes the list.
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

        /// The mechanisms of a chip, as its file gives them.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct Mechanisms {
            $(
                #[doc = concat!("The keys `", stringify!($folder), ".*`.")]
                pub $folder: $folder::$type,
            )+
        }

        impl Mechanisms {
            /// The keys that switch on those that the chip has; a chip has one at most.
            pub fn enabled(&self) -> Vec<&'static str> {
                let all = [$((concat!(stringify!($folder), ".enabled"), self.$folder.is_enabled())),+];
                all.into_iter().filter(|each| each.1).map(|each| each.0).collect()
            }

            /// The first values of a mechanism that do not fit together.
            pub fn misfit(&self) -> Option<(&'static str, String, String)> {
                None$(.or_else(|| self.$folder.misfit()))+
            }

            /// The one that the chip has; if it has none, the registry's first, which is off.
            pub fn active(&self) -> Active {
                let all = [$(Active::$type(self.$folder)),+];
                *all.iter().find(|each| each.is_enabled()).unwrap_or(&all[0])
            }
        }

        /// One mechanism, dispatched statically.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Active {
            $(
                #[doc = concat!("That of `", stringify!($folder), "`.")]
                $type($folder::$type),
            )+
        }

        /// The variants of all mechanisms, in the order of the registry.
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
