//! What does not change while the core works: the policy, the CPUs and the applications. It is the
//! head of a log.

use crate::policies::{self, Chosen};
use baton_machine::discover::Topology;
use baton_sched::placement::Amp;
use baton_sched::{Cpu, Cpus, FULL_SPEED, Params};
use baton_units::{CoreId, Cycles};
use std::collections::BTreeSet;

/// The first line of a log.
const TITLE: &str = "baton-sched-log 1";
/// The last line of a head.
const END: &str = "events";
/// The most CPUs of a machine (`CONFIG_NR_CPUS` of Linux), and of applications.
const MOST: usize = 8192;
/// The longest time slice: a minute.
const LONGEST_NS: u64 = 60_000_000_000;

/// An application: one of the programs that were started or attached, with its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    /// The command, for people.
    pub name: String,
    /// How much faster it runs on a fast core, in thousandths, if that was measured.
    pub speedup: Option<u32>,
}

/// What does not change while the core works.
#[derive(Clone, Debug)]
pub struct Setup {
    pub policy: &'static Chosen,
    /// The policy's time slice; rounds of swaps come every ten.
    pub slice_ns: u64,
    /// All CPUs up to the highest number, each named fast or slow.
    pub cpus: Cpus,
    /// By CPU: whether it is online and in this process's own mask.
    pub usable: Vec<bool>,
    pub apps: Vec<App>,
}

/// The parameters of the policies: a cycle is a nanosecond.
pub(crate) fn params(slice_ns: u64) -> Params {
    Params {
        time_slice: Cycles(slice_ns),
        wakeup_granularity: Cycles(0),
        sleeper_credit: Cycles(0),
        balance_interval: Cycles(0),
        wake_pull: 0,
        amp: Amp::DEFAULT,
    }
}

/// Makes the CPUs of this machine, up to the highest of those that are on and of `possible` ones, which
/// may come on. `fast` are the numbers of the fast ones.
pub fn cpus(topology: &Topology, possible: &[u32], fast: &[u32]) -> Cpus {
    let most = topology.cpus.iter().map(|cpu| cpu.id).chain(possible.iter().copied()).max().unwrap_or(0);
    let cpu = |id: u32| {
        let known = topology.cpus.iter().find(|cpu| cpu.id == id);
        let first = |list: Option<&Vec<u32>>| list.and_then(|list| list.first().copied()).unwrap_or(id);
        Cpu {
            core: CoreId(first(known.map(|cpu| &cpu.siblings))),
            cluster: first(known.map(|cpu| &cpu.cluster)),
            socket: known.map_or(0, |cpu| cpu.socket),
            kind: u32::from(!fast.contains(&id)),
            speed: FULL_SPEED,
            fast: Some(fast.contains(&id)),
        }
    };
    Cpus((0..=most).map(cpu).collect())
}

impl Setup {
    /// The usable CPUs of one kind.
    pub fn of_kind(&self, fast: bool) -> BTreeSet<u32> {
        self.all_of_kind(fast).into_iter().filter(|cpu| self.usable[*cpu as usize]).collect()
    }

    /// All CPUs of one kind, also those that cannot be used.
    pub(crate) fn all_of_kind(&self, fast: bool) -> Vec<u32> {
        let all = (0..).zip(&self.cpus.0);
        all.filter(|(_, cpu)| (cpu.fast == Some(true)) == fast).map(|(id, _)| id).collect()
    }

    /// The head of a log.
    pub fn text(&self) -> String {
        let mut out = format!("{TITLE}\npolicy {}\ntime_slice_ns {}\n", self.policy.name, self.slice_ns);
        for (id, (cpu, usable)) in self.cpus.0.iter().zip(&self.usable).enumerate() {
            let Cpu { core, cluster, socket, .. } = cpu;
            let speed = if cpu.fast == Some(true) { "fast" } else { "slow" };
            let on = if *usable { "on" } else { "off" };
            out += &format!("cpu {id} core {} cluster {cluster} socket {socket} {speed} {on}\n", core.0);
        }
        for (id, app) in self.apps.iter().enumerate() {
            let speedup = app.speedup.map_or("-".into(), |speedup| speedup.to_string());
            // A name is for people: what would end the line or cannot be seen is shown as a blank.
            let name: String = app.name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            out += &format!("app {id} speedup {speedup} name {name}\n");
        }
        out + END + "\n"
    }

