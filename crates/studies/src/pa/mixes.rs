//! The applications that run together: set 1 of table 2 as printed, single programs, and mixes of single threads.

use super::machine::Machine;
use std::collections::BTreeSet;

/// An application: its profile, and its threads on 1FC-12SC, on 16 cores, and on four.
pub(super) type App = (&'static str, [u32; 3]);

/// A mix.
pub(super) struct Mix {
    pub(super) name: &'static str,
    pub(super) apps: &'static [App],
}

/// A single thread.
pub(super) const ONE: [u32; 3] = [1, 1, 1];
const WITH_ONE: [u32; 3] = [12, 15, 3];
const FIRST: [u32; 3] = [6, 8, 2];
const SECOND: [u32; 3] = [7, 8, 2];
const ALONE: [u32; 3] = [13, 16, 4];

/// Set 1 of table 2; in a mix of two parallel programs their threads on 1FC-12SC and 4FC-12SC are as printed.
pub(super) const SET_1: [Mix; 12] = [
    Mix { name: "gamess + FFTW", apps: &[("gamess", ONE), ("fftw", WITH_ONE)] },
    Mix { name: "gamess + BLAST", apps: &[("gamess", ONE), ("blast", WITH_ONE)] },
    Mix { name: "hmmer + BLAST", apps: &[("hmmer", ONE), ("blast", WITH_ONE)] },
    Mix { name: "gamess + wupwise", apps: &[("gamess", ONE), ("wupwise", WITH_ONE)] },
    Mix { name: "gobmk + EP", apps: &[("gobmk", ONE), ("ep", WITH_ONE)] },
    Mix { name: "mcf + FFTW", apps: &[("mcf", ONE), ("fftw", WITH_ONE)] },
    Mix { name: "mcf + BLAST", apps: &[("mcf", ONE), ("blast", WITH_ONE)] },
    Mix { name: "astar + EP", apps: &[("astar", ONE), ("ep", WITH_ONE)] },
    Mix { name: "FFTW + BLAST", apps: &[("fftw", FIRST), ("blast", SECOND)] },
    Mix { name: "FFTW + wupwise", apps: &[("fftw", FIRST), ("wupwise", SECOND)] },
    Mix { name: "BLAST + wupwise", apps: &[("blast", FIRST), ("wupwise", SECOND)] },
    Mix { name: "semphy + EP", apps: &[("semphy", FIRST), ("ep", SECOND)] },
];

/// The mixes of set 1 that experiments beside the main one are done on: those without wupwise, of whose 2,000 meetings a run nearly
/// each has rates of its own, so that a run takes the host some ten seconds.
pub(super) fn beside() -> impl Iterator<Item = &'static Mix> {
    SET_1.iter().filter(|mix| mix.apps.iter().all(|app| app.0 != "wupwise"))
}

/// One program on all cores.
pub(super) const SINGLE: [Mix; 5] = [
    Mix { name: "FFTW", apps: &[("fftw", ALONE)] },
    Mix { name: "BLAST", apps: &[("blast", ALONE)] },
    Mix { name: "semphy", apps: &[("semphy", ALONE)] },
    Mix { name: "wupwise", apps: &[("wupwise", ALONE)] },
    Mix { name: "EP", apps: &[("ep", ALONE)] },
];

/// Single threads alone, as many as cores: of computing and of memory. Set 1 has no such mix.
pub(super) const THREADS: [Mix; 2] = [
    Mix {
        name: "13 single threads",
        apps: &[
            ("astar", ONE),
            ("gamess", ONE),
            ("mcf", ONE),
            ("gobmk", ONE),
            ("astar", ONE),
            ("hmmer", ONE),
            ("mcf", ONE),
            ("gamess", ONE),
            ("astar", ONE),
            ("gobmk", ONE),
            ("mcf", ONE),
            ("hmmer", ONE),
            ("gamess", ONE),
        ],
    },
    Mix { name: "4 single threads", apps: &[("astar", ONE), ("gamess", ONE), ("mcf", ONE), ("gobmk", ONE)] },
];

/// The mix of that name.
pub(super) fn find(name: &str) -> Option<&'static Mix> {
    SET_1.iter().chain(&SINGLE).chain(&THREADS).find(|mix| mix.name == name)
}

/// Mixes of a single thread and a program with sequential parts: what extensions of the run-time and waits are tried on.
pub(super) const WITH_PHASES: [&str; 3] = ["gamess + BLAST", "hmmer + BLAST", "gamess + FFTW"];

/// Threads of an application on these cores.
pub(super) fn threads(app: &App, machine: Machine) -> u32 {
    app.1[match machine {
        Machine::One | Machine::Near => 0,
        Machine::Four | Machine::Half => 1,
        Machine::Single => 2,
    }]
}

/// Every profile that a mix names.
pub(super) fn programs() -> BTreeSet<&'static str> {
    SET_1.iter().chain(&SINGLE).chain(&THREADS).flat_map(|mix| mix.apps).map(|app| app.0).collect()
}
