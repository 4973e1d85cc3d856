"""Breaks the policies `crit` and `linux`, and what `crit` adds to the placements' shared code: is every rule needed?"""

from built import Mutant

# The crate whose tests must fail, its test programs in the order in which they run (each with filters of test names), and the
# most CPU seconds of each program.
CRATE = "sched"
TESTS = {"lib": [], "crit": [], "linux": [], "placement": [], "contract": []}
PATIENCE = 60

CRIT = "crates/sched/src/crit.rs"
CAPACITY = "crates/sched/src/placement/capacity.rs"
UTIL = "crates/sched/src/placement/util.rs"
RANKED = "crates/sched/src/placement/ranked.rs"
BOARD = "crates/sched/src/placement/board.rs"
CALLS = "crates/sched/src/placement/adapter/calls.rs"
LOG = "crates/sched/src/placement/log.rs"


def crit(name, old, new, why=""):
    return Mutant("crit " + name, CRIT, old, new, why)


def linux(name, old, new, why=""):
    return Mutant("linux " + name, CAPACITY, old, new, why)


def util(name, old, new, why=""):
    return Mutant("linux util: " + name, UTIL, old, new, why)


def ranked(name, old, new, why=""):
    return Mutant("crit " + name, RANKED, old, new, why)


MUTANTS = [
    # `crit`: what it learns of waits, locks and barriers from events and notices.
    crit("wait: without the lock", "self.said = WaitReport { lock: *lock, holder: *holder, ..WaitReport::default() };", "self.said = WaitReport { lock: None, holder: *holder, ..WaitReport::default() };"),
    crit("wait: without the holder", "lock: *lock, holder: *holder, ..WaitReport::default()", "lock: *lock, holder: if @ { None } else { *holder }, ..WaitReport::default()"),
    crit("wait: none is noted", "self.waits(*id, said);", ""),
    crit("wait: what was said stays for the next", "std::mem::take(&mut self.said)", "self.said"),
    crit("wait: its lock's notice replaced by a spinner's", "if !self.lasts(*id) {\n                    self.waits", "if @ || !self.lasts(*id) {\n                    self.waits"),
    crit("wait: over as it works, although it lasts", "Event::Notice(id, Notice::Working) if !self.lasts(*id)", "Event::Notice(id, Notice::Working) if @ || !self.lasts(*id)"),
    crit("wait: not over as it works", "self.ends(*id, true),", "if !@ { self.ends(*id, true) },"),
    crit("wait: over, and the lock not taken", "} else if takes {", "} else if takes && !@ {"),
    crit("wait: a waker ends one that lasts", "Event::Wake(id) if !self.lasts(*id)", "Event::Wake(id) if @ || !self.lasts(*id)"),
    crit("wait: a waker ends none", "Event::Wake(id) if !self.lasts(*id) => self.ends(*id, false),", "Event::Wake(id) if !self.lasts(*id) => if !@ { self.ends(*id, false) },"),
    crit("wait: one that has ended waits", "Event::Exit(id) => {\n                self.ends(*id, false);", "Event::Exit(id) => {\n                if !@ { self.ends(*id, false); }"),
    crit("wait: a sleep is not weighed", "if let Some(barrier) = self.last.remove(id) {", "if @ {\n                    return;\n                }\n                if let Some(barrier) = self.last.remove(id) {"),
    crit("barrier: the last sleeps and waits not", "self.waits(*id, WaitReport::of(LockNotice::Arrived, barrier));", "let _ = barrier;"),
    crit("barrier: the last waits", "if board.runnable.iter().any(|other| *other != id && works(other)) {", "if @ || board.runnable.iter().any(|other| *other != id && works(other)) {"),
    crit("barrier: none waits", "if board.runnable.iter().any(|other| *other != id && works(other)) {", "if !@ && board.runnable.iter().any(|other| *other != id && works(other)) {"),
    crit("barrier: the last stays it", "self.last.remove(&other);\n            self.waits(other, said);", "let _ = other;"),
    crit("hold: pays whatever it saves", "board.saves_on_fast(id, rest) >", "@ || board.saves_on_fast(id, rest) >"),
    crit("hold: never pays", "board.saves_on_fast(id, rest) >", "!@ && board.saves_on_fast(id, rest) >"),
    crit("lock: its last waiter is remembered", "self.holders.remove(&lock);", ""),
    crit("lock: the new holder is not noted", "self.holders.insert(lock, id);", ""),
    crit("lock: those that named the old holder still do", "said.holder = None;", "",
         "a lock's holder goes before what a waiter has said, and one has just been noted"),
    crit("lock: the named holder is not noted", "self.holders.insert(lock, holder);", ""),
    crit("lock: an earlier wait of the thread stays", "self.ends(id, false);\n        if let (Some(lock), Some(holder))", "if !@ { self.ends(id, false); }\n        if let (Some(lock), Some(holder))"),
    crit("lock: taken, and not noted", "self.owners.insert(lock, id);", ""),
    crit("lock: taken, and still waited for", "LockNotice::Taken => {\n                self.ends(id, false);", "LockNotice::Taken => {\n                if !@ { self.ends(id, false); }"),
    crit("lock: the owner before it stays a holder", "self.leaves(lock);\n                self.owners.insert", "if !@ { self.leaves(lock); }\n                self.owners.insert",
         "no owner is there unless notices come late, and then its own leave is still to come"),
    crit("lock: a holder is not counted", "*self.held.entry(id).or_default() += 1;", "self.held.entry(id).or_insert(1);"),
    crit("lock: left by whichever thread says so", "self.owners.get(&lock) == Some(&id)", "self.owners.contains_key(&lock)"),
    crit("lock: left, and still held", "self.holds.ends(now, id, lock);\n                    self.leaves(lock);", "self.holds.ends(now, id, lock);\n                    if !@ { self.leaves(lock); }"),
    crit("lock: left, and a wait for another is over", "self.waiting.get(&id).is_some_and(|said| said.lock == Some(lock))", "self.waiting.contains_key(&id)"),
    crit("lock: a holder of two holds none after one", "if *held == 0 {", "if @ || *held == 0 {"),
    crit("lock: held for ever", "self.held.remove(&owner);", ""),
    crit("lock: one that has ended still holds", "self.owners.retain(|_, owner| *owner != id);", ""),
    crit("lock: what a waiter says goes before its owner", "self.owners.get(&lock).or_else(|| self.holders.get(&lock)).copied()", "self.holders.get(&lock).or_else(|| self.owners.get(&lock)).copied()"),
    crit("lock: an owner is no holder", "self.owners.get(&lock).or_else", "self.owners.get(&lock).filter(|_| !@).or_else"),
    crit("lock: what the waiter alone has said", "said.lock.and_then(of).or(said.holder)", "said.lock.and_then(of)"),
    crit("lock: a wait for one is not one that lasts", "lasts: true, all: notice", "lasts: !@, all: notice"),
    crit("barrier: as a lock", "all: notice == LockNotice::Arrived", "all: !@ && notice == LockNotice::Arrived"),
    crit("barrier: a lock as one", "self.all || !self.lasts", "true"),
    # `crit`: the weights of threads that others wait for.
    crit("chain: its first thread", "at = self.holder(said).ok_or(at)?;", "at = self.holder(said).ok_or(at)?; if @ { return Ok(at); }"),
    crit("chain: one thread short", "for _ in 0..=self.waiting.len()", "for _ in 0..if @ { self.waiting.len() } else { self.waiting.len() + 1 }"),
    crit("chain: of sleepers", "if board.runnable.has(at) { Ok(at) } else { Err(id) }", "Ok(at)"),
    crit("weights: kept", "self.weights.clear();", ""),
    crit("weights: twice", "Ok(blocker) => *self.weights.entry(blocker).or_default() += ONE,", "Ok(blocker) => *self.weights.entry(blocker).or_default() += if @ { 2 * ONE } else { ONE },"),
    crit("weights: of the unknown all to each", "+= weight / working.len() as u64;", "+= if @ { weight } else { weight / working.len() as u64 };"),
    crit("weights: of the unknown to all applications", "board.thread(**id).app == app && ", "(@ || board.thread(**id).app == app) && "),
    crit("weights: of the unknown to those that wait", "&& !self.waiting.contains_key(id)", "&& (@ || !self.waiting.contains_key(id))"),
    crit("weights: of one whose lock changes hands to all", "Err(last) if self.waiting.get(&last).is_some_and(WaitReport::waits_for_some)", "Err(last) if @ || self.waiting.get(&last).is_some_and(WaitReport::waits_for_some)"),
    crit("weights: of the first of a chain, not the last", "board.thread(last).app).or_default()", "board.thread(if @ { id } else { last }).app).or_default()",
         "the threads of a chain that ends at a barrier are of one application wherever locks are not shared by several"),
    crit("weights: none after the last wait", "!self.waiting.is_empty() || !self.weights.is_empty()", "!self.waiting.is_empty()"),
    # `crit`: ranks, and the fast cores given by them.
    crit("rank: spinners as others", "board.thread(id).marked || self.lasts(id)", "(!@ && board.thread(id).marked) || self.lasts(id)"),
    crit("rank: those that wait for locks as others", "board.thread(id).marked || self.lasts(id)", "board.thread(id).marked || (!@ && self.lasts(id))"),
    crit("rank: without weights", "1 + self.weight(id)", "1"),
    crit("urgent: one fewer waiter", "u64::from(board.amp.crit_waiters) * ONE", "u64::from(board.amp.crit_waiters - 1) * ONE + 1"),
    crit("urgent: more waiters", "weight >= least", "weight > least"),
    crit("urgent: the lightest first", "heavy.sort_unstable();", "heavy.sort_unstable(); heavy.reverse();"),
    crit("stay: always a slice", "board.amp.min_stay.unwrap_or(if self.pays(now, board, id) { 0 } else { slice })", "if self.pays(now, board, id) { 0 } else { slice }"),
    crit("keeps: always", "board.amp.holder_keeps && self.held", "(@ || board.amp.holder_keeps) && self.held"),
    crit("keeps: never", "board.amp.holder_keeps && self.held", "!@ && board.amp.holder_keeps && self.held"),
    ranked("bring: none", "self.bring(now, answers);", ""),
    ranked("bring: those that are bound", "let comes = thread.bound_for.is_none() && thread.at", "let comes = (@ || thread.bound_for.is_none()) && thread.at"),
    ranked("bring: those of equal weights", "self.rule.rank(&self.board, *other).class < class", "self.rule.rank(&self.board, *other).class <= class"),
    ranked("bring: in the place of one that is bound", "!is_bound && !self.keeps_here", "(@ || !is_bound) && !self.keeps_here"),
    ranked("bring: in the place of one that keeps its CPU", "!is_bound && !self.keeps_here(*other)", "!is_bound && (@ || !self.keeps_here(*other))"),
    ranked("bring: never tries again", "self.retry_at = ends.min().unwrap_or(u64::MAX);", ""),
    ranked("bring: tries again at the last end", "ends.min().unwrap_or(u64::MAX)", "if @ { ends.max() } else { ends.min() }.unwrap_or(u64::MAX)"),
    ranked("bring: tries again for ever", "self.retry_at = u64::MAX;", "", "the next look is at once, and finds the same: it asks for a moment that is past only where one is held no more"),
    ranked("stay: none", "!held(at(other)) && thread.affinity", "(@ || !held(at(other))) && thread.affinity"),
    ranked("stay: not begun", "self.hold(now, to, id);", ""),
    ranked("stay: a cycle longer", "self.held_until[cpu.0 as usize] > now && !", "self.held_until[cpu.0 as usize] > now - u64::from(@) && !"),
    ranked("round: one that keeps its CPU makes room", "self.board.is_on_fast(id) && !self.keeps_here(id)", "self.board.is_on_fast(id) && (@ || !self.keeps_here(id))"),
    ranked("round: put off by what happens at its moment", "&& !to_come", "&& (@ || !to_come)"),
    Mutant("crit keeps: without end", CALLS, "now.0 < since + 2 * slice", "@ || now.0 < since + 2 * slice"),
    Mutant("crit keeps: no longer", CALLS, "keeps.is_some_and(|id| self.placement.keeps_cpu(id))", "!@ && keeps.is_some_and(|id| self.placement.keeps_cpu(id))"),
    Mutant("crit bound: for a CPU that is off", BOARD, "if !on {\n                    self.gives_up", "if !on && !@ {\n                    self.gives_up"),
    Mutant("crit log: a lock's notice", LOG, "&(_, word)| word);", "&(_, word)| if @ { \"wanted\" } else { word });"),
    # `linux`: whether a thread's utilisation fits a CPU.
    linux("misfit: another share", "self.board.amp.misfit_percent)", "if @ { 100 } else { self.board.amp.misfit_percent })"),
    linux("misfit: at the border it fits", "u64::from(self.util(now, id)) * 100 < share", "u64::from(self.util(now, id)) * 100 <= share"),
    linux("misfit: by the machine's fastest", "u64::from(self.capacity(cpu)) * u64::from", "u64::from(if @ { 1024 } else { self.capacity(cpu) }) * u64::from"),
    linux("birth: with the whole of a CPU", "self.capacity(born.near) / 2", "self.capacity(born.near)"),
    linux("birth: near to no CPU", "last: born.near", "last: if @ { CpuId(0) } else { born.near }"),
    linux("half life: another default", "slice * 16 / 5", "slice * 16 / 6"),
    linux("half life: the key is not heard", "board.amp.util_half_life.unwrap_or", "board.amp.util_half_life.filter(|_| !@).unwrap_or"),
    linux("track: runs nowhere", "past.util.runs(now, capacity, half_life);", ""),
    linux("track: the last CPU is the first", "past.last = *cpu;", ""),
    linux("track: runs on as it sleeps", "Event::Yields(id) | Event::Block(id) => {\n                if let Some(past) = &mut self.past[id.0 as usize] {\n                    past", "Event::Yields(id) | Event::Block(id) => {\n                if let Some(past) = self.past[id.0 as usize].as_mut().filter(|_| !@) {\n                    past"),
    linux("track: runs on as it is moved", "Event::Placed(id, _) => {\n                if let Some(past) = &mut self.past[id.0 as usize] {\n                    past", "Event::Placed(id, _) => {\n                if let Some(past) = self.past[id.0 as usize].as_mut().filter(|_| !@) {\n                    past"),
    linux("track: a new clock changes nothing", "past.util.runs(now, *speed, half_life);", ""),
    # `linux`: which CPU a thread is put on or pulled to.
    linux("wake: wherever", "Event::Wake(id) => self.wake(now, *id, answers),", "Event::Wake(id) => if !@ { self.wake(now, *id, answers) },"),
    linux("wake: whatever the mask", "self.idle().filter(|&cpu| affinity.has(cpu)).max_by_key", "self.idle().filter(|&cpu| @ || affinity.has(cpu)).max_by_key"),
    linux("wake: whether it fits or not", "(fits, prefers, cpu == last", "(@ || fits, prefers, cpu == last"),
    linux("wake: not where it ran", "cpu == last, Reverse", "!@ && cpu == last, Reverse", "where it ran is nearest, and of CPUs as near it is told from others by its number alone"),
    linux("wake: the farthest", "Reverse(self.board.topology.distance(last, cpu))", "Reverse(if @ { 9 - self.board.topology.distance(last, cpu) } else { self.board.topology.distance(last, cpu) })"),
    linux("wake: preferred CPUs always", "if fits && !packs { (false, 0) }", "if fits && !packs && !@ { (false, 0) }"),
    linux("wake: preferred CPUs never", "if fits && !packs { (false, 0) }", "if fits && (@ || !packs) { (false, 0) }"),
    linux("pull: from CPUs that are not much smaller", "u64::from(here) * 1024 > u64::from(self.capacity(from)) * BIGGER", "here > self.capacity(from)"),
    linux("pull: those that are bound", "thread.bound_for.is_none() && thread.affinity.has(cpu)", "(@ || thread.bound_for.is_none()) && thread.affinity.has(cpu)"),
    linux("pull: whatever the mask", "thread.bound_for.is_none() && thread.affinity.has(cpu)", "thread.bound_for.is_none() && (@ || thread.affinity.has(cpu))"),
    linux("pull: misfits that fit", "bigger(from) && !self.fits(now, id, from)", "bigger(from) && (@ || !self.fits(now, id, from))"),
    linux("pull: no misfits", "bigger(from) && !self.fits(now, id, from)", "!@ && bigger(from) && !self.fits(now, id, from)"),
    linux("pull: the least of misfits", "misfits.max_by_key(|&(id, _)| (self.util(now, id), Reverse(id)))", "misfits.max_by_key(|&(id, _)| (if @ { 4096 - self.util(now, id) } else { self.util(now, id) }, Reverse(id)))"),
    linux("pull: the last of equal misfits", "(self.util(now, id), Reverse(id))", "(self.util(now, id), Reverse(if @ { ThreadId(u32::MAX - id.0) } else { id }))"),
    linux("pull: packing always", "self.board.amp.packing != Packing::Off", "true"),
    linux("pull: packing never", "self.board.amp.packing != Packing::Off", "false"),
    linux("pull: from equal priorities", "packs && self.priority(from) < self.priority(cpu)", "packs && self.priority(from) <= self.priority(cpu)"),
    linux("pull: from the highest priority", "(self.priority(from), id)", "(if @ { (false, 4096 - self.priority(from).1) } else { self.priority(from) }, id)"),
    linux("pull: packing before misfits", "misfit.or_else(|| lower.min_by_key(|&(id, from)| (self.priority(from), id)))", "lower.min_by_key(|&(id, from)| (self.priority(from), id)).or(misfit)"),
    linux("pull: although a thread waits", "self.board.is_idle(*cpu) && !self.waits_for(*cpu)", "self.board.is_idle(*cpu) && (@ || !self.waits_for(*cpu))"),
    linux("pull: not as it idles", "self.pull(now, *cpu, answers),", "if !@ { self.pull(now, *cpu, answers) },"),
    linux("waits: whatever the mask", "thread.affinity.has(cpu)\n                && thread.at", "(@ || thread.affinity.has(cpu))\n                && thread.at"),
    linux("waits: for a CPU that is free", "!self.board.is_free(at) && !self.board.is_running(id)", "(@ || !self.board.is_free(at)) && !self.board.is_running(id)"),
    linux("balance: never", "self.balance(now, answers),", "if !@ { self.balance(now, answers) },"),
    linux("balance: the first CPUs first", "(Reverse(self.priority(cpu)), cpu)", "(Reverse(if @ { (false, 0) } else { self.priority(cpu) }), cpu)"),
    linux("balance: half as often", "self.balance_at = (now / self.interval + 1) * self.interval;", "self.balance_at = (now / self.interval + 2) * self.interval;"),
    linux("balance: put off by what happens at its moment", "self.balance_at < now", "(@ && self.balance_at <= now) || self.balance_at < now"),
    linux("balance: with no thread to run", "self.is_asymmetric() && !self.board.runnable.is_empty()", "self.is_asymmetric() && (@ || !self.board.runnable.is_empty())"),
    linux("balance: on a chip of equal cores", "self.is_asymmetric() && !self.board.runnable.is_empty()", "(@ || self.is_asymmetric()) && !self.board.runnable.is_empty()"),
    linux("equal cores: as others", "if self.is_asymmetric() {\n            match", "if @ || self.is_asymmetric() {\n            match"),
    # `linux`: how a thread's utilisation is computed.
    util("a thread that runs nears nothing", "towards - (((towards - self.value) * left) >> 32)", "self.value"),
    util("a thread that sleeps keeps it", "towards + (((self.value - towards) * left) >> 32)", "self.value"),
    util("halves are not counted", "(at - between) >> halves", "at - between"),
    util("steps are not counted", "(0..steps).fold(1u64 << 32,", "(0..if @ { 0 } else { steps }).fold(1u64 << 32,"),
    util("nothing between two steps", "at - ((at * STEP) >> 32)", "0"),
    util("what was before is forgotten", "(self.value_at(now, half_life), now, capacity)", "(if @ { 0 } else { self.value_at(now, half_life) }, now, capacity)"),
]