    /// Reads the head of a log. Returns it with the number of its lines.
    ///
    /// # Errors
    /// If a line is not what was expected; the error names the line.
    pub fn read(text: &str) -> Result<(Setup, usize), String> {
        let mut lines = (1..).zip(text.lines());
        let mut line =
            |expected: &str| lines.next().ok_or_else(|| format!("the log ends before its events; expected {expected}"));
        let (_, title) = line(TITLE)?;
        if title != TITLE {
            return Err(format!("line 1: `{}`; expected `{TITLE}`", clip(title)));
        }
        let mut policy = None;
        let mut slice_ns = None;
        let (mut cpus, mut usable, mut apps) = (Vec::new(), Vec::new(), Vec::new());
        let used = loop {
            let (number, line) = line("policy, time_slice_ns, cpu, app or events")?;
            let wrong = |expected: &str| format!("line {number}: `{}`; expected {expected}", clip(line));
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [END] => break number,
                ["policy", name] => {
                    policy = Some(policies::find(name).map_err(|error| format!("line {number}: {error}"))?);
                }
                ["time_slice_ns", ns] => {
                    let ns = ns.parse().ok().filter(|ns| (1..=LONGEST_NS).contains(ns));
                    slice_ns = Some(ns.ok_or_else(|| wrong("1 to 60,000,000,000 nanoseconds"))?);
                }
                ["cpu", id, ..] if id.parse() == Ok(cpus.len()) && cpus.len() < MOST => {
                    let (cpu, on) =
                        read_cpu(&words).ok_or_else(|| wrong("cpu N core N cluster N socket N fast|slow on|off"))?;
                    cpus.push(cpu);
                    usable.push(on);
                }
                ["app", id, "speedup", speedup, "name", ..] if id.parse() == Ok(apps.len()) && apps.len() < MOST => {
                    let known = speedup.parse().ok().map(Some);
                    let speedup = if speedup == "-" { Some(None) } else { known };
                    let speedup = speedup.ok_or_else(|| wrong("a speed-up in thousandths, or -"))?;
                    let name = line.split_once(" name ").map_or("", |(_, name)| name).to_owned();
                    apps.push(App { name, speedup });
                }
                _ => return Err(wrong("policy, time_slice_ns, cpu or app with the next number, or events")),
            }
        };
        let missing = |what: &str| format!("line {used}: the events begin before the log names {what}");
        let policy = policy.ok_or_else(|| missing("a policy"))?;
        let slice_ns = slice_ns.ok_or_else(|| missing("a time_slice_ns"))?;
        if cpus.is_empty() || apps.is_empty() {
            return Err(missing("a CPU and an application"));
        }
        Ok((Setup { policy, slice_ns, cpus: Cpus(cpus), usable, apps }, used))
    }
}

/// The first part of a line, for messages.
pub(crate) fn clip(line: &str) -> String {
    line.chars().take(80).collect()
}

fn read_cpu(words: &[&str]) -> Option<(Cpu, bool)> {
    let &["cpu", _, "core", core, "cluster", cluster, "socket", socket, speed, on] = words else { return None };
    let is = |word: &str, yes: &str, no: &str| (word == yes || word == no).then(|| word == yes);
    let fast = is(speed, "fast", "slow")?;
    let cpu = Cpu {
        core: CoreId(core.parse().ok()?),
        cluster: cluster.parse().ok()?,
        socket: socket.parse().ok()?,
        kind: u32::from(!fast),
        speed: FULL_SPEED,
        fast: Some(fast),
    };
    Some((cpu, is(on, "on", "off")?))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// CPUs by their kinds: `fast slow slow`.
    pub(crate) fn cpus(kinds: &str) -> Cpus {
        let cpu = |(id, kind): (usize, &str)| Cpu {
            core: CoreId(id as u32),
            cluster: 0,
            socket: 0,
            kind: u32::from(kind != "fast"),
            speed: FULL_SPEED,
            fast: Some(kind == "fast"),
        };
        Cpus(kinds.split(' ').enumerate().map(cpu).collect())
    }

    pub(crate) fn setup(policy: &str, kinds: &str, apps: usize) -> Setup {
        let cpus = cpus(kinds);
        let usable = vec![true; cpus.count()];
        let app = |n| App { name: format!("./app{n} x"), speedup: (n == 1).then_some(1500) };
        let apps = (0..apps).map(app).collect();
        Setup { policy: policies::find(policy).unwrap(), slice_ns: 10_000_000, cpus, usable, apps }
    }

    #[test]
    fn a_head_round_trips() {
        let mut setup = setup("pa", "fast slow slow", 2);
        setup.usable[2] = false;
        setup.apps[0].name = "a\nb".into();
        let text = setup.text();
        let (read, used) = Setup::read(&text).unwrap();
        assert_eq!((read.text(), used), (text.clone(), text.lines().count()));
        assert_eq!((setup.of_kind(true), setup.of_kind(false)), ([0].into(), [1].into()));
    }

    #[test]
    fn a_damaged_head_is_told_by_its_line() {
        let good = setup("rr", "fast slow", 1).text();
        let wrong = |from: &str, to: &str, told: &str| {
            let said = Setup::read(&good.replace(from, to)).unwrap_err();
            assert!(said.contains(told), "{said}");
        };
        wrong("baton-sched-log 1", "x", "line 1: `x`; expected `baton-sched-log 1`");
        wrong("policy rr", "policy rx", "line 2: unknown policy `rx`");
        wrong("policy rr\n", "", "the events begin before the log names a policy");
        wrong("10000000", "0", "line 3");
        wrong("10000000", "99999999999999999999", "line 3");
        wrong("cpu 1", "cpu 4000000000", "line 5: `cpu 4000000000");
        wrong("slow on", "slow of", "line 5");
        wrong("speedup -", "speedup x", "expected a speed-up in thousandths, or -");
        wrong("events\n", "", "the log ends before its events");
        assert!(Setup::read("").is_err());
    }

    #[test]
    fn cpus_are_those_of_the_topology() {
        let topology = Topology::discover();
        let here = super::cpus(&topology, &[], &[0]);
        assert_eq!(here.0[0].fast, Some(true));
        assert!(here.0[1..].iter().all(|cpu| cpu.fast == Some(false)));
        let count = topology.cpus.iter().map(|cpu| cpu.id).max().unwrap() + 1;
        assert_eq!(here.count() as u32, count);
        let more = super::cpus(&topology, &[0, count + 1], &[0]);
        assert_eq!((more.count() as u32, more.0[count as usize].fast), (count + 2, Some(false)));
    }
}
