//! Compares the classes of PA with a model: both get the same random histories, and every change of
//! class must come at its exact time.

use baton_sched::placement::{Amp, Answer, Class, EnterSp, Event, Placement, Renewal};
use baton_sched::{Affinity, AppId, Born, Cpu, Cpus, FULL_SPEED, Nice, Notice, Params, ThreadId, pa};
use baton_units::{CoreId, CpuId, Cycles};

const SLICE: u64 = 100;

/// A generator of pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// The state of an application's threads after an event.
#[derive(Clone, Copy, Debug)]
struct Step {
    at: u64,
    app: u32,
    count: u32,
    alive: u32,
    threshold: u32,
}

/// A change of class: its time, the application, the new class, and whether it is a demotion.
type Change = (u64, u32, Class, bool);

#[derive(Clone, Copy, PartialEq)]
enum State {
    Blocked,
    Runnable { marked: bool },
    Gone,
}

/// A placement, and the history that it is told.
struct History {
    pa: Box<dyn Placement>,
    amp: Amp,
    now: u64,
    period: Option<u64>,
    threads: Vec<(u32, State)>,
    /// Which CPUs are fast; the first one always is.
    fast: [bool; CPUS as usize],
    steps: Vec<Step>,
    changes: Vec<Change>,
}

const CPUS: u32 = 4;

impl History {
    fn new(amp: Amp) -> History {
        let cpu = |i| Cpu {
            core: CoreId(i),
            cluster: 0,
            socket: 0,
            kind: 0,
            speed: if i == 0 { FULL_SPEED } else { 512 },
            fast: None,
        };
        let params = Params {
            time_slice: Cycles(SLICE),
            wakeup_granularity: Cycles(0),
            sleeper_credit: Cycles(0),
            balance_interval: Cycles(0),
            wake_pull: 0,
            amp,
        };
        let pa = pa::placement(&Cpus((0..CPUS).map(cpu).collect()), &params);
        History {
            pa,
            amp,
            now: 0,
            period: None,
            threads: vec![],
            fast: [true, false, false, false],
            steps: vec![],
            changes: vec![],
        }
    }

    fn tell(&mut self, event: &Event) {
        let mut answers = Vec::new();
        self.pa.hears(Cycles(self.now), event, &mut answers);
        let mut demoted = None;
        for answer in answers {
            match answer {
                Answer::Class(AppId(app), class) => {
                    self.changes.push((self.now, app, class, demoted.take() == Some(app)));
                }
                Answer::Demoted(AppId(app)) => demoted = Some(app),
                Answer::Period(at) => self.period = Some(at.0),
                Answer::NoPeriod => self.period = None,
                Answer::Move(..) | Answer::Swap(..) => {}
            }
        }
        assert_eq!(demoted, None, "a demotion without a class");
    }

    /// Records every application's state.
    fn note(&mut self) {
        let threshold = self.amp.hp_threshold.unwrap_or(self.fast.iter().filter(|&&fast| fast).count() as u32 + 1);
        for app in 0..3 {
            let of = || self.threads.iter().filter(|(of, _)| *of == app);
            let counts = |state: State| matches!(state, State::Runnable { marked } if !marked || self.amp.count_marked);
            let count = of().filter(|(_, state)| counts(*state)).count() as u32;
            let alive = of().filter(|(_, state)| *state != State::Gone).count() as u32;
            self.steps.push(Step { at: self.now, app, count, alive, threshold });
        }
    }

    fn pass(&mut self, to: u64) {
        while let Some(at) = self.period.filter(|&at| at <= to) {
            self.now = self.now.max(at);
            self.period = None;
            self.tell(&Event::Period);
        }
        self.now = to;
    }

    fn born(&mut self, app: u32) {
        let id = ThreadId(self.threads.len() as u32);
        let nice = Nice::default();
        let born = Born { app: AppId(app), affinity: Affinity::ALL, near: CpuId(0), nice, speedup: None };
        self.threads.push((app, State::Blocked));
        self.tell(&Event::Born(id, born));
        self.note();
    }

