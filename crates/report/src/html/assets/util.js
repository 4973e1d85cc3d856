// Helpers of the other scripts: elements, figures as text, colours of the theme, the tip that follows the pointer.
const SVG = "http://www.w3.org/2000/svg";

function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "rect", "path", "line", "text", "circle", "title"].includes(tag);
  const node = svg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}

const byId = (id) => document.getElementById(id);

function digits(value) {
  return value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0);
}

function duration(ns) {
  if (!ns) return "–";
  if (ns < 1000) return `${Math.round(ns)} ns`;
  if (ns < 999.5e3) return `${digits(ns / 1e3)} µs`;
  if (ns < 999.5e6) return `${digits(ns / 1e6)} ms`;
  return ns < 6e12 ? `${digits(ns / 1e9)} s` : `${digits(ns / 6e10)} min`;
}

function count(n) {
  if (!n) return "–";
  if (n < 1e4) return String(n);
  return n < 999.5e3 ? `${digits(n / 1e3)} k` : n < 999.5e6 ? `${digits(n / 1e6)} M` : `${digits(n / 1e9)} G`;
}

const some = (n) => (n ? count(n) : "0");

function percent(share) {
  if (!share) return "–";
  return share < 0.001 ? "<0.1 %" : `${(share * 100).toFixed(share < 0.9995 ? 1 : 0)} %`;
}

// Colours are read from the style sheet, because it changes them with the theme.
function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const STATES = [
  ["hold", "critical section"],
  ["overhead", "competition overhead"],
  ["spin", "waits, spinning"],
  ["sleep", "waits, asleep"],
  ["wait", "waits, how unknown"],
  ["other", "waits for something else"],
  ["ready", "ready, without a CPU"],
  ["blocked", "blocked outside of what Baton sees"],
  ["off", "off the CPU, why is not known"],
];

const tip = {
  show(text, event) {
    const box = byId("tip");
    box.textContent = text;
    box.hidden = false;
    const x = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8);
    const below = event.clientY + 16;
    const y = below + box.offsetHeight > innerHeight ? event.clientY - box.offsetHeight - 10 : below;
    box.style.left = `${Math.max(4, x)}px`;
    box.style.top = `${Math.max(4, y)}px`;
  },
  hide() {
    byId("tip").hidden = true;
  },
};

function withTip(node, text) {
  node.addEventListener("pointermove", (event) => tip.show(text, event));
  node.addEventListener("pointerleave", tip.hide);
  return node;
}

// Fills a row of buttons, one of which is chosen; the arrow keys choose the next or the previous one.
function tabs(holder, names, choose) {
  const buttons = names.map((name, i) =>
    make("button", { type: "button", role: "tab", onclick: () => select(i) }, name));
  function select(chosen) {
    buttons.forEach((button, i) => {
      button.setAttribute("aria-selected", i === chosen);
      button.tabIndex = i === chosen ? 0 : -1;
    });
    choose(chosen);
  }
  holder.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length;
    buttons[next].focus();
    select(next);
  });
  holder.replaceChildren(...buttons);
  select(0);
}

// Draws now, and again when a resize of the window changes the width of the holder, so that text in a plot keeps its size.
function fitted(holder, paint) {
  let width = 0;
  const again = () => {
    const now = Math.max(300, Math.floor(holder.clientWidth));
    if (now === width) return;
    width = now;
    paint(width);
  };
  addEventListener("resize", again);
  again();
}

function placeOf(frame) {
  if (!frame.file) return "";
  return frame.file.split("/").pop() + (frame.line ? `:${frame.line}` : "");
}

function shortName(name) {
  // A lambda or a functor is named by its operator, whose `<`, `>`, `(` and `)` are no brackets.
  const operator = name.match(/^(.*(?:::|^))operator\s*([^\w\s(]+|\(\))\(/);
  if (operator && !operator[1].includes("<")) return `${operator[1]}operator${operator[2]}`;
  const plain = name.replace(/^\((anonymous namespace|.*?closure.*?)\)::/, "");
  let out = "", depth = 0;
  if (plain.startsWith("<")) return plain;
  for (const c of plain) {
    if (c === "<") depth++;
    else if (c === ">") depth = Math.max(0, depth - 1);
    else if (c === "(" && depth === 0) break;
    else if (depth === 0) out += c;
  }
  return out || name;
}
