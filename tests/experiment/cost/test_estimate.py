"""What an experiment will cost: amounts that can be counted, and none for what is done."""

import dataclasses
from pathlib import Path

import pytest

import quipukit as qk
from quipukit.covers.make import make_partition
from quipukit.encoders.load import load_encoder
from quipukit.encoders.store import EncodingStore
from quipukit.experiment.cells import Cell
from quipukit.experiment.cost.amounts import sent_per_query
from quipukit.experiment.cost.estimate import Estimate, estimate, in_words
from quipukit.experiment.cost.lengths import filled
from quipukit.experiment.cost.rates import TWO_CORES, Rates
from quipukit.experiment.cost.steps import Step
from quipukit.experiment.options import Options
from quipukit.mechanisms.cover import Cover
from quipukit.settings import Setting
from quipukit.text import tokenize
from tests.covers.pools import STATIC, pool
from tests.experiment import tiny
from tests.experiment.conftest import Whole


def options(village: Path, **changes: object) -> Options:
    choices = {name: str(one) if isinstance(one, Path) else one for name, one in tiny.choices(village).items()}
    choices["specs"] = (*tiny.SPECS, "Identity", "Random")
    return Options(**{**choices, **changes})  # type: ignore[arg-type]


def amounts(plan: Estimate) -> dict[str, float]:
    return {step.stage: step.amount for step in plan.steps}


def test_amounts_are_those_of_the_plan(village: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    plan = estimate(options(village))
    assert (len(plan.plan.cells), plan.obfuscated) == (tiny.CELLS, 0)
    words = sum(len(tokenize(query)) for query in tiny.TOPICS.values())
    found = amounts(plan)
    assert found["obfuscate"] == words * 3 * tiny.CELLS
    assert found["encode the log"] == 83  # 80, and the three topics that it lacks
    assert found["rank the log"] == tiny.CELLS * len(tiny.TOPICS) * 83
    assert 0 < found["encode obfuscated queries"] <= tiny.CELLS * len(tiny.TOPICS) * 3
    assert found["search"] == found["encode obfuscated queries"]
    assert 0 < found["encode documents"] <= 60
    assert found["re-rank and measure"] == 2 * tiny.CELLS  # the originals at the same number of documents, too
    alone = amounts(estimate(options(village, specs=tiny.SPECS)))
    assert alone["re-rank and measure"] == len(tiny.SPECS)
    assert not list(tmp_path.glob("encodings/*")), "an estimate encodes nothing"


def test_what_is_finished_costs_nothing(village: Path, whole: Whole) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.folder.rglob("*")}
    plan = estimate(options(village), whole.folder)
    assert (len(plan.plan.cells), plan.obfuscated) == (tiny.CELLS, tiny.CELLS)
    left = amounts(plan)
    assert set(left.values()) == {0}
    assert {path: path.stat().st_mtime_ns for path in whole.folder.rglob("*")} == before


def test_a_further_mechanism_costs_its_own_cells(village: Path, whole: Whole) -> None:
    more = estimate(options(village, specs=(*tiny.SPECS, "TEM@3", "Identity", "Random")), whole.folder)
    assert (len(more.plan.cells), more.obfuscated) == (tiny.CELLS + 1, tiny.CELLS)
    assert amounts(more)["obfuscate"] == amounts(estimate(options(village)))["obfuscate"] / tiny.CELLS
    assert amounts(more)["rank the log"] == len(tiny.TOPICS) * 83


def test_a_further_mechanism_finds_documents_of_its_own(
    village: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))
    few = {"depth": 1, "n": 2}
    tiny.run(village, tmp_path / "run", **few)
    specs = (*tiny.SPECS, "TEM@3", "Identity", "Random")
    added, all_of_them = (
        amounts(estimate(options(village, specs=specs, **few), tmp_path / name))["encode documents"]
        for name in ("run", "fresh")
    )
    assert 0 < added < all_of_them / 2


