//! `baton doctor --waits`: what a waiting thread costs here under each wait policy, and what it
//! takes from a thread on the other CPU of its core.

use super::show::time;
use crate::ui;
use baton_host::costs::instructions::{self, Verdict};
use baton_host::costs::waiting::{self, Loss, Price};
use baton_machine::Wait;
use baton_machine::discover::{self, Topology};
use baton_machine::wait::POLICIES;
use serde::Serialize;
use std::time::Duration;

/// The time for each measurement of a policy.
const EACH: Duration = Duration::from_millis(40);
/// By how much that time is multiplied if a measurement gives no result.
const TRIES: [u32; 3] = [1, 3, 9];

/// The costs of all policies.
#[derive(Serialize)]
pub(super) struct Costs {
    /// The CPUs of the notifier and of the waiter; `None` on one CPU.
    cpus: Option<(u32, u32)>,
    /// Two CPUs of one core; `None` if this process has no such CPUs.
    siblings: Option<(u32, u32)>,
    waits: Vec<Cost>,
}

/// The cost of waiting under a policy.
#[derive(Serialize)]
struct Cost {
    name: &'static str,
    here: bool,
    /// Why the policy is not here.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// What the wait costs its waiter; `None` if it was not measured.
    price: Option<Price>,
    /// What the wait takes longer than a spinner's if its notice comes at once, in nanoseconds.
    way_in_ns: Option<f64>,
    /// What a thread on the other CPU of the core loses.
    sibling: Option<Loss>,
}

/// Returns the first two of `cpus` that share a core; `None` if no two do.
fn siblings(topology: &Topology, cpus: &[u32]) -> Option<(u32, u32)> {
    let of = |cpu: u32| topology.cpus.iter().find(|one| one.id == cpu).map_or(&[][..], |one| &one.siblings);
    let other = |first: u32| cpus.iter().copied().find(|cpu| *cpu > first && of(first).contains(cpu));
    cpus.iter().find_map(|&first| Some((first, other(first)?)))
}

/// Measures all policies that are here.
pub(super) fn measure() -> Costs {
    let (topology, allowed) = (Topology::discover(), discover::allowed_cpus());
    let (cpus, siblings) = (topology.two(&allowed), siblings(&topology, &allowed));
    let verdicts = instructions::verdicts();
    let bar = super::findings::Progress::of(verdicts.iter().filter(|verdict| verdict.here).count() as u64);
    let mut spins: Option<f64> = None;
    let mut of = |(verdict, wait): (Verdict, Wait)| {
        let Verdict { name, here, why, .. } = verdict;
        if !here {
            return Cost { name, here, why, price: None, way_in_ns: None, sibling: None };
        }
        bar.step(name);
        // On CPUs that other programs keep busy, a longer measurement may still give a result.
        let price = cpus.and_then(|cpus| TRIES.iter().find_map(|&times| waiting::price(cpus, wait, times * EACH)));
        if wait == Wait::Spin {
            spins = price.map(|price| price.at_once.median);
        }
        let way_in_ns = price.zip(spins).map(|(price, spins)| (price.at_once.median - spins).max(0.0));
        let sibling = siblings.and_then(|cpus| waiting::loss(cpus, wait, EACH));
        Cost { name, here, why, price, way_in_ns, sibling }
    };
    // `Spin` is the first policy, so that its time is known to the others.
    let waits = verdicts.into_iter().zip(POLICIES.iter().map(|(wait, _)| *wait)).map(&mut of).collect();
    bar.done();
    Costs { cpus, siblings, waits }
}

impl Costs {
    /// The costs as text.
    pub(super) fn text(&self) -> String {
        let not = || "not measured".to_owned();
        let row = |cost: &Cost| {
            if !cost.here {
                let why = cost.why.clone().unwrap_or_default();
                return vec![cost.name.to_owned(), "not here".into(), String::new(), String::new(), why];
            }
            let wake = cost.price.map_or_else(not, |price| time(price.rested.median));
            let range = cost.price.map_or(String::new(), |Price { rested, .. }| {
                format!("({} – {})", time(rested.low), time(rested.high))
            });
            let sibling = match (self.siblings, cost.sibling) {
                (None, _) => "no siblings here".to_owned(),
                (_, None) => not(),
                (_, Some(Loss { median, low, high })) => format!("{median:.0}% ({low:.0} to {high:.0}%)"),
            };
            vec![cost.name.to_owned(), wake, range, cost.way_in_ns.map_or_else(not, time), sibling]
        };
        let rows: Vec<_> = self.waits.iter().map(row).collect();
        let mut out = match self.cpus {
            Some((from, to)) => format!("Notices go from CPU {from} to a waiter on CPU {to}.\n\n"),
            None => "This process has one CPU: no notice comes from another.\n\n".to_owned(),
        };
        out += &ui::table(&["wait", "wake-up", "(four fifths within)", "way in", "a sibling loses"], &rows);
        out += &format!(
            "\nwake-up: from the notice until the waiter goes on, after a wait of {}; way in: what a wait takes longer than a \
             spinner's\nif its notice comes at once; a sibling loses: how much longer its work takes than beside an idle CPU.\n",
            time(waiting::RESTED.as_nanos() as f64)
        );
        if self.siblings.is_none() {
            out += "No siblings here: no two CPUs of this process share a core (a hypervisor may hide that they do).\n";
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_host::costs::Spread;

    fn costs(siblings: Option<(u32, u32)>) -> String {
        let spread = |median| Spread { median, low: 0.9 * median, high: 1.1 * median, samples: 9 };
        let price = Some(Price { rested: spread(5000.0), at_once: spread(700.0) });
        let sibling = siblings.map(|_| Loss { median: 19.0, low: 17.0, high: 21.0 });
        let here = Cost { name: "futex", here: true, why: None, price, way_in_ns: Some(600.0), sibling };
        let absent = Cost {
            name: "umwait",
            here: false,
            why: Some("CPUID does not offer WAITPKG".into()),
            price: None,
            way_in_ns: None,
            sibling: None,
        };
        Costs { cpus: Some((0, 1)), siblings, waits: vec![here, absent] }.text()
    }

    #[test]
    fn siblings_are_shown_where_they_are_and_else_their_absence() {
        let with = costs(Some((0, 2)));
        assert!(with.contains("19% (17 to 21%)") && !with.contains("no siblings"), "{with}");
        let without = costs(None);
        assert!(without.contains("no siblings here") && without.contains("No siblings here:"), "{without}");
        assert!(without.contains("5000 ns") && without.contains("600 ns") && without.contains("WAITPKG"), "{without}");
    }
}
