// Tables that a user sorts by mouse or keyboard, and that tell screen readers how they are sorted.

// The tables that the filter applies to: each holder with the function that shows its rows anew.
const filtered = new Set();
let wanted = "";
const textOf = (shown) => (typeof shown === "string" ? shown : shown?.textContent ?? "");
const isWanted = (cells) => !wanted || cells.some((cell) => textOf(cell).toLowerCase().includes(wanted));

function filterTables(text) {
  wanted = text.trim().toLowerCase();
  for (const [holder, fill] of filtered) if (holder.isConnected) fill();
}

// Makes a table. A column is {name, of: row → value to sort by, show: row → text or node, left: aligned left, wide: hidden on a phone,
// hint: tip of the heading}.
// The table is first sorted by the column with the index `first`.
function table(holder, columns, rows, { first = null, pick = null, more = 0, caption = "" } = {}) {
  let sorted = first, down = true;
  const body = make("tbody");
  const heads = columns.map((column, i) =>
    make("th", { scope: "col", class: classOf(column) },
      make("button", { type: "button", title: column.hint ?? `Sort by ${column.name}`, onclick: () => sort(i) }, column.name)));
  function sort(i) {
    down = sorted === i ? !down : !columns[i].left;
    sorted = i;
    fill();
  }
  let picked = null;
  function choose(row) {
    picked = row;
    [...body.rows].forEach((line) => line.setAttribute("aria-selected", line.row === row));
    pick(row);
  }
  function fill() {
    heads.forEach((head, i) => (i === sorted ? head.setAttribute("aria-sort", down ? "descending" : "ascending") : head.removeAttribute("aria-sort")));
    const order = [...rows];
    if (sorted !== null) {
      const of = columns[sorted].of;
      order.sort((a, b) => {
        const x = of(a), y = of(b);
        const less = typeof x === "string" ? x.localeCompare(y) : (x ?? -1) - (y ?? -1);
        return down ? -less : less;
      });
    }
    const shownRows = order.map((row) => [row, columns.map((column) => column.show(row))]);
    body.replaceChildren(...shownRows.filter(([, shown]) => isWanted(shown)).map(([row, texts]) => {
      const cells = columns.map((column, i) => {
        const shown = texts[i];
        const cell = make("td", { class: classOf(column) }, shown);
        if (typeof shown === "string" && i === 0) cell.title = shown;
        return cell;
      });
      const line = make("tr", pick ? { class: "pick", tabindex: 0, "aria-selected": row === picked } : {}, ...cells);
      line.row = row;
      if (pick) {
        line.addEventListener("click", () => choose(row));
        line.addEventListener("keydown", (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          choose(row);
        });
      }
      return line;
    }));
  }
  fill();
  for (const known of [...filtered]) if (known[0] === holder) filtered.delete(known);
  filtered.add([holder, fill]);
  holder.replaceChildren(make("table", { "aria-label": caption }, make("thead", {}, make("tr", {}, ...heads)), body));
  if (more > 0) holder.append(make("p", { class: "note" }, `and ${more} more: “baton report --json” has them all.`));
  return { choose };
}

const classOf = (column) => [column.left ? "left" : "", column.wide ? "wide" : ""].join(" ").trim() || null;
const wide = (column) => ({ ...column, wide: true });
const ns = (name, of, hint) => ({ name, of, hint, show: (row) => duration(of(row)) });
const number = (name, of, hint) => ({ name, of, hint, show: (row) => count(of(row)) });
const word = (name, of) => ({ name, of, show: of, left: true });
const share = (name, of, hint) => ({ name, of, hint, show: (row) => percent(of(row)) });

const spun = (row) => {
  const known = row.entered.spinning + row.entered.sleeping;
  return known ? row.entered.spinning / known : null;
};

const USAGE = [
  number("acquired", (l) => l.acquisitions),
  share("waited", (l) => l.contended / (l.acquisitions || 1), "Share of the acquisitions that had to wait"),
  ns("wait", (l) => l.blocked_ns, "Time that threads waited, added over threads"),
  ns("hold", (l) => l.hold_ns.total_ns, "Time that it was held, added over holds"),
  ns("hand-off p50", (l) => l.handoff_ns.p50_ns, "From a release with waiters to the next acquisition, median"),
  ns("p99", (l) => l.handoff_ns.p99_ns, "The same, 99th percentile"),
  ns("overhead", (l) => l.overhead_ns, "Competition overhead: waits while nobody held it"),
  { name: "spun", hint: "Share of the waits that entered while spinning, the rest slept", of: spun, show: (l) => (spun(l) === null ? "–" : spun(l) === 0 ? "0 %" : percent(spun(l))) },
  ns("blame", (l) => l.blame_ns, "What others waited while it was held"),
];

