"""Breaks the policy `pa` and what placements share: is every rule needed by some test?"""

from built import Mutant

# The crate whose tests must fail, its test programs in the order in which they run (each with filters of test names), and the
# most CPU seconds of each program.
CRATE = "sched"
TESTS = {"lib": [], "ranks": [], "classes": [], "placement": [], "contract": []}
PATIENCE = 120

PA = "crates/sched/src/pa.rs"
RANKED = "crates/sched/src/placement/ranked.rs"
BOARD = "crates/sched/src/placement/board.rs"


def pa(name, old, new, why=""):
    return Mutant(name, PA, old, new, why)


def ranked(name, old, new, why=""):
    return Mutant(name, RANKED, old, new, why)


def board(name, old, new, why=""):
    return Mutant(name, BOARD, old, new, why)


MUTANTS = [
    # Mutants of the classes of applications (`hp`, `sp`, `mp`).
    pa("hp: with as many as the threshold", "() if count > threshold => Class::Hp,", "() if count > threshold || @ && count == threshold => Class::Hp,"),
    pa("hp: remembered with as many as the threshold", "app.was_high |= count > threshold;", "app.was_high |= count >= threshold;"),
    pa("hp: forgotten", "app.was_high |= count > threshold;", "let _ = threshold;"),
    pa("hp: never forgotten", "app.was_high = false;", ""),
    pa("sp: with two threads", "if count > 1 {\n            if before <= 1 {", "if count > if @ { 2 } else { 1 } {\n            if before <= 1 {"),
    pa("sp: kept by many threads", "            }\n            app.boost_until = 0;\n", "            }\n            if !@ { app.boost_until = 0; }\n"),
    pa("sp: entered from none", "count == 1 && before > 1", "count == 1 && before != 1"),
    pa("sp: entered with none left", "count == 1 && before > 1", "count <= 1 && before > 1",
       "an event changes the count by one, so that none follows one"),
    pa("sp: never entered", "count == 1 && before > 1", "false"),
    pa("sp: always from high parallelism only", "board.amp.enter_sp == EnterSp::Falls", "false"),
    pa("sp: entered by any fall", "app.was_high || board.amp.enter_sp == EnterSp::Falls", "true"),
    pa("sp: a tick too long", "now + boost - app.spent }", "now + boost - app.spent + u64::from(@) }"),
    pa("boost: never earned", "app.spent.saturating_sub(now - app.parallel_since)", "app.spent"),
    pa("boost: earned whole", "app.spent.saturating_sub(now - app.parallel_since)", "if @ { 0 } else { app.spent.saturating_sub(now - app.parallel_since) }"),
    pa("boost: used up and not noted", "(app.boost_until, app.spent) = (0, spent);", "app.boost_until = if @ { 0 } else { spent - spent };"),
    pa("boost: earned by the other rule", "board.amp.renew_boost == Renewal::Earned && app.boost_until != 0", "app.boost_until != 0"),
    pa("sp: a tick too short", "app.boost_until > now =>", "app.boost_until > now + u64::from(@) =>"),
    pa("sp: without an end", "if changed {", "if changed && !@ {"),
    pa("sp: at its end it stays", "app.boost_until != 0 && app.boost_until <= now", "app.boost_until != 0 && app.boost_until < now"),
    pa("sp: its end is not told", "answers.extend([Answer::Demoted(id), Answer::Class(id, Class::Mp)]);", ""),
    pa("sp: the end of one ends all", "app.boost_until != 0 && app.boost_until <= now", "app.boost_until != 0"),
    pa("sp: the latest end counts", ".filter(|&until| until != 0).min()",
       ".filter(|&until| until != 0).reduce(|a, b| if @ { a.max(b) } else { a.min(b) })"),
    pa("count: of the waking application alone", "changed |= self.recount(now, board, id, answers);", ""),
    pa("a new run keeps what the last one was", "board.app_at(id).alive == 0", "false"),
    pa("a class that stays is told", "std::mem::replace(&mut app.class, class) != class", "{ app.class = class; true }"),
    # Mutants of the ranks of threads.
    pa("rank: spinners as others", "if thread.marked {", "if thread.marked && !@ {"),
    pa("rank: no master", "board.app_of(id).master == Some(id)", "false"),
    pa("rank: master first always", "Master::Sp => return Rank::plain(sp)", "Master::Sp => return Rank::plain(if @ { first } else { sp })"),
    pa("rank: sp as mp", "Class::Sp => Rank::plain(sp)", "Class::Sp => Rank::plain(if @ { mp } else { sp })"),
    pa("rank: mp as hp", "Class::Mp => Rank { class: mp,", "Class::Mp => Rank { class: if @ { hp } else { mp },"),
    pa("rank: mp without turns", "turn: Reverse(thread.was_fast)", "turn: Reverse(if @ { 0 } else { thread.was_fast })"),
    pa("rank: hp first", "Class::Hp => Rank::plain(hp)", "Class::Hp => Rank::plain(if @ { first } else { hp })"),
    # Mutants of the rounds of swaps, and of filling idle fast cores.
    ranked("swap: none", "self.swap(now, answers);", ""),
    ranked("swap: at every event of its period", "R::SWAPS && now >= self.swap_at", "R::SWAPS"),
    ranked("swap: half as often", "self.swap_at = (now / self.period() + 1) * self.period();", "self.swap_at = (now / self.period() + 2) * self.period();"),
    ranked("swap: with the highest rank", "(class, self.distance(id, at(others[*i])), Reverse(*i))", "(u64::MAX - class, self.distance(id, at(others[*i])), Reverse(*i))"),
    ranked("swap: whatever the partner's mask", "thread.affinity.has(at(other)) && self.board.thread(other).affinity.has(from)", "thread.affinity.has(at(other))"),
    ranked("swap: whatever its own mask", "thread.affinity.has(at(other)) && self.board.thread(other).affinity.has(from)", "self.board.thread(other).affinity.has(from)"),
    ranked("swap: one partner for many", "let other = others.remove(i);", "let other = if @ { others[i] } else { others.remove(i) };"),
    ranked("swap: those that are bound move again", "thread.bound_for.is_none() && thread.at.is_some_and(|at| self.board.kinds.is_on(at))\n        };\n        self.board.runnable", "thread.at.is_some_and(|at| self.board.kinds.is_on(at))\n        };\n        self.board.runnable"),
    ranked("swap: as many as there are fast cores", "threads.len().min(fast.len() * share)", "threads.len().min(fast.len())"),
    ranked("swap: not to a shorter queue", "if let Some(to) = free.min_by_key(|&cpu| (self.board.load(cpu), self.distance(id, cpu))) {\n            self.go(id, to, answers);", "if let Some(to) = free.min_by_key(|&cpu| (self.board.load(cpu), self.distance(id, cpu))) {\n            if !@ { self.go(id, to, answers); }"),
    ranked("fill: none", "self.go(id, cpu, answers);", ""),
    ranked("fill: whatever the mask", "gains && thread.bound_for.is_none() && thread.affinity.has(cpu)", "gains && thread.bound_for.is_none()"),
    ranked("fill: those that are bound elsewhere", "gains && thread.bound_for.is_none() && thread.affinity.has(cpu)", "gains && thread.affinity.has(cpu)"),
    ranked("fill: slow cores as well", "!self.board.is_idle(cpu) || !self.board.kinds.is_fast(cpu)", "!self.board.is_idle(cpu)"),
    ranked("domain: turns go anywhere", "if !self.board.amp.stay_in_domain {", "if @ || !self.board.amp.stay_in_domain {"),
    ranked("domain: turns first", "Reverse(Rank::plain(rank.class))", "Reverse(if @ { rank } else { Rank::plain(rank.class) })"),
    ranked("fill: by the lowest rank", "(class, !self.board.is_running(id), nearer, turn, near, Reverse(id))", "(u64::MAX - class, !self.board.is_running(id), nearer, turn, near, Reverse(id))"),
    ranked("fill: spinners that run", "!fast && !thread.marked", "!fast"),
    ranked("fill: none that run", "if runs { !fast && !thread.marked }", "if runs { !@ && !fast && !thread.marked }"),
    ranked("period: never", "answers.push(if due == u64::MAX { Answer::NoPeriod } else { Answer::Period(Cycles(due)) });", ""),
    ranked("period: goes on with no thread to run", "swaps && !self.board.runnable.is_empty()", "swaps"),
    # Mutants of the board, which knows threads, applications and CPUs.
    board("threshold: one less", "self.kinds.fast_count() + 1", "self.kinds.fast_count()"),
    board("count: marked ones always", "if self.amp.count_marked { app.runnable }", "if self.amp.count_marked || @ { app.runnable }"),
    board("count: marked ones never", "if self.amp.count_marked { app.runnable }", "if self.amp.count_marked && !@ { app.runnable }"),
    board("mark: of a sleeper stays", "// A sleeping thread does not spin.\n        self.mark(id, false);", "// A sleeping thread does not spin.\n        if !@ { self.mark(id, false); }"),
    board("mark: counted twice", "was != marked && runnable", "runnable"),
    board("master: one that has ended", "app.master = app.master.filter(|&master| master != id);", ""),
    board("master: the first stays", "self.app(app).master = Some(*id);", "let app = self.app(app); app.master = app.master.or(Some(*id));"),
    board("bound: a new mask changes nothing", "self.thread(*id).bound_for.is_some_and(|to| !affinity.has(to))", "false"),
    board("bound: a sleeper still goes", "self.unbind(id);\n        self.leaves(id);\n        self.can_run(id, false);", "if !@ { self.unbind(id); }\n        self.leaves(id);\n        self.can_run(id, false);"),
    board("turns: not noted when a thread runs", "self.thread_mut(*id).was_fast = now;", ""),
]
