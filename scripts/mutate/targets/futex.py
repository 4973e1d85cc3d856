"""Breaks the guest kernel's futexes: is every step of them needed by some test?

Memory orderings are not weakened: shuttle and the simulated chip run them in sequence, so no test could tell. Two minutes of
CPU time, and the builds."""

from built import Mutant

# The crate whose tests must fail, its test programs in the order in which they run (each with filters of test names), and the
# most CPU seconds of each program.
CRATE = "chip"
TESTS = {"futex": [], "os": ["prices::", "hangs::", "latencies::"]}
PATIENCE = 30

PROTOCOL = "crates/chip/src/os/futex/protocol.rs"
MEMORY = "crates/chip/src/machine/futex_kernel.rs"
ROUSED = "crates/chip/src/kernel/futex.rs"
FIXED = "crates/chip/src/os/futex/fixed.rs"
WAIT = "crates/chip/src/machine/wait.rs"
PRICE = "crates/chip/src/machine/kernel.rs"


def protocol(name, old, new, why=""):
    return Mutant(name, PROTOCOL, old, new, why)


def memory(name, old, new, why=""):
    return Mutant(name, MEMORY, old, new, why)


MUTANTS = [
    # Mutants of the lock of a hash bucket.
    protocol("lock: nobody waits for it", "serving != mine", "false"),
    protocol("lock: its holder can be preempted", "kernel.hold(true);", ""),
    protocol("lock: its holder is never done", "kernel.hold(false);", ""),
    protocol("lock: given to nobody", "serving.wrapping_add(1)", "serving.wrapping_add(2)"),
    protocol("lock: its waiters are not woken", "K::M::wake(&raw const bucket.serving, u32::MAX, SPIN);", "",
             "they spin; the call is the verb's contract, for a machine whose spinners would need it"),
    # Mutants of the queue of sleepers.
    protocol("push: forgets those before it", "kernel.node(last - 1).next.store(number + 1, Relaxed)",
             "bucket.head.store(number + 1, Relaxed)"),
    protocol("push: the tail stays", "bucket.tail.store(number + 1, Relaxed);", ""),
    protocol("take: the head stays", "bucket.head.store(next, Relaxed)", "()"),
    protocol("take: one in the middle stays", "kernel.node(before - 1).next.store(next, Relaxed)", "()"),
    protocol("take: the tail stays", "next == 0", "false"),
    protocol("take: who stays is forgotten", "before = at;", ""),
    protocol("take: more than were asked for", "left -= u32::from(takes);", ""),
    protocol("take: sleepers of other cells", "other == key", "true"),
    protocol("take: they are not marked", "kernel.node(number).state.store(OUT, Release);", ""),
    # Mutants of a wait and its sleep.
    protocol("wait: not announced", "counter.sleepers.fetch_add(1, SeqCst);", ""),
    protocol("wait: announced for ever", "counter.sleepers.fetch_add(u32::MAX, Relaxed);", ""),
    protocol("wait: no second look", "cell.load(SeqCst) != value", "false"),
    protocol("wait: the look comes before the lock",
             "    let bucket = lock(kernel, number);\n    let slept = if cell.load(SeqCst) != value {",
             "    let seen = @.then(|| cell.load(SeqCst));\n    let bucket = lock(kernel, number);\n"
             "    let slept = if seen.unwrap_or_else(|| cell.load(SeqCst)) != value {"),
    protocol("wait: the lock is kept by who does not sleep", "        unlock(kernel, bucket);\n        Slept::Changed",
             "if !@ { unlock(kernel, bucket); }\n        Slept::Changed"),
    protocol("wait: queued without the lock", "push(kernel, bucket, me);\n        unlock(kernel, bucket);",
             "unlock(kernel, bucket);\n        push(kernel, bucket, me);"),
    protocol("wait: not marked as queued", "node.state.store(QUEUED, Relaxed);", ""),
    protocol("wait: an old neighbour is kept", "        node.next.store(0, Relaxed);\n        node.bucket.store(number,",
             "        if !@ { node.next.store(0, Relaxed); }\n        node.bucket.store(number,"),
    protocol("wait: an old bucket is kept", "node.bucket.store(number, Relaxed);", ""),
    protocol("sleep: goes on for any reason", "node.state.load(Acquire) == OUT", "true"),
    protocol("sleep: no deadline", "        if expired {", "        if expired && !@ {"),
    # Mutants of a wait that ends by its deadline or an interrupt.
    protocol("give up: in the bucket that it was in", "node.bucket.load(Relaxed) == number", "true"),
    protocol("give up: takes a wake-up with it", "node.state.load(Relaxed) == OUT", "false"),
    protocol("give up: stays in the queue", "take(kernel, bucket, |other, _| Some(other == me));", ""),
    protocol("give up: stays marked", "node.state.store(OUT, Relaxed);", ""),
    protocol("give up: keeps the lock", "            unlock(kernel, bucket);\n            return slept;",
             "            if !@ { unlock(kernel, bucket); }\n            return slept;"),
    # Mutants of a wake-up.
    protocol("wake: no fence", "    K::M::fence(SeqCst);\n    let announced", "    if !@ { K::M::fence(SeqCst); }\n    let announced"),
    protocol("wake: enters the kernel for nobody", "kernel.counter(key).sleepers.load(Relaxed) != 0", "true"),
    protocol("wake: rouses nobody", "    taken.iter().for_each(|&number| kernel.unblock(number, here));\n"
             "    taken.len() as u32\n}\n\n/// If",
             "    if !@ { taken.iter().for_each(|&number| kernel.unblock(number, here)); }\n    taken.len() as u32\n}\n\n/// If"),
    # Mutants of a requeue, which moves sleepers to another cell.
    protocol("requeue: whatever the cell holds", "from.load(SeqCst) == value", "true"),
    protocol("requeue: locks in any order",
             "    let first = lock(kernel, here.min(there));\n    let second = (here != there).then(|| lock(kernel, here.max(there)));",
             "    let (low, high) = if @ { (here, there) } else { (here.min(there), here.max(there)) };\n"
             "    let first = lock(kernel, low);\n    let second = (here != there).then(|| lock(kernel, high));"),
    protocol("requeue: one lock only", "(here != there).then(|| lock(kernel, here.max(there)))", "None"),
    protocol("requeue: they stay the old cell's", "node.key.store(other, Relaxed);", ""),
    protocol("requeue: they say the old bucket", "node.bucket.store(there, Relaxed);", ""),
    protocol("requeue: old neighbours are kept", "node.next.store(0, Relaxed);\n            node.bucket.store(there,",
             "if !@ { node.next.store(0, Relaxed); }\n            node.bucket.store(there,"),
    protocol("requeue: rouses nobody", "    let (taken, moved) = woken?;\n    taken.iter().for_each(|&number| kernel.unblock(number, here));",
             "    let (taken, moved) = woken?;\n    if !@ { taken.iter().for_each(|&number| kernel.unblock(number, here)); }"),
    # Mutants of the part of the kernel that the simulated chip provides.
    memory("block: sleeps though it is woken", "state.peek() == OUT", "false"),
    memory("block: a deadline that has passed", "engine.now >= deadline", "false"),
    memory("block: without its deadline", "engine.sleep(Waited::Cell(key as usize), deadline);",
           "engine.sleep(Waited::Cell(key as usize), u64::MAX);"),
    memory("block: says it was woken", "ended() != Ended::Woken", "false",
           "it is not out of its queue, so it looks at its deadline again, in the same cycle"),
    memory("unblock: before its mark is seen", "        drain();\n        let (id, roused)", "        if !@ { drain(); }\n        let (id, roused)"),
    Mutant("unblock: whatever the thread sleeps on", ROUSED, "!matches!(thread.wait.waits_on, Some((Waited::Cell(_), _)))", "false"),
    Mutant("unblock: its time-out still comes", ROUSED, "self.queue.cancel(Event::timeout(id));", ""),
    memory("hold: who is wanted keeps its CPU", "(thread.os.preempt, thread.os.leaves) = (true, true);", ""),
    memory("price: every wake-up is an interrupt", "self.interrupted.set(interrupted);", ""),
    Mutant("price: every wake-up of a call is an interrupt", PRICE, "if !std::mem::replace(interrupted, true) =>", "if true =>"),
    Mutant("price: a CPU that polls is interrupted", PRICE, "(Roused::Polling, Some(price)) =>", "(Roused::Nobody, Some(price)) =>"),
    memory("price: the way in is paid twice", "prices.wait.0.saturating_sub(prices.wait_changed.0)", "prices.wait.0"),
    # Mutants of the futexes with fixed prices.
    Mutant("fixed: one more than was asked for", FIXED, "taken.len() < n as usize", "taken.len() <= n as usize"),
    Mutant("fixed: sleepers of other cells", FIXED, "cell == offset", "true"),
    Mutant("fixed: who gives up stays", FIXED, "sleeper != thread", "true"),
    Mutant("fixed: who is moved is lost", FIXED, "moved.iter().for_each(|&thread| self.queue(to, thread));", ""),
    Mutant("fixed: a wake-up before the sleep is lost", WAIT, "engine.threads[id as usize].os.woken_early", "false"),
    Mutant("fixed: announced for ever", WAIT, "add(counter, u32::MAX);", ""),
]
