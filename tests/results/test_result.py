"""A Result: from frames to a folder and back, its digest, and what can be asked of it."""

import contextlib
import dataclasses
import hashlib
import json
import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.errors import FileError, FrameError, InputError
from quipukit.results import SETTINGS, TABLES, Result, tables_of
from quipukit.results.files import manifest_text
from tests.example_results import make_result
from tests.report.results import grown, in_sessions, only

SMALL = ("CMP", "AEA", "Identity", "Random")


@pytest.fixture(scope="module")
def result() -> Result:
    return make_result(queries=4, mechanisms=SMALL)


@pytest.fixture(scope="module")
def seeded() -> Result:
    return make_result(queries=4, mechanisms=SMALL, seeds=(7, 8, 9), systems=("bm25 + minilm", "dense + bm25"))


# --- on disk ---


def test_a_result_comes_back_as_it_was(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "out")
    loaded = Result.load(tmp_path / "out")
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(loaded, name), getattr(result, name), check_exact=True)
    assert loaded.digest == result.digest
    files = {"manifest.json", "checksums.json", *(f"{table}.parquet" for table in TABLES)}
    assert {path.name for path in (tmp_path / "out").iterdir()} == files


def test_no_flipped_bit_goes_unnoticed(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path)
    generator = random.Random(5)
    for path in sorted(tmp_path.iterdir()):
        whole = path.read_bytes()
        for _ in range(12):
            flipped = bytearray(whole)
            position = generator.randrange(8 * len(whole))
            flipped[position // 8] ^= 1 << position % 8
            path.write_bytes(flipped)
            with contextlib.suppress(FileError):
                assert Result.load(tmp_path).digest == result.digest  # white space
        path.write_bytes(whole)
    assert Result.load(tmp_path).digest == result.digest


def test_equal_results_are_equal_bytes(result: Result, tmp_path: Path) -> None:
    for name in ("one", "two"):
        make_result(queries=4, mechanisms=SMALL).save(tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


@pytest.mark.parametrize("name", TABLES)
def test_the_digest_covers_every_table(result: Result, name: str) -> None:
    # The fewest settings with rows of every kind: every digest is over all of them.
    result = in_sessions(grown(only(result, {"AEA": (3.0, 4.0), "Identity": (0.0,)})))
    frame = getattr(result, name)
    assert len(frame), "the example has rows of every kind"
    changed = [dataclasses.replace(result, **{name: frame.iloc[::-1].reset_index(drop=True)})]
    changed.append(dataclasses.replace(result, **{name: frame.iloc[1:]}))
    # How the noise was drawn is what the manifest says, and the digest covers that.
    for column in frame.columns.drop("noise", errors="ignore"):
        other = frame.copy()
        cell = other[column].iloc[0]
        other.loc[0, column] = f"{cell}x" if isinstance(cell, str) else 77
        changed.append(dataclasses.replace(result, **{name: other}))
    assert result.digest not in {one.digest for one in changed}


def test_the_digest_covers_common_noise_wherever_it_is_said(result: Result) -> None:
    def digest(manifest: str | None, rows: str | None) -> str:
        bare = result.obfuscated.drop(columns="noise")
        obfuscated = bare if rows is None else bare.assign(noise=rows)
        return dataclasses.replace(
            result, manifest={**result.manifest, "noise": manifest}, obfuscated=obfuscated
        ).digest

    # The manifest says it, where a run of this version wrote it; the rows then repeat it.
    assert len({digest("common", "common"), digest("independent", "independent"), digest(None, None)}) == 3
    assert digest("independent", None) == digest("independent", "independent")
    # Where it does not, the rows do.
    assert digest(None, "common") != digest(None, "independent") == digest(None, None)


def test_a_result_without_need_leakage_keeps_its_digest(result: Result) -> None:
    """Its digest is that over manifest and tables as versions before need leakage wrote them."""
    old = dataclasses.replace(result, need=result.need.iloc[:0])
    total = hashlib.sha256(manifest_text(old.manifest).encode())
    for name in ("queries", "settings", "obfuscated", "ranks", "scores", "guesses", "notes"):
        frame = getattr(old, name).drop(columns="noise", errors="ignore")
        total.update(frame.to_json(orient="split", index=False, double_precision=15).encode())
    assert old.digest == total.hexdigest() != result.digest


def test_need_leakage_by_system_and_seed() -> None:
    result = make_result(queries=12, seeds=(1, 2), systems=("one", "two"), mechanisms=SMALL)
    means = result.need_leakage("two")
    rows = result.need[result.need["system"] == "two"]
    first = means.iloc[0]
    mine = rows[(rows["mechanism"] == first["mechanism"]) & (rows["value"] == first["value"])]
    own = mine[mine["guesser"] == first["guesser"]]
    assert first["leakage"] == pytest.approx(own["leakage"].mean())
    assert (means["queries"] == 11).all() and (means["left_out"] == 1).all()  # queries, not queries times seeds
    assert len(result.need_leakage(seed=2)) == len(means)
    with pytest.raises(InputError, match="there is no seed 3"):
        result.need_leakage(seed=3)
    assert dataclasses.replace(result, need=result.need.iloc[:0]).need_leakage().empty


def test_the_digest_covers_the_manifest_but_not_its_order(result: Result) -> None:
    turned = dict(reversed(result.manifest.items()))
    assert dataclasses.replace(result, manifest=turned).digest == result.digest
    assert dataclasses.replace(result, manifest={**turned, "n": 51}).digest != result.digest


def test_a_killed_save_leaves_no_mixture(result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result.save(tmp_path)
    larger = make_result(queries=5, mechanisms=SMALL)
    written = []
    to_parquet = pd.DataFrame.to_parquet

    def until_the_third(self: pd.DataFrame, *arguments: object, **choices: object) -> None:
        written.append(self)
        if len(written) == 3:
            raise KeyboardInterrupt
        to_parquet(self, *arguments, **choices)

    with monkeypatch.context() as patch:
        patch.setattr(pd.DataFrame, "to_parquet", until_the_third)
        with pytest.raises(KeyboardInterrupt):
            larger.save(tmp_path)
    with pytest.raises(FileError, match="holds no finished result"):
        Result.load(tmp_path)
    larger.save(tmp_path)
    assert Result.load(tmp_path).digest == larger.digest


def test_what_is_no_result_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is no such folder; name one that `quipukit evaluate -o` wrote"):
        Result.load(tmp_path / "nothing")
    with pytest.raises(FileError, match="holds no finished result; name one of `quipukit evaluate`"):
        Result.load(tmp_path)
    (tmp_path / "experiment.json").write_text("{}", encoding="utf-8")
    with pytest.raises(FileError, match="finish it with `quipukit evaluate --resume"):
        Result.load(tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [("", "is damaged"), ("{", "is damaged"), ("[]", "another version"), ('{"form": 99}', "another version")],
)
def test_a_damaged_manifest_is_named(result: Result, tmp_path: Path, content: str, words: str) -> None:
    result.save(tmp_path)
    (tmp_path / "manifest.json").write_text(content, encoding="utf-8")
    with pytest.raises(FileError, match=f"manifest.json .*{words}"):
        Result.load(tmp_path)


@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "nonsense"])
def test_a_damaged_table_is_named(result: Result, tmp_path: Path, damage: str) -> None:
    result.save(tmp_path)
    path = tmp_path / "scores.parquet"
    whole = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "nonsense": b"nonsense" * 100}[damage])
    with pytest.raises(FileError, match=r"scores\.parquet is missing or damaged; run `quipukit evaluate --resume"):
        Result.load(tmp_path)


