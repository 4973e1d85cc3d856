//! Policies for chips with fast and slow cores under random histories, in which preemptions take no
//! time or some.

mod common;

use baton_sched::placement::log::{Logged, replay};
use baton_sched::placement::{Adapter, Amp, Answer, Placement};
use baton_sched::{
    Affinity, AppId, Cpu, Cpus, FULL_SPEED, LockNotice, Notice, Params, Policy, ThreadId, amp_default, busy_fcs, crit,
    linux, min_tlp, pa, pa_speedup, rr, static_ipc,
};
use baton_units::{CoreId, CpuId, Cycles};
use common::{PARAMS, State, World};

type Make = fn(&Cpus, &Params) -> Box<dyn Placement>;

/// The policies that distinguish fast cores. For each: whether it swaps threads, and after how long
/// an idle fast core takes a thread that runs on a slow one.
const POLICIES: [(&Policy, Make, bool, u64); 8] = [
    (&busy_fcs::POLICY, busy_fcs::placement, false, 0),
    (&rr::POLICY, rr::placement, true, 0),
    (&static_ipc::POLICY, static_ipc::placement, true, 0),
    (&min_tlp::POLICY, min_tlp::placement, true, 0),
    (&pa::POLICY, pa::placement, true, 0),
    (&crit::POLICY, crit::placement, true, 0),
    (&pa_speedup::POLICY, pa_speedup::placement, true, 0),
    // An idle fast CPU takes a thread from a slow one in the next balancing at the latest.
    (&linux::POLICY, linux::placement, false, PARAMS.time_slice.0),
];

/// A generator of pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Numbers of CPUs, and of ticks between swaps, of a history.
const CPUS: usize = 6;
const SWAP_TICKS: u64 = 3;

struct History {
    world: World,
    random: Random,
    speeds: [u32; CPUS],
    marked: Vec<bool>,
    /// The time at which something last happened other than the passing of time. `idle_since` is
    /// the time since which each fast CPU is idle although there is a thread for it.
    acted: u64,
    idle_since: [u64; CPUS],
    waits_since: Vec<u64>,
    longest_wait: u64,
    fewest_on: usize,
    most_fast: usize,
    holder_keeps: bool,
}

impl History {
    fn new(policy: &Policy, seed: u64, delay: u64) -> History {
        let mut random = Random::new(seed);
        let topology = random.below(2) == 0;
        let min_stay = Some(SWAP_TICKS * PARAMS.time_slice.0);
        let holder_keeps = random.below(2) == 0;
        let amp = Amp { swap_ticks: SWAP_TICKS, boost_ticks: 5, topology, min_stay, holder_keeps, ..Amp::DEFAULT };
        let mut world = World::new(policy, CPUS as u32, Params { amp, ..PARAMS });
        world.delay = delay;
        let mut history = History {
            world,
            random,
            speeds: [FULL_SPEED; CPUS],
            marked: vec![],
            acted: 0,
            idle_since: [0; CPUS],
            waits_since: vec![],
            longest_wait: 0,
            fewest_on: CPUS,
            most_fast: 0,
            holder_keeps,
        };
        for cpu in 2..CPUS {
            history.set_speed(cpu, FULL_SPEED / 2);
        }
        history
    }

    fn set_speed(&mut self, cpu: usize, speed: u32) {
        self.speeds[cpu] = speed;
        self.world.told(|policy, now, out| policy.set_speed(now, CpuId(cpu as u32), speed, out));
    }

    fn is_fast(&self, cpu: usize) -> bool {
        let on = (0..CPUS).filter(|&cpu| self.world.on[cpu]);
        self.world.on[cpu] && on.map(|cpu| self.speeds[cpu]).max() == Some(self.speeds[cpu])
    }

    fn affinity(&mut self) -> Affinity {
        match self.random.below(3) {
            0 => Affinity::to((0..2).map(|_| CpuId(self.random.below(CPUS as u64) as u32))),
            _ => Affinity::ALL,
        }
    }

    fn some(&mut self, fits: fn(&State) -> bool) -> Option<ThreadId> {
        let all = 0..self.world.threads.len() as u32;
        let fitting: Vec<u32> = all.filter(|&id| fits(&self.world.threads[id as usize].state)).collect();
        (!fitting.is_empty()).then(|| ThreadId(fitting[self.random.below(fitting.len() as u64) as usize]))
    }