def test_queries_of_sessions_are_counted_once_each_and_planted_ones_beside_the_originals(
    village: Path, whole: Whole, tmp_path: Path
) -> None:
    file = tmp_path / "sessions.tsv"
    first, second, third = list(tiny.TOPICS)[:3]
    rows = [("s", 1, first), ("s", 2, second), ("t", 1, first), ("t", 2, third)]
    file.write_text("sid\tposition\tqid\n" + "".join(f"{sid}\t{place}\t{qid}\n" for sid, place, qid in rows))
    measured = len(tiny.SPECS)  # references have no sessions
    given, planted = (estimate(options(village, sessions=one), whole.folder) for one in (str(file), "planted"))
    assert amounts(given)["rank the log for sessions"] == 3 * measured * 83
    assert amounts(given)["obfuscate queries of sessions"] == 0
    assert "sessions: 2 given, of 4 queries in all" in given.caption()
    topics = len(tiny.TOPICS)
    assert amounts(planted)["rank the log for sessions"] == 5 * topics * measured * 83
    words = sum(len(tokenize(query)) for query in tiny.TOPICS.values())
    assert amounts(planted)["obfuscate queries of sessions"] == pytest.approx(4 * words * 3 * measured)
    assert f"sessions: {topics} planted, of {5 * topics} queries in all" in planted.caption()
    assert "rank the log for sessions" not in amounts(estimate(options(village), whole.folder))
    assert planted.seconds > estimate(options(village), whole.folder).seconds  # rates are measured once per process


def test_the_plan_in_words(village: Path) -> None:
    plan = estimate(options(village, specs=("CMP@5", "CMP@10", "CMP@0"), seeds=2, skip_invalid=True))
    caption = plan.caption()
    assert "5 queries of village (60 documents), 1 mechanisms, 2 settings, 2 seed(s): 4 cells, 0 of them" in caption
    assert "3 variants per query, 4 documents each; a log of 83 queries, encoded by attacker" in caption
    assert "left out: CMP: epsilon" in caption
    rows = plan.rows()
    assert rows[-1][0] == "all" and all(len(row) == 4 for row in rows)
    assert any(row[1].startswith("about ") for row in rows)
    assert not any(query in caption for query in tiny.TOPICS.values())


def test_the_plan_tells_the_ceiling_that_the_log_puts_on_risk(village: Path) -> None:
    told = "warning: the log holds 2 of the 5 originals, so no risk can exceed 0.400"
    assert told in estimate(options(village, inject=False)).caption()
    assert "can exceed" not in estimate(options(village)).caption()


def only(**rates: float) -> Rates:
    """Rates at which all but some things take no time."""
    return Rates(**{**{field.name: 0.0 for field in dataclasses.fields(Rates)}, **rates})


def taking_time(plan: Estimate) -> dict[str, float]:
    return {step.stage: step.seconds for step in plan.steps if step.seconds}


def test_seconds_follow_from_amounts_and_rates(village: Path) -> None:
    choices = options(village)
    found = amounts(estimate(choices))
    words = estimate(choices, rates=only(word=2.0))
    assert taking_time(words) == {"obfuscate": 2 * found["obfuscate"]} and words.seconds == 2 * found["obfuscate"]
    assert taking_time(estimate(choices, rates=only(pair=3.0))) == {"rank the log": 3 * found["rank the log"]}
    assert taking_time(estimate(choices, rates=only(start=1.0, report=5.0))) == {"start": 1, "assemble and report": 5}
    twice = dataclasses.replace(words, steps=[*words.steps, *words.steps])
    assert twice.seconds == pytest.approx(2 * words.seconds)
    usual = estimate(choices, rates=TWO_CORES).seconds
    assert usual > estimate(choices, rates=only(word=TWO_CORES.word)).seconds


def test_encoding_is_counted_in_tokens(village: Path, tmp_path: Path) -> None:
    longer = tiny.write_collection(tmp_path / "longer")
    lines = (f"{docno}\t{' '.join([text] * 20)}" for docno, text in tiny.documents().items())
    tiny.write_lines(longer / "docs.tsv", lines)
    rates = only(transformer_text=1.0, transformer_token=10.0)

    def encoding(place: Path) -> tuple[Step, float]:
        plan = estimate(options(place), rates=rates)
        (step,) = [one for one in plan.steps if one.stage == "encode documents"]
        return step, taking_time(plan)["encode the log"]

    (short, log), (long, same_log) = encoding(village), encoding(longer)
    assert (short.amount, log) == (long.amount, same_log)
    for step in (short, long):
        square = (tiny.Words.dimension / 384) ** 2  # a model of fewer dimensions than MiniLM
        rows = filled(step.amount, step.tokens, 2 + len(options(village).attackers))
        assert step.seconds == pytest.approx(rows * (1 + 10 * step.tokens) * square)
    assert 15 < long.tokens / short.tokens < 20  # two marks do not repeat
    assert f"documents of {long.tokens:.0f} tokens" in long.units


