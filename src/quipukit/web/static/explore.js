import { byId, fault, get, make, options, say, visible } from "/static/common.js";
import { chart, swatch } from "/static/chart.js";

const state = { result: 0, data: null, view: 0, attacker: null, persona: null, hidden: new Set(), parameter: null, key: null };
const view = () => state.data.views[state.view];
const number = (value, digits = 3) => (value === null || value === undefined ? "\u2013" : value.toFixed(digits));
const bounds = (low, high) => (low === null || high === null ? "" : ` [${number(low)}, ${number(high)}]`);
const look = (name) => state.data.looks[name];
const keyOf = (point) => `${point.mechanism}|${point.value}`;
const ask = (path, values) => get(`/api/results/${state.result}/${path}?${new URLSearchParams({ view: state.view, ...values })}`);

function shown() {
  return view().points.filter((one) => one.attacker === state.attacker && one.persona === state.persona && !state.hidden.has(one.mechanism));
}

function lines(points, at) {
  return view().mechanisms.filter((one) => points.some((point) => point.mechanism === one.name)).map((one) => ({
    name: one.name, className: look(one.name) ? `m${look(one.name).color}` : "reference", marker: look(one.name) ? look(one.name).marker : "reference",
    points: points.filter((point) => point.mechanism === one.name).map(at).filter((point) => point.y !== null),
  }));
}

const words = (one) => `${one.name}: risk ${number(one.risk)}${bounds(one.risk_low, one.risk_high)}${one.utility === null ? "" : `, ${view().measure} ${number(one.utility)}${bounds(one.utility_low, one.utility_high)}`}`;
const axisEnd = (values) => Math.min(1, Math.max(0.1, Math.ceil(Math.max(0, ...values) * 11) / 10));

function front(points) {
  const sorted = points.filter((one) => one.utility !== null && one.counted).sort((one, other) => one.risk - other.risk || other.utility - one.utility);
  const found = [];
  for (const one of sorted) if (!found.length || one.utility > found[found.length - 1][1]) found.push([one.risk, one.utility]);
  return found;
}

function drawPlane() {
  byId("plane-section").hidden = !view().judged;
  if (!view().judged) return;
  const points = shown();
  chart(byId("plane"), {
    title: "Risk against utility of every setting", diagonal: true, chosen: state.key, front: front(points),
    lines: lines(points, (one) => ({ x: one.risk, y: one.utility, title: words(one), key: keyOf(one) })),
    x: { label: `risk (${state.attacker}, ${state.persona})`, low: 0, high: 1, ticks: [0, 0.2, 0.4, 0.6, 0.8, 1] },
    y: { label: `utility (${view().measure})`, low: 0, high: axisEnd(points.map((one) => one.utility ?? 0)) }, onPick: (key) => pick(key).catch(fault),
  });
}

function drawCurves() {
  const of = new Map(view().mechanisms.map((one) => [one.name, one.parameter]));
  const points = shown().filter((one) => of.get(one.mechanism) === state.parameter);
  const values = [...new Set(points.map((one) => one.value))].sort((one, other) => one - other);
  const log = values.length > 1 && values[0] > 0 && values[values.length - 1] / values[0] > 10;
  const x = { label: state.parameter || "", low: values[0] ?? 0, high: values[values.length - 1] ?? 1, log, ticks: values.length <= 6 ? values : values.filter((_, place) => place % Math.ceil(values.length / 6) === 0) };
  for (const [id, side] of [["curve-utility", "utility"], ["curve-risk", "risk"]]) {
    byId(id).hidden = !points.length || (side === "utility" && !view().judged);
    if (byId(id).hidden) continue;
    chart(byId(id), {
      title: `${side} against ${state.parameter}`, x, chosen: state.key, onPick: (key) => pick(key).catch(fault),
      lines: lines(points, (one) => ({ x: one.value, y: one[side], low: one[`${side}_low`], high: one[`${side}_high`], title: words(one), key: keyOf(one) })).map((line) => ({ ...line, band: true })),
      y: { label: side === "utility" ? `utility (${view().measure})` : `risk (${state.attacker}, ${state.persona})`, low: 0, high: side === "risk" ? 1 : axisEnd(points.map((one) => one.utility_high ?? one.utility ?? 0)) },
    });
  }
}

function draw() {
  drawPlane();
  drawCurves();
}

// --- one setting ---

function example(one) {
  const attacks = one.attacks.filter((attack) => attack.guesses.length || attack.rank !== null).map((attack) => make("li", {}, `${attack.attacker}: ${attack.rank === null ? "not found" : `found as guess ${attack.rank}`}`));
  return make("div", { class: "example" }, make("p", {}, make("b", {}, visible(one.query))), make("ul", {}, ...one.sent.map((text) => make("li", {}, visible(text) || "(nothing)"))), make("ul", { class: "soft" }, ...attacks));
}

