"""Files made elsewhere: defects that were planted in new files are found, and files without them pass."""

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.auditing.filedata import families
from quipukit.auditing.files import audit_file
from quipukit.auditing.filetests import inert_parameter, shared_noise
from quipukit.errors import InputError
from quipukit.frames import queries_frame

pytestmark = pytest.mark.heavy  # not in make quick

RNG = np.random.default_rng(3)
WORDS = [f"w{a}{b}" for a in "abcdefgh" for b in "abcdefgh"]
VECTORS = qk.Vectors(WORDS, RNG.normal(size=(64, 4)))
TEXTS = {f"q{number}": " ".join(RNG.choice(WORDS, 3)) for number in range(12)}
QUERIES = queries_frame(TEXTS)
FAMILY = ["CMP@1", "CMP@2", "CMP@4", "CMP@8"]
CHECKS = ("words sent as they are", "queries sent as they are", "noise shared between settings")
CHECKS += ("a parameter without effect", "case")


def made(specs: list[str], seed: int = 1, n: int = 30, **options: object) -> pd.DataFrame:
    return qk.obfuscate(QUERIES, specs, n, vectors=VECTORS, seed=seed, **options)  # type: ignore[arg-type]


def found(table: pd.DataFrame, queries: pd.DataFrame | None = QUERIES, **options: object) -> list[str]:
    done = audit_file(table, queries, **options)  # type: ignore[arg-type]
    return [one.name.split(": ", 1)[1] for one in done.checks if one.verdict == "violated"]


def test_a_file_without_defects_passes_every_check() -> None:
    done = audit_file(made(FAMILY), QUERIES)
    assert done.verdict == "not violated", str(done)
    assert [one.name for one in done.checks] == [f"CMP: {name}" for name in CHECKS]


@pytest.mark.parametrize("family", [FAMILY, ["CusText@0.5", "CusText@1", "CusText@2"], ["SanText@1", "SanText@1.1"]])
def test_common_noise_is_found_and_independent_noise_is_not(family: list[str]) -> None:
    assert found(made(family, noise="common")) == ["noise shared between settings"]
    assert found(made(family)) == []


@pytest.mark.parametrize("family", [["SanText@1", "SanText@2"], ["TEM@2", "TEM@3"], ["CusText@1", "CusText@3"]])
def test_common_noise_is_found_where_much_is_kept_or_little_agrees(family: list[str]) -> None:
    assert "noise shared between settings" in found(made(family, noise="common"))
    assert found(made(family)) == []


def test_rows_that_are_exchanged_show_shared_noise_that_new_words_do_not() -> None:
    # The second setting keeps a word exactly where the first one does, and never sends another word of the first.
    rows = RNG.random((12, 40)) < 0.5
    kept, other = [" ".join(WORDS[:3]), "x y z"], [" ".join(WORDS[:3]), "u v w"]
    queries = queries_frame({f"q{number}": kept[0] for number in range(12)})

    def table(texts: list[str], value: float, keeps: np.ndarray) -> pd.DataFrame:
        records = [
            {"qid": f"q{query}", "variant": variant, "query": texts[0 if keeps[query, variant] else 1]}
            for query in range(12)
            for variant in range(40)
        ]
        return pd.DataFrame(records).assign(mechanism="Theirs", parameter="epsilon", value=value)

    shared = pd.concat([table(kept, 1.0, rows), table(other, 1.5, rows)])
    assert found(shared, queries) == ["noise shared between settings"]
    fresh = pd.concat([table(kept, 1.0, rows), table(other, 1.5, RNG.random((12, 40)) < 0.5)])
    assert found(fresh, queries) == []


def test_unknown_words_that_are_kept_are_found() -> None:
    asked = queries_frame({qid: f"{text} qqzzxv" for qid, text in TEXTS.items()})
    table = qk.obfuscate(asked, ["CMP(oov='keep', unsafe=True)@1"], 30, vectors=VECTORS, seed=1)
    [check] = [one for one in audit_file(table, asked).checks if one.verdict == "violated"]
    assert check.name.endswith("words sent as they are") and check.finding.one == "qqzzxv"
    right = qk.obfuscate(asked, ["CMP@1"], 30, vectors=VECTORS, seed=1)
    assert found(right, asked) == []