def test_what_the_store_has_is_not_encoded_again(
    village: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))
    before, place = estimate(options(village), tmp_path / "out"), tmp_path / "log.txt"
    log = [*tiny.log_queries()[:40], *(f"{text} again" for text in tiny.log_queries()[:30])]
    tiny.write_lines(place, log)
    tiny.run(village, tmp_path / "first", log=village / "log.txt")
    after = estimate(options(village, log=str(place)), tmp_path / "out")
    assert amounts(after)["encode the log"] == 30 + 3  # the topics that no log has are never in the shared cache
    kept = EncodingStore(load_encoder("user"))
    kept.ensure(list(tiny.documents().values()), "document")
    assert amounts(before)["encode documents"] > 0
    assert amounts(estimate(options(village), tmp_path / "out"))["encode documents"] == 0


def test_static_vectors_need_no_model(village: Path) -> None:
    rates = only(transformer_start=1.0, static_text=1.0)
    choices = {"encoder": "static", "systems": (("bm25", "static"),)}
    static, usual = estimate(options(village, **choices), rates=rates), estimate(options(village), rates=rates)
    assert "start" not in taking_time(static) and taking_time(static)["encode the log"] == 83
    assert taking_time(usual) == {"start": 3}  # the attacker's, the user's, and that of sentence similarity


def test_the_index_is_counted_where_it_is_not_on_disk(
    village: Path, whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = options(village, specs=("TEM@3",))
    assert amounts(estimate(more))["index"] == 0  # it was made for the whole run
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    assert amounts(estimate(more))["index"] == 60


def test_a_mechanism_that_says_itself_how_much_it_sends_is_asked() -> None:
    def drawn(mechanism: object) -> int:
        cell = Cell(7, Setting.of(mechanism, 3))  # type: ignore[arg-type]
        return sent_per_query(cell)

    partition = make_partition(pool(), 20, STATIC)
    assert drawn(Cover(k=20, cover=partition)) == 20
    assert drawn(Cover(k=20, cover=partition, members=5)) == 5
    assert drawn(qk.mechanism("Identity")) == 3


def test_an_original_is_one_text_however_often_it_is_sent(village: Path) -> None:
    def texts(mechanism: str, n: int) -> float:
        return amounts(estimate(options(village, specs=(mechanism,), n=(n,))))["search"]

    topics = len(tiny.TOPICS)
    assert texts("Identity", 3) == texts("Identity", 30) == topics
    assert topics < texts("CMP@5", 3) < texts("CMP@5", 30) < 30 * topics


def test_attackers_that_know_the_mechanism_cost_more(village: Path) -> None:
    def ranking(*attackers: str) -> Step:
        (step,) = [one for one in estimate(options(village, attackers=attackers)).steps if one.stage == "rank the log"]
        return step

    vectors, words, law = ranking("QuIA"), ranking("Lexical"), ranking("Bayes")
    assert vectors.amount == words.amount == law.amount
    assert vectors.seconds < words.seconds < law.seconds
    assert ranking("QuIA", "Bayes").seconds == pytest.approx(vectors.seconds + law.seconds)


def test_a_law_is_learned_once_for_each_setting(village: Path) -> None:
    def learning(*specs: str, **changes: object) -> float:
        choices = options(village, specs=(*specs, "Identity", "Random"), **{"attackers": ("Bayes",), **changes})
        return estimate(choices, rates=only(law=1.0)).seconds

    vectors = estimate(options(village)).plan.vectors
    assert vectors is not None
    by_word = len(vectors) * vectors.dimension / 384
    words = len({word for text in [*tiny.log_queries(), *tiny.TOPICS.values()] for word in tokenize(text)})
    assert learning("TEM@2") == pytest.approx(words * by_word)
    assert learning("CMP@5") == pytest.approx(12_288 * by_word)  # which is simulated
    assert learning("CMP@5", "CMP@10", "TEM@2") == pytest.approx((2 * 12_288 + words) * by_word)
    assert learning("TEM@2", seeds=2, attackers=("Bayes", "Bayes(prior=uniform)")) == pytest.approx(words * by_word)
    assert learning("TEM@2", attackers=("QuIA",)) == 0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "under 1 s"), (1, "1 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3599, "59 min 59 s"), (3600, "1 h 0 min")],
)
def test_times_are_written_as_people_say_them(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
