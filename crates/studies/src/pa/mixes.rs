//! The applications that run together: set 1 of table 2 as printed, single programs, and mixes of single threads.

use super::machine::Machine;
use std::collections::BTreeSet;

/// An application: its profile, and its numbers of threads on 1FC-12SC, on 16 cores, and on four.
pub(super) type App = (&'static str, [u32; 3]);

/// A mix: applications that run together on one machine.
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

/// Set 1 of the paper's table 2. In a mix of two parallel programs, the numbers of threads on
/// 1FC-12SC and on 4FC-12SC are the printed ones.
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

/// Whether a run of the mix takes the host much longer than others.
pub(super) fn is_long(mix: &Mix) -> bool {
    mix.apps.iter().any(|app| app.0 == "wupwise")
}

/// The mixes of set 1 on which most experiments beside the main one are done: those without
/// wupwise. Its threads meet 2,000 times in a run, with other rates of progress after nearly each
/// meeting, so that the host needs some ten seconds for a run.
pub(super) fn beside() -> impl Iterator<Item = &'static Mix> {
    SET_1.iter().filter(|mix| !is_long(mix))
}

/// One program on all cores.
pub(super) const SINGLE: [Mix; 5] = [
    Mix { name: "FFTW", apps: &[("fftw", ALONE)] },
    Mix { name: "BLAST", apps: &[("blast", ALONE)] },
    Mix { name: "semphy", apps: &[("semphy", ALONE)] },
    Mix { name: "wupwise", apps: &[("wupwise", ALONE)] },
    Mix { name: "EP", apps: &[("ep", ALONE)] },
];

/// Mixes of single threads, as many as cores: some threads compute, others use memory. Set 1 has no
/// such mix.
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

/// Finds a mix by its name.
pub(super) fn find(name: &str) -> Option<&'static Mix> {
    SET_1.iter().chain(&SINGLE).chain(&THREADS).find(|mix| mix.name == name)
}

/// Mixes of a single thread and a program with sequential parts, on which extensions of the
/// run-time and waits are tried.
pub(super) const WITH_PHASES: [&str; 3] = ["gamess + BLAST", "hmmer + BLAST", "gamess + FFTW"];

/// The number of threads of an application on this machine.
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
