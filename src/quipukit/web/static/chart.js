// Charts as SVG: a plane or curves, with points that can be chosen by mouse and keyboard.
const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 560, HEIGHT = 420, LEFT = 60, RIGHT = 14, TOP = 14, BOTTOM = 52;

export function svg(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes || {})) if (value !== null && value !== undefined) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const polygon = (count, turn, reach) => "M" + Array.from({ length: count }, (_, place) => {
  const angle = turn - Math.PI / 2 + (2 * Math.PI * place) / count;
  const far = reach(place);
  return `${(far * Math.cos(angle)).toFixed(2)},${(far * Math.sin(angle)).toFixed(2)}`;
}).join("L") + "Z";
const MARKERS = {
  circle: "M-5,0A5,5 0 1 1 5,0A5,5 0 1 1 -5,0Z", square: "M-4.4,-4.4H4.4V4.4H-4.4Z", diamond: polygon(4, 0, () => 6), "triangle-up": polygon(3, 0, () => 6),
  "triangle-down": polygon(3, Math.PI, () => 6), pentagon: polygon(5, 0, () => 5.6), hexagon: polygon(6, 0, () => 5.4), star: polygon(10, 0, (place) => (place % 2 ? 2.6 : 6.4)),
  cross: "M-1.7,-5H1.7V-1.7H5V1.7H1.7V5H-1.7V1.7H-5V-1.7H-1.7Z", x: "M-5,-3L-3,-5L0,-2L3,-5L5,-3L2,0L5,3L3,5L0,2L-3,5L-5,3L-2,0Z", reference: "M-5,0H5M0,-5V5M-3.5,-3.5L3.5,3.5M-3.5,3.5L3.5,-3.5",
};
export const marker = (name) => MARKERS[name] || MARKERS.circle;
export const swatch = (look) => svg("svg", { viewBox: "-7 -7 14 14", "aria-hidden": "true", class: look ? `m${look.color}` : "reference" }, svg("path", { d: marker(look ? look.marker : "reference") }));

function ticks(low, high, wished = 5) {
  const raw = (high - low) / wished || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw * 0.999);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step / 1e6; value += step) found.push(Number(value.toFixed(10)));
  return found;
}

// lines: [{name, className, marker, points: [{x, y, low, high, title, key}]}]; fronts: [[x, y], ...]; x: {label, low, high, log, ticks}.
export function chart(place, { title, lines, x, y, front = [], diagonal = false, onPick = null, chosen = null }) {
  const log = (value) => (x.log ? Math.log(value) : value);
  const inX = (value) => LEFT + ((log(value) - log(x.low)) / (log(x.high) - log(x.low) || 1)) * (WIDTH - LEFT - RIGHT);
  const inY = (value) => TOP + (1 - (value - y.low) / (y.high - y.low || 1)) * (HEIGHT - TOP - BOTTOM);
  const root = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": title });
  for (const value of x.ticks || ticks(x.low, x.high)) {
    root.append(svg("path", { class: "grid", d: `M${inX(value)},${TOP}V${HEIGHT - BOTTOM}` }), svg("text", { x: inX(value), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, String(value)));
  }
  for (const value of ticks(y.low, y.high)) {
    root.append(svg("path", { class: "grid", d: `M${LEFT},${inY(value)}H${WIDTH - RIGHT}` }), svg("text", { x: LEFT - 8, y: inY(value) + 4, "text-anchor": "end" }, String(value)));
  }
  root.append(
    svg("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle", class: "label" }, x.label),
    svg("text", { x: 14, y: (TOP + HEIGHT - BOTTOM) / 2, "text-anchor": "middle", class: "label", transform: `rotate(-90 14 ${(TOP + HEIGHT - BOTTOM) / 2})` }, y.label),
  );
  if (diagonal) root.append(svg("path", { class: "diagonal", d: `M${inX(0)},${inY(0)}L${inX(Math.min(1, y.high))},${inY(Math.min(1, y.high))}` }));
  for (const line of lines) {
    const at = line.points.map((one) => `${inX(one.x).toFixed(1)},${inY(one.y).toFixed(1)}`);
    const sure = line.points.filter((one) => one.low !== null && one.low !== undefined);
    if (line.band && sure.length > 1) {
      const upper = sure.map((one) => `${inX(one.x).toFixed(1)},${inY(one.high).toFixed(1)}`);
      const lower = sure.map((one) => `${inX(one.x).toFixed(1)},${inY(one.low).toFixed(1)}`).reverse();
      root.append(svg("path", { class: `band ${line.className}`, d: `M${[...upper, ...lower].join("L")}Z` }));
    }
    if (at.length > 1) root.append(svg("path", { class: `curve ${line.className}`, d: `M${at.join("L")}` }));
  }
  if (front.length) {
    const steps = front.map(([r, u], place) => (place ? `H${inX(r)}V${inY(u)}` : `M${inX(r)},${inY(u)}`));
    root.append(svg("path", { class: "front", d: steps.join("") }));
  }
  const nodes = [];
  for (const line of lines) {
    for (const one of line.points) {
      const shape = svg("path", { class: "shape", d: marker(line.marker) });
      const node = svg("g", { class: `point ${line.className}`, transform: `translate(${inX(one.x).toFixed(1)} ${inY(one.y).toFixed(1)})`, "data-key": one.key }, svg("circle", { class: "target", r: 11 }), shape, svg("title", {}, one.title));
      if (onPick) {
        const pressed = one.key === chosen;
        for (const [name, value] of [["role", "button"], ["aria-label", one.title], ["aria-pressed", String(pressed)], ["tabindex", "-1"]]) node.setAttribute(name, value);
        node.addEventListener("click", () => onPick(one.key));
        nodes.push(node);
      }
      root.append(node);
    }
  }
  if (nodes.length) roving(nodes, chosen, onPick);
  place.replaceChildren(root);
  return root;
}

// One stop of the Tab key; arrows go from point to point, Enter and Space choose.
function roving(nodes, chosen, onPick) {
  const start = Math.max(0, nodes.findIndex((node) => node.dataset.key === chosen));
  nodes[start].setAttribute("tabindex", "0");
  nodes.forEach((node, place) => node.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      const next = nodes[(place + step + nodes.length) % nodes.length];
      node.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    } else if (event.key === "Enter" || event.key === " ") onPick(node.dataset.key);
    else return;
    event.preventDefault();
  }));
}

// A small plane: all settings of a result as dots, one of them here.
export function smallPlane(place, { others, here, x, y, title }) {
  const top = Math.max(0.1, ...others.map((one) => one[1]), here[1]) * 1.08;
  const root = chart(place, { title, lines: [], x: { label: x, low: 0, high: 1, ticks: [0, 0.2, 0.4, 0.6, 0.8, 1] }, y: { label: y, low: 0, high: top } });
  const at = (one) => ({ cx: LEFT + one[0] * (WIDTH - LEFT - RIGHT), cy: TOP + (1 - one[1] / top) * (HEIGHT - TOP - BOTTOM) });
  for (const one of others) root.append(svg("circle", { class: "dot", r: 5, ...at(one) }));
  root.append(svg("circle", { class: "here", r: 9, ...at(here) }));
  root.setAttribute("role", "img");
}
