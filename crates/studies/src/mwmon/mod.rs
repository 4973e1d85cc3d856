//! mwmon (Anastopoulos and Koziris, *Facilitating Efficient Synchronization of Asymmetric Threads
//! on Hyper-Threaded Processors*, 2008): MONITOR and MWAIT in a system call, for threads that wait
//! beside one that computes.
//!
//! | file | holds |
//! | --- | --- |
//! | `waits` | the mechanisms, each as a notice and as a barrier |
//! | `product` | the worker's products of matrices |
//! | `kernels` | figure 5: the kernels, each in two sizes |
//! | `helper` | a kernel with a helper that prefetches |
//! | `run` | one run, and what it shows |
//! | `jobs` | the runs of the study, and the prices of each reading |
//! | `results` | the results of runs, with the figures that claims need |
//! | `claims` | M1 to M11 with their rules |
//! | `assisted` | the parts of M8 to M11 that need all four kernels, with their rules |
//! | `open` | falsifiers, and what the paper leaves open |
//! | `why` | why a claim came out as it did |
//! | `figures` | the paper's tables and figures beside ours |

mod assisted;
mod claims;
mod figures;
mod helper;
mod jobs;
mod kernels;
mod open;
mod product;
mod results;
mod run;
mod waits;
mod why;

use crate::kit::{Inputs, inputs};
use crate::{Entry, Extent, Findings, Study, StudyError};
pub use jobs::Mwmon;
use results::Results;
use run::{Figures, Run};

/// The study's line in the registry.
pub(crate) const ENTRY: Entry = Entry {
    name: "mwmon",
    paper: "Anastopoulos and Koziris, 2008",
    page: "docs/reference/mwmon.md",
    quick: "fewer repetitions, three degrees of asymmetry, less than three minutes",
    chips: &["chips/netburst-ht.toml"],
    profiles: &[],
    open: |inputs| Ok(Box::new(Mwmon::open(inputs)?)),
};

/// The files that state the study's rules, which are hashed.
const RULES: [&str; 2] = [include_str!("claims.rs"), include_str!("open.rs")];
/// The rules above, and the name under which they were frozen. Since then claims have an oracle arm,
/// a condition is read with the intervals of its figures, and intervals are taken repetition by
/// repetition; what stood here for the kernels that came later is left out, and evictions and changes
/// of mode are among the open choices. No band, direction or condition changed.
const RESTATED: [&str; 2] = ["1f373a66ec5d3fb6", "14800f0cbdbaca66"];
/// The file with the rules that came later, with transitive closure and BT's stencil: before either
/// kernel ran with a helper in the paper's size.
const LATER: [&str; 1] = [include_str!("assisted.rs")];
/// The later rules, and the name under which they were frozen; what changed is the same.
const LATER_RESTATED: [&str; 2] = ["203ca8bab755cbf1", "e444f9b8863b73d3"];

impl Mwmon {
    /// Opens the study with its chip file.
    ///
    /// # Errors
    /// What is wrong with the file: its name, key, and what was expected.
    pub fn open(inputs: &Inputs) -> Result<Mwmon, StudyError> {
        let [chip] = &inputs.chips[..] else {
            return Err(StudyError::input("study `mwmon` takes one chip file"));
        };
        let contexts = chip.chip.core.contexts;
        if contexts != 2 {
            return Err(chip.wrong(format!("key `core.contexts` is {contexts}; this study needs 2")));
        }
        Ok(Mwmon { chip: chip.clone(), frozen: inputs.frozen("none", inputs::rules(&RULES, Some(RESTATED))) })
    }
}

impl Study for Mwmon {
    type Run = Result<Run, String>;
    type Figures = Figures;

    fn version(&self) -> &'static str {
        // The number is raised whenever the simulator or a load gives other figures for the same
        // inputs.
        "mwmon 2"
    }

    fn runs(&self, extent: Extent) -> Vec<(String, Self::Run)> {
        jobs::cases(extent).into_iter().map(|case| self.job(case)).collect()
    }

    fn run(&self, run: &Self::Run) -> Result<Figures, String> {
        run.as_ref().map_err(Clone::clone)?.figures()
    }

    fn judge(&self, extent: Extent, done: &[(Self::Run, Figures)]) -> Findings {
        let results = Results::new(done);
        let full = extent == Extent::Full;
        let notes = NOTES.iter().map(|&note| note.to_owned());
        Findings {
            claims: [claims::all(&results, full), assisted::claims(&results, full)].concat(),
            falsifiers: [open::falsifiers(&results), assisted::falsifiers(&results)].concat(),
            unspecified: open::unspecified(&results),
            figures: figures::all(&results),
            notes: notes.chain([later(), alike(&results)]).collect(),
            ..Findings::of(ENTRY.name, extent, self.frozen.clone())
        }
    }
}

/// The notes that stand first on the study's page.
const NOTES: [&str; 3] = [
    "Tables 1 and 2 of the paper give different times for nearly the same mechanism, so all runs are made under two sets of prices, called \
     readings. The prices of the chip file meet table 1 (rows mwmon, spin-loops-halt, pthreads), those of reading 2 meet table 2 (rows \
     mwmon, pthreads). Every part names its reading.",
    "The slowdown of table 1's work on this chip was known before the rules were written (`docs/results/waiting.md`); those of figures 4 \
        and 5 were not.",
    "Of figure 5 the sparse product is whole; of LU and of transitive closure one step runs on eight rows of blocks, and of BT the stencil \
     of its right-hand side on eight planes. Guests take no cycles to fetch instructions.",
];

/// The note that gives the name under which the later rules are frozen.
fn later() -> String {
    format!(
        "The rules over all four kernels (M8 to M11: transitive closure, means and bests of four, BT's stencil) came later. Transitive \
         closure and BT's stencil had then run with a helper in small sizes alone, in tests. The rules are frozen as {}; the rules of the \
         sparse product and of LU alone are as they were.",
        inputs::rules(&LATER, Some(LATER_RESTATED))
    )
}

/// The note on repetitions that gave the same figures.
fn alike(results: &Results<'_>) -> String {
    let [several, same] = results.alike();
    format!(
        "A repetition has a seed and, in tables 1 and 2 and in two kernels, data of its own. Two arms are compared repetition by repetition. In {same} of {several} \
         works the repetitions gave the same figures: nothing in them depends on a seed, and their intervals have no width."
    )
}

#[cfg(test)]
mod tests;
