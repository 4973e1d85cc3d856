//! OCOR's hardware (Yao and Lu, ISCA 2016, section 4.2): what the network interfaces write into headers, and by which rules
//! routers arbitrate; beside the paper, homes that go by the same headers. The lock that gives the hints is `spin-park` of `crates/sync`.
//!
//! What the paper leaves open is a key; `docs/reference/ocor.md` says why each default is what it is.
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

/// The paper's rule, and the others beside it.
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

/// The most requests that a home's arbiter compares.
pub const MAX_PLACES: u32 = 32;

/// What goes by the marks at a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomeArbiter {
    /// Requests for one line that are compared.
    pub places: u32,
    /// Times that a request is passed before it goes first.
    pub passes: u32,
}

/// OCOR on a chip. The default is off, with the paper's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ocor {
    /// Interfaces mark, and routers arbitrate by OCOR's rules, whatever `network.arbiter` says (but see `heeded`).
    pub enabled: bool,
    /// Routers heed the marks. Off: the registers are written and paid for, and the network is as without marks, so that what
    /// they cost can be told from what they do.
    pub heeded: bool,
    /// Whose packets go first.
    pub rule: Rule,
    /// Who goes by the marks.
    pub place: Place,
    /// What a home's arbiter has.
    pub home: HomeArbiter,
    /// Tries that a thread has before it sleeps, as the interfaces take it: what they divide into segments.
    pub tries: u32,
    /// Segments of remaining tries; each is a level. 1: rule 3 is off.
    pub levels: u32,
    /// Values of the progress field; 0: none, rule 1 is off.
    pub progress_levels: u32,
    /// Critical sections that a thread completes from one value to the next.
    pub progress_step: u32,
    /// What the progress field does behind its last value.
    pub progress_full: Full,
    /// Which wake-up messages are marked.
    pub wake_up: WakeUp,
    /// Rule 4: wake-ups have the lowest level; off: the highest.
    pub wake_up_last: bool,
    /// Rule 2: marked before unmarked.
    pub marked_first: bool,
    /// How ties among marked packets are broken.
    pub ties: Ties,
    /// A marked speculative bid takes the place of an unmarked non-speculative one.
    pub outranks_speculation: bool,
    /// The release of the lock word is marked, at the highest level.
    pub mark_release: bool,
    /// A sleeper's registration is marked, as the last try was.
    pub mark_registration: bool,
    /// Forwards and invalidations that a marked request causes are marked as it is.
    pub mark_forwards: bool,
    /// So are responses to it.
    pub mark_responses: bool,
    /// What writing the registers before a try takes.
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
            mark_release: false,
            mark_registration: false,
            mark_forwards: false,
            mark_responses: false,
            hint: Cycles(2),
        }
    }
}

choice! {
    /// What the progress field does behind its last value.
    Full {
        /// It begins again, and a fast thread looks like a slow one.
        #[default] Wrap = "wrap",
        /// It stays, and all threads look alike in the end.
        Saturate = "saturate",
    }
}

choice! {
    /// Which wake-up messages are marked.
    WakeUp {
        /// None.
        None = "none",
        /// From who unlocks to the home of the lock queue (section 4.1).
        Unlocker = "unlocker",
        /// From there to the sleeper (section 3.3).
        Home = "home",
        /// Both.
        #[default] Both = "both",
    }
}

choice! {
    /// How ties among marked packets are broken.
    Ties {
        /// By chance, from the run's seed (section 4.2).
        #[default] Random = "random",
        /// In turn.
        RoundRobin = "round-robin",
    }
}

choice! {
    /// Who goes by the marks.
    Place {
        /// Routers, as in the paper.
        #[default] Network = "network",
        /// Each home among the requests that wait for a line, and the port through which requests reach it.
        Home = "home",
        /// Routers, ports and homes.
        Both = "both",
        /// Routers, ports and homes, by a mark that no header has room for: how many tries a thread has left, exactly; releases first.
        /// Neither the registers nor the comparison cost anything, and no request is compared too late.
        Oracle = "oracle",
    }
}

impl Place {
    /// Routers go by the marks.
    pub fn has_routers(self) -> bool {
        self != Place::Home
    }

    /// Homes and the ports before them go by the marks.
    pub fn has_homes(self) -> bool {
        self != Place::Network
    }
}

choice! {
    /// Whose packets go first. The paper's rule, and others beside it; routers compare the same header fields under all.
    Rule {
        /// Tries by what is left of them, as the paper has it.
        #[default] Paper = "paper",
        /// Releases before all tries, with what they cause; then as the paper.
        ReleaseFirst = "release-first",
        /// Every request of a thread that holds a lock before all tries, its release among them, with what they cause; then as
        /// the paper.
        HolderFirst = "holder-first",
        /// Tries by how long their threads have waited, sleep included, in the place of what is left of them.
        OldestFirst = "oldest-first",
        /// Releases as above, then tries by what is left of them, the most first: a control, which must do harm where the paper's order
        /// of tries helps.
        Reversed = "reversed",
    }
}

impl Rule {
    /// Some packets go before all tries.
    pub fn has_urgent(self) -> bool {
        matches!(self, Rule::ReleaseFirst | Rule::HolderFirst | Rule::Reversed)
    }

    /// The hardware must know which threads hold a lock: a register more, written when one is taken and released.
    pub fn asks_for_sections(self) -> bool {
        matches!(self, Rule::HolderFirst | Rule::OldestFirst)
    }
}
