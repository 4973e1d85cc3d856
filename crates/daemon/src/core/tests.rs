use super::*;
use crate::input::Input;
use crate::log;
use crate::setup::tests::setup;
use baton_machine::discover::cpulist;
use baton_sched::AppId;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// A thread of an application, in a process of its own that is not young.
pub(crate) fn begins(id: u32, app: u32, cpus: &str) -> Input {
    let cpus = cpulist::parse(cpus).unwrap();
    let begins = Begins { app: AppId(app), pid: 100 + id, tid: 100 + id, cpus, young: true, inherited: false };
    Input::Begins(ThreadId(id), begins)
}

fn old(id: u32, app: u32, cpus: &str) -> Input {
    let Input::Begins(id, begins) = begins(id, app, cpus) else { unreachable!() };
    Input::Begins(id, Begins { young: false, ..begins })
}

/// Gives the inputs to a core. Returns the core and the log.
pub(crate) fn run(setup: Setup, inputs: &[(u64, Input)]) -> (Core, String) {
    let mut text = setup.text();
    let mut core = Core::new(setup);
    for (now, input) in inputs {
        let decisions = core.hear(*now, input).unwrap_or_else(|why| panic!("{now} {input:?}: {why}"));
        text += &log::line(*now, input, &decisions);
    }
    (core, text)
}

/// The decisions of a log, each with its time in milliseconds.
fn decisions(log: &str) -> Vec<String> {
    let events = log.lines().skip_while(|line| *line != "events").skip(1);
    let told = events.filter_map(|line| {
        let (input, decisions) = line.split_once(": ")?;
        let now: u64 = input.split(' ').next()?.parse().ok()?;
        Some(format!("{} {}", now / MS, decisions.trim_end_matches(';')))
    });
    told.collect()
}

fn on(id: u32, cpu: u32) -> Input {
    Input::Runs(ThreadId(id), CpuId(cpu))
}

fn waits(id: u32, cpu: u32) -> Input {
    Input::Waits(ThreadId(id), CpuId(cpu))
}

fn sleeps(id: u32) -> Input {
    Input::Sleeps(ThreadId(id))
}

/// Ticks every 4 ms.
fn ticks(from: u64, to: u64) -> Vec<(u64, Input)> {
    (from / 4..=to / 4).map(|at| (at * 4 * MS, Input::Tick)).collect()
}

#[test]
fn a_lone_thread_comes_to_the_fast_cpu() {
    for policy in ["busy-fcs", "rr", "min-tlp", "pa", "static-ipc", "pa-speedup"] {
        let (_, log) = run(setup(policy, "slow fast slow", 2), &[(0, old(0, 0, "0-2")), (MS, on(0, 2))]);
        assert_eq!(decisions(&log), ["1 mask 0 1 move"], "{policy}");
    }
}

#[test]
fn a_young_process_keeps_its_mask() {
    let mut inputs = vec![(0, begins(0, 0, "0-1")), (MS, on(0, 1))];
    inputs.extend(ticks(4, 16));
    assert_eq!(decisions(&run(setup("pa", "fast slow", 1), &inputs).1), [""; 0]);
    inputs.extend(ticks(20, 20));
    assert_eq!(decisions(&run(setup("pa", "fast slow", 1), &inputs).1), ["20 mask 0 0 move"]);
}

#[test]
fn a_thread_that_may_not_run_on_fast_cpus_stays() {
    let mut inputs = vec![(0, old(0, 0, "1")), (MS, on(0, 1))];
    inputs.extend(ticks(4, 200));
    assert_eq!(decisions(&run(setup("pa", "fast slow", 1), &inputs).1), [""; 0]);
}

/// `min-tlp` gives the fast CPU to the application with one thread, in the first round of swaps.
#[test]
fn a_round_swaps_threads() {
    let mut inputs: Vec<(u64, Input)> = (0..4).map(|id| (0, old(id, u32::from(id == 3), "0-2"))).collect();
    inputs.extend([(MS, on(0, 0)), (MS, on(1, 1)), (MS, waits(2, 1)), (MS, on(3, 2))]);
    inputs.extend(ticks(4, 104));
    let (core, log) = run(setup("min-tlp", "fast slow slow", 2), &inputs);
    assert_eq!(decisions(&log), ["100 mask 3 0 swap; mask 0 1-2 swap"]);
    let had = core.had();
    assert_eq!((had[0].swaps, had[1].swaps, had[0].threads, had[1].threads), (1, 1, 3, 1));
    assert_eq!((had[1].slow_ns, had[0].fast_ns), (103 * MS, 103 * MS));
}

