//! `baton doctor --advice`: how a thread should wait on this machine, with the measured prices. The page
//! `docs/how-to-wait.md` has the reasons that hold on every machine.

use super::findings::Findings;
use super::show::time;
use serde::Serialize;

/// What the advice rests on, in nanoseconds.
#[derive(Clone, Debug, Serialize)]
struct Prices {
    cpus: usize,
    threads_per_core: usize,
    /// From the wake-up call until the sleeper runs, with the call itself; `None` if not measured.
    wake_ns: Option<f64>,
    /// A line to another CPU and back.
    line_ns: Option<f64>,
    pause_ns: Option<f64>,
    /// Policies that rest until a line is written, and work here.
    resting: Vec<&'static str>,
}

/// Policies that leave the core to a sibling.
const RESTING: [&str; 3] = ["umwait", "mwaitx", "wfe"];
/// A sleep this long is taken for the price of a sleep: the CPU has gone idle, and not deeply.
const SLEPT_NS: u64 = 50_000;

impl Prices {
    fn of(f: &Findings) -> Prices {
        let slept = f.wake_by_sleep.iter().find(|w| w.slept_ns == SLEPT_NS);
        let trips = f.line_round_trips.iter().filter_map(|pair| pair.round_trip.as_ref()).map(|trip| trip.median);
        Prices {
            cpus: f.cpus.allowed.len(),
            threads_per_core: f.cpus.threads_per_core,
            wake_ns: slept.map(|w| w.latency.median + w.call.median),
            line_ns: trips.max_by(f64::total_cmp),
            pause_ns: f.figure("pause").map(|pause| pause.spread.median),
            resting: f.waits.iter().filter(|w| w.here && RESTING.contains(&w.name)).map(|w| w.name).collect(),
        }
    }

    /// Tries of [`SpinPark`] that take as long as a sleep and its wake-up.
    fn tries(&self) -> Option<f64> {
        Some((self.wake_ns? / self.pause_ns?).round().max(1.0))
    }
}

/// One answer.
#[derive(Debug, Serialize)]
struct Advice {
    question: &'static str,
    take: String,
    because: String,
}

/// All answers, with what they rest on.
#[derive(Serialize)]
pub(super) struct All {
    prices: Prices,
    advice: Vec<Advice>,
}

/// Makes the advice of the findings.
pub(super) fn of(findings: &Findings) -> All {
    let prices = Prices::of(findings);
    All { advice: vec![unknown(&prices), own_cpus(&prices), sibling(&prices), energy(&prices), order()], prices }
}

fn unknown(p: &Prices) -> Advice {
    let question = "You do not know how long waits last, or whether each thread has a CPU";
    if p.cpus == 1 {
        let because = "this process has one CPU: a waiter that spins keeps it from the thread that it waits for";
        return Advice { question, take: "Mutex<T, Park>; `--wait futex`".into(), because: because.into() };
    }
    let (Some(wake), Some(tries)) = (p.wake_ns, p.tries()) else {
        let because = "the price of a sleep could not be measured here; 10 us is a guess that learning corrects";
        return Advice { question, take: "Mutex<T>, whose waits are Adaptive".into(), because: because.into() };
    };
    Advice {
        question,
        take: format!(
            "Mutex<T, Adaptive<{wake:.0}>>, or Mutex<T, SpinPark<{tries:.0}>>; `--wait 'adaptive({wake:.0})'`"
        ),
        because: format!(
            "a wake-up after a sleep of {} costs {}, as much as {tries:.0} PAUSEs: a waiter that spins as long pays at most twice the best",
            time(SLEPT_NS as f64),
            time(wake)
        ),
    }
}

fn own_cpus(p: &Prices) -> Advice {
    let question = "Each thread has a CPU of its own, always, and waits are short";
    if p.cpus == 1 {
        let because = "this process has one CPU".to_owned();
        return Advice { question, take: "not here".into(), because };
    }
    let because = match (p.line_ns, p.wake_ns) {
        (Some(line), Some(wake)) => format!(
            "a line goes to another CPU and back in {}, a wake-up takes {}: {:.0} times as long",
            time(line),
            time(wake),
            wake / line
        ),
        _ => "a line is faster than a wake-up; how much faster could not be measured here".into(),
    };
    let take = format!("McsMutex<T, Pause> or TicketMutex<T, Pause>, with at most {} threads", p.cpus);
    Advice { question, take, because }
}

fn sibling(p: &Prices) -> Advice {
    let question = "The core's other hardware thread computes meanwhile";
    if p.threads_per_core < 2 {
        let because = "the cores of this machine show one hardware thread each (a hypervisor may hide others)";
        return Advice { question, take: "no other policy".into(), because: because.into() };
    }
    let (take, because) = match p.resting.first() {
        Some(resting) => (
            format!("`{resting}`, and Park for waits beyond {}", p.wake_ns.map_or("a wake-up".into(), time)),
            format!("`{resting}` works here and leaves the core to the sibling; a spinning waiter takes part of it"),
        ),
        None => (
            "Mutex<T, Park>".into(),
            "a spinning waiter takes part of the core, and no instruction that rests works here".into(),
        ),
    };
    Advice { question, take, because }
}

fn energy(p: &Prices) -> Advice {
    let question = "Energy counts more than time";
    let because = match p.wake_ns {
        Some(wake) => format!("a sleeping thread lets its CPU rest; each wake-up costs {}", time(wake)),
        None => "a sleeping thread lets its CPU rest".into(),
    };
    Advice { question, take: "Mutex<T, Park>; `--wait futex`".into(), because }
}

fn order() -> Advice {
    Advice {
        question: "No waiter may be passed over for long",
        take: "FairMutex<T>".into(),
        because: "its oldest waiter is passed over for 500 us at most, and a running thread may pass until then".into(),
    }
}

impl All {
    /// The advice as text.
    pub(super) fn text(&self) -> String {
        let each = self
            .advice
            .iter()
            .map(|advice| format!("{}:\n  take     {}\n  because  {}\n", advice.question, advice.take, advice.because));
        each.collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices() -> Prices {
        Prices {
            cpus: 4,
            threads_per_core: 2,
            wake_ns: Some(6_000.0),
            line_ns: Some(120.0),
            pause_ns: Some(12.0),
            resting: vec!["umwait"],
        }
    }

    #[test]
    fn budgets_follow_the_measured_prices() {
        let general = unknown(&prices());
        assert!(general.take.contains("Adaptive<6000>") && general.take.contains("SpinPark<500>"), "{general:?}");
        assert!(own_cpus(&prices()).because.contains("50 times as long"));
        assert!(sibling(&prices()).take.starts_with("`umwait`"));
        let twice = unknown(&Prices { wake_ns: Some(12_000.0), ..prices() });
        assert!(twice.take.contains("SpinPark<1000>"), "{twice:?}");
    }

    #[test]
    fn one_cpu_and_missing_prices_are_told() {
        let one = Prices { cpus: 1, threads_per_core: 1, ..prices() };
        assert!(unknown(&one).take.contains("Park") && own_cpus(&one).take == "not here");
        assert_eq!(sibling(&one).take, "no other policy");
        let blind = Prices { wake_ns: None, resting: Vec::new(), ..prices() };
        assert!(unknown(&blind).because.contains("could not be measured"));
        assert!(own_cpus(&blind).because.contains("could not be measured"));
        assert_eq!(sibling(&blind).take, "Mutex<T, Park>");
    }
}
