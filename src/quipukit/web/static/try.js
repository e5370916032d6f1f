import { amongWords, byId, fault, get, grouped, make, mechanismFields, post, say, showGuesses, showTexts } from "/static/common.js";
import { smallPlane } from "/static/chart.js";

let fields = null;
let running = null;
let timer = null;

function show(answer) {
  showTexts(byId("texts"), answer.texts);
  const count = `${answer.texts.length} ${answer.texts.length === 1 ? "text" : "texts"} by ${answer.setting}`;
  const own = answer.contains_original ? "your query is one of them" : "";
  byId("seen-note").textContent = [count, own, ...answer.notes].filter(Boolean).join("; ") + ".";
  byId("guarantee").textContent = answer.guarantee;
  byId("composed").textContent = answer.composed;
  byId("plain").replaceChildren(...answer.plain.map((sentence) => make("li", {}, sentence)));
  byId("places").hidden = !answer.places.length;
  byId("planes").replaceChildren(...answer.places.map((place) => {
    const box = make("div", { class: "chart" });
    smallPlane(box, {
      others: place.others, here: [place.risk, place.utility], x: `risk (${place.label})`, y: place.measure,
      title: `${answer.setting} in ${place.result}: risk ${place.risk.toFixed(2)}, ${place.measure} ${place.utility.toFixed(2)}`,
    });
    const words = `${place.result}: risk ${place.risk.toFixed(2)}, ${place.measure} ${place.utility.toFixed(2)}${place.frontier ? "; on the frontier" : ""}. Dots are the other settings.`;
    return make("div", {}, box, make("p", { class: "soft" }, words));
  }));
  for (const id of ["outcome", "promise"]) byId(id).hidden = false;
}

async function run() {
  const query = byId("query").value.trim();
  if (running) running.abort();
  if (!query || !fields) return;
  running = new AbortController();
  const { signal } = running;
  try {
    const wish = fields.settings();
    const slow = setTimeout(() => say("Loading what this mechanism needs; the first time takes some seconds."), 700);
    const answer = await post("/api/try", { query, mechanism: wish.mechanism, value: wish.value, n: wish.n || 1 }, signal).finally(() => clearTimeout(slow));
    say("");
    show(answer);
    byId("guesses-note").textContent = "Attacking\u2026";
    byId("guesses").replaceChildren();
    const guesses = await post("/api/guesses", { query, texts: answer.texts, mechanism: wish.mechanism, value: wish.value }, signal);
    byId("guesses-note").textContent = amongWords(guesses);
    showGuesses(byId("guesses"), guesses.attackers);
  } catch (error) {
    fault(error);
  }
}

const soon = () => { clearTimeout(timer); timer = setTimeout(run, 350); };

byId("form").addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(timer); run(); });
for (const id of ["query", "value", "n"]) byId(id).addEventListener("input", soon);

try {
  const mechanisms = await get("/api/mechanisms");
  byId("mechanism").replaceChildren(...grouped(mechanisms));
  byId("mechanism").value = "CMP";
  fields = mechanismFields(mechanisms, soon);
  fields.settle();
} catch (error) {
  fault(error);
}