#[test]
fn a_class_is_decided_and_lost_in_time() {
    let mut inputs = vec![(0, old(0, 0, "0-2")), (0, old(1, 0, "0-2"))];
    inputs.extend([(MS, on(0, 0)), (MS, on(1, 1)), (2 * MS, sleeps(1))]);
    inputs.extend(ticks(4, 1004));
    let (core, log) = run(setup("pa", "fast slow slow", 1), &inputs);
    assert_eq!(decisions(&log), ["2 class 0 sp", "1004 demoted 0; class 0 mp"]);
    assert_eq!((core.classes(), core.had()[0].demotions), (&[Class::Mp][..], 1));
}

#[test]
fn a_waiting_thread_gets_room_where_a_cpu_idles() {
    let mut inputs = vec![(0, old(0, 0, "0-1")), (0, old(1, 0, "0-1")), (MS, on(0, 1))];
    // Thread 0 comes to the fast CPU and sleeps, thread 1 comes after it, and both want it.
    inputs.extend([(2 * MS, on(0, 0)), (3 * MS, sleeps(0)), (4 * MS, on(1, 1)), (5 * MS, on(1, 0))]);
    inputs.push((6 * MS, waits(0, 0)));
    inputs.extend(ticks(8, 200));
    let (core, log) = run(setup("busy-fcs", "fast slow", 1), &inputs);
    assert_eq!(decisions(&log), ["1 mask 0 0 move", "4 mask 1 0 move", "12 mask 0 0-1 room"]);
    assert_eq!(core.had()[0].widened, 1);
}

#[test]
fn a_thread_with_room_is_not_narrowed_at_once() {
    let mut inputs = vec![(0, old(0, 0, "0-1")), (MS, on(0, 1)), (2 * MS, on(0, 0)), (3 * MS, waits(0, 0))];
    // Another program has the fast CPU: the thread waits, gets room, runs on the slow one, and is
    // moved again only after ten time slices.
    inputs.extend(ticks(4, 8));
    inputs.push((9 * MS, on(0, 1)));
    inputs.extend(ticks(12, 160));
    let told = decisions(&run(setup("busy-fcs", "fast slow", 1), &inputs).1);
    let [first, room, again] = &told[..] else { panic!("{told:?}") };
    assert_eq!((&**first, &**room), ("1 mask 0 0 move", "8 mask 0 0-1 room"));
    let at: u64 = again.split_once(' ').unwrap().0.parse().unwrap();
    assert!((108..=132).contains(&at), "{told:?}");
}

/// The other thread has just left the fast CPU, so that no other program is in the way.
#[test]
fn a_thread_with_room_comes_back_if_no_other_program_was_in_the_way() {
    let mut inputs = vec![(0, old(0, 0, "0-1")), (0, old(1, 0, "0-1")), (MS, on(0, 1))];
    inputs.extend([(2 * MS, on(0, 0)), (3 * MS, sleeps(0)), (4 * MS, on(1, 1)), (5 * MS, on(1, 0))]);
    inputs.extend([(6 * MS, waits(0, 0)), (8 * MS, Input::Tick), (11 * MS, sleeps(1)), (12 * MS, Input::Tick)]);
    inputs.push((13 * MS, on(0, 1)));
    let (_, log) = run(setup("busy-fcs", "fast slow", 1), &inputs);
    assert_eq!(decisions(&log)[2..], ["12 mask 0 0-1 room", "13 mask 0 0 move"]);
}

/// The kernel takes a thread off a CPU that its new mask lacks, after a record that it ran there.
#[test]
fn a_thread_waits_for_a_cpu_of_its_mask() {
    let mut inputs = vec![(0, old(0, 0, "0-2")), (0, old(1, 0, "0-2")), (MS, waits(0, 1)), (MS, on(1, 0))];
    inputs.extend([(2 * MS, on(0, 1)), (3 * MS, waits(0, 1))]);
    let (core, log) = run(setup("busy-fcs", "fast slow slow", 1), &inputs);
    assert_eq!(decisions(&log), ["1 mask 0 0 move"]);
    assert_eq!(core.threads().next().map(|at| (at.state, at.cpu)), Some(("waits", Some(CpuId(0)))));
}

#[test]
fn an_inherited_mask_is_widened_at_once() {
    let Input::Begins(id, child) = begins(0, 0, "0-1") else { unreachable!() };
    let input = Input::Begins(id, Begins { inherited: true, ..child });
    assert_eq!(decisions(&run(setup("pa", "fast slow", 1), &[(0, input)]).1), ["0 mask 0 0-1 inherited"]);
}

