// What all views share: elements, calls, guesses. Texts become text nodes, never markup.
export const byId = (id) => document.getElementById(id);

export function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) if (value !== null && value !== undefined) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// Control characters are shown, not obeyed: some turn the direction of a text.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
export const visible = (text) => String(text).replace(CONTROL, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);

const token = () => document.querySelector('meta[name="quipukit-token"]').content;

async function answered(response) {
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw Object.assign(new Error(body.error || `The service answered ${response.status}.`), { status: response.status });
  return body;
}

export const get = async (path) => answered(await fetch(path));
export const post = async (path, body, signal) =>
  answered(await fetch(path, { method: "POST", signal, headers: { "content-type": "application/json", "x-quipukit-token": token() }, body: JSON.stringify(body) }));

export function say(text, warn = false) {
  const place = byId("message");
  place.textContent = text;
  place.classList.toggle("warn", warn);
  place.hidden = !text;
}

export const fault = (error) => {
  if (error.name === "AbortError") return;
  say(error instanceof TypeError ? "The service does not answer. Was it stopped? Start it again with quipukit serve." : error.message, true);
};

export function options(select, pairs, chosen) {
  select.replaceChildren(...pairs.map(([value, text]) => make("option", { value }, text)));
  if (chosen !== undefined && pairs.some(([value]) => value === chosen)) select.value = chosen;
}

export const showTexts = (place, texts) => place.replaceChildren(...texts.map((text) => make("li", {}, make("span", {}, visible(text) || "(nothing)"))));

const ranked = (one) => (one.rank === null || one.rank === undefined ? Infinity : one.rank);

export function verdictOf(one) {
  if (one.rank === null) return ["sees nothing", "good"];
  if (one.hits.some(Boolean)) return [`finds it: guess ${one.hits.indexOf(true) + 1}`, "bad"];
  return [`misses it: place ${Math.round(one.rank).toLocaleString("en-US")}`, "good"];
}

// Over how many queries, and who is not asked: whoever learns the noise of a mechanism first takes half a minute or more.
export function amongWords(guesses) {
  const among = `The best ten guesses of each attacker, among ${guesses.log_size.toLocaleString("en-US")} public queries${guesses.added ? " and yours" : ", yours one of them"}.`;
  const informed = guesses.attackers.some((one) => one.attacker === "Bayes");
  return informed || !guesses.attackers.length ? among : `${among} These answer at once; attackers that learn the mechanism first may find more.`;
}

// The strongest first, and open.
export function showGuesses(place, attackers, mark = "your query") {
  const sorted = [...attackers].sort((one, other) => ranked(one) - ranked(other));
  place.replaceChildren(...sorted.map((one, number) => {
    const [words, kind] = verdictOf(one);
    const list = make("ol", {}, ...one.texts.map((text, place) => (one.hits[place] ? make("li", { class: "hit" }, visible(text), ` \u2190 ${mark}`) : make("li", {}, visible(text)))));
    return make("details", { class: "attacker", open: number ? null : "" }, make("summary", {}, make("b", {}, one.attacker), make("span", { class: `badge ${kind}` }, words)), list);
  }));
}

// Mechanism, parameter and N: shared by Try and Search.
export function mechanismFields(mechanisms, onChange) {
  const select = byId("mechanism");
  const chosen = () => mechanisms.find((one) => one.name === select.value);
  function settle() {
    const one = chosen();
    const value = byId("value");
    const label = value.closest("label");
    label.hidden = !one || !one.parameter;
    const n = byId("n").closest("label");
    n.hidden = !one || one.own_count;
    if (one && one.parameter) {
      byId("parameter").textContent = one.parameter;
      value.value = one.default;
      byId("values").replaceChildren(...one.values.map((number) => make("option", { value: number })));
    }
    if (byId("summary")) byId("summary").textContent = one ? `${one.name}: ${one.summary}.${one.sends_original ? " It sends the query itself among others." : ""}` : "";
    onChange();
  }
  select.addEventListener("change", settle);
  const settings = () => {
    const one = chosen();
    if (!one) return {};
    const value = byId("value").value;
    return { mechanism: one.name, value: one.parameter && value !== "" ? Number(value) : null, n: one.own_count ? null : Number(byId("n").value) || null };
  };
  return { settle, settings, chosen };
}

export const grouped = (mechanisms, lead = []) => {
  const groups = new Map();
  for (const one of mechanisms) groups.set(one.strategy, [...(groups.get(one.strategy) || []), one]);
  return [...lead, ...[...groups].map(([name, own]) => make("optgroup", { label: name }, ...own.map((one) => make("option", { value: one.name }, one.name))))];
};
