// Shows threads that can never go on, and lock orders that could deadlock.
function standstillTable(report) {
  const still = report.standstill;
  byId("standstill").hidden = !still;
  if (!still) return;
  const circle = (i) => still.circles.findIndex((threads) => threads.includes(i));
  const rows = still.threads.map((thread, i) => ({ ...thread, circle: circle(i) }));
  const lockName = (n) => report.locks[n]?.name ?? `lock ${n}`;
  const held = (thread) => thread.holds.map((h) => `${lockName(h.lock)} (${h.at})`).join(", ");
  table(byId("standstill-table"), [
    word("thread", (t) => `${t.thread} ${report.threads[t.thread].name}`), word("holds", held),
    word("stands since", (t) => duration(t.since_ns)), word("what it waits for", (t) => t.text),
    word("in a circle", (t) => (t.circle < 0 ? "" : `circle ${t.circle + 1}`)),
  ], rows, { caption: "Threads that stand still" });
}

function lockOrderTable(report) {
  byId("orders").hidden = !report.lock_orders.length;
  const lockName = (n) => report.locks[n]?.name ?? `lock ${n}`;
  const rows = report.lock_orders.flatMap((circle, n) => circle.steps.map((step) => ({ ...step, n: n + 1, circle })));
  table(byId("order-table"), [
    number("circle", (s) => s.n), word("holds", (s) => lockName(s.held)), word("taken at", (s) => s.held_at),
    word("then takes", (s) => lockName(s.wanted)), word("at", (s) => s.wanted_at), number("times", (s) => s.times),
    word("thread", (s) => report.threads[s.thread].name),
    word("remark", (s) => [s.circle.happened ? "deadlocked in this run" : "", ...s.circle.doubts].filter(Boolean).join("; ")),
  ], rows, { caption: "Lock orders that could deadlock" });
}
