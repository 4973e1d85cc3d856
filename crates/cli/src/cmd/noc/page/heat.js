"use strict";
(() => {
// Draws the two maps and follows the slider. Colours are mixed by the style sheet, so that light and dark need no script.
const data = JSON.parse(document.getElementById("data").textContent);
const NS = document.getElementById("held").namespaceURI;
const make = (name, attributes, parent) => {
  const e = document.createElementNS(NS, name);
  for (const key in attributes) e.setAttribute(key, attributes[key]);
  if (parent) parent.appendChild(e);
  return e;
};
const [columns, rows] = data.grid || [0, 0];
const CELL = 60, BOX = 40;
const place = (() => {
  if (data.grid) return r => [(r % columns + 0.5) * CELL, (Math.floor(r / columns) + 0.5) * CELL];
  const n = data.routers, radius = n < 2 ? 0 : Math.max(CELL, n * CELL / 2 / Math.PI);
  return r => {
    const angle = 2 * Math.PI * r / n - Math.PI / 2;
    return [radius * (1 + Math.cos(angle)) + CELL / 2, radius * (1 + Math.sin(angle)) + CELL / 2];
  };
})();
const size = (() => {
  let x = 0, y = 0;
  for (let r = 0; r < data.routers; r++) { const p = place(r); x = Math.max(x, p[0]); y = Math.max(y, p[1]); }
  return [x + CELL / 2, y + CELL / 2];
})();

// A link runs a little to the right of the line between its routers, so that both directions are seen.
function path(from, to) {
  const [x0, y0] = place(from), [x1, y1] = place(to);
  const dx = x1 - x0, dy = y1 - y0, length = Math.hypot(dx, dy) || 1;
  const ox = -dy / length * 4, oy = dx / length * 4;
  if (data.grid && length > CELL * 1.5) {
    const wraps = (dy === 0 && Math.abs(dx) === (columns - 1) * CELL) || (dx === 0 && Math.abs(dy) === (rows - 1) * CELL);
    const ends = wraps && !data.links.some(([a, b]) => a === from && Math.hypot(place(b)[0] - x0, place(b)[1] - y0) > CELL * 1.5 && b !== to && (place(b)[0] === x1 || place(b)[1] === y1));
    if (ends) {
      // A ring's closing link: a stub at each end.
      const ux = dx / length * -CELL / 2, uy = dy / length * -CELL / 2;
      return `M${x0 + ox} ${y0 + oy}l${ux} ${uy}M${x1 + ox - ux} ${y1 + oy - uy}l${ux} ${uy}`;
    }
    const bend = 0.18 * length;
    return `M${x0} ${y0}Q${(x0 + x1) / 2 + ox / 4 * bend} ${(y0 + y1) / 2 + oy / 4 * bend} ${x1} ${y1}`;
  }
  return `M${x0 + ox} ${y0 + oy}L${x1 + ox} ${y1 + oy}`;
}

function map(id, what, unit) {
  const svg = document.getElementById(id);
  svg.setAttribute("viewBox", `0 0 ${size[0]} ${size[1]}`);
  const most = Math.max(1e-9, ...data.slices.map(s => s[what].reduce((a, b) => Math.max(a, b), 0)));
  const links = data.links.map(([from, to]) => {
    const line = make("path", { d: path(from, to), fill: "none" }, svg);
    return { line, title: make("title", {}, line), from, to };
  });
  const cells = [];
  for (let r = 0; r < data.routers; r++) {
    const [x, y] = place(r);
    const box = make("rect", { class: "cell", x: x - BOX / 2, y: y - BOX / 2, width: BOX, height: BOX, rx: 5 }, svg);
    const text = data.routers <= 256 ? make("text", { class: "number", x, y: y + 4 }, svg) : null;
    cells.push({ box, text, title: make("title", {}, box) });
  }
  const digits = most < 1 ? 2 : most < 10 ? 1 : 0;
  return {
    most,
    draw(slice) {
      slice[what].forEach((value, r) => {
        const part = value / most, cell = cells[r];
        cell.box.style.fill = `color-mix(in oklab, var(--hot) ${(100 * part).toFixed(1)}%, var(--cold))`;
        cell.title.textContent = `router ${r}: ${value} ${unit}`;
        if (cell.text) {
          cell.text.textContent = value.toFixed(digits);
          cell.text.style.fill = part > 0.5 ? "var(--back)" : "var(--ink)";
        }
      });
      slice.links.forEach((load, l) => {
        const { line, title, from, to } = links[l], part = Math.min(1, load);
        line.style.stroke = `color-mix(in oklab, var(--red) ${(100 * part).toFixed(1)}%, var(--pale))`;
        line.style.strokeWidth = 1 + 5 * part;
        title.textContent = `link ${from} → ${to}: ${load} flits a cycle`;
      });
    },
  };
}

const maps = [map("held", "held", "flits"), map("waiting", "waiting", "virtual channels wait")];
maps.forEach((m, i) => {
  document.getElementById(`key${i}`).innerHTML = `<br>0<span class=key></span>${+m.most.toPrecision(3)}`;
});
const slider = document.getElementById("at"), when = document.getElementById("when");
const course = document.getElementById("course");
const sums = data.slices.map(s => s.held.reduce((a, b) => a + b, 0)), top = Math.max(1e-9, ...sums);
const wide = 900 / data.slices.length;
const bars = sums.map((sum, i) => {
  const high = Math.max(1, sum / top * 62);
  const bar = make("rect", { class: "bar", x: i * wide, y: 64 - high, width: Math.max(0.5, wide - 1), height: high }, course);
  make("title", {}, bar).textContent = `${sum.toFixed(1)} flits in all buffers`;
  bar.addEventListener("click", () => show(i));
  return bar;
});
function show(i) {
  slider.value = i;
  const slice = data.slices[i];
  maps.forEach(m => m.draw(slice));
  bars.forEach((b, n) => b.classList.toggle("now", n === i));
  when.textContent = `cycles ${slice.from} to ${slice.to - 1}`;
}
slider.max = data.slices.length - 1;
slider.addEventListener("input", () => show(+slider.value));
let timer = null;
document.getElementById("play").addEventListener("click", event => {
  if (timer) {
    clearInterval(timer);
    timer = null;
  } else {
    timer = setInterval(() => show((+slider.value + 1) % data.slices.length), 250);
  }
  event.target.textContent = timer ? "⏸" : "▶";
});
const asked = Number(new URLSearchParams(location.search).get("at"));
show(Number.isInteger(asked) && asked < data.slices.length && asked > 0 ? asked : data.slices.length - 1);
})();