    fn act(&mut self) {
        let act = self.random.below(20);
        match act {
            0..=2 if self.world.threads.len() < 20 => {
                let (app, affinity) = (AppId(self.random.below(3) as u32), self.affinity());
                if self.world.usable(&affinity, &self.world.on) {
                    self.marked.push(false);
                    self.waits_since.push(self.world.now);
                    self.world.born_of(app, affinity, 0);
                }
            }
            3..=6 => self.stop(act == 3 && self.world.threads.len() > 4),
            7..=10 => {
                let Some(id) = self.some(|state| *state == State::Blocked) else { return };
                self.world.threads[id.0 as usize].state = State::Ready;
                self.world.told(|policy, now, out| policy.wake(now, id, out));
            }
            11 => self.switch(),
            12 => {
                let Some(id) = self.some(|state| *state != State::Gone) else { return };
                let affinity = self.affinity();
                if self.world.usable(&affinity, &self.world.on) {
                    self.world.threads[id.0 as usize].affinity = affinity.clone();
                    self.world.told(|policy, now, out| policy.set_affinity(now, id, &affinity, out));
                }
            }
            13 => {
                let (cpu, half) = (self.random.below(CPUS as u64) as usize, self.random.below(2) == 0);
                self.set_speed(cpu, if half { FULL_SPEED / 2 } else { FULL_SPEED });
            }
            14 | 15 => {
                let Some(id) = self.some(|state| matches!(state, State::Running(_))) else { return };
                let notice = [Notice::Spinning, Notice::Working, Notice::Master][self.random.below(3) as usize];
                // Some threads name the lock for which they wait, and some of these name a holder,
                // which may be wrong.
                let knows = id.0 % 3;
                let lock = (knows > 0).then_some(u64::from(id.0 % 4));
                let holder = (knows > 1).then_some(ThreadId(id.0 / 2));
                match notice {
                    Notice::Spinning => self.marked[id.0 as usize] = true,
                    Notice::Working => self.marked[id.0 as usize] = false,
                    Notice::Master => {}
                }
                self.world.told(|policy, now, out| policy.notify(now, id, notice, lock, holder, out));
            }
            16 | 17 => {
                let Some(id) = self.some(|state| matches!(state, State::Running(_))) else { return };
                let all = [LockNotice::Wanted, LockNotice::Taken, LockNotice::Left, LockNotice::Arrived];
                let (notice, lock) = (all[self.random.below(4) as usize], self.random.below(4));
                self.world.told(|policy, now, out| policy.notify_lock(now, id, notice, lock, out));
            }
            _ => {}
        }
        self.acted = self.world.now;
    }

    fn stop(&mut self, ends: bool) {
        let Some(id) = self.some(|state| matches!(state, State::Running(_))) else { return };
        let State::Running(cpu) = self.world.threads[id.0 as usize].state else { unreachable!() };
        self.marked[id.0 as usize] = false;
        self.world.leaves(id, if ends { State::Gone } else { State::Blocked });
        // The next thread for the CPU is picked before anything else happens.
        let world = &mut self.world;
        let now = Cycles(world.now);
        if ends {
            world.policy.exit(now, id, &mut world.out)
        } else {
            world.policy.block(now, id, &mut world.out)
        }
        world.free(cpu);
        world.told(|_, _, _| {});
    }

    fn switch(&mut self) {
        let cpu = self.random.below(CPUS as u64) as usize;
        let mut on = self.world.on.clone();
        on[cpu] = !on[cpu];
        let mut living = self.world.threads.iter().filter(|thread| thread.state != State::Gone);
        if on.contains(&true) && living.all(|thread| self.world.usable(&thread.affinity, &on)) {
            let online = on[cpu];
            self.world.on = on;
            self.world.told(|policy, now, out| policy.set_online(now, CpuId(cpu as u32), online, out));
        }
    }

    /// Lets some time pass in small steps, and checks the machine after each.
    fn pass(&mut self, policy: &str, lag: u64) {
        for _ in 0..self.random.below(12) {
            let to = self.world.now + 1 + self.random.below(30);
            self.world.pass(to);
            self.check(policy, lag);
        }
    }

