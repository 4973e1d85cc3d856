//! The study's own tables and pictures. The paper's are on pages that are missing, so none is
//! redrawn.

use super::jobs::{
    self, AWARE, DEFAULT, EARNED, NOTIFY, OTHERS, PAPERS, RATIOS, ROUNDS, THREAD_COUNTS, WAIT, WAITS, WITH_ROUNDS,
    WITH_THREADS,
};
use super::machine::{MACHINES, Machine};
use super::mixes::{Mix, SET_1, SINGLE, THREADS, WITH_PHASES, beside as mixes_beside};
use super::open;
use super::results::{Results, mean};
use super::run::{Case, Had};
use crate::Interval;
use crate::kit::figure::{self, lines, strings, table};
use crate::page::Figure;
use baton_plot::{Bars, Span};

pub(super) fn all(results: &Results<'_>) -> Vec<Figure> {
    let gains = MACHINES.into_iter().flat_map(|machine| [bars(results, machine), gains(results, machine)]);
    let rest = [
        fast_cores(results),
        behind_min_tlp(results),
        beyond(results),
        fairness(results),
        had(results),
        singles(results),
        threads(results),
        extensions(results),
        long_parts(results),
        renewal(results),
        thread_counts(results),
        waits(results),
        ratios(results),
        equal(results),
        topology(results),
        tornado(results),
    ];
    gains.chain(rest).flatten().collect()
}

fn percent(of: Option<Interval>) -> Option<String> {
    let of = of?;
    Some(of.half.map_or_else(|| format!("{:.1}", of.mean), |half| format!("{:.1} ± {half:.1}", of.mean)))
}

fn bars(results: &Results<'_>, machine: Machine) -> Option<Figure> {
    let row = |mix: &Mix| {
        let of =
            |policy: &&'static str| Some(figure::bar(Some(results.over_default(machine, mix.name, policy)?), None));
        Some((mix.name.to_owned(), PAPERS.iter().map(of).collect::<Option<Vec<_>>>()?))
    };
    let rows: Vec<_> = SET_1.iter().filter_map(row).collect();
    let file = if machine == Machine::One { "set-1-on-1fc-12sc" } else { "set-1-on-4fc-12sc" };
    let drawn = Bars {
        title: format!("Set 1 on {}: speed over Default", machine.name()),
        x: "percent more speed, geometric mean of the applications".to_owned(),
        series: PAPERS.map(str::to_owned).into(),
        theirs: "paper".to_owned(),
        rows,
    };
    (!drawn.rows.is_empty()).then(|| Figure::from(drawn).named(file))
}

fn gains(results: &Results<'_>, machine: Machine) -> Option<Figure> {
    let row = |mix: &Mix| {
        let gains = PAPERS.iter().map(|policy| percent(results.over_default(machine, mix.name, policy)));
        let [best, median] =
            results.over_seeds(machine, mix.name, "pa").map(|of| of.map(|gain| format!("{gain:.1}")))?;
        let default = results.spread(&jobs::main(machine, mix.name, DEFAULT)).map(|spread| format!("{spread:.1}"));
        [Some(mix.name.to_owned())]
            .into_iter()
            .chain(gains)
            .chain([Some(best), Some(median), default])
            .collect::<Option<Vec<_>>>()
    };
    let rows = SET_1.iter().filter_map(row).collect();
    let header: Vec<&str> = ["mix"]
        .into_iter()
        .chain(PAPERS)
        .chain(["pa over Default's best seed", "over its median", "Default's spread, %"])
        .collect();
    let note = "Percent more speed than Default, with 95% intervals over seeds. The spread is the coefficient of variation of Default's \
        times over its seeds.";
    table(format!("Gains on {}", machine.name()), &header, rows, note)
}

