//! PA (Saez, Fedorova, Prieto and Vegas, *Operating System Support for Mitigating Software
//! Scalability Bottlenecks on Asymmetric Multicore Processors*, 2010): few fast cores and many slow
//! ones; which threads get the fast cores.
//!
//! | file | holds |
//! | --- | --- |
//! | `machine` | the paper's configurations of cores, and others to compare with |
//! | `mixes` | the applications that run together |
//! | `run` | one run, and what it shows |
//! | `jobs` | what is run |
//! | `results` | the results of runs, with the figures that claims need |
//! | `gains` | figures that claims, their reasons and falsifiers share |
//! | `claims` | P1 to P7 with their rules |
//! | `open` | falsifiers, and what the paper leaves open |
//! | `why` | why a claim came out as it did |
//! | `figures` | tables and pictures |

mod claims;
mod figures;
mod gains;
mod jobs;
mod machine;
mod mixes;
mod open;
mod results;
mod run;
mod why;

use crate::kit::{Inputs, inputs};
use crate::{Entry, Extent, Findings, Study, StudyError, hash};
use baton_programs::phases::Program;
pub use jobs::Pa;
use results::Results;
use run::{Figures, Run};
use std::collections::BTreeMap;

/// The study's line in the registry.
pub(crate) const ENTRY: Entry = Entry {
    name: "pa",
    paper: "Saez and others, CF 2010",
    page: "docs/reference/pa.md",
    quick: "three mixes, fewer seeds, less than three minutes",
    chips: &["chips/barcelona-amp.toml"],
    profiles: &["profiles/pa"],
    open: |inputs| Ok(Box::new(Pa::open(inputs)?)),
};

/// The files that state the study's rules, which are hashed.
const RULES: [&str; 2] = [include_str!("claims.rs"), include_str!("open.rs")];

impl Pa {
    /// Opens the study with its chip file and its folder of profiles.
    ///
    /// # Errors
    /// What is wrong with a file: its name, line, key, and what was expected.
    pub fn open(inputs: &Inputs) -> Result<Pa, StudyError> {
        let ([chip], [folder]) = (&inputs.chips[..], &inputs.profiles[..]) else {
            return Err(StudyError::input("study `pa` takes one chip file and one folder of profiles"));
        };
        let cores = chip.chip.core.count;
        if cores != machine::CORES {
            return Err(chip.wrong(format!("key `core.count` is {cores}; this study needs {}", machine::CORES)));
        }
        let mut profiles = BTreeMap::new();
        let mut all = hash::Hash::default();
        for name in mixes::programs() {
            let path = folder.join(format!("{name}.toml"));
            Program::open(&path).map_err(StudyError::input)?;
            let text = std::fs::read_to_string(&path)
                .map_err(|error| StudyError::input(format!("{}: {error}", path.display())))?;
            all = all.and(&text);
            profiles.insert(name, text);
        }
        let frozen = inputs.frozen(all.short(), inputs::rules(&RULES, None));
        Ok(Pa { chip: chip.clone(), profiles, frozen })
    }
}

impl Study for Pa {
    type Run = Result<Run, String>;
    type Figures = Figures;

    fn version(&self) -> &'static str {
        // The number is raised whenever the simulator or a program gives other figures for the same
        // inputs.
        "pa 3"
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
const NOTES: [&str; 5] = [
    "Pages 5 to 9 of the paper are missing from our copy, and with them every figure of a workload. What is judged is what the abstract, the method and \
     the conclusions say; all else here is our prediction.",
    "The programs are stand-ins: the paper prints their classes, and every other value of a profile is assumed and labelled so (`profiles/pa`).",
    "The coarse mode of the chip plays the programs (`docs/reference/phases.md`): synchronization, the operating system and the policies are whole, caches and \
     memory are rates.",
    "A gain is the geometric mean over the applications of a mix of how much shorter their complete runs are than Default's under the same seed, in \
     percent more speed, and then the mean over seeds. Default places threads at random at their start.",
    "The rules are not those of the first full run (149ffd9f536ea369). They were restated and committed before this run, after a review: gains are pairs by seed, \
     P3 is judged on the paper's machines whose fast cores share a cache with slow ones and under a policy that is aware of topology, and a treatment that changes no run \
     is not exercised. Later, still before this run, each claim got an oracle arm, and P4, P5 and P7 are judged with the intervals of their figures. No border of a verdict was moved.",
];

#[cfg(test)]
mod tests;