    fn check(&mut self, policy: &str, lag: u64) {
        let (now, delay) = (self.world.now, self.world.delay);
        self.fewest_on = self.fewest_on.min(self.world.on.iter().filter(|&&on| on).count());
        self.most_fast = self.most_fast.max((0..CPUS).filter(|&cpu| self.is_fast(cpu)).count());
        for cpu in 0..CPUS {
            let here = CpuId(cpu as u32);
            if let Some(id) = self.world.current[cpu] {
                self.idle_since[cpu] = now;
                let allowed = self.world.on[cpu] && self.world.threads[id.0 as usize].affinity.has(here);
                assert!(allowed || now <= self.acted + delay, "{policy}: {id:?} runs where it must not");
                continue;
            }
            let since = self.idle_since[cpu].max(self.acted);
            let mut threads = self.world.threads.iter().zip(&self.marked);
            // The time until which the CPU may be idle although this thread could have it.
            let until = |(thread, &marked): (&common::Thread, &bool)| match thread.state {
                State::Ready if thread.affinity.has(here) => Some(since),
                State::Running(at) if !self.is_fast(at.0 as usize) && !marked && thread.affinity.has(here) => {
                    Some(if lag == 0 { since } else { since.max(thread.since) + lag })
                }
                _ => None,
            };
            let until = if self.is_fast(cpu) { threads.by_ref().filter_map(until).min() } else { None };
            assert!(
                until.is_none_or(|until| now <= until + 2 * delay),
                "{policy}: fast CPU {cpu} idles from {since} to {now}, delay {delay}"
            );
        }
        for (thread, since) in self.world.threads.iter().zip(&mut self.waits_since) {
            if thread.state != State::Ready {
                *since = now;
            }
            self.longest_wait = self.longest_wait.max(now - *since);
        }
    }
}

#[test]
fn fast_cores_are_busy_waits_and_swaps_are_bounded() {
    let mut swapped = 0;
    for (policy, _, swaps, lag) in POLICIES {
        for seed in 0..150 {
            let delay = [0, 0, 7, 25][(seed % 4) as usize];
            let mut history = History::new(policy, seed, delay);
            for _ in 0..200 {
                history.act();
                history.pass(policy.name, lag);
            }
            let (slice, threads) = (PARAMS.time_slice.0, history.world.threads.len() as u64);
            // A thread that holds a lock may have one more time slice.
            let keeps = policy.name == "lavd" || history.holder_keeps && policy.name == "crit";
            let slices = if keeps { 2 } else { 1 };
            let longest = (threads + 2) * (slices * slice + 2 * delay);
            assert!(history.longest_wait <= longest, "{}, {seed}: {} > {longest}", policy.name, history.longest_wait);
            // Each swap involves two threads.
            let now = history.world.now;
            let of = |app| history.world.policy.app_use(Cycles(now), AppId(app)).unwrap();
            let had = (0..3).map(|app| of(app).swaps).sum::<u64>() / 2;
            let share = (threads / history.fewest_on as u64).max(1);
            let most = (now / (SWAP_TICKS * slice) + 1) * history.most_fast as u64 * share;
            assert!(had <= most && (swaps || had == 0), "{}, {seed}: {had} swaps, {most} at most", policy.name);
            swapped += had;
            // Every thread runs on a fast or a slow core, so the applications' accounts sum to the
            // run time of all threads.
            let ran: u64 = history.world.ran().iter().sum();
            assert_eq!((0..3).map(|app| of(app).fast + of(app).slow).sum::<u64>(), ran, "{}, {seed}", policy.name);
        }
    }
    assert!(swapped > 1_000, "{swapped} swaps only");
}

/// Creates a machine with `fast` fast CPUs out of `cpus`. Threads on it compute without end.
fn world(policy: &Policy, cpus: usize, fast: usize) -> World {
    let amp = Amp { swap_ticks: 2, ..Amp::DEFAULT };
    let mut world = World::new(policy, cpus as u32, Params { amp, ..PARAMS });
    for cpu in fast..cpus {
        world.told(|policy, now, out| policy.set_speed(now, CpuId(cpu as u32), FULL_SPEED / 2, out));
    }
    world
}

#[test]
fn round_robin_shares_fast_cores_equally() {
    let mut world = world(&rr::POLICY, 6, 2);
    for app in 0..6 {
        world.born_of(AppId(app), Affinity::ALL, 0);
    }
    world.pass(600_000);
    for app in 0..6 {
        let had = world.policy.app_use(Cycles(600_000), AppId(app)).unwrap();
        let share = had.fast as f64 / (had.fast + had.slow) as f64;
        assert!((share - 1.0 / 3.0).abs() < 0.01, "application {app}: {share}");
    }
}