def as_first_version(folder: Path) -> None:
    """Make a result look like one of the first version, which wrote no checksums."""
    (folder / "checksums.json").unlink()
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    (folder / "manifest.json").write_text(json.dumps({**manifest, "form": 1}), encoding="utf-8")


def test_another_table_in_its_place_is_noticed(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path)
    result.queries.to_parquet(tmp_path / "scores.parquet")
    with pytest.raises(FileError, match=r"scores\.parquet is missing or damaged"):
        Result.load(tmp_path)
    (tmp_path / "checksums.json").write_text("{}", encoding="utf-8")
    with pytest.raises(FileError, match=r"manifest\.json is missing or damaged"):
        Result.load(tmp_path)
    as_first_version(tmp_path)
    with pytest.raises(FrameError, match="Scores needs column 'seed'"):
        Result.load(tmp_path)


def test_the_manifest_is_written_as_people_read_it(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path)
    text = (tmp_path / "manifest.json").read_text(encoding="utf-8")
    assert json.loads(text) == result.manifest and text.endswith("}\n") and "\n " in text


def test_a_result_of_an_earlier_version_is_read(result: Result, tmp_path: Path) -> None:
    """It lacks columns of the settings, and the rows of what the original finds among as many documents."""
    result.save(tmp_path)
    (tmp_path / "checksums.json").unlink()
    later = ["hides_more", "pooled", "pooled_share"]
    result.settings.drop(columns=later).to_parquet(tmp_path / "settings.parquet", index=False)
    result.scores[result.scores["side"] != "ceiling"].to_parquet(tmp_path / "scores.parquet", index=False)
    result.guesses.drop(columns="attacker").to_parquet(tmp_path / "guesses.parquet", index=False)
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "form": 1}), encoding="utf-8")
    old = Result.load(tmp_path)
    pd.testing.assert_frame_equal(old.guesses, result.guesses, check_exact=True)
    assert old.hides_more == {"CMP": "smaller", "AEA": "larger", "Identity": "smaller", "Random": "smaller"}
    assert old.settings["pooled"].isna().all() and old.ceilings().empty
    pd.testing.assert_frame_equal(old.quipu(replicates=20), result.quipu(replicates=20))
    result.settings.drop(columns="strategy").to_parquet(tmp_path / "settings.parquet", index=False)
    with pytest.raises(FrameError, match="Settings needs column 'strategy'"):
        Result.load(tmp_path)