#[test]
fn a_program_that_sets_its_own_mask_is_followed() {
    let mut inputs = vec![(0, old(0, 0, "0-2")), (MS, on(0, 2)), (2 * MS, Input::Mask(ThreadId(0), vec![2]))];
    inputs.extend(ticks(4, 300));
    let (core, log) = run(setup("rr", "fast slow slow", 1), &inputs);
    assert_eq!(decisions(&log), ["1 mask 0 0 move"]);
    assert_eq!(core.mask(ThreadId(0)), Some(vec![2]));
}

#[test]
fn a_thread_that_the_kernel_refuses_is_asked_for_once() {
    let mut inputs = vec![(0, old(0, 0, "0-1")), (MS, on(0, 1)), (2 * MS, Input::Refused(ThreadId(0)))];
    inputs.extend(ticks(4, 500));
    let (core, log) = run(setup("rr", "fast slow", 1), &inputs);
    assert_eq!(decisions(&log), ["1 mask 0 0 move"]);
    assert_eq!(core.mask(ThreadId(0)), Some(vec![0, 1]), "its mask is the user's");
}

/// A thread that does not come is taken to be where it is, so that another may have the CPU.
#[test]
fn a_thread_that_does_not_follow_is_where_it_is() {
    let mut inputs = vec![(0, old(0, 0, "0-2")), (MS, on(0, 1)), (2 * MS, old(1, 0, "0-2")), (2 * MS, on(1, 2))];
    inputs.extend(ticks(4, 16));
    inputs.push((17 * MS, sleeps(0)));
    inputs.extend(ticks(20, 24));
    let told = decisions(&run(setup("busy-fcs", "fast slow slow", 1), &inputs).1);
    assert_eq!(told, ["1 mask 0 0 move", "17 mask 1 0 move"]);
}

/// Two threads that the policy hears of at the same time do not both come to the one fast CPU.
#[test]
fn a_fast_cpu_gets_one_of_two_new_threads() {
    let mut inputs = vec![(0, begins(0, 0, "0-1")), (0, begins(1, 0, "0-1")), (MS, on(0, 1)), (MS, waits(1, 1))];
    inputs.extend(ticks(20, 20));
    let told = decisions(&run(setup("rr", "fast slow", 1), &inputs).1);
    assert_eq!(told, ["20 mask 0 0 move"]);
}

fn lock(id: u32, notice: LockNotice) -> Input {
    Input::Lock(ThreadId(id), notice, 5)
}

/// A holder that another thread waits for takes the other's place on the fast CPU, and a thread that
/// waits at a barrier makes room for one that has not arrived.
#[test]
fn crit_acts_on_what_threads_tell() {
    let start = [(0, old(0, 0, "0-1")), (0, old(1, 0, "0-1")), (MS, on(0, 0)), (MS, on(1, 1))];
    let swap = ["2 mask 1 0 swap; mask 0 1 swap"];
    let of = |policy: &str, told: &[(u64, Input)]| {
        decisions(&run(setup(policy, "fast slow", 1), &[&start[..], told].concat()).1)
    };
    let holder = [(2 * MS, lock(1, LockNotice::Taken)), (2 * MS, lock(0, LockNotice::Wanted))];
    assert_eq!(of("crit", &holder), swap);
    assert_eq!(of("busy-fcs", &holder), [""; 0], "it does not listen");
    assert_eq!(of("crit", &[(2 * MS, lock(0, LockNotice::Arrived))]), swap);
    let nobody = [(2 * MS, lock(1, LockNotice::Taken)), (2 * MS, lock(1, LockNotice::Left))];
    assert_eq!(of("crit", &[&nobody[..], &[(2 * MS, lock(0, LockNotice::Wanted))]].concat()), [""; 0]);
}

/// `lavd` acts on a holder that has slept for its lock, as the kernel sees it; the thread may sleep before the
/// daemon hears that it wants the lock.
#[test]
fn lavd_acts_on_a_holder_that_slept() {
    let start = [(0, old(0, 0, "0-1")), (0, old(1, 0, "0-1")), (MS, on(0, 0)), (MS, on(1, 1))];
    let (wants, takes) = ((2 * MS, lock(1, LockNotice::Wanted)), (4 * MS, lock(1, LockNotice::Taken)));
    let of = |told: &[(u64, Input)]| decisions(&run(setup("lavd", "fast slow", 1), &[&start[..], told].concat()).1);
    let swap = ["4 mask 1 0 swap; mask 0 1 swap"];
    assert_eq!(of(&[wants.clone(), (3 * MS, sleeps(1)), (4 * MS, on(1, 1)), takes.clone()]), swap);
    assert_eq!(of(&[(2 * MS, sleeps(1)), wants.clone(), (4 * MS, on(1, 1)), takes.clone()]), swap);
    assert_eq!(of(&[wants, takes]), [""; 0], "it has not slept");
}

