// Draws small plots as SVG: histograms on a logarithmic axis, queue length over time, predictions beside measurements.
function histogram(title, distribution, fill) {
  const W = 340, H = 150, L = 44, B = 22, T = 8;
  const figure = make("figure", {}, make("figcaption", {}, title));
  const buckets = distribution.buckets.filter((b) => b.count);
  if (!buckets.length) {
    figure.append(make("p", { class: "empty" }, "none"));
    return figure;
  }
  const log = (ns) => Math.log10(Math.max(ns, 1));
  // The axis begins and ends at thirds of a power of ten: close around the data, with marks at 1, 10, 100.
  const from = Math.floor(log(buckets[0].from_ns) * 3) / 3, to = Math.max(from + 1, Math.ceil(log(buckets.at(-1).to_ns) * 3) / 3);
  const x = (ns) => L + ((log(ns) - from) / (to - from)) * (W - L - 6);
  const most = Math.max(...buckets.map((b) => b.count));
  const y = (n) => T + (1 - n / most) * (H - T - B);
  const svg = make("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${title}: median ${duration(distribution.p50_ns)}, 99th percentile ${duration(distribution.p99_ns)}, longest ${duration(distribution.max_ns)}` });
  for (let power = Math.ceil(from); power <= to; power++) {
    svg.append(make("line", { x1: x(10 ** power), x2: x(10 ** power), y1: T, y2: H - B, stroke: "var(--grid)" }));
    const text = duration(10 ** power).replace(/\.0+(?= )/, ""), last = x(10 ** power) > W - 26;
    if ((power - Math.ceil(from)) % Math.ceil((to - from) / 5) === 0) svg.append(make("text", { x: last ? W : x(10 ** power), y: H - 6, "text-anchor": last ? "end" : "middle" }, text));
  }
  svg.append(make("text", { x: L - 4, y: T + 9, "text-anchor": "end" }, count(most)));
  for (const b of buckets) {
    const left = x(b.from_ns || 0.8), bar = make("rect", { x: left, y: y(b.count), width: Math.max(1, x(b.to_ns) - left - 0.6), height: Math.max(1, H - B - y(b.count)), fill });
    svg.append(withTip(bar, `${duration(b.from_ns) === "–" ? "0" : duration(b.from_ns)} to ${duration(b.to_ns)}: ${count(b.count)}`));
  }
  for (const at of [distribution.p50_ns, distribution.p99_ns]) {
    svg.append(make("line", { x1: x(at), x2: x(at), y1: T, y2: H - B, stroke: "var(--ink)", "stroke-dasharray": "3 3" }));
  }
  figure.append(svg, make("figcaption", {}, `median ${duration(distribution.p50_ns)}, p99 ${duration(distribution.p99_ns)}, longest ${duration(distribution.max_ns)}`));
  return figure;
}

function queuePlot(lock, means, timeline) {
  const W = 340, H = 150, L = 44, B = 22, T = 8;
  const most = Math.max(...means, 0.001), span = timeline.end_ns - timeline.start_ns;
  const x = (i) => L + (i / means.length) * (W - L - 6), y = (n) => T + (1 - n / most) * (H - T - B);
  const svg = make("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `Mean number of waiters over time, at most ${most.toFixed(2)}` });
  for (const part of [0, 0.5, 1]) {
    svg.append(make("line", { x1: L, x2: W - 6, y1: y(most * part), y2: y(most * part), stroke: "var(--grid)" }),
      make("text", { x: L - 4, y: y(most * part) + 4, "text-anchor": "end" }, (most * part).toFixed(most < 10 ? 1 : 0)),
      make("text", { x: x(means.length * part), y: H - 6, "text-anchor": ["start", "middle", "end"][part * 2] }, part ? duration(span * part) : "0"));
  }
  const line = means.map((n, i) => `L${x(i).toFixed(1)} ${y(n).toFixed(1)}L${x(i + 1).toFixed(1)} ${y(n).toFixed(1)}`).join("");
  svg.append(make("path", { d: `M${x(0)} ${H - B}${line}L${x(means.length)} ${H - B}Z`, fill: "var(--sleep)", "fill-opacity": 0.75 }));
  return make("figure", {}, make("figcaption", {}, "Waiters over time (mean)"), svg);
}

// Returns a function that draws the details of a lock, which stand below the table of locks when the user chooses a row.
function lockDetail(data) {
  const { report, timeline } = data;
  return (lock) => {
    // A row may be a class; a class of one lock stands for the lock.
    const one = lock.address ? lock : lock.locks === 1 ? report.locks.find((l) => report.classes[l.class] === lock) : null;
    const index = one ? report.locks.indexOf(one) : -1, lane = index < 0 ? -1 : timeline.locks.indexOf(index);
    const plots = [
      histogram(`Waits (${count(lock.wait_ns.count)})`, lock.wait_ns, "var(--sleep)"),
      histogram(`Holds (${count(lock.hold_ns.count)})`, lock.hold_ns, "var(--hold)"),
      histogram(`Hand-offs (${count(lock.handoff_ns.count)})`, lock.handoff_ns, "var(--overhead)"),
    ];
    if (lane >= 0) plots.push(queuePlot(lock, timeline.queues[lane], timeline));
    const facts = [
      ["Where", one ? `${one.kind} at ${one.address}, process ${one.pid}, taken by ${one.owners} thread${one.owners === 1 ? "" : "s"}` : `${count(lock.locks)} of kind ${lock.kind}; “Each lock” shows them one by one`],
      ["Waiting", `${duration(lock.blocked_ns)} = ${duration(lock.sections_ns)} while others held it + ${duration(lock.overhead_ns)} of competition overhead`],
      ["Entered", `${some(lock.entered.spinning)} spinning, ${some(lock.entered.sleeping)} after sleep, ${some(lock.entered.unknown)} unknown; ${some(lock.barged)} barged in, ${some(lock.timeouts)} gave up`],
    ];
    const origin = report.origins[(one ?? report.locks.find((l) => report.classes[l.class] === lock))?.origin];
    if (origin) facts.push([origin.how === "taken" ? "First taken in" : "Initialised in", origin.places.map((begin) => begin.place).join(" ← ")]);
    if (one?.program_without_overhead_ns) {
      facts.push(["What if", `the program took ${duration(report.totals.span_ns)}; if this lock's hand-offs took no time ${duration(one.program_without_overhead_ns)}, and if it excluded no thread ${duration(one.program_without_exclusion_ns)}`]);
    }
    if (one?.doubts.length) facts.push(["Doubts", one.doubts.join("; ")]);
    const list = make("dl", {}, ...facts.flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, text)]));
    byId("lock-detail").replaceChildren(make("div", { class: "detail" }, make("h3", { style: "margin-top:0" }, lock.name), list, make("div", { class: "plots" }, ...plots)));
  };
}

