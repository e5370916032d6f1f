import { amongWords, byId, fault, get, grouped, make, mechanismFields, options, post, say, showGuesses, showTexts, visible } from "/static/common.js";

// A query that came by the address bar does not stay in the address.
if (location.search) history.replaceState(null, "", location.pathname);

const OTHER = "other";
let fields = null;
let running = null;

const NAMES = { wordnet: "built-in collection" };

function hit(one) {
  const named = one.title || one.docno;
  const web = /^https?:/i.test(one.url);
  const head = web ? make("h3", {}, make("a", { href: one.url, rel: "noreferrer noopener" }, visible(named))) : make("h3", {}, visible(named));
  return make("li", {}, head, web ? make("p", { class: "address" }, visible(one.url)) : null, make("p", {}, visible(one.snippet)));
}

function show(answer) {
  const { preview } = answer;
  byId("reason").textContent = answer.reason;
  byId("hits").replaceChildren(...answer.hits.map(hit));
  const lost = answer.failed ? ` ${answer.failed} requests were not answered.` : "";
  byId("hits-note").textContent = answer.dry_run ? "Nothing was sent, so nothing was found." : `${answer.hits.length} documents in ${answer.seconds.toFixed(2)} s.${lost}`;
  byId("seen-title").textContent = answer.dry_run ? "What the engine would see" : "What the engine saw";
  const own = preview.sends_original ? " Your query is one of them." : "";
  byId("seen-note").textContent = preview.local ? "Nothing: it is answered from what was fetched before." : `${preview.texts.length} texts, in random order.${own}`;
  byId("warnings").replaceChildren(...preview.warnings.map((text) => make("li", {}, text)));
  showTexts(byId("texts"), preview.texts);
  byId("texts").hidden = !preview.texts.length;
  byId("guarantee").textContent = preview.guarantee;
  byId("composed").textContent = preview.composed;
  byId("outcome").hidden = false;
}

async function conclude(query, texts, setting, signal) {
  byId("guesses").replaceChildren();
  if (!texts.length) {
    byId("guesses-note").textContent = "Nothing was sent for this query, so there is nothing new to conclude.";
    return;
  }
  byId("guesses-note").textContent = "Attacking\u2026";
  const guesses = await post("/api/guesses", { query, texts, searched: true, ...setting }, signal);
  byId("guesses-note").textContent = amongWords(guesses);
  showGuesses(byId("guesses"), guesses.attackers);
}

// What crosses a limit that the user has set is sent only if the user says so.
function overLimit(error) {
  say(`${error.message} `, true);
  const anyway = make("button", { type: "button" }, "Search anyway");
  anyway.addEventListener("click", () => run(false, true));
  byId("message").append(anyway);
  anyway.focus();
}

async function run(dry, over_limit = false) {
  const query = byId("query").value.trim();
  if (!query) { byId("query").focus(); return; }
  if (running) running.abort();
  running = new AbortController();
  const { signal } = running;
  const engine = byId("engine").value === OTHER ? byId("other").value.trim() : byId("engine").value;
  say("Searching\u2026");
  try {
    const setting = { engine: engine || null, ...(fields ? fields.settings() : {}) };
    const answer = await post("/api/search", { query, dry_run: dry, over_limit, ...setting }, signal);
    say("");
    show(answer);
    await conclude(query, answer.preview.texts, setting, signal);
  } catch (error) {
    if (error.status === 409) overLimit(error);
    else fault(error);
  }
}

byId("form").addEventListener("submit", (event) => { event.preventDefault(); run(false); });
byId("dry").addEventListener("click", () => run(true));
byId("new").addEventListener("click", async () => {
  try {
    await post("/api/session/new", {});
    say("A new session begins: what was fetched is forgotten.");
  } catch (error) {
    fault(error);
  }
});
byId("engine").addEventListener("change", () => { byId("other-label").hidden = byId("engine").value !== OTHER; });

try {
  const [status, mechanisms] = await Promise.all([get("/api/status"), get("/api/mechanisms")]);
  options(byId("engine"), [...status.engines.map((name) => [name, NAMES[name] || name]), ...(status.any_engine ? [[OTHER, "another engine\u2026"]] : [])]);
  byId("mechanism").replaceChildren(...grouped(mechanisms, [make("option", { value: "" }, "recommended")]));
  fields = mechanismFields(mechanisms, () => {});
  fields.settle();
  const query = byId("query").value.trim();
  const sent = Array.from(byId("texts").children, (item) => item.textContent);
  if (query && !byId("outcome").hidden) await conclude(query, sent, {});
} catch (error) {
  fault(error);
}
