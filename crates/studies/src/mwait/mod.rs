//! mwait (Akkan, Lang and Ionkov, *HPC Runtime Support for Fast and Power Efficient Locking and
//! Synchronization*, 2013): locks and a barrier that wait in MWAIT, in OpenMP on 64 cores.
//!
//! | file | holds |
//! | --- | --- |
//! | `run` | one run, and what it shows |
//! | `jobs` | what is run |
//! | `results` | the results of runs, with the figures that claims need |
//! | `claims` | A1 to A13 with their rules |
//! | `open` | falsifiers, and what the paper leaves open |
//! | `why` | why a claim came out as it did |
//! | `figures` | the paper's figures 1 to 6 |

mod claims;
mod figures;
mod jobs;
mod open;
mod results;
mod run;
mod why;

use crate::kit::{Inputs, inputs};
use crate::{Entry, Extent, Findings, Study, StudyError};
pub use jobs::Mwait;
use results::Results;
use run::{Figures, Run};

/// The study's line in the registry.
pub(crate) const ENTRY: Entry = Entry {
    name: "mwait",
    paper: "Akkan, Lang and Ionkov, 2013",
    page: "docs/reference/mwait.md",
    quick: "one seed, two numbers of cores, less than a minute",
    chips: &["chips/opteron6272x4.toml"],
    profiles: &[],
    open: |inputs| Ok(Box::new(Mwait::open(inputs)?)),
};

/// The files that state the study's rules, which are hashed.
const RULES: [&str; 2] = [include_str!("claims.rs"), include_str!("open.rs")];

/// The rules above under the name with which they were frozen. Since then rules and falsifiers are
/// read with the intervals of their figures, claims have an oracle arm, and three choices are varied
/// more: the lock that was replaced, the number of tasks, and the directory. No band, direction or
/// condition changed.
const RESTATED: [&str; 2] = ["9db0ff791ef8a7ba", "435a7a6b4e24bf32"];

impl Mwait {
    /// Opens the study with its chip file.
    ///
    /// # Errors
    /// What is wrong with the file: its name, key, and what was expected.
    pub fn open(inputs: &Inputs) -> Result<Mwait, StudyError> {
        let [chip] = &inputs.chips[..] else {
            return Err(StudyError::input("study `mwait` takes one chip file"));
        };
        let cores = chip.chip.core.count;
        if cores < jobs::MOST {
            return Err(chip.wrong(format!("key `core.count` is {cores}; this study needs {} or more", jobs::MOST)));
        }
        Ok(Mwait { chips: jobs::chips(chip), frozen: inputs.frozen("none", inputs::rules(&RULES, Some(RESTATED))) })
    }
}

impl Study for Mwait {
    type Run = Result<Run, String>;
    type Figures = Figures;

    fn version(&self) -> &'static str {
        // The number is raised whenever the simulator, the runtime or a load gives other figures
        // for the same inputs.
        "mwait 4"
    }

    fn runs(&self, extent: Extent) -> Vec<(String, Self::Run)> {
        jobs::cases(extent).into_iter().map(|case| self.job(case)).collect()
    }

    fn run(&self, run: &Self::Run) -> Result<Figures, String> {
        run.as_ref().map_err(Clone::clone)?.figures()
    }

    fn judge(&self, extent: Extent, done: &[(Self::Run, Figures)]) -> Findings {
        let results = Results::new(done);
        Findings {
            claims: claims::all(&results, extent == Extent::Full),
            falsifiers: open::falsifiers(&results),
            unspecified: open::unspecified(&results),
            figures: figures::all(&results),
            notes: NOTES.map(str::to_owned).into(),
            ..Findings::of(ENTRY.name, extent, self.frozen.clone())
        }
    }
}

/// The notes that stand first on the study's page.
const NOTES: [&str; 4] = [
    "The paper prints curves without numbers: of its figures the text's values are all that can be compared. Its prices of MWAIT and of \
     futexes, its spin budget, the lengths of figure 1 and the watts are not given; they are varied below.",
    "Claims A7 and A8 concern the same runs: to be 23 times faster with 6 times less energy, the new locks must draw 3.8 times the mean \
     power of the original. This node spans 252 to 718 W, a factor of 2.85, so both cannot hold at once: with 6 times less energy it is at \
     most 17 times faster, with 23 times faster it takes at least 8 times less energy. The abstract says power, the text energy.",
    "The cost of an iteration is the time of a run with twice the iterations less that of a run with the iterations once, so that starts \
        and ends are in neither.",
    "One run each of figure 2's locks on this chip, with 2 and 64 threads, was seen before the rules were written: A5, A6, and the \
     falsifier of few cores are no blind predictions. Those of figure 1, of tasks and of barriers were not seen.",
];

#[cfg(test)]
mod tests;