function predictionPlot(data) {
  const rows = data.predictions;
  byId("predictions").hidden = !rows.length;
  if (!rows.length) return;
  // A time above five times that of the recorded lock (or the shortest, if that lock has none) is cut and labelled with its number: on its
  // scale the others could not be seen.
  const times = rows.flatMap((r) => [r.high_ns, r.measured_ns ?? 0, r.measured_range_ns?.[1] ?? 0]);
  const least = rows.find((r) => r.recorded && r.predicted_ns)?.predicted_ns ?? Math.min(...times.filter((time) => time > 0));
  const most = Math.max(least, ...times.filter((time) => time <= 5 * least));
  const cut = (time) => time > most;
  const drawing = make("div"), paint = (W) => {
  const L = W < 640 ? 128 : 190, H = 34, x = (time) => L + Math.min(time / most, 1) * (W - L - 90);
  const broken = (svg, y) => svg.append(make("path", { class: "cut", d: `M${W - 106} ${y + 12}l8 -14M${W - 99} ${y + 12}l8 -14`, stroke: "var(--card)", "stroke-width": 3, fill: "none" }));
  const svg = make("svg", { viewBox: `0 0 ${W} ${rows.length * H + 6}`, role: "img", "aria-label": "Predicted and measured time of each lock; the table below has the figures" });
  rows.forEach((row, i) => {
    const y = i * H + 6;
    svg.append(make("text", { class: "strong", x: L - 8, y: y + 16, "text-anchor": "end" }, `${row.lock} / ${row.wait}${row.recorded && W >= 640 ? " (recorded)" : ""}`));
    svg.append(withTip(make("rect", { x: L, y, width: Math.max(1, x(row.predicted_ns) - L), height: 10, rx: 2, fill: "var(--hold)", "fill-opacity": row.remark ? 0.45 : 1 }), `predicted ${duration(row.predicted_ns)} (${duration(row.low_ns)} to ${duration(row.high_ns)})`));
    if (cut(row.predicted_ns)) broken(svg, y);
    else svg.append(make("path", { d: `M${x(row.low_ns)} ${y + 5}H${x(row.high_ns)}M${x(row.low_ns)} ${y + 1}v8M${x(row.high_ns)} ${y + 1}v8`, stroke: "var(--ink)", fill: "none" }));
    let end = x(row.high_ns);
    if (row.measured_ns) {
      svg.append(withTip(make("rect", { x: L, y: y + 12, width: Math.max(1, x(row.measured_ns) - L), height: 10, rx: 2, fill: "var(--spin)" }), `measured ${duration(row.measured_ns)}`));
      if (cut(row.measured_ns)) broken(svg, y + 12);
      else if (row.measured_range_ns) {
        const [a, b] = row.measured_range_ns;
        svg.append(make("path", { d: `M${x(a)} ${y + 17}H${x(b)}M${x(a)} ${y + 13}v8M${x(b)} ${y + 13}v8`, stroke: "var(--ink)", fill: "none" }));
        end = Math.max(end, x(b));
      }
      const beside = cut(row.predicted_ns) && !cut(row.measured_ns) ? x(row.measured_ns) : Math.max(end, x(row.measured_ns));
      svg.append(make("text", { x: beside + 6, y: y + (cut(row.predicted_ns) ? 21 : 15) }, `${cut(row.measured_ns) ? "→ " : ""}${duration(row.measured_ns)}`));
      if (cut(row.predicted_ns)) svg.append(make("text", { x: x(most) + 6, y: y + 9 }, `→ ${duration(row.predicted_ns)}`));
    } else svg.append(make("text", { x: end + 6, y: y + 15 }, `${cut(row.predicted_ns) ? "→ " : ""}${duration(row.predicted_ns)}`));
  });
  drawing.replaceChildren(svg);
  };
  const legend = make("div", { class: "legend" }, make("span", {}, make("i", { style: "background:var(--hold)" }), "predicted (whisker: spread)"), make("span", {}, make("i", { style: "background:var(--spin)" }), "measured (whisker: shortest to longest)"), ...(times.some(cut) ? [make("span", {}, "→ a bar that is cut, with its time")] : []));
  const error = (r) => (r.measured_ns ? r.predicted_ns / r.measured_ns - 1 : null);
  const interval = (r) => (!r.interval_ns ? "–" : r.interval_ns[1] === null ? `≥ ${duration(r.interval_ns[0])}` : `${duration(r.interval_ns[0])} – ${duration(r.interval_ns[1])}`);
  const holder = make("div", { class: "scroll" });
  table(holder, [
    word("lock / wait", (r) => `${r.lock} / ${r.wait}`), ns("measured", (r) => r.measured_ns),
    { name: "error", of: error, hint: "Predicted against measured", show: (r) => (error(r) === null ? "–" : `${error(r) < 0 ? "−" : "+"}${(Math.abs(error(r)) * 100).toFixed(1)} %`) },
    ns("predicted", (r) => r.predicted_ns),
    ...(rows.some((r) => r.interval_ns) ? [{ name: "95% interval", hint: "Where the measured time lies in 95 of 100 cases, by the prediction", of: (r) => r.interval_ns?.[0] ?? null, show: interval }] : []),
    wide({ name: "spread", hint: "Over seeds; none of a single one", of: (r) => r.high_ns - r.low_ns, show: (r) => (r.high_ns > r.low_ns ? `${duration(r.low_ns)} – ${duration(r.high_ns)}` : "–") }),
    wide(ns("overhead", (r) => r.overhead_ns, "Predicted competition overhead, added over threads")),
    word("remark", (r) => [r.recorded ? "as recorded" : "", r.remark ?? ""].filter(Boolean).join("; ")),
  ], rows, { caption: "Predictions" });
  const run = data.report.run;
  const why = make("p", { class: "lead" }, `The recorded run took ${duration(run.elapsed_ns ?? data.report.totals.span_ns)}, recording included. What is predicted and measured here is the program without recording, so these times are shorter or equal.${data.borne_out ? ` ${data.borne_out}` : ""}`);
  byId("predictions-body").replaceChildren(why, legend, drawing, holder);
  fitted(drawing, paint);
}
