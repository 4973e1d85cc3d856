//! OCOR (Yao and Lu, *Opportunistic Competition Overhead Reduction for Expediting Critical Section
//! in NoC based CMPs*, ISCA 2016): locks that tell how many tries they have left, and a network
//! that serves the last tries first.
//!
//! The programs are stand-ins: profiles drawn to show what the paper prints of its 25 programs
//! without OCOR. Their shares, where the paper prints none, are only bounded; no improvement was
//! used (`docs/reference/workloads.md`).
//!
//! | file | holds |
//! | --- | --- |
//! | [`program`] | a draw of a profile, as something that runs |
//! | [`run`] | one run, and what it shows |
//! | [`account`] | blocked time, critical sections, competition overhead and its causes, to the cycle |
//! | `calls` | blocked time, critical sections and overhead by the calls of threads, as in `baton sim` |
//! | [`window`] | what threads do in the first cycles: figure 10 |
//! | [`real`] | real programs on the same chip |
//! | `map` | where an order pays: threads a lock by section, by meetings, price and cores |
//! | [`table`] | locks by networks, at several numbers of cores |
//! | `experiments` | what is run: the pairs, as data |
//! | `releases` | releases in a virtual network of their own: the arms |
//! | `refit` | a draw that is fitted again under other choices |
//! | `joint` | several open choices at once: the settings of a set of choices, and its result |
//! | `jobs` | experiments, programs and seeds as runs on the chips of their arms |
//! | `notes` | what a run's threads note |
//! | `sorted` | the finished runs, by their purpose |
//! | `study` | the chip, profiles and programs that the study is made of |
//! | `power` | which draws can show what the paper claims |
//! | `oracle` | further seeds of draws that changed under the oracle |
//! | `values` | what marks changed in a pair of runs, by measure |
//! | `parts` | the parts of a region's thread-time |
//! | `segment` | figure 10's segment |
//! | `results` | all samples, and the view of them that claims are judged on |
//! | `why` | why a claim or a falsifier came out as it did: experiments with their figures |
//! | `claims` | O1 to O21 with their rules |
//! | `changed` | what differs from the last full run |
//! | `open` | falsifiers, and what the paper leaves open |
//! | `figures` | the paper's figures, redrawn |

pub mod account;
mod calls;
mod changed;
mod claims;
mod experiments;
mod figures;
mod jobs;
mod joint;
mod map;
mod notes;
mod open;
mod oracle;
mod parts;
mod power;
pub mod program;
pub mod real;
mod refit;
mod releases;
mod results;
pub mod run;
mod segment;
mod sorted;
mod study;
pub mod table;
mod values;
mod why;
pub mod window;

use crate::kit::{Inputs, inputs};
use crate::{Entry, Extent, Findings, Study, StudyError};
use baton_chip::config::coherent::Topology;
use baton_programs::synthetic::set::Set;
use experiments::QUICK;
pub use jobs::Job;
use program::Program;
use run::Figures;
use sorted::Sorted;
pub use study::Ocor;
use why::Why;

/// The study's line in the registry.
pub(crate) const ENTRY: Entry = Entry {
    name: "ocor",
    paper: "Yao and Lu, OCOR, ISCA 2016",
    page: "docs/reference/ocor.md",
    quick: "six programs, some minutes",
    chips: &["chips/ocor64.toml"],
    profiles: &["profiles/ocor"],
    open: |inputs| Ok(Box::new(Ocor::open(inputs)?)),
};

/// The files that state the study's rules, which are hashed.
const RULES: [&str; 6] = [
    include_str!("claims.rs"),
    include_str!("experiments.rs"),
    include_str!("open.rs"),
    include_str!("oracle.rs"),
    include_str!("power.rs"),
    include_str!("releases.rs"),
];