async function pick(key) {
  const again = document.activeElement && document.activeElement.closest("svg") ? document.activeElement.closest(".chart").id : null;
  state.key = key;
  draw();
  if (again) byId(again).querySelector('[tabindex="0"]')?.focus();
  const point = shown().find((one) => keyOf(one) === key);
  if (!point) {
    byId("chosen").replaceChildren(make("p", { class: "soft" }, "No setting is chosen."));
    byId("queries-section").hidden = true;
    return;
  }
  const values = { mechanism: point.mechanism, value: point.value };
  const [examples, rows] = await Promise.all([ask("examples", values), ask("queries", { ...values, attacker: state.attacker, persona: state.persona })]);
  if (state.key !== key) return;
  const facts = make("dl", { class: "facts" });
  const fact = (name, text) => facts.append(make("dt", {}, name), make("dd", {}, text));
  fact("risk", number(point.risk) + bounds(point.risk_low, point.risk_high));
  if (point.utility !== null) fact(view().measure, number(point.utility) + bounds(point.utility_low, point.utility_high));
  if (point.kept !== null) fact("kept", `${Math.round(100 * point.kept)} % of what the query itself finds`);
  byId("chosen").replaceChildren(make("h3", {}, point.name), facts, make("p", { class: "soft" }, examples.length ? "Sent, for example:" : "This result holds no examples."), ...examples.slice(0, 3).map(example));
  showQueries(point, rows);
}

function showQueries(point, rows) {
  byId("queries-section").hidden = false;
  byId("queries-title").textContent = `Query by query: ${point.name}`;
  const cell = (text, kind) => make("td", { class: kind }, text);
  const ranked = rows.some((row) => row.rank !== null); // the strongest is another attacker at every setting
  const body = rows.map((row) => make("tr", {}, make("th", { scope: "row" }, visible(row.qid)), cell(visible(row.query), "query"), cell(number(row.risk), "num"), ...(ranked ? [cell(row.rank === null ? "\u2013" : row.rank.toLocaleString("en-US"), "num")] : []), cell(number(row.utility), "num")));
  const heads = [["Query", ""], ["Text", ""], ["Risk", "num"], ...(ranked ? [["Rank", "num"]] : []), [view().measure || "Utility", "num"]].map(([text, kind]) => make("th", { scope: "col", class: kind }, text));
  byId("queries").replaceChildren(tableBox("Queries, the riskiest first", make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...body)), true));
}

// --- tables, files, comparison ---

const tableBox = (title, table, tall = false) => make("div", { class: tall ? "table tall" : "table", tabindex: "0", role: "region", "aria-label": title }, table);

function reportTable(model) {
  const kind = (place) => (place < model.stubs || model.text_columns.includes(place) ? "" : "num");
  const head = make("thead", {});
  if (model.column_groups.length) head.append(make("tr", {}, make("td", { colspan: model.stubs }), ...model.column_groups.map(([text, width]) => make("th", { scope: "colgroup", colspan: width }, text))));
  head.append(make("tr", {}, ...model.headings.map((text, place) => make("th", { scope: "col", class: kind(place) }, visible(text)))));
  const cell = (one, place) => {
    if (place < model.stubs) return make("th", { scope: "row" }, visible(one.text));
    const node = make("td", { class: `${kind(place)}${one.bold ? " best" : ""}` }, visible(one.text));
    if (one.marks) node.append(make("sup", {}, one.marks));
    node.append(...one.small.map((text) => make("small", {}, visible(text))));
    return node;
  };
  const bodies = model.groups.map((group) => make("tbody", {}, ...(group.heading ? [make("tr", { class: "section" }, make("th", { colspan: model.headings.length, scope: "rowgroup" }, visible(group.heading)))] : []), ...group.rows.map((row) => make("tr", {}, ...row.map(cell)))));
  return make("figure", {}, make("h3", {}, model.title), tableBox(model.title, make("table", {}, head, ...bodies), true), make("figcaption", {}, visible(model.caption.replaceAll("`", ""))));
}

function showFiles() {
  const kinds = [["Figures", (name) => /\.(svg|pdf|png)$/.test(name)], ["Tables", (name) => /\.(csv|tex)$/.test(name)]];
  byId("files").replaceChildren(...kinds.map(([title, fits]) => make("details", {}, make("summary", {}, `${title} (${state.data.files.filter(fits).length})`), make("ul", { class: "files" }, ...state.data.files.filter(fits).map((name) => make("li", {}, make("a", { href: `/api/results/${state.result}/files/${encodeURIComponent(name)}`, download: name }, name)))))));
}

