//! OCOR's hardware (Yao and Lu, ISCA 2016, section 4.2): the fields that network interfaces write
//! into headers, and the rules by which routers arbitrate. Beyond the paper, homes can use the same
//! headers. The lock that gives the hints is `spin-park` of `crates/sync`.
//!
//! Details that the paper leaves open are keys; `docs/reference/ocor.md` gives the reason for each
//! default.
//!
//! | file | holds |
//! | --- | --- |
//! | here | the configuration |
//! | [`gates`] | what the arbiters are made of |
//! | [`keys`] | the chip file's keys |
//! | [`rules`] | what is written into headers |

pub mod gates;
pub(in crate::config) mod keys;
mod rules;

use super::Variant;
use crate::config::choice::choice;
use baton_units::Cycles;

/// The paper's variant, and the variants beyond the paper.
pub const VARIANTS: &[Variant] = &[
    Variant {
        name: "ocor",
        what: "lock and wake-up requests are marked, and the one with the fewest tries left goes first",
        settings: &["ocor.enabled=true", "ocor.rule=paper", "ocor.where=network"],
    },
    Variant {
        name: "ocor-home",
        what: "ocor, but homes and the ports before them go by the marks, not routers; releases are marked",
        settings: &["ocor.enabled=true", "ocor.rule=paper", "ocor.where=home", "ocor.mark_release=true"],
    },
    Variant {
        name: "ocor-both",
        what: "ocor-home, and routers go by the marks as well",
        settings: &["ocor.enabled=true", "ocor.rule=paper", "ocor.where=both", "ocor.mark_release=true"],
    },
    Variant {
        name: "ocor-oracle",
        what: "the try goes first whose thread has the fewest left, wherever it waits, at no cost: what no hardware has",
        settings: &["ocor.enabled=true", "ocor.rule=paper", "ocor.where=oracle"],
    },
    Variant {
        name: "release-first",
        what: "ocor, but releases go before all tries",
        settings: &["ocor.enabled=true", "ocor.rule=release-first", "ocor.where=network"],
    },
    Variant {
        name: "holder-first",
        what: "ocor, but every request of a thread that holds a lock goes before all tries",
        settings: &["ocor.enabled=true", "ocor.rule=holder-first", "ocor.where=network"],
    },
    Variant {
        name: "oldest-first",
        what: "ocor, but the try goes first whose thread has waited longest",
        settings: &["ocor.enabled=true", "ocor.rule=oldest-first", "ocor.where=network"],
    },
];

/// Largest number of requests that the arbiter of a home compares.
pub const MAX_PLACES: u32 = 32;

/// The arbiter of a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomeArbiter {
    /// The number of requests for one line that the arbiter compares.
    pub places: u32,
    /// The number of times that a request is passed before it goes first.
    pub passes: u32,
}

/// What distinguishes the release of a lock from other requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Releases {
    /// Whether a release is marked, at the highest level.
    pub marked: bool,
    /// Whether releases travel in a virtual network of their own, marked or not, so that no other
    /// request is in front of them in a channel.
    pub apart: bool,
}

/// OCOR on a chip. The default is the paper's values, switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ocor {
    /// Whether interfaces mark requests. Routers then arbitrate by OCOR's rules, whatever
    /// `network.arbiter` is (exceptions: `heeded` and `place`).
    pub enabled: bool,
    /// Whether routers and homes heed the marks. If not, the registers are written and paid for,
    /// and the network behaves as without marks, which separates the cost of marks from their
    /// effect.
    pub heeded: bool,
    /// Which packets go first.
    pub rule: Rule,
    /// Where the marks are honoured.
    pub place: Place,
    /// The arbiters of homes.
    pub home: HomeArbiter,
    /// The number of tries before a thread sleeps, as the interfaces assume it. They divide it into
    /// segments.
    pub tries: u32,
    /// Number of levels, each for a segment of the remaining tries; 1: rule 3 is off.
    pub levels: u32,
    /// Number of values of the progress field; 0: the field does not exist, and rule 1 is off.
    pub progress_levels: u32,
    /// Number of critical sections that a thread completes from one progress value to the next.
    pub progress_step: u32,
    /// What the progress field does after its last value.
    pub progress_full: Full,
    /// The wake-up messages that are marked.
    pub wake_up: WakeUp,
    /// Whether wake-ups have the lowest level (rule 4); otherwise they have the highest.
    pub wake_up_last: bool,
    /// Whether marked packets go before unmarked ones (rule 2).
    pub marked_first: bool,
    /// The rule that breaks ties among marked packets.
    pub ties: Ties,
    /// Whether a marked speculative bid wins against a non-speculative one that is unmarked or has
    /// a later rank. Without effect unless marked packets go before unmarked ones.
    pub outranks_speculation: bool,
    /// What distinguishes the release of a lock.
    pub releases: Releases,
    /// Whether the registration of a sleeper carries the mark of the sleeper's last try.
    pub mark_registration: bool,
    /// Whether forwards and invalidations carry the mark of the request that causes them.
    pub mark_forwards: bool,
    /// Whether responses carry the mark of their request.
    pub mark_responses: bool,
    /// Cycles of writing the registers before a try.
    pub hint: Cycles,
}

