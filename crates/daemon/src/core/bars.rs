//! What programs have of the fast CPUs, over a model of a kernel: queues for each CPU, turns of 4 ms,
//! idle CPUs that pull waiting threads. It balances without regard for fast CPUs. The daemon looks
//! when the core's patience is over.

use super::tests::begins;
use super::*;
use crate::setup::tests::setup;
use proptest::prelude::*;

/// A step of the model.
const STEP_NS: u64 = 1_000_000;
/// Steps of a turn on a CPU.
const TURN: u64 = 4;
/// The steps in which an idle fast CPU must get a thread that runs on a slow one.
const FILLED: u64 = 20;

struct Job {
    mask: Vec<u32>,
    user: Vec<u32>,
    cpu: u32,
    /// Steps of work and of sleep, by turns; `sleep` 0 is a busy thread.
    work: u64,
    sleep: u64,
    left: u64,
    asleep: bool,
}

struct Kernel {
    core: Core,
    jobs: Vec<Job>,
    /// By CPU: the running job, and since when.
    on: Vec<Option<(usize, u64)>>,
    events: Vec<(u64, Input)>,
    now: u64,
    /// The step of the next look.
    look_at: u64,
    /// By CPU: since when it has been idle beside a slow CPU that works for it.
    idle: Vec<u64>,
    /// Steps of each job on fast CPUs and on all, from 100 ms on.
    had: Vec<(u64, u64)>,
}

impl Kernel {
    fn new(policy: &str, kinds: &str, jobs: &[(u64, u64, u32)]) -> Kernel {
        let cpus = kinds.split(' ').count();
        let user: Vec<u32> = (0..cpus as u32).collect();
        let mut kernel = Kernel {
            core: Core::new(setup(policy, kinds, 2)),
            jobs: Vec::new(),
            on: vec![None; cpus],
            events: Vec::new(),
            now: 0,
            look_at: LOOK_NS / STEP_NS,
            idle: vec![0; cpus],
            had: vec![(0, 0); jobs.len()],
        };
        for (id, &(work, sleep, app)) in (0..).zip(jobs) {
            let job = Job {
                mask: user.clone(),
                user: user.clone(),
                // Threads begin on slow CPUs.
                cpu: cpus as u32 - 1,
                work,
                sleep,
                left: work,
                asleep: false,
            };
            kernel.jobs.push(job);
            kernel.events.push((0, begins(id, app, &format!("0-{}", cpus - 1))));
        }
        kernel
    }

    fn waiting(&self) -> impl Iterator<Item = usize> + '_ {
        let runs = |id: usize| self.on.iter().flatten().any(|&(on, _)| on == id);
        (0..self.jobs.len()).filter(move |&id| !self.jobs[id].asleep && !runs(id))
    }

    fn off(&mut self, cpu: u32, what: impl Fn(ThreadId, CpuId) -> Input) {
        if let Some((id, _)) = self.on[cpu as usize].take() {
            self.events.push((self.now * STEP_NS, what(ThreadId(id as u32), CpuId(cpu))));
        }
    }

    /// Threads leave CPUs that their masks do not have, and CPUs at the end of their turns.
    fn preempt(&mut self) {
        for cpu in 0..self.on.len() as u32 {
            let Some((id, since)) = self.on[cpu as usize] else { continue };
            let outside = !self.jobs[id].mask.contains(&cpu);
            let rival = self.waiting().any(|other| self.jobs[other].cpu == cpu);
            if outside || (rival && self.now - since >= TURN) {
                self.off(cpu, Input::Waits);
            }
        }
        let masks: Vec<usize> = self.waiting().filter(|&id| !self.jobs[id].mask.contains(&self.jobs[id].cpu)).collect();
        for id in masks {
            let idle = self.jobs[id].mask.iter().copied().find(|&cpu| self.on[cpu as usize].is_none());
            self.jobs[id].cpu = idle.unwrap_or(self.jobs[id].mask[0]);
        }
    }

    /// Free CPUs take the next thread of their own, else one of another CPU.
    fn pick(&mut self) {
        // The last CPU first: the model favours slow ones.
        for cpu in (0..self.on.len() as u32).rev().filter(|&cpu| self.on[cpu as usize].is_none()).collect::<Vec<_>>() {
            let next = self.waiting().filter(|&id| self.jobs[id].mask.contains(&cpu));
            let Some(id) = next.min_by_key(|&id| (self.jobs[id].cpu != cpu, (id as u64 + self.now / TURN) % 64)) else {
                continue;
            };
            self.jobs[id].cpu = cpu;
            self.on[cpu as usize] = Some((id, self.now));
            self.events.push((self.now * STEP_NS, Input::Runs(ThreadId(id as u32), CpuId(cpu))));
        }
    }

    fn work(&mut self) {
        let running: Vec<(u32, usize)> =
            (0..).zip(&self.on).filter_map(|(cpu, on): (u32, _)| Some((cpu, on.as_ref()?.0))).collect();
        let ran: Vec<usize> = running.iter().map(|&(_, id)| id).collect();
        for (cpu, id) in running {
            if self.now > 100 {
                self.had[id].0 += u64::from(self.core.board.is_fast(CpuId(cpu)));
                self.had[id].1 += 1;
            }
            let job = &mut self.jobs[id];
            job.left -= 1;
            if job.left == 0 {
                let sleeps = job.sleep > 0;
                (job.left, job.asleep) = if sleeps { (job.sleep, true) } else { (job.work, false) };
                if sleeps {
                    self.off(cpu, |id, _| Input::Sleeps(id));
                }
            }
        }
        for (id, job) in self.jobs.iter_mut().enumerate().filter(|(_, job)| job.asleep) {
            if !ran.contains(&id) {
                job.left -= 1;
                if job.left == 0 {
                    (job.left, job.asleep) = (job.work, false);
                }
            }
        }
    }

    /// The daemon's look.
    fn look(&mut self) {
        let mut events = std::mem::take(&mut self.events);
        events.push((self.now * STEP_NS, Input::Tick));
        for (at, input) in events {
            let time = at.max(self.core.time());
            for decision in self.core.hear(time, &input).unwrap() {
                if let Decision::Mask(id, cpus, _) = decision {
                    assert!(cpus.iter().all(|cpu| self.jobs[id.0 as usize].user.contains(cpu)));
                    self.jobs[id.0 as usize].mask = cpus;
                }
            }
        }
    }

    /// Returns the longest time, in steps, for which a fast CPU idled beside a slow one that worked,
    /// from 100 ms on.
    fn run(&mut self, steps: u64) -> u64 {
        let mut longest = 0;
        for _ in 0..steps {
            self.preempt();
            self.pick();
            let is_fast = |cpu: usize| self.core.board.is_fast(CpuId(cpu as u32));
            let works = (0..self.on.len()).any(|cpu| !is_fast(cpu) && self.on[cpu].is_some());
            for cpu in (0..self.on.len()).filter(|&cpu| is_fast(cpu)) {
                let idles = self.on[cpu].is_none() && works && self.now > 100;
                self.idle[cpu] = if idles { self.idle[cpu] + 1 } else { 0 };
                longest = longest.max(self.idle[cpu]);
            }
            self.work();
            self.now += 1;
            if self.now >= self.look_at {
                self.look();
                self.look_at = self.now + self.core.patience() / STEP_NS;
            }
        }
        longest
    }
}