/// Beside a highly parallel application, a single thread gets the fast CPU under the policies that
/// consider parallelism, from the first round of swaps on.
#[test]
fn a_single_thread_gets_the_fast_core_from_a_parallel_application() {
    for policy in [&pa::POLICY, &min_tlp::POLICY] {
        let mut world = world(policy, 6, 1);
        for _ in 0..5 {
            world.born_of(AppId(0), Affinity::ALL, 0);
        }
        world.born_of(AppId(1), Affinity::ALL, 0);
        world.pass(10_000);
        let had = world.policy.app_use(Cycles(10_000), AppId(1)).unwrap();
        assert_eq!((had.fast, had.slow, had.swaps), (9_800, 200, 1), "{}", policy.name);
        let parallel = world.policy.app_use(Cycles(10_000), AppId(0)).unwrap();
        let hp = if policy.name == "pa" { 10_000 } else { 0 };
        assert_eq!(parallel.hp, hp, "{}", policy.name);
    }
}

/// A swap of two running threads is two preemptions. While one of them is still to come, the thread
/// that has left waits, and its CPU is idle; no third thread takes that CPU.
#[test]
fn the_gap_of_a_swap_is_the_time_between_its_preemptions() {
    let mut world = world(&pa::POLICY, 2, 1);
    let first = world.born_of(AppId(0), Affinity::ALL, 0);
    let second = world.born_of(AppId(1), Affinity::ALL, 0);
    world.delay = 1_000_000;
    assert_eq!(world.current, [Some(first), Some(second)]);
    world.pass(200);
    assert!(world.preempts.iter().all(Option::is_some), "both are asked for: {:?}", world.preempts);
    world.preempts = vec![Some(210), Some(230)];
    world.pass(229);
    assert_eq!(world.current, [None, Some(second)]);
    world.pass(230);
    assert_eq!(world.current, [Some(second), Some(first)]);
    // If `first` sleeps before it is preempted, `second` goes to where `first` ran, and comes back
    // because the fast CPU is idle.
    world.pass(400);
    world.preempts[1] = Some(1_000_000);
    world.preempts[0] = None;
    world.delay = 0;
    world.preempt(CpuId(0));
    world.leaves(first, State::Blocked);
    world.told(|policy, now, out| policy.block(now, first, out));
    world.free(CpuId(1));
    world.told(|_, _, _| {});
    assert_eq!(world.current, [Some(second), None]);
}

#[test]
fn a_log_replays_byte_for_byte() {
    let cpu = |i: u32| Cpu {
        core: CoreId(i),
        cluster: i / 2,
        socket: 0,
        kind: 0,
        speed: if i < 2 { FULL_SPEED } else { FULL_SPEED / 2 },
        fast: None,
    };
    let cpus = Cpus((0..CPUS as u32).map(cpu).collect());
    let params = Params { amp: Amp { swap_ticks: 2, boost_ticks: 3, ..Amp::DEFAULT }, ..PARAMS };
    let all = POLICIES
        .iter()
        .map(|&(policy, make, ..)| (policy, make))
        .chain([(&amp_default::POLICY, amp_default::placement as Make)]);
    for (policy, make) in all {
        let (logged, log) = Logged::new(make(&cpus, &params));
        let mut history = History::new(policy, 5, 0);
        history.world.policy = Box::new(Adapter::new(&cpus, &params, Box::new(logged)));
        for _ in 0..300 {
            history.act();
            history.world.pass(history.world.now + 40);
        }
        let log = log.borrow().clone();
        assert!(log.lines().count() > 500, "{}: {} lines", policy.name, log.lines().count());
        assert_eq!(replay(&log, make(&cpus, &params)).unwrap(), log, "{}", policy.name);
    }
    let wrong = replay("0 wake 1:\n3 sleeps 1:\n", Box::new(Silent)).unwrap_err();
    assert_eq!(wrong, "line 2: `3 sleeps 1:`; expected a time, an event and `:`");
}

/// A placement that answers nothing.
struct Silent;

impl Placement for Silent {
    fn hears(&mut self, _: Cycles, _: &baton_sched::placement::Event, _: &mut Vec<Answer>) {}
}
