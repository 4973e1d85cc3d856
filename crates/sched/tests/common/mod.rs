//! A simulated machine, which the tests use to run policies.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part")]

use baton_sched::placement::Amp;
use baton_sched::{Affinity, AppId, Born, Cpu, Cpus, Decision, FULL_SPEED, Nice, Params, Policy, Scheduler, ThreadId};
use baton_units::{CoreId, CpuId, Cycles};

/// A machine on which switches take no time; it checks what policies decide.
pub struct World {
    pub name: &'static str,
    pub policy: Box<dyn Scheduler>,
    pub now: u64,
    pub current: Vec<Option<ThreadId>>,
    pub on: Vec<bool>,
    pub timers: Vec<Option<u64>>,
    pub alarm: Option<u64>,
    /// How long a preemption takes. `preempts` has, by CPU, the time at which a preemption that was
    /// asked for comes.
    pub delay: u64,
    pub preempts: Vec<Option<u64>>,
    pub threads: Vec<Thread>,
    pub out: Vec<Decision>,
}

pub struct Thread {
    pub affinity: Affinity,
    pub state: State,
    pub ran: u64,
    pub since: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Blocked,
    Ready,
    Running(CpuId),
    Gone,
}

pub fn cpus(n: u32) -> Cpus {
    // A core has two contexts, a cluster two cores.
    let cpu =
        |i: u32| Cpu { core: CoreId(i / 2), cluster: i / 4, socket: i / 8, kind: 0, speed: FULL_SPEED, fast: None };
    Cpus((0..n).map(cpu).collect())
}

pub const PARAMS: Params = Params {
    time_slice: Cycles(100),
    wakeup_granularity: Cycles(30),
    sleeper_credit: Cycles(40),
    balance_interval: Cycles(50),
    wake_pull: 300,
    amp: Amp::DEFAULT,
};

impl World {
    pub fn new(policy: &Policy, n: u32, params: Params) -> World {
        World {
            name: policy.name,
            policy: (policy.make)(&cpus(n), &params),
            now: 0,
            current: vec![None; n as usize],
            on: vec![true; n as usize],
            timers: vec![None; n as usize],
            alarm: None,
            delay: 0,
            preempts: vec![None; n as usize],
            threads: Vec::new(),
            out: Vec::new(),
        }
    }

    pub fn told(&mut self, f: impl FnOnce(&mut dyn Scheduler, Cycles, &mut Vec<Decision>)) {
        f(&mut *self.policy, Cycles(self.now), &mut self.out);
        let mut rounds = 0;
        while !self.out.is_empty() {
            rounds += 1;
            assert!(rounds < 1000, "decisions without end: {:?}", self.out);
            for decision in std::mem::take(&mut self.out) {
                self.carry_out(decision);
            }
        }
    }

    pub fn carry_out(&mut self, decision: Decision) {
        match decision {
            Decision::Preempt(cpu) if self.delay != 0 => {
                let at = &mut self.preempts[cpu.0 as usize];
                *at = at.or(Some(self.now + self.delay));
            }
            Decision::Preempt(cpu) => self.preempt(cpu),
            Decision::Start(cpu) => {
                if self.current[cpu.0 as usize].is_none() && self.on[cpu.0 as usize] {
                    self.free(cpu);
                }
            }
            Decision::Timer(cpu, at) => {
                assert!(at.0 >= self.now, "a timer in the past");
                self.timers[cpu.0 as usize] = Some(at.0);
            }
            Decision::NoTimer(cpu) => self.timers[cpu.0 as usize] = None,
            Decision::Alarm(at) => {
                assert!(at.0 >= self.now, "an alarm in the past");
                self.alarm = Some(at.0);
            }
            Decision::NoAlarm => self.alarm = None,
        }
    }

    pub fn preempt(&mut self, cpu: CpuId) {
        if let Some(id) = self.current[cpu.0 as usize] {
            self.leaves(id, State::Ready);
            self.policy.yields(Cycles(self.now), id, &mut self.out);
            self.free(cpu);
        }
    }

    pub fn leaves(&mut self, id: ThreadId, to: State) {
        let thread = &mut self.threads[id.0 as usize];
        let State::Running(cpu) = thread.state else { panic!("{id:?} leaves and is {:?}", thread.state) };
        thread.ran += self.now - thread.since;
        thread.state = to;
        (self.current[cpu.0 as usize], self.preempts[cpu.0 as usize]) = (None, None);
    }

