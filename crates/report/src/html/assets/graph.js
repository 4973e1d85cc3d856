// Draws which thread waited for which, and the critical path.
function waiterGraph(report) {
  const holder = byId("waiter-graph");
  fitted(holder, (width) => paintWaiters(report, holder, width));
}

function paintWaiters(report, holder, W) {
  const pairs = new Map();
  for (const edge of report.waiters) {
    const key = `${edge.waiter} ${edge.holder}`;
    const pair = pairs.get(key) ?? { waiter: edge.waiter, holder: edge.holder, time: 0, locks: new Map() };
    pair.time += edge.wait_ns;
    pair.locks.set(edge.lock, (pair.locks.get(edge.lock) ?? 0) + edge.wait_ns);
    pairs.set(key, pair);
  }
  if (!pairs.size) return holder.replaceChildren(make("p", { class: "empty" }, "No thread waited while another held a lock."));
  // On each side, the threads with the most waiting are shown by name and the rest together, so that the picture stays readable.
  const KEEP = 14;
  const side = (of) => {
    const sums = new Map();
    for (const pair of pairs.values()) sums.set(pair[of], (sums.get(pair[of]) ?? 0) + pair.time);
    const order = [...sums].sort((a, b) => b[1] - a[1]);
    const kept = order.slice(0, order.length > KEEP + 1 ? KEEP : order.length).map(([thread, time]) => ({ thread, time }));
    const rest = order.slice(kept.length).reduce((sum, [, time]) => sum + time, 0);
    if (rest) kept.push({ thread: null, time: rest });
    return kept;
  };
  const left = side("waiter"), right = side("holder");
  const total = left.reduce((sum, n) => sum + n.time, 0);
  const narrow = W < 640, margin = narrow ? 104 : 200;
  const PAD = narrow ? 12 : 7, H = Math.max(160, Math.max(left.length, right.length) * 28 + 40), X1 = margin, X2 = W - margin;
  const scale = (H - PAD * Math.max(left.length, right.length)) / total;
  for (const nodes of [left, right]) {
    let y = 0;
    for (const node of nodes) {
      Object.assign(node, { y, height: Math.max(2, node.time * scale), used: 0 });
      y += node.height + PAD;
    }
  }
  const bottom = Math.max(...[...left, ...right].map((n) => n.y + n.height)) + 8;
  const svg = make("svg", { viewBox: `0 0 ${W} ${bottom}`, role: "img", "aria-label": "Threads that waited, joined with the threads they waited for; the tables have the same figures by thread" });
  const find = (nodes, thread) => nodes.find((n) => n.thread === thread) ?? nodes.at(-1);
  const name = (node) => (node.thread === null ? "other threads" : report.threads[node.thread].name);
  const hues = ["hold", "sleep", "spin", "overhead", "wait", "other"];
  for (const pair of [...pairs.values()].sort((a, b) => a.waiter - b.waiter || b.time - a.time)) {
    const a = find(left, pair.waiter), b = find(right, pair.holder), h = Math.max(0.6, pair.time * scale);
    const y1 = a.y + a.used, y2 = b.y + b.used, middle = (X1 + X2) / 2;
    a.used += pair.time * scale;
    b.used += pair.time * scale;
    const worst = [...pair.locks].sort((p, q) => q[1] - p[1])[0];
    const band = make("path", { d: `M${X1} ${y1}C${middle} ${y1} ${middle} ${y2} ${X2} ${y2}v${h}C${middle} ${y2 + h} ${middle} ${y1 + h} ${X1} ${y1 + h}Z`, fill: `var(--${hues[worst[0] % hues.length]})`, "fill-opacity": 0.42 });
    svg.append(withTip(band, `${name(a)} waited ${duration(pair.time)} while ${name(b)} held ${[...pair.locks].sort((p, q) => q[1] - p[1]).slice(0, 3).map(([lock, time]) => `${report.locks[lock]?.name ?? "a lock"} (${duration(time)})`).join(", ")}`));
  }
  for (const [nodes, x, anchor, at] of [[left, X1 - 8, "end", -14], [right, X2, "start", 14]]) {
    for (const node of nodes) {
      svg.append(make("rect", { x, y: node.y, width: 8, height: node.height, fill: "var(--ink)", rx: 1 }),
        make("text", { class: "strong", x: x + (at > 0 ? 14 : -6), y: node.y + node.height / 2 + 4, "text-anchor": anchor }, narrow ? name(node).slice(0, 14) : `${name(node).slice(0, 18)}, ${duration(node.time)}`));
    }
  }
  holder.replaceChildren(svg);
}