def test_a_result_keeps_the_direction_of_mechanisms_that_are_not_installed(result: Result, tmp_path: Path) -> None:
    frames = {
        name: getattr(result, name).replace({"mechanism": {"AEA": "Mine"}})
        for name in ("settings", "obfuscated", "ranks", "scores", "guesses", "notes")
    }
    dataclasses.replace(result, **frames).save(tmp_path)
    loaded = Result.load(tmp_path)
    assert loaded.hides_more["Mine"] == "larger"
    assert loaded.points().query("mechanism == 'Mine'")["value"].drop_duplicates().tolist() == [5, 4, 3]
    mine, aea = (one.quipu(replicates=5).set_index("mechanism")["quipu"] for one in (loaded, result))
    assert mine["Mine"].tolist() == pytest.approx(aea["AEA"].tolist())
    table = qk.quipu_table(loaded.points()).query("mechanism == 'Mine' and measure == 'nDCG@10'")
    assert table["quipu"].tolist() == pytest.approx(aea["AEA"].tolist())


# --- several N ---


def sweep_of(*results: Result) -> Result:
    """Join results of one N each."""
    ns = [int(one.settings["n"].iloc[0]) for one in results]
    tables = {
        name: pd.concat([getattr(one, name).assign(n=n) for n, one in zip(ns, results, strict=True)], ignore_index=True)
        for name in TABLES
        if name != "queries"
    }
    checked = {name: tables_of(sweep=True)[name].check(table) for name, table in tables.items()}
    return Result({**results[0].manifest, "n": ns}, queries=results[0].queries, **checked)


