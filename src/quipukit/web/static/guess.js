import { byId, fault, make, post, say, showGuesses, showTexts, verdictOf, visible } from "/static/common.js";

const state = { round: 0, rounds: 5, results: [], deal: null };

function scoreboard() {
  byId("score").replaceChildren(...Array.from({ length: state.rounds }, (_, place) => {
    const result = state.results[place];
    const words = result ? `you ${result.you ? "found" : "missed"} it, attackers ${result.them ? "found" : "missed"} it` : place === state.round ? "now" : "";
    return make("li", { "aria-current": place === state.round && !result ? "step" : null }, `${place + 1}${words ? `: ${words}` : ""}`);
  }));
}

async function deal() {
  say("");
  byId("verdict").replaceChildren();
  byId("choices").replaceChildren();
  const slow = setTimeout(() => say("Loading the attackers; the first time takes some seconds."), 700);
  state.deal = await post("/api/game/deal", { round: state.round }).finally(() => clearTimeout(slow));
  say("");
  state.rounds = state.deal.rounds;
  byId("round-title").textContent = `Round ${state.round + 1}: ${state.deal.title.toLowerCase()}`;
  byId("setting").textContent = `The engine saw ${state.deal.texts.length} texts, made by ${state.deal.setting}.`;
  showTexts(byId("texts"), state.deal.texts);
  byId("texts").scrollTop = 0;
  byId("choice-title").textContent = "Which query was it?";
  byId("choices").replaceChildren(...state.deal.choices.map((text, place) => {
    const button = make("button", { type: "button" }, visible(text));
    button.addEventListener("click", () => choose(place));
    return button;
  }));
  scoreboard();
  byId("round-title").focus();
}

async function choose(place) {
  const buttons = Array.from(byId("choices").children);
  buttons.forEach((button) => { button.disabled = true; });
  byId("choice-title").textContent = "The attackers are guessing\u2026";
  try {
    const verdict = await post("/api/game/answer", { id: state.deal.id, choice: place });
    const them = verdict.attackers.some((one) => verdictOf(one)[1] === "bad");
    state.results[state.round] = { you: verdict.right, them };
    byId("choice-title").textContent = verdict.right ? "Right." : "No, it was another one.";
    buttons.forEach((button, number) => {
      if (state.deal.choices[number] === verdict.query) button.classList.add("right");
      else if (number === place) button.classList.add("wrong");
    });
    const guesses = make("div", {});
    showGuesses(guesses, verdict.attackers, "the query");
    const next = make("button", { type: "button", class: "primary" }, state.round + 1 < state.rounds ? "Next round" : "What this shows");
    next.addEventListener("click", () => advance().catch(fault));
    const who = `The attackers had to choose among ${verdict.log_size.toLocaleString("en-US")} queries${verdict.added ? " and this one" : ""}, with ten guesses each:`;
    byId("verdict").replaceChildren(make("p", { class: "lesson" }, verdict.lesson), make("p", {}, next), make("p", { class: "soft" }, who), guesses);
    scoreboard();
    next.focus({ preventScroll: false });
  } catch (error) {
    fault(error);
  }
}

async function advance() {
  state.round += 1;
  if (state.round < state.rounds) return deal();
  byId("board").hidden = true;
  const you = state.results.filter((one) => one.you).length;
  const them = state.results.filter((one) => one.them).length;
  byId("tally").textContent = `You found ${you} of ${state.rounds} among six. The attackers found ${them} of ${state.rounds} among thousands.`;
  byId("end").hidden = false;
  byId("end-title").focus();
}

async function start() {
  state.round = 0;
  state.results = [];
  byId("start").hidden = true;
  byId("end").hidden = true;
  byId("board").hidden = false;
  scoreboard();
  await deal();
}

byId("play").addEventListener("click", () => start().catch(fault));
byId("again").addEventListener("click", () => start().catch(fault));
