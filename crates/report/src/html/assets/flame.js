// Flame graphs of waiting, blame and overhead. The root is the whole program; below it come the classes of locks and the other objects,
// then the functions, the outermost first. A click on a box zooms to it; a click on the uppermost box zooms out again.
function flameTree(report, value) {
  const root = { name: "all", value: 0, children: new Map() };
  for (const site of report.sites) {
    const weight = value(site);
    if (!weight) continue;
    // Frames of a standard library are left out, unless the site has no others.
    const own = site.frames.filter((f) => !f.library);
    const frames = [...(own.length ? own : site.frames)].reverse().map((f) => shortName(f.function) + (placeOf(f) ? ` (${placeOf(f)})` : "") + (f.inlined ? " (inlined)" : ""));
    let node = root;
    node.value += weight;
    for (const name of [siteObject(report, site), ...frames]) {
      if (!node.children.has(name)) node.children.set(name, { name, value: 0, children: new Map() });
      node = node.children.get(name);
      node.value += weight;
    }
  }
  return root;
}

function drawFlame(holder, root, hue) {
  if (!root.value) {
    holder.replaceChildren(make("p", { class: "empty" }, "Nothing: no thread waited here."));
    return;
  }
  let top = root, trail = [];
  function paint() {
    const rows = [];
    const place = (node, depth, left, width) => {
      if (width < 0.15) return;
      rows[depth] ??= make("div", { class: "row" });
      const share = percent(node.value / root.value), text = `${node.name}: ${duration(node.value)}, ${share}`;
      const tone = 62 + ((depth * 7 + node.name.length * 3) % 14);
      const box = make("button", { type: "button", style: `left:${left}%;width:${width}%;background:hsl(${hue + (node.name.length % 18)} 78% ${tone}%)`, "aria-label": text, onclick: () => {
        trail = node === top ? trail.slice(0, -1) : [...trail, top];
        top = node === top ? (trail.at(-1) ?? root) : node;
        paint();
      } }, node.name);
      rows[depth].append(withTip(box, text));
      let at = left;
      for (const child of [...node.children.values()].sort((a, b) => b.value - a.value)) {
        const wide = (width * child.value) / node.value;
        place(child, depth + 1, at, wide);
        at += wide;
      }
    };
    place(top, 0, 0, 100);
    holder.replaceChildren(make("div", { class: "flame" }, ...rows));
    if (top !== root) holder.append(make("button", { type: "button", onclick: () => { top = root; trail = []; paint(); } }, "Show all"));
  }
  paint();
}

function flames(report) {
  const kinds = [["Waiting: who waits", (s) => s.wait_ns, 262], ["Blame: who makes others wait", (s) => s.blame_ns, 18], ["Competition overhead", (s) => s.overhead_ns, 38]];
  tabs(byId("flame-tabs"), kinds.map(([name]) => name), (i) => drawFlame(byId("flame-body"), flameTree(report, kinds[i][1]), kinds[i][2]));
}