    pub fn free(&mut self, cpu: CpuId) {
        if !self.on[cpu.0 as usize] {
            return;
        }
        let Some(id) = self.policy.pick(Cycles(self.now), cpu, &mut self.out) else { return };
        let thread = &mut self.threads[id.0 as usize];
        assert_eq!(thread.state, State::Ready, "{id:?} is picked");
        assert!(thread.affinity.has(cpu), "{id:?} must not run on {cpu}");
        assert_eq!(self.policy.place(id), cpu);
        (thread.state, thread.since) = (State::Running(cpu), self.now);
        self.current[cpu.0 as usize] = Some(id);
        self.policy.runs(Cycles(self.now), cpu, &mut self.out);
    }

    pub fn born(&mut self, affinity: Affinity) -> ThreadId {
        self.born_nice(affinity, 0)
    }

    pub fn born_nice(&mut self, affinity: Affinity, nice: i64) -> ThreadId {
        self.born_of(AppId(0), affinity, nice)
    }

    pub fn born_of(&mut self, app: AppId, affinity: Affinity, nice: i64) -> ThreadId {
        let id = ThreadId(self.threads.len() as u32);
        let near = (0..self.on.len() as u32).map(CpuId).find(|&cpu| self.on[cpu.0 as usize] && affinity.has(cpu));
        let nice = Nice::new(nice).unwrap();
        let born = Born { app, affinity: affinity.clone(), near: near.unwrap(), nice, speedup: None };
        self.policy.fork(Cycles(self.now), id, &born);
        self.threads.push(Thread { affinity, state: State::Ready, ran: 0, since: 0 });
        self.told(|policy, now, out| policy.wake(now, id, out));
        id
    }

    /// Lets time pass, with the timers and preemptions that come meanwhile.
    pub fn pass(&mut self, to: u64) {
        loop {
            let preempt = (0..self.preempts.len()).filter_map(|cpu| Some((self.preempts[cpu]?, cpu))).min();
            let next = (0..self.timers.len()).filter_map(|cpu| Some((self.timers[cpu]?, cpu))).min();
            match next {
                _ if preempt.is_some_and(|(at, _)| at <= to && self.is_first(at)) => {
                    let (at, cpu) = preempt.unwrap();
                    (self.now, self.preempts[cpu]) = (at, None);
                    self.preempt(CpuId(cpu as u32));
                    self.told(|_, _, _| {});
                }
                next if self.alarm.is_some_and(|at| at <= to && next.is_none_or(|(first, _)| at <= first)) => {
                    self.now = self.alarm.take().unwrap_or(to);
                    self.told(|policy, now, out| policy.alarm(now, out));
                }
                Some((at, cpu)) if at <= to => {
                    self.now = at;
                    self.timers[cpu] = None;
                    self.told(|policy, now, out| policy.tick(now, CpuId(cpu as u32), out));
                }
                _ => break,
            }
        }
        self.now = to;
    }

    fn is_first(&self, at: u64) -> bool {
        self.alarm.iter().chain(self.timers.iter().flatten()).all(|&other| at <= other)
    }

    /// Returns the run time of every thread so far.
    pub fn ran(&self) -> Vec<u64> {
        let running =
            |thread: &Thread| if matches!(thread.state, State::Running(_)) { self.now - thread.since } else { 0 };
        self.threads.iter().map(|thread| thread.ran + running(thread)).collect()
    }

    pub fn usable(&self, affinity: &Affinity, on: &[bool]) -> bool {
        (0..on.len()).any(|cpu| on[cpu] && affinity.has(CpuId(cpu as u32)))
    }

    /// Checks that no CPU is idle while a thread waits that may run there, and that CPUs that are
    /// off run nothing. Unless the policy `steals`, only threads count that it has placed there.
    pub fn check(&self, steals: bool) {
        for cpu in 0..self.on.len() {
            let here = CpuId(cpu as u32);
            assert!(self.on[cpu] || self.current[cpu].is_none(), "{here} is off and runs a thread");
            if self.on[cpu] && self.current[cpu].is_none() {
                let waits = self.threads.iter().enumerate().find(|(id, thread)| {
                    let placed = steals || self.policy.place(ThreadId(*id as u32)) == here;
                    thread.state == State::Ready && placed && thread.affinity.has(here)
                });
                assert!(waits.is_none(), "{}: CPU {cpu} idles and thread {} waits", self.name, waits.unwrap().0);
            }
        }
    }
}