fn beyond(results: &Results<'_>) -> Option<Figure> {
    let policies: Vec<&'static str> = ["pa"].into_iter().chain(OTHERS).collect();
    let cells = |of: &dyn Fn(&'static str) -> Option<Interval>| -> Option<Vec<String>> {
        policies.iter().map(|&policy| percent(of(policy))).collect()
    };
    let row = |mix: &Mix| {
        let gains = cells(&|policy| results.over_default(Machine::One, mix.name, policy))?;
        Some([vec![mix.name.to_owned()], gains].concat())
    };
    let mut rows: Vec<Vec<String>> = SET_1.iter().filter_map(row).collect();
    let mean = cells(&|policy| results.mean_beside(|mix| results.over_default(Machine::One, mix, policy)));
    rows.extend(mean.map(|mean| [vec!["mean".to_owned()], mean].concat()));
    let header: Vec<&str> = ["mix"].into_iter().chain(policies.iter().copied()).collect();
    let note = "Percent more speed than Default on 1FC-12SC. `linux` is what Linux does with CPUs of unlike capacities; `crit` hears who \
        waits for whom, and programs on this wait tell it nothing; `pa-speedup` has parallelism and speed-ups in one policy.";
    table("Policies that are not the paper's", &header, rows, note)
}

/// The throughput, mean slowdown and worst slowdown of a mix, against each application alone on the
/// machine.
fn service(results: &Results<'_>, mix: &Mix, policy: &'static str) -> Option<[f64; 3]> {
    let slowdown = |app: usize| {
        let alone = Case { alone: Some(app), ..jobs::main(Machine::One, mix.name, "pa") };
        let with = jobs::main(Machine::One, mix.name, policy);
        Some(results.had(&with, app, |had| had.time)? / results.had(&alone, 0, |had| had.time)?)
    };
    let all: Vec<f64> = (0..mix.apps.len()).map(slowdown).collect::<Option<_>>()?;
    let throughput = all.iter().map(|slow| 1.0 / slow).sum();
    Some([throughput, all.iter().sum::<f64>() / all.len() as f64, all.iter().copied().fold(0.0, f64::max)])
}

fn fairness(results: &Results<'_>) -> Option<Figure> {
    let row = |policy: &'static str| {
        let all: Option<Vec<[f64; 3]>> = mixes_beside().map(|mix| service(results, mix, policy)).collect();
        let all = all?;
        let mean = |at: usize| format!("{:.2}", all.iter().map(|of| of[at]).sum::<f64>() / all.len() as f64);
        let worst = all.iter().map(|of| of[2]).fold(0.0, f64::max);
        Some(vec![policy.to_owned(), mean(0), mean(1), mean(2), format!("{worst:.2}")])
    };
    let rows = [DEFAULT].into_iter().chain(PAPERS).chain(OTHERS).filter_map(row).collect();
    let header = ["policy", "STP", "ANTT", "worst slowdown, mean", "worst slowdown of all"];
    let note = "Means over the mixes of set 1 without wupwise, on 1FC-12SC. A slowdown is an application's time over its time alone on the \
        machine under pa; STP is the sum of their inverses, ANTT their mean.";
    table("Throughput and fairness", &header, rows, note)
}

fn had(results: &Results<'_>) -> Option<Figure> {
    let row = |mix: &Mix| {
        let case = jobs::main(Machine::One, mix.name, "pa");
        let of = |app: usize, what: fn(&Had) -> f64| results.had(&case, app, what);
        let both = |what: fn(&Had) -> f64| {
            let all: Option<Vec<f64>> = (0..mix.apps.len()).map(|app| of(app, what)).collect();
            Some(format!("{:.0}", all?.iter().sum::<f64>()))
        };
        let seconds = results.of(&case).first()?.seconds;
        let fast = |app: usize| Some(format!("{:.0}", 100.0 * of(app, |had| had.fast)?));
        let sp = format!("{:.0}", 100.0 * of(mix.apps.len() - 1, |had| had.sp)?);
        let counts =
            [both(|had| had.swaps as f64)?, both(|had| had.demotions as f64)?, both(|had| had.migrations as f64)?];
        Some([vec![mix.name.to_owned(), format!("{seconds:.0}"), fast(0)?, fast(1)?, sp], counts.to_vec()].concat())
    };
    let rows = SET_1.iter().filter_map(row).collect();
    let header = [
        "mix",
        "seconds",
        "first on fast cores, % of its time",
        "second",
        "second in SP, % of the run",
        "swaps",
        "demotions",
        "moves",
    ];
    table("What PA did, on 1FC-12SC", &header, rows, "Means over seeds; a run is at least 30 simulated seconds.")
}