/// What a young process's threads tell is known when the policy hears of the process.
#[test]
fn locks_of_a_young_process_are_told_later() {
    let mut inputs = vec![(0, begins(0, 0, "0-1")), (0, begins(1, 0, "0-1")), (MS, on(0, 0)), (MS, on(1, 1))];
    inputs.extend([(2 * MS, lock(1, LockNotice::Taken)), (2 * MS, lock(0, LockNotice::Wanted))]);
    inputs.extend(ticks(4, 20));
    let (core, log) = run(setup("crit", "fast slow", 1), &inputs);
    assert_eq!(decisions(&log), ["20 mask 1 0 swap; mask 0 1 swap"]);
    let told: Vec<_> = core.threads().map(|at| (at.waits_for, at.holds)).collect();
    assert_eq!(told, [(Some(LockNotice::Wanted), 0), (None, 1)]);
}

#[test]
fn a_cpu_that_comes_on_is_used() {
    let mut at_start = setup("busy-fcs", "slow fast", 1);
    at_start.usable[1] = false;
    let inputs = [(0, old(0, 0, "0-1")), (MS, on(0, 0)), (2 * MS, Input::Online(CpuId(1), true))];
    let mut inputs = inputs.to_vec();
    inputs.extend(ticks(4, 4));
    assert_eq!(decisions(&run(at_start, &inputs).1), ["2 mask 0 1 move"]);
}

#[test]
fn cpus_that_are_off_are_in_no_mask() {
    let mut at_start = setup("busy-fcs", "fast fast slow", 1);
    at_start.usable[0] = false;
    let inputs = [(0, old(0, 0, "0-2")), (MS, on(0, 2)), (2 * MS, sleeps(0))];
    assert_eq!(decisions(&run(at_start, &inputs).1), ["1 mask 0 1 move"]);
    let off = (0, Input::Online(CpuId(1), false));
    let inputs = [&[off][..], &inputs].concat();
    assert_eq!(decisions(&run(setup("busy-fcs", "fast fast slow", 1), &inputs).1), ["1 mask 0 0 move"]);
}

#[test]
fn a_thread_may_end_in_its_sleep() {
    let inputs =
        [(0, old(0, 0, "0-1")), (MS, Input::Ends(ThreadId(0))), (2 * MS, old(1, 0, "0-1")), (3 * MS, on(1, 1))];
    let (core, log) = run(setup("pa", "fast slow", 1), &inputs);
    assert_eq!(decisions(&log), ["3 mask 1 0 move"]);
    assert_eq!(core.threads().count(), 1);
}

/// A step of a random history: what happens, to which thread, on which CPU, and how much later.
type Step = (u8, u32, u32, u64);

/// Makes a history that can be: only threads that live do something.
fn history(steps: &[Step]) -> Vec<(u64, Input)> {
    let (mut now, mut next, mut alive) = (0, 0, Vec::new());
    let mut inputs = Vec::new();
    for &(what, which, cpu, later) in steps {
        now += later;
        let pick = alive.get(which as usize % alive.len().max(1)).copied();
        let input = match (what, pick) {
            (0, _) | (_, None) => {
                alive.push(ThreadId(next));
                next += 1;
                let mask = ["0-3", "0", "1-2", "3"][which as usize % 4];
                let Input::Begins(id, begins) = begins(next - 1, which % 2, mask) else { unreachable!() };
                Input::Begins(id, Begins { pid: which % 3, young: cpu == 0, inherited: cpu == 1, ..begins })
            }
            (1, Some(id)) => {
                alive.retain(|&other| other != id);
                Input::Ends(id)
            }
            (2, Some(_)) => Input::Online(CpuId(cpu), which % 3 != 0),
            (3, Some(id)) => Input::Mask(id, vec![cpu]),
            (4, Some(id)) if which % 5 == 0 => Input::Refused(id),
            (13, Some(id)) => {
                let notices = [LockNotice::Wanted, LockNotice::Taken, LockNotice::Left, LockNotice::Arrived];
                Input::Lock(id, notices[which as usize % 4], cpu.into())
            }
            (5..=8, Some(id)) => Input::Runs(id, CpuId(cpu)),
            (9..=10, Some(id)) => Input::Waits(id, CpuId(cpu)),
            (11..=12, Some(id)) => Input::Sleeps(id),
            _ => Input::Tick,
        };
        inputs.push((now, input));
    }
    inputs
}