impl Ocor {
    /// Opens the study with one chip file and one folder of profiles.
    ///
    /// # Errors
    /// What is wrong with a file: its name, line, key, and what was expected.
    pub fn open(inputs: &Inputs) -> Result<Ocor, StudyError> {
        let ([chip], [folder]) = (&inputs.chips[..], &inputs.profiles[..]) else {
            return Err(StudyError::input("study `ocor` takes one chip file and one folder of profiles"));
        };
        let Some(coherent) = &chip.chip.coherent else {
            return Err(chip.wrong("key `memory.model` is \"fixed\"; this study needs \"coherent\""));
        };
        let (width, height) = (coherent.network.width, coherent.network.height);
        let routers = (coherent.network.topology == Topology::Mesh).then_some(width + height - 1);
        let set = Set::open(folder).map_err(StudyError::input)?;
        let programs: Vec<Program> = set.profiles.iter().flat_map(Program::of).collect();
        if programs.is_empty() {
            let folder = folder.display();
            let why = format!("{folder}: no profile has a draw; expected at least one with [[draw]]");
            return Err(StudyError::input(why));
        }
        let without = set.profiles.iter().filter(|profile| profile.draws.is_empty());
        let without = without.map(|profile| profile.name.clone()).collect();
        let frozen = inputs.frozen(set.hash, inputs::rules(&RULES, None));
        Ok(Ocor { chip: chip.clone(), routers, profiles: set.profiles, programs, without, frozen })
    }
}

impl Study for Ocor {
    type Run = Result<Job, String>;
    type Figures = Figures;

    fn version(&self) -> &'static str {
        // The number is raised whenever the simulator or the account gives other figures for the
        // same inputs.
        "ocor 6"
    }

    fn runs(&self, extent: Extent) -> Vec<(String, Self::Run)> {
        let stand_ins = self.stand_ins(&self.plan(extent)).into_iter();
        let stand_ins = stand_ins.chain(self.stand_ins(&self.crowd(extent)));
        stand_ins
            .chain(self.window())
            .chain(self.real(extent))
            .chain(self.table(extent))
            .chain(self.map(extent))
            .collect()
    }

    fn run(&self, run: &Self::Run) -> Result<Figures, String> {
        match run.as_ref().map_err(Clone::clone)? {
            Job::StandIn(run) => run.figures(),
            Job::Refit { refit } => refit.figures(),
            Job::Window { window } => window.with_window(),
            Job::Real { real } => real.figures(),
            Job::Table { table } => table.figures(),
        }
    }

    fn more(&self, extent: Extent, done: &[(Self::Run, Figures)]) -> Vec<(String, Self::Run)> {
        self.sorted(extent, done).next
    }

    fn judge(&self, extent: Extent, done: &[(Self::Run, Figures)]) -> Findings {
        let Sorted { results, crowd, real, cells, map, trials, .. } = self.sorted(extent, done);
        let (why, items) = (Why::new(&results, &trials), joint::items());
        let answer = why.answer(&items);
        let full = extent == Extent::Full;
        let mut notes = vec![format!(
            "The programs are synthetic stand-ins, drawn towards what the paper prints of its programs without OCOR. They \
                 are not PARSEC or SPEC. {}",
            figures::shown(&results)
        )];
        notes.extend(figures::recommendation(&map, &crowd));
        notes.extend(why.placements());
        notes.extend(figures::power(&results));
        notes.extend(answer.clone());
        notes.push(changed::CHANGED.to_owned());
        let (different, minutes) = self.estimate(extent);
        notes.push(format!(
            "{different} different runs, about {minutes:.0} minutes on two quiet cores, by threads and acquisitions; what is in the \
             cache takes none."
        ));
        if !full {
            notes.push(format!(
                "A quick study: the first draw of {} programs at full length, three seeds each. Claims over all programs, and all \
                 experiments but the main one and the falsifiers, need the full run.",
                QUICK.len()
            ));
        }
        if !self.without.is_empty() {
            let names = self.without.join(", ");
            notes.push(format!(
                "Not run, as their profiles have no draw (docs/reference/workloads.md says how one is fitted): {names}."
            ));
        }
        // Claims over all programs are judged only if every profile has a draw.
        let whole = full && self.without.is_empty();
        let mut figures = figures::views(&results, &why, whole);
        let joint = figures::joint(&items, &trials, answer.as_deref());
        figures.extend(figures::all(&results, &crowd, joint, &real, &cells, &map));
        Findings {
            claims: claims::all(&results, &why, whole),
            falsifiers: open::falsifiers(&results, &crowd).into_iter().chain(figures::starvation(&results)).collect(),
            unspecified: open::unspecified(&results),
            figures,
            notes,
            ..Findings::of(ENTRY.name, extent, self.frozen.clone())
        }
    }
}

#[cfg(test)]
mod tests;