@pytest.fixture(scope="module")
def parts(result: Result) -> tuple[Result, Result]:
    """A result with 5 variants per query, and one with 50 that finds more and is found out as often."""
    fewer = make_result(queries=4, mechanisms=SMALL, shift=0.05)
    fewer = dataclasses.replace(fewer, settings=fewer.settings.assign(n=5), manifest={**fewer.manifest, "n": 5})
    return fewer, result


@pytest.fixture(scope="module")
def sweep(parts: tuple[Result, Result]) -> Result:
    return sweep_of(*parts)


def test_a_sweep_is_one_result_for_every_n(sweep: Result, parts: tuple[Result, Result]) -> None:
    assert sweep.ns == [5, 50] and sweep.is_sweep
    for n, part in zip(sweep.ns, parts, strict=True):
        one = sweep.at(n)
        assert one.ns == [n] and not one.is_sweep
        for name in TABLES:
            pd.testing.assert_frame_equal(getattr(one, name), getattr(part, name), check_exact=True)


def test_a_sweep_comes_back_as_it_was(sweep: Result, tmp_path: Path) -> None:
    sweep.save(tmp_path)
    loaded = Result.load(tmp_path)
    assert loaded.digest == sweep.digest and loaded.ns == [5, 50]


def test_points_and_scores_of_a_sweep_have_a_column_n(sweep: Result, parts: tuple[Result, Result]) -> None:
    for ask in (
        lambda one: one.points(),
        lambda one: one.quipu(replicates=5),
        lambda one: one.risks(),
        lambda one: one.utilities(),
        lambda one: one.ceilings(),
    ):
        table = ask(sweep)
        for n, part in zip(sweep.ns, parts, strict=True):
            own = table[table["n"] == n].drop(columns="n").reset_index(drop=True)
            pd.testing.assert_frame_equal(own, ask(part), check_exact=True)


def test_a_recommendation_is_for_one_n_and_says_so(sweep: Result, parts: tuple[Result, Result]) -> None:
    for n, other, part in ((None, 5, parts[1]), (5, 50, parts[0])):
        advice = sweep.recommend(max_risk=0.9, n=n)
        assert advice.other_ns == (other,) and advice.least_risky.n == (n or 50)
        said = f"The settings are those of N = {n or 50}; the result also holds N = {other}."
        assert said in advice.notes
        assert advice.sentence == part.recommend(max_risk=0.9).sentence
    assert parts[1].recommend(max_risk=0.9).other_ns == ()


def test_one_n_is_a_result_without_a_column_n(result: Result) -> None:
    assert result.ns == [50] and not result.is_sweep and result.at(50) is result
    assert "n" not in result.points().columns
    for ask in (result.at, lambda n: result.recommend(n=n)):
        with pytest.raises(InputError, match="there is no n=7; the result has n = 50"):
            ask(7)


# --- what can be asked ---


def test_names(seeded: Result) -> None:
    assert seeded.name == "example" and seeded.seeds == [7, 8, 9]
    assert seeded.systems == ["bm25 + minilm", "dense + bm25"]
    assert seeded.mechanisms == list(SMALL) and seeded.measures == ["nDCG@10", "SetR"]
    assert seeded.strategies["AEA"] == "heuristic" and seeded.judged


def test_sides_are_means_over_seeds(seeded: Result) -> None:
    for side, all_of in ((seeded.risks, seeded.risks()), (seeded.utilities, seeded.utilities())):
        keys = ["mechanism", "value", "qid", "measure"]
        each = [side(seed=seed).set_index(keys)["score"] for seed in seeded.seeds]
        mean = sum(one.reindex(each[0].index) for one in each) / 3
        np.testing.assert_allclose(all_of.set_index(keys)["score"].reindex(mean.index), mean, rtol=0, atol=1e-15)
        assert len(all_of) == len(each[0])
    assert not seeded.utilities("dense + bm25")["score"].equals(seeded.utilities()["score"])