/// Finds a mask that was decided and is neither the user's nor all fast or all slow CPUs of it that are on. The fast CPUs
/// are 0 and 3.
fn stray_mask(log: &str) -> Option<String> {
    let (mut users, mut on) = (std::collections::BTreeMap::new(), [true; 4]);
    for line in log.lines().skip_while(|line| *line != "events").skip(1) {
        let (input, decisions) = line.split_once(':')?;
        let words: Vec<&str> = input.split(' ').collect();
        match Input::read(&words[1..]) {
            Some(Input::Begins(id, begins)) => drop(users.insert(id.0, begins.cpus)),
            Some(Input::Mask(id, cpus)) => drop(users.insert(id.0, cpus)),
            Some(Input::Online(cpu, is_on)) => on[cpu.0 as usize] = is_on,
            _ => {}
        }
        for decision in decisions.split(';') {
            let &["mask", id, cpus, _] = &decision.split_whitespace().collect::<Vec<_>>()[..] else { continue };
            let (cpus, user) = (cpulist::parse(cpus).unwrap(), &users[&id.parse::<u32>().unwrap()]);
            let is_part = |fast: bool| {
                let part = user.iter().filter(|&&cpu| on[cpu as usize] && [0, 3].contains(&cpu) == fast);
                part.eq(&cpus)
            };
            if cpus.is_empty() || !(cpus == *user || is_part(true) || is_part(false)) {
                return Some(line.to_owned());
            }
        }
    }
    None
}

proptest! {
    #![proptest_config(baton_needs::property!(128))]

    /// Whatever happens, the core answers, its masks are parts of the users', its log replays, and
    /// every CPU's load is that of the threads on it.
    #[test]
    fn random_histories_replay(
        policy in 0..crate::policies::POLICIES.len(),
        steps in prop::collection::vec((0..16_u8, 0..64_u32, 0..4_u32, 0..6 * MS), 1..300),
    ) {
        let policy = crate::policies::POLICIES[policy].name;
        let (core, log) = run(setup(policy, "fast slow slow fast", 2), &history(&steps));
        let replayed = log::replay(&log).map_err(TestCaseError::fail)?;
        prop_assert_eq!(replayed.differs, None);
        prop_assert_eq!(stray_mask(&log), None);
        for cpu in (0..4).map(CpuId) {
            let there = core.threads().filter(|at| at.cpu == Some(cpu)).count();
            prop_assert_eq!(core.board.load(cpu) as usize, there);
            let runs = core.threads().filter(|at| at.cpu == Some(cpu) && at.state == "runs").count();
            prop_assert!(runs <= 1);
        }
    }
}

/// The next look comes at once while something moves, and at last when the policy or a young process wants it.
#[test]
fn a_calm_run_is_looked_at_less_often() {
    let patience = |inputs: &[(u64, Input)]| run(setup("min-tlp", "fast slow", 2), inputs).0.patience() / MS;
    assert_eq!(patience(&[]), 12);
    let young = |at: u64| vec![(0, begins(0, 0, "0-1")), (at * MS, Input::Tick)];
    assert_eq!([0, 12, 15, 18].map(|at| patience(&young(at))), [12, 8, 5, 4], "its threads are placed at 20 ms");
    let lone = [(0, old(0, 0, "0-1")), (MS, on(0, 0)), (2 * MS, Input::Tick)];
    assert_eq!(patience(&lone), 12, "it is where it belongs");
    let moved = [(0, old(0, 0, "0-1")), (MS, on(0, 1)), (2 * MS, Input::Tick)];
    assert_eq!(patience(&moved), 4, "a move is under way");
    assert_eq!(patience(&[&moved[..], &[(3 * MS, on(0, 0))]].concat()), 12, "it has come");
    let pinned = [(0, old(0, 0, "0")), (0, old(1, 0, "0")), (MS, on(0, 0)), (MS, waits(1, 0)), (2 * MS, Input::Tick)];
    assert_eq!(patience(&pinned), 4, "a thread waits while a CPU idles");
    // Three busy threads: the round of swaps comes at 100 ms.
    let mut busy: Vec<(u64, Input)> = (0..3).map(|id| (0, old(id, id.min(1), "0-1"))).collect();
    busy.extend([(MS, on(1, 0)), (MS, on(0, 1)), (MS, waits(2, 0))]);
    let at = |ms: u64| [&busy[..], &[(ms * MS, Input::Tick)]].concat();
    assert_eq!([60, 93, 98].map(|ms| patience(&at(ms))), [12, 7, 4]);
}