const ALL: [&str; 8] = ["busy-fcs", "rr", "min-tlp", "pa", "static-ipc", "pa-speedup", "crit", "lavd"];

#[test]
fn a_lone_busy_thread_has_the_fast_cpu() {
    for policy in ALL {
        let mut kernel = Kernel::new(policy, "fast slow slow slow", &[(1_000_000, 0, 0)]);
        assert!(kernel.run(3_000) <= FILLED, "{policy}");
        let (fast, all) = kernel.had[0];
        assert!(fast * 100 >= all * 95 && all > 2_800, "{policy}: {fast} of {all}");
    }
}

/// A program in a sequential phase beside one with three busy threads has the fast CPU for its boost.
#[test]
fn a_sequential_phase_has_the_fast_cpu() {
    let jobs = [(1_000_000, 0, 0), (50, 100_000, 0), (1_000_000, 0, 1), (1_000_000, 0, 1), (1_000_000, 0, 1)];
    for policy in ["pa", "pa-speedup", "min-tlp"] {
        let mut kernel = Kernel::new(policy, "fast slow slow slow", &jobs);
        kernel.run(200);
        let before = kernel.had[0];
        kernel.run(700);
        let (fast, all) = (kernel.had[0].0 - before.0, kernel.had[0].1 - before.1);
        assert!(fast * 100 >= all * 95 && all > 600, "{policy}: {fast} of {all}");
    }
}

/// A holder for which three threads spin has the fast CPU, whichever thread it is.
#[test]
fn a_holder_that_others_wait_for_has_the_fast_cpu() {
    for holder in 0..4 {
        let mut kernel = Kernel::new("crit", "fast slow slow slow", &[(1_000_000, 0, 0); 4]);
        kernel.run(50);
        let now = kernel.now * STEP_NS;
        let notice = |id: u32| if id == holder { LockNotice::Taken } else { LockNotice::Wanted };
        kernel.events.extend((0..4).map(|id| (now, Input::Lock(ThreadId(id), notice(id), 5))));
        kernel.run(100);
        let before = kernel.had[holder as usize];
        kernel.run(1_000);
        let (fast, all) = (kernel.had[holder as usize].0 - before.0, kernel.had[holder as usize].1 - before.1);
        assert!(fast * 100 >= all * 95 && all > 900, "thread {holder}: {fast} of {all}");
    }
}

#[test]
fn threads_take_turns_under_rr() {
    let mut kernel = Kernel::new("rr", "fast slow slow", &[(1_000_000, 0, 0); 3]);
    kernel.run(6_000);
    for (fast, all) in &kernel.had {
        let share = 100 * fast / all;
        assert!((23..=43).contains(&share), "{:?}", kernel.had);
    }
}

proptest! {
    #![proptest_config(baton_needs::property!(64))]

    /// Whatever threads do, no fast CPU idles for long beside a slow one that works, and narrowed
    /// masks cost no work: with as many busy threads as CPUs, all CPUs work.
    #[test]
    fn no_fast_cpu_idles_beside_a_slow_one_that_works(
        policy in 0..ALL.len(),
        jobs in prop::collection::vec((20..200_u64, 0..200_u64, 0..2_u32), 1..9),
    ) {
        let mut kernel = Kernel::new(ALL[policy], "fast slow slow fast", &jobs);
        let longest = kernel.run(2_000);
        prop_assert!(longest <= FILLED, "{longest} ms under {}", ALL[policy]);
    }
}
