"""Breaks idle waits: is every step of MONITOR, look, MWAIT and HALT needed by some test?

The same steps under every schedule: `cargo test -p baton-check --test idle_waits`."""

from built import Mutant

# The crate whose tests must fail, its test programs in the order in which they run (each with filters of test names), and the
# most CPU seconds of each program.
CRATE = "chip"
TESTS = {"waiting": []}
PATIENCE = 60

WAITS = "crates/chip/src/machine/idle_wait.rs"


def mutant(name, old, new, why=""):
    return Mutant(name, WAITS, old, new, why)


MUTANTS = [
    # Mutants of an idle wait by MONITOR, look, MWAIT and reset.
    mutant("look: left out", "seen == self.value && now() < self.deadline",
           "(seen == self.value || @) && now() < self.deadline"),
    mutant("look: what it saw is forgotten", "                if seen != self.value {\n                    return",
           "                if seen != self.value && !@ {\n                    return",
           "the look behind it sees the same, at the price of a hit"),
    mutant("look: its deadline is left out", "seen == self.value && now() < self.deadline", "seen == self.value"),
    mutant("reset: left out", "with(|engine| engine.unwatch(engine.running));", ""),
    mutant("reset: before MWAIT", "                    self.wait(watch);",
           "                    if @ { with(|engine| engine.unwatch(engine.running)); }\n                    self.wait(watch);"),
    mutant("deadline: left out", "            if now() >= self.deadline {\n                return Some(WaitResult::Expired)",
           "            if now() >= self.deadline && !@ {\n                return Some(WaitResult::Expired)"),
    mutant("arm: without the load", "        self.try_load();\n        with(|engine| engine.arm(self.line));",
           "        if !@ { self.try_load(); }\n        with(|engine| engine.arm(self.line));"),
    mutant("arm: before the load", "        self.try_load();\n        with(|engine| engine.arm(self.line));",
           "        if @ { with(|engine| engine.arm(self.line)); }\n        self.try_load();\n"
           "        if !@ { with(|engine| engine.arm(self.line)); }",
           "a store in between is seen by the look"),
    mutant("arm: left out", "with(|engine| engine.arm(self.line));", ""),
    mutant("arm: free of charge", "spend(Reason::Monitor, |engine| engine.chip.wait.monitor.0);", ""),
    mutant("arm: does not give way", "        if give_way() {\n            return false;",
           "        if !@ && give_way() {\n            return false;",
           "MWAIT gives way, a step later"),
    mutant("MWAIT: does not give way", "!give_way()", "true"),
    mutant("MWAIT: no time limit", "engine.now.saturating_add(limit).min(self.deadline)", "self.deadline"),
    mutant("MWAIT: no deadline", "engine.now.saturating_add(limit).min(self.deadline)", "engine.now.saturating_add(limit)"),
    mutant("MWAIT: entry is free", "enter: price.enter.0, exit: price.exit.0, until",
           "enter: if @ { 0 } else { price.enter.0 }, exit: price.exit.0, until"),
    mutant("MWAIT: exit is free", "enter: price.enter.0, exit: price.exit.0, until",
           "enter: price.enter.0, exit: if @ { 0 } else { price.exit.0 }, until"),
    mutant("MWAIT: always the first depth", "Still::Monitor(depth)", "Still::Monitor(1)"),
    mutant("MWAIT: its time is nobody's", "        with(Engine::charge_idle_wait);\n", "        if !@ { with(Engine::charge_idle_wait); }\n"),
    mutant("system call: free to enter", "kernel(call.call.0);", ""),
    mutant("system call: free to leave", "kernel(call.back.0);", ""),
    # Mutants of a wait by HALT, and of its wake-up.
    mutant("halt: not announced", "add(counter, 1);", ""),
    mutant("halt: announced for ever", "add(counter, u32::MAX);", ""),
    mutant("halt: free to enter", "kernel(price.enter.0);", ""),
    mutant("halt: no look", "self.cell.read() != self.value", "false"),
    mutant("halt: no deadline", "} else if now() >= self.deadline {\n            Ended::Expired",
           "} else if now() >= self.deadline && !@ {\n            Ended::Expired"),
    mutant("halt: not in the table", "engine.os.halted.push((offset, engine.running));", ""),
    mutant("halt: never expires", "ended == Ended::Expired", "false"),
    mutant("halt: its own stores are kept back", "            drain();\n            let ended",
           "            if !@ { drain(); }\n            let ended",
           "the announcement empties the store buffer, too"),
    mutant("wake: nobody", "announced(Layout::counter(offset)) == 0", "true"),
    mutant("wake: looks into an empty table", "announced(Layout::counter(offset)) == 0", "false",
           "nobody is in it, and the look takes no time"),
    mutant("wake: those of other cells", "cell == offset)?", "(cell == offset || @))?"),
    mutant("wake: the last one first", "engine.os.halted.iter().position(|&(cell, _)| cell == offset)?",
           "if @ { engine.os.halted.iter().rposition(|&(cell, _)| cell == offset)? } else { "
           "engine.os.halted.iter().position(|&(cell, _)| cell == offset)? }"),
    mutant("wake: more than asked for", "for _ in 0..n {", "for _ in 0..if @ { u32::MAX } else { n } {"),
    mutant("wake: an interrupt is free", "Some(send) => kernel(send),", "Some(send) => if !@ { kernel(send) },"),
    mutant("wake: the store is kept back", "    drain();\n    operate(Reason::Memory", "    if !@ { drain(); }\n    operate(Reason::Memory"),
]
