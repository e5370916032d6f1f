"""Sessions in an experiment: planted, of a file, added later, and resumed like all else."""

import shutil
from pathlib import Path

import pytest

import quipukit as qk
from quipukit.errors import FileError, InputError
from quipukit.frames import SETTING
from quipukit.results import Result
from tests.experiment import tiny

CHOICES = {"specs": ("CMP@5", "CMP@50"), "n": (3,), "attackers": ("QuIA", "Bayes"), "sessions": "planted"}


@pytest.fixture(scope="module")
def asked(place: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """A run with planted sessions."""
    folder = tmp_path_factory.mktemp("runs") / "sessions"
    with pytest.MonkeyPatch.context() as patch:
        tiny.no_model(patch, cache)
        return folder, tiny.run(place, folder, **CHOICES)


def test_every_query_has_a_session_and_every_length_a_rank(asked: tuple[Path, Result]) -> None:
    table = asked[1].sessions
    assert set(table["mechanism"]) == {"CMP"} and set(table["value"]) == {5.0, 50.0}
    assert set(table["sid"]) == set(asked[1].queries["qid"]) and set(table["length"]) == {1, 2, 3, 5}
    assert len(table) == 2 * 4 * len(tiny.TOPICS) and set(table["attacker"]) == {"Session"}
    assert Result.load(asked[0]).sessions.equals(table)
    assert len(qk.session_risk(table)) == 2 * 4 * 3


def test_a_single_query_of_a_session_is_found_as_bayes_finds_it(asked: tuple[Path, Result]) -> None:
    result = asked[1]
    alone = result.sessions[result.sessions["length"] == 1].rename(columns={"sid": "qid"}).drop(columns="attacker")
    bayes = result.ranks[result.ranks["attacker"] == "Bayes"]
    both = alone.merge(bayes, on=["seed", *SETTING, "qid"], suffixes=("", "_bayes"))
    assert len(both) == 2 * len(tiny.TOPICS)
    assert (both["better"] == both["better_bayes"]).all() and (both["tied"] == both["tied_bayes"]).all()


def test_sessions_of_a_file_are_measured_and_unknown_queries_refused(
    asked: tuple[Path, Result], place: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.no_model(monkeypatch, cache)
    first, second = asked[1].queries["qid"][:2]
    file = tmp_path / "sessions.tsv"
    file.write_text(f"sid\tposition\tqid\ns\t1\t{first}\ns\t2\t{second}\n")
    folder = Path(shutil.copytree(asked[0], tmp_path / "again"))
    result = tiny.run(place, folder, **{**CHOICES, "sessions": str(file)})
    assert set(result.sessions["sid"]) == {"s"}
    assert result.ranks.equals(asked[1].ranks)
    file.write_text("sid\tposition\tqid\ns\t1\tnobody\n")
    with pytest.raises(FileError, match="1 of 1 queries are unknown"):
        tiny.run(place, tmp_path / "other", **{**CHOICES, "sessions": str(file)})


def test_planted_sessions_cannot_be_made_for_queries_obfuscated_elsewhere(
    place: Path, cache: Path, asked: tuple[Path, Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.no_model(monkeypatch, cache)
    theirs = asked[1].obfuscated.drop(columns="seed")
    with pytest.raises(InputError, match="planted sessions hold queries that were not obfuscated elsewhere"):
        tiny.run(place, specs=(), obfuscated=theirs, sessions="planted")
