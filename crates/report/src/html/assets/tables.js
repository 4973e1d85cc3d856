// Tables that sort: by mouse, by keyboard, and for those who listen.

// Columns are {name, of: row → value to sort by, show: row → text or node, left}. Sorted by `first` to begin with.
function table(holder, columns, rows, { first = null, pick = null, more = 0, caption = "" } = {}) {
  let sorted = first, down = true;
  const body = make("tbody");
  const heads = columns.map((column, i) =>
    make("th", { scope: "col", class: column.left ? "left" : null },
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
    body.replaceChildren(...order.map((row) => {
      const cells = columns.map((column, i) => {
        const shown = column.show(row);
        const cell = make(i ? "td" : "td", { class: column.left ? "left" : null }, shown);
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
  holder.replaceChildren(make("table", { "aria-label": caption }, make("thead", {}, make("tr", {}, ...heads)), body));
  if (more > 0) holder.append(make("p", { class: "note" }, `and ${more} more: “baton report --json” has them all.`));
  return { choose };
}

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
    if (i === 0) {
      const made = table(byId("lock-table"), [name, kind, ...USAGE], report.locks, { first: 4, pick: detail, more: full.locks - report.locks.length, caption: "Locks" });
      if (report.locks.length && report.locks[0].contended) made.choose(report.locks[0]);
    } else {
      const locks = number("locks", (c) => c.locks);
      table(byId("lock-table"), [word("class", (c) => c.name), kind, locks, ...USAGE], report.classes, { first: 5, more: full.classes - report.classes.length, caption: "Classes of locks" });
    }
  };
  if (report.classes.some((c) => c.locks > 1)) tabs(byId("lock-tabs"), [`Locks (${full.locks})`, `Classes (${full.classes})`], show);
  else show(0);
}

function siteObject(report, site) {
  return site.class !== null ? (report.classes[site.class]?.name ?? "?") : (report.waitables[site.waitable]?.name ?? "?");
}

function siteTable(data) {
  const { report, places, full } = data;
  const columns = [
    word("call site", (s) => s.name),
    word("object", (s) => siteObject(report, s)),
    number("acquired", (s) => s.acquisitions),
    number("waits", (s) => s.contended),
    ns("waited here", (s) => s.wait_ns),
    ns("of it overhead", (s) => s.overhead_ns),
    ns("held from here", (s) => s.hold_ns),
    ns("held up others", (s) => s.blame_ns, "What others waited while the lock was held from here, weighed by how many waited"),
  ];
  table(byId("site-table"), columns, places, { first: 7, more: full.sites - places.length, caption: "Call sites" });
}

function threadTable(report) {
  const life = (t) => t.last_ns - t.first_ns;
  const other = (t) => t.condition_ns + t.barrier_ns + t.semaphore_ns + t.join_ns;
  const bar = (t) => {
    const part = (name, time) => make("i", { style: `width:${(100 * time) / (life(t) || 1)}%;background:var(--${name})` });
    const text = `overhead ${duration(t.overhead_ns)}, lock wait ${duration(t.wait_ns - t.overhead_ns)}, other wait ${duration(other(t))}, work ${duration(t.work_ns)}`;
    return withTip(make("span", { class: "stack", role: "img", "aria-label": text }, part("overhead", t.overhead_ns), part("sleep", t.wait_ns - t.overhead_ns), part("other", other(t))), text);
  };
  table(byId("thread-table"), [
    word("thread", (t) => t.name),
    { name: "tid", of: (t) => t.tid, show: (t) => String(t.tid) },
    { name: "CPUs", of: (t) => t.cpus ?? "", show: (t) => t.cpus ?? "–", hint: "The CPUs that it could run on" },
    { name: "its time", of: (t) => (t.wait_ns + other(t)) / (life(t) || 1), show: bar, hint: "Sort by the share that it waited" },
    ns("life", life),
    ns("lock wait", (t) => t.wait_ns),
    ns("overhead", (t) => t.overhead_ns),
    ns("other wait", other),
    ns("holding", (t) => t.hold_ns),
    ns("longest", (t) => t.longest_wait_ns, "Its longest wait for a lock"),
    ns("blame", (t) => t.blame_ns),
    number("acquired", (t) => t.acquisitions),
    number("moves", (t) => t.migrations, "Changes of CPU, as far as they were seen"),
  ], report.threads, { first: 4, caption: "Threads" });
}

function otherTables(report) {
  const used = report.waitables.filter((w) => w.waits || w.signals || w.broadcasts);
  byId("others").hidden = !used.length;
  table(byId("other-table"), [
    word("name", (w) => w.name), word("kind", (w) => w.kind), number("waits", (w) => w.waits), ns("wait", (w) => w.wait_ns.total_ns),
    ns("p50", (w) => w.wait_ns.p50_ns), ns("p99", (w) => w.wait_ns.p99_ns), ns("wake p50", (w) => w.wake_ns.p50_ns, "From what ended the wait to the waiter's running"),
    number("signals", (w) => w.signals), number("broadcasts", (w) => w.broadcasts), number("time-outs", (w) => w.timeouts),
  ], used, { first: 3, caption: "Conditions, barriers, semaphores" });
  byId("regions").hidden = !report.regions.length;
  table(byId("region-table"), [
    word("region", (r) => r.name), number("times", (r) => r.times), ns("time", (r) => r.total_ns), ns("lock waits", (r) => r.wait_ns), ns("overhead", (r) => r.overhead_ns),
  ], report.regions, { first: 2, caption: "Regions of interest" });
}
