(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const state = { view: 0, attacker: null, parameter: null, chosen: new Set(), query: 0, mechanism: null };
  const find = (selector) => Array.from(document.querySelectorAll(selector));
  const color = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const view = () => data.views[state.view];

  function make(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  // --- what is drawn ---

  const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const short = (text) => escaped(Array.from(text).length > 64 ? Array.from(text).slice(0, 63).join("") + "\u2026" : text);
  const bounds = (pair) => `[${pair[0].toFixed(3)}, ${pair[1].toFixed(3)}]`;

  function hover(mechanism, place, attacker) {
    const setting = mechanism.parameter ? ` ${mechanism.parameter} ${mechanism.names[place]}` : "";
    const lines = [`<b>${escaped(mechanism.name)}</b>${escaped(setting)}`];
    if (view().judged) lines.push(`${escaped(view().measure)} ${mechanism.utility[place].toFixed(3)} ${bounds(mechanism.utility_bounds[place])}`);
    lines.push(`risk, ${escaped(attacker)} ${mechanism.risk[attacker][place].toFixed(3)} ${bounds(mechanism.risk_bounds[attacker][place])}`);
    if (view().judged && mechanism.need[attacker][place]) lines.push(mechanism.need[attacker][place]);
    if (mechanism.score[attacker]) lines.push(mechanism.score[attacker]);
    const example = view().examples[state.query] || view().examples[0];
    const shown = example && example.settings.find((one) => one.mechanism === mechanism.name && one.value === mechanism.values[place]);
    if (shown && shown.sent.length) {
      lines.push(`<br>\u201c${short(example.query)}\u201d was sent as`);
      for (const text of shown.sent.slice(0, 3)) lines.push(`\u2192 ${short(text) || "(nothing)"}`);
      for (const attack of shown.attacks) if (attack.rank !== null) lines.push(`and is guess ${attack.rank} of ${view().several ? escaped(attack.attacker) : "the attacker"}`);
    }
    return lines.join("<br>");
  }

  const alive = (name) => state.chosen.size === 0 || state.chosen.has(name);

  function look(mechanism) {
    const own = data.looks[mechanism.name];
    const shade = alive(mechanism.name) ? color(`--c${own.color}`) : color("--gray");
    return {
      line: { color: shade, width: alive(mechanism.name) ? 2 : 1, dash: own.dash },
      marker: { color: shade, symbol: own.marker, size: own.marker === "star" ? 11 : 8, line: { color: color("--paper"), width: 1 } },
      opacity: alive(mechanism.name) ? 1 : 0.45,
    };
  }

  const font = () => ({ family: getComputedStyle(document.body).fontFamily, size: 12, color: color("--ink") });
  const axis = (text) => ({
    title: { text, font: { size: 13 }, standoff: 10 }, gridcolor: color("--line"), linecolor: color("--soft"),
    tickcolor: color("--soft"), zeroline: false, automargin: true, fixedrange: true,
  });
  const layout = (more) => ({
    font: font(), paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, hovermode: "closest",
    margin: { l: 52, r: 16, t: 28, b: 48 }, autosize: true,
    hoverlabel: { bgcolor: color("--paper"), bordercolor: color("--soft"), font: { ...font(), size: 12 }, align: "left", namelength: 0 },
    ...more,
  });
  const config = { responsive: true, displayModeBar: false, showTips: false };
  const ordered = (mechanisms) => [...mechanisms].sort((one, other) => alive(one.name) - alive(other.name));

  function drawPlane() {
    const plot = document.getElementById("plot-plane");
    if (!plot || !view().judged) return;
    const who = state.attacker;
    const soft = color("--soft");
    const traces = [
      { x: [0, 1], y: [0, 1], mode: "lines", line: { color: soft, width: 1.2, dash: "dash" }, hoverinfo: "skip" },
      {
        x: data.corners.map((one) => one[0]), y: data.corners.map((one) => one[1]), text: data.corners.map((one) => ` ${one[2]} `),
        mode: "markers+text", textposition: data.corners.map((one) => (one[0] ? "middle left" : "middle right")), textfont: { color: soft, size: 12 },
        marker: { color: color("--paper"), size: 8, line: { color: soft, width: 1.5 } }, hoverinfo: "skip", cliponaxis: false,
      },
    ];
    for (const one of ordered(view().mechanisms)) {
      const labeled = state.chosen.has(one.name) || view().mechanisms.length === 1;
      traces.push({
        x: one.risk[who], y: one.utility, ...look(one), mode: labeled ? "lines+markers+text" : "lines+markers", name: one.name,
        text: one.labels[who].map((label) => label[0]), textposition: one.labels[who].map((label) => label[1]),
        textfont: { size: 11, color: color(`--c${data.looks[one.name].color}`) },
        hovertext: one.values.map((_, place) => hover(one, place, who)), hoverinfo: alive(one.name) ? "text" : "skip", cliponaxis: false,
      });
    }
    view().references.forEach((one, number) => traces.push({
      x: one.risk[who], y: one.utility, mode: "markers+text", name: one.name, text: [one.name],
      textposition: one.risk[who][0] > 0.5 ? "top left" : "top right", textfont: { size: 12, color: color("--ink") },
      marker: { symbol: number % 2 ? "x-thin" : "cross-thin", size: 11, line: { color: color("--ink"), width: 2 } },
      hovertext: one.values.map((_, place) => hover(one, place, who)), hoverinfo: "text", cliponaxis: false,
    }));
    const title = view().attackers.find((one) => one.name === who).axis;
    const range = { range: [-0.04, 1.04], dtick: 0.2 };
    Plotly.react(plot, traces, layout({
      xaxis: { ...axis(escaped(title)), ...range },
      yaxis: { ...axis(`utility (${escaped(view().measure)})`), ...range },
      annotations: [{ x: 0.86, y: 0.86, text: "boundary", textangle: -45, showarrow: false, font: { size: 11, color: soft }, yshift: -10, xshift: 6 }],
    }), config);
  }

  function drawSide(id, side) {
    const plot = document.getElementById(id);
    if (!plot) return;
    plot.hidden = side === "utility" && !view().judged;
    if (plot.hidden) return;
    const who = state.attacker;
    const of = (one) => (side === "utility" ? [one.utility, one.utility_bounds] : [one.risk[who], one.risk_bounds[who]]);
    const shown = view().mechanisms.filter((one) => one.parameter === state.parameter);
    const traces = [];
    const values = new Map();
    for (const one of ordered(shown)) {
      const [means, ends] = of(one);
      one.values.forEach((value, place) => values.set(value, one.names[place]));
      if (alive(one.name)) {
        const own = color(`--c${data.looks[one.name].color}`);
        traces.push({
          x: [...one.values, ...[...one.values].reverse()], y: [...ends.map((pair) => pair[1]), ...ends.map((pair) => pair[0]).reverse()],
          mode: "lines", fill: "toself", line: { width: 0 }, fillcolor: own + "1c", hoverinfo: "skip",
        });
      }
      traces.push({
        x: one.values, y: means, ...look(one), mode: "lines+markers", name: one.name, hoverinfo: alive(one.name) ? "text" : "skip",
        hovertext: one.values.map((_, place) => hover(one, place, who)), cliponaxis: false,
      });
    }
    const sorted = [...values.keys()].sort((one, other) => one - other);
    const wide = sorted.length > 1 && sorted[0] > 0 && sorted[sorted.length - 1] / sorted[0] > 10;
    const kept = [];
    for (const value of wide ? [sorted[sorted.length - 1], ...sorted.slice(0, -1)] : sorted) {
      if (!wide || kept.every((other) => Math.abs(Math.log(value / other)) > 0.08 * Math.log(sorted[sorted.length - 1] / sorted[0]))) kept.push(value);
    }
    const shapes = [];
    const notes = [];
    view().references.forEach((one, number) => {
      const height = of(one)[0][0];
      shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, y0: height, y1: height, layer: "below", line: { color: color("--soft"), width: 1.2, dash: number % 2 ? "dot" : "dash" } });
      notes.push({ xref: "paper", x: 0, xanchor: "left", y: height, yanchor: "bottom", text: escaped(one.name), showarrow: false, font: { size: 11, color: color("--soft") } });
    });
    const risk = view().attackers.find((one) => one.name === who).risk;
    Plotly.react(plot, traces, layout({
      title: { text: side === "utility" ? `utility (${escaped(view().measure)})` : `risk, ${escaped(who)} (${escaped(risk)})`, font: { size: 13 }, x: 0, xref: "paper", xanchor: "left", y: 1, yref: "container", yanchor: "top", pad: { t: 4 } },
      xaxis: { ...axis(escaped(state.parameter || "")), type: wide ? "log" : "linear", tickvals: kept, ticktext: kept.map((value) => values.get(value)), title: { text: escaped(state.parameter || ""), font: { size: 13 }, standoff: 6 } },
      yaxis: { ...axis(""), range: [-0.03, 1.05], dtick: 0.2 }, shapes, annotations: notes,
    }), config);
  }

  // --- what is chosen ---

  function segments(place, label, names, chosen, choose) {
    place.replaceChildren();
    if (names.length < 2) return;
    const box = make("div", { class: "segments", role: "group", "aria-label": label });
    for (const name of names) {
      const button = make("button", { type: "button", "aria-pressed": String(name === chosen) }, name);
      button.addEventListener("click", () => { choose(name); draw(); });
      box.append(button);
    }
    place.append(make("span", { class: "name" }, label), box);
  }

  const SVG = "http://www.w3.org/2000/svg";
  const MARKS = {
    circle: "M16 8a4 4 0 1 0 8 0a4 4 0 1 0-8 0", square: "M16.5 4.5h7v7h-7z", diamond: "M20 3l5 5-5 5-5-5z", "triangle-up": "M20 3.5l4.5 8h-9z",
    "triangle-down": "M20 12.5l4.5-8h-9z", cross: "M18.4 3.5h3.2v2.9h2.9v3.2h-2.9v2.9h-3.2v-2.9h-2.9v-3.2h2.9z", x: "M17 3.7l3 3 3-3 1.9 1.9-2.7 2.7 2.7 2.7-1.9 1.9-3-3-3 3-1.9-1.9 2.7-2.7-2.7-2.7z",
    pentagon: "M20 3.2l4.6 3.4-1.8 5.4h-5.6l-1.8-5.4z", star: "M20 2l1.6 4.2 4.4.2-3.4 2.8 1.2 4.3-3.8-2.4-3.8 2.4 1.2-4.3-3.4-2.8 4.4-.2z", hexagon: "M20 3.2l4.2 2.4v4.8l-4.2 2.4-4.2-2.4v-4.8z",
  };
  const DASHES = { solid: "", dash: "7 4", dot: "2 3", dashdot: "7 3 2 3" };

  function swatch(name) {
    const own = data.looks[name];
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 40 16");
    svg.setAttribute("aria-hidden", "true");
    for (const [path, filled] of [["M0 8H40", false], [MARKS[own.marker], true]]) {
      const line = document.createElementNS(SVG, "path");
      line.setAttribute("d", path);
      line.style.stroke = filled ? "var(--paper)" : `var(--c${own.color})`;
      line.style.fill = filled ? `var(--c${own.color})` : "none";
      line.style.strokeWidth = filled ? "1" : "2";
      if (!filled) line.style.strokeDasharray = DASHES[own.dash];
      svg.append(line);
    }
    return svg;
  }

  function legend(place) {
    place.replaceChildren();
    const wide = place.classList.contains("wide");
    let strategy = null;
    for (const one of view().mechanisms) {
      if (wide && one.parameter !== state.parameter) continue;
      if (one.strategy !== strategy) place.append(make("h4", {}, one.strategy));
      strategy = one.strategy;
      const button = make("button", { type: "button", "aria-pressed": String(state.chosen.has(one.name)) }, swatch(one.name), make("span", {}, one.name), make("small", {}, one.score[state.attacker] || ""));
      if (!alive(one.name)) button.classList.add("faded");
      button.addEventListener("click", () => {
        if (!state.chosen.delete(one.name)) state.chosen.add(one.name);
        draw();
      });
      place.append(button);
    }
    const all = make("button", { type: "button", class: "all" }, "show all");
    all.hidden = state.chosen.size === 0;
    all.addEventListener("click", () => { state.chosen.clear(); draw(); });
    place.append(all);
  }

  function options(select, pairs, chosen) {
    select.replaceChildren(...pairs.map(([value, text]) => make("option", { value }, text)));
    select.value = chosen;
  }

  function drawExample() {
    const place = document.getElementById("example");
    if (!place) return;
    const examples = view().examples;
    place.replaceChildren();
    const example = examples[state.query];
    if (!example) {
      place.append(make("p", { class: "aside" }, "This result holds no guesses, so there is nothing to show."));
      return;
    }
    place.append(make("p", { class: "original" }, example.query));
    const owner = [...view().mechanisms, ...view().references].find((one) => one.name === state.mechanism);
    for (const one of example.settings.filter((setting) => setting.mechanism === state.mechanism)) {
      const row = make("div", { class: "example-row" });
      const name = owner && owner.parameter ? `${owner.parameter} ${owner.names[owner.values.indexOf(one.value)]}` : state.mechanism;
      row.append(make("h4", {}, name));
      const sent = make("ul", {}, ...one.sent.map((text) => make("li", {}, text || "(nothing)")));
      row.append(make("div", {}, make("h5", {}, "sent, among others"), one.sent.length ? sent : make("p", { class: "aside" }, "nothing was sent")));
      const guessed = make("div", {});
      for (const attack of one.attacks) {
        const rank = attack.rank === null ? "not found" : `found as guess ${attack.rank}`;
        guessed.append(make("h5", {}, `${view().several ? `guessed by ${attack.attacker}` : "guessed"}, ${rank}`));
        guessed.append(make("ol", {}, ...attack.guesses.map(([text, hit]) => make("li", hit ? { class: "hit" } : {}, text))));
      }
      row.append(guessed);
      place.append(row);
    }
  }

  function settle() {
    const attackers = view().attackers.map((one) => one.name);
    if (!attackers.includes(state.attacker)) state.attacker = attackers[0];
    const parameters = [...new Set(view().mechanisms.map((one) => one.parameter))].filter((name) => name);
    if (!parameters.includes(state.parameter)) state.parameter = parameters[0] || null;
    const names = [...view().mechanisms, ...view().references].map((one) => one.name);
    for (const name of [...state.chosen]) if (!names.includes(name)) state.chosen.delete(name);
    if (!names.includes(state.mechanism)) state.mechanism = names[0] || null;
    if (!view().examples[state.query]) state.query = 0;
    find("[data-view]").forEach((node) => { node.hidden = Number(node.dataset.view) !== state.view; });
    find('[data-controls="attacker"]').forEach((place) => segments(place, "Persona", attackers, state.attacker, (name) => { state.attacker = name; }));
    find('[data-controls="parameter"]').forEach((place) => segments(place, "Parameter", parameters, state.parameter, (name) => { state.parameter = name; }));
    find("[data-legend]").forEach(legend);
    find("section[data-views]").forEach((section) => {
      section.hidden = !section.dataset.views.split(" ").includes(String(state.view));
      find(`nav a[href="#${section.id}"]`).forEach((link) => { link.hidden = section.hidden; });
    });
    const query = document.getElementById("example-query");
    if (query) {
      options(query, view().examples.map((one, number) => [String(number), one.query]), String(state.query));
      options(document.getElementById("example-mechanism"), names.map((name) => [name, name]), state.mechanism);
    }
  }

  function drawAll() {
    drawPlane();
    drawSide("plot-utility", "utility");
    drawSide("plot-risk", "risk");
  }

  function draw() {
    const focused = document.activeElement && document.activeElement.closest(".legend button, .segments button");
    const path = focused && { place: focused.closest("[data-legend], [data-controls]"), text: focused.textContent };
    settle();
    drawAll();
    drawExample();
    // The buttons were replaced; restore the keyboard focus.
    if (path && path.place) Array.from(path.place.querySelectorAll("button")).find((one) => one.textContent === path.text)?.focus();
  }

  document.getElementById("view")?.addEventListener("change", (event) => { state.view = Number(event.target.value); draw(); });
  document.getElementById("example-query")?.addEventListener("change", (event) => { state.query = Number(event.target.value); draw(); });
  document.getElementById("example-mechanism")?.addEventListener("change", (event) => { state.mechanism = event.target.value; drawExample(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  addEventListener("beforeprint", () => { root.classList.add("print"); drawAll(); });
  addEventListener("afterprint", () => { root.classList.remove("print"); drawAll(); });

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) find("nav a").forEach((link) => link.classList.toggle("here", link.hash === `#${entry.target.id}`));
  }, { rootMargin: "-20% 0px -70% 0px" });
  find("section").forEach((section) => seen.observe(section));
  draw();
})();
