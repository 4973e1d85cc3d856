//! A study from outside of the crate, on the kit alone: two arms, seeds, a claim, a falsifier, a
//! tornado over one parameter. The test's own registry holds this study, which is conducted like
//! the crate's studies.

mod queue {
    use baton_chip::{Chip, Options, Simulated};
    use baton_machine::Wait;
    use baton_studies::kit::{self, Experiment, Inputs, Item, Judge, On, Plan, Tornado, inputs, open, over_draws};
    use baton_studies::{Claim, Entry, Extent, Falsifier, Findings, Rule, Study};
    use baton_sync::lock::{mcs::Mcs, tas::Tas};
    use baton_units::Cycles;
    use baton_workloads::{Silent, lock::Contention};

    pub(crate) const ENTRY: Entry = Entry {
        name: "queue",
        paper: "Is a lock with a queue faster where many threads want it?",
        page: "crates/studies/tests/second.rs",
        quick: "one seed",
        chips: &["../../chips/caf16.toml", "../../chips/sample-host-coherent.toml"],
        profiles: &[],
        open: |inputs| Ok(Box::new(Queue(inputs.clone()))),
    };

    struct Queue(Inputs);

    type Pair<'a> = kit::Pair<'a, &'static str, u64>;
    const ITEMS: [Item; 1] = [open::item("pause", "as in the chip file", "10 to 140 cycles")];

    fn gain(pair: &Pair<'_>) -> f64 {
        kit::reduction(*pair.off as f64, *pair.on as f64)
    }

    /// Experiments set a chip, its keys, and threads.
    fn plan(extent: Extent) -> Plan<'static, (usize, Vec<String>, u32), &'static str> {
        let on = |id: (_, &str), setting| Experiment::new(id, On::All(&["counter"]), setting).seeds([1, 3]);
        let pause = |cycles: &str| on(("pause", cycles), (0, vec![format!("wait.pause={cycles}")], 8));
        let quick = [on(("main", ""), (0, vec![], 8)).quick(), on(("one-thread", ""), (0, vec![], 1)).quick()];
        let full = [pause("10"), pause("140"), on(("another chip", ""), (1, vec![], 2))];
        Plan::new(quick.into_iter().chain(full).collect(), &["counter"], &["tas", "mcs"], extent)
    }

    impl Study for Queue {
        /// The chip, whole; whether the lock has a queue; threads; the seed.
        type Run = Result<(String, bool, u32, u64), String>;
        type Figures = u64;

        fn version(&self) -> &'static str {
            "queue 1"
        }

        fn runs(&self, extent: Extent) -> Vec<(String, Self::Run)> {
            plan(extent).runs(|case, experiment, _| {
                let (chip, keys, threads) = &experiment.setting;
                Ok((self.0.chips[*chip].with(None, keys)?, case.arm == 1, *threads, 1 + case.again))
            })
        }

        fn run(&self, run: &Self::Run) -> Result<u64, String> {
            let (chip, queue, threads, seed) = run.as_ref().map_err(Clone::clone)?;
            let chip = Chip::from_toml(chip, "the study's chip").map_err(|error| error.to_string())?;
            let options = Options { seed: *seed, threads: *threads as usize, ..Options::default() };
            let (critical, think) = (Cycles(50), Cycles(400));
            let work = Contention { threads: *threads, critical, think, spread: 0.2, lines: 2, iterations: 40 };
            let team = || match queue {
                true => Ok(work.team::<Simulated, Mcs<Simulated>, _>(Wait::Pause, Silent)),
                false => Ok(work.team::<Simulated, Tas<Simulated>, _>(Wait::Pause, Silent)),
            };
            Ok(kit::simulate(&chip, &options, team)?.1.cycles.0)
        }

