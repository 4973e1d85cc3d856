//! Measures what a decision costs: threads of several applications compute and sleep on a machine
//! with fast and slow CPUs. Prints the number of calls of the policy, and the host's time per call.
//! `scripts/check/decision-instructions` counts its instructions.
//!
//! `cargo run --release -p baton-sched --example decide -- POLICY CPUS THREADS STEPS`

#![expect(clippy::disallowed_types, reason = "the host's time is what is measured")]

use baton_sched::placement::Amp;
use baton_sched::{
    Affinity, AppId, Born, Cpu, Cpus, Decision, FULL_SPEED, Nice, POLICIES, Params, Scheduler, ThreadId,
};
use baton_units::{CoreId, CpuId, Cycles};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Number of threads in an application. `SLICE` is the time slice in cycles.
const MEMBERS: u32 = 10;
const SLICE: u64 = 10_000;

/// An event of the simulated machine. The number after the CPU or alarm is that of the request to
/// which the event belongs; events of requests that a newer one replaced are ignored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Comes {
    Wake(u32),
    /// The thread that runs in the CPU's n-th turn goes to sleep.
    Sleep(u32, u64),
    Tick(u32, u64),
    Alarm(u64),
}

struct World {
    policy: Box<dyn Scheduler>,
    now: u64,
    queue: BinaryHeap<Reverse<(u64, Comes)>>,
    /// For each CPU: its thread, the number of turns that it has given, and the number of timers
    /// that were asked for.
    cpus: Vec<(Option<ThreadId>, u64, u64)>,
    alarms: u64,
    out: Vec<Decision>,
    calls: u64,
    random: u64,
}

impl World {
    /// Returns a random number between half of the mean and one and a half of it.
    fn about(&mut self, mean: u64) -> u64 {
        // The generator is the one of Numerical Recipes.
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        mean / 2 + (self.random >> 33) % mean
    }

    fn at(&mut self, after: u64, comes: Comes) {
        self.queue.push(Reverse((self.now + after, comes)));
    }

    fn call<T>(&mut self, f: impl FnOnce(&mut dyn Scheduler, Cycles, &mut Vec<Decision>) -> T) -> T {
        self.calls += 1;
        f(&mut *self.policy, Cycles(self.now), &mut self.out)
    }

    fn free(&mut self, cpu: CpuId) {
        let Some(id) = self.call(|policy, now, out| policy.pick(now, cpu, out)) else { return };
        let here = &mut self.cpus[cpu.0 as usize];
        (here.0, here.1) = (Some(id), here.1 + 1);
        let turn = here.1;
        self.call(|policy, now, out| policy.runs(now, cpu, out));
        let after = self.about(3 * SLICE);
        self.at(after, Comes::Sleep(cpu.0, turn));
    }

    fn carry_out(&mut self) {
        while let Some(decision) = self.out.pop() {
            match decision {
                Decision::Preempt(cpu) => {
                    if let Some(id) = self.cpus[cpu.0 as usize].0.take() {
                        self.call(|policy, now, out| policy.yields(now, id, out));
                        self.free(cpu);
                    }
                }
                Decision::Start(cpu) if self.cpus[cpu.0 as usize].0.is_none() => self.free(cpu),
                Decision::Timer(cpu, at) => {
                    let timers = &mut self.cpus[cpu.0 as usize].2;
                    *timers += 1;
                    let timer = *timers;
                    self.at(at.0.saturating_sub(self.now), Comes::Tick(cpu.0, timer));
                }
                Decision::NoTimer(cpu) => self.cpus[cpu.0 as usize].2 += 1,
                Decision::Alarm(at) => {
                    self.alarms += 1;
                    self.at(at.0.saturating_sub(self.now), Comes::Alarm(self.alarms));
                }
                Decision::NoAlarm => self.alarms += 1,
                Decision::Start(_) => {}
            }
        }
    }

    fn step(&mut self) {
        let Some(Reverse((now, comes))) = self.queue.pop() else { return };
        self.now = now;
        match comes {
            Comes::Wake(id) => self.call(|policy, now, out| policy.wake(now, ThreadId(id), out)),
            Comes::Sleep(cpu, turn) => {
                let here = &mut self.cpus[cpu as usize];
                let Some(id) = here.0.filter(|_| here.1 == turn) else { return };
                here.0 = None;
                self.call(|policy, now, out| policy.block(now, id, out));
                let after = self.about(20 * SLICE);
                self.at(after, Comes::Wake(id.0));
                self.free(CpuId(cpu));
            }
            Comes::Tick(cpu, timer) => {
                let here = self.cpus[cpu as usize];
                if here.0.is_some() && here.2 == timer {
                    self.call(|policy, now, out| policy.tick(now, CpuId(cpu), out));
                }
            }
            Comes::Alarm(alarm) if alarm == self.alarms => self.call(|policy, now, out| policy.alarm(now, out)),
            Comes::Alarm(_) => {}
        }
        self.carry_out();
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, cpus, threads, steps] = words.as_slice() else {
        return Err("expected POLICY CPUS THREADS STEPS".into());
    };
    let (cpus, threads, steps): (u32, u32, u64) = (cpus.parse()?, threads.parse()?, steps.parse()?);
    let policy = POLICIES.iter().find(|policy| policy.name == name).ok_or_else(|| format!("no policy `{name}`"))?;
    // A quarter of the CPUs are fast; four CPUs are a cluster.
    let speed = |i: u32| if i < cpus.div_ceil(4) { FULL_SPEED } else { FULL_SPEED / 2 };
    let cpu = |i: u32| Cpu { core: CoreId(i), cluster: i / 4, socket: i / 16, kind: 0, speed: speed(i), fast: None };
    let params = Params {
        time_slice: Cycles(SLICE),
        wakeup_granularity: Cycles(SLICE / 4),
        sleeper_credit: Cycles(SLICE / 2),
        balance_interval: Cycles(SLICE),
        wake_pull: 300,
        amp: Amp::DEFAULT,
    };
    let mut world = World {
        policy: (policy.make)(&Cpus((0..cpus).map(cpu).collect()), &params),
        now: 0,
        queue: BinaryHeap::new(),
        cpus: vec![(None, 0, 0); cpus as usize],
        alarms: 0,
        out: Vec::new(),
        calls: 0,
        random: 1,
    };
    for id in 0..threads {
        let born = Born {
            app: AppId(id / MEMBERS),
            affinity: Affinity::default(),
            near: CpuId(id % cpus),
            nice: Nice::default(),
            speedup: None,
        };
        world.policy.fork(Cycles(0), ThreadId(id), &born);
        let after = world.about(10 * SLICE);
        world.at(after, Comes::Wake(id));
    }
    // These steps run until all threads have been awake.
    (0..4 * u64::from(threads)).for_each(|_| world.step());
    world.calls = 0;
    let start = Instant::now();
    (0..steps).for_each(|_| world.step());
    let nanos = start.elapsed().as_nanos();
    println!("{} calls, {} ns a call", world.calls, nanos / u128::from(world.calls.max(1)));
    Ok(())
}