fn singles(results: &Results<'_>) -> Option<Figure> {
    let row = |mix: &Mix| {
        let gain = |policy| percent(results.over_default(Machine::One, mix.name, policy));
        // All of the `n` threads have equal parts, so the parallel part ends with the slowest core.
        let parallel: f64 = match mix.name {
            "FFTW" => 0.7,
            "BLAST" => 0.8,
            "semphy" => 0.75,
            "wupwise" => 0.98,
            _ => 0.995,
        };
        let n = 13.0;
        let time = |speed: f64| (1.0 - parallel) / speed + parallel / n;
        let default = time(1.0 / ((n - 1.0) / n + 0.5 / n));
        let amdahl = format!("{:.1}", 100.0 * (default / time(2.0) - 1.0));
        Some(vec![mix.name.to_owned(), gain("busy-fcs")?, gain("pa")?, amdahl])
    };
    let rows = SINGLE.iter().filter_map(row).collect();
    let header = ["program", "busy-fcs", "pa", "Amdahl"];
    let note = "Percent more speed than Default with 13 threads on 1FC-12SC. Amdahl's closed form has the sequential part on a core of \
        twice the speed, the parallel part at the speed of the slow ones, and Default's sequential part on a core at random; no memory and \
        no barriers.";
    table("One program on all cores", &header, rows, note)
}

fn threads(results: &Results<'_>) -> Option<Figure> {
    let policies: Vec<&'static str> = PAPERS.into_iter().chain(["pa-speedup"]).collect();
    let row = |(mix, machine): (&Mix, Machine)| {
        let gains = policies.iter().map(|policy| percent(results.over_default(machine, mix.name, policy)));
        [Some(format!("{} on {}", mix.name, machine.name()))].into_iter().chain(gains).collect::<Option<Vec<_>>>()
    };
    let rows = THREADS.iter().zip([Machine::One, Machine::Single]).filter_map(row).collect();
    let header: Vec<&str> = ["mix"].into_iter().chain(policies.iter().copied()).collect();
    table("Single threads alone", &header, rows, "Percent more speed than Default.")
}

/// The table of both rules of counting, for threads that spin and say so: only there a rule can
/// act.
fn extensions(results: &Results<'_>) -> Option<Figure> {
    let case = |mix, (policy, notify, master, counted): (&'static str, bool, bool, bool)| match counted {
        true => jobs::spins(mix, policy, notify, master),
        false => jobs::uncounted(mix, policy, notify, master),
    };
    let default = |mix| jobs::spins(mix, DEFAULT, false, false);
    // A quick study runs one of the mixes.
    let mixes: Vec<&'static str> =
        WITH_PHASES.into_iter().filter(|&mix| !results.of(&default(mix)).is_empty()).collect();
    let row = |of: (&'static str, bool, bool, bool)| {
        let gain = |app| mean(mixes.iter().map(|&mix| results.gain_of(app, &case(mix, of), &default(mix))));
        let (policy, notify, master, counted) = of;
        // The row of the same policy without notices and master.
        let plain = |mix| jobs::spins(mix, policy, false, false);
        let acted = mixes.iter().any(|&mix| results.acted(&case(mix, of), &plain(mix)) == Some(true));
        let cells: Vec<String> =
            [Some(0), Some(1), None].map(|app| percent(gain(app))).into_iter().collect::<Option<_>>()?;
        let cells = if acted || !(notify || master) { cells } else { strings(&["not exercised", "", ""]) };
        let name = |is| if is { "yes" } else { "no" };
        let counted = if notify { name(counted) } else { "-" };
        Some([strings(&[policy, name(notify), counted, name(master)]), cells].concat())
    };
    let of = |policy| {
        let [no, yes] = [false, true]
            .map(|master| [(policy, false, master, true), (policy, true, master, true), (policy, true, master, false)]);
        [no, yes].concat()
    };
    let told = [("static-ipc", false, false, true), ("static-ipc", true, false, true)];
    let rows = ["pa", "min-tlp"].into_iter().flat_map(of).chain(told).filter_map(row).collect();
    let header = [
        "policy",
        "notice",
        "marked threads count",
        "master",
        "single thread",
        "program with sequential parts",
        "both",
    ];
    let note = format!(
        "Threads spin and never sleep. Percent more speed than a Default that spins, seed by seed, mean over {} on 1FC-12SC. Not exercised: \
         every run equals that without notice and master.",
        mixes.join(", ")
    );
    table("PA-RTX: notice, counting and master", &header, rows, &note)
}