def test_points_are_means_over_queries(seeded: Result) -> None:
    points = seeded.points(seed=8)
    risks = seeded.scores.query("seed == 8 and side == 'risk' and mechanism == 'AEA' and value == 3")
    point = points.query("mechanism == 'AEA' and value == 3 and persona == 'motivated' and measure == 'SetR'").iloc[0]
    assert point["risk"] == pytest.approx(risks.query("measure == 'RR'")["score"].mean(), abs=1e-15)
    assert point["strategy"] == "heuristic" and point["collection"] == "example"


def test_scores_have_an_interval_and_a_spread(seeded: Result, result: Result) -> None:
    table = seeded.quipu(replicates=50)
    expected = {"strategy", "mechanism", "attacker", "persona", "measure", "quipu", "low", "high", "error", "queries"}
    volume = {"hypervolume", "hypervolume_low", "hypervolume_high"}
    assert set(table.columns) == expected | volume | {"seeds", "seed_low", "seed_high"}
    told = table.dropna(subset=["hypervolume_low"])  # none where fewer than two queries are found, or all tell the same
    assert set(told["mechanism"]) >= {"CMP"}
    assert told["hypervolume"].between(told["hypervolume_low"], told["hypervolume_high"]).all()
    assert (table["seed_low"] <= table["seed_high"]).all() and (table["seeds"] == 3).all()
    given = table.dropna(subset=["low"])
    assert (given["low"] <= given["high"]).all() and len(given) >= 3
    tables = [
        qk.quipu_table(seeded.points(seed=seed).query("measure == 'nDCG@10'")).set_index(["mechanism", "persona"])
        for seed in seeded.seeds
    ]
    for row in table.itertuples():
        each = [one.loc[(row.mechanism, row.persona), "quipu"] for one in tables]
        assert (row.seed_low, row.seed_high) == (pytest.approx(min(each)), pytest.approx(max(each)))
    alone = result.quipu(replicates=5)
    assert alone["seed_low"].isna().all() and (alone["seeds"] == 1).all()


def test_what_is_not_there_is_named(seeded: Result) -> None:
    with pytest.raises(InputError, match="there is no seed 6; the result has 7, 8, 9"):
        seeded.risks(seed=6)
    with pytest.raises(InputError, match="there is no system 'lucene'"):
        seeded.utilities("lucene")
    with pytest.raises(InputError, match="there is no measure 'AP'; the result has nDCG@10, SetR"):
        seeded.quipu(measure="AP")


def test_without_judgments_risk_alone_is_there(tmp_path: Path) -> None:
    unjudged = make_result(queries=4, mechanisms=SMALL, judged=False)
    unjudged.save(tmp_path)
    loaded = Result.load(tmp_path)
    assert not loaded.judged and loaded.measures == [] and len(loaded.risks())
    for ask in (loaded.points, loaded.quipu):
        with pytest.raises(InputError, match="holds risks alone; add qrels and run again"):
            ask()


def test_a_result_without_what_a_query_spends_still_loads(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path)
    as_first_version(tmp_path)
    result.settings.drop(columns="budget_query").to_parquet(tmp_path / "settings.parquet")
    assert Result.load(tmp_path).settings["budget_query"].isna().all()


def test_a_missing_number_stays_missing_and_others_are_refused(result: Result) -> None:
    checked = SETTINGS.check(result.settings)
    assert checked["budget"].isna().any()
    pd.testing.assert_frame_equal(checked, result.settings)
    with pytest.raises(FrameError, match="'private' must hold"):
        SETTINGS.check(result.settings.assign(private="yes"))


def test_its_repr_is_short_and_tells_no_query() -> None:
    shown = repr(make_result(queries=3))
    assert len(shown) < 120 and "illness" not in shown and "3 queries" in shown