    fn becomes(&mut self, at: usize, state: State) {
        let id = ThreadId(at as u32);
        let event = match (self.threads[at].1, state) {
            (State::Blocked, State::Runnable { .. }) => Event::Wake(id),
            (State::Runnable { .. }, State::Blocked) => Event::Block(id),
            (State::Runnable { .. }, State::Gone) => Event::Exit(id),
            (State::Runnable { .. }, State::Runnable { marked: true }) => Event::Notice(id, Notice::Spinning),
            (State::Runnable { .. }, State::Runnable { marked: false }) => Event::Notice(id, Notice::Working),
            _ => return,
        };
        self.threads[at].1 = state;
        self.tell(&event);
        self.note();
    }

    fn act(&mut self, random: &mut Random) {
        let at = random.below(self.threads.len().max(1) as u64) as usize;
        match random.below(16) {
            0 | 1 if self.threads.len() < 24 => self.born(random.below(3) as u32),
            _ if self.threads.is_empty() => {}
            2..=5 => self.becomes(at, State::Runnable { marked: false }),
            6..=8 => self.becomes(at, State::Blocked),
            9 => self.becomes(at, State::Gone),
            10 if self.threads[at].1 != State::Blocked => self.becomes(at, State::Runnable { marked: true }),
            // Passes time until the period for which the placement asked, or until one cycle before
            // it; for one cycle if it asked for none; or for a random time.
            11 | 12 => match self.period {
                Some(next) => self.pass(self.now.max(next - random.below(2).min(next))),
                None => self.pass(self.now + 1),
            },
            13 | 14 => self.pass(self.now + random.below(4 * SLICE)),
            15 => {
                let cpu = 1 + random.below(u64::from(CPUS) - 1) as u32;
                let speed = if random.below(2) == 0 { FULL_SPEED } else { 512 };
                self.speed(cpu, speed);
            }
            _ => {}
        }
    }

    fn speed(&mut self, cpu: u32, speed: u32) {
        self.fast[cpu as usize] = speed == FULL_SPEED;
        self.tell(&Event::Speed(CpuId(cpu), speed));
        self.note();
    }
}

/// Returns the class after these steps, from the definition alone: it reads the whole history of
/// the application again.
fn class_of(steps: &[Step], at: u64, amp: &Amp) -> Class {
    let Some(last) = steps.last() else { return Class::Mp };
    if last.count > last.threshold {
        return Class::Hp;
    }
    // The current run of the application began when it last had no thread.
    let began = steps.iter().rposition(|step| step.alive == 0).map_or(0, |dead| dead + 1);
    let run = &steps[began..];
    // The sequential phase began with the step after the last one of a parallel phase, if one
    // thread was left then.
    let Some(parallel) = run.iter().rposition(|step| step.count > 1) else { return Class::Mp };
    let Some(fell) = run.get(parallel + 1).filter(|step| step.count == 1) else { return Class::Mp };
    let phase = run[..=parallel].iter().rev().take_while(|step| step.count > 1);
    let was_high = phase.into_iter().any(|step| step.count > step.threshold);
    let enters = amp.enter_sp == EnterSp::Falls || was_high;
    if enters && at < fell.at + left(run, parallel + 1, amp) { Class::Sp } else { Class::Mp }
}

/// Returns the boost that is left at the step at which a sequential phase begins: the whole one, or
/// what earlier phases of this run have not used up and parallel phases have given back.
fn left(run: &[Step], begins: usize, amp: &Amp) -> u64 {
    let boost = amp.boost_ticks * SLICE;
    if amp.renew_boost == Renewal::Whole {
        return boost;
    }
    let mut spent = 0u64;
    let mut at = 0;
    // One parallel phase after the other, each with the sequential phase behind it.
    while let Some(from) = (at..begins).find(|&step| run[step].count > 1) {
        let Some(to) = (from..=begins).find(|&step| run[step].count <= 1) else { break };
        spent = spent.saturating_sub(run[to].at - run[from].at);
        let ends = (to..begins).find(|&step| run[step].count > 1);
        let high = run[from..to].iter().any(|step| step.count > step.threshold);
        let enters = run[to].count == 1 && (high || amp.enter_sp == EnterSp::Falls);
        if let (Some(ends), true) = (ends, enters) {
            spent = (spent + run[ends].at - run[to].at).min(boost);
        }
        at = to;
    }
    boost - spent
}