def test_a_verbatim_fallback_is_found_with_many_texts_and_with_one() -> None:
    table = made(FAMILY)
    mine = table["qid"] == "q3"
    many = table.assign(query=table["query"].where(~mine, TEXTS["q3"]))
    assert "queries sent as they are" in found(many)
    one = many[~mine | (many["variant"] == 0)]
    assert "queries sent as they are" in found(one)


def test_a_parameter_without_effect_is_found() -> None:
    one, other = (made(["CusText(k=3)@1"], seed, n=300) for seed in (1, 2))
    assert found(pd.concat([one, other.assign(value=50.0)])) == ["a parameter without effect"]
    assert found(made(["CusText(k=3)@1", "CusText(k=3)@3"], n=300)) == []
    near = audit_file(made(["CusText(k=3)@1", "CusText(k=3)@1.01"], n=300), QUERIES)
    assert "too near to tell" in str(near)
    same = made(["CusText@1"])
    assert inert_parameter(families(pd.concat([same, same.assign(value=5.0)]), QUERIES)[0]).verdict == "violated"


def test_upper_case_that_tells_how_a_query_was_typed_is_found() -> None:
    texts = [text.upper() if number < 3 else text for number, text in enumerate(QUERIES["query"])]
    typed = QUERIES.assign(query=texts)
    table = made(["CMP@1"])
    shouted = table["query"].where(~table["qid"].isin(["q0", "q1", "q2"]), table["query"].str.upper())
    assert found(table.assign(query=shouted), typed) == ["case"]
    assert found(table, typed) == [] and found(table.assign(query=table["query"].str.upper()), typed) == []


def test_words_that_the_named_mechanism_cannot_send_are_found() -> None:
    lists = made(["CusText(mapping='topk')@2"])
    own = "against CusText@2"
    assert found(lists, against="CusText@2", vectors=VECTORS) == [own]
    assert found(made(["CusText@2"]), against="CusText@2", vectors=VECTORS) == []
    renamed = lists.assign(mechanism="theirs")
    assert found(renamed, against="CusText@2", vectors=VECTORS) == [own]
    said = audit_file(renamed, QUERIES, against="CusText@2", vectors=VECTORS).skipped
    assert said == ("nothing in the file is called CusText: all of it was compared with CusText@2",)
    blind = audit_file(lists, against="CusText@2", vectors=VECTORS).checks[-1]
    assert blind.verdict == "not violated" and "cannot be laid beside" in blind.note
    with pytest.raises(InputError, match="one by one"):
        audit_file(lists, QUERIES, against="Identity")


def test_one_setting_and_unknown_originals_are_said() -> None:
    done = audit_file(made(["CMP@1"]))
    assert done.verdict == "not violated" and "the originals are not known" in done.skipped[0]
    assert "one setting: nothing to compare" in str(done)
    assert done.about.endswith("1 setting") and "upper case does not tell" not in str(done)
    with pytest.raises(InputError, match="no obfuscated query"):
        audit_file(made(["CMP@1"]).head(0))


@pytest.mark.statistical
def test_independent_noise_alarms_no_more_often_than_stated() -> None:
    # 40 files at an alarm rate of 5 %: more than 12 with probability below 1e-6.
    alarms = 0
    for seed in range(40):
        table = qk.obfuscate(QUERIES.head(6), ["Random"], 20, vectors=VECTORS, seed=seed)
        other = qk.obfuscate(QUERIES.head(6), ["Random"], 20, vectors=VECTORS, seed=1000 + seed).assign(value=1.0)
        alarms += shared_noise(families(pd.concat([table, other]), QUERIES)[0], 0.05).verdict == "violated"
    assert alarms <= 12


@pytest.mark.published
def test_the_known_defects_of_the_published_files_are_found(shared_data) -> None:  # type: ignore[no-untyped-def]
    noise, words, verbatim, inert = CHECKS[2], CHECKS[0], CHECKS[1], CHECKS[3]
    expected = {
        **{name: [noise] for name in ("CMP", "Mahalanobis", "VickreyCMP", "VickreyMhl", "SanText", "CusText")},
        "TEM": [],
        "WBB": [words, verbatim, inert],
        "AEA": [words, inert],
        "FEA": [verbatim],
    }
    for mechanism, defects in expected.items():
        table, originals = qk.read_obfuscated(shared_data / "published" / "dl19" / mechanism)
        assert found(table, originals) == defects, mechanism