/// The gain by the number of fast cores, where a second program has sequential parts, and where it
/// has none.
fn fast_cores(results: &Results<'_>) -> Option<Figure> {
    let row = |mix: &Mix| {
        let of = |machine| percent(results.over_default(machine, mix.name, "pa"));
        let cells = [Machine::One, Machine::Four, Machine::Half].map(of);
        [Some(mix.name.to_owned())].into_iter().chain(cells).collect::<Option<Vec<_>>>()
    };
    let rows = SET_1.iter().filter_map(row).collect();
    let header = ["mix", "1FC-12SC", "4FC-12SC", "8FC-8SC"];
    let note = "PA's gain over Default, in percent more speed. On 1FC-12SC the parallel program has 12 threads, on the others 15.";
    table("How many fast cores", &header, rows, note)
}

fn behind_min_tlp(results: &Results<'_>) -> Option<Figure> {
    let row = |mix: &Mix| {
        let of = |machine| {
            let [pa, min_tlp] = ["pa", "min-tlp"].map(|policy| jobs::main(machine, mix.name, policy));
            if results.acted(&pa, &min_tlp)? {
                percent(results.gain(&pa, &min_tlp))
            } else {
                Some("the same".to_owned())
            }
        };
        [Some(mix.name.to_owned())].into_iter().chain(MACHINES.map(of)).collect::<Option<Vec<_>>>()
    };
    let rows = SET_1.iter().filter_map(row).collect();
    let header = ["mix", "1FC-12SC", "4FC-12SC"];
    let note = "Percent more speed than MinTLP, seed by seed. A negative figure is what turns among threads of one class cost.";
    table("PA beside MinTLP", &header, rows, note)
}

/// The table of both readings of how a boost is renewed.
fn renewal(results: &Results<'_>) -> Option<Figure> {
    let cases = |mix: &'static str, rounds: Option<u64>| {
        let usual =
            rounds.map_or_else(|| jobs::main(Machine::One, mix, "pa"), |rounds| jobs::long_parts(mix, "pa", rounds));
        [Case { key: EARNED, ..usual.clone() }, usual]
    };
    let row = |(mix, rounds): (&'static str, Option<u64>)| {
        let [earned, whole] = cases(mix, rounds);
        let acted = results.acted(&earned, &whole)?;
        let app = super::mixes::find(mix)?.apps.len() - 1;
        let sp = |case: &Case| Some(format!("{:.0}", 100.0 * results.had(case, app, |had| had.sp)?));
        let demotions = |case: &Case| Some(format!("{:.0}", results.had(case, app, |had| had.demotions as f64)?));
        let gain = if acted { percent(results.gain(&earned, &whole))? } else { "not exercised".to_owned() };
        let parts = rounds.map_or("as profiled".to_owned(), |rounds| rounds.to_string());
        Some(vec![mix.to_owned(), parts, sp(&whole)?, sp(&earned)?, demotions(&whole)?, demotions(&earned)?, gain])
    };
    let usual = mixes_beside().map(|mix| (mix.name, None));
    let long = WITH_PHASES.into_iter().flat_map(|mix| ROUNDS.map(|rounds| (mix, Some(rounds))));
    let rows = usual.chain(long).filter_map(row).collect();
    let header = [
        "mix",
        "sequential parts a run",
        "second in SP, %, whole",
        "earned",
        "demotions, whole",
        "earned",
        "earned over whole, % more speed",
    ];
    let note = "Whole: an application has the whole boost whenever it enters SP, so that any moment with two runnable threads renews it. Earned: \
        it has what it has not used up, and each cycle in a parallel phase gives one back.";
    table("How a boost is renewed", &header, rows, note)
}

