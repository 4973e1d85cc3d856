// Shows the requests of a server: their rate, their latency with its parts, and the slowest requests.
function requestTables(report) {
  const { requests, progress } = report;
  byId("requests").hidden = !requests && !progress;
  const lines = [];
  if (progress) lines.push(`${progress.point}: ${progress.remark ?? `${count(progress.count)} passages, ${rate(progress.per_second)}`}`);
  if (requests) {
    const l = requests.latency_ns;
    lines.push(`${count(requests.count)} requests (${requests.points}), ${rate(requests.per_second)}; latency p50 ${duration(l.p50_ns)}, p99 ${duration(l.p99_ns)}, p99.9 ${duration(l.p999_ns)}, longest ${duration(l.max_ns)}`);
    lines.push(`${requests.connections} connections${requests.together ? " of a client that waits for all answers" : ""}, ${requests.under_way.toFixed(1)} requests under way on average, next request after ${duration(requests.think_p50_ns)} (half of the time)`);
  }
  byId("requests-body").replaceChildren(...lines.map((line) => make("p", {}, line)));
  if (!requests) return;
  table(byId("request-parts"), [
    word("part", (p) => p.name), ns("a request", (p) => p.mean_ns),
    share("of all", (p) => p.share), share("of the slowest 1%", (p) => p.share_of_slowest),
  ], requests.parts, { caption: "What requests take their time for" });
  const name = (n) => report.threads[n]?.name ?? `thread ${n}`;
  table(byId("slow-requests"), [
    word("read by", (r) => name(r.thread)), word("answered by", (r) => name(r.answered_by)), ns("began", (r) => r.begin_ns),
    ns("took", (r) => r.latency_ns), word("parts", (r) => r.parts.map((p) => `${p.name}: ${duration(p.total_ns)}`).join("; ")),
  ], requests.slowest, { caption: "The slowest requests" });
}

function rate(perSecond) {
  return perSecond === null ? "no rate" : `${perSecond < 1000 ? perSecond.toFixed(1) : count(Math.round(perSecond))} a second`;
}