// Time while others wait has the same colour and words at each kind of object.
const pathKind = (part) => part.kind.replace(/^.*-(?=awaited)/, "");
const PATH_COLOR = { running: "work", awaited: "hold", "awaited-call": "blocked", "awaited-blocked": "blocked", "awaited-off-cpu": "off", "libc-lock-code": "hold", "futile-wake-ups": "overhead", polling: "overhead", "critical-section": "hold", "lock-hand-off": "overhead", "lock-wait": "sleep", ready: "ready", blocked: "blocked", call: "blocked", recorder: "blocked", "critical-section-recorder": "blocked", "critical-section-call": "blocked", "off-cpu": "off", "critical-section-ready": "ready", "critical-section-blocked": "blocked", "critical-section-off-cpu": "off" };
const PATH_WORDS = { running: "on a CPU, outside of critical sections", "libc-lock-code": "on a CPU at a contended lock", "futile-wake-ups": "cost of futile wake-ups", polling: "cost of polling", awaited: "on a CPU while others wait", "awaited-call": "in input, output or sleep while others wait", "awaited-blocked": "blocked while others wait", "awaited-off-cpu": "off the CPU while others wait", ready: "ready, without a CPU", blocked: "blocked outside of what Baton sees", recorder: "blocked in Baton's recorder", "critical-section-recorder": "blocked in Baton's recorder in critical sections", call: "blocked in input, output or sleep", "critical-section-call": "in input, output or sleep in critical sections", "off-cpu": "off the CPU, why is not known", "critical-section": "on a CPU in critical sections", "critical-section-ready": "ready in critical sections", "critical-section-blocked": "blocked in critical sections", "critical-section-off-cpu": "off the CPU in critical sections" };
const phrase = (name) => (/^(in|from) /.test(name) ? `the lock ${name}` : name);

function criticalPath(data) {
  const { report } = data, path = report.critical_path, body = byId("path-body");
  if (!path.length_ns) return body.replaceChildren(make("p", { class: "empty" }, "No path: the trace has no length."));
  const what = (part) => (PATH_WORDS[pathKind(part)] ?? part.kind.replaceAll("-", " ")) + (part.lock !== null ? ` of ${phrase(report.locks[part.lock]?.name ?? "a lock")}` : part.waitable !== null ? ` of ${report.waitables[part.waitable]?.name ?? "an object"}` : "");
  const fill = (part) => `var(--${PATH_COLOR[pathKind(part)] ?? "other"})`;
  const bar = make("div", { class: "stack", style: "height:22px", role: "img", "aria-label": "Shares of the critical path" },
    ...path.parts.map((part) => withTip(make("i", { style: `width:${(100 * part.total_ns) / path.length_ns}%;background:${fill(part)};border-right:1px solid var(--card)` }), `${what(part)}: ${duration(part.total_ns)}, ${percent(part.total_ns / path.length_ns)}`)));
  const parts = make("div", { class: "scroll" });
  table(parts, [
    { name: "what", of: what, left: true, show: (p) => make("span", {}, make("i", { class: "key", style: `background:${fill(p)}` }), what(p)) },
    ns("time", (p) => p.total_ns), share("share", (p) => p.total_ns / path.length_ns),
  ], path.parts.slice(0, 40), { first: 1, caption: "Parts of the critical path" });
  const threads = [...new Set(path.steps.map((s) => s.thread))].sort((a, b) => a - b).slice(0, 24);
  const start = data.timeline.start_ns, span = data.timeline.end_ns - start || 1;
  const through = make("div");
  const paint = (W) => {
  const L = W < 640 ? 84 : 130, H = threads.length * 18 + 6, x = (time) => L + ((time - start) / span) * (W - L - 4);
  const svg = make("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "Through which thread the critical path runs, over time" });
  threads.forEach((thread, i) => svg.append(make("text", { x: L - 8, y: i * 18 + 15, "text-anchor": "end" }, report.threads[thread].name.slice(0, W < 640 ? 12 : 20)), make("line", { x1: L, x2: W - 4, y1: i * 18 + 20.5, y2: i * 18 + 20.5, stroke: "var(--grid)" })));
  for (const step of path.steps) {
    const row = threads.indexOf(step.thread);
    if (row < 0) continue;
    const box = make("rect", { x: x(step.start_ns), y: row * 18 + 5, width: Math.max(0.7, x(step.end_ns) - x(step.start_ns)), height: 13, fill: step.kind === "running" ? "var(--hold)" : fill(step) });
    svg.append(withTip(box, `${report.threads[step.thread].name}: ${what(step)} for ${duration(step.end_ns - step.start_ns)}, at ${duration(step.start_ns - start)}`));
  }
  through.replaceChildren(svg);
  };
  const cut = path.steps_total > 500 ? make("p", { class: "note" }, `The path has ${count(path.steps_total)} steps; each five-hundredth of the time shows the one that takes most of it.`) : null;
  body.replaceChildren(
    make("p", { class: "lead" }, `The chain of work and hand-offs that the ${duration(path.length_ns)} consist of: shortening anything else does not make the program faster.`),
    bar, parts, make("h3", {}, "Through which thread it runs"), through, ...(cut ? [cut] : []));
  fitted(through, paint);
}