fn long_parts(results: &Results<'_>) -> Option<Figure> {
    let row = |(mix, rounds): (&'static str, u64)| {
        let case = |policy| jobs::long_parts(mix, policy, rounds);
        let gains = WITH_ROUNDS.map(|policy| percent(results.gain(&case(policy), &case(DEFAULT))));
        let gains: Vec<String> = gains.into_iter().collect::<Option<_>>()?;
        let second = |what| results.had(&case("pa"), 1, what);
        let runs = second(|had| f64::from(had.runs))?;
        let demotions = format!("{:.1}", second(|had| had.demotions as f64)? / runs);
        let sp = format!("{:.0}", 100.0 * second(|had| had.sp)?);
        Some([vec![mix.to_owned(), rounds.to_string()], gains, vec![demotions, sp]].concat())
    };
    let rows = WITH_PHASES.into_iter().flat_map(|mix| ROUNDS.map(|rounds| (mix, rounds))).filter_map(row).collect();
    let header: Vec<&str> = ["mix", "sequential parts a run"]
        .into_iter()
        .chain(WITH_ROUNDS)
        .chain(["demotions a run of the second under pa", "second in SP, % of the run"])
        .collect();
    let note = "As many instructions as in the main experiment, in fewer and longer parts. Percent more speed than Default on 1FC-12SC.";
    table("Sequential parts that outlast a boost", &header, rows, note)
}

fn thread_counts(results: &Results<'_>) -> Option<Figure> {
    let row = |(mix, threads): (&'static str, Option<u32>)| {
        let case = |policy| jobs::with_threads(mix, policy, threads);
        let gains = WITH_THREADS.map(|policy| percent(results.gain(&case(policy), &case(DEFAULT))));
        let gains: Vec<String> = gains.into_iter().collect::<Option<_>>()?;
        Some([vec![mix.to_owned(), threads.unwrap_or(12).to_string()], gains].concat())
    };
    let mut counts: Vec<_> = [None].into_iter().chain(THREAD_COUNTS.map(Some)).collect();
    counts.sort_by_key(|count| count.unwrap_or(12));
    let rows = WITH_PHASES.iter().flat_map(|&mix| counts.iter().map(move |&count| (mix, count))).filter_map(row);
    let header: Vec<&str> = ["mix", "threads of the second"].into_iter().chain(WITH_THREADS).collect();
    let note = "Percent more speed than Default with as many threads, on the 13 cores of 1FC-12SC.";
    table("How many threads a parallel program has", &header, rows.collect(), note)
}

fn waits(results: &Results<'_>) -> Option<Figure> {
    let row = |wait: &'static str| {
        let gain = results.mean_beside(|mix| {
            let of = Case { wait, ..jobs::main(Machine::One, mix, "pa") };
            results.gain(&of, &jobs::main(Machine::One, mix, DEFAULT))
        })?;
        let moves: Option<Vec<f64>> = mixes_beside()
            .map(|mix| {
                let of = Case { wait, ..jobs::main(Machine::One, mix.name, "pa") };
                let seconds = results.of(&of).first()?.seconds;
                let both: Option<Vec<f64>> =
                    (0..mix.apps.len()).map(|app| results.had(&of, app, |had| had.migrations as f64)).collect();
                Some(both?.iter().sum::<f64>() / seconds)
            })
            .collect();
        let moves = moves?;
        let mean = moves.iter().sum::<f64>() / moves.len() as f64;
        Some(vec![wait.to_owned(), format!("{:.1}", gain.mean), format!("{mean:.1}")])
    };
    let all = [WAITS[0], WAITS[1], WAIT, WAITS[2], NOTIFY];
    let rows = all.into_iter().filter_map(row).collect();
    let header = ["wait", "PA's mean gain without wupwise, %", "moves a second"];
    let note = "Threads try for the given number of nanoseconds and then sleep; under `notify-park` they notify the scheduler after 0.1 ms. \
        Default waits as in the main experiment.";
    table("How long threads spin", &header, rows, note)
}

