"""Breaks signals on the simulated chip: is every step needed by some test?"""

from built import Mutant

# The crate whose tests must fail, its test programs in the order in which they run (each with filters of test names), and the
# most CPU seconds of each program.
CRATE = "chip"
TESTS = {"os": ["signal"], "device": ["signals::"]}
PATIENCE = 30

SIGNAL = "crates/chip/src/kernel/signal.rs"
HANDLE = "crates/chip/src/kernel/handle.rs"
SAVED = "crates/chip/src/kernel/saved.rs"
KILL = "crates/chip/src/kernel/kill.rs"
KERNEL = "crates/chip/src/machine/kernel.rs"
TASK = "crates/chip/src/os/task.rs"

MUTANTS = [
    # Mutants of sending a signal.
    Mutant("send: one that has ended is sent to", SIGNAL, "if self.threads[id as usize].state == ThreadState::Done {\n            return false;",
           "if self.threads[id as usize].state == ThreadState::Done && !@ {\n            return false;"),
    Mutant("send: a blocked one interrupts", SIGNAL, "        if !blocked {\n            self.interrupt_for_signal(id);", "        if !blocked || @ {\n            self.interrupt_for_signal(id);",
           "the target looks, finds it blocked, and goes on"),
    Mutant("send: without the interrupt's price", SIGNAL, "self.interrupt_cpu(cpu, self.chip.os.interrupt.cost.0);", ""),
    Mutant("send: no packet is noticed", SIGNAL, "            self.notices_signal(id);\n        }\n    }", "            if !@ { self.notices_signal(id); }\n        }\n    }"),
    # Mutants of what a signal interrupts.
    Mutant("notice: a computation goes on", SIGNAL, "ThreadState::Working(until) if !kernel => self.cut_short(id, until),", "ThreadState::Working(until) if !kernel && !@ => self.cut_short(id, until),"),
    Mutant("notice: an idle wait goes on", SIGNAL, "ThreadState::IdleWait => self.end_idle_wait(id, Ended::Interrupted),", "ThreadState::IdleWait => if !@ { self.end_idle_wait(id, Ended::Interrupted) },",
           "the interrupt has ended it already"),
    Mutant("notice: a sleep goes on", SIGNAL, "if task.has_run && task.is_interrupted() {", "if task.has_run && task.is_interrupted() && !@ {"),
    Mutant("notice: one that has not begun begins", SIGNAL, "if task.has_run && task.is_interrupted() {", "if (task.has_run || @) && task.is_interrupted() {"),
    Mutant("notice: a stall goes on", SIGNAL, "if let Some(stall) = self.stalls_for_device(id) {", "if let Some(stall) = self.stalls_for_device(id).filter(|_| !@) {"),
    Mutant("notice: in the kernel's work as well", SIGNAL, "let kernel = task.shields != 0;", "let kernel = task.shields != 0 && !@;",
           "the kernel's work goes on with its rest at once, and no handler runs before it is over"),
    Mutant("cut: the rest is forgotten", SIGNAL, "        self.threads[id as usize].cut = Some(left);", "        if !@ { self.threads[id as usize].cut = Some(left); }"),
    Mutant("cut: one that waits for a CPU loses its rest", SIGNAL, "            thread.cut = Some(left);\n", "            if !@ { thread.cut = Some(left); }\n"),
    Mutant("work: the rest is not computed", KERNEL, "engine.threads[engine.running as usize].cut.take()", "{ let cut = engine.threads[engine.running as usize].cut.take(); cut.filter(|_| !@) }"),
    Mutant("device: its interrupt is lost", KILL, "devices.pending[device as usize] += 1;", ""),
    Mutant("uninterruptible: sleeps are interrupted", TASK, "self.signalled && self.signals.uninterruptible == 0", "self.signalled && (self.signals.uninterruptible == 0 || @)"),
    Mutant("call: a handler runs within it", TASK, "(self.killed || self.signals.in_call == 0)", "(self.killed || self.signals.in_call == 0 || @)"),
    # Mutants of signal handlers.
    Mutant("handler: its own number is not blocked", HANDLE, "blocked.and(blocks).with(signal)", "{ let all = blocked.and(blocks); if @ { all } else { all.with(signal) } }"),
    Mutant("handler: what it is to block is not", HANDLE, "blocked.and(blocks).with(signal)", "blocked.and(if @ { SignalSet::NONE } else { blocks }).with(signal)"),
    Mutant("handler: way in for nothing", HANDLE, "    stretch(prices.deliver.0);", "    if !@ { stretch(prices.deliver.0); }"),
    Mutant("handler: way out for nothing", HANDLE, "    stretch(prices.back.0);", "    if !@ { stretch(prices.back.0); }"),
    Mutant("handler: the mask stays", SAVED, "        thread.os.signals.blocked = blocked;\n        self.demand", "        if !@ { thread.os.signals.blocked = blocked; }\n        self.demand"),
    Mutant("handler: it comes again", HANDLE, "task.signals.pending = task.signals.pending.without(signal);", "task.signals.pending = task.signals.pending;"),
    Mutant("handler: what was waited on is forgotten", SAVED, "(thread.wait.waits_on, thread.wait.bounded, thread.wait.looked) = wait;", "_ = wait;"),
    Mutant("mask: unblocked ones are not looked at", SIGNAL, "        self.look_again();\n        before", "        if !@ { self.look_again(); }\n        before"),
    # Mutants of a death by a signal.
    Mutant("death: of its thread alone", SIGNAL, "if self.threads[id as usize].os.app == app {", "if self.threads[id as usize].os.app == app && !(@ && id % 2 == 0) {"),
    Mutant("death: it is not put down", SIGNAL, "self.os.deaths.push(Death { app: name, signal, at: Cycles(self.now) });", ""),
]
