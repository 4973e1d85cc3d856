//! CAF (Wang and others, *CAF: Core to Core Communication Acceleration Framework*, PACT 2016):
//! queues in a device beside the cores, and a hint that pushes written lines out of private caches.
//!
//! | file | holds |
//! | --- | --- |
//! | `loads` | what is run: threads at a queue, each load by its name; the arms |
//! | `experiments` | settings of loads, as data |
//! | `cases` | what is run beside them, as data: several devices, credits, applications |
//! | `jobs` | experiments, loads and seeds as runs on the chips of their arms |
//! | `run` | one run, and what it shows |
//! | `channel` | a queue as the programs use it: in memory, or in the device |
//! | `pure` | threads that only enqueue, or only dequeue |
//! | `pairs` | producers and consumers of packets from a pool |
//! | `mesh`, `placement` | several devices at 64 cores, and where they hang |
//! | `weights` | credits by weights |
//! | `apps` | the paper's applications |
//! | `results` | the results of runs, with the figures that claims need |
//! | `claims` | C1 to C21 with their rules |
//! | `open` | falsifiers, and what the paper leaves open |
//! | `why` | why a claim came out as it did |
//! | `figures` | the paper's figures, redrawn |

mod apps;
mod cases;
mod channel;
mod claims;
mod experiments;
mod figures;
mod jobs;
mod loads;
mod mesh;
mod open;
mod pairs;
mod placement;
mod pure;
mod results;
mod run;
mod weights;
mod why;

use crate::kit::{Inputs, Tornado, inputs};
use crate::{Entry, Extent, Findings, Study, StudyError};
pub use jobs::Caf;
use results::Results;
use run::{Figures, Run};

/// The study's line in the registry.
pub(crate) const ENTRY: Entry = Entry {
    name: "caf",
    paper: "Wang and others, CAF, PACT 2016",
    page: "docs/reference/caf.md",
    quick: "seven loads, less than three minutes",
    chips: &["chips/caf16.toml", "chips/caf64.toml"],
    profiles: &[],
    open: |inputs| Ok(Box::new(Caf::open(inputs)?)),
};

/// The files that state the study's rules, which are hashed.
const RULES: [&str; 4] =
    [include_str!("claims.rs"), include_str!("experiments.rs"), include_str!("cases.rs"), include_str!("open.rs")];

/// The hash of the rules above, and the name under which they were frozen. Since then the files
/// changed in form alone: a rule is read with the interval of its figure.
const RESTATED: [&str; 2] = ["9bdfcbbb39cb0cdd", "6836a50d05e02708"];

impl Caf {
    /// Opens the study with its two chip files.
    ///
    /// # Errors
    /// What is wrong with a file: its name, key, and what was expected.
    pub fn open(inputs: &Inputs) -> Result<Caf, StudyError> {
        let [small, large] = &inputs.chips[..] else {
            return Err(StudyError::input("study `caf` takes two chip files"));
        };
        for (chip, cores) in [(small, 16), (large, placement::NODES)] {
            let kind = chip.chip.devices.as_ref().map_or("", |devices| &devices.kind);
            if kind != "qmd" {
                return Err(chip.wrong(format!("key `device.kind` is \"{kind}\"; this study needs \"qmd\"")));
            }
            if chip.chip.core.count != cores {
                let found = chip.chip.core.count;
                return Err(chip.wrong(format!("key `core.count` is {found}; this study needs {cores}")));
            }
        }
        let chips = [small.clone(), large.clone()];
        Ok(Caf { chips, frozen: inputs.frozen("none", inputs::rules(&RULES, Some(RESTATED))) })
    }
}

impl Study for Caf {
    type Run = Result<Run, String>;
    type Figures = Figures;

    fn version(&self) -> &'static str {
        // The number is raised whenever the simulator, a queue or a load gives other figures for
        // the same inputs.
        "caf 4"
    }

    fn runs(&self, extent: Extent) -> Vec<(String, Self::Run)> {
        let runs = self.on_loads(extent).into_iter();
        runs.chain(self.on_mesh(extent)).chain(self.with_weights(extent)).chain(self.applications(extent)).collect()
    }

    fn run(&self, run: &Self::Run) -> Result<Figures, String> {
        run.as_ref().map_err(Clone::clone)?.figures()
    }

    fn judge(&self, extent: Extent, done: &[(Self::Run, Figures)]) -> Findings {
        let results = Results::new(self, extent, done);
        let headline = figures::headline(&results);
        let tornado = Tornado { items: &open::ITEMS, samples: &headline, value: results::gain };
        let [several, same] = results.samples.alike();
        let mut notes = vec![NOTE.to_owned()];
        notes.push(format!(
            "Two arms are compared seed by seed. A seed sets when threads begin, when packets come, and which requests come on the mesh. In {same} of \
             {several} loads and arms every seed gave the same figures: their intervals have no width."
        ));
        let locked = results.locked_apps();
        if !locked.is_empty() {
            let (runs, names) = (locked.len(), locked.join("; "));
            notes.push(format!(
                "{runs} runs of applications ended in a deadlock; claims that need them are not judged: {names}."
            ));
        }
        if extent == Extent::Quick {
            notes.push("A quick study: seven loads, the ends of the mesh. Nothing is judged; all runs are as long as in the full one.".to_owned());
        }
        Findings {
            claims: claims::all(&results, extent == Extent::Full),
            falsifiers: open::falsifiers(&results),
            unspecified: tornado.unspecified("throughput over the ring's, mean of 1-1 and 8-8 at bulk 8"),
            figures: figures::all(&results),
            notes,
            ..Findings::of(ENTRY.name, extent, self.frozen.clone())
        }
    }
}

/// The note that stands first on the study's page.
const NOTE: &str = "The baseline is the paper's ring in the mode that fits (one thread a side, or many), with the compare-and-swap of the \
                    machine; the paper's gem5 had none, and guarded its queues for many threads by instructions that cost nothing. A gain \
                    holds only if it also holds under the window of the cores (smallest, largest, the file's) that gives the ring its best time.";

#[cfg(test)]
mod tests;