impl Default for Ocor {
    fn default() -> Ocor {
        Ocor {
            enabled: false,
            heeded: true,
            rule: Rule::Paper,
            place: Place::Network,
            home: HomeArbiter { places: MAX_PLACES, passes: 255 },
            tries: 128,
            levels: 8,
            progress_levels: 8,
            progress_step: 16,
            progress_full: Full::Wrap,
            wake_up: WakeUp::Both,
            wake_up_last: true,
            marked_first: true,
            ties: Ties::Random,
            outranks_speculation: false,
            releases: Releases::default(),
            mark_registration: false,
            mark_forwards: false,
            mark_responses: false,
            hint: Cycles(2),
        }
    }
}

choice! {
    /// The behaviour of the progress field after its last value.
    Full {
        /// The field starts again from its first value: a fast thread then looks like a slow one.
        #[default] Wrap = "wrap",
        /// The field keeps its last value: in the end all threads look alike.
        Saturate = "saturate",
    }
}

choice! {
    /// The wake-up messages that are marked.
    WakeUp {
        /// None.
        None = "none",
        /// The message from the unlocking thread to the home of the lock queue (section 4.1).
        Unlocker = "unlocker",
        /// The message from the home of the lock queue to the sleeper (section 3.3).
        Home = "home",
        /// Both.
        #[default] Both = "both",
    }
}

choice! {
    /// The rule that breaks ties among marked packets.
    Ties {
        /// A random choice, from the seed of the run (section 4.2).
        #[default] Random = "random",
        /// By round-robin: each input has its turn.
        RoundRobin = "round-robin",
    }
}

choice! {
    /// Where OCOR's priorities are honoured.
    Place {
        /// Routers use the marks, as in the paper.
        #[default] Network = "network",
        /// Each home uses the marks among the requests that wait for a line, and so does the port
        /// through which requests reach the home.
        Home = "home",
        /// Routers, ports and homes use the marks.
        Both = "both",
        /// Routers, ports and homes use a mark that is too large for a header: the exact number of
        /// tries that a thread has left, with releases first. Registers and comparison cost
        /// nothing, and every request is compared in time.
        Oracle = "oracle",
    }
}

impl Place {
    /// Whether routers honour the marks.
    pub fn has_routers(self) -> bool {
        self != Place::Home
    }

    /// Whether homes, and the ports before them, honour the marks.
    pub fn has_homes(self) -> bool {
        self != Place::Network
    }
}

choice! {
    /// Which packets go first: the paper's rule, and others for comparison. Routers compare the
    /// same header fields under all rules.
    Rule {
        /// Tries ordered by the number left, as in the paper.
        #[default] Paper = "paper",
        /// Releases and the messages that they cause before all tries; otherwise as in the paper.
        ReleaseFirst = "release-first",
        /// All requests of a thread that holds a lock, including its release and the messages that
        /// they cause, before all tries; otherwise as in the paper.
        HolderFirst = "holder-first",
        /// Tries ordered by how long their threads have waited, including sleep, instead of by the
        /// number left.
        OldestFirst = "oldest-first",
        /// Releases come first, then tries, with the largest number of remaining tries first. This
        /// variant is a control: it must do harm where the paper's order of tries helps.
        Reversed = "reversed",
    }
}

impl Rule {
    /// Whether some packets go before all tries.
    pub fn has_urgent(self) -> bool {
        matches!(self, Rule::ReleaseFirst | Rule::HolderFirst | Rule::Reversed)
    }

    /// Whether the hardware must know which threads hold a lock: a further register, written when a
    /// lock is taken and released.
    pub fn asks_for_sections(self) -> bool {
        matches!(self, Rule::HolderFirst | Rule::OldestFirst)
    }
}