function lockTables(data, detail) {
  const { report, full } = data;
  const name = word("lock", (l) => l.name);
  const kind = word("kind", (l) => l.kind);
  const show = (i) => {
    byId("lock-detail").replaceChildren();
    const each = i === 1, rows = each ? report.locks : report.classes;
    const columns = [name, kind, ...(several && !each ? [number("locks", (c) => c.locks)] : []), ...USAGE];
    const more = each ? full.locks - rows.length : full.classes - rows.length;
    const made = table(byId("lock-table"), columns, rows, { first: columns.findIndex((c) => c.name === "wait"), pick: detail, more, caption: each ? "Each lock" : "Locks" });
    if (rows.length && rows[0].contended) made.choose(rows[0]);
  };
  const several = report.classes.some((c) => c.locks > 1);
  if (several) tabs(byId("lock-tabs"), [`By origin (${full.classes})`, `Each lock (${full.locks})`], show);
  else show(0);
}

function siteObject(report, site) {
  return site.class !== null ? (report.classes[site.class]?.name ?? "?") : (report.waitables[site.waitable]?.name ?? "?");
}

function siteTable(data) {
  const { report, places, full } = data;
  const columns = [
    word("call site", (s) => (s.through ? `${s.name}, through ${s.through}` : s.name)),
    word("object", (s) => siteObject(report, s)),
    number("acquired", (s) => s.acquisitions),
    number("waits", (s) => s.contended),
    ns("waited here", (s) => s.wait_ns),
    ns("of it overhead", (s) => s.overhead_ns),
    ns("held from here", (s) => s.hold_ns),
    { name: "polls", of: (s) => s.polls, show: (s) => (s.polls * 2 > s.acquisitions ? "polls under lock" : "–"), hint: "Takes the lock again and again until another thread changes a value: a wait in disguise" },
    ns("held up others", (s) => s.blame_ns, "What others waited while the lock was held from here, weighed by how many waited"),
  ];
  table(byId("site-table"), columns, places, { first: 8, more: full.sites - places.length, caption: "Call sites" });
}

function threadTable(report) {
  const life = (t) => t.last_ns - t.first_ns;
  const other = (t) => t.condition_ns + t.barrier_ns + t.semaphore_ns + (t.queue_ns ?? 0) + t.join_ns + t.task_wait_ns + t.futex_ns + t.idle_ns;
  const bar = (t) => {
    const part = (name, time) => make("i", { style: `width:${(100 * time) / (life(t) || 1)}%;background:var(--${name})` });
    const parts = [["overhead", "overhead", t.overhead_ns], ["sleep", "lock wait", t.wait_ns - t.overhead_ns], ["other", "other wait", other(t)], ["blocked", "blocked outside", t.blocked_ns], ["ready", "ready, without a CPU", t.ready_ns], ["off", "off the CPU", t.off_ns]];
    const text = [...parts.map(([, name, time]) => `${name} ${duration(time)}`), `${onCpu(t)} ${duration(t.running_ns)}`].join(", ");
    return withTip(make("span", { class: "stack", role: "img", "aria-label": text }, ...parts.map(([name, , time]) => part(name, time))), text);
  };
  table(byId("thread-table"), [
    word("thread", (t) => t.name),
    { name: "tid", of: (t) => t.tid, show: (t) => String(t.tid) },
    { name: "CPUs", of: (t) => t.cpus ?? "", show: (t) => t.cpus ?? "–", hint: "The CPUs that it could run on" },
    { name: "its time", of: (t) => (t.wait_ns + other(t)) / (life(t) || 1), show: bar, hint: "Sort by the share that it waited" },
    ns("life", life),
    ns("on CPU", (t) => t.running_ns, "Where nothing was recorded of a thread's CPU, all that is no wait"),
    ns("ready", (t) => t.ready_ns, "It could run, and had no CPU"),
    ns("blocked", (t) => t.blocked_ns, "By input, output, sleep, or a system call of the program's own"),
    ...(report.threads.some((t) => t.off_ns) ? [ns("off CPU", (t) => t.off_ns, "By its CPU time; why is not known")] : []),
    ns("lock wait", (t) => t.wait_ns),
    ns("overhead", (t) => t.overhead_ns),
    ns("other wait", other),
    ...(report.threads.some((t) => t.idle_ns) ? [ns("idle", (t) => t.idle_ns, "Of these: between parallel regions")] : []),
    ns("holding", (t) => t.hold_ns),
    ns("longest", (t) => t.longest_wait_ns, "Its longest wait for a lock"),
    ns("blame", (t) => t.blame_ns),
    number("acquired", (t) => t.acquisitions),
    number("moves", (t) => t.migrations, "Changes of CPU, as far as they were seen"),
  ], report.threads, { first: 4, caption: "Threads" });
}