async function compare() {
  say("Comparing\u2026");
  const answer = await get(`/api/compare?${new URLSearchParams({ first: byId("first").value, second: byId("second").value })}`);
  say("");
  const title = { quipu: "QuIPU", hypervolume: "hypervolume" };
  const heads = ["Mechanism", "Against", "Score", "First", "Second", "Difference", "p (Holm)"].map((text, place) => make("th", { scope: "col", class: place > 2 ? "num" : "" }, text));
  const rows = answer.scores.map((row) => make("tr", {}, make("th", { scope: "row" }, visible(row.mechanism)), make("td", {}, `${row.attacker}, ${row.persona}`), make("td", {}, title[row.score] || row.score),
    ...[row.first, row.second].map((value) => make("td", { class: "num" }, number(value))), make("td", { class: "num" }, number(row.difference), make("small", {}, bounds(row.low, row.high).trim())), make("td", { class: `num${row.p_holm !== null && row.p_holm < 0.05 ? " best" : ""}` }, number(row.p_holm))));
  const differs = answer.differs.map((row) => make("li", {}, visible(`${row.what}: ${row.first} / ${row.second}`)));
  byId("comparison").replaceChildren(
    make("p", { class: "soft" }, `${answer.measure}, ${answer.paired ? "paired over the queries that both have" : "two independent samples"}. Bold: p below 0.05.`),
    ...(differs.length ? [make("p", {}, "What differs between the runs:"), make("ul", {}, ...differs)] : []),
    tableBox("Differences", make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows)), true),
    make("ul", { class: "soft" }, ...answer.notes.map((note) => make("li", {}, visible(note)))),
  );
}

// --- choices ---

function settleView() {
  const one = view();
  state.attacker = one.attackers.includes(state.attacker) ? state.attacker : one.attackers.includes("strongest") ? "strongest" : one.attackers[0];
  state.persona = one.personas.includes(state.persona) ? state.persona : one.personas.includes("active") ? "active" : one.personas[0];
  options(byId("attacker"), one.attackers.map((name) => [name, name]), state.attacker);
  options(byId("persona"), one.personas.map((name) => [name, name]), state.persona);
  const parameters = [...new Set(one.mechanisms.map((each) => each.parameter))].filter(Boolean);
  if (!parameters.includes(state.parameter)) state.parameter = parameters[0] || null;
  options(byId("parameter"), parameters.map((name) => [name, name]), state.parameter);
  byId("mechanisms").replaceChildren(...one.mechanisms.map((each) => {
    const box = make("input", { type: "checkbox" });
    box.checked = !state.hidden.has(each.name);
    box.addEventListener("change", () => { if (!state.hidden.delete(each.name)) state.hidden.add(each.name); draw(); });
    return make("label", {}, box, swatch(look(each.name)), each.name);
  }));
  byId("tables").replaceChildren(...[...state.data.tables, ...one.tables].map(reportTable));
  state.key = null;
  pick(null).catch(fault);
}

async function open(place) {
  state.result = place;
  say("Computing intervals and tables\u2026");
  state.data = await get(`/api/results/${place}`);
  say("");
  Object.assign(state, { view: 0, hidden: new Set() });
  const { data } = state;
  byId("about").textContent = visible(`${data.collection}: ${data.queries} queries, ${data.settings} settings of ${data.mechanisms.length} mechanisms, ${data.attackers.length === 1 ? `attacker ${data.attackers[0]}` : `${data.attackers.length} attackers`}.`);
  options(byId("view"), data.views.map((one, number) => [String(number), one.name]), "0");
  byId("view-label").hidden = data.views.length < 2;
  byId("explore").hidden = false;
  settleView();
  showFiles();
}

const chosen = (id, apply) => byId(id).addEventListener("change", (event) => { apply(event.target.value); });
chosen("result", (value) => open(Number(value)).catch(fault));
chosen("view", (value) => { state.view = Number(value); settleView(); });
chosen("attacker", (value) => { state.attacker = value; pick(state.key).catch(fault); });
chosen("persona", (value) => { state.persona = value; pick(state.key).catch(fault); });
chosen("parameter", (value) => { state.parameter = value; drawCurves(); });
byId("compare").addEventListener("click", () => compare().catch(fault));

try {
  const results = await get("/api/results");
  byId("empty").hidden = results.length > 0;
  const pairs = results.map((one, number) => [String(number), one.name]);
  options(byId("result"), pairs, "0");
  options(byId("first"), pairs, "0");
  options(byId("second"), pairs, "1");
  byId("result-label").hidden = results.length < 2;
  byId("compare-section").hidden = results.length < 2;
  if (results.length) await open(0);
} catch (error) {
  fault(error);
}