fn ratios(results: &Results<'_>) -> Option<Figure> {
    let line = |mix: &'static str| {
        let of = |ratio| {
            let case = |policy| Case { ratio, ..jobs::main(Machine::One, mix, policy) };
            results.gain(&case("pa"), &case(DEFAULT))
        };
        figure::line(mix, RATIOS.map(of))
    };
    let names = RATIOS.map(|ratio| format!("{:.1}", ratio as f64 / 10.0)).into();
    let title = "PA over Default by the ratio of the clocks, on 1FC-12SC";
    let axes = [title, "clock of the fast core over that of a slow one", "percent more speed"];
    lines(axes, names, WITH_PHASES.map(line).into()).map(|figure| figure.named("ratio"))
}

fn equal(results: &Results<'_>) -> Option<Figure> {
    let row = |mix: &Mix| {
        let cost = |machine, policy| {
            let [of, over] = [policy, DEFAULT].map(|policy| jobs::equal(machine, mix.name, policy));
            percent(results.gain(&of, &over))
        };
        let near = [DEFAULT, "pa"].map(|policy| jobs::equal_near_memory(mix.name, policy));
        let cells = [
            cost(Machine::One, "pa"),
            percent(results.gain(&near[1], &near[0])),
            cost(Machine::Near, "pa"),
            cost(Machine::Four, "pa"),
            cost(Machine::Single, "pa"),
            cost(Machine::One, "rr"),
        ];
        [Some(mix.name.to_owned())].into_iter().chain(cells).collect::<Option<Vec<_>>>()
    };
    let rows = SET_1.iter().filter_map(row).collect();
    let header = [
        "mix",
        "pa, own processor",
        "pa, own processor, all memory near",
        "pa, beside slow cores",
        "pa, 4FC-12SC",
        "pa, 1FC-3SC",
        "rr, own processor",
    ];
    let note = "All cores have the same clock, and some are named as fast. Gains are in percent more speed than Default; a negative gain is \
        the cost of moves.";
    table("What moves cost", &header, rows, note)
}

/// What awareness of topology saves at equal clocks, and what it costs where fast cores are faster.
fn topology(results: &Results<'_>) -> Option<Figure> {
    let row = |mix: &Mix| {
        let cost = |machine| {
            let [of, over] = [jobs::equal_aware(machine, mix.name), jobs::equal(machine, mix.name, DEFAULT)];
            percent(results.gain(&of, &over))
        };
        let usual = jobs::main(Machine::Four, mix.name, "pa");
        let aware = Case { key: AWARE, ..usual.clone() };
        let gain = if results.acted(&aware, &usual)? {
            percent(results.gain(&aware, &usual))
        } else {
            Some("the same".to_owned())
        };
        let cells = [cost(Machine::Near), cost(Machine::Four), cost(Machine::Single), gain];
        [Some(mix.name.to_owned())].into_iter().chain(cells).collect::<Option<Vec<_>>>()
    };
    let rows = SET_1.iter().filter_map(row).collect();
    let header = [
        "mix",
        "equal clocks, beside slow cores",
        "equal clocks, 4FC-12SC",
        "equal clocks, 1FC-3SC",
        "2:1, 4FC-12SC, over pa without",
    ];
    let note = "PA with `os.amp.stay_in_domain`: threads of one class take turns only under one last-level cache. At equal clocks in percent \
        more speed than Default; at 2:1 than PA without the key.";
    table("Awareness of topology", &header, rows, note)
}

fn tornado(results: &Results<'_>) -> Option<Figure> {
    let mut rows: Vec<Span> = Vec::new();
    for effect in open::all_effects(results).into_iter().skip(1) {
        let Ok(gain) = effect.gain else { continue };
        let chosen = || (0.0, "as chosen".to_owned());
        let at = rows.iter().position(|row| row.name == effect.what).unwrap_or_else(|| {
            rows.push(Span { name: effect.what.to_owned(), least: chosen(), greatest: chosen() });
            rows.len() - 1
        });
        let value = (gain.mean, effect.choice.to_owned());
        if value.0 < rows[at].least.0 {
            rows[at].least = value;
        } else if value.0 > rows[at].greatest.0 {
            rows[at].greatest = value;
        }
    }
    crate::kit::open::tornado(
        rows,
        "percent more speed under PA than as chosen, mean over set 1 without wupwise",
        Some(0.0),
        &[],
    )
}