// The words for what a thread does where the timeline shows no block, by what the trace tells of its time off the CPU.
const onCpu = (t) => ({ all: "on a CPU", "how-much": "on a CPU, as its CPU time tells", nothing: "runs, or is off its CPU: not recorded" })[t.off_cpu_known];

function outsideTable(report) {
  const place = (o) => (o.after && o.after === o.before ? `around ${o.after}` : o.after && o.before ? `between ${o.after} and ${o.before}` : o.after ? `after ${o.after}` : o.before ? `before ${o.before}` : o.created ? `in threads created in ${o.created}` : "between a thread's start and its end");
  byId("outside").hidden = !report.outside.length;
  table(byId("outside-table"), [
    word("where", place), number("times", (o) => o.times), number("threads", (o) => o.threads),
    ns("blocked", (o) => o.blocked_ns, "Added over threads"), ns("ready", (o) => o.ready_ns, "Added over threads"), ns("off CPU", (o) => o.off_ns, "Why is not known"),
    ns("on the critical path", (o) => o.path_ns),
  ], report.outside, { first: 3, caption: "Off the CPU, outside of waits" });
}

// The thread that most often arrived last at a barrier, with its share of the rounds; the tip lists all threads.
function cameLast(report, last, rounds) {
  if (!last.length) return "–";
  const text = (l) => `${report.threads[l.thread]?.name ?? l.thread} ${percent(l.rounds / (rounds || 1))}`;
  return withTip(make("span", {}, text(last[0])), last.map(text).join(", "));
}

function openmpTables(report) {
  byId("openmp").hidden = !report.parallel.length;
  table(byId("openmp-table"), [
    word("region", (r) => r.name), number("times", (r) => r.time_ns.count),
    { name: "threads", of: (r) => r.most_threads, show: (r) => (r.least_threads === r.most_threads ? `${r.most_threads}` : `${r.least_threads}–${r.most_threads}`) },
    ns("time", (r) => r.time_ns.total_ns), ns("p50", (r) => r.time_ns.p50_ns), ns("p99", (r) => r.time_ns.p99_ns),
    ns("waited at end", (r) => r.end_wait_ns, "Added over threads"), share("waits at end", (r) => r.imbalance, "Of what the threads could have done meanwhile"),
    { name: "came last", left: true, of: (r) => (r.last.length ? r.last[0].rounds / (r.ends || 1) : 0), show: (r) => cameLast(report, r.last, r.ends) },
  ], report.parallel, { first: 3, caption: "Parallel regions" });
  byId("task-table").hidden = !report.tasks.length;
  table(byId("task-table"), [
    word("place", (t) => t.name), word("kind", (t) => t.kind), number("times", (t) => t.time_ns.count), ns("time", (t) => t.time_ns.total_ns, "Of a wait: with the tasks that the thread ran meanwhile"),
    ns("p50", (t) => t.time_ns.p50_ns), ns("p99", (t) => t.time_ns.p99_ns),
    { name: "waited", of: (t) => t.time_ns.total_ns - t.running_ns, show: (t) => (t.kind === "wait" ? duration(t.time_ns.total_ns - t.running_ns) : "–"), hint: "Of a wait: without these tasks" },
    number("moved", (t) => t.moved, "Run by another thread than the one that created them"),
  ], report.tasks, { first: 3, caption: "Tasks, and waits for them" });
}