/// Returns the end of the boost of the sequential phase that began at `fell`.
fn boost_end(steps: &[Step], fell: u64, amp: &Amp) -> u64 {
    let began = steps.iter().rposition(|step| step.alive == 0).map_or(0, |dead| dead + 1);
    let run = &steps[began..];
    let begins = run.iter().rposition(|step| step.count > 1).map_or(0, |parallel| parallel + 1);
    fell + left(run, begins, amp)
}

/// Returns all changes of class in the model.
fn model(steps: &[Step], end: u64, amp: &Amp) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut classes = [Class::Mp; 3];
    let mut own: [Vec<Step>; 3] = Default::default();
    let boost = amp.boost_ticks * SLICE;
    let expire = |to: u64, own: &[Vec<Step>; 3], classes: &mut [Class; 3], changes: &mut Vec<Change>| {
        // The moments up to `to` at which boosts may end.
        let mut ends: Vec<(u64, u32)> = Vec::new();
        for app in 0..3u32 {
            let falls = own[app as usize].iter().rev().take_while(|step| step.count <= 1).last();
            // With `earned`, boosts end sooner: each moment up to the whole boost may be the end.
            let ends_at = |step: &Step| boost_end(&own[app as usize], step.at, amp).min(step.at + boost);
            ends.extend(falls.map(|step| (ends_at(step), app)).filter(|(at, _)| *at <= to));
        }
        ends.sort_unstable();
        for (at, app) in ends {
            let class = class_of(&own[app as usize], at, amp);
            if classes[app as usize] == Class::Sp && class != Class::Sp {
                classes[app as usize] = class;
                changes.push((at, app, class, true));
            }
        }
    };
    for step in steps {
        expire(step.at, &own, &mut classes, &mut changes);
        let app = step.app as usize;
        own[app].push(*step);
        let class = class_of(&own[app], step.at, amp);
        if std::mem::replace(&mut classes[app], class) != class {
            changes.push((step.at, step.app, class, false));
        }
    }
    expire(end, &own, &mut classes, &mut changes);
    changes
}

/// Plays histories. Returns the number of demotions.
fn play(histories: u64) -> usize {
    let mut demotions = 0;
    for seed in 1..=histories {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let amp = Amp {
            hp_threshold: [None, None, Some(1), Some(3)][random.below(4) as usize],
            boost_ticks: 1 + random.below(5),
            swap_ticks: 1 + random.below(7),
            enter_sp: if random.below(3) == 0 { EnterSp::FromHp } else { EnterSp::Falls },
            count_marked: random.below(2) == 0,
            renew_boost: if random.below(2) == 0 { Renewal::Whole } else { Renewal::Earned },
            ..Amp::DEFAULT
        };
        let mut history = History::new(amp);
        for _ in 0..60 + random.below(60) {
            history.act(&mut random);
        }
        let end = history.now + 10 * SLICE;
        history.pass(end);
        let expected = model(&history.steps, end, &amp);
        assert_eq!(history.changes, expected, "history {seed}, {amp:?}: {:#?}", history.steps);
        demotions += expected.iter().filter(|change| change.3).count();
    }
    demotions
}

#[test]
fn classes_are_those_of_the_model() {
    let demotions = play(3_000);
    assert!(demotions > 2_000, "the histories have {demotions} demotions only");
}

/// Run it with `cargo test -p baton-sched --test classes -- --ignored`.
#[test]
#[ignore = "takes seconds; the short form runs with all tests"]
fn classes_are_those_of_the_model_in_many_histories() {
    assert!(play(100_000) > 60_000);
}

/// SP lasts until the cycle before the end of the boost.
#[test]
fn a_thread_is_demoted_exactly_at_its_tick() {
    let amp = Amp { boost_ticks: 3, swap_ticks: 1000, ..Amp::DEFAULT };
    for early in [1, 0] {
        let mut history = History::new(amp);
        for _ in 0..2 {
            history.born(0);
            history.becomes(history.threads.len() - 1, State::Runnable { marked: false });
        }
        history.pass(777);
        history.becomes(0, State::Blocked);
        assert_eq!(history.changes, [(777, 0, Class::Sp, false)]);
        let tick = 777 + 3 * SLICE;
        history.pass(tick - early);
        let demoted = [(777, 0, Class::Sp, false), (tick, 0, Class::Mp, true)];
        assert_eq!(history.changes, demoted[..2 - early as usize]);
    }
}
