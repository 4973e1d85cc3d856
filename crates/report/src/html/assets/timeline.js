// Draws the timeline: a lane for each thread, then a lane for each lock that shows which thread owned it. If several blocks fall onto one
// pixel, the pixel shows how much of the time each state takes, from the bottom up.
function drawTimeline(data) {
  const { timeline, report } = data;
  const canvas = byId("canvas");
  const pen = canvas.getContext("2d");
  const lanes = decodeLanes(timeline.blocks, timeline.threads.length + timeline.locks.length, timeline.start_ns);
  const whole = [timeline.start_ns, Math.max(timeline.end_ns, timeline.start_ns + 1)];
  let view = [...whole];
  const AXIS = 24, LANE = 20, GAP = 5;
  let names = 120, width = 0, pending = false;
  const owners = ["hold", "spin", "sleep", "overhead", "wait", "other"];

  const isLock = (lane) => lane >= timeline.threads.length;
  const laneTop = (lane) => AXIS + lane * (LANE + GAP) + (isLock(lane) ? 22 : 0);
  const height = () => laneTop(lanes.length) + 4;
  const toX = (time) => names + ((time - view[0]) / (view[1] - view[0])) * (width - names);
  const toTime = (x) => view[0] + ((x - names) / (width - names)) * (view[1] - view[0]);

  function label(lane) {
    return isLock(lane) ? report.locks[timeline.locks[lane - timeline.threads.length]].name : report.threads[timeline.threads[lane]].name;
  }

  function clipped(text, room) {
    if (pen.measureText(text).width <= room) return text;
    while (text.length > 1 && pen.measureText(`${text}…`).width > room) text = text.slice(0, -1);
    return `${text}…`;
  }

  function drawAxis(ink) {
    const span = view[1] - view[0], wanted = span / Math.max(2, (width - names) / 110);
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= wanted);
    pen.fillStyle = ink;
    pen.strokeStyle = color("grid");
    pen.textAlign = "left";
    for (let n = Math.ceil((view[0] - whole[0]) / step); n * step + whole[0] <= view[1]; n++) {
      const x = Math.round(toX(n * step + whole[0])) + 0.5;
      pen.beginPath();
      pen.moveTo(x, AXIS - 6);
      pen.lineTo(x, height());
      pen.stroke();
      pen.fillText(n === 0 ? "0" : duration(n * step), x + 3, 11);
    }
  }

  function drawLane(lane, colors) {
    const blocks = lanes[lane], top = laneTop(lane), room = Math.max(1, Math.floor(width - names));
    const sums = STATES.map(() => new Float32Array(room)), touched = new Uint8Array(room);
    const perPixel = (view[1] - view[0]) / room;
    const fill = (i) => (isLock(lane) ? colors[owners[Math.max(0, blocks.object[i]) % owners.length]] : colors[STATES[blocks.state[i]][0]]);
    if (!isLock(lane)) {
      const thread = report.threads[timeline.threads[lane]];
      const from = Math.max(names, toX(thread.first_ns)), to = Math.min(width, toX(thread.last_ns));
      pen.fillStyle = colors.work;
      if (to > from) pen.fillRect(from, top, to - from, LANE);
    } else {
      pen.fillStyle = colors.grid;
      pen.fillRect(names, top, width - names, LANE);
    }
    for (let i = firstAfter(blocks, view[0]); i < blocks.start.length && blocks.start[i] < view[1]; i++) {
      const a = Math.max(blocks.start[i], view[0]), b = Math.min(blocks.end[i], view[1]);
      const shares = blocks.shares.get(i);
      if ((b - a) / perPixel >= 1.5) {
        const x = toX(a), w = toX(b) - x;
        if (!shares) {
          pen.fillStyle = fill(i);
          pen.fillRect(x, top, w, LANE);
        } else stack(shares, 255, x, w);
        continue;
      }
      const pixel = Math.min(room - 1, Math.floor((a - view[0]) / perPixel));
      touched[pixel] = 1;
      if (shares) shares.forEach((share, state) => (sums[state][pixel] += ((b - a) * share) / 255));
      else sums[blocks.state[i]][pixel] += b - a;
    }
    function stack(shares, all, x, w) {
      let y = top + LANE;
      STATES.forEach(([name], state) => {
        const h = Math.min(1, shares[state] / all) * LANE;
        if (h <= 0) return;
        pen.fillStyle = colors[name];
        pen.fillRect(x, y - h, w, h);
        y -= h;
      });
    }
    for (let pixel = 0; pixel < room; pixel++) {
      if (touched[pixel]) stack(sums.map((sum) => sum[pixel]), perPixel, names + pixel, 1);
    }
  }

  function draw() {
    pending = false;
    const ratio = devicePixelRatio || 1;
    width = canvas.parentElement.clientWidth;
    names = Math.min(150, Math.max(72, width * 0.16));
    canvas.style.height = `${height()}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height() * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height());
    pen.font = "12px system-ui, sans-serif";
    const colors = Object.fromEntries(["work", "grid", ...STATES.map(([name]) => name)].map((name) => [name, color(name)]));
    const ink = color("soft");
    drawAxis(ink);
    lanes.forEach((_, lane) => drawLane(lane, colors));
    pen.clearRect(0, AXIS - 2, names, height());
    pen.textAlign = "left";
    pen.fillStyle = color("ink");
    lanes.forEach((_, lane) => pen.fillText(clipped(label(lane), names - 14), 8, laneTop(lane) + 14));
    if (timeline.locks.length) {
      pen.fillStyle = ink;
      pen.fillText("Owners of locks (a colour a thread)", 8, laneTop(timeline.threads.length) - 8);
    }
  }

  function redraw() {
    if (!pending) requestAnimationFrame(draw);
    pending = true;
  }

  function show(from, to) {
    const span = Math.min(Math.max(to - from, 50), whole[1] - whole[0]);
    const start = Math.min(Math.max(from, whole[0]), whole[1] - span);
    view = [start, start + span];
    redraw();
  }

  function zoom(factor, x = (names + width) / 2) {
    const time = toTime(Math.max(names, x));
    show(time - (time - view[0]) * factor, time + (view[1] - time) * factor);
  }

  const move = (share) => show(view[0] + (view[1] - view[0]) * share, view[1] + (view[1] - view[0]) * share);

  function describe(x, y) {
    const lane = lanes.findIndex((_, i) => y >= laneTop(i) && y < laneTop(i) + LANE);
    if (lane < 0 || x < names) return null;
    const blocks = lanes[lane], time = toTime(x), i = firstAfter(blocks, time);
    const when = `at ${duration(time - whole[0])}`;
    if (i >= blocks.start.length || blocks.start[i] > time) return `${label(lane)}\n${isLock(lane) ? "free" : onCpu(report.threads[timeline.threads[lane]])}\n${when}`;
    const length = blocks.end[i] - blocks.start[i], object = blocks.object[i], shares = blocks.shares.get(i);
    if (isLock(lane)) {
      const owner = object < 0 ? "" : report.threads[object].name;
      return shares ? `${label(lane)}\n${count(blocks.pieces[i])} holds in ${duration(length)}, mostly by ${owner}\n${when}` : `${label(lane)}\nheld by ${owner} for ${duration(length)}\n${when}`;
    }
    if (shares) {
      const parts = STATES.map(([, name], s) => [name, shares[s] / 255]).filter(([, share]) => share > 0.004);
      return `${label(lane)}\n${count(blocks.pieces[i])} stretches in ${duration(length)}:\n${parts.map(([name, share]) => `${percent(share)} ${name}`).join("\n")}\n${when}`;
    }
    const other = STATES[blocks.state[i]][0] === "other";
    const thing = object < 0 ? "" : `\n${(other ? report.waitables[object] : report.locks[object])?.name ?? ""}`;
    return `${label(lane)}\n${STATES[blocks.state[i]][1]} for ${duration(length)}${thing}\n${when}`;
  }

  const fingers = new Map();
  const place = (event) => [event.clientX - canvas.getBoundingClientRect().left, event.clientY - canvas.getBoundingClientRect().top];
  canvas.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, place(event));
    canvas.setPointerCapture(event.pointerId);
  });
  for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (event) => fingers.delete(event.pointerId));
  canvas.addEventListener("pointerleave", tip.hide);
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    const before = fingers.get(event.pointerId);
    if (!before) {
      const text = describe(x, y);
      return text ? tip.show(text, event) : tip.hide();
    }
    tip.hide();
    if (fingers.size === 2) {
      const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      const spread = Math.abs(x - other[0]) || 1;
      zoom((Math.abs(before[0] - other[0]) || 1) / spread, (x + other[0]) / 2);
    } else move((before[0] - x) / (width - names));
    fingers.set(event.pointerId, [x, y]);
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(Math.exp(event.deltaY * 0.004), place(event)[0]);
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => zoom(0.4, place(event)[0]));
  canvas.addEventListener("keydown", (event) => {
    const act = { "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1.7), 0: () => show(...whole), ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15) }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  byId("zoom-in").onclick = () => zoom(0.5);
  byId("zoom-out").onclick = () => zoom(2);
  byId("zoom-all").onclick = () => show(...whole);
  byId("legend").replaceChildren(
    ...[...STATES, ["work", report.threads.some((t) => t.off_cpu_known !== "all") ? "on a CPU, or not known" : "on a CPU"]].map(([name, text]) => make("span", {}, make("i", { style: `background:var(--${name})` }), text)));
  const notes = [];
  foldedThreads(timeline, report);
  const shown = timeline.threads.length + timeline.folded.length;
  if (shown < report.threads.length) notes.push(`The ${shown} of ${report.threads.length} threads that waited longest are shown.`);
  if (timeline.merged_below_ns) notes.push(`Stretches that lie closer than ${duration(timeline.merged_below_ns)} are merged into mixed blocks; “baton report --perfetto” has each by itself.`);
  byId("timeline-note").textContent = notes.join(" ");
  addEventListener("resize", redraw);
  draw();
  return { redraw, view: () => view, show };
}

// Lists the threads whose lanes were taken away, because nothing of them could be seen in the timeline.
function foldedThreads(timeline, report) {
  const folded = byId("timeline-folded"), { length } = timeline.folded;
  folded.hidden = length === 0;
  folded.querySelector("summary").textContent = `${length} thread${length === 1 ? " that began and did" : "s that began and did"} nothing else that Baton records ${length === 1 ? "has" : "have"} no lane`;
  folded.querySelector("p").textContent = timeline.folded.map((thread) => report.threads[thread].name).join(", ");
}