// The threads at one side of a queue that waited, the one with the most waiting first; the tip lists the places.
function queueWaiters(report, side) {
  const waiters = side.threads.filter((user) => user.waited_ns);
  if (!waiters.length && !side.elsewhere) return "–";
  const name = (user) => report.threads[user.thread]?.name ?? String(user.thread);
  const more = waiters.length > 2 ? ` and ${waiters.length - 2} more` : "";
  const tip = [...side.threads.map((user) => `${name(user)}: ${user.items} items, waited ${duration(user.waited_ns)}`), ...side.places.map((place) => `at ${place.name}: ${duration(place.waited_ns)}`)];
  return withTip(make("span", {}, [...waiters.slice(0, 2).map(name), ...(side.elsewhere ? ["a process outside of the recording"] : [])].join(", ") + more), tip.join("\n"));
}

function queueTable(report) {
  const queues = report.queues ?? [];
  byId("queues").hidden = !queues.length;
  const stage = report.slow_stage;
  byId("slow-stage").hidden = !stage;
  if (stage) {
    const threads = stage.threads.map((thread) => report.threads[thread]?.name ?? String(thread)).join(", ");
    byId("slow-stage").textContent = `Slow stage: ${threads}. Others waited ${duration(stage.blocked_ns)} for room before it and ${duration(stage.starved_ns)} for items behind it; it waited at queues for ${percent(stage.waiting_share)} of its own time.`;
  }
  table(byId("queue-table"), [
    word("queue", (q) => q.name), { name: "holds", of: (q) => q.capacity ?? Infinity, show: (q) => (q.capacity === null ? "any" : String(q.capacity)) },
    number("items", (q) => q.takes.items, "Taken out"), { name: "items/s", of: (q) => q.items_per_s, show: (q) => q.items_per_s.toFixed(0) },
    { name: "mean", of: (q) => q.mean_depth, show: (q) => q.mean_depth.toFixed(1), hint: "Items in the queue, over time" }, number("most", (q) => q.most_items, "Items in the queue"),
    ns("full", (q) => q.puts.waited_ns, "Time that threads waited for room, added over threads"), { name: "blocked", left: true, of: (q) => q.puts.waited_ns, show: (q) => queueWaiters(report, q.puts) },
    ns("empty", (q) => q.takes.waited_ns, "Time that threads waited for an item, added over threads"), { name: "starved", left: true, of: (q) => q.takes.waited_ns, show: (q) => queueWaiters(report, q.takes) },
  ], queues, { first: 2, caption: "Queues" });
}

function otherTables(report) {
  const used = report.waitables.filter((w) => (w.waits || w.signals || w.broadcasts) && w.kind !== "queue");
  byId("others").hidden = !used.length;
  table(byId("other-table"), [
    word("name", (w) => w.name), word("kind", (w) => w.kind), number("waits", (w) => w.waits), ns("wait", (w) => w.wait_ns.total_ns),
    ns("p50", (w) => w.wait_ns.p50_ns), ns("p99", (w) => w.wait_ns.p99_ns), ns("wake p50", (w) => w.wake_ns.p50_ns, "From what ended the wait to the waiter's running"),
    { name: "came last", left: true, of: (w) => (w.last.length ? w.last[0].rounds / (w.rounds || 1) : 0), show: (w) => cameLast(report, w.last, w.rounds), hint: "Of a barrier: who came last most often, and in which share of the rounds" },
    ...(used.some((w) => w.at) ? [word("waits begin in", (w) => w.at ?? "–")] : []),
    number("signals", (w) => w.signals, "Or posts, or wakes"), number("broadcasts", (w) => w.broadcasts), number("time-outs", (w) => w.timeouts),
  ], used, { first: 3, caption: "Conditions, barriers, semaphores, futexes" });
  byId("regions").hidden = !report.regions.length;
  table(byId("region-table"), [
    word("region", (r) => r.name), ...(new Set(report.regions.map((r) => r.pid)).size > 1 ? [word("process", (r) => String(r.pid))] : []),
    number("times", (r) => r.times), ns("time", (r) => r.total_ns), ns("lock waits", (r) => r.wait_ns), ns("overhead", (r) => r.overhead_ns),
  ], report.regions, { first: 2, caption: "Regions of interest" });
}