        fn judge(&self, extent: Extent, done: &[(Self::Run, u64)]) -> Findings {
            let (plan, rules) = (plan(extent), inputs::rules(&[include_str!("second.rs")], None));
            let (samples, _) = plan.samples(done);
            let mut judge = Judge::new(extent == Extent::Full);
            let claim = Claim::new("Q1", "", "less time with a queue, 8 threads", "%");
            let why = "`main`: waiting for the line is not what takes the time";
            judge.push(claim, 20.0, over_draws(&samples.main(), gain), Rule::Positive, "more than one seed", why);
            let alone = over_draws(&samples.of("one-thread", ""), gain);
            let tornado = Tornado { items: &ITEMS, samples: &samples, value: gain };
            Findings {
                claims: judge.claims,
                falsifiers: vec![Falsifier::no_gain("one-thread", "no gain where no other thread waits", alone)],
                unspecified: tornado.unspecified("less time, %"),
                figures: tornado.figure("less time with a queue, %", None, &[]).into_iter().collect(),
                ..Findings::of(ENTRY.name, extent, self.0.frozen("none", rules))
            }
        }
    }
}

use baton_studies::pool::Quiet;
use baton_studies::{Extent, Findings, Registry, StudyError, page};
use std::path::{Path, PathBuf};

static STUDIES: Registry = Registry(&[queue::ENTRY]);

fn conduct(chips: &[PathBuf], extent: Extent) -> Result<Findings, StudyError> {
    let folder = std::env::temp_dir().join(format!("baton-second-{extent:?}-{}", std::process::id()));
    let study = STUDIES.find("queue").expect("it is in the registry").open(chips, &[])?;
    let (findings, work) = study.conduct(extent, &folder, &Quiet)?;
    // Again, from the cache alone.
    let (again, cached) = study.conduct(extent, &folder, &Quiet)?;
    assert_eq!((&again, cached.run, cached.cached), (&findings, 0, work.run + work.cached));
    std::fs::remove_dir_all(&folder).expect("the folder is there");
    Ok(findings)
}

#[test]
fn the_kit_is_enough_for_a_study() {
    let quick = conduct(&[], Extent::Quick).unwrap();
    assert!(quick.claims[0].holds.is_none() && quick.claims[0].why.contains("more than one seed"), "{quick:?}");
    let full = conduct(&[], Extent::Full).unwrap();
    // A queue helps where many wait. Alone its longer path costs some percent: that falsifier fails, and says so.
    let falsifier = &full.falsifiers[0];
    assert_eq!((full.claims[0].holds, falsifier.holds), (Some(true), Some(false)), "{full:?}");
    assert!(falsifier.why.starts_with("`one-thread`: a gain of -"), "{}", falsifier.why);
    assert!(full.unspecified[0].effect.is_some_and(|[least, greatest]| least < greatest), "{full:?}");
    let page = page::markdown(&full, "pictures");
    assert!(page.page.starts_with("# QUEUE") && page.pictures[0].0 == "tornado.svg", "{}", page.page);
    assert!(page::html(&full).contains("What the headline hangs on"));
}

#[test]
fn inputs_are_those_of_the_registry_or_as_many() {
    let names: Vec<&str> = STUDIES.names().collect();
    assert!(names == ["queue"] && STUDIES.find("ocor").is_none());
    let open =
        |chips: &[PathBuf], profiles: &[PathBuf]| STUDIES.0[0].open(chips, profiles).err().map(|e| e.to_string());
    let chip = |name: &str| Path::new("../../chips").join(name);
    assert_eq!(open(&[chip("caf64.toml"), chip("mesh256.toml")], &[]), None);
    assert!(open(&[chip("caf64.toml")], &[]).unwrap().contains("takes 2 chip files (../../chips/caf16.toml, "));
    assert!(open(&[], &[chip("")]).unwrap().contains("takes no folders of profiles; 1 given"));
    let absent = open(&[chip("caf64.toml"), chip("no.toml")], &[]).unwrap();
    assert!(absent.contains("no.toml: cannot be read: No such file"), "{absent}");
}
