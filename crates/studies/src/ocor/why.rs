//! Why a claim or a falsifier came out as it did: sentences that name an experiment and quote its
//! figure. All figures are computed from the runs.

use super::account::{CAUSES, Cause};
use super::experiments::{HOME, ORACLE, PRICED, WHERE, beside};
use super::joint::{self, Choices, Seen};
use super::results::{Placement, Results, View};
use super::values::{Pair, Value, coh, roi, spinning};
use crate::kit::search::Trial;
use crate::kit::{over_draws, over_programs, said};

/// Explains verdicts from the figures of the runs.
pub(super) struct Why<'a> {
    results: &'a Results<'a>,
    trials: &'a [(Trial, Seen)],
}

/// The paper's mean reductions of overhead and of time, in percent, which sets of choices may
/// reach.
const HEADLINE: [f64; 2] = [39.9, 14.4];

/// A cause's share of the overhead without marks, in percent.
fn share(pairs: &[Pair<'_>], cause: usize) -> Option<f64> {
    over_programs(pairs, |pair| pair.off.account.share(CAUSES[cause])).map(|of| of.mean)
}

/// The cause with the largest share.
fn largest(pairs: &[Pair<'_>]) -> Option<(usize, f64)> {
    let all = (0..CAUSES.len()).filter_map(|cause| Some((cause, share(pairs, cause)?)));
    all.max_by(|a, b| a.1.total_cmp(&b.1))
}

impl<'a> Why<'a> {
    pub(super) fn new(results: &'a Results<'a>, trials: &'a [(Trial, Seen)]) -> Why<'a> {
        Why { results, trials }
    }

    /// A sentence on the causes of overhead in these pairs, and on how marks change the share of
    /// acquisitions while spinning.
    pub(super) fn causes(&self, experiment: &str, pairs: &[Pair<'_>]) -> String {
        let queueing = [Cause::QueueingInNetwork, Cause::QueueingAtHome].map(|cause| share(pairs, cause as usize));
        let (Some((cause, share)), [Some(network), Some(home)]) = (largest(pairs), queueing) else {
            return "not run".to_owned();
        };
        format!(
            "`{experiment}`: {share:.0}% of the overhead is {}, {network:.0}% queueing in the network, {home:.0}% at the home; marks \
             change entries while spinning by {} points. {}",
            CAUSES[cause].name(),
            said(over_programs(pairs, spinning)),
            self.elsewhere(pairs)
        )
    }

    /// A sentence for the headline: causes of overhead, what the order alone does to the three
    /// programs of the experiments beside the main one, and what sets of choices do.
    pub(super) fn headline(&self, pairs: &[Pair<'_>]) -> String {
        let free = over_programs(&self.results.of("hint", "free"), coh);
        format!(
            "{}. `hint`, free registers: overhead of botss, ilbdc and imag less by {}%. {}",
            self.causes("main", pairs),
            said(free),
            self.joint()
        )
    }

    /// A sentence on what marks do in each place, over all draws and over the draws that can show
    /// it; `None` if there are no runs with the order at the home.
    pub(super) fn placements(&self) -> Option<String> {
        let paper = self.results.viewed(View::PAPER);
        let home = self.results.viewed(View { placement: Placement::Home, ..View::PAPER });
        let able = |of: &Results<'a>| of.viewed(View { able: true, ..of.view }).main();
        let two = |pairs: &[Pair<'_>]| {
            let [less, time] = [coh as Value, roi as Value].map(|value| said(over_programs(pairs, value)));
            format!("{less}% of the overhead and {time}% of the time")
        };
        (!home.main().is_empty()).then(|| {
            format!(
                "Marks that routers heed, as the paper has it, save {}; on draws that can show it {}. Marks that the home's list of waiting \
                 requests heeds, which is ours, save {}; on draws that can show it {}.",
                two(&paper.main()),
                two(&able(&paper)),
                two(&home.main()),
                two(&able(&home)),
            )
        })
    }

    /// A sentence on these draws with the order at the home and under the oracle, and on how many
    /// of them no order changes.
    fn elsewhere(&self, pairs: &[Pair<'_>]) -> String {
        let of = |place: &str| {
            let all = self.results.of(WHERE, place).into_iter();
            let mine: Vec<Pair<'_>> =
                all.filter(|other| pairs.iter().any(|pair| pair.program == other.program)).collect();
            said(over_programs(&mine, coh))
        };
        let power = self.results.power();
        let mine: Vec<_> = power.iter().filter(|of| pairs.iter().any(|pair| pair.program == of.program)).collect();
        let unable = mine.iter().filter(|of| !of.able()).count();
        format!(
            "`{WHERE}`: overhead less by {}% with the order at the home, by {}% under the oracle; {unable} of these {} draws cannot \
             show it",
            of(HOME),
            of(ORACLE),
            mine.len()
        )
    }

    /// The best plausible set of open choices, in short.
    fn joint(&self) -> String {
        let of = |priced: bool| {
            let named = |(trial, _): &&(Trial, Seen)| trial.again.is_some() && joint::priced(trial) == priced;
            self.trials.iter().rfind(named).map(|(_, seen)| seen)
        };
        match of(false).zip(of(true)) {
            Some((best, both)) => format!(
                "`joint`: the best plausible set of open choices {:.1}%, and {:.1}% if both arms pay for the registers",
                best.coh, both.coh
            ),
            None => "`joint`: not run".to_owned(),
        }
    }

    /// A sentence on the increase of entries while spinning: by the order alone, and by tries that
    /// last longer. It covers the program `name`, or all programs if `name` is empty.
    pub(super) fn entries(&self, name: &str) -> String {
        let of = |group: &str, place: &str| -> Vec<Pair<'a>> {
            let all = self.results.of(group, place).into_iter();
            all.filter(|pair| name.is_empty() || pair.program.name == name).collect()
        };
        let tries = of("spin count", "1024");
        let entered = |value: Value| said(over_programs(&tries, value));
        let more = |group: &str, place: &str| said(over_programs(&of(group, place), spinning));
        let longer = beside("hint", "20 cycles");
        format!(
            "`{PRICED}`, as chosen: the order alone gives {} points; where a try takes longer, `hint`, 20 cycles in the arm with marks \
             alone: {} points, in both arms: {}; `spin count`, 1,024 tries: {}% without marks, {}% with them",
            more(PRICED, &beside("main", "")),
            more("hint", "20 cycles"),
            more(PRICED, &longer),
            entered(|pair| pair.off.entered_spinning()),
            entered(|pair| pair.on.entered_spinning()),
        )
    }

    /// A sentence on the reductions of overhead at several places of a group, program by program. A
    /// place without runs stands for the main experiment.
    pub(super) fn places(&self, group: &str, places: &[&str], names: &[&str]) -> String {
        let of = |place: &&str| {
            let pairs = if self.results.of(group, place).is_empty() {
                self.results.main()
            } else {
                self.results.of(group, place)
            };
            let each = names.iter().map(|name| {
                let mine: Vec<Pair<'_>> = pairs.iter().filter(|pair| pair.program.name == *name).copied().collect();
                said(over_draws(&mine, coh))
            });
            format!("{place}: {}", each.collect::<Vec<_>>().join(", "))
        };
        let all: Vec<String> = places.iter().map(of).collect();
        format!("`{group}`, less overhead in percent of {}: {}", names.join(", "), all.join("; "))
    }

    /// A sentence on the mean reductions of overhead by class: whether table 3 prints a high rate
    /// of critical sections and a high use of the network.
    pub(super) fn classes(&self) -> String {
        let main = self.results.main();
        let of = |(name, cs, network): (&str, bool, bool)| {
            let class = |pair: &&Pair<'_>| (pair.program.high_cs_rate, pair.program.high_network) == (cs, network);
            let pairs: Vec<Pair<'_>> = main.iter().filter(class).copied().collect();
            format!("{name} {}", said(over_programs(&pairs, coh)))
        };
        let all = [
            ("both high", true, true),
            ("rate alone", true, false),
            ("network alone", false, true),
            ("both low", false, false),
        ];
        format!("`main`, less overhead in percent: {}", all.map(of).join(", "))
    }

    /// The answer to the question whether any plausible set of open choices reaches the paper's headline; nothing without trials.
    pub(super) fn answer(&self, items: &[Choices]) -> Option<String> {
        let alone = || self.trials.iter().filter(|(trial, _)| trial.again.is_none());
        let again = |name: &str, priced: bool| {
            let mut all = self.trials.iter().filter(|(trial, _)| trial.name.starts_with(name));
            all.find(|(trial, _)| trial.again.is_some() && joint::priced(trial) == priced)
        };
        let reaches = |seen: &Seen| seen.coh >= HEADLINE[0] && seen.roi >= HEADLINE[1];
        let count = |wanted: &dyn Fn(&Seen) -> bool| alone().filter(|(_, seen)| wanted(seen)).count();
        let (best, both) = (again("the best plausible,", false)?, again("the best plausible,", true)?);
        let (any, any_both) = (again("the best,", false)?, again("the best,", true)?);
        let two = |seen: &Seen| format!("{:.1}% of the overhead and {:.1}% of the time", seen.coh, seen.roi);
        Some(format!(
            "Does any plausible set of open choices reach {}% and {}%? {}. Of {} sets, one draw of botss, ilbdc and imag and one crowd \
             of vips each, {} are plausible (their runs without marks show what is printed, draws fitted once more where these runs are \
             others); of these {} reach both, of all {}. The best plausible one ({}) \
             saves {} over every draw; {} if both arms pay for the registers, so that only the network differs. The best of all ({}): {}; {} \
             if both pay.",
            HEADLINE[0],
            HEADLINE[1],
            if reaches(&both.1) {
                "Yes"
            } else if reaches(&best.1) {
                "Only by the price of the registers"
            } else {
                "No"
            },
            alone().count(),
            count(&|seen| seen.plausible),
            count(&|seen| seen.plausible && reaches(seen)),
            count(&reaches),
            joint::text(items, &best.0.set),
            two(&best.1),
            two(&both.1),
            joint::text(items, &any.0.set),
            two(&any.1),
            two(&any_both.1),
        ))
    }
}
