// Builds the page from its data: runs the functions of the other scripts.
function kpis(report) {
  const { totals, run } = report;
  const life = report.threads.reduce((sum, t) => sum + t.last_ns - t.first_ns, 0);
  const items = [
    ["ran for", duration(run.elapsed_ns ?? totals.span_ns), `${report.threads.length} threads`],
    ["acquisitions", count(totals.acquisitions), `${percent(totals.contended / (totals.acquisitions || 1))} waited`],
    ["waiting for locks", duration(totals.blocked_ns), `added over threads: ${percent(totals.blocked_ns / (life || 1))} of their lives`],
    ["while others held them", duration(totals.sections_ns), percent(totals.sections_ns / (totals.blocked_ns || 1)) + " of the waiting"],
    ["competition overhead", duration(totals.overhead_ns), percent(totals.overhead_ns / (totals.blocked_ns || 1)) + " of the waiting"],
  ];
  byId("kpis").replaceChildren(...items.map(([name, value, more]) => make("div", { class: "kpi" }, make("span", {}, name), make("b", {}, value), make("em", {}, more))));
}

function verdict(report) {
  const { verdict } = report;
  const doubts = verdict.doubts.map((doubt) => make("p", { class: "warn doubt" }, `Not to be trusted: ${doubt}`));
  const fill = { running: "work", sections: "hold", competition: "overhead", ready: "ready", blocked: "blocked", calls: "blocked", recorder: "blocked", "off-cpu": "off", futex: "sleep", awaited: "hold", "libc-lock": "spin", others: "wait", bound: "ready", "futile-wake-ups": "overhead", polling: "overhead", waiting: "other" };
  const bar = make("div", { class: "stack", style: "height:18px;background:var(--grid)", role: "img", "aria-label": "The critical path by what limits it" },
    ...verdict.shares.map((s) => withTip(make("i", { style: `width:${100 * s.share}%;background:var(--${fill[s.limit]});border-right:1px solid var(--card)` }), `${s.name}: ${duration(s.total_ns)}, ${percent(s.share)}`)));
  const legend = make("div", { class: "legend", style: "margin:6px 0 4px" }, ...verdict.shares.map((s) => make("span", {}, make("i", { style: `background:var(--${fill[s.limit]})` }), `${percent(s.share)} ${s.name}`)));
  const steps = verdict.next.flatMap((step) => [make("div", {}, step.text), step.command ? make("pre", {}, make("code", {}, step.command)) : null]);
  byId("verdict-body").replaceChildren(...doubts, make("p", { class: "headline" }, verdict.headline), bar, legend,
    make("div", { class: "two" },
      make("div", {}, make("h3", {}, "What could be won"), make("ul", {}, ...verdict.gains.map((gain) => make("li", {}, gain)))),
      make("div", {}, make("h3", {}, "What to do next"), ...steps)));
}

function about(report) {
  const { run, limits } = report, host = run.host;
  const started = run.started_realtime_ns ? new Date(run.started_realtime_ns / 1e6).toISOString().replace("T", " ").slice(0, 19) + " UTC" : "";
  const ended = run.exit_signal ? `signal ${run.exit_signal}` : run.exit_code === null ? "" : `exit code ${run.exit_code}`;
  const machine = [host.processor, host.cpus ? `${host.cpus} CPUs` : "", host.threads_per_core > 1 ? `${host.threads_per_core} threads a core` : "", host.nodes > 1 ? `${host.nodes} NUMA nodes` : ""].filter(Boolean).join(", ");
  const facts = [
    ["Command", run.command.join(" ") || "not known (no meta.json)"], ["Directory", run.directory], ["Started", started], ["Ended", ended],
    ["Locks", run.lock ? `replaced by ${run.lock}` : "the C library's own"], ["Machine", machine], ["System", [host.kernel, host.libc].filter(Boolean).join(", ")],
    ["Recorder", run.recorder], ["Clock", `${run.clock.source}, ${(run.clock.frequency_hz / 1e6).toFixed(0)} MHz`],
    ["Dilation", !run.dilation ? "not known" : `${run.dilation.alone_ns === null ? "at least " : ""}${run.dilation.times.toFixed(2)} times as long as alone`],
    ["Probe cost", run.probe_event_ns === null ? "not measured" : `${run.probe_event_ns.toFixed(1)} ns an event${run.probe_contended_ns ? `, ${run.probe_contended_ns.toFixed(0)} ns a contended acquisition` : ""}`],
    ["Events", `${count(report.totals.events)} in ${run.processes.length} process${run.processes.length === 1 ? "" : "es"}`],
  ].filter(([, text]) => text);
  const list = (title, lines) => [make("h3", {}, title), lines.length ? make("ul", {}, ...lines.map((line) => make("li", {}, line))) : make("p", { class: "empty" }, "nothing")];
  const notes = limits.notes.map((n) => `${n.object}: ${n.text}${n.times > 1 ? ` (${n.times} times)` : ""}`);
  byId("run-body").replaceChildren(make("div", { class: "two" },
    make("div", {}, make("dl", {}, ...facts.flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, text)]))),
    make("div", {}, ...list("Lost", limits.lost), ...list("Not seen", [...limits.unseen, ...notes]), ...list("Names that are missing", limits.symbols), ...list("Bias", limits.bias))));
  if (limits.lost.length) byId("alerts").replaceChildren(make("p", { class: "warn" }, `This trace is not whole: ${limits.lost[0]}${limits.lost.length > 1 ? ` (and ${limits.lost.length - 1} more, see the end of the page)` : ""}`));
}

function navigation() {
  const sections = [...document.querySelectorAll("main section:not([hidden])")];
  const short = { outside: "Off CPU", predictions: "Predictions", flame: "Flame graphs", waiters: "Waiters", path: "Critical path", others: "Conditions…", standstill: "Standstill", orders: "Lock orders", regions: "Regions", run: "The run" };
  byId("nav").replaceChildren(...sections.map((s) => make("a", { href: `#${s.id}` }, short[s.id] ?? s.querySelector("h2").textContent)));
}

function theme(redraw) {
  const root = document.documentElement;
  byId("theme").onclick = () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    redraw();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}

function start() {
  const data = JSON.parse(byId("data").textContent);
  const { report } = data;
  const command = report.run.command.join(" ");
  byId("command").textContent = command;
  byId("command").title = command;
  verdict(report);
  standstillTable(report);
  requestTables(report);
  kpis(report);
  predictionPlot(data);
  const timeline = drawTimeline(data);
  lockTables(data, lockDetail(data));
  lockOrderTable(report);
  flames(report);
  siteTable(data);
  waiterGraph(report);
  criticalPath(data);
  outsideTable(report);
  threadTable(report);
  openmpTables(report);
  queueTable(report);
  otherTables(report);
  about(report);
  navigation();
  byId("search").addEventListener("input", (event) => filterTables(event.target.value));
  theme(timeline.redraw);
  document.documentElement.dataset.ready = "yes";
}

addEventListener("error", (event) => {
  document.documentElement.dataset.error = event.message;
  byId("alerts").append(make("p", { class: "warn" }, `This page could not draw itself: ${event.message}`));
});
start();
